"""Word sets in other languages: what a list must hold, and that queries find it."""

import unicodedata

import pytest

from wefe.datasets import (
    language_notes,
    list_query_sets,
    load_criterion,
    load_language_words,
    load_occupations,
    load_query_set,
)
from wefe.datasets._criteria import _language, language_word_sets

CODES = ["es", "fr", "de", "it", "nl", "sv", "pt"]
# In these, nouns for men are masculine and nouns for women feminine.
SETS = ["male_terms", "female_terms", "career", "family", "math", "arts", "science"]
every_language = pytest.mark.parametrize("code", CODES)


@every_language
def test_words_are_single_composed_tokens_and_gendered_words_stand_in_no_other_list(code):
    occupations, gendered = load_occupations(code), _language(code)["gendered_words"]
    forms = [*occupations["masculine"], *occupations["feminine"]]
    listed = [*load_language_words(code)["word"], *forms]
    for word in [*listed, *gendered]:
        assert word == unicodedata.normalize("NFC", word)
        assert word.isalpha(), word
    assert 40 <= len(gendered) == len(set(gendered))
    assert {word.casefold() for word in listed}.isdisjoint(map(str.casefold, gendered))


@every_language
def test_queries_are_paired_long_enough_and_complete_offline(code):
    name, sets = f"gender_{code}", language_word_sets(code)
    assert list(sets) == SETS
    assert len(sets["male_terms"]) == len(sets["female_terms"]) >= 12
    assert all(len(words) >= 6 for words in sets.values())
    row = next(row for row in list_query_sets() if row["name"] == name)
    assert row["queries"] == row["queries_offline"] == 3
    assert row["paired_targets"] is True
    attributes = [("career", "family"), ("math", "arts"), ("science", "arts")]
    for query, pair in zip(load_query_set(name, offline=True), attributes, strict=True):
        parts = [list(words) for words in query.target_sets + query.attribute_sets]
        assert parts == [sets[key] for key in ("male_terms", "female_terms", *pair)]
        words = [word.casefold() for part in parts for word in part]
        assert len(set(words)) == len(words)


@every_language
def test_grammatical_genders_are_those_the_language_has(code):
    words = load_language_words(code)
    allowed = {"de": "mfn-", "nl": "cn-", "sv": "cn-"}.get(code, "mf-")
    assert set(words["grammatical_gender"]) <= set(allowed)


@every_language
def test_occupations_have_both_forms_and_the_same_english_key(code):
    occupations = load_occupations(code)
    assert list(occupations.columns) == ["english", "masculine", "feminine"]
    assert len(occupations) >= 40
    assert all(occupations[column].is_unique for column in occupations.columns)
    # A word is the feminine form of one occupation and the masculine form of no other one.
    gendered = occupations[occupations["masculine"] != occupations["feminine"]]
    assert not gendered["feminine"].isin(occupations["masculine"]).any()
    # An occupation that the language lacks is named in its notes.
    keys = {key for other in CODES for key in load_occupations(other)["english"]}
    left_out = language_notes(code)["occupations_left_out"]
    assert left_out.keys() == keys - set(occupations["english"])


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
    criterion, english = load_criterion(f"gender_{code}"), load_criterion("gender", offline=True)
    assert criterion.name == f"gender_{code}"
    assert criterion.class_names == english.class_names == ("female", "male")
    sets = language_word_sets(code)
    for name in criterion.class_names:
        assert list(criterion.classes[name]) == sets[f"{name}_terms"]
    occupations = load_occupations(code)
    is_gendered = occupations["masculine"] != occupations["feminine"]
    for form in ("masculine", "feminine"):
        assert occupations[form].isin(criterion.specific_words).equals(is_gendered)
    persons = load_language_words(code).query("person and grammatical_gender in ['m', 'f']")
    assert set(persons["word"]) - {"crianças"} <= set(criterion.specific_words)
    assert {"crianças", "Einstein", "NASA"}.isdisjoint(criterion.specific_words)
