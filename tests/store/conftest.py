"""The model folder that most tests of the store begin with."""

import pytest

pytest.register_assert_rewrite("model_folders")


@pytest.fixture
def model(tmp_path):
    from model_folders import write

    return write(tmp_path / "models")
