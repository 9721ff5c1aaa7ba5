"""The app, opened from the command line: Streamlit's server, and a window on it."""

import importlib
import os
import shutil
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path

from transformer_viz.store.places import app_folder

COMMANDS = (
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
    "microsoft-edge",
    "microsoft-edge-stable",
)
"""Names of the browsers that open a page in a window of its own, as systems with a PATH call them."""

MAC = (
    "Google Chrome.app/Contents/MacOS/Google Chrome",
    "Chromium.app/Contents/MacOS/Chromium",
    "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
"""Where they are in a folder of applications."""

WINDOWS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
)
"""Where they are in a folder of programs."""


def serve(*, browser: bool = True, port: int | None = None) -> None:
    """Serve the app until Ctrl-C.

    Args:
        browser: Open a window on it, if this machine has a screen: without tabs and address bar where Chrome,
            Chromium or Edge is found, else in the default browser.
        port: Port to listen on; None: as Streamlit's settings say, or the next one that is free.
    """
    streamlit = importlib.import_module("streamlit.web.cli")  # a second that other commands need not wait
    options = ["--server.showEmailPrompt=false"]  # or Streamlit asks for an address before it starts
    if port is not None:
        options.append(f"--server.port={port}")
    if not browser:
        options.append("--server.headless=true")
    elif found := find_browser():
        webbrowser.register("window", None, Window(found), preferred=True)
    streamlit.main(["run", *options, str(app_folder() / "app.py")], prog_name="streamlit")


class Window(webbrowser.BaseBrowser):
    """A window that holds one page and nothing else."""

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        """Open a page; return False if the browser does not start, so that another one is tried."""
        silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        try:
            opened = subprocess.Popen([self.name, f"--app={url}"], **silent, start_new_session=True)  # noqa: S603
        except OSError:
            return False
        threading.Thread(target=opened.wait, daemon=True).start()
        return True


def find_browser() -> str | None:
    """Return the path of Chrome, Chromium or Edge; None if none of them is found."""
    if sys.platform == "darwin":
        places = [Path(folder, "Applications", path) for folder in ("/", Path.home()) for path in MAC]
    else:
        variables = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
        folders = [os.environ[name] for name in variables if os.environ.get(name)]
        places = [Path(folder, path) for path in WINDOWS for folder in folders]
    there = (str(place) for place in places if place.is_file())
    return next(there, None) or next(filter(None, map(shutil.which, COMMANDS)), None)
