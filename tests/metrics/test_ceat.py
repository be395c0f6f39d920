"""CEAT: effect sizes over the contexts of words, and how they are combined."""

import io
import itertools
import math
import re
import sys
import unicodedata
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from fake_encoder import FakeEncoder
from scipy import stats
from scipy.spatial.distance import cdist

from wefe import Query
from wefe.contextual import find_contexts
from wefe.contextual._encoder import Context
from wefe.metrics import CEAT, WEAT, _ceat, random_effects


@pytest.fixture
def query():
    """A word in two sets has one context in a sample."""
    return Query(
        [["nurse", "clerk"], ["pilot", "judge", "math"]],
        [["art", "dance"], ["math", "logic"]],
        ["X", "Y"],
        ["A", "B"],
    )


@pytest.fixture
def contexts(query):
    """From three to seven sentences for each word."""
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    return {
        word: [f"Number {i} of the {word} here." for i in range(3 + n % 5)]
        for n, word in enumerate(words)
    }


# --- combination


def literal_random_effects(e, v):
    """Return what the published formulas say, in exact fractions as far as they go."""
    e, w = [Fraction(each) for each in e], [1 / Fraction(each) for each in v]
    mean = sum(a * b for a, b in zip(w, e, strict=True)) / sum(w)
    q = sum(a * (b - mean) ** 2 for a, b in zip(w, e, strict=True))
    tau2 = max(0, (q - (len(e) - 1)) / (sum(w) - sum(a * a for a in w) / sum(w)))
    weights = [1 / (1 / a + tau2) for a in w]
    combined = sum(a * b for a, b in zip(weights, e, strict=True)) / sum(weights)
    return float(q), float(tau2), float(combined), 1 / math.sqrt(sum(weights))


def test_the_worked_example():
    combined = random_effects([0.4, 0.7, 1.3, 0.1], [0.04, 0.09, 0.05, 0.16])
    expected = {
        "Q": 11.690980, "tau_squared": 0.200630, "effect_size": 0.664030,
        "standard_error": 0.263895, "z": 2.516264, "p_value": 0.011861,
        "p_value_one_sided": 0.005930, "n_studies": 4,
    }  # fmt: skip
    assert combined._asdict() == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("e", "v"),
    [([0, 3, 3], [1e-17, 1, 1]), ([3, 0, 3, 1], [1, 1e-300, 1e-9, 2]), ([0, 1], [1e-30, 1e30])],
)
def test_one_study_may_be_far_more_exact_than_the_others(e, v):
    found = random_effects(e, v)
    assert (found.Q, found.tau_squared) == pytest.approx(
        literal_random_effects(e, v)[:2], rel=1e-12
    )


def test_a_single_study_stays_as_it_is():
    for z in (-1000, 0.7, 37):
        single = random_effects([z * 0.1], [0.01])
        assert (single.tau_squared, single.effect_size) == (0, pytest.approx(z * 0.1))
        assert (single.standard_error, single.Q) == pytest.approx((0.1, 0))
        smallest = sys.float_info.min  # no p-value is 0
        assert single.p_value == pytest.approx(max(2 * stats.norm.sf(abs(z)), smallest))


# --- the metric


def literal_ceat(query, encoder, contexts, drawn):
    """Return effect sizes and published variances for given draws, sample by sample."""

    def of_word(text, word):
        start = text.index(word)
        return encoder._vector(Context(text, start, start + len(word)), 3).astype(float)

    effects, variances = [], []
    for sample in drawn:
        texts = {word: contexts[word][i] for word, i in sample.items()}
        x, y, a, b = (
            [of_word(texts[word], word) for word in part]
            for part in query.target_sets + query.attribute_sets
        )
        effects.append(WEAT(ddof=1).run_vectors([x, y], [a, b])["effect_size"])
        s = cdist(x + y, b, "cosine").mean(1) - cdist(x + y, a, "cosine").mean(1)
        variances.append(float(np.var(s, ddof=1)))
    return effects, variances


