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
from wefe.metrics import RND
from wefe.models import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult, WordUse

VOCABULARY = ["she", "he", "woman", "man", "Ann", "ann", "jose", "math", "art"]
# Whole numbers, so that every float width holds them exactly.
VECTORS = np.arange(1, 28).reshape(9, 3)

LOWER = {"lowercase": True}
UPPER = {"uppercase": True}
PLAIN = {"strip_accents": True, "lowercase": True}


def toy_model(dtype=np.float64, prefix=None):
    vocabulary = [(prefix or "") + word for word in VOCABULARY]
    return WordEmbeddingModel((vocabulary, VECTORS.astype(dtype)), "toy", prefix)


@pytest.fixture
def model():
    return toy_model()


def embed_target(words, model=None, **lookup):
    """What look-up makes of one target set."""
    query = Query([words], [["math"]], ["Target"])
    return embed_query(model or toy_model(), query, **lookup).targets[0]


def nan_reason(words, model=None, **lookup):
    query = Query([words], [["math"]], ["Target"])
    return embed_query(model or toy_model(), query, **lookup).nan_reason


# Found words


def test_sets_come_in_the_order_of_the_query(model):
    query = Query([["she"], ["he"]], [["math"], ["art"]], ["F", "M"], ["S", "A"])
    embedded = embed_query(model, query)
    assert [part.name for part in embedded.sets] == ["F", "M", "S", "A"]
    assert embedded.sets == embedded.targets + embedded.attributes
    assert embedded.query is query
    assert embedded.model_name == "toy"
    assert embedded.nan_reason is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_metrics_compute_in_float64_and_users_get_the_dtype_of_the_model(dtype):
    model = toy_model(dtype)
    query = Query([["she"]], [["math"]])
    assert embed_query(model, query).targets[0].vectors.dtype == np.float64
    for normalize in (False, True):
        targets, attributes = get_embeddings_from_query(model, query, normalize=normalize)
        assert targets["Target set 0"]["she"].dtype == dtype
        assert attributes["Attribute set 0"]["math"].dtype == dtype
        _, found = get_embeddings_from_set(model, ["she"], normalize=normalize)
        assert found["she"].dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_normalized_vectors_have_unit_length_and_their_direction(dtype):
    raw = embed_target(VOCABULARY, toy_model(dtype)).vectors
    unit = embed_target(VOCABULARY, toy_model(dtype), normalize=True).vectors
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(unit * lengths, raw)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalize", [False, True])
def test_look_up_leaves_the_model_alone_and_shares_nothing_with_it(dtype, normalize):
    model = toy_model(dtype)
    before = model.vectors.tobytes()
    query = Query([["she", "he"]], [["math"]])
    for vectors in (
        *(part.vectors for part in embed_query(model, query, normalize=normalize).sets),
        *get_embeddings_from_set(model, ["she"], normalize=normalize)[1].values(),
        *get_embeddings_from_tuples(model, [["she", "he"]], normalize=normalize)[0].values(),
    ):
        vectors[:] = 99
    assert model.vectors.tobytes() == before


# Variants


def test_a_word_found_through_a_later_preprocessor_is_not_reported_missing(model, caplog):
    not_found, found = get_embeddings_from_set(model, ["HE", "Xyzzy"], [{}, UPPER, LOWER])
    assert not_found == ["Xyzzy"]
    assert list(found) == ["he"]
    embed_target(["HE", "She"], preprocessors=[{}, LOWER], warn_not_found_words=True)
    assert not caplog.records


def test_strategy_all_counts_losses_per_word_of_the_query():
    # One of two words is lost, although two forms were found for two words.
    words = ["Ann", "Xyzzy"]
    found = embed_target(words, preprocessors=[{}, LOWER, UPPER], strategy="all")
    assert found.words == ("Ann", "ann")
    assert found.lost == ("Xyzzy",)
    assert found.lost_share == 0.5
    assert nan_reason(words, preprocessors=[{}, LOWER], strategy="all") is not None


def test_prefix_is_added_after_preprocessing():
    model = toy_model(prefix="/C/en/")
    query = Query([["She", "Ann", "Xyzzy"]], [["MATH"]])
    embedded = embed_query(model, query, 0.5, preprocessors=[{}, LOWER], strategy="all")
    assert embedded.targets[0].words == ("/C/en/she", "/C/en/Ann", "/C/en/ann")
    assert embedded.attributes[0].words == ("/C/en/math",)
    # Lost words are named as the query has them.
    assert embedded.targets[0].lost == ("Xyzzy",)


