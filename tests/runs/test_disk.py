"""What killed writers left behind goes; what somebody writes stays."""

import os
import time

import psutil
import pytest

from transformer_viz.training.runs.disk import ABANDONED, MARGIN, sweep_hidden

BORN = psutil.Process().create_time()


@pytest.mark.parametrize(
    ("pid", "changed", "stays"),
    [
        (os.getpid(), time.time(), True),
        (os.getpid(), BORN, True),
        (os.getpid(), BORN - 2 * MARGIN, False),  # another process had this number
        (os.getpid(), time.time() - ABANDONED - 60, False),
        (2**22 + 1, time.time(), False),  # beyond the largest id of a process
        (10**40, time.time(), False),
    ],
    ids=["now", "at its birth", "before its birth", "long ago", "no such process", "no number of a process"],
)
def test_what_is_half_written_stays_as_long_as_its_writer_may_be_at_it(tmp_path, pid, changed, stays):
    place = tmp_path / f".tmp-{pid}-{'0' * 32}"
    place.mkdir()
    os.utime(place, (changed, changed))
    sweep_hidden(tmp_path)
    assert place.exists() == stays
