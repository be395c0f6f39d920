"""SEAT: WEAT on words in sentences."""

import itertools

import numpy as np
import pytest
from fake_encoder import FakeEncoder
from scipy.spatial.distance import cdist

from wefe import Query
from wefe.contextual._contexts import fill_template
from wefe.metrics import SEAT, WEAT
from wefe.running import measure

TWO = ("This is a {}.", "{} is here.")
OPTIONS = {"calculate_p_value": True, "p_value_method": "exact"}


@pytest.fixture
def query():
    return Query(
        [["nurse", "engineer", "clerk"], ["pilot", "judge", "actor"]],
        [["art", "dance"], ["math", "logic", "algebra"]],
        ["X", "Y"],
        ["A", "B"],
    )


def literal_seat(query, vector, templates):
    """Return per word of X and Y the list of s(sentence, A, B), in plain loops."""
    filled = [
        [[vector(*fill_template(t, word)) for t in templates] for word in part]
        for part in query.target_sets + query.attribute_sets
    ]
    x, y, a, b = filled
    flat_a, flat_b = [v for word in a for v in word], [v for word in b for v in word]

    def s(w):
        return float(cdist([w], flat_b, "cosine").mean() - cdist([w], flat_a, "cosine").mean())

    return [[[s(v) for v in word] for word in part] for part in (x, y)]


def literal_p(x, y):
    """Return the share of splits whose sum is at least as large, by listing all of them."""
    pool, observed = [*x, *y], sum(x) - sum(y)
    splits = list(itertools.combinations(range(len(pool)), len(x)))
    hits = sum(
        2 * sum(pool[i] for i in chosen) - sum(pool) >= observed - 1e-12 for chosen in splits
    )
    return hits / len(splits)


def test_it_is_the_definition_spelt_out(query):
    encoder, templates = FakeEncoder(), ("It is {}.", "{} is here.")

    def vector(text, *_):
        return encoder._vector((text, 0, len(text)), 3).astype(float)

    s_x, s_y = literal_seat(query, vector, templates)
    flat_x, flat_y = ([s for word in part for s in word] for part in (s_x, s_y))
    words_x, words_y = ([sum(word) / 2 for word in part] for part in (s_x, s_y))
    result = SEAT().run_query(query, encoder, templates, **OPTIONS)
    effect_size = (np.mean(flat_x) - np.mean(flat_y)) / np.std(flat_x + flat_y, ddof=1)
    assert result["seat"] == pytest.approx(sum(flat_x) - sum(flat_y), abs=1e-12)
    assert result["effect_size"] == result["result"] == pytest.approx(effect_size, abs=1e-12)
    assert result["p_value"] == pytest.approx(literal_p(words_x, words_y), abs=1e-12)
    assert [*result.details["associations"]["X"].values()] == pytest.approx(words_x, abs=1e-12)
    by_sentence = SEAT().run_query(query, encoder, templates, "sentences", **OPTIONS)
    assert by_sentence["p_value"] == pytest.approx(literal_p(flat_x, flat_y), abs=1e-12)
    assert by_sentence["result"] == result["result"]
    assert result.details["n_sentences"] == (6, 6, 4, 6)


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_bare_word_makes_it_weat(query, ddof):
    encoder, options = FakeEncoder(), {"ddof": ddof, **OPTIONS}
    seat = SEAT().run_query(query, encoder, "{}", **options)
    weat = WEAT().run_query(query, encoder, **options)
    for ours, theirs in (("seat", "weat"), ("effect_size", "effect_size"), ("p_value", "p_value")):
        assert seat[ours] == pytest.approx(weat[theirs], abs=1e-12)
    low, high = SEAT().scale(query, templates=TWO, ddof=ddof).value_range
    assert low <= SEAT().run_query(query, encoder, TWO, ddof=ddof)["result"] <= high < 2.5


