"""SEAT: WEAT on words in sentences."""

import itertools
import math

import numpy as np
import pytest
from fake_encoder import FakeEncoder
from scipy.spatial.distance import cdist

from wefe import Query
from wefe.contextual import SEAT
from wefe.contextual._templates import fill_template
from wefe.metrics import WEAT
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


@pytest.mark.parametrize("level", ["sentence", "word"])
def test_it_is_the_definition_spelt_out(query, level):
    encoder, templates = FakeEncoder(), ("It is {}.", "{} is here.")

    def vector(text, start, end):
        span = (0, len(text)) if level == "sentence" else (start, end)
        return encoder._vector((text, *span), 3).astype(float)

    s_x, s_y = literal_seat(query, vector, templates)
    flat_x, flat_y = ([s for word in part for s in word] for part in (s_x, s_y))
    words_x, words_y = ([sum(word) / 2 for word in part] for part in (s_x, s_y))
    options = {**OPTIONS, "level": level}
    result = SEAT().run_query(query, encoder, templates, **options)
    pool = flat_x + flat_y
    effect_size = (np.mean(flat_x) - np.mean(flat_y)) / np.std(pool, ddof=1)
    assert result["seat"] == pytest.approx(sum(flat_x) - sum(flat_y), abs=1e-12)
    assert result["effect_size"] == result["result"] == pytest.approx(effect_size, abs=1e-12)
    assert result["p_value"] == pytest.approx(literal_p(words_x, words_y), abs=1e-12)
    assert result.details["associations"]["X"] == pytest.approx(
        dict(zip(["nurse", "engineer", "clerk"], words_x, strict=True)), abs=1e-12
    )
    by_sentence = SEAT().run_query(query, encoder, templates, "sentences", **options)
    assert by_sentence["p_value"] == pytest.approx(literal_p(flat_x, flat_y), abs=1e-12)
    assert by_sentence["result"] == result["result"]
    assert result.details["word_effect_size"] == pytest.approx(
        (np.mean(words_x) - np.mean(words_y)) / np.std(words_x + words_y, ddof=1), abs=1e-12
    )
    assert result.details["n_sentences"] == (6, 6, 4, 6)


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_bare_word_makes_it_weat(query, ddof):
    encoder = FakeEncoder()
    options = {"ddof": ddof, **OPTIONS}
    seat = SEAT().run_query(query, encoder, "{}", **options)
    weat = WEAT().run_query(query, encoder, **options)
    for ours, theirs in (("seat", "weat"), ("effect_size", "effect_size"), ("p_value", "p_value")):
        assert seat[ours] == pytest.approx(weat[theirs], abs=1e-12)


def test_copies_of_a_template_change_neither_effect_size_nor_the_p_value_of_words(query):
    class Apart(FakeEncoder):
        def _vector(self, item, layer):
            first = any(word in item.text for word in query.target_sets[0] + ["art", "dance"])
            return super()._vector(item, layer) + np.eye(self.dim)[0] * (6 if first else -6)

    encoder = Apart()
    options = {**OPTIONS, "ddof": 0, "p_value_test_type": "two-sided"}
    once = SEAT().run_query(query, encoder, ["This is {}."], **options)
    thrice = SEAT().run_query(query, encoder, ["This is {}."] * 3, **options)
    assert thrice["effect_size"] == pytest.approx(once["effect_size"], abs=1e-12)
    assert thrice["seat"] == pytest.approx(3 * once["seat"], abs=1e-12)
    assert thrice["p_value"] == once["p_value"] == pytest.approx(2 / 20)
    # Which is why words are exchanged: copies of sentences alone make the other one small.
    other_way = Query(query.target_sets[::-1], query.attribute_sets)
    for asked, expected, warns in ((query, 0, False), (other_way, 1, True)):
        copied = SEAT().run_query(asked, encoder, ["This is {}."] * 3, "sentences", **OPTIONS)
        assert copied["p_value"] == pytest.approx(expected, abs=1e-3)
        assert any(each.startswith("strong in the opposite") for each in copied.warnings) == warns
    flipped = SEAT().run_query(other_way, encoder, TWO)
    assert flipped["result"] == -SEAT().run_query(query, encoder, TWO)["result"]


def test_sets_have_kinds_of_their_own(query):
    encoder = FakeEncoder()
    kinds = {"X": "noun", "Y": "noun", "A": "any", "B": ["{}!"], "another query's": "name"}
    result = SEAT().run_query(query, encoder, kinds)
    assert [len(own) for own in result.details["templates"]] == [7, 7, 6, 1]
    texts = [context.text for context in encoder.calls[0]]
    assert "This is an actor." in texts
    assert "logic!" in texts
    with pytest.raises(ValueError, match="lacks an entry for the set 'B'.*it has 'X', 'Y', 'A'"):
        SEAT().run_query(query, encoder, {"X": "noun", "Y": "noun", "A": "any"})


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


def test_a_vector_without_direction_is_an_unanswerable_query(query):
    class Zero(FakeEncoder):
        def _vector(self, item, layer):
            return np.zeros(self.dim) if "judge" in item.text else super()._vector(item, layer)

    scores = measure(SEAT, [query], [Zero(), FakeEncoder("fine")])
    assert scores["score"].isna().tolist() == [True, False]
    assert "'This is judge.'" in scores["nan_reason"][0]


def test_a_sentence_beyond_the_encoder_is_an_unanswerable_query(query):
    long = ["This is {}.", "This is, after very many words, {}."]
    models = [FakeEncoder(longest=20), FakeEncoder("fine")]
    scores = measure(SEAT, [query], models, metric_params={"templates": long})
    assert scores["score"].isna().tolist() == [True, False]
    reason = scores["nan_reason"][0]
    assert "fake cannot read 'This is, after very many words, nurse.' (11 of 22 " in reason


def test_equal_associations_have_no_effect_size(query):
    class Same(FakeEncoder):
        def _vector(self, item, layer):
            targets = ("nurse", "pilot")
            return np.eye(self.dim)[0] if item.text in targets else super()._vector(item, layer)

    small = Query([["nurse"], ["pilot"]], [["art"], ["math"]])
    result = SEAT().run_query(small, Same(), "{}")
    assert math.isnan(result["result"])
    assert "deviation is 0" in result.nan_reason
    assert SEAT().run_query(small, Same(), "{}", return_effect_size=False)["result"] == 0


@pytest.mark.parametrize("ddof", [0, 1])
def test_scores_are_within_their_range(ddof):
    one = Query([["p"], ["q", "r", "s"]], [["a"], ["b"]])
    params = {"templates": TWO, "ddof": ddof}
    for layer in range(4):
        score = SEAT().run_query(one, FakeEncoder(layer=layer), **params)["result"]
        low, high = SEAT().scale(one, **params).value_range
        assert low <= score <= high < 2.5
    assert SEAT().scale().value_range == (-math.inf, math.inf)
    statistic = SEAT().scale(one, templates=TWO, return_effect_size=False)
    assert (statistic.label, statistic.value_range) == ("SEAT", (-16, 16))
