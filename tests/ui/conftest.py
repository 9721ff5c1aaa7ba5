import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def shipped(models_folder):
    """Put shipped models beside the small ones as long as the module lasts."""
    names = ("attention-only", "hotel-zh", "induction", "reverse-digits")
    for name in names:
        shutil.copytree(Path(__file__).parents[2] / "models" / name, models_folder / name)
    yield
    for name in names:
        shutil.rmtree(models_folder / name)
