"""Look-up: which words are found, which are lost, and when a query has no answer."""

import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.embeddings import (
    UnusableVectorError,
    embed_query,
    get_embeddings_from_query,
    get_embeddings_from_set,
    get_embeddings_from_tuples,
)
from wefe.metrics import RND, Measurement
from wefe.models import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult, WordUse

VOCABULARY = ["she", "he", "woman", "man", "Ann", "ann", "jose", "math", "art"]
# Whole numbers, so that every float width holds them exactly.
VECTORS = np.arange(1, 28).reshape(9, 3)

LOWER = {"lowercase": True}
UPPER = {"uppercase": True}
PLAIN = {"strip_accents": True, "lowercase": True}
every_dtype = pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])


def toy_model(dtype=np.float64, prefix=None):
    vocabulary = [(prefix or "") + word for word in VOCABULARY]
    return WordEmbeddingModel((vocabulary, VECTORS.astype(dtype)), "toy", prefix)


@pytest.fixture
def model():
    return toy_model()


def embed(words, model=None, **lookup):
    """What look-up makes of one target set."""
    query = Query([words], [["math"]], ["Target"])
    return embed_query(model or toy_model(), query, **lookup)


# Found words


@every_dtype
@pytest.mark.parametrize("normalize", [False, True])
def test_metrics_compute_in_float64_and_users_get_copies_in_the_dtype_of_the_model(
    dtype, normalize, caplog
):
    caplog.set_level(logging.INFO, logger="wefe")
    model, options = toy_model(dtype), {"normalize": normalize, "verbose": True}
    query = Query([["she"], ["he", "man"]], [["math"]], ["F", "M"], ["S"])
    embedded = embed_query(model, query, normalize=normalize).targets[1].vectors
    assert "toy: found " not in caplog.text
    targets, attributes = get_embeddings_from_query(model, query, **options)
    assert [list(targets), list(targets["M"]), list(attributes)] == [
        ["F", "M"],
        ["he", "man"],
        ["S"],
    ]
    found = [
        *targets["M"].values(),
        *get_embeddings_from_set(model, ["he", "man"], **options)[1].values(),
        *get_embeddings_from_tuples(model, [["he", "man"]], **options)[0].values(),
    ]
    expected = VECTORS[[1, 3]] / (np.linalg.norm(VECTORS[[1, 3]], axis=1)[:, None] ** normalize)
    np.testing.assert_allclose(found, np.tile(expected, (3, 1)), rtol=np.finfo(dtype).eps)
    np.testing.assert_allclose(embedded, expected, rtol=1e-15)
    assert {vector.dtype for vector in found} == {np.dtype(dtype)}
    assert embedded.dtype == np.float64
    for vector in [*found, embedded]:
        vector[:] = 99
    assert np.array_equal(model.vectors, VECTORS)
    assert caplog.text.count("toy: found ") == 5


# Variants


def test_strategy_all_counts_losses_per_word_of_the_query_and_prefixes_come_last(caplog):
    # One of two words is lost, although two forms were found for two words.
    model, lookup = toy_model(prefix="/C/en/"), {"preprocessors": [{}, LOWER], "strategy": "all"}
    query = Query([["Ann", "Xyzzy"]], [["MATH"]])
    embedded = embed_query(model, query, **lookup, warn_not_found_words=True)
    (found,), (other,) = embedded.targets, embedded.attributes
    assert (found.words, other.words) == (("/C/en/Ann", "/C/en/ann"), ("/C/en/math",))
    # Lost words are named as the query has them.
    assert (found.lost, found.lost_share) == (("Xyzzy",), 0.5)
    assert embedded.nan_reason is not None
    assert caplog.messages == ["toy lacks 1 words of 'Target set 0': Xyzzy"]


@pytest.mark.parametrize("prefix", [None, "/c/en/"])
def test_a_word_of_which_stripping_leaves_nothing_is_lost(prefix):
    model = WordEmbeddingModel((["", "/c/en/", "she"], np.eye(3)), vocab_prefix=prefix)
    assert get_embeddings_from_set(model, ["Ελένη"], [{"strip_accents": "ascii"}])[1] == {}


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*VOCABULARY, "She", "ANN", "xyzzy", "", "José"]), min_size=1),
    st.lists(st.sampled_from([{}, LOWER, UPPER, PLAIN]), min_size=1, max_size=3),
    st.sampled_from(["first", "all"]),
)
def test_every_entry_is_either_found_or_lost(words, preprocessors, strategy):
    model = toy_model()
    (part,) = embed(words, preprocessors=preprocessors, strategy=strategy).targets
    assert part.n_entries == len(words)
    assert len(set(part.words)) == len(part.words) == len(part.vectors)
    for word, row in zip(words, part.first_row, strict=True):
        assert (row is None) == (word in part.lost)
        if row is not None:
            assert part.words[row].lower() in (word.lower(), "jose")
            np.testing.assert_array_equal(part.vectors[row], model[part.words[row]])
    assert part.lost_share == sum(word in part.lost for word in words) / len(words)
    # The documented function agrees with what the metrics use.
    not_found, found = get_embeddings_from_set(model, words, preprocessors, strategy)
    assert (not_found, list(found)) == (list(part.lost), list(part.words))


