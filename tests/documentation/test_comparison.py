"""The page that compares libraries: names that exist, and tests that name them."""

import pkgutil
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/about/comparison.md").read_text(encoding="utf-8")
NAME = re.compile(r"`(wefe\.[\w.]*)`")


def test_what_the_page_names_exists_and_is_tested_there():
    assert all(pkgutil.resolve_name(name) is not None for name in NAME.findall(PAGE))
    rows = re.findall(r"^\|.*\|(.*)\| (tests/\S*) \|$", PAGE, flags=re.M)
    assert len(rows) > 40
    for ours, file in rows:
        text = (ROOT / file).read_text(encoding="utf-8")
        names = [name.split(".")[-1] for name in NAME.findall(ours)]
        assert any(re.search(rf"\b{name}\b", text) for name in names), file
