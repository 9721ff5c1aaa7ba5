"""What killed writers left behind goes; what somebody writes stays, and no two write to the same place."""

import errno
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from transformer_viz.store.folders import (
    DAY,
    MARGIN,
    began,
    discard,
    new_folder,
    sweep,
    sync_folder,
    temporary_in,
    write_whole,
)

BORN = psutil.Process().create_time()

NOBODY = 2**22 + 1
"""Beyond the largest id of a process."""


def left(folder, pid=NOBODY, changed=None):
    """Return what a writer of that id has left in a folder."""
    place = folder / f".tmp-{pid}-{'0' * 16}"
    place.mkdir()
    if changed is not None:
        os.utime(place, (changed, changed))
    return place


@pytest.mark.parametrize(
    ("pid", "changed", "stays"),
    [
        (os.getpid(), time.time(), True),
        (os.getpid(), BORN, True),
        (os.getpid(), BORN - 2 * MARGIN, False),  # another process had this number
        (os.getpid(), time.time() - DAY - 60, False),
        (NOBODY, time.time(), False),
        (10**40, time.time(), False),
    ],
    ids=["now", "at its birth", "before its birth", "long ago", "no such process", "no number of a process"],
)
def test_what_is_half_written_stays_as_long_as_its_writer_may_be_at_it(tmp_path, pid, changed, stays):
    place = left(tmp_path, pid, changed)
    sweep(tmp_path)
    assert place.exists() == stays


def test_what_earlier_versions_left_goes_too_and_nothing_else(tmp_path):
    gone = [
        f".tmp-{NOBODY}-{'0' * 32}",
        f".trash-{NOBODY}-{'0' * 32}",
        f".tmp-tiny-{NOBODY}-{'0' * 16}",
    ]
    kept = [f".trash-tiny-{NOBODY}-{'0' * 16}", ".tmp-mine", f".tmp-{NOBODY}-notes", f"{gone[0]}.backup"]
    for name in gone + kept:
        (tmp_path / name).write_text("a file")
    sweep(tmp_path)
    assert sorted(place.name for place in tmp_path.iterdir()) == sorted(kept)
    sweep(tmp_path / "nowhere")


@pytest.mark.parametrize("call", ["lstat", "rmdir"])
def test_one_entry_that_cannot_be_removed_does_not_keep_the_others(tmp_path, monkeypatch, call):
    places, function = [left(tmp_path, NOBODY + number) for number in range(3)], getattr(os, call)

    def fails_once(path, *arguments, **options):
        if str(path).endswith(listed[0]) or path == listed[0]:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return function(path, *arguments, **options)

    listed = os.listdir(tmp_path)
    monkeypatch.setattr(os, call, fails_once)
    sweep(tmp_path)
    assert [place.name for place in places if place.exists()] == [listed[0]]


def test_a_process_of_another_user_is_there(monkeypatch):
    def forbidden(pid):
        raise psutil.AccessDenied(pid)

    monkeypatch.setattr(psutil, "Process", forbidden)
    assert began(1) == 0


def test_on_windows_no_folder_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "name", "nt")
    monkeypatch.setattr(os, "open", None)
    sync_folder(tmp_path)


def test_threads_that_write_the_same_file_leave_one_of_their_contents(tmp_path):
    contents = [bytes([number]) * 200_000 for number in range(16)]
    with ThreadPoolExecutor(16) as writers:
        list(writers.map(lambda data: write_whole(tmp_path / "file", data), contents * 4))
    assert (tmp_path / "file").read_bytes() in contents
    assert os.listdir(tmp_path) == ["file"]
    assert len({temporary_in(tmp_path) for _ in range(100)}) == 100


def test_a_folder_that_is_left_in_the_middle_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError), new_folder(tmp_path / "a") as folder:
        shutil.copytree(tmp_path / "nowhere", folder / "half")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_discarded_is_gone_and_what_a_link_leads_to_stays(tmp_path, kind):
    (tmp_path / "kept").mkdir()
    place = tmp_path / "place"
    if kind == "link":
        place.symlink_to(tmp_path / "kept")
    elif kind == "file":
        place.write_text("")
    else:
        shutil.copytree(tmp_path / "kept", place)
    discard(place)
    assert os.listdir(tmp_path) == ["kept"]
    with pytest.raises(FileNotFoundError):
        discard(place)
