"""INLP: projections of a span, classifiers that end at chance, and the words they learn from."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from wefe import WEAT, Query, WordEmbeddingModel, load
from wefe.datasets import Criterion, load_criterion, load_weat
from wefe.debias import INLP, debias_file, nullspace_projection
from wefe.debias._classes import _chance, _held_out, look_up, word_classes

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
DIM = 12
WORDS = {"a": [f"a{i}" for i in range(300)], "b": [f"b{i}" for i in range(300)]}


def separated(n_classes=2, n_words=300, seed=0, dtype=np.float64):
    """Random vectors of classes that differ along a few directions, and noise elsewhere."""
    rng = np.random.default_rng(seed)
    names = "abcd"[:n_classes]
    offsets = np.zeros((n_classes, DIM))
    offsets[:, :3] = 3 * np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, -1, -1)])[:n_classes]
    vectors = rng.normal(size=(n_classes * n_words, DIM))
    vectors += np.repeat(offsets, n_words, axis=0)
    words = [f"{name}{i}" for name in names for i in range(n_words)]
    by_class = {name: [f"{name}{i}" for i in range(n_words)] for name in names}
    return WordEmbeddingModel((words, vectors.astype(dtype)), "separated"), by_class


def test_worked_example(toy_model):
    first, second = np.array([1.0, 1, 0]), np.array([1.0, 0, 1])
    projection = nullspace_projection([first, second])
    expected = np.array([[1, -1, -1], [-1, 1, 1], [-1, 1, 1]]) / 3
    np.testing.assert_allclose(projection, expected, atol=1e-12)
    nurse = toy_model["nurse"]
    np.testing.assert_allclose(nurse @ projection, (-0.133333, 0.133333, 0.133333), atol=1e-6)
    product = nullspace_projection(second[None]) @ nullspace_projection(first[None]) @ nurse
    np.testing.assert_allclose(product, (-0.3, -0.2, 0.3), atol=1e-12)
    assert abs(product @ first) > 0.1


@pytest.mark.parametrize("rank", [0, 1, 4, 12])
def test_projections_are_projections(rank):
    rng = np.random.default_rng(rank)
    rows = rng.normal(size=(15, rank)) @ rng.normal(size=(rank, DIM)) * 1e3
    projection = nullspace_projection(rows)
    np.testing.assert_allclose(projection, projection.T, atol=1e-14)
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-12)
    assert np.linalg.matrix_rank(projection, tol=1e-6) == DIM - rank
    np.testing.assert_allclose(rows @ projection, 0, atol=1e-8)
    # The definition, by a pseudo-inverse.
    np.testing.assert_allclose(
        projection, np.eye(DIM) - np.linalg.pinv(rows, rcond=1e-9) @ rows, atol=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_what_is_learned_is_a_projection(n_classes):
    model, words = separated(n_classes)
    method = INLP().fit(model, words_by_class=words)
    n_directions = len(method.directions_)
    assert 0 < n_directions < DIM
    projection = method.projection_
    np.testing.assert_allclose(projection, projection.T, atol=1e-14)
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-12)
    assert np.linalg.matrix_rank(projection, tol=1e-6) == DIM - n_directions
    gram = method.directions_ @ method.directions_.T
    np.testing.assert_allclose(gram, np.eye(n_directions), atol=1e-10)
    once = method.transform(model)
    np.testing.assert_allclose(once.vectors, model.vectors @ projection, atol=1e-10)
    np.testing.assert_allclose(method.transform(once).vectors, once.vectors, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_iterations", [1, 2, 3])
def test_equals_a_slow_implementation(n_classes, n_iterations):
    model, words = separated(n_classes)
    method = INLP(n_iterations=n_iterations, min_accuracy=0).fit(model, words_by_class=words)
    _, vectors, labels = look_up(model, words)
    x = vectors / np.sqrt((vectors**2).sum(axis=1).mean())
    held_out = _held_out(labels, np.random.default_rng(0))
    weights, projection, accuracies = [], np.eye(DIM), []
    for _ in range(n_iterations + 1):
        svm = LinearSVC(dual=False)
        svm.fit((x @ projection)[~held_out], labels[~held_out])
        right = svm.predict((x @ projection)[held_out]) == labels[held_out]
        accuracies.append(right.mean())
        if len(weights) < n_iterations:
            weights.append(svm.coef_)
            rows = np.concatenate(weights)
            projection = np.eye(DIM) - np.linalg.pinv(rows, rcond=1e-6) @ rows
    np.testing.assert_allclose(method.projection_, projection, atol=1e-6)
    np.testing.assert_allclose(method.accuracies_, accuracies)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_end_at_chance(n_classes):
    model, words = separated(n_classes)
    method = INLP().fit(model, words_by_class=words)
    assert method.accuracies_[0] > 0.8
    assert method.accuracies_[-1] < 1 / n_classes + 0.08
    # Another classifier, and another draw of words from the same classes.
    vectors = method.transform(separated(n_classes, 900)[0]).vectors
    labels = np.repeat(np.arange(n_classes), 900)
    train = np.arange(len(vectors)) % 2 == 0
    accuracy = LogisticRegression().fit(vectors[train], labels[train]).score(
        vectors[~train], labels[~train]
    )  # fmt: skip
    assert accuracy < 1 / n_classes + 0.1


def test_words_of_any_class_are_not_told_apart_by_their_means():
    model, words = separated()
    result = INLP().fit_transform(model, words_by_class=words)
    before, after = (each.vectors[:300].mean(0) - each.vectors[300:].mean(0)
                     for each in (model, result))  # fmt: skip
    assert np.linalg.norm(after) < 0.1 * np.linalg.norm(before)


def test_held_out_words_are_a_quarter_of_each_class():
    labels = np.repeat([0, 1, 2], [400, 40, 2])
    held_out = _held_out(labels, np.random.default_rng(1))
    assert [int(held_out[labels == label].sum()) for label in range(3)] == [100, 10, 1]


def test_the_loop_ends_at_the_accuracy_asked_for():
    model, words = separated()
    strict, lax, none = (
        INLP(min_accuracy=limit).fit(model, words_by_class=words) for limit in (0.5, 0.9, 1.0)
    )
    assert len(none.directions_) == 0
    assert len(none.accuracies_) == 1
    assert len(lax.directions_) <= len(strict.directions_)
    assert (lax.accuracies_[:-1] > 0.9).all()
    assert lax.accuracies_[-1] <= 0.9
    single = INLP(n_iterations=1, min_accuracy=0).fit(model, words_by_class=words)
    assert len(single.directions_) == 1
    assert len(single.accuracies_) == 2
    np.testing.assert_allclose(abs(single.directions_[0] @ strict.directions_[0]), 1)


def test_the_loop_ends_at_chance_by_default():
    model, words = separated(3)
    words = {"a": words["a"], "b": words["b"][:100], "c": words["c"][:100]}
    # 75 of 125 held-out words are of the largest class.
    limit = 0.6 + np.sqrt(0.6 * 0.4 / 125)
    method = INLP().fit(model, words_by_class=words)
    assert (method.accuracies_[:-1] > limit).all()
    assert method.accuracies_[-1] <= limit
    same = INLP(min_accuracy=limit).fit(model, words_by_class=words)
    assert np.array_equal(same.projection_, method.projection_)
    assert _chance(np.repeat([0, 1, 2], [75, 25, 25])) == pytest.approx(limit)


def test_nothing_is_removed_where_there_is_nothing_to_learn(caplog):
    rng = np.random.default_rng(0)
    words = [*WORDS["a"], *WORDS["b"]]
    model = WordEmbeddingModel((words, rng.normal(size=(600, DIM))), "noise")
    method = INLP(min_accuracy=0.7).fit(model, words_by_class=WORDS)
    assert "nothing is removed" in caplog.text
    result = method.transform(model)
    assert np.array_equal(result.vectors, model.vectors)


def test_some_dimension_is_always_left(toy_model, caplog):
    words = {"f": ["she", "woman", "nurse", "home"], "m": ["he", "man", "boss", "pilot"]}
    method = INLP(min_accuracy=0).fit(toy_model, words_by_class=words)
    assert len(method.directions_) == 2
    assert "all 3 dims would be removed; 2 are" in caplog.text
    assert method.transform(toy_model).vectors.any(axis=1).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_commutes_with_rotations_and_scales(n_classes):
    model, words = separated(n_classes)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(DIM, DIM)))[0]
    turned = WordEmbeddingModel((list(model.vocab), 7 * model.vectors @ rotation), "turned")
    method = INLP(n_iterations=2)
    plain = method.fit_transform(model, words_by_class=words).vectors
    other = method.fit_transform(turned, words_by_class=words).vectors
    # Classifiers are optimised up to a tolerance of their own.
    np.testing.assert_allclose(other, 7 * plain @ rotation, atol=1e-2)


def test_same_seed_same_result():
    model, words = separated()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second, other = (
        INLP(random_state=seed).fit(model, words_by_class=words) for seed in (3, 3, 4)
    )
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert np.array_equal(first.projection_, second.projection_)
    assert not np.array_equal(first.projection_, other.projection_)
    drawn = INLP(random_state=np.random.default_rng(3)).fit(model, words_by_class=words)
    assert np.array_equal(drawn.projection_, first.projection_)


def test_less_association_is_measured(packaged_model):
    gender = load_criterion("gender", offline=True)
    method = INLP(n_words=1000, neutral=False).fit(packaged_model, criterion=gender)
    assert list(method.words_by_class_) == ["female", "male"]
    assert method.accuracies_[0] > 0.95
    assert method.accuracies_[-1] < 0.55
    query = gender.queries()[0]
    before, after = (
        WEAT().run_query(query, model)["weat"]
        for model in (packaged_model, method.transform(packaged_model))
    )
    assert abs(after) < 0.25 * abs(before)


@pytest.mark.parametrize("neutral", [False, True])
def test_more_than_two_classes(packaged_model, neutral):
    method = INLP(n_iterations=3, n_words=400, neutral=neutral).fit(
        packaged_model, criterion="ethnicity"
    )
    names = ["black", "caucasian", "asian"]
    assert list(method.words_by_class_) == names + ["neutral"] * neutral
    # One against the rest: a classifier per class.
    assert 6 <= len(method.directions_) <= 3 * (3 + neutral)
    assert method.accuracies_[-1] < method.accuracies_[0]


@pytest.mark.parametrize("suffix", [".bin", ".safetensors"])
def test_files_get_the_numbers_of_memory(suffix, tmp_path):
    model, words = separated(dtype=np.float32)
    model.save(tmp_path / f"in{suffix}")
    criterion = Criterion("kind", [("a0", "b0"), ("a1", "b1"), ("a2", "b2")])
    for given in ({"words_by_class": words}, {"criterion": criterion}):
        source, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
        debias_file(INLP(n_words=50), source, out, **given)
        expected = INLP(n_words=50).fit_transform(model, **given)
        np.testing.assert_allclose(
            load(out, hold="memory").vectors, expected.vectors, rtol=0, atol=1e-5
        )


# The words that are learned from


def by_hand(model, axes):
    """Reach of every unit vector along each axis."""
    units = model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True)
    return dict(zip(model.vocab, units @ np.asarray(axes).T, strict=True))


def test_words_of_two_classes(toy_model):
    sets = [("she", "he"), ("woman", "man")]
    words = word_classes(toy_model, sets, ("female", "male"), 2, neutral=True)
    reach = by_hand(toy_model, [(0.997742, -0.067150, -0.001556)])
    free = [word for word in reach if word not in ("she", "he", "woman", "man")]
    free.sort(key=lambda word: reach[word][0])
    assert words["female"] == ["she", "woman", *free[:-3:-1]]
    assert words["male"] == ["he", "man", *free[:2]]
    rest = [word for word in free if word not in words["female"] + words["male"]]
    assert words["neutral"] == sorted(rest, key=lambda word: abs(reach[word][0]))[:2]


def test_words_of_three_classes():
    rng = np.random.default_rng(2)
    model = WordEmbeddingModel(([f"w{i}" for i in range(60)], rng.normal(size=(60, 5))), "random")
    sets = [("w0", "w1", "w2"), ("w3", "w4", "w5"), ("w6", "w1", "w7")]
    words = word_classes(model, sets, (), 15, neutral=False)
    units = by_hand(model, np.eye(5))
    rows = np.array([[units[word] for word in part] for part in sets])
    means = rows.mean(axis=0)
    axes = means - rows.mean(axis=(0, 1))
    reach = by_hand(model, axes / np.linalg.norm(axes, axis=1, keepdims=True))
    given = {word for part in sets for word in part}
    lists = [
        sorted((w for w in reach if w not in given), key=lambda w: -reach[w][k])[:15]
        for k in range(3)
    ]
    assert list(words) == ["class 0", "class 1", "class 2"]
    for k, part in enumerate(lists):
        definitional = list(dict.fromkeys(each[k] for each in sets))
        own = [
            word for word in part if reach[word][k] > 0
            and reach[word][k] == max(reach[word][j] for j in range(3) if word in lists[j])
        ]  # fmt: skip
        assert words[f"class {k}"] == definitional + own
    assert set(lists[0]) & set(lists[1]) or set(lists[0]) & set(lists[2])


def test_small_vocabularies_are_shared_out(toy_model, caplog):
    words = word_classes(toy_model, [("she", "he")], ("f", "m"), 7500, neutral=True)
    assert "4 words of each class are used, not 7500, because it has 13 words" in caplog.text
    every = [word for part in words.values() for word in part]
    assert len(every) == len(set(every)) <= 13
    assert word_classes(toy_model, [("she", "he")], (), None, neutral=True) == {
        "class 0": ["she"],
        "class 1": ["he"],
    }


def test_files_and_memory_choose_the_same_words(tmp_path, packaged_model):
    packaged_model.save(tmp_path / "model.safetensors")
    mapped = load(tmp_path / "model.safetensors")
    sets = load_criterion("ethnicity").definitional_sets
    plain, other = (
        word_classes(model, sets, (), 100, neutral=True) for model in (packaged_model, mapped)
    )
    assert plain == other


def test_missing_and_repeated_words(caplog):
    model, words = separated()
    more = {"a": [*words["a"], "nobody", "a3"], "b": words["b"]}
    method = INLP().fit(model, words_by_class=more)
    assert np.array_equal(method.projection_, INLP().fit(model, words_by_class=words).projection_)
    assert method.words_by_class_ == words
    assert "lacks 1 of the 301 words of class 'a': nobody" in caplog.text
    with pytest.raises(ValueError, match="has 1 of the 2 words of class 'a'; at least 2 are need"):
        INLP().fit(model, words_by_class={"a": ["a0", "nobody"], "b": ["b0", "b1"]})
    with pytest.raises(ValueError, match="has 0 of the 1 words of class 'b'; at least 2"):
        INLP().fit(model, words_by_class={"a": ["a0", "a1"], "b": ["nobody"]})


def test_given_words_win():
    model, words = separated()
    criterion = Criterion("kind", [("a0", "b0"), ("a1", "b1")], ("first", "second"))
    method = INLP().fit(model, [("a0", "b0")], words, criterion=criterion)
    assert method.words_by_class_ == words
    assert method.transform(model).name == "separated_kind_debiased"
    method = INLP(n_words=5).fit(model, [("a3", "b3"), ("a4", "b4")], criterion=criterion)
    assert method.words_by_class_["class 0"][:2] == ["a3", "a4"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, TypeError, "INLP.fit needs definitional_sets, or a criterion"),
        ({"definitional_pairs": []}, TypeError, "no parameter 'definitional_pairs'"),
        ({"words_by_class": [["a0"], ["b0"]]}, TypeError, "must be a mapping"),
        ({"words_by_class": {"a": ["a0", "a1"]}}, ValueError, "two classes or more"),
        (
            {"words_by_class": {"a": ["a0", "a1"], "b": ["a1", "b0"]}},
            ValueError,
            "'a1' is in two classes",
        ),
        ({"definitional_sets": []}, ValueError, "definitional_sets"),
        (
            {"definitional_sets": [("a0", "b0"), ("a1", "b1", "a2")]},
            ValueError,
            "one word for each",
        ),
        ({"definitional_sets": [("a0", "x"), ("y", "b0")]}, ValueError, "none of the 2"),
    ],
)
def test_words_that_do_not_do(given, error, message):
    with pytest.raises(error, match=message):
        INLP().fit(separated()[0], **given)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_iterations": 0}, ValueError, "n_iterations must be an integer of at least 1"),
        ({"n_words": 2.5}, TypeError, "n_words must be an integer of at least 1"),
        ({"min_accuracy": 2}, ValueError, "min_accuracy is a share between 0 and 1"),
        ({"neutral": "yes"}, TypeError, "neutral must be True or False"),
        ({"random_state": "x"}, TypeError, "random_state must be"),
    ],
)
def test_parameters_are_checked(options, error, message):
    model, words = separated()
    with pytest.raises(error, match=message):
        INLP(**options).fit(model, words_by_class=words)


def test_a_class_may_not_be_called_like_the_others():
    model, _ = separated()
    criterion = Criterion("kind", [("a0", "b0"), ("a1", "b1")], ("neutral", "other"))
    with pytest.raises(ValueError, match="a class is called 'neutral'"):
        INLP(n_words=10).fit(model, criterion=criterion)
    assert (
        "other" in INLP(n_words=10, neutral=False).fit(model, criterion=criterion).words_by_class_
    )


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the published vectors")
def test_published_vectors(monkeypatch):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    monkeypatch.setenv("WEFE_DATA_DIR", str(SHARED / "data"))
    path = SHARED / "data" / "models" / "word2vec_subset.kv"
    model = WordEmbeddingModel(keyed_vectors.load(str(path)), "word2vec")
    method = INLP(neutral=False).fit(model, criterion="gender")
    assert method.accuracies_[0] > 0.99
    assert method.accuracies_[-1] < 0.52
    weat = load_weat()
    names = ["male_terms", "female_terms", "career", "family"]
    query = Query([weat[n] for n in names[:2]], [weat[n] for n in names[2:]])
    before, after = (
        WEAT().run_query(query, each)["weat"] for each in (model, method.transform(model))
    )
    assert before == pytest.approx(0.463, abs=1e-3)
    assert abs(after) < 0.1
