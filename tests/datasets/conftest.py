"""Isolation from the user's cache and from the internet, and the local mirror of the bulk files."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from wefe.datasets import _download

# Read before any test changes it.
_DATA_DIR = os.environ.get("WEFE_DATA_DIR")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, no mirror, and addresses that nobody listens to."""
    folder = tmp_path / "cache"
    unreachable = {
        name: replace(file, url=f"http://127.0.0.1:9/{name}")
        for name, file in _download.FILES.items()
    }
    monkeypatch.delenv("WEFE_DATA_DIR", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(_download, "_cache_dir", lambda: folder)
    monkeypatch.setattr(_download, "FILES", unreachable)
    return folder


@pytest.fixture
def mirror(cache, monkeypatch):
    """The folder with the bulk files, made known to the package."""
    beside_repository = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(_DATA_DIR) if _DATA_DIR else beside_repository
    if not (folder / "bingliu").is_dir():
        pytest.skip("no local mirror of the bulk files (set WEFE_DATA_DIR)")
    monkeypatch.setenv("WEFE_DATA_DIR", str(folder))
    return folder
