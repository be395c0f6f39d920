"""DoubleHardDebias: the worked example, its invariances, and mistakes seen in other versions."""

import logging

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from wefe import WordEmbeddingModel, load
from wefe.datasets import Criterion, load_criterion
from wefe.debias import DoubleHardDebias
from wefe.debias._double_hard import (
    cleaned,
    principal_directions,
    two_means,
    vocabulary_covariance,
)

PAIRS = [["she", "he"], ["woman", "man"]]
BOTH = ["she", "he"]
SIDES = ["nurse", "home", "kids", "tree"], ["job", "pilot", "boss", "folk"]


def vectors_of(model, words):
    return model.get_vectors(list(words)).astype(np.float64)


@pytest.fixture
def leaning_model():
    """A vocabulary that leans along a direction, and varies most along a frequency direction."""
    rng = np.random.default_rng(3)
    lean, frequency = np.linalg.qr(rng.normal(size=(12, 2)))[0].T
    vectors = 0.3 * rng.normal(size=(400, 12)) + 0.4
    vectors += rng.normal(size=(400, 1)) * lean + 3 * rng.exponential(size=(400, 1)) * frequency
    words = [f"w{row}" for row in range(392)]
    for first, second in zip(range(392, 400, 2), range(393, 400, 2), strict=True):
        vectors[first] = vectors[second] + 2 * lean + 0.1 * rng.normal(size=12)
    words += ["she", "he", "woman", "man", "girl", "boy", "her", "him"]
    return WordEmbeddingModel.from_arrays(words, vectors, name="leaning")


LEANING_PAIRS = [["she", "he"], ["woman", "man"], ["girl", "boy"], ["her", "him"]]


# The worked example


def test_mean_and_components_of_the_worked_example(toy_model):
    mean, covariance = vocabulary_covariance(toy_model)
    np.testing.assert_allclose(mean, [0.053846, 0.484615, 0.269231], atol=1e-6)
    variances = np.linalg.eigvalsh(covariance)[::-1]
    np.testing.assert_allclose(
        variances / variances.sum(), [0.540203, 0.369528, 0.090269], atol=1e-6
    )
    expected = [
        [0.990476, 0.012357, -0.137132],
        [0.108213, -0.685680, 0.719815],
        [0.085134, 0.727799, 0.680486],
    ]
    components = principal_directions(covariance, mean)
    signs = np.sign(np.sum(components * expected, axis=1))
    np.testing.assert_allclose(components * signs[:, None], expected, atol=1e-6)
    assert (components @ mean >= 0).all()


@pytest.fixture
def groups_of_the_example(toy_model, monkeypatch):
    """The groups are given: of nine words, fit would take two for each class."""
    groups = [np.array([toy_model.vocab[word] for word in side]) for side in SIDES]
    monkeypatch.setattr("wefe.debias._double_hard._most_biased", lambda *_: groups)


def bias_direction(model, mean, component):
    """The first principal component of the pairs without a frequency direction."""
    pairs = [cleaned(vectors_of(model, pair), mean, component) for pair in PAIRS]
    return DoubleHardDebias()._identify_bias_subspace(pairs).components_[0]


@pytest.mark.usefixtures("groups_of_the_example")
def test_alignments_of_the_worked_example(toy_model):
    mean, covariance = vocabulary_covariance(toy_model)
    components = principal_directions(covariance, mean)
    method = DoubleHardDebias().fit(toy_model, PAIRS, BOTH)
    np.testing.assert_allclose(method.alignments_, [0.75, 0.625, 0.625])
    nurse = vectors_of(toy_model, ["nurse"])
    expected = [
        ((0.063069, -0.389395, 0.583807), (0.128941, -0.432549, 0.892343)),
        ((0.385404, 0.000319, 0.126672), (0.993012, 0.040262, -0.110931)),
        ((0.389988, -0.864770, 0.081828), (0.995775, -0.085741, -0.032876)),
    ]
    for component, (clean, g) in zip(components, expected, strict=True):
        np.testing.assert_allclose(cleaned(nurse, mean, component)[0], clean, atol=1e-6)
        np.testing.assert_allclose(bias_direction(toy_model, mean, component), g, atol=1e-6)


