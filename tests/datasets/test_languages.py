"""Word sets in other languages: what a list must hold, and that queries find it."""

import unicodedata
from collections import Counter

import pytest

from wefe.datasets import (
    grammatical_gender_counts,
    language_notes,
    list_query_sets,
    load_criterion,
    load_language_criterion,
    load_language_words,
    load_occupations,
    load_query_set,
)
from wefe.datasets._languages import _read, language_word_sets
from wefe.datasets._opened import open_query_set

CODES = ["es", "fr", "de", "it", "nl", "sv", "pt"]
# In these, nouns for men are masculine and nouns for women feminine.
SETS = ["male_terms", "female_terms", "career", "family", "math", "arts", "science"]
every_language = pytest.mark.parametrize("code", CODES)


def everything(code):
    """All words of a language, occupations and gendered words too."""
    return [*listed(code), *_read(code)["gendered_words"]]


def listed(code):
    """The words of a language and the forms of its occupations."""
    occupations = load_occupations(code)
    return [*load_language_words(code)["word"], *occupations["masculine"], *occupations["feminine"]]


@every_language
def test_words_are_single_composed_tokens(code):
    for word in everything(code):
        assert word == unicodedata.normalize("NFC", word)
        assert word.isalpha(), word


@every_language
def test_no_word_stands_twice_in_the_sets_of_a_query(code):
    queries = load_query_set(f"gender_{code}")
    for query in queries:
        words = [word for part in query.target_sets + query.attribute_sets for word in part]
        assert max(Counter(word.casefold() for word in words).values()) == 1


@every_language
def test_targets_are_pairs_and_attribute_sets_are_long_enough(code):
    sets = language_word_sets(code)
    assert list(sets) == SETS
    assert len(sets["male_terms"]) == len(sets["female_terms"]) >= 12
    assert all(len(words) >= 6 for words in sets.values())


@every_language
def test_grammatical_genders_are_those_the_language_has(code):
    words = load_language_words(code)
    allowed = {"de": "mfn-", "nl": "cn-", "sv": "cn-"}.get(code, "mf-")
    assert set(words["grammatical_gender"]) <= set(allowed)
    counts = grammatical_gender_counts(code)
    assert list(counts.index) == SETS
    for key in SETS:
        own = words[words["set"] == key]["grammatical_gender"]
        assert counts.loc[key].to_dict() == {g: int((own == g).sum()) for g in "mfnc-"}


@every_language
def test_occupations_have_both_forms_and_the_same_english_key(code):
    occupations = load_occupations(code)
    assert list(occupations.columns) == ["english", "masculine", "feminine"]
    assert len(occupations) >= 40
    for column in occupations.columns:
        assert occupations[column].is_unique, column
    # A word is the feminine form of one occupation and the masculine form of no other one.
    gendered = occupations[occupations["masculine"] != occupations["feminine"]]
    assert not gendered["feminine"].isin(occupations["masculine"]).any()


@every_language
def test_an_occupation_that_a_language_lacks_is_named_in_its_notes(code):
    keys = {key for other in CODES for key in load_occupations(other)["english"]}
    missing = keys - set(load_occupations(code)["english"])
    listed = language_notes(code).split("Occupations left out, or replaced:")[1]
    named = {line[2:].split(":")[0] for line in listed.splitlines() if line.startswith("- ")}
    assert named == missing


@every_language
def test_query_sets_are_published_paired_and_complete_offline(code):
    name = f"gender_{code}"
    row = next(row for row in list_query_sets() if row["name"] == name)
    assert (row["queries"], row["queries_offline"], row["delivery"]) == (3, 3, "shipped")
    assert row["paired_targets"] is open_query_set(name, offline=True).paired is True
    sets = language_word_sets(code)
    for query, (one, other) in zip(
        load_query_set(name, offline=True),
        [("career", "family"), ("math", "arts"), ("science", "arts")],
        strict=True,
    ):
        expected = [sets[key] for key in ("male_terms", "female_terms", one, other)]
        assert [list(words) for words in query.target_sets + query.attribute_sets] == expected


def test_names_of_queries_do_not_collide_between_languages():
    names = [
        query.query_name
        for name in ["gender", *(f"gender_{code}" for code in CODES)]
        for query in load_query_set(name, offline=True)
    ]
    assert len(set(names)) == len(names) == 6 + 3 * 7
    assert "Male terms (de) and Female terms (de) wrt Math and Arts" in names


@every_language
def test_criterion_has_the_classes_and_order_of_the_english_one(code):
    criterion, english = load_language_criterion(code), load_criterion("gender", offline=True)
    assert criterion.name == f"gender_{code}"
    assert criterion.class_names == english.class_names == ("female", "male")
    sets = language_word_sets(code)
    assert list(criterion.classes["female"]) == sets["female_terms"]
    assert list(criterion.classes["male"]) == sets["male_terms"]
    occupations = load_occupations(code)
    for form in ("masculine", "feminine"):
        is_gendered = occupations["masculine"] != occupations["feminine"]
        is_specific = occupations[form].isin(criterion.specific_words)
        assert is_specific.tolist() == is_gendered.tolist()
    persons = load_language_words(code).query("person and grammatical_gender in ['m', 'f']")
    assert set(persons["word"]) - {"crianças"} <= set(criterion.specific_words)
    assert {"crianças", "Einstein", "NASA"}.isdisjoint(criterion.specific_words)


@every_language
def test_gendered_words_stand_in_no_other_list(code):
    words = _read(code)["gendered_words"]
    assert 40 <= len(words) == len(set(words))
    others = {word.casefold() for word in listed(code)}
    assert others.isdisjoint(word.casefold() for word in words)
