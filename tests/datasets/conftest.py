import pytest


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
