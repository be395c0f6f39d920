"""The page that compares libraries: names that exist, and tests that name them."""

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/about/comparison.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\|.*\|(.*)\| (tests/\S*) \|$", PAGE, flags=re.M)
NAME = re.compile(r"`(wefe\.[\w.]*)`")


@pytest.mark.parametrize(("ours", "file"), ROWS)
def test_what_stands_here_exists_and_is_tested_there(ours, file):
    names, text = NAME.findall(ours), (ROOT / file).read_text(encoding="utf-8")
    assert all(callable(pkgutil.resolve_name(name)) for name in names)
    assert any(re.search(rf"\b{name.split('.')[-1]}\b", text) for name in names), file


def test_every_name_on_the_page_exists():
    assert len(ROWS) > 40
    for name in set(NAME.findall(PAGE)):
        assert pkgutil.resolve_name(name) is not None
