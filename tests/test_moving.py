"""The page on moving over: its import paths work, and its code prints the numbers of its tables.

What the code prints is checked where the pages run, as doctests; what the older releases gave was
seen once, and cannot be.
"""

import doctest
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel, _compat
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
        title = section.partition("\n")[0].lstrip("# ")
        for header, rows in tables(section):
            if header[-1] != "Here":
                continue
            for row in rows:
                # Code and targets of links hold no results.
                plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", row[-1])
                for number in NUMBER.findall(plain):
                    yield pytest.param(section, number, id=f"{title}: {row[0]}: {number}")


@pytest.mark.parametrize(("older", "names", "newer"), list(import_paths()))
def test_older_and_new_path_lead_to_one_object(older, names, newer):
    (older,), (newer,) = older, newer
    for name in names:
        assert getattr(importlib.import_module(older), name) is getattr(
            importlib.import_module(newer), name
        )


def test_every_older_path_is_in_the_table():
    listed = {older for (older,), _, _ in import_paths()}
    assert set(_compat._TABLE) <= listed


def test_there_are_numbers_of_every_section():
    sections = {claim.values[0].partition("\n")[0] for claim in claims()}
    assert len(sections) == 9


@pytest.mark.parametrize(("section", "number"), list(claims()))
def test_number_of_a_table_is_printed_by_the_code_of_its_section(section, number):
    value = float(number.replace(",", ""))
    digits = len(number.partition(".")[2])
    assert any(round(found, digits) == value for found in printed(section))


# Claims of the page that are no numbers.


@pytest.fixture
def model():
    words = [f"{kind}{i}" for kind in "xyab" for i in range(4)]
    vectors = np.random.default_rng(0).normal(size=(len(words), 4))
    return WordEmbeddingModel((words, vectors.astype(np.float32)), "model")


def query_of(*sets):
    return Query([list(sets[0]), list(sets[1])], [list(sets[2]), list(sets[3])])


SETS = tuple([f"{kind}{i}" for i in range(4)] for kind in "xyab")


def test_error_of_a_classifier_is_raised(model):
    from sklearn.linear_model import LogisticRegression

    class Failing(LogisticRegression):
        def fit(self, x, y):
            raise RuntimeError("no fit")

    with pytest.raises(RuntimeError, match="no fit"):
        RNSB().run_query(query_of(*SETS), model, estimator=Failing, estimator_params={})
