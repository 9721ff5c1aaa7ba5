"""Folders of the Hugging Face hub, read into the layers of this package."""

import re
from pathlib import Path

from transformer_viz.store.format import ModelError
from transformer_viz.store.hugging_face.folder import (
    files_of,
    identity,
    is_hugging_face,
    read_contents,
    read_folder,
)

PREFIX = "hf:"
"""What stands before the name of a model of the hub: hf:google-bert/bert-base-uncased."""

_ON_HUB = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")

__all__ = [
    "PREFIX",
    "files_of",
    "identity",
    "is_hugging_face",
    "may_be_on_hub",
    "read_contents",
    "read_folder",
    "with_hub",
]


def may_be_on_hub(name: str | Path) -> bool:
    """Return whether a name may be one of a model of the hub: of one part or two.

    >>> may_be_on_hub("google-bert/bert-base-uncased"), may_be_on_hub("./models/mine")
    (True, False)
    """
    return isinstance(name, str) and _ON_HUB.fullmatch(name) is not None


def with_hub(error: ModelError, name: str | Path) -> ModelError:
    """Return an error that there is no such model, with how to get it if it may be one of the hub."""
    if error.code != "store.missing" or not may_be_on_hub(name):
        return error
    return ModelError("store.on_hub", **error.facts, name=name)
