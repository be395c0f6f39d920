"""The page on moving over: its import paths work, and its code prints the numbers of its tables.

What the code prints is checked where the pages run, as doctests; what the older releases gave was
seen once, and cannot be.
"""

import doctest
import importlib
import re
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from wefe import _compat
from wefe.metrics import RNSB

PAGE = Path(__file__).parents[1] / "docs" / "about" / "moving.md"
if not PAGE.is_file():
    pytest.skip("the documentation is not here", allow_module_level=True)
TEXT = PAGE.read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d*)?")


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def tables(text):
    """Give header and rows of each table."""
    for block in re.findall(r"^\|.*(?:\n\|.*)*", text, re.MULTILINE):
        header, _, *rows = block.splitlines()
        yield cells_of(header), [cells_of(row) for row in rows]


def import_paths():
    for header, rows in tables(TEXT):
        if header == ["Older path", "Names", "New path"]:
            for row in rows:
                yield tuple(re.findall(r"`([\w.]+)`", cell) for cell in row)


def printed(section):
    """Give all numbers in what the code of a section prints."""
    for example in doctest.DocTestParser().get_examples(section):
        yield from (float(found) for found in NUMBER.findall(example.want))


def claims():
    """Give each number in a column 'Here', with its section."""
    for section in re.split(r"^(?=###? )", TEXT, flags=re.MULTILINE):
        for header, rows in tables(section):
            for row in rows if header[-1] == "Here" else ():
                # Code and targets of links hold no results.
                plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", row[-1])
                for number in NUMBER.findall(plain):
                    yield section, number


def test_older_and_new_path_lead_to_one_object():
    paths = list(import_paths())
    assert {*_compat._TABLE} <= {older for (older,), _, _ in paths}
    for (older,), names, (newer,) in paths:
        for name in names:
            found, expected = (
                getattr(importlib.import_module(path), name) for path in (older, newer)
            )
            assert found is expected


def test_numbers_of_a_table_are_printed_by_the_code_of_its_section():
    sections = [section for section, _ in claims()]
    assert len({*sections}) == 9
    for section, number in claims():
        value, digits = float(number.replace(",", "")), len(number.partition(".")[2])
        assert any(round(found, digits) == value for found in printed(section)), (section, number)


def test_error_of_a_classifier_is_raised(toy_model, toy_query):
    class Failing(LogisticRegression):
        def fit(self, x, y):
            raise RuntimeError("no fit")

    with pytest.raises(RuntimeError, match="no fit"):
        RNSB().run_query(toy_query, toy_model, estimator=Failing, holdout=False)
