"""What runs on this machine, asked in a way that Linux and macOS both answer."""

import subprocess


def is_running(pid):
    """Return whether a process is there and no zombie."""
    state = _answer("ps", "-o", "stat=", "-p", str(pid))
    return bool(state) and not state.startswith("Z")


def children(pid):
    """Return the process ids of the children of a process."""
    return [int(child) for child in _answer("pgrep", "-P", str(pid)).split()]


def _answer(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