def test_it_is_the_definition_spelt_out(query, contexts, monkeypatch):
    encoder = FakeEncoder()
    seed, n = 5, 40
    result = CEAT().run_query(query, encoder, contexts, n, random_state=seed)
    monkeypatch.setattr(_ceat, "_CHUNK_NUMBERS", 6 * 7)
    assert CEAT().run_query(query, FakeEncoder(), contexts, n, random_state=seed) == result
    generators = {
        word: np.random.default_rng([seed, int.from_bytes(word.encode())]) for word in contexts
    }
    columns = {
        word: generator.integers(len(contexts[word]), size=n)
        for word, generator in generators.items()
    }
    drawn = [{word: int(column[i]) for word, column in columns.items()} for i in range(n)]
    effects, variances = literal_ceat(query, encoder, contexts, drawn)
    np.testing.assert_allclose(result.details["effect_sizes"], effects, atol=1e-12)
    q, tau2, combined, error = literal_random_effects(effects, variances)
    assert result["result"] == result["ceat"] == pytest.approx(combined, abs=1e-12)
    assert result["Q"] == pytest.approx(q)
    assert result["tau_squared"] == pytest.approx(tau2)
    assert result["standard_error"] == pytest.approx(error)
    assert result["p_value"] == pytest.approx(2 * stats.norm.sf(abs(combined / error)))
    assert result["p_value_one_sided"] == pytest.approx(stats.norm.sf(combined / error))
    assert result.details["quantiles"][0.25] == pytest.approx(np.quantile(effects, 0.25), abs=1e-12)
    assert result.details["n_contexts"] == {word: len(own) for word, own in contexts.items()}
    textbook = CEAT().run_query(query, encoder, contexts, n, "textbook", random_state=seed)
    v = [5 / 6 + d * d / 10 for d in effects]
    assert textbook["result"] == pytest.approx(literal_random_effects(effects, v)[2], abs=1e-12)
    np.testing.assert_array_equal(textbook.details["effect_sizes"], result.details["effect_sizes"])
    assert [len(call) for call in encoder.calls] == [sum(map(len, contexts.values()))] * 2


def test_one_context_per_word_makes_it_weat(query):
    encoder = FakeEncoder()
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    only = {word: [Context(word, 0, len(word))] for word in words}
    result = CEAT().run_query(query, encoder, only, 50)

    weat = WEAT().run_query(query, FakeEncoder(), ddof=1)
    assert result["result"] == pytest.approx(weat["effect_size"], abs=1e-12)
    assert result["tau_squared"] == 0
    deviations = [s for part in weat.details["associations"].values() for s in part.values()]
    assert result["standard_error"] == pytest.approx(np.std(deviations, ddof=1) / math.sqrt(50))


def test_words_without_readable_contexts_are_lost(query, contexts):
    far = "Very far. " * 20
    contexts["nurse"] = [far + "nurse", "A nurse.", far + "nurse!"]
    contexts["judge"] = []
    options = {"n_samples": 20, "lost_vocabulary_threshold": 0.5}
    kept = CEAT().run_query(query, FakeEncoder(longest=100), contexts, **options)
    assert math.isfinite(kept["result"])
    assert kept.details["n_contexts"]["nurse"] == 1
    assert kept.details["n_unreadable"] == 2
    assert kept.targets[1].lost == ("judge",)
    contexts["nurse"] = [far + "nurse"]
    lost = CEAT().run_query(query, FakeEncoder(longest=100), contexts, 20)
    assert "'X' lost 50% of its words (nurse)" in lost.nan_reason
    assert lost.lost_words == {"X": ["nurse"], "Y": ["judge"]}


def test_contexts_may_be_sentences_or_found_in_a_corpus(query, contexts):
    given = CEAT().run_query(query, FakeEncoder(), contexts, 30)
    corpus = [text for own in contexts.values() for text in own]
    found = CEAT().run_query(query, FakeEncoder(), find_contexts(query, corpus), 30)
    assert found.details["effect_sizes"].tolist() == given.details["effect_sizes"].tolist()


