"""Uploads beside the runs: never mixed, never half, never changed without a word."""

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer_viz.data import DataError, Source, read_labelled
from transformer_viz.network.presets import PRESETS
from transformer_viz.store.quota import Quota
from transformer_viz.training.runs.errors import QuotaError, RunError
from transformer_viz.training.runs.job import TrainingJob
from transformer_viz.training.runs.listing import create_run
from transformer_viz.training.runs.settings import TrainingSettings
from transformer_viz.training.runs.uploads import (
    UNUSED,
    keep_upload,
    sweep_uploads,
    uploads_bytes,
    uploads_folder,
)

CSV = b"text,label\n" + b"".join(b"film number %d,%d\n" % (i, i % 2) for i in range(20))


@pytest.fixture
def upload(tmp_path):
    return keep_upload(CSV, "my reviews.csv", folder=tmp_path)


def test_uploads_of_one_name_at_the_same_time_do_not_mix(tmp_path):
    contents = [b"text,label\nfilm of visitor %d,1\n" % visitor * 5000 for visitor in range(120)]
    with ThreadPoolExecutor(4) as visitors:
        uploads = list(visitors.map(lambda data: keep_upload(data, "reviews.csv", folder=tmp_path), contents))
    assert [upload.path.read_bytes() == data for upload, data in zip(uploads, contents, strict=True)] == (
        [True] * 120
    )
    assert len({upload.path for upload in uploads}) == 120


def test_an_upload_knows_its_content(upload):
    assert upload.path.read_bytes() == CSV
    assert (upload.sha256, upload.size) == (hashlib.sha256(CSV).hexdigest(), len(CSV))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("my reviews.csv", "my-reviews.csv"),
        ("../../etc/passwd", "passwd.txt"),
        ("C:\\data\\Films.TSV", "films.tsv"),
        ("外卖评论.csv.gz", "外卖评论.csv.gz"),
        ("外卖 评论（新）.CSV", "外卖-评论-新.csv"),
        ("☺.csv", "data.csv"),
        ("", "data.txt"),
        (".upload.json", "data.upload.json"),
        ("a\0b\nc.c/s\0v", "s-v.txt"),
        ("x" * 300 + "." + "y" * 300, "x" * 24 + "." + "y" * 24),
    ],
)
def test_a_file_has_a_name_that_is_no_path(tmp_path, name, kept):
    path = keep_upload(b"a", name, folder=tmp_path).path
    assert path.name == kept
    assert path.parent.parent == uploads_folder(tmp_path)
    assert path.read_bytes() == b"a"


def test_an_upload_that_was_changed_is_not_read(upload):
    upload.path.write_bytes(CSV.replace(b"film", b"fi1m"))
    assert len(read_labelled(upload.path)) == 20
    with pytest.raises(DataError) as error:
        Source(upload.path, sha256=upload.sha256)
    assert str(error.value) == f"{upload.path} has changed since it was chosen. Choose it again."


def test_an_upload_that_is_gone_is_a_sentence(upload):
    upload.path.unlink()
    with pytest.raises(DataError) as error:
        Source(upload.path, sha256=upload.sha256)
    assert str(error.value) == f"There is no file {upload.path} any more. Choose it again."


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "uploads").write_text("")
    with pytest.raises(RunError, match=r"uploads cannot be written: File exists\. Make space, or set"):
        keep_upload(b"a", "a.csv", folder=tmp_path)


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


def age(upload, seconds):
    """Let an upload be as old as that."""
    then = time.time() - seconds
    os.utime(upload.path.parent / ".upload.json", (then, then))


def a_run_on(upload, folder):
    job = TrainingJob(
        config=PRESETS["single-block"],
        settings=TrainingSettings(),
        data=upload.path,
        sha256=upload.sha256,
    )
    return create_run(job, folder=folder)


def test_what_no_run_uses_goes_after_a_day_and_what_one_uses_when_the_run_is_deleted(tmp_path):
    used, unused, new = (keep_upload(data, "a.csv", folder=tmp_path) for data in (b"1", b"2", b"3"))
    run = a_run_on(used, tmp_path)
    age(used, UNUSED + 60)
    age(unused, UNUSED + 60)
    age(new, UNUSED - 60)
    sweep_uploads(tmp_path)
    assert [upload.path.exists() for upload in (used, unused, new)] == [True, False, True]
    (run.path / "job.json").write_text((run.path / "job.json").read_text()[:-9])  # broken, and still its own
    sweep_uploads(tmp_path)
    assert used.path.exists()
    run.delete()
    sweep_uploads(tmp_path)
    assert not used.path.exists()
    assert new.path.exists()


