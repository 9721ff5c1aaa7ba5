"""Uploads beside the runs: never mixed, never half, never changed without a word."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer_viz.datasets import DataError, read_labelled
from transformer_viz.runs import RunError, keep_upload
from transformer_viz.runs.uploads import uploads_folder

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
        ("评论.csv.gz", "data.csv.gz"),
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
        read_labelled(upload.path, sha256=upload.sha256)
    assert str(error.value) == f"{upload.path} has changed since it was chosen. Choose it again."


def test_an_upload_that_is_gone_is_a_sentence(upload):
    upload.path.unlink()
    with pytest.raises(DataError) as error:
        read_labelled(upload.path, sha256=upload.sha256)
    assert str(error.value) == f"There is no file {upload.path} any more. Choose it again."


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "uploads").write_text("")
    with pytest.raises(RunError, match=r"uploads cannot be written: File exists\. Make space, or set"):
        keep_upload(b"a", "a.csv", folder=tmp_path)