def test_a_word_of_which_stripping_leaves_nothing_is_lost():
    model = WordEmbeddingModel((["", "/c/en/", "she"], np.eye(3)))
    assert get_embeddings_from_set(model, ["Ελένη"], [{"strip_accents": "ascii"}])[1] == {}
    prefixed = WordEmbeddingModel((["", "/c/en/", "she"], np.eye(3)), vocab_prefix="/c/en/")
    assert get_embeddings_from_set(prefixed, ["Ελένη"], [{"strip_accents": "ascii"}])[1] == {}


# Lost words


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*VOCABULARY, "She", "ANN", "xyzzy", "", "José"]), min_size=1),
    st.lists(st.sampled_from([{}, LOWER, UPPER, PLAIN]), min_size=1, max_size=3),
    st.sampled_from(["first", "all"]),
)
def test_every_entry_is_either_found_or_lost(words, preprocessors, strategy):
    model = toy_model()
    part = embed_target(words, preprocessors=preprocessors, strategy=strategy)
    assert part.n_entries == len(words)
    assert len(set(part.words)) == len(part.words) == len(part.vectors)
    assert {row for row in part.first_row if row is not None} <= set(range(len(part)))
    for word, row in zip(words, part.first_row, strict=True):
        assert (row is None) == (word in part.lost)
        if row is not None:
            assert part.words[row].lower() in (word.lower(), "jose")
            np.testing.assert_array_equal(part.vectors[row], model[part.words[row]])
    n_lost = sum(word in part.lost for word in words)
    assert part.lost_share == n_lost / len(words)
    # The documented function agrees with what the metrics use.
    not_found, found = get_embeddings_from_set(model, words, preprocessors, strategy)
    assert not_found == list(part.lost)
    assert list(found) == list(part.words)


# The threshold


@pytest.mark.parametrize(
    ("n_found", "n_lost", "threshold", "answerable"),
    [
        (6, 2, 0.2, False),  # 0.25 > 0.2
        (8, 2, 0.2, True),  # 0.2 is not > 0.2
        (4, 1, 0.2, True),
        (2, 1, 1 / 3, True),
        (7, 3, 0.3, True),
        (1, 0, 0, True),
        (9, 1, 0, False),
        (1, 9, 0.9, True),
        (1, 9, 1, True),
        (1, 9, np.float32(1), True),
    ],
)
def test_a_set_may_lose_exactly_the_threshold(n_found, n_lost, threshold, answerable):
    model = WordEmbeddingModel(([f"w{i}" for i in range(10)] + ["math"], np.eye(11)))
    words = [f"w{i}" for i in range(n_found)] + [f"lost{i}" for i in range(n_lost)]
    reason = nan_reason(words, model, lost_vocabulary_threshold=threshold)
    assert (reason is None) is answerable


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(1, 30))
def test_no_rounding_at_the_threshold(n_lost, n_found):
    # k lost words of n are allowed by k / n, and by nothing smaller.
    words = ["she"] * n_found + ["xyzzy"] * n_lost
    share = n_lost / (n_found + n_lost)
    assert nan_reason(words, lost_vocabulary_threshold=share) is None
    if n_lost:
        assert nan_reason(words, lost_vocabulary_threshold=math.nextafter(share, 0)) is not None


@pytest.mark.parametrize("threshold", [1, 1.0])
def test_nothing_left_is_nan_whatever_the_threshold(model, threshold):
    # Older releases raised in one metric and returned a number in another.
    query = Query([["xyzzy", "plugh"], ["he"]], [["math"]], ["Magic", "Men"])
    embedded = embed_query(model, query, threshold)
    assert embedded.nan_reason == ("'Magic' lost 100% of its words (xyzzy, plugh), nothing is left")
    assert embedded.targets[0].vectors.shape == (0, 3)
    assert get_embeddings_from_query(model, query, threshold) is None
    result = RND().run_query(query, model, lost_vocabulary_threshold=threshold)
    assert math.isnan(result["result"])
    assert result.nan_reason == embedded.nan_reason


def test_reason_names_every_set_that_lost_too_much_and_logs_it_once(model, caplog):
    query = Query([["she", "a", "b", "c", "d", "e", "f"], ["he"]], [["g"]], ["F", "M"], ["X"])
    reason = embed_query(model, query).nan_reason
    assert not caplog.records
    assert reason == (
        "'F' lost 86% of its words (a, b, c, d, e, ...), more than the 20% allowed; "
        "'X' lost 100% of its words (g), nothing is left"
    )
    assert get_embeddings_from_query(model, query) is None
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"toy: no embeddings of F and M wrt X: {reason}"


