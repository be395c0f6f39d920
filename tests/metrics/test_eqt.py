"""EQT: worked example, a second implementation, and what may be an answer."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wefe
from wefe import Query, WordEmbeddingModel
from wefe.metrics import EQT, eqt, eqt_by_question

MALE, FEMALE = "he man", "she woman"
NEUTRAL = "home kids boss job"

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def query(query_of):
    return query_of([MALE, FEMALE], [NEUTRAL])


def cos(u, v):
    return sum(map(float.__mul__, u, v)) / math.sqrt(sum(x * x for x in u) * sum(x * x for x in v))


def literal(vectors, pairs, words, *, k=1, candidates=None, variants=None, both=False):
    """Every question by itself, every candidate by itself: the hits, word by word."""
    unit = {w: [x / math.sqrt(sum(y * y for y in v)) for x in v] for w, v in vectors.items()}
    gendered = {word for pair in pairs for word in pair}
    asked = list(pairs) + ([pair[::-1] for pair in pairs] if both else [])
    hits = []
    for s in words:
        accepted = {s, *(variants or {}).get(s, [])}
        for m, f in asked:
            q = [x - y + z for x, y, z in zip(unit[s], unit[m], unit[f], strict=True)]
            banned = gendered if candidates is None else {m, f}
            allowed = (set(vectors if candidates is None else candidates) - banned) | accepted
            ranked = sorted(allowed & set(vectors), key=lambda word: -cos(q, unit[word]))
            hits.append(bool(accepted & set(ranked[:k])))
    return hits


def model_of(n_words=40, seed=0, dim=5, spread=0.7):
    """Words around a common mean, so that neighbours are near and questions are missed."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(n_words)]
    return WordEmbeddingModel((words, rng.normal(0.4, spread, (n_words, dim))), "drawn")


def plain(model):
    return {word: model[word].tolist() for word in model}


# Worked example


def test_toy_score(query, toy_model):
    result = EQT().run_query(query, toy_model)
    assert list(result) == ["query_name", "result", "eqt"]
    assert result["result"] == result["eqt"] == 0.375
    hits = [answer[:3] for answer in result.details["answers"] if answer[-1]]
    assert hits == [("he", "home", "she"), ("man", "home", "woman"), ("he", "kids", "she")]
    assert result.details["by_word"] == {"home": 1.0, "kids": 0.5, "boss": 0.0, "job": 0.0}
    assert result.details["by_pair"] == {("he", "she"): 0.5, ("man", "woman"): 0.25}
    assert result.details["n_candidates"] == 9


def test_toy_score_of_arrays(vectors):
    others = vectors("home kids boss job nurse pilot tree they folk")
    arrays = vectors(MALE), vectors(FEMALE), vectors(NEUTRAL)
    assert eqt(*arrays, others) == 0.375
    assert eqt_by_question(*arrays, others).tolist() == [
        [True, True],
        [True, False],
        [False, False],
        [False, False],
    ]


# A second implementation


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 3), st.booleans())
def test_score_agrees_with_its_definition(seed, k, both):
    model = model_of(seed=seed)
    pairs = [("w0", "w1"), ("w2", "w3"), ("w4", "w1")]
    words = [f"w{i}" for i in range(6, 14)]
    query = Query([[m for m, _ in pairs], [f for _, f in pairs]], [words])
    variants = {"w6": ["w20", "w21", "gone"], "w7": ["w30"]}
    some = [f"w{i}" for i in range(1, 30, 2)]
    for candidates in (None, some):
        result = EQT().run_query(
            query, model, k=k, both_directions=both, variants=variants, candidates=candidates
        )
        expected = literal(
            plain(model), pairs, words, k=k, both=both, variants=variants, candidates=candidates
        )
        assert [answer[-1] for answer in result.details["answers"]] == expected
        assert result["eqt"] == pytest.approx(np.mean(expected))


