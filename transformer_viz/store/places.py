"""Paths of the program: beside the code in a checkout; once installed, in the user's data folder.

A wheel holds `app.py`, its settings in `.streamlit/` and the shipped models in the package's folder
`shipped/`, laid out as in a checkout (see `pyproject.toml`) and never written to.
"""

import os
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).parents[1]

SHIPPED = PACKAGE / "shipped"
"""Exists only in a wheel."""


def is_installed() -> bool:
    """Return whether the package was installed from a wheel rather than run from a checkout."""
    return os.path.isdir(SHIPPED)


def app_folder() -> Path:
    """Return the folder of `app.py`, `.streamlit/` and the shipped `models/`."""
    return SHIPPED if is_installed() else PACKAGE.parent


def data_folder() -> Path:
    """Return the folder of a user's `models/`, `runs/`, `lessons/`: the checkout, or the data folder."""
    if not is_installed():
        return PACKAGE.parent
    return platformdirs.user_data_path("transformer-viz", appauthor=False)


def command() -> str:
    """Return the command that runs this program: the installed one, or the module of a checkout."""
    return "transformer-viz" if is_installed() else "python -m transformer_viz"


def models_folder() -> Path:
    """Return the folder to which models are written: TRANSFORMER_VIZ_MODELS, or `models/` in
    `data_folder()`.
    """
    return Path(os.environ.get("TRANSFORMER_VIZ_MODELS") or data_folder() / "models")


def lessons_folder() -> Path:
    """Return the folder of own lessons: TRANSFORMER_VIZ_LESSONS, or `lessons/` in `data_folder()`."""
    return Path(os.environ.get("TRANSFORMER_VIZ_LESSONS") or data_folder() / "lessons")


def cache_folder() -> Path:
    """Return the folder of what can be computed anew: TRANSFORMER_VIZ_CACHE, or the user's cache folder."""
    kept = os.environ.get("TRANSFORMER_VIZ_CACHE")
    return Path(kept) if kept else platformdirs.user_cache_path("transformer-viz", appauthor=False)


def folder_of_models(folder: Path | None) -> Path:
    """Return the folder of models; None: `models_folder()`."""
    return models_folder() if folder is None else Path(folder)


def shelves(folder: Path | None = None) -> tuple[Path, ...]:
    """Return the folders searched for models; one hides models of the same name in later ones.

    Args:
        folder: The only folder. None: the shelf, which is `models_folder()` and, if the package is installed
            and TRANSFORMER_VIZ_MODELS is not set, the shipped models. These can be opened, copied and hidden,
            but not renamed or deleted, and count towards no quota.
    """
    if folder is None and is_installed() and not os.environ.get("TRANSFORMER_VIZ_MODELS"):
        return models_folder(), SHIPPED / "models"
    return (folder_of_models(folder),)


def is_shipped(folder: Path) -> bool:
    """Return whether a folder is that of the models shipped with an installed package."""
    return is_installed() and os.path.realpath(folder) == os.path.realpath(SHIPPED / "models")
