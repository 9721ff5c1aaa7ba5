"""The real app in a process of its own, and the browser that opens it."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")  # the first opens pages fastest
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def running(script="app.py", **environment):
    """Run the app on a free port as long as the block lasts; give its process and its address.

    Args:
        script: What Streamlit runs.
        **environment: Variables that the app has beside those of this process.
    """
    port = free_port()
    app = start_app(port, script=script, environment=environment)
    try:
        yield app, f"http://localhost:{port}"
    finally:
        app.kill()
        app.wait()


def start_app(port, stderr=subprocess.DEVNULL, script="app.py", environment=None):
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(script),
        f"--server.port={port}",
        "--server.headless=true",
    ]
    variables = os.environ | {name: str(value) for name, value in (environment or {}).items()}
    app = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        wait_for_health(app, port)
    except BaseException:
        app.kill()
        app.wait()
        raise
    return app


def wait_for_health(process, port, path="/_stcore/health", limit=60):
    """Wait until the server answers, for `limit` seconds at most; it must not end meanwhile."""
    deadline = time.monotonic() + limit
    while (left := deadline - time.monotonic()) > 0:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=left):
                return
        except OSError:
            assert process.poll() is None
            time.sleep(0.1)
    raise TimeoutError(f"{path} did not answer within {limit} s")