def test_lost_words_are_logged_when_asked_for(caplog):
    words = ["she", "He", "woman", "xyzzy", "man", "art", "xyzzy", "ann", "Ann", "jose", "math"]
    embed_target(words, preprocessors=[{}, LOWER], warn_not_found_words=True)
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "toy lacks 1 words of 'Target': ['xyzzy']"


# Zero and non-finite vectors


@pytest.mark.parametrize(
    ("bad", "kind"),
    [(0.0, "zero"), (math.nan, "NaN or inf"), (math.inf, "NaN or inf"), (-math.inf, "NaN or inf")],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("normalize", [False, True])
def test_an_unusable_vector_is_reported_by_word_set_and_model(bad, kind, dtype, normalize):
    vectors = VECTORS.astype(dtype)
    vectors[VOCABULARY.index("man")] = bad
    model = WordEmbeddingModel((VOCABULARY, vectors), "broken")
    message = rf"broken has unusable vectors in 'Target': {kind} for \['man'\]"
    with pytest.raises(UnusableVectorError, match=message):
        embed_target(["she", "man"], model, normalize=normalize)
    with pytest.raises(UnusableVectorError, match=rf"{kind} for \['man'\]"):
        get_embeddings_from_set(model, ["she", "man"])
    with pytest.raises(UnusableVectorError, match=rf"pairs\[1\].*{kind} for \['man'\]"):
        get_embeddings_from_tuples(model, [["she", "he"], ["woman", "man"]], "pairs")


def test_one_bad_number_is_enough_and_all_bad_words_are_named():
    vectors = VECTORS.astype(float)
    vectors[0] = 0
    vectors[1, 2] = math.nan
    vectors[3, 0] = math.inf
    model = WordEmbeddingModel((VOCABULARY, vectors))
    with pytest.raises(
        UnusableVectorError, match=r"zero for \['she'\], NaN or inf for \['he', 'man'\]"
    ):
        embed_target(["he", "she", "woman", "man"], model)


# The documented functions


def test_query_gives_a_dictionary_per_side_with_words_under_the_names_of_the_sets(model):
    query = Query([["she"], ["he", "man"]], [["math"]], ["F", "M"], ["S"])
    targets, attributes = get_embeddings_from_query(model, query)
    assert {name: list(words) for name, words in targets.items()} == {
        "F": ["she"],
        "M": ["he", "man"],
    }
    assert {name: list(words) for name, words in attributes.items()} == {"S": ["math"]}
    np.testing.assert_array_equal(targets["M"]["man"], model["man"])


def test_documented_order_of_arguments(model):
    query = Query([["She"]], [["math"]])
    targets, _ = get_embeddings_from_query(model, query, 0.0, [LOWER], "all", True, False, False)
    assert np.linalg.norm(targets["Target set 0"]["she"]) == pytest.approx(1)
    _, found = get_embeddings_from_set(model, ["She"], [LOWER], "all", True, False)
    assert np.linalg.norm(found["she"]) == pytest.approx(1)
    arguments = (model, [["She", "xyzzy"]], "pairs", [LOWER], "all", True, False, False, False)
    [pair] = get_embeddings_from_tuples(*arguments)
    assert np.linalg.norm(pair["she"]) == pytest.approx(1)


PAIRS = [["she", "he"], ["queen", "man"], ["woman", "man"], ["queen", "king"]]


@pytest.mark.parametrize("warn", [False, True])
def test_incomplete_tuples_are_discarded_whether_or_not_they_are_logged(model, caplog, warn):
    # Older releases discarded them only when warnings were on.
    pairs = get_embeddings_from_tuples(model, PAIRS, "pairs", warn_lost_sets=warn)
    assert [list(pair) for pair in pairs] == [["she", "he"], ["woman", "man"]]
    expected = [
        "toy: 2 of 4 pairs lost a word: pairs[1] left out because the model lacks queen; "
        "pairs[3] left out because the model lacks queen, king"
    ]
    assert [record.getMessage() for record in caplog.records] == (expected if warn else [])


def test_incomplete_tuples_are_kept_when_asked_for_unless_nothing_is_left(model, caplog):
    pairs = get_embeddings_from_tuples(model, PAIRS, discard_incomplete_sets=False)
    assert [list(pair) for pair in pairs] == [["she", "he"], ["man"], ["woman", "man"]]
    assert [record.getMessage() for record in caplog.records] == [
        "toy: 2 of 4 sets lost a word: sets[1] kept without queen; "
        "sets[3] left out because the model lacks queen, king"
    ]


def test_tuples_may_be_larger_than_pairs_and_of_different_sizes(model):
    tuples = get_embeddings_from_tuples(model, [["she", "he", "ann"], ["woman", "man"]])
    np.testing.assert_array_equal(list(tuples[0].values()), model.get_vectors(["she", "he", "ann"]))
    assert len(tuples[1]) == 2
    assert get_embeddings_from_tuples(model, []) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda model, **k: get_embeddings_from_query(model, Query([["she"]], [["xyzzy"]]), 1, **k),
        lambda model, **k: get_embeddings_from_set(model, ["she"], **k),
        lambda model, **k: get_embeddings_from_tuples(model, [["she", "he"]], **k),
    ],
)
def test_verbose_logs_counts_as_information(model, caplog, call):
    with caplog.at_level(logging.INFO, logger="wefe"):
        call(model)
        assert not [record for record in caplog.records if record.levelno == logging.INFO]
        call(model, verbose=True)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert told[0].startswith("toy: found ")