def test_arrays_agree_with_the_metric():
    model = model_of(seed=4)
    m, f, words, rest = (
        [f"w{i}" for i in part] for part in (range(3), range(3, 6), range(6, 12), range(6, 40))
    )
    result = EQT().run_query(Query([m, f], [words]), model, k=2, both_directions=True)
    score = eqt(*map(model.get_vectors, (m, f, words, rest)), k=2, both_directions=True)
    assert 0 < score < 1
    assert result["eqt"] == pytest.approx(score)


# Theorems


def test_pairs_that_do_not_differ_leave_every_word_where_it_is():
    model = model_of()
    same = ["w0", "w1"]
    result = EQT().run_query(Query([same, same], [["w5", "w6", "w7"]]), model)
    assert result["eqt"] == 1


def test_candidates_without_a_word_of_the_query_are_scored_as_with_it():
    model = model_of(seed=2)
    query = Query([["w0", "w1"], ["w2", "w3"]], [["w5", "w6", "w7", "w8"]])
    without = [f"w{i}" for i in range(9, 40)]
    alone = Query(query.target_sets, [["w5"]])
    score = EQT().run_query(alone, model, candidates=without)["eqt"]
    assert EQT().run_query(alone, model, candidates=["w5", *without])["eqt"] == score


# What may be an answer


def test_words_of_pairs_are_no_answers_but_the_word_asked_about_always_is():
    vectors = {"he": [1, 0, 0.2], "she": [0, 1, 0.2], "lady": [0.1, 1, 0.3], "book": [0, 0.2, 1]}
    model = WordEmbeddingModel((list(vectors), np.array(list(vectors.values()), dtype=float)))
    pair = [["he"], ["she"]]
    missed = EQT().run_query(Query(pair, [["book"]]), model)
    assert missed.details["answers"] == [("he", "book", "she", "lady", False)]
    # As the second word of another pair it is no candidate.
    twice = Query([["he", "he"], ["she", "lady"]], [["book"]])
    assert EQT().run_query(twice, model)["eqt"] == 1
    assert EQT().run_query(Query(pair, [["she"]]), model)["eqt"] == 1


def test_variants_are_accepted_as_answers(query, toy_model):
    variants = {"boss": ["home"], "nothing of the query": ["x"]}
    result = EQT().run_query(query, toy_model, variants=variants)
    assert result.details["by_word"]["boss"] == 1
    assert ("he", "boss", "she", "home", True) in result.details["answers"]


def test_a_copy_of_a_word_is_no_better_answer_than_the_word():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(6, 8))
    words = ["he", "she", "a", "b", "c", "d"]
    model = WordEmbeddingModel((["A", *words], np.vstack([7.3 * base[2], base])))
    query = Query([["he"], ["she"]], [["a", "b"]])
    single = WordEmbeddingModel((words, base))
    assert EQT().run_query(query, model)["eqt"] == EQT().run_query(query, single)["eqt"]


def test_candidates_that_the_model_lacks_are_counted(query, toy_model):
    result = EQT().run_query(query, toy_model, candidates=["tree", "xyzzy", "folk"])
    assert result.details["lost_candidates"] == ["xyzzy"]
    assert result.details["n_candidates"] == 2
    none = EQT().run_query(query, toy_model, candidates=["xyzzy"])
    assert none["eqt"] == 1


def test_candidates_without_a_direction_are_left_out(query, toy_model, caplog):
    toy_model.update("tree", np.zeros(3))
    toy_model.update("folk", np.array([np.nan, 1, 0]))
    some = ["tree", "nurse", "folk", "pilot", "xyzzy"]
    result = EQT().run_query(query, toy_model, candidates=some)
    expected = EQT().run_query(query, toy_model, candidates=["nurse", "pilot"])
    assert result.details["answers"] == expected.details["answers"]
    assert result.details["unusable_candidates"] == ["tree", "folk"]
    assert result.details["lost_candidates"] == ["xyzzy"]
    assert result.details["n_candidates"] == 2
    assert "toy: 2 candidates are left out because their vectors have no direction: tree, folk" in (
        caplog.text
    )
    accepted = EQT().run_query(query, toy_model, variants={"boss": ["tree", "home"]})
    assert accepted["eqt"] == EQT().run_query(query, toy_model, variants={"boss": ["home"]})["eqt"]


