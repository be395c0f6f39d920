"""Look-up: which words are found, which are lost, and when a query has no answer."""

import logging
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.embeddings import (
    UnusableVectorError,
    embed_query,
    get_embeddings_from_query,
    get_embeddings_from_set,
    get_embeddings_from_sets,
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


def test_rows_are_the_vectors_of_the_words_in_their_order(model):
    found = embed_target(["man", "she", "art"])
    assert found.words == ("man", "she", "art")
    np.testing.assert_array_equal(found.vectors, [model["man"], model["she"], model["art"]])
    assert found.lost == ()
    assert len(found) == found.n_entries == 3


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


def test_a_frozen_model_can_be_asked():
    vectors = VECTORS.astype(float)
    vectors.flags.writeable = False
    model = WordEmbeddingModel((VOCABULARY, vectors))
    assert embed_target(["she", "he"], model, normalize=True).words == ("she", "he")


def test_words_of_every_script_are_found_exactly_as_written():
    words = ["женщина", "女", "여자", "e\u0301", "🙂", "ice cream", "l'eau"]
    model = WordEmbeddingModel((words, np.eye(7)))
    assert embed_target(words, model).words == tuple(words)
    # Composed and decomposed accents are different words unless a preprocessor says otherwise.
    assert get_embeddings_from_set(model, ["é"])[0] == ["é"]


# Variants


def test_strategy_first_takes_the_first_variant_that_the_model_has():
    found = embed_target(["Ann", "He", "José"], preprocessors=[{}, LOWER, PLAIN])
    assert found.words == ("Ann", "he", "jose")
    assert found.lost == ()


def test_strategy_all_takes_every_variant_once():
    found = embed_target(["Ann", "ann", "He"], preprocessors=[{}, LOWER, UPPER], strategy="all")
    assert found.words == ("Ann", "ann", "he")
    assert found.first_row == (0, 1, 2)
    assert found.lost == ()


def test_order_of_preprocessors_decides():
    assert embed_target(["Ann"], preprocessors=[{}, LOWER]).words == ("Ann",)
    assert embed_target(["Ann"], preprocessors=[LOWER, {}]).words == ("ann",)


def test_a_word_found_through_a_later_preprocessor_is_not_reported_missing(model, caplog):
    not_found, found = get_embeddings_from_set(model, ["HE", "Xyzzy"], [{}, UPPER, LOWER])
    assert not_found == ["Xyzzy"]
    assert list(found) == ["he"]
    embed_target(["HE", "She"], preprocessors=[{}, LOWER], warn_not_found_words=True)
    assert not caplog.records


def test_a_pair_found_through_a_later_preprocessor_is_kept(model, caplog):
    pairs = get_embeddings_from_tuples(model, [["Woman", "MAN"]], preprocessors=[{}, LOWER])
    assert [list(pair) for pair in pairs] == [["woman", "man"]]
    assert not caplog.records


def test_strategy_all_counts_losses_per_word_of_the_query():
    # One of two words is lost, although two forms were found for two words.
    words = ["Ann", "Xyzzy"]
    found = embed_target(words, preprocessors=[{}, LOWER, UPPER], strategy="all")
    assert found.words == ("Ann", "ann")
    assert found.lost == ("Xyzzy",)
    assert found.lost_share == 0.5
    assert nan_reason(words, preprocessors=[{}, LOWER], strategy="all") is not None


def test_a_function_is_used_for_every_word():
    found = embed_target(["xshe", "xhe"], preprocessors=[{"preprocessor": lambda word: word[1:]}])
    assert found.words == ("she", "he")


def test_prefix_is_added_after_preprocessing():
    model = toy_model(prefix="/C/en/")
    query = Query([["She", "Ann", "Xyzzy"]], [["MATH"]])
    embedded = embed_query(model, query, 0.5, preprocessors=[{}, LOWER], strategy="all")
    assert embedded.targets[0].words == ("/C/en/she", "/C/en/Ann", "/C/en/ann")
    assert embedded.attributes[0].words == ("/C/en/math",)
    # Lost words are named as the query has them.
    assert embedded.targets[0].lost == ("Xyzzy",)


def test_a_word_that_has_the_prefix_already_is_another_word():
    model = toy_model(prefix="/C/en/")
    assert get_embeddings_from_set(model, ["/C/en/she"])[0] == ["/C/en/she"]


def test_a_word_of_which_stripping_leaves_nothing_is_lost():
    model = WordEmbeddingModel((["", "/c/en/", "she"], np.eye(3)))
    assert get_embeddings_from_set(model, ["Ελένη"], [{"strip_accents": "ascii"}])[1] == {}
    prefixed = WordEmbeddingModel((["", "/c/en/", "she"], np.eye(3)), vocab_prefix="/c/en/")
    assert get_embeddings_from_set(prefixed, ["Ελένη"], [{"strip_accents": "ascii"}])[1] == {}


# Lost words


def test_repeated_words_do_not_count_as_lost():
    found = embed_target(["she", "she", "he", "she"])
    assert found.words == ("she", "he")
    assert found.first_row == (0, 0, 1, 0)
    assert found.n_entries == 4
    assert found.lost_share == 0


def test_words_that_share_a_form_do_not_count_as_lost():
    found = embed_target(["He", "he", "HE"], preprocessors=[LOWER])
    assert found.words == ("he",)
    assert found.first_row == (0, 0, 0)
    assert found.lost_share == 0


def test_a_repeated_lost_word_is_named_once_and_counted_each_time():
    found = embed_target(["she", "xyzzy", "xyzzy", "he"])
    assert found.lost == ("xyzzy",)
    assert found.first_row == (0, None, None, 1)
    assert found.lost_share == 0.5


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


@pytest.mark.parametrize("threshold", [0, 0.0, np.int64(0)])
def test_the_integer_zero_is_a_threshold(threshold):
    assert nan_reason(["she", "he"], lost_vocabulary_threshold=threshold) is None
    reason = nan_reason(["she"] * 99 + ["xyzzy"], lost_vocabulary_threshold=threshold)
    assert reason == "'Target' lost 1% of its words (xyzzy), more than the 0% allowed"


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


def test_a_query_within_the_threshold_logs_nothing(model, caplog):
    assert embed_target(["she", "he", "woman", "man", "xyzzy"]).lost == ("xyzzy",)
    assert not caplog.records


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


def test_unusable_vectors_disturb_no_query_that_does_not_use_them():
    vectors = VECTORS.astype(float)
    vectors[:4] = [[0], [math.nan], [math.inf], [-math.inf]]
    model = WordEmbeddingModel((VOCABULARY, vectors))
    assert embed_target(["ann", "art"], model, normalize=True).lost == ()


def test_a_vector_with_zeros_is_no_zero_vector():
    model = WordEmbeddingModel((["she", "math"], np.eye(2)))
    assert embed_target(["she"], model).words == ("she",)


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


def test_query_gives_none_if_a_set_lost_too_much(model, caplog):
    query = Query([["she"], ["he"]], [["math", "xyzzy"]])
    assert get_embeddings_from_query(model, query) is None
    assert "'Attribute set 0' lost 50%" in caplog.text
    assert get_embeddings_from_query(model, query, lost_vocabulary_threshold=0.5) is not None


def test_documented_order_of_arguments(model):
    query = Query([["She"]], [["math"]])
    targets, _ = get_embeddings_from_query(model, query, 0.0, [LOWER], "all", True, False, False)
    assert np.linalg.norm(targets["Target set 0"]["she"]) == pytest.approx(1)
    _, found = get_embeddings_from_set(model, ["She"], [LOWER], "all", True, False)
    assert np.linalg.norm(found["she"]) == pytest.approx(1)
    arguments = (model, [["She", "xyzzy"]], "pairs", [LOWER], "all", True, False, False, False)
    [pair] = get_embeddings_from_tuples(*arguments)
    assert np.linalg.norm(pair["she"]) == pytest.approx(1)


def test_set_gives_the_lost_words_and_the_found_ones(model):
    not_found, found = get_embeddings_from_set(model, ("xyzzy", "he", "plugh", "xyzzy"))
    assert not_found == ["xyzzy", "plugh"]
    assert list(found) == ["he"]
    np.testing.assert_array_equal(found["he"], model["he"])


def test_set_of_lost_words_gives_an_empty_dictionary(model):
    assert get_embeddings_from_set(model, ["xyzzy"], normalize=True) == (["xyzzy"], {})


@pytest.mark.parametrize("words", [("she", "he"), np.array(["she", "he"])])
def test_sets_may_be_tuples_and_arrays(model, words):
    found = get_embeddings_from_set(model, words)[1]
    assert list(found) == ["she", "he"]
    assert {type(word) for word in found} == {str}


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


def test_older_name_of_the_tuples_function():
    assert get_embeddings_from_sets is get_embeddings_from_tuples


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


def test_nothing_is_printed(model, capsys):
    get_embeddings_from_query(
        model, Query([["she"]], [["x"]]), warn_not_found_words=True, verbose=True
    )
    assert capsys.readouterr() == ("", "")


# FastText builds vectors for words it never saw


@pytest.fixture(scope="module")
def subwords():
    fasttext = pytest.importorskip("gensim.models.fasttext")
    sentences = [["woman", "man", "girl", "math"], ["she", "he", "boy", "art"]]
    model = fasttext.FastText(
        sentences, vector_size=5, min_count=1, bucket=64, min_n=3, max_n=4, epochs=1, workers=1
    )
    return model.wv


def test_unseen_words_are_lost_unless_subwords_are_asked_for(subwords, caplog):
    model = WordEmbeddingModel(subwords, "subwords")
    part = embed_target(["woman", "womanly"], model, warn_not_found_words=True)
    assert part.lost == ("womanly",)
    assert "subwords lacks 1 words of 'Target': ['womanly']" in caplog.text


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


# What is refused


@pytest.mark.parametrize(
    ("lookup", "error", "message"),
    [
        ({"lost_vocabulary_threshold": 1.1}, ValueError, "share between 0 and 1; got 1.1"),
        ({"lost_vocabulary_threshold": -0.1}, ValueError, "share between 0 and 1"),
        ({"lost_vocabulary_threshold": math.nan}, ValueError, "share between 0 and 1"),
        ({"lost_vocabulary_threshold": "0.2"}, TypeError, "number between 0 and 1; got str"),
        ({"lost_vocabulary_threshold": None}, TypeError, "number between 0 and 1"),
        ({"lost_vocabulary_threshold": True}, TypeError, "number between 0 and 1; got bool"),
        ({"preprocessors": [{"lowecase": True}]}, ValueError, "Did you mean 'lowercase'"),
        ({"preprocessors": LOWER}, TypeError, r"Write \[\{'lowercase': True\}\]"),
        ({"preprocessors": []}, ValueError, "preprocessors is empty"),
        ({"strategy": "frist"}, ValueError, "'first', 'all'.*Did you mean 'first'"),
        ({"strategy": None}, ValueError, "strategy must be one of 'first', 'all'"),
        ({"normalize": 1}, TypeError, "normalize must be True or False"),
        ({"warn_not_found_words": "no"}, TypeError, "warn_not_found_words must be True or False"),
    ],
)
def test_wrong_options_are_refused(model, lookup, error, message):
    query = Query([["she"]], [["math"]])
    with pytest.raises(error, match=message):
        embed_query(model, query, **lookup)
    with pytest.raises(error, match=message):
        get_embeddings_from_query(model, query, **lookup)
    if set(lookup) <= {"preprocessors", "strategy", "normalize"}:
        with pytest.raises(error, match=message):
            get_embeddings_from_set(model, ["she"], **lookup)
        with pytest.raises(error, match=message):
            get_embeddings_from_tuples(model, [["she", "he"]], **lookup)


@pytest.mark.parametrize("not_a_model", [None, "toy", {"she": [1.0]}, (["she"], np.eye(1))])
def test_only_a_model_is_asked(not_a_model):
    query = Query([["she"]], [["math"]])
    for ask, asked in (
        (embed_query, query),
        (get_embeddings_from_query, query),
        (get_embeddings_from_set, ["she"]),
        (get_embeddings_from_tuples, [["she", "he"]]),
    ):
        with pytest.raises(TypeError, match="model must be a WordEmbeddingModel"):
            ask(not_a_model, asked)


@pytest.mark.parametrize("not_a_query", [None, [["she"], ["he"]], {"target_sets": [["she"]]}])
def test_only_a_query_is_answered(model, not_a_query):
    with pytest.raises(TypeError, match="query must be a Query"):
        get_embeddings_from_query(model, not_a_query)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ("she", TypeError, "word_set must be a list"),
        ({"she"}, TypeError, "word_set must be a list.*got set"),
        ((word for word in ["she"]), TypeError, "word_set must be a list.*generator"),
        ([], ValueError, "word_set is empty"),
        (["she", None], TypeError, "word_set: element 1 must be a string"),
    ],
)
def test_wrong_sets_are_refused(model, words, error, message):
    with pytest.raises(error, match=message):
        get_embeddings_from_set(model, words)
    if words != "she":
        message = message.replace("word_set", r"pairs\[1\]")
        with pytest.raises(error, match=message):
            get_embeddings_from_tuples(model, [["she", "he"], words], "pairs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sets": "she"}, "pairs must be a list"),
        ({"sets": ["she", "he"]}, r"pairs\[0\] must be a list.*'she'"),
        ({"discard_incomplete_sets": "no"}, "discard_incomplete_sets must be True or False"),
        ({"warn_lost_sets": 2}, "warn_lost_sets must be True or False"),
    ],
)
def test_wrong_tuples_are_refused(model, arguments, message):
    with pytest.raises(TypeError, match=message):
        get_embeddings_from_tuples(model, **{"sets": PAIRS, "sets_name": "pairs"} | arguments)


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


def test_a_result_survives_the_way_to_another_process():
    result = result_of(Query([["she", "xyzzy"]], [["math"]]))
    back = pickle.loads(pickle.dumps(result))
    assert back == result
    assert vars(back) == vars(result)


def test_embedded_sets_can_be_compared_and_collected():
    # The comparison a dataclass writes itself would stumble over the arrays.
    one, other = embed_target(["she", "he"]), embed_target(["she", "he"])
    assert one != other
    assert replace(one, name="x") != one
    assert len({one, other}) == 2


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