# FastText builds vectors for words it never saw


@pytest.fixture(scope="module")
def subwords():
    fasttext = pytest.importorskip("gensim.models.fasttext")
    sentences = [["woman", "man", "girl", "math"], ["she", "he", "boy", "art"]]
    model = fasttext.FastText(
        sentences, vector_size=5, min_count=1, bucket=64, min_n=3, max_n=4, epochs=1, workers=1
    )
    return model.wv


def test_unseen_words_are_found_and_not_logged_if_subwords_are_asked_for(subwords, caplog):
    model = WordEmbeddingModel(subwords, "subwords", use_subwords=True)
    part = embed_target(["woman", "womanly", "she"], model, warn_not_found_words=True)
    assert part.lost == ()
    assert part.words == ("woman", "womanly", "she")
    np.testing.assert_array_equal(part.vectors, [subwords.get_vector(word) for word in part.words])
    assert not caplog.records


def test_a_word_too_short_for_subwords_is_lost_and_stops_no_query(subwords, caplog):
    # gensim says that it has every word, and gives the empty one a zero vector.
    model = WordEmbeddingModel(subwords, "subwords", use_subwords=True)
    part = embed_target(["woman", ""], model, warn_not_found_words=True)
    assert part.lost == ("",)
    assert "subwords lacks 1 words of 'Target': ['']" in caplog.text


# What a result keeps of the look-up


def result_of(query, **lookup):
    embedded = embed_query(toy_model(), query, **lookup)
    values = {"query_name": query.query_name, "result": 0.5}
    return MetricResult(values, embedded, "M", embedded.nan_reason)


def test_a_result_is_a_dictionary_that_knows_its_words():
    query = Query([["She", "xyzzy"]], [["math"]], ["F"], ["S"])
    result = result_of(query, preprocessors=[LOWER], lost_vocabulary_threshold=0.5)
    assert result == {"query_name": "F wrt S", "result": 0.5}
    assert result.query is query
    assert result.model_name == "toy"
    assert result.metric_name == "M"
    assert result.targets == (WordUse("F", ("she",), ("xyzzy",), 2, 0.5),)
    assert result.attributes == (WordUse("S", ("math",), (), 1, 0.0),)
    assert result.nan_reason is None
    assert result.details == {}
    assert result.lost_words == {"F": ["xyzzy"]}


def test_lost_words_of_a_target_and_an_attribute_set_with_one_name_are_both_kept():
    query = Query([["she", "xyzzy"]], [["math", "plugh"]], ["Words"], ["Words"])
    assert result_of(query).lost_words == {"Words": ["xyzzy", "plugh"]}


def test_subwords_are_built_only_if_the_vocabulary_has_no_variant():
    """Subwords make a vector of any form, so they would always win over a later preprocessor."""
    fasttext = pytest.importorskip("gensim.models").FastText(
        [["woman", "man", "math"]] * 20, vector_size=8, min_count=1, epochs=1, workers=1, seed=1
    )
    model = WordEmbeddingModel(fasttext.wv, "ft", use_subwords=True)
    lookups = [{}, {"lowercase": True}]
    for strategy in ("first", "all"):
        lost, found = get_embeddings_from_set(model, ["Woman", "mathy"], lookups, strategy)
        assert (lost, list(found)) == ([], ["woman", "mathy"])
