"""Listing of the recorded pictures of a run's probes."""

import os
import re
from pathlib import Path

NAME = re.compile(r"([0-9]{7,15})-([0-9]{1,6})\.npz")
"""File name of a picture: step and probe."""


def pictures_in(folder: Path) -> list[tuple[int, int]]:
    """Return (step, probe) of every picture in a folder, sorted; [] if it cannot be read."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted((int(found[1]), int(found[2])) for found in map(NAME.fullmatch, names) if found)
