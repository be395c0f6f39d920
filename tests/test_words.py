"""Words before look-up: cleaning, variants, and the options that are refused."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import Query, WordEmbeddingModel
from wefe.embeddings import embed_query
from wefe.words import check_preprocessors, preprocess_word, variants

FORMS = ["NFC", "NFD", "NFKC", "NFKD"]
OPTIONS = [
    {},
    {"lowercase": True},
    {"uppercase": True},
    {"titlecase": True},
    {"strip_accents": True},
    {"strip_accents": "ascii"},
    {"lowercase": True, "strip_accents": "unicode"},
]
words = st.text(max_size=12)
options = st.sampled_from(OPTIONS)


# One preprocessor


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "Ñandú"),
        (None, "Ñandú"),
        ({"lowercase": True}, "ñandú"),
        ({"uppercase": True}, "ÑANDÚ"),
        ({"titlecase": True}, "Ñandú"),
        ({"strip_accents": True}, "Nandu"),
        ({"lowercase": True, "strip_accents": True}, "nandu"),
        ({"lowercase": False, "strip_accents": False}, "Ñandú"),
        ({"preprocessor": None, "lowercase": True}, "ñandú"),
        # A function switches the others off; the last of several cases wins.
        ({"lowercase": True, "preprocessor": lambda word: word + "!"}, "Ñandú!"),
        ({"lowercase": True, "uppercase": True, "titlecase": True}, "Ñandú"),
    ],
)
def test_each_documented_option_does_what_it_says(options, expected):
    assert preprocess_word("Ñandú", options) == expected
    assert preprocess_word("Ñandú", options, vocab_prefix="/C/Éñ/") == f"/C/Éñ/{expected}"


@pytest.mark.parametrize(
    ("word", "unicode", "ascii"),
    [
        ("naïve", "naive", "naive"),
        ("Łódź", "Łodz", "odz"),  # the stroke of Ł is no combining mark
        ("straße", "straße", "strae"),
        ("ﬁn", "fin", "fin"),
        ("Ελένη", "Ελενη", ""),
        ("i\u0307", "i", "i"),
        ("여자", "여자", ""),  # syllables that decompose into letters
    ],
)
def test_unicode_removes_marks_and_ascii_removes_what_is_left(word, unicode, ascii):  # noqa: A002
    for form in FORMS:
        spelled = unicodedata.normalize(form, word)
        assert preprocess_word(spelled, {"strip_accents": "ascii"}) == ascii
        stripped = preprocess_word(spelled, {"strip_accents": "unicode"})
        assert unicodedata.normalize("NFKC", stripped) == unicode


# Variants


@settings(deadline=None)
@given(words.filter(bool), st.lists(options, min_size=1, max_size=4))
def test_variants_are_the_distinct_forms_in_the_order_of_the_preprocessors(word, preprocessors):
    forms = []
    for options in preprocessors:
        form = preprocess_word(word, options)
        if form and form not in forms:
            forms.append(form)
    assert variants(word, preprocessors) == forms
    assert variants(word, preprocessors, "/c/en/") == ["/c/en/" + form for form in forms]


# What is refused


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"unrelated": True}, ValueError, "'unrelated'; the options are 'lowercase'"),
        ({1: True}, ValueError, "unknown option 1"),
        ({"lowercase": "no"}, TypeError, "'lowercase' must be True or False; got str 'no'"),
        ({"titlecase": None}, TypeError, "'titlecase' must be True or False"),
        ({"strip_accents": "asci"}, ValueError, "Did you mean 'ascii'"),
        ({"unicode_form": "nfc"}, ValueError, "'NFC', 'NFD', 'NFKC', 'NFKD'; got str 'nfc'"),
        ({"apostrophes": "curly"}, ValueError, "one of 'straight', 'typographic'"),
        ({"preprocessor": "lower"}, TypeError, "must be a callable; got str 'lower'"),
        ({"apostrophes": True}, ValueError, "one of 'straight', 'typographic'"),
        ("lowercase", TypeError, "must be a dict of options"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        preprocess_word("She", options)
    with pytest.raises(error, match=message):
        check_preprocessors([{}, options])


def test_wrong_lists_of_preprocessors_are_refused():
    for preprocessors, error, message in (
        (iter([{}]), TypeError, "preprocessors must be a list"),
        ([], ValueError, r"\[\{\}\] looks words up as they are"),
    ):
        with pytest.raises(error, match=message):
            check_preprocessors(preprocessors)


def test_a_function_that_returns_no_string_is_named_with_the_word():
    def forgetful(word):
        word.lower()

    with pytest.raises(TypeError, match=r"forgetful.*for 'She' it returned NoneType None"):
        preprocess_word("She", {"preprocessor": forgetful})


# Forms of Unicode, and apostrophes


NINA = {form: unicodedata.normalize(form, "niña") for form in ("NFC", "NFD")}


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None)
@given(words, options)
def test_the_form_holds_whatever_the_other_options_do(form, word, options):
    processed = preprocess_word(word, {**options, "unicode_form": form})
    assert unicodedata.is_normalized(form, processed)


def test_a_mark_does_not_begin_a_word():
    # str.title() takes the letter after a combining mark for the first of a word.
    assert NINA["NFD"].title() == "Nin\u0303A"
    for spelled in NINA.values():
        word = preprocess_word(spelled, {"titlecase": True, "unicode_form": "NFD"})
        assert word == unicodedata.normalize("NFD", "Niña")


@pytest.mark.parametrize(
    ("word", "options", "expected"),
    [
        ("ĳsberg", {"unicode_form": "NFKC"}, "ijsberg"),
        ("ĳsberg", {"unicode_form": "NFC"}, "ĳsberg"),
        ("sœur", {"unicode_form": "NFKC"}, "sœur"),  # a letter of French, no ligature in print
        ("straße", {"uppercase": True}, "STRASSE"),
        ("straße", {"lowercase": True}, "straße"),
        ("ßa", {"titlecase": True}, "Ssa"),
        ("IŞIK", {"lowercase": True}, "işik"),  # Turkish would have ışık
        ("aujourd\u2019hui", {"apostrophes": "straight"}, "aujourd'hui"),
        ("aujourd'hui", {"apostrophes": "typographic"}, "aujourd\u2019hui"),
        ("l\u02bcart", {"apostrophes": "straight"}, "l'art"),
        ("l`art", {"apostrophes": "straight"}, "l`art"),
        ("L\uff07ART", {"unicode_form": "NFKC", "apostrophes": "typographic"}, "L\u2019ART"),
    ],
)
def test_letters_that_are_not_what_they_look_like(word, options, expected):
    assert preprocess_word(word, options) == expected


# A word of the query in one form, the vocabulary in the other one.


@pytest.mark.parametrize(("of_model", "of_query"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_queries_find_words_of_the_other_unicode_form(of_model, of_query):
    spanish = ["él", "niña", "álgebra"]
    in_model, in_query = (
        [unicodedata.normalize(form, word) for word in spanish] for form in (of_model, of_query)
    )
    model = WordEmbeddingModel((in_model, np.eye(3)))
    query = Query([in_query[:1], in_query[1:2]], [in_query[2:]])
    assert embed_query(model, query).nan_reason is not None
    for preprocessors in ([{"unicode_form": of_model}], [{}, {"unicode_form": of_model}]):
        embedded = embed_query(model, query, preprocessors=preprocessors)
        assert [part.words for part in embedded.sets] == [(word,) for word in in_model]
