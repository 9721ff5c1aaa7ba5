"""Models of the Hugging Face hub by name: configs, safetensors and tokenizers, never code or pickles."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from httpx2 import TransportError
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.utils import disable_progress_bars

from transformer_viz.store.format import ModelError, checked_name, disk_errors, printable
from transformer_viz.store.hugging_face import PREFIX
from transformer_viz.store.hugging_face.origin import write_origin
from transformer_viz.store.hugging_face.way_out import PICKLES, lines_to_convert
from transformer_viz.store.places import folder_of_models
from transformer_viz.store.write import new_model

FILES = (
    *("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"),
    *("source.spm", "target.spm", "vocab.json"),
    *("spiece.model", "sentencepiece.bpe.model", "tokenizer.model"),
    *("model.safetensors", "model-*.safetensors", "model.safetensors.index.json"),
)
"""Files of a model that are fetched; a repository often has the same parameters in other formats, too."""


class HubModel(NamedTuple):
    """A model on the hub, as it is described there.

    Attributes:
        name: Its name on the hub.
        size: Bytes of the files that would be fetched.
        licence: As its card says it; "" if it does not.
    """

    name: str
    size: int
    licence: str


def hub_model(name: str) -> HubModel:
    """Ask the hub what a model is.

    Args:
        name: On the hub, with or without `PREFIX`.

    Raises:
        ModelError: If there is no such model, it may not be fetched, it has no safetensors, or the hub does
            not answer.
    """
    repository = name.removeprefix(PREFIX)
    with _hub_errors(repository):
        found = HfApi().model_info(repository, files_metadata=True)
    files = {each.rfilename: each.size or 0 for each in found.siblings or ()}
    wanted = {file: size for file, size in files.items() if any(fnmatchcase(file, each) for each in FILES)}
    if not any(file.endswith(".safetensors") for file in wanted):
        is_pickle = any(pickle in files for pickle in PICKLES)
        lines = lines_to_convert(repository, found.config or {}) if is_pickle else ""
        raise ModelError("hub.no_weights", name=printable(repository), lines=lines)
    licence = getattr(found.card_data, "license", None)
    return HubModel(repository, sum(wanted.values()), licence if isinstance(licence, str) else "")


def fetch_model(name: str, folder: Path | None = None) -> Path:
    """Fetch a model of the hub into the folder of models, and return its place there.

    Args:
        name: On the hub, with or without `PREFIX`; the part behind the slash is its name here.
        folder: Folder of models; None: `models_folder()`.

    Raises:
        ModelError: As `hub_model`; or if there is a model of that name already.
    """
    place = folder_of_models(folder) / checked_name(name_of(name))
    if place.exists():
        raise ModelError("hub.taken", place=place)
    cached = cached_folder(name)
    with disk_errors(place, "written"):
        place.parent.mkdir(parents=True, exist_ok=True)
    files = [file for file in cached.iterdir() if file.is_file()]
    with new_model(place, sum(file.stat().st_size for file in files)) as temporary:
        for file in files:
            _link_or_copy(file, temporary / file.name)
        write_origin(temporary, name.removeprefix(PREFIX), cached.name)
    return place


def cached_folder(name: str) -> Path:
    """Return the folder of a model of the hub in the hub's own cache, after filling it if it is not there.

    Without a network the cache is used as it is.

    Args:
        name: On the hub, with or without `PREFIX`.

    Raises:
        ModelError: If there is no such model, it may not be fetched, or the hub does not answer and the cache
            has none.
    """
    repository = name.removeprefix(PREFIX)
    with _hub_errors(repository):
        return Path(snapshot_download(repository, allow_patterns=[*FILES]))


def hide_progress() -> None:
    """Show no progress bars from now on."""
    disable_progress_bars()


def name_of(name: str) -> str:
    """Return the name here of a model of the hub.

    >>> name_of("hf:google-bert/bert-base-uncased")
    'bert-base-uncased'
    """
    return name.removeprefix(PREFIX).rpartition("/")[2]


def _link_or_copy(file, target):
    """Give a file of the cache a second name, so that it takes no space twice, or copy it to another disk."""
    try:
        os.link(file.resolve(), target)
    except OSError:
        shutil.copyfile(file, target)


@contextlib.contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    """Raise what the hub's library raises as a `ModelError`."""
    name = printable(name)
    try:
        yield
    except GatedRepoError:
        raise ModelError("hub.gated", name=name) from None
    except RepositoryNotFoundError:
        raise ModelError("hub.missing", name=name) from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, TransportError):
        raise ModelError("hub.offline", name=name) from None
    except (HfHubHTTPError, OSError) as error:
        raise ModelError("hub.refused", name=name, reason=printable(error)) from None
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError("hub.name", name=name) from None
