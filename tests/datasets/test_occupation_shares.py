"""Shares of groups in occupations, from the census tables."""

import pytest

from wefe.datasets import _studies, fetch_occupation_shares

GENDER = """Census year,Occupation,Total Weight,Female,Male
2000,nurse,50.0,0.5,0.5
2015,nurse,200.0,0.875,0.125
2015,pilot,80.0,0.0625,0.9375
"""
ETHNICITY = """Census year,Occupation,Total Weight,multirace,aian,white,hispanic,asian,black
2015,nurse,200.0,0.01,0.02,0.6,0.17,0.1,0.1
"""


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Two small tables in the form of those published."""
    paths = {}
    for name, text in zip(_studies.TABLES.values(), (GENDER, ETHNICITY), strict=True):
        paths[name] = tmp_path / name.rpartition("/")[2]
        paths[name].write_text(text, encoding="utf-8")
    monkeypatch.setattr(_studies, "fetch_file", paths.__getitem__)


def test_shares_are_those_of_the_year_in_the_order_of_the_table(tables):
    shares = fetch_occupation_shares(2015)
    assert shares.to_dict("index") == {
        "nurse": {"female": 0.875, "male": 0.125, "workers": 200.0},
        "pilot": {"female": 0.0625, "male": 0.9375, "workers": 80.0},
    }
    assert shares.index.name == "occupation"
    assert fetch_occupation_shares("2000").loc["nurse"].tolist() == [0.5, 0.5, 50.0]
    by_ethnicity = fetch_occupation_shares(by="ethnicity")
    groups = ["white", "black", "asian", "hispanic", "aian", "multirace", "workers"]
    assert list(by_ethnicity) == groups
    assert by_ethnicity.loc["nurse"].tolist() == [0.6, 0.1, 0.1, 0.17, 0.02, 0.01, 200.0]


@pytest.mark.parametrize("by", ["gender", "ethnicity"])
@pytest.mark.parametrize("year", [1850, 2015])
def test_published_shares_of_an_occupation_sum_to_one(mirror, by, year):
    shares = fetch_occupation_shares(year, by)
    total = shares.drop(columns="workers").sum(axis=1)
    assert total.between(1 - 1e-9, 1 + 1e-9).all()
    assert shares.index.is_unique
    assert (shares["workers"] > 0).all()
