"""The list of models, as every page shows it."""

import contextlib
from pathlib import Path

from transformer_viz.store.card import printable
from transformer_viz.store.format import ModelError, ModelSummary, checked_name, folder_of_models, present
from transformer_viz.store.read import config_and_card, names_in, settled


def list_models(folder: Path | None = None) -> list[ModelSummary]:
    """Return what is in a folder of models, by name, without reading their parameters.

    Args:
        folder: Where to look; None: `models_folder()`. One that does not exist holds no models.

    Returns:
        A summary of each folder in it, also of a broken one; hidden folders and files are left out.

    Raises:
        ModelError: If `folder` itself cannot be listed.
    """
    folder = folder_of_models(folder)
    return [_summary(folder / name) for name in names_in(folder)]


def _summary(path):
    try:
        checked_name(path.name)
        config, card = settled(path, config_and_card)
        card, problem = printable(card), None
    except ModelError as error:
        config, card, problem = None, {}, str(error)
    size = 0
    with contextlib.suppress(OSError):
        size = sum(file.lstat().st_size for file in (present(path) or path).iterdir())
    return ModelSummary(path.name, config, card, size, problem)
