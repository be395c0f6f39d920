"""The query sets of published studies, and the tables of what there is."""

import json
import logging
import shutil

import pytest

from wefe import datasets
from wefe.datasets._opened import open_query_set
from wefe.datasets._queries import shipped_word_set

# Targets and attributes of the ten tests, as the paper lists them.
WEAT_TESTS = """
flowers insects pleasant_5 unpleasant_5a
instruments weapons pleasant_5 unpleasant_5a
european_american_names_5 african_american_names_5 pleasant_5 unpleasant_5b
european_american_names_7 african_american_names_7 pleasant_5 unpleasant_5b
european_american_names_7 african_american_names_7 pleasant_9 unpleasant_9
male_names female_names career family
math arts male_terms female_terms
science arts_2 male_terms_2 female_terms_2
mental_disease physical_disease temporary permanent
young_people_names old_people_names pleasant_9 unpleasant_9
"""
CRITERIA = ["gender", "ethnicity", "religion"]
OFFLINE = {"gender": 6, "ethnicity": 3, "religion": 6}
COMPLETE = {"gender": 7, "ethnicity": 9, "religion": 9}


def word_lists(query):
    return [list(words) for words in [*query.target_sets, *query.attribute_sets]]


def names(queries):
    return [query.query_name for query in queries]


def test_the_ten_weat_tests_have_the_published_words():
    word_sets = datasets.load_weat()
    expected = [
        [word_sets[key] for key in line.split()] for line in WEAT_TESTS.strip().splitlines()
    ]
    queries = datasets.load_weat_queries()
    assert [word_lists(query) for query in queries] == expected
    assert len(set(names(queries))) == 10


@pytest.mark.parametrize("criterion", CRITERIA)
def test_offline_leaves_out_the_queries_it_names_and_no_other(criterion, mirror):
    complete = names(datasets.load_case_study_queries(criterion))
    offline = names(datasets.load_case_study_queries(criterion, offline=True))
    left_out = datasets.list_queries_left_out(criterion)
    assert (len(complete), len(offline)) == (COMPLETE[criterion], OFFLINE[criterion])
    assert [name for name in complete if name not in left_out] == offline
    assert set(left_out) == set(complete) - set(offline)


def test_what_is_left_out_is_logged_and_the_warning_is_short(caplog):
    with caplog.at_level(logging.INFO, logger="wefe.datasets"):
        datasets.load_query_set("gender", offline=True)
    (record,) = caplog.records
    assert "1 of 7 queries of 'gender' left out: Male terms and" in record.getMessage()
    for name in CRITERIA:
        caplog.clear()
        why = open_query_set(name).why
        assert why == "127.0.0.1:9 could not be reached"
        (message,) = [text for text in caplog.messages if "left out" in text and why in text]
        assert len(message) < 300


def test_gender_queries_do_not_need_the_census(mirror, tmp_path, monkeypatch):
    shutil.copytree(mirror / "bingliu", tmp_path / "lexicon_only" / "bingliu")
    monkeypatch.setenv("WEFE_DATA_DIR", str(tmp_path / "lexicon_only"))
    assert len(datasets.load_query_set("gender")) == 7
    rows = {row["name"]: row["cached"] for row in datasets.list_query_sets()}
    assert rows["gender"] is True
    assert rows["ethnicity"] is False


def test_unknown_names_list_the_known_ones():
    for function in (datasets.load_query_set, datasets.list_queries_left_out):
        with pytest.raises(ValueError, match="'weat', 'gender'.*Did you mean 'gender'"):
            function("gendr")
    for language in ("ES", None, "../eds"):
        with pytest.raises(ValueError, match="'es', .* 'pt'"):
            datasets.load_language_words(language)
    with pytest.raises(ValueError, match="one of 'gender', 'ethnicity', 'religion'; got"):
        datasets.load_case_study_queries("weat")


def test_table_of_query_sets_agrees_with_the_query_sets(mirror):
    for row in datasets.list_query_sets():
        assert len(datasets.load_query_set(row["name"])) == row["queries"]
        offline = datasets.load_query_set(row["name"], offline=True)
        assert len(offline) == row["queries_offline"]
        assert (row["cached"] is None) == (row["delivery"] == "shipped")


def test_table_of_datasets_agrees_with_the_datasets(mirror):
    for row in datasets.list_datasets():
        assert len(getattr(datasets, row["function"])()) == row["word_sets"]
        assert (row["cached"] is None) == (row["delivery"] == "shipped")
        assert (row["download_bytes"] == 0) == (row["delivery"] == "shipped")
        assert row["source"]
        assert row["url"].startswith("https://")


def test_tables_tell_what_is_at_hand(mirror, monkeypatch):
    tables = (datasets.list_datasets, datasets.list_query_sets)
    assert {row["cached"] for table in tables for row in table()} == {True, None}
    monkeypatch.delenv("WEFE_DATA_DIR")
    assert {row["cached"] for table in tables for row in table()} == {False, None}


def test_queries_and_questions_in_files_of_the_user(tmp_path):
    path, query = tmp_path / "mine.json", datasets.load_weat_queries()[0]
    path.write_text(json.dumps([query.dict()]))
    opened = open_query_set(str(path))
    assert (opened.name, opened.queries, opened.paired) == ("mine", [query], None)
    assert shipped_word_set("weat/flowers") == datasets.load_weat()["flowers"]
    for content, culprit in (("{", "JSON"), ("[{}]", "query 0"), ("[]", "no query")):
        path.write_text(content)
        with pytest.raises(ValueError, match=culprit):
            open_query_set(str(path))
    for call, error, culprit in (
        (lambda: open_query_set("gendr"), ValueError, "Did you mean 'gender'"),
        (lambda: open_query_set("age", offline=True), ValueError, "no query of this set"),
        (lambda: open_query_set("no.json"), FileNotFoundError, "no.json"),
        (lambda: shipped_word_set("weat/flower"), ValueError, "'weat/flowers'"),
        (lambda: datasets.load_sembias(tmp_path / "no.txt"), FileNotFoundError, "no.txt"),
    ):
        with pytest.raises(error, match=culprit):
            call()
    questions = tmp_path / "questions.txt"
    questions.write_text("king:queen dog:cat cup:mug doctor:nurse\n")
    assert datasets.load_sembias(questions)[0][3] == ["doctor", "nurse"]
    for content, culprit in ((b"king:queen dog:cat\n", "question 1"), (b"\xff", "UTF-8")):
        questions.write_bytes(content)
        with pytest.raises(ValueError, match=culprit):
            datasets.load_sembias(questions)
