"""Words before look-up: cleaning, variants, and the options that are refused."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.words import check_preprocessors, preprocess_word, variants

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
        ({"strip_accents": "unicode"}, "Nandu"),
        ({"strip_accents": "ascii"}, "Nandu"),
        ({"lowercase": True, "strip_accents": True}, "nandu"),
        ({"lowercase": False, "strip_accents": False}, "Ñandú"),
        ({"preprocessor": lambda word: word[::-1]}, "údnaÑ"),
        ({"preprocessor": None, "lowercase": True}, "ñandú"),
    ],
)
def test_each_documented_option_does_what_it_says(options, expected):
    assert preprocess_word("Ñandú", options) == expected


def test_a_function_switches_the_other_options_off():
    options = {"lowercase": True, "strip_accents": True, "preprocessor": lambda word: word + "!"}
    assert preprocess_word("José", options) == "José!"


def test_titlecase_capitalises_every_part_of_a_word():
    assert preprocess_word("new-york o'neil", {"titlecase": True}) == "New-York O'Neil"


def test_last_of_several_cases_wins():
    assert preprocess_word("nasa", {"uppercase": True, "titlecase": True}) == "Nasa"
    assert preprocess_word("NASA", {"lowercase": True, "uppercase": True}) == "NASA"


@pytest.mark.parametrize(
    ("word", "unicode", "ascii"),
    [
        ("naïve", "naive", "naive"),
        ("Łódź", "Łodz", "odz"),  # the stroke of Ł is no combining mark
        ("straße", "straße", "strae"),
        ("ﬁn", "fin", "fin"),
        ("Ελένη", "Ελενη", ""),
        ("i\u0307", "i", "i"),
    ],
)
def test_unicode_removes_marks_and_ascii_removes_what_is_left(word, unicode, ascii):  # noqa: A002
    assert preprocess_word(word, {"strip_accents": "unicode"}) == unicode
    assert preprocess_word(word, {"strip_accents": "ascii"}) == ascii


def test_stripping_accents_leaves_korean_words_whole():
    # A Hangul syllable decomposes, as an accented letter does, but into letters.
    assert preprocess_word("여자", {"strip_accents": True}) == "여자"


def test_composed_and_decomposed_accents_are_stripped_alike():
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        word = unicodedata.normalize(form, "Müller-Ångström")
        assert preprocess_word(word, {"strip_accents": True}) == "Muller-Angstrom"


def test_prefix_is_put_before_the_word_and_left_as_it_is():
    assert preprocess_word("Él", {"lowercase": True}, vocab_prefix="/C/Éñ/") == "/C/Éñ/él"
    shout = {"preprocessor": str.upper}
    assert preprocess_word("él", shout, vocab_prefix="/c/en/") == "/c/en/ÉL"


@settings(deadline=None)
@given(words)
def test_empty_preprocessor_changes_nothing(word):
    assert preprocess_word(word) == preprocess_word(word, {}) == word


@settings(deadline=None)
@given(words, options.filter(lambda one: "titlecase" not in one))
def test_processing_twice_is_processing_once(word, options):
    once = preprocess_word(word, options)
    assert preprocess_word(once, options) == once


@settings(deadline=None)
@given(words, options, st.text(max_size=5))
def test_prefix_is_independent_of_the_options(word, options, prefix):
    assert preprocess_word(word, options, prefix) == prefix + preprocess_word(word, options)


@settings(deadline=None)
@given(words)
def test_stripped_words_hold_no_combining_marks(word):
    stripped = preprocess_word(word, {"strip_accents": True})
    assert not any(map(unicodedata.combining, unicodedata.normalize("NFKD", stripped)))
    assert preprocess_word(word, {"strip_accents": "ascii"}).isascii()


@settings(deadline=None)
@given(words, options)
def test_options_are_not_changed_by_use(word, options):
    before = dict(options)
    preprocess_word(word, options)
    assert options == before


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


def test_a_form_of_which_nothing_is_left_is_not_looked_up():
    # With a prefix it would be the prefix alone, which some vocabularies hold.
    assert variants("Ελένη", [{"strip_accents": "ascii"}], "/c/en/") == []
    assert variants("Ελένη", [{"strip_accents": "ascii"}, {}], "/c/en/") == ["/c/en/Ελένη"]


# What is refused


def test_typo_of_the_old_documentation_gets_a_suggestion():
    with pytest.raises(ValueError, match=r"'lowecase'.*Did you mean 'lowercase'\?"):
        preprocess_word("She", {"lowecase": True, "strip_accents": True})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"unrelated": True}, ValueError, "'unrelated'; the options are 'lowercase'"),
        ({1: True}, ValueError, "unknown option 1"),
        ({"lowercase": "no"}, TypeError, "'lowercase' must be True or False; got str 'no'"),
        ({"uppercase": 1}, TypeError, "'uppercase' must be True or False"),
        ({"titlecase": None}, TypeError, "'titlecase' must be True or False"),
        ({"strip_accents": "asci"}, ValueError, "Did you mean 'ascii'"),
        ({"strip_accents": 1}, ValueError, "strip_accents must be one of 'ascii', 'unicode'"),
        ({"preprocessor": "lower"}, TypeError, "must be a callable; got str 'lower'"),
        ("lowercase", TypeError, "must be a dict of options"),
        (["lowercase"], TypeError, "must be a dict of options"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        preprocess_word("She", options)
    with pytest.raises(error, match=message):
        check_preprocessors([{}, options])


@pytest.mark.parametrize("word", [None, 3, b"she", ["she"]])
def test_only_strings_are_words(word):
    with pytest.raises(TypeError, match="word must be a string"):
        preprocess_word(word)


def test_a_function_that_returns_no_string_is_named_with_the_word():
    def forgetful(word):
        word.lower()

    with pytest.raises(TypeError, match=r"forgetful.*for 'She' it returned NoneType None"):
        preprocess_word("She", {"preprocessor": forgetful})


@pytest.mark.parametrize(
    ("preprocessors", "error", "message"),
    [
        ({"lowercase": True}, TypeError, r"Write \[\{'lowercase': True\}\]"),
        ("lowercase", TypeError, "preprocessors must be a list"),
        (({} for _ in range(2)), TypeError, "preprocessors must be a list.*generator"),
        ([], ValueError, r"\[\{\}\] looks words up as they are"),
        ([None], TypeError, "must be a dict of options"),
    ],
)
def test_wrong_lists_of_preprocessors_are_refused(preprocessors, error, message):
    with pytest.raises(error, match=message):
        check_preprocessors(preprocessors)


def test_no_list_of_preprocessors_means_words_as_they_are():
    assert check_preprocessors(None) == ({},)
