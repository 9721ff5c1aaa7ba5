"""The format of a model folder, shared by reading and writing."""

import contextlib
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transformer_viz.language import Phrase, Problem
from transformer_viz.network.config import TransformerConfig
from transformer_viz.questions.roles.result import HeadRoles
from transformer_viz.store.folders import existing_folder
from transformer_viz.store.names import is_name
from transformer_viz.store.places import models_folder, shelves

VERSIONS = {"float32": 1, "float16": 1, "int8": 2}
"""Type in which a model is written -> version of its `manifest.json`, the first that can be read with it."""

FORMAT_VERSION = max(VERSIONS.values())
"""Highest version of `manifest.json` that is read; a higher one was written by a newer program."""

MAX_PARAMETERS = 300_000_000
"""Most trained numbers, more than those of XLM-R base: 1.2 GB in memory."""

LARGEST = {
    "config.json": 2**20,
    "parameters.safetensors": 4 * MAX_PARAMETERS + 2**24,
    "tokenizer.json": 2**25,
    "tokenizer_target.json": 2**25,
    "card.json": 2**20,
    "roles.json": 2**20,
    "manifest.json": 2**16,
}
"""Name -> maximum size in bytes of each file in a model folder."""

TARGET = "tokenizer_target.json"
"""File that only an encoder-decoder has."""

HEAD_ROLES = "roles.json"
"""File with what the heads usually do, if that was measured."""

HUB_CARD = "transformer_viz.json"
"""File of a folder of the hub with facts of its card that are measured here."""

OPTIONAL = {TARGET, HEAD_ROLES}
PAYLOAD = LARGEST.keys() - {"manifest.json"} - OPTIONAL
DESKTOP = {".DS_Store", "Thumbs.db", "desktop.ini"}  # files of file managers, ignored


class ModelError(Problem):
    """A model folder cannot be listed, read or written; the message gives place, fault and remedy."""


@dataclass(frozen=True)
class ModelSummary:
    """One row in the list of models; `error` says why a model cannot be used, or is None.

    A model with an error has no `config` and an empty `card`; `size` is in bytes; `path` is its folder.
    """

    name: str
    config: TransformerConfig | None
    card: dict
    size: int
    error: ModelError | None
    path: Path

    @property
    def problem(self) -> str | None:
        """The message of `error` in English; None without an error."""
        return None if self.error is None else str(self.error)

    @property
    def reference(self) -> str:
        """Reference for `read_model`: the name of a model on the shelf, else the absolute path."""
        is_on_shelf = os.path.abspath(self.path.parent) in map(os.path.abspath, shelves())
        return self.name if is_on_shelf else os.path.abspath(self.path)


@dataclass(frozen=True)
class StoredModel:
    """Content of a model folder.

    `parameters` maps names to finite float32 arrays, which may be read-only views of files.
    `target_tokenizer` is None except for an encoder-decoder; `head_roles` is None unless they were measured.
    """

    name: str
    path: Path
    config: TransformerConfig
    tokenizer: str
    card: dict
    parameters: dict[str, np.ndarray]
    target_tokenizer: str | None = None
    head_roles: HeadRoles | None = None


def hidden_model(target: Path) -> Path | None:
    """Return the shipped model that a model at `target` would hide; None if there is none."""
    if os.path.realpath(target.parent) != os.path.realpath(models_folder()):
        return None
    return next(
        (shelf / target.name for shelf in shelves()[1:] if existing_folder(shelf / target.name)), None
    )


def is_path(text: str) -> bool:
    """Return whether a text is the path of a model rather than a name: it contains a separator or starts with
    a dot.
    """
    return text.startswith(".") or bool(set(text) & {"/", "\\"})


def checked_name(name: str) -> str:
    """Return a model's name after checking that it is valid on every system."""
    if not isinstance(name, str) or not is_name(name):
        raise ModelError("store.name", received=printable(repr(name)))
    return name


def check_size(file: Path, size: int) -> None:
    """Check that a file does not exceed its maximum size."""
    most = LARGEST["card.json" if file.name == HUB_CARD else file.name]
    if size > most:
        raise ModelError("store.size", file=file, size=size, most=most)


def json_object(file: Path, text: str) -> dict:
    """Return the JSON object in the text of a file."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ModelError("store.json", file=file)
    return content


def check_shapes(file: Path, shapes: dict[str, tuple], expected: dict[str, tuple]) -> None:
    """Check that the names and shapes of parameters are exactly the expected ones."""
    wrong = sorted(name for name in expected | shapes if shapes.get(name) != expected.get(name))
    if wrong:
        found, wanted = (_shape(each.get(wrong[0])) for each in (shapes, expected))
        raise ModelError("store.shapes", file=file, names=name_list(wrong), found=found, expected=wanted)


def check_finite(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Check that arrays hold finite floats."""
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ModelError("store.finite", file=file, name=printable(name))


def check_tokenizers(folder: Path, texts: dict[str, str], config: TransformerConfig) -> None:
    """Check that the tokenizers a config needs are present, and their token ids."""
    sizes = {"tokenizer.json": config.vocab_size}
    if config.architecture == "encoder-decoder":
        sizes[TARGET] = config.target_vocab_size or config.vocab_size
    if (TARGET in sizes) != (TARGET in texts):
        raise ModelError("store.target", file=folder / TARGET, architecture=config.architecture)
    for name, size in sizes.items():
        check_vocabulary(folder / name, texts[name], size, whole=not config.is_foreign)


def check_vocabulary(file: Path, text: str, rows: int, *, whole: bool = True) -> None:
    """Check that the token ids of a tokenizer are rows of the embedding; `whole`: that all rows have one."""
    content = json_object(file, text)
    model = content.get("model")
    if not isinstance(model, dict) or "vocab" not in model:
        return
    try:
        ids = range(len(model["vocab"])) if isinstance(model["vocab"], list) else model["vocab"].values()
        ids = [*ids, *(token["id"] for token in content.get("added_tokens") or ())]
    except (TypeError, AttributeError, KeyError):
        raise ModelError("store.tokenizer", file=file) from None
    are_rows = all(type(row) is int and 0 <= row < rows for row in ids)
    if not are_rows or (whole and len(set(ids)) != rows):
        raise ModelError("store.vocabulary", file=file, last=rows - 1, rows=rows, found=len(ids))


@contextlib.contextmanager
def disk_errors(place: Path, done: str) -> Iterator[None]:
    """Raise an `OSError` of the block as a `ModelError`; `done`: "read" or "written"."""
    try:
        yield
    except OSError as error:
        raise ModelError(f"store.not_{done}", place=place, reason=reason_of(error)) from None


def reason_of(error: Exception) -> str:
    """Return the message of an error without the path that Python adds."""
    return printable(getattr(error, "strerror", None) or str(error) or type(error).__name__)


def dump(content: object) -> str:
    """Return the canonical JSON text."""
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def name_list(names: Collection[str]) -> list[str] | Phrase:
    """Return the first of several names, for a message."""
    first = [printable(repr(name)) for name in sorted(names)[:3]]
    return ([*first, "..."] if len(names) > 3 else first) or Phrase("list.none")


def _shape(shape):
    return Phrase("list.none") if shape is None else printable(shape)


def sentence_of(error: Exception) -> Phrase | str:
    """Return why something failed: a sentence of this package as it is, any other error on one line."""
    return error if isinstance(error, Phrase) else printable(error)


def printable(text: object) -> str:
    """Return foreign text as one short printable line."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return line if len(line) <= 300 else line[:300] + "..."