@pytest.mark.usefixtures("groups_of_the_example")
def test_final_vector_of_the_worked_example(toy_model):
    method = DoubleHardDebias().fit(toy_model, PAIRS, BOTH)
    np.testing.assert_allclose(method.alignments_, [0.75, 0.625, 0.625])
    assert method.chosen_component_ == 1
    debiased = method.transform(toy_model, ignore=BOTH)
    np.testing.assert_allclose(debiased["nurse"], [0.019308, -0.014525, 0.167569], atol=1e-6)
    for chosen, expected in (
        (0, [-0.026870, -0.087683, -0.038620]),
        (2, [-0.067866, -0.825346, 0.096944]),
    ):
        components = principal_directions(vocabulary_covariance(toy_model)[1], method.mean_)
        other = DoubleHardDebias()
        other.dim_, other.mean_ = 3, method.mean_
        other.frequency_direction_ = components[chosen]
        other.bias_direction_ = bias_direction(toy_model, method.mean_, components[chosen])
        nurse = other.transform(toy_model, target=["nurse"])["nurse"]
        np.testing.assert_allclose(nurse, expected, atol=1e-6)


def test_the_frequency_component_is_that_of_the_uncentred_word(toy_model):
    mean, covariance = vocabulary_covariance(toy_model)
    u = principal_directions(covariance, mean)[0]
    nurse = vectors_of(toy_model, ["nurse"])
    centred = nurse - mean - ((nurse - mean) @ u)[:, None] * u
    np.testing.assert_allclose(centred[0], [0.085258, -0.389118, 0.580735], atol=1e-6)
    assert np.abs(cleaned(nurse, mean, u) - centred).max() > 0.01


# Against slow or independent versions