def test_keeping_an_upload_removes_what_is_not_used(tmp_path):
    old = keep_upload(b"1", "a.csv", folder=tmp_path)
    age(old, UNUSED + 60)
    left = uploads_folder(tmp_path) / f".tmp-{2**22 + 1}-{'0' * 32}"  # beyond the largest id of a process
    left.mkdir()
    earlier = uploads_folder(tmp_path) / "reviews.0123456789abcdef"  # as uploads were kept before
    earlier.write_text("a")
    os.utime(earlier, (0, 0))
    new = keep_upload(b"2", "a.csv", folder=tmp_path)
    found = [path for path in uploads_folder(tmp_path).iterdir() if path.name != ".lock"]
    assert found == [new.path.parent]


def test_the_same_file_of_one_owner_is_kept_once_and_counts_as_asked_for(tmp_path):
    first = keep_upload(CSV, "a.csv", owner="ann", folder=tmp_path)
    age(first, UNUSED + 60)
    run = a_run_on(first, tmp_path)
    assert keep_upload(CSV, "b.csv", owner="ann", folder=tmp_path) == first
    run.delete()
    sweep_uploads(tmp_path)
    assert first.path.exists()
    assert keep_upload(CSV, "a.csv", owner="bob", folder=tmp_path).path != first.path
    first.path.write_bytes(b"changed")
    second = keep_upload(CSV, "a.csv", owner="ann", folder=tmp_path)
    assert second.path.read_bytes() == CSV
    assert first.path.read_bytes() == b"changed"


@pytest.mark.parametrize("facts", ["", "null", "[]", '{"owner": []}', "[" * 100_000])
def test_an_upload_whose_facts_are_damaged_counts_and_goes_like_any_other(upload, tmp_path, facts):
    (upload.path.parent / ".upload.json").write_text(facts)
    assert uploads_bytes(folder=tmp_path) == upload.size + len(facts)
    other = keep_upload(CSV, "a.csv", folder=tmp_path)
    assert other.path != upload.path
    age(upload, UNUSED + 60)
    sweep_uploads(tmp_path)
    assert not upload.path.exists()


@pytest.mark.parametrize(
    ("quota", "owner"), [(Quota(10_000, 10**6), ""), (Quota(10**6, 10_000), "ann"), (Quota(0, 0), "")]
)
def test_an_upload_for_which_there_is_no_room_is_refused_and_leaves_nothing(tmp_path, quota, owner):
    if quota.total:
        keep_upload(bytes(6000), "a.csv", owner=owner, folder=tmp_path, quota=quota)
    before = files_in(tmp_path)
    with pytest.raises(QuotaError) as error:
        keep_upload(bytes(5000), "b.csv", owner=owner, folder=tmp_path, quota=quota)
    assert str(error.value).startswith("There is no room: uploads take 0.0 MB of the 0.0 MB allowed.")
    assert error.value.ever == (quota.total > 0)
    assert str(error.value).endswith("after a day." if error.value.ever else "or pack it with gzip.")
    assert files_in(tmp_path) == before


def test_of_many_uploads_at_once_no_more_are_kept_than_there_is_room_for(tmp_path):
    quota, kept, refused = Quota(10_000, 0), [], []

    def keep(number):
        try:
            kept.append(keep_upload(b"%d" % number * 3000, "a.csv", folder=tmp_path, quota=quota))
        except QuotaError:
            refused.append(number)

    with ThreadPoolExecutor(8) as visitors:
        list(visitors.map(keep, range(1, 9)))
    assert (len(kept), len(refused)) == (3, 5)
    assert uploads_bytes(folder=tmp_path) <= quota.total


def test_uploads_of_one_owner_do_not_count_for_another(tmp_path):
    quota = Quota(10**6, 10_000)
    keep_upload(bytes(8000), "a.csv", owner="ann", folder=tmp_path, quota=quota)
    keep_upload(bytes(8000), "a.csv", owner="bob", folder=tmp_path, quota=quota)
    keep_upload(bytes(8000), "a.csv", folder=tmp_path, quota=quota)
    keep_upload(bytes(9000), "a.csv", folder=tmp_path, quota=quota)
    assert 8000 < uploads_bytes("ann", tmp_path) < 9000
    assert 17_000 < uploads_bytes("", tmp_path) < 18_000
