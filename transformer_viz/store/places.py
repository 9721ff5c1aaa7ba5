"""Where things are: beside the code in a checkout; once installed, in the user's data folder.

A wheel holds `app.py`, its settings in `.streamlit/` and the models of the shelf in the package's folder
`shipped/`, laid out as in a checkout (see `pyproject.toml`). They are read there and never written.
"""

import os
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).parents[1]

SHIPPED = PACKAGE / "shipped"
"""Only a wheel has it."""


def is_installed() -> bool:
    """Return whether the package came out of a wheel, rather than from a checkout."""
    return os.path.isdir(SHIPPED)


def app_folder() -> Path:
    """Return the folder that holds `app.py`, `.streamlit/` and the shipped `models/`."""
    return SHIPPED if is_installed() else PACKAGE.parent


def data_folder() -> Path:
    """Return the folder of a user's `models/` and `runs/`: the checkout, or the platform's data folder."""
    if not is_installed():
        return PACKAGE.parent
    return platformdirs.user_data_path("transformer-viz", appauthor=False)


def command() -> str:
    """Return what to type to call this program: the installed command, or the module of a checkout."""
    return "transformer-viz" if is_installed() else "python -m transformer_viz"


def models_folder() -> Path:
    """Return the folder models are written to: TRANSFORMER_VIZ_MODELS, or `models/` in `data_folder()`."""
    return Path(os.environ.get("TRANSFORMER_VIZ_MODELS") or data_folder() / "models")


def folder_of_models(folder: Path | None) -> Path:
    """Return the folder of models that is meant; None: `models_folder()`."""
    return models_folder() if folder is None else Path(folder)


def shelves(folder: Path | None = None) -> tuple[Path, ...]:
    """Return the folders in which models are listed and found by name; one hides its namesakes further back.

    Args:
        folder: Stands alone. None: the shelf, which is `models_folder()`; and behind it, if the package is
            installed and TRANSFORMER_VIZ_MODELS is not set, the shipped models. These can be opened, copied
            and hidden, not renamed or deleted, and take none of the room that models may take.
    """
    if folder is None and is_installed() and not os.environ.get("TRANSFORMER_VIZ_MODELS"):
        return models_folder(), SHIPPED / "models"
    return (folder_of_models(folder),)


def is_shipped(folder: Path) -> bool:
    """Return whether a folder holds the models that came with an installed package."""
    return is_installed() and os.path.realpath(folder) == os.path.realpath(SHIPPED / "models")
