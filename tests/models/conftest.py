"""Fixtures for tests of models."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Write bytes to a file."""

    def written(content, name="vectors.any"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return written
