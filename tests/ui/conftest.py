"""The engine that pages ask, over a shelf of models that a test module may replace by its own."""

import pytest

from transformer_viz.ui.shell.server import shared_engine


@pytest.fixture(scope="module")
def shelf(models_folder):
    """The folder of models in use; a module with other models has a fixture of this name."""
    return models_folder


@pytest.fixture(scope="module")
def engine(shelf):
    """The engine of the server, begun anew for the module and closed after it."""
    shared_engine.cache_clear()
    yield shared_engine()
    shared_engine().close()
    shared_engine.cache_clear()
