"""Folders of models of the hub that a test may damage."""

import shutil
from pathlib import Path

import pytest
from recorded import HERE


@pytest.fixture
def copied(tmp_path):
    """Copy the folder of a recorded model, by its name."""

    def copy(name):
        return Path(shutil.copytree(HERE / "models" / name, tmp_path / name))

    return copy
