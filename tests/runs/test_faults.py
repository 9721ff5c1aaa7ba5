"""A disk that fails at any moment leaves what was there, a sentence, and nothing half written."""

import contextlib
import dataclasses
import errno
import hashlib
import itertools
import os
import re
from pathlib import Path

import numpy as np
import pytest
from faults import failing, no_file_beyond
from hostile import JOB, Picture

from transformer_viz.training.checkpoint import Progress, read_checkpoint, write_checkpoint
from transformer_viz.training.runs.errors import RunError
from transformer_viz.training.runs.listing import create_run, list_runs
from transformer_viz.training.runs.uploads import FACTS, keep_upload, sweep_uploads

CODES = [errno.EIO, errno.ENOSPC, errno.EACCES]

DATA = b"text,label\na film,1\n" * 20_000


@pytest.fixture
def run(tmp_path):
    run = create_run(JOB, folder=tmp_path)
    run.append("started", step=0, device="CPU")
    run.append("stopped")
    return run


def there(folder):
    """Return name -> content of every file in a folder but locks, and of all that is hidden."""
    found = (path for path in folder.rglob("*") if path.is_file() or path.name.startswith("."))
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in found
        if path.name != ".lock"
    }


ACTS = {
    "create": lambda run: create_run(JOB, folder=run.path.parent),
    "append": lambda run: run.append("failed", message="Oh."),
    "queue": lambda run: run.queue(),
    "stop": lambda run: run.stop(),
    "begin anew": lambda run: run.restart(),
    "claim": lambda run: run.claim(),
    "keep a picture": lambda run: run.write_frame(3, 0, Picture()),
    "delete": lambda run: run.delete(),
    "upload": lambda run: keep_upload(DATA, "a.csv", folder=run.path.parent),
}


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ACTS)
def test_whichever_call_fails_what_was_there_stays_and_the_next_time_works(tmp_path, name, code):
    failed, new = 0, {"stop": {"stop"}}.get(name, set())  # a stop is asked for before it is said
    for place in itertools.count(1):
        folder = tmp_path / str(place)
        run = create_run(JOB, folder=folder)
        run.append("started", step=0, device="CPU")
        run.append("queued" if name == "stop" else "stopped")
        before = there(folder)
        with failing(place, code) as fault:
            try:
                ACTS[name](run)
            except RunError as error:
                assert re.search(r"cannot be written|cannot be resumed: .+ Delete it", str(error))  # noqa: PT017
                failed += 1
                after = there(folder)
                if fault.failed not in ("unlink", "rmdir", "stat"):  # of these, a tidying one may have failed
                    assert {Path(path).name for path in after.keys() - before.keys()} <= new, fault.failed
                assert before.items() <= after.items(), fault.failed
        if fault.failed is None:
            break
        assert [each.id for each in list_runs(folder)][-1:] == [run.id] or name == "delete"
        if run.path.exists():
            ACTS[name](run)
    assert place > 1
    assert failed


@pytest.mark.parametrize("size", [0, 1, 40, 100, 400])
@pytest.mark.parametrize(
    "name", ["create", "append", "queue", "begin anew", "claim", "keep a picture", "upload"]
)
def test_a_disk_that_is_full_in_the_middle_of_a_file_leaves_nothing_of_it(tmp_path, run, name, size):
    (tmp_path / "uploads").mkdir()
    before = there(tmp_path)
    if name in ("append", "queue", "begin anew"):
        size = (run.path / "events.jsonl").stat().st_size + min(size, 20)
    with no_file_beyond(size):
        try:
            ACTS[name](run)
        except RunError as error:
            assert error.cause == "full"  # noqa: PT017
            assert there(tmp_path) == before
        else:
            assert name == "claim"
            assert size >= (run.path / "process.json").stat().st_size
    ACTS[name](run)


def test_an_upload_that_was_refused_for_a_full_disk_can_be_kept_later(tmp_path):
    with no_file_beyond(1000), pytest.raises(RunError, match=r"No space|File too large"):
        keep_upload(DATA, "a.csv", folder=tmp_path)
    upload = keep_upload(DATA, "a.csv", folder=tmp_path)
    assert hashlib.sha256(upload.path.read_bytes()).hexdigest() == upload.sha256


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_whichever_call_fails_the_checkpoint_is_the_old_one_or_the_new(run, code):
    states = [{"a": np.full(1000, value, np.float32)} for value in (1, 2)]
    for place in itertools.count(1):
        write_checkpoint(run.checkpoint, states[0], Progress(step=1))
        with failing(place, code) as fault, contextlib.suppress(OSError):
            write_checkpoint(run.checkpoint, states[1], Progress(step=2))
        state, found = read_checkpoint(run.checkpoint)
        assert (state["a"] == found.step).all()
        assert not run.has_damaged_checkpoint
        if fault.failed not in ("unlink", None):
            assert not list(run.path.glob(".tmp-*"))
        if fault.failed is None:
            break
    assert place > 1
    assert found.step == 2


def test_sweeping_raises_nothing_and_removes_nothing_that_is_used(tmp_path):
    used, unused = (keep_upload(data, "a.csv", folder=tmp_path) for data in (DATA, DATA + b"a,1\n"))
    create_run(dataclasses.replace(JOB, data=used.path, sha256=used.sha256), folder=tmp_path)
    for upload in (used, unused):
        os.utime(upload.path.parent / FACTS, (0, 0))
    for place in itertools.count(1):
        with failing(place) as fault:
            sweep_uploads(tmp_path)
        assert used.path.read_bytes() == DATA, fault.failed
        if fault.failed is None:
            break
    assert place > 1
    assert not unused.path.exists()