@pytest.mark.parametrize("k", [1, 2, 3, 10])
@pytest.mark.parametrize("candidates", [None, [f"w{i}" for i in range(8)]])
def test_models_with_fewer_candidates_than_k_are_answered(k, candidates, caplog):
    model = model_of(8, seed=3)
    model.update("w6", np.zeros(5))
    model.update("w7", np.full(5, np.nan))
    # w4 and w5, which count for w3, are no candidates for it, and for w2 they are.
    variants = {"w3": ["w5"]}
    query = Query([["w0"], ["w1"]], [["w2", "w3"]])
    options = {"k": k, "variants": variants, "candidates": candidates}
    result = EQT().run_query(query, model, **options)
    usable = {word: vector for word, vector in plain(model).items() if word not in ("w6", "w7")}
    expected = literal(usable, [("w0", "w1")], ["w2", "w3"], **options)
    assert [answer[-1] for answer in result.details["answers"]] == expected
    # There are three others for w2, and two for w3.
    n_short = (k > 2) + (k > 3)
    assert (f"{n_short} of 2 questions have fewer candidates than k={k}" in caplog.text) == (
        n_short > 0
    )


def test_a_question_with_few_candidates_does_not_limit_another():
    """Of k=3 candidates two or three are nearer, although another question has one only."""
    vectors = np.array([[1, 0, 0], [0, 1, 0], [0.1, 0.1, 1], [0, 1, 0.9], [0, 1, 0.8], [0, 1, 0.7]])
    words = ["he", "she", "book", "lady", "girl", "aunt"]
    model = WordEmbeddingModel((words, vectors))
    query = Query([["he"], ["she"]], [["book", "lady"]])
    result = EQT().run_query(query, model, k=3, variants={"lady": ["girl", "aunt"]})
    assert result.details["by_word"] == {"book": 0, "lady": 1}


def test_pair_that_lost_a_word_is_left_out(query_of, toy_model):
    lost = query_of(["he xyzzy man", "she folk woman"], [NEUTRAL])
    result = EQT().run_query(lost, toy_model, lost_vocabulary_threshold=0.5)
    assert result["eqt"] == 0.375
    assert list(result.details["by_pair"]) == [("he", "she"), ("man", "woman")]


# Models


def test_mapped_model_gives_the_same_and_one_opened_for_some_words_says_why_it_cannot(
    tmp_path, query, toy_model
):
    path = tmp_path / "toy.txt"
    toy_model.save(path, "word2vec")
    few = wefe.load(path, words=["he", "man", "she", "woman", *NEUTRAL.split()])
    result = EQT().run_query(query, few)
    assert math.isnan(result["eqt"])
    assert "was opened for 8 words only" in result.nan_reason
    toy_model.save(tmp_path / "native", "native")
    mapped = wefe.load(tmp_path / "native")
    assert mapped.held == "mapped"
    assert EQT().run_query(query, mapped)["eqt"] == 0.375


def test_question_without_a_direction_is_nan_with_a_reason():
    model = WordEmbeddingModel(
        (["m", "f", "s"], [[1.0, 0.0], [0.5, 0.75**0.5], [0.5, -(0.75**0.5)]])
    )
    result = EQT().run_query(Query([["m"], ["f"]], [["s"]]), model)
    assert math.isnan(result["eqt"])
    assert result.nan_reason == "s - m + f is zero, so it has no direction, for [('m', 's', 'f')]"


# Many cases at once


# What is refused


def test_arrays_that_are_no_pairs_are_refused(vectors):
    with pytest.raises(ValueError, match="paired by position; they have 2 and 1 words"):
        eqt(vectors(MALE), vectors("she"), vectors(NEUTRAL), vectors("tree"))