def test_equal_associations_are_undefined(query, contexts):
    class Same(FakeEncoder):
        def _vector(self, item, layer):
            # Of one direction, up to the last digit.
            return np.arange(1, self.dim + 1) * (0.1 + sum(map(ord, item.text)) / 7)

    result = CEAT().run_query(query, Same(), contexts, 20)
    assert math.isnan(result["result"])
    assert "all target words have the same association" in result.nan_reason
    assert result.details["n_undefined"] == 20


# --- contexts


def test_words_are_found_as_whole_words(query):
    corpus = io.StringIO(
        "A nurse, a NURSE and nurses; the nurse's self-made un-nurse.\n"
        "New York is not York. nurse_1 nurse1 C++? C++, C\n"
    )
    found = find_contexts([query, "York", "New York", "C", "C++"], corpus)
    assert [len(own) for own in found.values() if own] == [4, 1, 1, 1, 2]
    assert [c.word for c in found["nurse"]] == ["nurse", "NURSE", "nurse", "nurse"]
    assert found["pilot"] == ()


def test_it_finds_what_a_search_for_each_word_finds():
    rng = np.random.default_rng(0)
    words = ["a", "ab", "abc", "Ab", "b", "ba", "é", "Éa", "ſ", "s", "K", "k"]
    pieces = [*words, "A", "B", "É", " ", " ", " ", ".", "-", "_"]
    corpus = ["".join(rng.choice(pieces, size=12)) for _ in range(400)]
    found = find_contexts(words, corpus, 10_000)
    for word in words:
        expected = [
            (text, match.start(), match.end())
            for text in corpus
            for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)
            if match[0].lower() == word.lower()
        ]
        assert list(found[word]) == expected


def found_at(words, *corpus, **options):
    """Where words are found: pairs of the number of the sentence and the letters there."""
    contexts = find_contexts(words, corpus, **options)
    texts = [unicodedata.normalize("NFC", text) for text in corpus]
    return {
        word: [(texts.index(context.text), context.word) for context in own]
        for word, own in contexts.items()
    }


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("राम", "रामा और रामायण"), ("cafe", "a cafe\u0301"), ("nurse", "x\u0302nurse"),
        ("می", "می\u200cخواهم"), ("nurse", "nurse\u00ads"), ("한국", "한국어"),
        ("한", "\u1112\u1161\u11ab\u1100\u116e\u11a8"), ("𑀓", "𑀓𑀼"),
    ],
)  # fmt: skip
def test_marks_belong_to_a_word(word, text):
    assert found_at([word], text, f"a {word}, b") == {word: [(1, word)]}
    pictures = f"\ufeff{word} 1\ufe0f\u20e3{word} ❤\ufe0f{word}❤\ufe0f"  # they end no word
    assert len(find_contexts([word], [pictures])[word]) == 3


def test_scripts_without_spaces():
    words = ["中国", "人", "AI", "ไทย", "ก", "カタカナ", "東京 AI"]
    corpus = ["中国人、我爱AI技术", "คนไทย ก่อน ที่AIx", "AIと人", "全カタカナ語", "東京 AI東京 AIs"]
    assert found_at(words, *corpus) == {
        "中国": [(0, "中国")],
        "人": [(0, "人"), (2, "人")],
        "AI": [(0, "AI"), (2, "AI")],
        "ไทย": [(1, "ไทย")],
        "ก": [],
        "カタカナ": [(3, "カタカナ")],
        "東京 AI": [(4, "東京 AI")],
    }
    assert found_at(["AI"], "ที่AI") == {"AI": [(0, "AI")]}


def test_contexts_are_drawn_alike_in_their_order_whatever_the_other_words():
    corpus = [f"w {i} v" for i in range(5)]
    pairs = Counter()
    for seed in range(2000):
        drawn = find_contexts(["w"], corpus, 2, random_state=seed)["w"]
        pairs[tuple(int(context.text.split()[1]) for context in drawn)] += 1
    assert sorted(pairs) == [*itertools.combinations(range(5), 2)]
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-3
    both = find_contexts(["v", "w"], corpus * 40, 10)
    assert both["w"] == find_contexts(["w"], corpus * 40, 10)["w"]
    assert [c.text for c in both["w"]] != [c.text for c in both["v"]]
