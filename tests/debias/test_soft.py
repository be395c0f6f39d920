"""SoftDebias and MulticlassSoftDebias: the worked example, optimality, and limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from wefe import WordEmbeddingModel, load
from wefe.datasets import Criterion, load_criterion
from wefe.debias import HardDebias, MulticlassSoftDebias, SoftDebias
from wefe.debias._hard import soft_transform, unit_gram

PAIRS = [["she", "he"], ["woman", "man"]]
NEUTRAL = ["nurse", "pilot", "tree"]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def terms(t, words, neutral, basis):
    """Both terms of the objective, from all pairs of words, as published."""
    moved, moved_neutral, moved_basis = words @ t.T, neutral @ t.T, basis @ t.T
    similarity = np.linalg.norm(moved @ moved.T - words @ words.T) ** 2
    return similarity, np.linalg.norm(moved_neutral @ moved_basis.T) ** 2


@pytest.fixture
def toy(toy_model):
    words = unit(toy_model.vectors)
    neutral = words[[toy_model.vocab[word] for word in NEUTRAL]]
    g = HardDebias().fit(toy_model, PAIRS).bias_direction_
    return words, neutral, g


def problem(seed=0, n_words=30, n_neutral=12, dim=4, k=1):
    rng = np.random.default_rng(seed)
    words = unit(rng.normal(size=(n_words, dim)) * np.linspace(2, 0.5, dim) + 0.3)
    basis = np.linalg.qr(rng.normal(size=(dim, k)))[0].T
    return words, words[:n_neutral], basis


# The worked example


def test_objective_of_the_worked_example(toy):
    words, neutral, g = toy
    for t, first, second, objective in (
        (np.eye(3), 0, 0.728797, 0.106229),
        (np.eye(3) - 0.5 * np.outer(g, g), 3.537643, 0.182199, 12.521560),
        (np.eye(3) - np.outer(g, g), 4.716858, 0, 22.248748),
    ):
        similarity, bias = terms(t, words, neutral, g[None])
        np.testing.assert_allclose(np.sqrt([similarity, bias]), [first, second], atol=2e-6)
        assert similarity + 0.2 * bias == pytest.approx(objective, abs=2e-6)


def test_minimum_of_the_worked_example(toy, toy_model):
    words, neutral, g = toy
    method = SoftDebias(0.2, "sum").fit(toy_model, PAIRS, neutral_words=NEUTRAL)
    t = method.transformation_
    expected = [
        [0.995119, 0.000829, -0.001467],
        [0.000829, 0.999893, 0.000171],
        [-0.001467, 0.000171, 0.999742],
    ]
    np.testing.assert_allclose(t.T @ t, expected, atol=1e-6)
    similarity, bias = terms(t, words, neutral, g[None])
    assert similarity + 0.2 * bias == pytest.approx(0.1056548, abs=1e-7)
    np.testing.assert_allclose(method.bias_direction_, g)
    debiased = method.transform(toy_model)
    np.testing.assert_allclose(debiased.vectors, unit(words @ t.T), atol=1e-12)


# Against an optimiser that knows the published objective only


@pytest.mark.parametrize(
    ("weight", "k", "n_neutral"), [(5.0, 1, 12), (200.0, 1, 12), (50.0, 2, 12), (1e3, 2, 30)]
)
def test_no_optimiser_finds_a_lower_objective(weight, k, n_neutral):
    words, neutral, basis = problem(n_neutral=n_neutral, k=k)

    def objective(numbers):
        similarity, bias = terms(numbers.reshape(4, 4), words, neutral, basis)
        return similarity + weight * bias

    t = soft_transform(words.T @ words, neutral.T @ neutral, basis, weight)
    best = min(
        minimize(objective, np.eye(4).ravel() + 0.1 * start, method="BFGS").fun
        for start in np.random.default_rng(1).normal(size=(3, 16))
    )
    assert objective(t.ravel()) == pytest.approx(best, rel=1e-6)
    assert objective(t.ravel()) < objective(np.eye(4).ravel())
    np.testing.assert_allclose(t, t.T, atol=1e-12)
    assert np.linalg.eigvalsh(t).min() >= -1e-12


@pytest.mark.parametrize(("seed", "k"), [(0, 1), (10, 1), (4, 2), (9, 3)])
def test_where_the_closed_form_is_not_positive(seed, k, monkeypatch):
    """One neutral word and a great weight; the optimality conditions hold at the boundary."""
    words, neutral, basis = problem(seed, n_neutral=1, dim=6, k=k)
    weight, stepped = 1e4, []
    from wefe.debias import _hard

    real = _hard._Quadratic.minimum_above_zero
    monkeypatch.setattr(
        _hard._Quadratic, "minimum_above_zero", lambda *a: stepped.append(1) or real(*a)
    )
    gram, neutral_gram = words.T @ words, neutral.T @ neutral
    t = soft_transform(gram, neutral_gram, basis, weight)
    assert stepped, "this problem should need the projection"
    x, p = t @ t, basis.T @ basis
    bias = neutral_gram @ x @ p
    gradient = 2 * gram @ (x - np.eye(6)) @ gram + weight * (bias + bias.T)
    # Of a convex problem over X >= 0: the gradient is >= 0 and orthogonal to X.
    size = np.linalg.norm(gram) ** 2
    assert np.linalg.eigvalsh(gradient).min() > -1e-6 * size
    assert abs(np.sum(gradient * x)) < 1e-6 * size
    assert np.linalg.eigvalsh(gradient).max() > 1e-4 * size


@pytest.mark.parametrize("k", [1, 3])
def test_the_gradient_is_zero_on_a_real_vocabulary(packaged_model, k):
    gram, n_words = unit_gram(packaged_model)
    gram /= n_words
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(packaged_model.dim, k)))[0].T
    t = soft_transform(gram, gram, basis, 0.2)
    x = t @ t
    bias = gram @ x @ basis.T @ basis
    gradient = gram @ (x - np.eye(len(gram))) @ gram + 0.1 * (bias + bias.T)
    assert np.abs(gradient).max() < 1e-8 * np.abs(0.1 * bias).max()


# Limits and invariances


def test_no_weight_no_change(toy_model):
    method = SoftDebias(bias_weight=0).fit(toy_model, PAIRS)
    np.testing.assert_allclose(method.transformation_, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(
        method.transform(toy_model).vectors, unit(toy_model.vectors), atol=1e-12
    )


def test_a_huge_weight_leaves_nothing_along_the_direction(toy_model):
    method = SoftDebias(bias_weight=1e10).fit(toy_model, PAIRS)
    debiased = method.transform(toy_model)
    assert np.abs(debiased.vectors @ method.bias_direction_).max() < 1e-4


def test_a_huge_weight_neutralises_where_the_direction_is_an_eigenvector():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(40, 5))
    # With each word its mirror image: g = e_0 is an eigenvector of W'W.
    vectors = np.vstack([half, half * [-1, 1, 1, 1, 1], [[2, 1, 0, 0, 0], [-2, 1, 0, 0, 0]]])
    words = [f"w{row}" for row in range(80)]
    model = WordEmbeddingModel.from_arrays([*words, "she", "he"], vectors)
    hard = HardDebias().fit(model, [["she", "he"]], []).transform(model, target=words)
    soft = SoftDebias(bias_weight=1e12).fit_transform(
        model, target=words, definitional_pairs=[["she", "he"]]
    )
    np.testing.assert_allclose(soft.vectors, hard.vectors, atol=1e-5)


def test_more_weight_less_bias_and_more_change():
    words, neutral, basis = problem(dim=6, n_neutral=25)
    found = []
    for weight in (0.1, 1, 10, 100):
        t = soft_transform(words.T @ words, neutral.T @ neutral, basis, weight)
        found.append(terms(t, words, neutral, basis))
    similarity, bias = np.array(found).T
    assert (np.diff(similarity) > 0).all()
    assert (np.diff(bias) < 0).all()


def test_lengths_of_words_do_not_matter_but_their_number_does_in_sums(toy_model):
    scaled = WordEmbeddingModel.from_arrays(
        list(toy_model.vocab), toy_model.vectors * np.arange(1, 14)[:, None]
    )
    twice = WordEmbeddingModel.from_arrays(
        [*toy_model.vocab, *(f"{word}2" for word in toy_model.vocab)],
        np.vstack([toy_model.vectors, toy_model.vectors]),
    )
    ignore = ["she2", "he2", "woman2", "man2"]
    found = {
        scale: [
            SoftDebias(0.5, scale).fit(m, PAIRS, ignore=ignore).transformation_
            for m in (toy_model, scaled, twice)
        ]
        for scale in ("mean", "sum")
    }
    for plain, longer, _ in found.values():
        np.testing.assert_allclose(longer, plain, atol=1e-12)
    np.testing.assert_allclose(found["mean"][2], found["mean"][0], atol=1e-12)
    moved = [np.abs(t - np.eye(3)).max() for t in found["sum"]]
    assert moved[2] < 0.6 * moved[0]
    assert np.abs(found["mean"][0] - np.eye(3)).max() > moved[0]


def test_fewer_words_than_dims(toy_model):
    """What no word has stays as it is; the rest is as without these dims."""
    wide = np.zeros((13, 20))
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(20, 20)))[0]
    wide[:, :3] = toy_model.vectors
    model = WordEmbeddingModel.from_arrays(list(toy_model.vocab), wide @ rotation)
    t = SoftDebias().fit(model, PAIRS).transformation_
    expected = np.eye(20)
    expected[:3, :3] = SoftDebias().fit(toy_model, PAIRS).transformation_
    np.testing.assert_allclose(t, rotation.T @ expected @ rotation, atol=1e-8)


# Numbers that the documentation names


def test_what_the_default_weight_does(packaged_model):
    gender = load_criterion("gender", offline=True)
    known = {packaged_model.vocab[w] for w in gender.specific_words if w in packaged_model}
    neutral = np.array([row for row in range(len(packaged_model)) if row not in known])

    def direct_bias(method):
        debiased = method.fit_transform(packaged_model, criterion=gender)
        vectors = debiased.vectors[neutral].astype(np.float64)
        return np.abs(unit(vectors) @ method.bias_direction_).mean()

    assert direct_bias(SoftDebias(0)) == pytest.approx(0.054, abs=5e-4)
    assert direct_bias(SoftDebias(scale="sum")) == pytest.approx(0.054, abs=5e-4)
    assert direct_bias(SoftDebias()) == pytest.approx(0.009, abs=5e-4)
    assert direct_bias(SoftDebias(1)) == pytest.approx(0.004, abs=5e-4)
    assert direct_bias(SoftDebias(10)) == pytest.approx(0.001, abs=5e-4)


# Words


def test_neutral_words_are_all_but_definitional_and_ignored_ones(toy_model, caplog):
    rest = [w for w in toy_model.vocab if w not in {"she", "he", "woman", "man", "kids"}]
    by_ignore = SoftDebias().fit(toy_model, PAIRS, ignore=["kids", "absent"])
    by_name = SoftDebias().fit(toy_model, PAIRS, neutral_words=[*rest, "nowhere"], ignore=["tree"])
    np.testing.assert_allclose(by_ignore.transformation_, by_name.transformation_, atol=1e-12)
    assert "lacks 1 of the 9 neutral words" in caplog.text
    criterion = Criterion("gender", PAIRS, specific_words=["kids"])
    by_criterion = SoftDebias().fit(toy_model, criterion=criterion)
    np.testing.assert_allclose(by_criterion.transformation_, by_ignore.transformation_)
    assert by_criterion.transform(toy_model).name == "toy_gender_debiased"
    plain = SoftDebias().fit(toy_model, PAIRS)
    assert np.abs(plain.transformation_ - by_ignore.transformation_).max() > 1e-3


def test_ignore_of_fit_transform_counts_for_both(toy_model):
    debiased = SoftDebias().fit_transform(toy_model, None, ["kids"], definitional_pairs=PAIRS)
    method = SoftDebias().fit(toy_model, PAIRS, ignore=["kids"])
    np.testing.assert_array_equal(debiased["kids"], toy_model["kids"])
    np.testing.assert_allclose(debiased["home"], method.transform(toy_model)["home"])


def test_vocabulary_prefix_and_vectors_without_a_direction(toy_model):
    vectors = np.vstack([toy_model.vectors, np.zeros(3), np.full(3, np.inf)])
    words = [f"/en/{word}" for word in [*toy_model.vocab, "zero", "infinite"]]
    prefixed = WordEmbeddingModel.from_arrays(words, vectors, vocab_prefix="/en/")
    plain = SoftDebias().fit(toy_model, PAIRS, ignore=["kids"])
    method = SoftDebias().fit(prefixed, PAIRS, ignore=["kids", "zero"])
    np.testing.assert_allclose(method.transformation_, plain.transformation_, atol=1e-12)
    debiased = method.transform(prefixed)
    assert not debiased["/en/zero"].any()
    assert np.isinf(debiased["/en/infinite"]).all()


def test_keeps_the_dtype(packaged_model):
    debiased = SoftDebias().fit_transform(packaged_model, definitional_pairs=PAIRS)
    assert debiased.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(debiased.vectors, axis=1), 1, atol=1e-6)


# More than two classes

TRIPLES = [["she", "he", "they"], ["woman", "man", "folk"]]


def test_multiclass_removes_several_directions(packaged_model):
    method = MulticlassSoftDebias(bias_weight=1e8).fit(packaged_model, criterion="religion")
    assert method.bias_subspace_.shape == (2, packaged_model.dim)
    before = unit(packaged_model.vectors.astype(np.float64)) @ method.bias_subspace_.T
    after = method.transform(packaged_model).vectors.astype(np.float64) @ method.bias_subspace_.T
    assert np.abs(before).mean(axis=0).min() > 0.02
    assert np.abs(after).max() < 2e-3


def test_multiclass_with_one_component_is_the_binary_method(toy_model):
    one = SoftDebias().fit(toy_model, PAIRS)
    same = MulticlassSoftDebias().fit(toy_model, PAIRS)
    np.testing.assert_allclose(same.transformation_, one.transformation_, atol=1e-12)
    wide = MulticlassSoftDebias(n_components=1).fit(toy_model, TRIPLES)
    assert wide.bias_subspace_.shape == (1, 3)
    np.testing.assert_allclose(
        np.abs(wide.bias_subspace_[0]), [0.997440, 0.070984, 0.008622], atol=1e-6
    )


def test_mean_divides_by_words_pairs_and_directions(toy_model):
    method = MulticlassSoftDebias(3.0).fit(toy_model, TRIPLES)
    words = unit(toy_model.vectors)
    used = {word for part in TRIPLES for word in part}
    neutral = words[[row for word, row in toy_model.vocab.items() if word not in used]]
    expected = soft_transform(
        words.T @ words / 13, neutral.T @ neutral / (7 * 2), method.bias_subspace_, 3.0
    )
    np.testing.assert_allclose(method.transformation_, expected, atol=1e-12)


def test_the_basis_of_the_subspace_does_not_matter():
    words, neutral, basis = problem(k=2, dim=5)
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(2, 2)))[0]
    one = soft_transform(words.T @ words, neutral.T @ neutral, basis, 7)
    other = soft_transform(words.T @ words, neutral.T @ neutral, turn @ basis, 7)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_more_components_than_the_sets_span(toy_model):
    method = MulticlassSoftDebias(n_components=9).fit(toy_model, PAIRS)
    assert method.bias_subspace_.shape == (2, 3)


# Refused


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "0.2", True, None])
def test_weights_that_are_none(toy_model, weight):
    with pytest.raises((TypeError, ValueError), match="bias_weight"):
        SoftDebias(weight).fit(toy_model, PAIRS)


def test_other_mistakes(toy_model, tmp_path):
    with pytest.raises(ValueError, match="scale must be one of"):
        SoftDebias(scale="means").fit(toy_model, PAIRS)
    with pytest.raises(TypeError, match="needs definitional_pairs"):
        SoftDebias().fit(toy_model)
    with pytest.raises(TypeError, match="no parameter 'neutral'"):
        SoftDebias().fit(toy_model, PAIRS, neutral=["tree"])
    with pytest.raises(ValueError, match="2 words"):
        SoftDebias().fit(toy_model, TRIPLES)
    with pytest.raises(ValueError, match="no neutral word"):
        SoftDebias().fit(toy_model, PAIRS, neutral_words=["absent"])
    with pytest.raises(ValueError, match="no neutral word"):
        SoftDebias().fit(toy_model, PAIRS, ignore=list(toy_model.vocab))
    with pytest.raises(ValueError, match="n_components"):
        MulticlassSoftDebias(n_components=0).fit(toy_model, TRIPLES)
    toy_model.save(tmp_path / "toy.txt", progress=False)
    some = load(tmp_path / "toy.txt", hold="selected", words=["she", "he", "tree"])
    with pytest.raises(ValueError, match="whole vocabulary"):
        SoftDebias().fit(some, [["she", "he"]])
