"""Data sets known by name, from the folder in which Keras keeps them; downloaded if missing."""

import contextlib
import functools
import hashlib
import io
import json
import os
import re
import tarfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from transformer_viz.data.files import DataError

TIMEOUT = 30
"""Seconds without data after which a download fails."""

ANSWER_SECONDS = 5
"""Longest wait for a server that is only asked whether it has a file."""

PER_LABEL = 12_500
"""Reviews of each label in the training and in the test half of IMDB."""

LABELS = {"neg": "negative", "pos": "positive"}
"""Folder of the raw reviews -> label, in the order of the label ids in the file of word ids."""

_REVIEW = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d+)_\d+\.txt")


class Published(NamedTuple):
    """A published file with its address and hash."""

    name: str
    url: str
    sha256: str


REVIEWS = Published(
    "aclImdb_v1.tar.gz",
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
)
WORD_IDS = Published(
    "imdb.npz",
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/imdb.npz",
    "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f",
)
WORD_INDEX = Published(
    "imdb_word_index.json",
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/imdb_word_index.json",
    "027313fe9a320280f3bf0fac5baf58c4a683cf39a7ed9c3d3d3912bde4284cf6",
)


def imdb(kind: str = "reviews", folder: str | Path | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the 50,000 IMDB film reviews (Maas et al., 2011): 25,000 for training, 25,000 for testing.

    Args:
        kind: "reviews": the original texts, from aclImdb/ or its archive; "words": as in
            `keras.datasets.imdb`, lower-cased and without punctuation.
        folder: Folder of the files; None: that of Keras, ~/.keras/datasets or $KERAS_HOME/datasets.

    Returns:
        Two DataFrames with the columns text and label ("negative", "positive"), in the order of the files.

    Raises:
        DataError: If a file is missing and cannot be downloaded, or differs from the published one.
        ValueError: If there is no such kind.
    """
    readers = {"reviews": _reviews, "words": _words}
    if kind not in readers:
        raise ValueError(f"`kind` must be 'reviews' or 'words'. Received: {kind!r}.")
    return readers[kind](Path(folder) if folder else _keras_folder())


NAMED = {"imdb": imdb, "imdb-words": functools.partial(imdb, "words")}
"""Name on the command line -> function that returns training and test rows."""


def check_named(name: str) -> None:
    """Check that the files of a data set are there, or at least the servers that have them.

    Args:
        name: One of `NAMED`.

    Raises:
        DataError: If a file is missing and its server does not answer; says where to get it.
    """
    import requests  # noqa: PLC0415  loads what speaks to the network

    folder = _keras_folder()
    if name == "imdb" and _unpacked_folder(folder):
        return
    for published in {"imdb": (REVIEWS,), "imdb-words": (WORD_IDS, WORD_INDEX)}[name]:
        path = folder / published.name
        if not path.is_file():
            with _network_errors(published, path):
                answer = requests.head(published.url, timeout=ANSWER_SECONDS, allow_redirects=True)
                answer.raise_for_status()


def _keras_folder():
    return Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras") / "datasets"


def _unpacked_folder(folder):
    """Return the folder that holds the unpacked folder of the reviews; None if there is none."""
    places = (folder, folder / "aclImdb_v1", folder / "aclImdb_v1_extracted")
    return next((place for place in places if (place / "aclImdb").is_dir()), None)


def _reviews(folder):
    """Read the unpacked folder if it exists, else the archive, without unpacking it to disk."""
    if place := _unpacked_folder(folder):
        return _frames(place / "aclImdb", _unpacked(place))
    path = _present(folder, REVIEWS)
    try:
        return _frames(path, _packed(_content(path, REVIEWS)))
    except (tarfile.TarError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError("named.damaged", path=path, reason=str(error)) from None


def _unpacked(place):
    for path in sorted((place / "aclImdb").glob("*/*/*.txt")):
        if found := _REVIEW.fullmatch(path.relative_to(place).as_posix()):
            try:
                yield *found.groups(), path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise DataError("file.unreadable", path=path, reason=reason) from None


def _packed(content):
    """Yield (half, label, number, text) of each review; nothing is written to disk, so member names are
    harmless.
    """
    with tarfile.open(fileobj=io.BytesIO(content), mode="r|gz") as archive:
        for member in archive:
            found = _REVIEW.fullmatch(member.name.removeprefix("./"))
            if found and member.isfile() and (file := archive.extractfile(member)):
                yield *found.groups(), file.read().decode("utf-8")


def _frames(source, reviews):
    rows = {"train": [], "test": []}
    for half, label, number, text in reviews:
        rows[half].append((list(LABELS).index(label), int(number), text, LABELS[label]))
    frames = []
    for half, found in rows.items():
        ordered = [row[2:] for row in sorted(found)]
        frames.append(pd.DataFrame(ordered, columns=["text", "label"], dtype=object))
        for folder, label in LABELS.items():
            count = int((frames[-1]["label"] == label).sum())
            if count != PER_LABEL:
                part = f"{half}/{folder}"
                raise DataError("named.count", path=source, count=count, part=part, expected=PER_LABEL)
    return tuple(frames)


def _words(folder):
    word_ids, word_index = (_present(folder, each) for each in (WORD_IDS, WORD_INDEX))
    words = {rank: word for word, rank in json.loads(_content(word_index, WORD_INDEX)).items()}
    # the lists of ids are pickled, and unpickling can run code: the hash has been checked
    with np.load(io.BytesIO(_content(word_ids, WORD_IDS)), allow_pickle=True) as arrays:
        halves = [(arrays[f"x_{half}"], arrays[f"y_{half}"]) for half in ("train", "test")]
    return tuple(
        pd.DataFrame(
            {
                "text": [" ".join(words[rank] for rank in review) for review in reviews],
                "label": [list(LABELS.values())[int(label)] for label in labels],
            },
            dtype=object,
        )
        for reviews, labels in halves
    )


def _content(path, published):
    """Return the bytes of a file after checking its hash; read only once, so that they cannot change in
    between.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError("file.unreadable", path=path, reason=error.strerror) from None
    found = hashlib.sha256(content).hexdigest()
    if found != published.sha256:
        hashes = {"found": found[:12], "expected": published.sha256[:12]}
        raise DataError("named.other", path=path, **hashes)
    return content


def _present(folder, published):
    """Return the path of a file, downloading it if it is missing."""
    import pooch  # noqa: PLC0415  loads what speaks to the network

    path = folder / published.name
    if path.is_file():
        return path
    fetch = pooch.HTTPDownloader(progressbar=True, chunk_size=2**16, timeout=TIMEOUT)
    with _network_errors(published, path):
        try:
            pooch.retrieve(published.url, published.sha256, published.name, folder, downloader=fetch)
        except ValueError:
            raise DataError("named.sent", url=published.url, path=path) from None
    return path


@contextlib.contextmanager
def _network_errors(published, path):
    """Raise the errors of a request as one sentence that says where to get the file."""
    try:
        yield
    except OSError as error:
        facts = {"reason": _reason(error), "url": published.url, "folder": path.parent}
        raise DataError("named.missing", path=path, **facts) from None


def _reason(error):
    """Return what the server said, or the first error, which later ones only report."""
    if (answer := getattr(error, "response", None)) is not None:
        answer.close()
        return answer.reason
    while error.__context__ is not None:
        error = error.__context__
    return getattr(error, "strerror", None) or str(error)
