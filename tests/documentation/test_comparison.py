"""The page that compares libraries: names that exist, and tests that name them."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/about/comparison.md"


def rows():
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[3].startswith("tests/"):
            yield pytest.param(re.findall(r"`(wefe[\w.]*)`", cells[2]), cells[3], id=cells[0])


def named(path):
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            value = getattr(value, part)
        return value
    raise ImportError(path)


def test_there_are_rows_of_three_libraries():
    assert len(list(rows())) > 40


@pytest.mark.parametrize(("names", "file"), list(rows()))
def test_what_stands_here_exists_and_is_tested_there(names, file):
    assert names
    text = (ROOT / file).read_text(encoding="utf-8")
    for name in names:
        assert callable(named(name)), name
    assert any(re.search(rf"\b{name.split('.')[-1]}\b", text) for name in names), file


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(wefe\.[\w.]*)`", PAGE.read_text()))))
def test_every_name_on_the_page_exists(name):
    assert named(name) is not None