def test_copies_of_a_template_change_neither_effect_size_nor_the_p_value_of_words(query):
    class Apart(FakeEncoder):
        def _vector(self, item, layer):
            first = any(word in item.text for word in query.target_sets[0] + ["art", "dance"])
            return super()._vector(item, layer) + np.eye(self.dim)[0] * (6 if first else -6)

    encoder, thrice = Apart(), ["This is {}."] * 3
    one, three = (
        SEAT().run_query(query, encoder, templates, ddof=0, **OPTIONS)
        for templates in (thrice[:1], thrice)
    )
    assert three["effect_size"] == pytest.approx(one["effect_size"], abs=1e-12)
    assert three["seat"] == pytest.approx(3 * one["seat"], abs=1e-12)
    assert three["p_value"] == one["p_value"] == pytest.approx(1 / 20)
    # Which is why words are exchanged: copies of sentences alone make the other one small.
    copied = SEAT().run_query(query, encoder, thrice, "sentences", **OPTIONS)
    assert copied["p_value"] == pytest.approx(0, abs=1e-3)


def test_sets_have_kinds_of_their_own(query):
    encoder = FakeEncoder()
    kinds = {"X": "noun", "Y": "noun", "A": "any", "B": ["{}!"], "another query's": "name"}
    result = SEAT().run_query(query, encoder, kinds)
    assert [len(own) for own in result.details["templates"]] == [7, 7, 6, 1]
    assert {"This is an actor.", "logic!"} < {context.text for context in encoder.calls[0]}
    del kinds["B"]
    with pytest.raises(ValueError, match="lacks an entry for the set 'B'"):
        SEAT().run_query(query, encoder, kinds)


AN = """
    actor engineer Asian African-American angry onion onerous umbrella uncle usher urban ugly utter
    unemployed unidentified unimportant uninformed unintelligent unimaginative uninvited unanswered
    hour hourglass honest heir heiress honorable honourable élite Übermensch Uzbek Uber Indian
    8 8-year-old 80-year-old 8,000 11 11th 11-year-old 11,000 18 18-year-old
    MBA FBI LGBT LGBTQ+ HR HIV-positive X-ray F EU "honest"
"""
A = """
    nurse boss house honeymoon Honduran humanist user useless usual union unionist unicorn unique
    unit united unilateral unidirectional unimodal universal unisex unanimous ubiquitous European
    eulogy Ukrainian Ugandan Uruguayan Uighur Utahn utensil utility uterus uranium urologist
    one one-eyed once oneself ewe ukulele UFO UN US U-turn ñandú yoga writer
    7 110 118 1180000 NURSE HIT SPY
"""


@pytest.mark.parametrize(
    ("word", "article"),
    [
        *((word, "an") for word in AN.split()),
        *((word, "a") for word in A.split()),
        ("", "a"),
        ("U.S. citizen", "a"),
    ],
)
def test_articles_agree(word, article):
    text, start, end = fill_template("It is a {}, yes.", word)
    assert text == f"It is {article} {word}, yes."
    assert text[start:end] == word
    assert fill_template("A {}.", word)[0] == f"{article.capitalize()} {word}."
    assert fill_template("Diana {}.", word)[0] == f"Diana {word}."


class Special(FakeEncoder):
    """Sentences with 'judge' have no direction; 'nurse' and 'pilot' alone have the same vector."""

    def _vector(self, item, layer):
        if item.text in ("nurse", "pilot"):
            return np.eye(self.dim)[0]
        return super()._vector(item, layer) * ("judge" not in item.text)


def test_what_has_no_answer_is_nan_with_a_reason(query):
    models = [Special("zero"), FakeEncoder("short", longest=20), FakeEncoder("fine")]
    templates = ["This is {}.", "This is, after very many words, {}."]
    scores = measure(SEAT, [query], models, metric_params={"templates": templates})
    assert scores["score"].isna().tolist() == [True, True, False]
    assert "'This is judge.'" in scores["nan_reason"][0]
    too_long = "short cannot read 'This is, after very many words, nurse.' (11 of 22 "
    assert too_long in scores["nan_reason"][1]
    small = Query([["nurse"], ["pilot"]], [["art"], ["math"]])
    assert "deviation is 0" in SEAT().run_query(small, Special(), "{}").nan_reason
