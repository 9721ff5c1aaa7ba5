"""What runs on this machine, asked in a way that Linux and macOS both answer."""

import contextlib
import subprocess

import psutil


def is_running(pid):
    """Return whether a process is there and no zombie."""
    state = _answer("ps", "-o", "stat=", "-p", str(pid))
    return bool(state) and not state.startswith("Z")


def children(pid):
    """Return the process ids of the children of a process, and of theirs."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


@contextlib.contextmanager
def suspended(pid):
    """Hold a process still, as one that takes longer than anybody waits."""
    process = psutil.Process(pid)
    process.suspend()
    try:
        yield
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()


@contextlib.contextmanager
def long_work_suspended(pid):
    """Hold still what an app or a test has started for long work: processes that are nicer than itself."""
    parent = psutil.Process(pid)
    nicer = [child.pid for child in parent.children(recursive=True) if child.nice() > parent.nice()]
    assert nicer
    with contextlib.ExitStack() as held:
        for child in nicer:
            held.enter_context(suspended(child))
        yield


def _answer(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
