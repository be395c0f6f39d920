"""The query sets of published studies, and the tables of what there is."""

import json
import shutil

import pytest

from wefe import datasets
from wefe.datasets._queries import open_query_set, shipped_word_set

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


def test_the_ten_weat_tests_have_the_published_words():
    word_sets = datasets.load_weat()
    expected = [
        [word_sets[key] for key in line.split()] for line in WEAT_TESTS.strip().splitlines()
    ]
    queries = datasets.load_weat_queries()
    assert [
        [list(words) for words in query.target_sets + query.attribute_sets] for query in queries
    ] == expected
    assert len({query.query_name for query in queries}) == 10


@pytest.mark.parametrize(
    ("criterion", "n_offline", "n_complete"),
    [("gender", 6, 7), ("ethnicity", 3, 9), ("religion", 6, 9)],
)
def test_offline_leaves_out_the_queries_it_names_and_no_other(
    criterion, n_offline, n_complete, mirror
):
    complete, offline = (
        [query.query_name for query in datasets.load_query_set(criterion, offline=flag)]
        for flag in (False, True)
    )
    left_out = datasets.list_queries_left_out(criterion)
    assert (len(complete), len(offline)) == (n_complete, n_offline)
    assert [name for name in complete if name not in left_out] == offline
    assert set(left_out) == set(complete) - set(offline)


def test_what_is_left_out_is_logged(caplog):
    datasets.load_query_set("gender", offline=True)
    assert (
        "gender: 1 of 7 queries are left out because their words need a download: Male"
        in caplog.text
    )
    caplog.clear()
    assert open_query_set("gender").why == "127.0.0.1:9 could not be reached"
    assert "127.0.0.1:9 could not be reached" in caplog.text


def test_unknown_names_list_the_known_ones():
    for function, name, known in (
        (datasets.load_query_set, "gendr", "Did you mean 'gender'"),
        (open_query_set, "gendr", "Did you mean 'gender'"),
        (datasets.list_queries_left_out, "gendr", "Did you mean 'gender'"),
        (datasets.load_language_words, "../eds", "'es', .* 'pt'"),
        (shipped_word_set, "weat/flower", "'weat/flowers'"),
    ):
        with pytest.raises(ValueError, match=known):
            function(name)
    with pytest.raises(ValueError, match="no query of this set"):
        open_query_set("age", offline=True)


def test_table_of_query_sets_agrees_with_the_query_sets(mirror, tmp_path, monkeypatch):
    for row in datasets.list_query_sets():
        assert len(datasets.load_query_set(row["name"])) == row["queries"]
        offline = datasets.load_query_set(row["name"], offline=True)
        assert len(offline) == row["queries_offline"]
    shutil.copytree(mirror / "bingliu", tmp_path / "lexicon_only" / "bingliu")
    monkeypatch.setenv("WEFE_DATA_DIR", str(tmp_path / "lexicon_only"))
    assert len(datasets.load_query_set("gender")) == 7  # which does not need the census


def test_table_of_datasets_agrees_with_the_datasets(mirror):
    for row in datasets.list_datasets():
        if row["name"] != "languages":
            assert len(getattr(datasets, row["function"])()) == row["word_sets"]
        assert (row["download_bytes"] == 0) == (row["delivery"] == "shipped")
        assert row["url"].startswith("https://")


def test_queries_in_files_of_the_user(tmp_path):
    path, query = tmp_path / "mine.json", datasets.load_weat_queries()[0]
    path.write_text(json.dumps([query.dict()]))
    opened = open_query_set(str(path))
    assert (opened.name, opened.queries) == ("mine", [query])
    assert shipped_word_set("weat/flowers") == datasets.load_weat()["flowers"]


@pytest.mark.parametrize(
    ("read", "content", "culprit"),
    [
        (open_query_set, None, "file.json"),
        (open_query_set, b"{", "JSON"),
        (open_query_set, b"[{}]", "query 0"),
        (open_query_set, b"[]", "no query"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, read, content, culprit):
    path = tmp_path / "file.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises((ValueError, FileNotFoundError), match=culprit):
        read(path)
