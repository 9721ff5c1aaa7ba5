import functools
import hashlib
import http.server
import io
import json
import sys
import tarfile
import threading

import numpy as np
import pooch
import pytest

from transformer_viz.data import DataError, named
from transformer_viz.data.named import NAMED, imdb

MEMBERS = {
    f"aclImdb/{half}/{label}/{number}_{stars}.txt": f"{half} {label} {number}: très bon"
    for half in ("train", "test")
    for label, stars in (("neg", 2), ("pos", 9))
    for number in (10, 9)
}
EXPECTED = [
    [f"{{half}} {label} {n}: très bon", name] for label, name in named.LABELS.items() for n in (9, 10)
]


def archive(members=MEMBERS, extra=()):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, text in {**members, "aclImdb/train/unsup/1_0.txt": "x", "aclImdb/README": "x"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
        for info in extra:
            tar.addfile(info)
    return file.getvalue()


def word_ids():
    file = io.BytesIO()
    reviews = np.array([[1, 2], [3, 1, 1]], dtype=object)
    np.savez(file, x_train=reviews, y_train=[1, 0], x_test=reviews[::-1], y_test=[0, 1])
    return file.getvalue()


INDEX = json.dumps({"the": 1, "film": 2, "good": 3}).encode()


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Return a function that makes bytes the published ones of a file; nothing is fetched from outside."""
    monkeypatch.setattr(named, "PER_LABEL", 2)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setenv("no_proxy", "*")
    folder = tmp_path / "keras" / "datasets"
    folder.mkdir(parents=True)

    def publish(which, content, *, url="http://127.0.0.1:9/none", put=True):
        record = getattr(named, which)
        digest = hashlib.sha256(content).hexdigest()
        monkeypatch.setattr(named, which, record._replace(sha256=digest, url=url))
        if put:
            (folder / record.name).write_bytes(content)
        return folder / record.name

    return publish


@pytest.fixture
def server():
    """Return a server of what stands in its `content`, by name."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(200 if self.path in self.server.content else 404)
            self.end_headers()

        def do_GET(self):
            body = self.server.content.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"") + self.server.more))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as each:
        each.content, each.more = {}, 0
        each.address = f"http://127.0.0.1:{each.server_port}"
        thread = threading.Thread(target=each.serve_forever)
        thread.start()
        yield each
        each.shutdown()
        thread.join()


def check_reviews(frames):
    for half, frame in zip(("train", "test"), frames, strict=True):
        assert frame.to_numpy().tolist() == [[text.format(half=half), label] for text, label in EXPECTED]


@pytest.mark.parametrize("name", NAMED)
def test_a_data_set_is_available_if_its_files_are_there_or_their_server_answers(published, server, name):
    which = {"imdb": ["REVIEWS"], "imdb-words": ["WORD_IDS", "WORD_INDEX"]}[name]
    paths = [published(each, b"content", url=f"{server.address}/{each}", put=False) for each in which]
    for path, each in zip(paths, which, strict=True):
        assert f"{path} is missing and cannot be fetched (Not Found)." in refusal(
            functools.partial(named.check_named, name)
        )
        server.content[f"/{each}"] = b"content"
    named.check_named(name)
    server.content.clear()
    for path in paths:
        path.write_bytes(b"content")
    named.check_named(name)


def refusal(call):
    with pytest.raises(DataError) as error:
        call()
    return str(error.value)


def test_reviews_are_read_from_the_archive(published):
    published("REVIEWS", archive())
    check_reviews(imdb())


@pytest.mark.parametrize("place", [".", "aclImdb_v1", "aclImdb_v1_extracted"])
def test_reviews_are_read_where_they_were_unpacked(published, tmp_path, place):
    root = tmp_path / "mine"
    for name, text in MEMBERS.items():
        path = root / place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    check_reviews(imdb("reviews", root))
    path.unlink()
    assert refusal(functools.partial(imdb, folder=root)) == (
        f"{root / place / 'aclImdb'} has 1 reviews in test/pos instead of 2. "
        "Delete it, so that it is fetched again."
    )