@pytest.mark.parametrize("block_numbers", [24, 1 << 20])
def test_streamed_covariance_is_that_of_numpy(leaning_model, monkeypatch, block_numbers):
    monkeypatch.setattr("wefe.models._passes._BLOCK_NUMBERS", block_numbers)
    vectors = leaning_model.vectors + 1e4
    far = WordEmbeddingModel.from_arrays(list(leaning_model.vocab), vectors)
    mean, covariance = vocabulary_covariance(far)
    np.testing.assert_allclose(mean, vectors.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(covariance, np.cov(vectors.T), rtol=1e-7, atol=1e-9)
    pca = PCA(svd_solver="full").fit(vectors)
    found = principal_directions(covariance, mean)
    np.testing.assert_allclose(np.abs(np.sum(found * pca.components_, axis=1)), 1, atol=1e-6)


def test_every_step_written_out(leaning_model):
    """The steps word by word, with scikit-learn's PCA and KMeans."""
    model, n_words = leaning_model, 60
    method = DoubleHardDebias(n_words=n_words, n_components=3).fit(model, LEANING_PAIRS, BOTH)
    unit = {word: model[word] / np.linalg.norm(model[word]) for word in model.vocab}
    used = {word for pair in LEANING_PAIRS for word in pair}
    lean = {w: unit[w] @ unit["he"] - unit[w] @ unit["she"] for w in unit if w not in used}
    order = sorted(lean, key=lean.get)
    female, male = order[:n_words], order[-n_words:]
    mean = model.vectors.mean(axis=0)
    components = PCA(3, svd_solver="full").fit(model.vectors).components_
    alignments, results = [], []
    for u in components:
        new = {w: model[w] - mean - (u @ model[w]) * u for w in model.vocab}
        rows = []
        for first, second in LEANING_PAIRS:
            middle = (new[first] + new[second]) / 2
            rows += [new[first] - middle, new[second] - middle]
        g = np.linalg.svd(np.array(rows))[2][0]
        points = np.array([new[w] - (new[w] @ g) * g for w in female + male])
        labels = KMeans(2, n_init=10, random_state=1).fit(points).labels_
        accuracy = np.mean(labels == np.repeat([0, 1], n_words))
        alignments.append(max(accuracy, 1 - accuracy))
        results.append({w: new[w] - (new[w] @ g) * g for w in model.vocab})
    np.testing.assert_allclose(method.alignments_, alignments, atol=0.02)
    assert method.chosen_component_ == np.argmin(alignments)
    debiased = method.transform(model, ignore=["w1"])
    for word in ("w0", "w7", "she"):
        expected = results[method.chosen_component_][word]
        np.testing.assert_allclose(debiased[word], expected, atol=1e-10)


@pytest.mark.parametrize("apart", [0.0, 1.0])
def test_two_means_is_as_good_as_that_of_scikit_learn(apart):
    rng = np.random.default_rng(5)
    points = rng.normal(size=(300, 4)) + 7
    points[:150] += apart * 3

    def within(labels):
        return sum(((p - p.mean(axis=0)) ** 2).sum() for p in (points[labels], points[~labels]))

    ours = two_means(points, np.random.default_rng(0))
    theirs = KMeans(2, n_init=20, random_state=0).fit(points)
    assert within(ours) == pytest.approx(theirs.inertia_, rel=2e-3)


def test_two_means_of_equal_points():
    assert two_means(np.ones((5, 3)), np.random.default_rng(0)).shape == (5,)


# Invariances


def test_the_order_of_classes_does_not_matter(leaning_model):
    one = DoubleHardDebias().fit(leaning_model, LEANING_PAIRS, BOTH)
    swapped = [pair[::-1] for pair in LEANING_PAIRS]
    other = DoubleHardDebias().fit(leaning_model, swapped, BOTH[::-1])
    np.testing.assert_allclose(other.bias_direction_, -one.bias_direction_, atol=1e-12)
    np.testing.assert_allclose(
        one.transform(leaning_model, ignore=BOTH).vectors,
        other.transform(leaning_model, ignore=BOTH).vectors,
        atol=1e-12,
    )


def test_no_random_solver_among_many_dims():
    rng = np.random.default_rng(0)
    words = [f"w{row}" for row in range(60)]
    words += [f"{side}{n}" for n in range(20) for side in "ab"]
    model = WordEmbeddingModel.from_arrays(words, rng.normal(size=(100, 600)))
    pairs = [[f"a{n}", f"b{n}"] for n in range(20)]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    DoubleHardDebias().fit(model, pairs, ["a0", "b0"])
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


# What it removes


def test_no_component_along_either_direction_differs_afterwards(packaged_model):
    gender = load_criterion("gender", offline=True)
    method = DoubleHardDebias(n_words=300).fit(packaged_model, criterion=gender)
    debiased = method.transform(packaged_model, ignore=gender.specific_words)
    kept = [packaged_model.vocab[w] for w in gender.specific_words if w in packaged_model]
    along = debiased.vectors.astype(np.float64) @ method.bias_direction_
    assert np.abs(np.delete(along, kept)).max() < 1e-5
    assert np.abs(along[kept]).max() > 0.1
    frequency = debiased.vectors.astype(np.float64) @ method.frequency_direction_
    np.testing.assert_allclose(frequency, -method.mean_ @ method.frequency_direction_, atol=1e-5)
    assert method.alignments_.argmin() == method.chosen_component_
    assert debiased.name == "minilm-words_gender_debiased"
    assert debiased.dtype == packaged_model.dtype


def test_the_direction_is_found_after_cleaning(leaning_model):
    method = DoubleHardDebias().fit(leaning_model, LEANING_PAIRS, BOTH)
    assert abs(method.bias_direction_ @ method.frequency_direction_) < 1e-12
    raw = PCA(1).fit(
        np.concatenate([p - p.mean(axis=0) for p in (vectors_of(leaning_model, q) for q in PAIRS)])
    )
    assert abs(raw.components_[0] @ method.frequency_direction_) > 1e-4


# Arguments of transform


def test_target_names_the_words_that_change(leaning_model, caplog):
    method = DoubleHardDebias().fit(leaning_model, LEANING_PAIRS, BOTH)
    targets = [f"w{row}" for row in range(0, 380, 3)]
    debiased = method.transform(leaning_model, target=targets)
    assert "cosines" in caplog.text
    everything = method.transform(leaning_model, ignore=BOTH)
    for word in leaning_model.vocab:
        if word in targets:
            np.testing.assert_allclose(debiased[word], everything[word], atol=1e-12)
        else:
            np.testing.assert_array_equal(debiased[word], leaning_model[word])


def test_without_target_the_whole_vocabulary_moves(leaning_model):
    debiased = DoubleHardDebias(n_words=5).fit_transform(
        leaning_model, None, BOTH, definitional_pairs=LEANING_PAIRS, bias_representation=BOTH
    )
    assert (np.abs(debiased.vectors - leaning_model.vectors).max(axis=1) > 1e-3).all()


def test_ignored_words_lose_the_frequency_direction_only(leaning_model):
    method = DoubleHardDebias().fit(leaning_model, LEANING_PAIRS, BOTH)
    debiased = method.transform(leaning_model, ignore=["she", "w5"])
    for word in ("she", "w5"):
        vector = vectors_of(leaning_model, [word])
        expected = cleaned(vector, method.mean_, method.frequency_direction_)[0]
        np.testing.assert_allclose(debiased[word], expected, atol=1e-12)
    assert abs(debiased["she"] @ method.bias_direction_) > 0.1
    limited = method.transform(leaning_model, target=["w5", "w6"], ignore=["she", "w5"])
    np.testing.assert_array_equal(limited["she"], leaning_model["she"])
    np.testing.assert_allclose(limited["w5"], debiased["w5"], atol=1e-12)


def test_nothing_ignored_is_said(leaning_model, caplog):
    DoubleHardDebias().fit(leaning_model, LEANING_PAIRS, BOTH).transform(leaning_model)
    assert "nothing is ignored" in caplog.text


def test_vectors_are_taken_as_long_as_they_are(leaning_model):
    longer = WordEmbeddingModel.from_arrays(list(leaning_model.vocab), leaning_model.vectors * 8)
    results = [
        DoubleHardDebias().fit(model, LEANING_PAIRS, BOTH).transform(model, ignore=BOTH)
        for model in (leaning_model, longer)
    ]
    np.testing.assert_allclose(results[1].vectors, 8 * results[0].vectors, rtol=1e-9)


# Words


def test_most_biased_words(leaning_model):
    method = DoubleHardDebias()
    words = method.get_target_words(leaning_model, None, BOTH, 30, BOTH)
    unit = leaning_model.vectors / np.linalg.norm(leaning_model.vectors, axis=1, keepdims=True)
    rows = leaning_model.vocab
    lean = unit @ (unit[rows["she"]] - unit[rows["he"]])
    order = [w for w in sorted(rows, key=lambda w: -lean[rows[w]]) if w not in BOTH]
    assert words == order[:30] + order[::-1][:30]
    some = ["w1", "w2", "w3", "missing"]
    few = method.get_target_words(leaning_model, some, [], 3, BOTH)
    assert sorted(few) == some[:3]


def test_ignored_and_definitional_words_do_not_count(leaning_model, monkeypatch):
    from wefe.debias import _double_hard

    seen = []
    real = _double_hard._most_biased
    monkeypatch.setattr(_double_hard, "_most_biased", lambda *a: seen.append(real(*a)) or seen[-1])
    DoubleHardDebias(n_words=90).fit(leaning_model, LEANING_PAIRS, BOTH)
    words = list(leaning_model.vocab)
    left_out = [words[row] for row in seen[0][0][:4]]
    DoubleHardDebias(n_words=90).fit(leaning_model, LEANING_PAIRS, BOTH, ignore=left_out)
    DoubleHardDebias(n_words=90).fit_transform(
        leaning_model,
        ignore=left_out,
        definitional_pairs=LEANING_PAIRS,
        bias_representation=BOTH,
    )
    used = {word for pair in LEANING_PAIRS for word in pair}
    assert not used & {words[row] for side in seen[0] for row in side}
    for sides in seen[1:]:
        assert not set(left_out) & {words[row] for side in sides for row in side}


def test_a_small_vocabulary_gives_fewer_words(toy_model, caplog):
    method = DoubleHardDebias().fit(toy_model, PAIRS, BOTH)
    assert "the 2 most biased words" in caplog.text
    assert method.alignments_.shape == (3,)  # more components than dims were asked for
    assert np.isin(method.alignments_, [0.5, 0.75, 1]).all()


def test_components_beyond_the_rank_are_no_candidates():
    rng = np.random.default_rng(2)
    flat = np.zeros((50, 6))
    flat[:, :3] = rng.normal(size=(50, 3))
    model = WordEmbeddingModel.from_arrays([f"w{row}" for row in range(50)], flat)
    method = DoubleHardDebias(n_components=6).fit(model, [["w0", "w1"], ["w2", "w3"]], ["w0", "w1"])
    assert method.alignments_.shape == (3,)


def test_vocabulary_prefix(leaning_model):
    prefixed = WordEmbeddingModel.from_arrays(
        [f"/en/{word}" for word in leaning_model.vocab], leaning_model.vectors, vocab_prefix="/en/"
    )
    plain = DoubleHardDebias().fit(leaning_model, LEANING_PAIRS, BOTH, ignore=["w3"])
    method = DoubleHardDebias().fit(prefixed, LEANING_PAIRS, BOTH, ignore=["w3"])
    np.testing.assert_array_equal(method.bias_direction_, plain.bias_direction_)
    assert method.get_target_words(prefixed, None, BOTH, 5, BOTH) == plain.get_target_words(
        leaning_model, None, BOTH, 5, BOTH
    )


def test_vectors_without_a_direction_stay_and_do_not_count(leaning_model):
    vectors = np.vstack([leaning_model.vectors, np.zeros(12), np.full(12, np.nan)])
    model = WordEmbeddingModel.from_arrays([*leaning_model.vocab, "zero", "nan"], vectors)
    method = DoubleHardDebias(n_words=50).fit(model, LEANING_PAIRS, BOTH)
    plain = DoubleHardDebias(n_words=50).fit(leaning_model, LEANING_PAIRS, BOTH)
    np.testing.assert_allclose(method.mean_, plain.mean_)
    debiased = method.transform(model, ignore=BOTH)
    assert not debiased["zero"].any()
    assert np.isnan(debiased["nan"]).all()


def test_criterion_is_the_same_as_its_words(leaning_model):
    words = ["w1", "w2"]
    criterion = Criterion("lean", LEANING_PAIRS, specific_words=words, representatives=BOTH)
    by_criterion = DoubleHardDebias().fit(leaning_model, criterion=criterion)
    by_words = DoubleHardDebias().fit(leaning_model, LEANING_PAIRS, BOTH, ignore=words)
    np.testing.assert_array_equal(by_criterion.bias_direction_, by_words.bias_direction_)
    assert by_criterion.transform(leaning_model, ignore=words).name == "leaning_lean_debiased"


# Refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bias_representation": ["she"]}, "2 words"),
        ({"bias_representation": ["she", "absent"]}, "bias_representation"),
        ({"bias_representation": ["she", "she"]}, "same direction"),
        ({"definitional_pairs": [["she", "he", "they"]]}, "2 words"),
        ({"definitional_pairs": [["nothing", "here"]]}, "none of the 1"),
        ({"ignore": ["home", "kids", "boss", "job", "nurse", "pilot", "tree", "they"]}, "no word"),
    ],
)
def test_words_that_do_not_do(toy_model, given, message):
    params = {"definitional_pairs": PAIRS, "bias_representation": BOTH} | given
    with pytest.raises(ValueError, match=message):
        DoubleHardDebias().fit(toy_model, **params)


