import shutil

import pytest
from shelf import place_of
from small_models import write


@pytest.fixture(scope="module")
def shipped(models_folder):
    """Put shipped models beside the small ones as long as the module lasts."""
    names = ("attention-only", "hotel-zh", "induction", "reverse-digits")
    for name in names:
        shutil.copytree(place_of(name), models_folder / name)
    yield
    for name in names:
        shutil.rmtree(models_folder / name)


@pytest.fixture(scope="module")
def decoders(models_folder, translator, writer):
    """Put small models that write beside the others as long as the module lasts."""
    for explorer in (translator, writer):
        write(explorer, models_folder)
    yield
    for explorer in (translator, writer):
        shutil.rmtree(models_folder / explorer.name)
