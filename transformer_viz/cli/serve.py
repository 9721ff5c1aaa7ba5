"""Serving the app from the command line, and opening a browser window."""

import importlib
import os
import shutil
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path

from transformer_viz.extras import APP, needs
from transformer_viz.service.window import OPENED
from transformer_viz.store.places import app_folder

COMMANDS = (
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
    "microsoft-edge",
    "microsoft-edge-stable",
)
"""Commands of browsers with an app mode (a window without tabs), searched in PATH."""

MAC = (
    "Google Chrome.app/Contents/MacOS/Google Chrome",
    "Chromium.app/Contents/MacOS/Chromium",
    "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
"""Their paths in an applications folder of macOS."""

WINDOWS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
)
"""Their paths in a programs folder of Windows."""


def serve(*, browser: bool = True, port: int | None = None) -> None:
    """Serve the app until Ctrl-C, or until the window that it opens is closed.

    Args:
        browser: Open a window if this machine has a screen: without tabs and address bar in Chrome, Chromium
            or Edge, otherwise in the default browser.
        port: Port to listen on; None: Streamlit's setting, or the next free port.
    """
    with needs(APP, "app.py"):
        streamlit = importlib.import_module("streamlit.web.cli")  # takes a second to import
    options = ["--server.showEmailPrompt=false"]  # otherwise Streamlit prompts for an e-mail address
    if port is not None:
        options.append(f"--server.port={port}")
    os.environ[OPENED] = "1" if browser else ""
    if not browser:
        options.append("--server.headless=true")
    elif found := find_browser():
        webbrowser.register("window", None, Window(found), preferred=True)
    streamlit.main(["run", *options, str(app_folder() / "app.py")], prog_name="streamlit")


class Window(webbrowser.BaseBrowser):
    """A browser window without tabs and address bar."""

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        """Open a page; return False if the browser does not start, so that the next one is used."""
        silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        try:
            opened = subprocess.Popen([self.name, f"--app={url}"], **silent, start_new_session=True)  # noqa: S603
        except OSError:
            return False
        threading.Thread(target=opened.wait, daemon=True).start()
        return True


def find_browser() -> str | None:
    """Return the path of Chrome, Chromium or Edge, or None."""
    if sys.platform == "darwin":
        places = [Path(folder, "Applications", path) for folder in ("/", Path.home()) for path in MAC]
    else:
        variables = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
        folders = [os.environ[name] for name in variables if os.environ.get(name)]
        places = [Path(folder, path) for path in WINDOWS for folder in folders]
    there = (str(place) for place in places if place.is_file())
    return next(there, None) or next(filter(None, map(shutil.which, COMMANDS)), None)