def test_types_and_missing_word_sets(toy_model):
    with pytest.raises(TypeError, match="needs bias_representation"):
        DoubleHardDebias().fit(toy_model, PAIRS)
    with pytest.raises(TypeError, match="no parameter 'ignored'"):
        DoubleHardDebias().fit(toy_model, PAIRS, BOTH, ignored=["x"])
    with pytest.raises(ValueError, match="n_words"):
        DoubleHardDebias(n_words=0).fit(toy_model, PAIRS, BOTH)
    with pytest.raises(TypeError, match="random_state"):
        DoubleHardDebias(random_state="seed").fit(toy_model, PAIRS, BOTH)


def test_equal_vectors_have_no_components(toy_model):
    model = WordEmbeddingModel.from_arrays(list(toy_model.vocab), np.ones((13, 3)))
    with pytest.raises(ValueError, match="same direction"):
        DoubleHardDebias().fit(model, PAIRS, BOTH)
    with pytest.raises(ValueError, match="equal"):
        principal_directions(np.zeros((3, 3)), np.ones(3))


def test_a_file_opened_for_some_words_is_refused(toy_model, tmp_path, caplog):
    caplog.set_level(logging.ERROR)
    toy_model.save(tmp_path / "toy.txt", progress=False)
    some = load(
        tmp_path / "toy.txt", hold="selected", words=[w for p in (*PAIRS, *SIDES) for w in p]
    )
    with pytest.raises(ValueError, match="whole vocabulary"):
        DoubleHardDebias().fit(some, PAIRS, BOTH)