# The threshold


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(0, 30))
def test_no_rounding_at_the_threshold(n_lost, n_found):
    # k lost words of n are allowed by k / n, if a word is left, and by nothing smaller.
    words = ["she"] * n_found + ["xyzzy"] * n_lost
    share = n_lost / (n_found + n_lost)
    reason = embed(words, lost_vocabulary_threshold=np.float64(share)).nan_reason
    assert (reason is None) == (n_found > 0)
    less = math.nextafter(share, 0)
    assert embed(words, lost_vocabulary_threshold=less).nan_reason is not None


def test_nothing_left_is_nan_whatever_the_threshold(model):
    # Older releases raised in one metric and returned a number in another.
    query = Query([["xyzzy", "plugh"], ["he"]], [["math"]], ["Magic", "Men"])
    assert get_embeddings_from_query(model, query, 1) is None
    result = RND().run_query(query, model, lost_vocabulary_threshold=1)
    assert math.isnan(result["result"])
    assert result.nan_reason == "'Magic' lost 100% of its words (xyzzy and plugh), nothing is left"


def test_reason_names_every_set_that_lost_too_much_and_logs_it_once(model, caplog):
    query = Query([["she", "a", "b", "c", "d", "e", "f"], ["he"]], [["g"]], ["F", "M"], ["X"])
    reason = embed_query(model, query).nan_reason
    assert reason == (
        "'F' lost 86% of its words (a, b, c, d, e and 1 more), more than the 20% allowed; "
        "'X' lost 100% of its words (g), nothing is left"
    )
    assert get_embeddings_from_query(model, query) is None
    assert caplog.messages == [f"toy: no embeddings of F and M wrt X: {reason}"]


# Zero and non-finite vectors


@every_dtype
@pytest.mark.parametrize("normalize", [False, True])
def test_every_unusable_vector_is_reported_by_word_set_and_model(dtype, normalize):
    vectors = VECTORS.astype(dtype)
    vectors[0], vectors[1, 2], vectors[3, 0] = 0, math.nan, -math.inf
    model, words = WordEmbeddingModel((VOCABULARY, vectors), "broken"), ["he", "she", "man"]
    which = "he, she, man"
    with pytest.raises(UnusableVectorError, match=f"broken .* 'Target': {which}"):
        embed(words, model, normalize=normalize)
    with pytest.raises(UnusableVectorError, match=which):
        get_embeddings_from_set(model, words)
    with pytest.raises(UnusableVectorError, match=rf"pairs\[1\].*{which}"):
        get_embeddings_from_tuples(model, [["woman", "Ann"], words], "pairs")


# The documented functions


TUPLES = [["she", "he"], ["queen", "man"], ["woman", "man", "ann"], ["queen", "king"]]


@pytest.mark.parametrize(
    ("options", "expected", "n_logged"),
    [
        # Older releases discarded them only when warnings were on.
        ({"warn_lost_sets": False}, [TUPLES[0], TUPLES[2]], 0),
        ({}, [TUPLES[0], TUPLES[2]], 2),
        ({"discard_incomplete_sets": False}, [TUPLES[0], ["man"], TUPLES[2]], 1),
    ],
)
def test_incomplete_tuples_are_discarded_or_kept_unless_nothing_is_left(
    model, caplog, options, expected, n_logged
):
    found = get_embeddings_from_tuples(model, TUPLES, "pairs", **options)
    assert [list(words) for words in found] == expected
    every = "pairs[1] lacks queen; pairs[3] lacks queen, king"
    message = f"toy: 2 of 4 pairs lost a word, and {n_logged} are left out: {every}"
    assert caplog.messages == [message] * bool(n_logged)
    assert get_embeddings_from_tuples(model, []) == []


def test_subwords_are_built_only_if_asked_for_and_no_variant_is_in_the_vocabulary(caplog):
    """Subwords make a vector of any form, so they would always win over a later preprocessor."""
    fasttext = pytest.importorskip("gensim.models").FastText(
        [["woman", "man", "math"]] * 20, vector_size=8, min_count=1, epochs=1, workers=1, seed=1
    )
    model = WordEmbeddingModel(fasttext.wv, "ft", use_subwords=True)
    for strategy in ("first", "all"):
        lost, found = get_embeddings_from_set(model, ["Woman", "mathy"], [{}, LOWER], strategy)
        assert (lost, list(found)) == ([], ["woman", "mathy"])
        np.testing.assert_array_equal(found["mathy"], fasttext.wv.get_vector("mathy"))
    # gensim says that it has every word, and gives the empty one a zero vector.
    (part,) = embed(["woman", "mathy", ""], model, warn_not_found_words=True).targets
    assert part.lost == ("",)
    assert "ft lacks 1 words of 'Target': " in caplog.text


# What a result keeps of the look-up


def test_a_result_is_a_dictionary_that_knows_its_words():
    query = Query([["She", "xyzzy"]], [["math", "plugh"]], ["F"], ["F"])
    embedded = embed_query(toy_model(), query, 0.5, preprocessors=[LOWER])
    result = MetricResult(Measurement({"result": 0.5}), embedded, "M")
    assert result == {"query_name": "F wrt F", "result": 0.5}
    assert result.query is query
    assert (result.model_name, result.metric_name, result.details) == ("toy", "M", {})
    assert result.targets == (WordUse("F", ("she",), ("xyzzy",), 2, 0.5),)
    assert result.attributes == (WordUse("F", ("math",), ("plugh",), 2, 0.5),)
    # Those of a target and an attribute set with one name are both kept.
    assert result.lost_words == {"F": ["xyzzy", "plugh"]}