def test_nothing_in_an_archive_is_written_or_followed(published, tmp_path):
    link = tarfile.TarInfo("aclImdb/train/pos/11_9.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    outside = {"../../evil.txt": "x", "/tmp/evil.txt": "x", "aclImdb/train/pos/../../../12_9.txt": "x"}
    path = published("REVIEWS", archive({**MEMBERS, **outside}, [link]))
    before = sorted(tmp_path.rglob("*"))
    check_reviews(imdb())
    assert sorted(tmp_path.rglob("*")) == before
    assert path.exists()


def test_words_come_from_their_ids(published):
    published("WORD_IDS", word_ids())
    published("WORD_INDEX", INDEX)
    train, test = NAMED["imdb-words"]()
    assert train.to_numpy().tolist() == [["the film", "positive"], ["good the the", "negative"]]
    assert test.to_numpy().tolist() == [["good the the", "negative"], ["the film", "positive"]]


def test_no_pickle_is_opened_that_was_not_published(published, tmp_path):
    class Evil:
        def __reduce__(self):
            return (type(tmp_path).touch, (tmp_path / "run",))

    path = published("WORD_IDS", word_ids())
    published("WORD_INDEX", INDEX)
    with path.open("wb") as file:
        np.savez(file, x_train=np.array([Evil()], dtype=object), y_train=[1])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert refusal(NAMED["imdb-words"]) == (
        f"{path} is not the file that was published: its sha256 begins with {digest[:12]}, not "
        f"{named.WORD_IDS.sha256[:12]}. Delete it, so that it is fetched again."
    )
    assert not (tmp_path / "run").exists()


def test_what_is_missing_is_fetched_once(published, server, capsys, monkeypatch):
    monkeypatch.setattr(pooch.get_logger().handlers[0], "stream", sys.stderr)
    content = archive()
    server.content["/a"] = content
    path = published("REVIEWS", content, url=f"{server.address}/a", put=False)
    check_reviews(imdb())
    assert path.read_bytes() == content
    told = capsys.readouterr().err
    assert str(path) in told
    assert "100%" in told
    server.content.clear()
    check_reviews(imdb())
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_another_file_than_was_published_is_not_kept(published, server):
    server.content["/a"] = b"something else"
    path = published("REVIEWS", archive(), url=f"{server.address}/a", put=False)
    assert refusal(imdb) == (
        f"{server.address}/a sent another file than was published. Try again, or put the right one at {path}."
    )
    assert not list(path.parent.iterdir())


def test_a_connection_that_breaks_leaves_nothing(published, server):
    server.content["/a"], server.more = archive(), 999
    path = published("REVIEWS", archive() + b"more", url=f"{server.address}/a", put=False)
    assert refusal(imdb).startswith(f"{path} is missing and cannot be fetched (IncompleteRead(")
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("reason", ["Not Found", "Connection refused"])
def test_without_a_network_the_sentence_says_what_to_put_where(published, server, reason):
    url = f"{server.address}/a" if reason == "Not Found" else "http://127.0.0.1:9/a"
    path = published("WORD_IDS", word_ids(), url=url, put=False)
    sentence = refusal(NAMED["imdb-words"])
    assert sentence.startswith(f"{path} is missing and cannot be fetched (")
    assert reason in sentence
    assert sentence.endswith(f"). With a network, get {url} and put it into {path.parent}.")
    assert not list(path.parent.iterdir())


def test_a_damaged_archive_is_a_sentence(published):
    path = published("REVIEWS", b"no archive")
    assert refusal(imdb).startswith(f"{path} cannot be read: ")
    path = published("REVIEWS", archive()[:200])
    assert refusal(imdb).startswith(str(path))


def test_without_keras_home_the_files_are_in_the_home_folder(published, monkeypatch, tmp_path):
    monkeypatch.delenv("KERAS_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    published("REVIEWS", archive(), put=False)
    path = tmp_path / ".keras" / "datasets" / "aclImdb_v1.tar.gz"
    assert refusal(imdb).startswith(f"{path} is missing and cannot be fetched (")
    path.write_bytes(archive())
    assert NAMED.keys() == {"imdb", "imdb-words"}


def test_there_are_two_kinds():
    with pytest.raises(ValueError, match=r"^`kind` must be 'reviews' or 'words'\. Received: 'raw'\.$"):
        imdb("raw")
