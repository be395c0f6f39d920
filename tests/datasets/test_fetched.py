"""The datasets with downloaded parts, read from the local mirror."""

import json

import pandas as pd
import pytest

from wefe import datasets
from wefe.datasets._download import FILES, fetch_file
from wefe.datasets._studies import ETHNICITIES
from wefe.study import Study


def test_bingliu_has_the_published_words_in_their_order(mirror):
    lexicon = datasets.load_bingliu()
    positive, negative = lexicon["positive_words"], lexicon["negative_words"]
    assert (positive[0], positive[-1], len(positive)) == ("a+", "zippy", 2006)
    assert (negative[0], negative[-1], len(negative)) == ("2-faced", "zombie", 4783)
    assert "naïve" in negative


@pytest.mark.parametrize(("year", "top_n"), [(1850, 1), (1900, 10), (2015, 10)])
def test_occupations_by_ethnicity_have_the_largest_shares(mirror, year, top_n):
    word_sets = datasets.fetch_eds(year, top_n)
    table = pd.read_csv(mirror / "eds" / "occupation_percentages_race_occ1950.csv")
    table = table[table["Census year"] == year]
    for group in ETHNICITIES:
        expected = table.nlargest(top_n, group, keep="first")["Occupation"].tolist()
        assert word_sets[f"occupations_{group}"] == expected


@pytest.mark.parametrize("year", [1890, "2016", 2015.5, None])
def test_unknown_census_year_lists_those_available(mirror, year):
    with pytest.raises(ValueError, match="year must be one of '1850', .*'1880', '1900', .*'2015'"):
        datasets.fetch_eds(occupations_year=year)


def test_debiaswe_adds_lists_and_scores_that_are_definitional_then_stereotypical(mirror):
    word_sets = datasets.fetch_debiaswe()
    assert datasets.fetch_debiaswe(offline=True).items() <= word_sets.items()
    assert word_sets["gender_specific"][:4] == ["he", "his", "He", "her"]
    scores = {name: values for name, *values in word_sets["profession_scores"]}
    assert list(scores) == word_sets["professions"]
    assert (scores["actress"], scores["nurse"]) == ([-1.0, 0.0], [-0.1, -0.9])


def test_sembias_questions_keep_the_order_of_their_labels(mirror):
    word_sets = datasets.fetch_gn_glove()
    questions = word_sets["sembias"]
    assert word_sets["sembias_labels"] == ["definition", "none", "none", "stereotype"]
    assert len(questions) == 440
    assert (questions[0][0], questions[0][3]) == (["priest", "nun"], ["doctor", "nurse"])


def test_every_bulk_file_has_the_size_and_checksum_registered(mirror):
    for name, file in FILES.items():
        assert fetch_file(name) == mirror / name
        assert (mirror / name).stat().st_size == file.size


def test_bsa_has_the_published_lists(mirror):
    lists = datasets.fetch_bsa()
    assert {"Mary", "Victoria"} <= set(lists["female"])
    lexicon = datasets.load_bingliu()["negative_words"]
    # Its copy was read in another encoding.
    assert set(lexicon) - set(lists["negative"]) == {"naïve"}
    assert len(lists) == 26


def test_holistic_bias_keeps_single_words_that_nobody_dislikes(mirror):
    groups = datasets.fetch_holistic_bias()
    assert len(groups) == 66
    assert groups["age_old"][:4] == ["octogenarian", "nonagenarian", "centenarian", "older"]
    assert not any(" " in word or "-" in word for words in groups.values() for word in words)
    phrases = datasets.fetch_holistic_bias(several_words=True)
    assert "hard-of-hearing" in phrases["ability_auditory"]
    everything = datasets.fetch_holistic_bias(several_words=True, dispreferred=True)
    published = json.loads((mirror / "holistic_bias" / "descriptors.json").read_text("utf-8"))
    n_published = sum(len(words) for axis in published.values() for words in axis.values())
    assert 0 <= n_published - sum(map(len, everything.values())) <= 3  # some are there twice
    assert "dainty" in {*everything["body_type_thin"]} - {*phrases["body_type_thin"]}


def test_encoders_are_asked_about_descriptors_of_several_words(mirror):
    encoder = {"encoder": str(mirror)}  # planned, not opened
    declared = {"queries": [{"set": "age"}], "metrics": [{"metric": "weat-es"}], "name": "Age"}
    for models, several in ([encoder], True), ([encoder, {"source": "demo"}], False):
        asked = Study(declared | {"models": models}).plan.query_sets[0].queries[0]
        assert any("-" in word for word in asked.target_sets[1]) == several


def test_queries_about_people_are_made_of_holistic_bias(mirror):
    old = datasets.load_query_set("age")
    assert [query.template for query in old] == [(2, 2), (2, 1), (2, 1), (2, 1)]
    assert old[0].query_name == "Young and Old wrt Pleasant and Unpleasant"
    (views,) = datasets.load_query_set("political_views")
    assert views.template == (18, 2)
    assert views.target_sets[0] == ["liberal"]
    (control,) = datasets.load_query_set("invented_words")
    assert control.target_sets[0] == ["blicket"]
