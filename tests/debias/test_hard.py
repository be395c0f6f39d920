"""Hard and soft debiasing: worked examples, published figures, and slow implementations."""

import logging

import numpy as np
import pytest
from mitigation import unit
from scipy.optimize import minimize

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import Criterion, fetch_debias_multiclass
from wefe.debias import HardDebias, MulticlassHardDebias, SoftDebias, _hard
from wefe.debias._hard import soft_transform, with_variants

PAIRS = [["she", "he"], ["woman", "man"]]
FOUR = ["she", "he", "woman", "man"]
THREE = [*PAIRS, ["girl", "boy"]]
TRIPLES = [["she", "he", "they"], ["woman", "man", "folk"]]
MEMBERS = [word for words in TRIPLES for word in words]
CASES = {"normalize": True, "preprocessors": [{}, {"lowercase": True}]}


def random_model(seed=0, prefix=""):
    """Sixty words of nine dims, among them three pairs in two spellings, of any length."""
    words = ["she", "he", "woman", "man", "girl", "boy", "She", "He"]
    words += [f"w{row}" for row in range(52)]
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(60, 9)) * rng.uniform(0.5, 3, size=(60, 1))
    vectors[[0, 2, 4, 6]] += 2 * np.eye(9)[0]
    return WordEmbeddingModel(([prefix + w for w in words], vectors), "random", prefix or None)


def slow_hard_debias(model, equalize, ignore=(), g=None):
    """Word by word, as the paper writes it."""
    original = {word: unit(model[word]) for word in model}
    if g is None:
        rows = []
        for a, b in THREE:
            centre = (original[a] + original[b]) / 2
            rows += [original[a] - centre, original[b] - centre]
        g = np.linalg.eigh(sum(np.outer(row, row) for row in rows))[1][:, -1]
    result = {
        word: vector if word in ignore else unit(vector - (vector @ g) * g)
        for word, vector in original.items()
    }
    for a, b in equalize:
        if a in result and b in result:
            mean = (result[a] + result[b]) / 2
            y = mean - (mean @ g) * g
            z = np.sqrt(1 - y @ y) * np.sign((original[a] - original[b]) @ g)
            result[a], result[b] = y + z * g, y - z * g
    kept = {*ignore} - {word for pair in equalize for word in pair}
    return np.array([model[word] if word in kept else result[word] for word in model])


# Hard debiasing


def test_hard_worked_example(toy_model, toy_query):
    method = HardDebias().fit(toy_model, PAIRS)
    np.testing.assert_allclose(method.bias_direction_, (0.997742, -0.067150, -0.001556), atol=1e-6)
    ratios = method.pca_.explained_variance_ratio_
    np.testing.assert_allclose(ratios, (0.996115, 0.003885), atol=1e-6)
    assert WEAT().run_query(toy_query, toy_model)["weat"] == pytest.approx(3.351087, abs=1e-6)

    neutral = HardDebias().fit(toy_model, PAIRS, []).transform(toy_model, ignore=FOUR)
    assert WEAT().run_query(toy_query, neutral)["weat"] == pytest.approx(-0.007364, abs=1e-6)
    np.testing.assert_allclose(neutral["nurse"], (0.012562, 0.163792, 0.986415), atol=1e-6)
    np.testing.assert_allclose(neutral["home"], (0.064418, 0.950068, 0.305323), atol=1e-6)

    result = method.transform(toy_model, ignore=FOUR)
    assert WEAT().run_query(toy_query, result)["weat"] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(result["she"], (0.970461, 0.188592, 0.150460), atol=1e-6)
    np.testing.assert_allclose(result["he"], (-0.935967, 0.316898, 0.153434), atol=1e-6)
    for word in ("she", "he"):
        assert result["nurse"] @ result[word] == pytest.approx(0.191497, abs=1e-6)
    np.testing.assert_array_equal(result["nurse"], neutral["nurse"])
    half = (result["woman"] - result["man"]) / 2
    assert half @ method.bias_direction_ == pytest.approx(0.855835, abs=1e-6)
    mean = (result["woman"] + result["man"]) / 2
    np.testing.assert_allclose(mean, (0.034427, 0.512864, -0.057722), atol=1e-6)


@pytest.fixture(scope="module")
def exact(published):
    """In float64, as float32 drifts in the sixth digit."""
    model = published.model
    return WordEmbeddingModel((list(model), model.vectors.astype(float)), "word2vec")


PUBLISHED_TARGET = [
    "executive", "management", "professional", "corporation", "salary", "office", "business",
    "career", "home", "parents", "children", "family", "cousins", "marriage", "wedding",
    "relatives",
]  # fmt: skip


@pytest.mark.parametrize(
    ("equalize", "ignores", "target", "first", "second"),
    [
        ("equalize_pairs", True, None, 0.047349, 0.055328),
        ("none", True, None, -0.142656, 0.055328),
        # 'John' and 'Mary' are equalised as they are after neutralising; from the vectors before
        # it, the second figure would be 0.054956.
        ("definitional_pairs", True, None, 0.006566, 0.056072),
        ("equalize_pairs", False, PUBLISHED_TARGET, 0.047349, 0.079940),
    ],
)
def test_published_scores(published, exact, equalize, ignores, target, first, second):
    words = published.words
    assert published.scores(exact, **CASES) == pytest.approx([0.463439, 0.073536], abs=1e-6)
    pairs = {**words, "none": []}[equalize]
    ignore = words["gender_specific"] if ignores else None
    method = HardDebias().fit(exact, words["definitional_pairs"], pairs)
    # The second as the documentation prints it, from the float32 vectors of gensim.
    for model, tolerance in ((exact, 1e-6), (published.model, 3e-6)):
        scores = published.scores(method.transform(model, target, ignore), **CASES)
        assert scores == pytest.approx([first, second], abs=tolerance)


def test_neutral_words_are_equally_near_to_both_words_of_a_pair(packaged_model, gender):
    method = HardDebias().fit(packaged_model, criterion=gender)
    model = WordEmbeddingModel((list(packaged_model), packaged_model.vectors.astype(float)), "m")
    result = method.transform(model, ignore=gender.specific_words)
    left = {word for words in method.equalize_pairs_ for word in words} | {*gender.specific_words}
    neutral = result.get_vectors([word for word in result if word not in left])
    g = method.bias_direction_
    assert len(neutral) > 10_000
    np.testing.assert_allclose(neutral @ g, 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(neutral, axis=1), 1)
    words = list(packaged_model)[:24]
    twelve = HardDebias().fit(packaged_model, list(zip(words[::2], words[1::2], strict=True)))
    assert twelve.pca_.n_components_ == 10
    found = [pair for pair in gender.equalize_sets if all(word in result for word in pair)]
    assert len(found) > 30
    for words in found:
        pair = result.get_vectors(words)
        np.testing.assert_allclose(neutral @ pair[0], neutral @ pair[1], atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(pair, axis=1), 1)
        # Mirror images: the sum is at right angles to the direction, the difference along it.
        assert (pair[0] + pair[1]) @ g == pytest.approx(0, abs=1e-12)
        np.testing.assert_allclose(pair[0] - pair[1], (pair[0] - pair[1]) @ g * g, atol=1e-12)


@pytest.mark.parametrize("ignore", [(), ("w1", "w2", "she", "man")], ids=["all", "ignore"])
@pytest.mark.parametrize("target", [None, ["w1"]])
@pytest.mark.parametrize("equalize", [[], THREE, [["w3", "w4"], ["she", "he"], ["girl", "w9"]]])
def test_every_word_is_that_of_a_slow_implementation(equalize, target, ignore):
    model = random_model()
    method = HardDebias().fit(model, THREE, equalize)
    result = method.transform(model, target, list(ignore))
    others = [] if target is None else [word for word in model if word not in target]
    expected = slow_hard_debias(model, with_variants(equalize), [*ignore, *others])
    np.testing.assert_allclose(result.vectors, expected, atol=1e-12)


# More classes


def multiclass(model, n_components, sets=TRIPLES, equalize=None):
    method = MulticlassHardDebias(pca_args={"n_components": n_components})
    return method.fit(model, sets, equalize)


@pytest.mark.parametrize(
    ("n_components", "nurse", "she", "he", "they"),
    [
        (
            1,
            (0.020253, 0.164816, 0.986116),
            (0.909356, 0.414976, -0.029432),
            (-0.841800, 0.539600, -0.014295),
            (0.909356, 0.414976, -0.029432),
        ),
        (
            2,
            (0.041219, 0.472246, 0.880503),
            (0.937441, -0.188312, 0.292819),
            (-0.937292, -0.100806, 0.333648),
            (0.094934, 0.955016, -0.280949),
        ),
    ],
)
def test_multiclass_worked_example(toy_model, n_components, nurse, she, he, they, caplog):
    method = multiclass(toy_model, n_components)
    assert ("components cannot separate 3 classes" in caplog.text) is (n_components == 1)
    result = method.transform(toy_model, ignore=MEMBERS)
    found = result.get_vectors(["nurse", "she", "he", "they"])
    np.testing.assert_allclose(found, [nurse, she, he, they], atol=1e-6)
    if n_components == 2:
        np.testing.assert_allclose(found[1:] @ found[0], 0.207538, atol=1e-6)
    ratios = multiclass(toy_model, 10).pca_.explained_variance_ratio_
    np.testing.assert_allclose(ratios, [0.826407, 0.132779, 0.040814], atol=1e-6)
    expected = np.abs([(0.997440, -0.070984, -0.008622), (0.058430, 0.878604, -0.473963)])
    subspace = np.abs(method.bias_subspace_)
    np.testing.assert_allclose(subspace, expected[:n_components], atol=1e-6)


def test_pairs_give_what_hard_debias_gives(packaged_model, gender):
    several, binary = (
        method.fit_transform(packaged_model, criterion=gender, ignore=gender.specific_words)
        for method in (MulticlassHardDebias(pca_args={"n_components": 1}), HardDebias())
    )
    np.testing.assert_allclose(several.vectors, binary.vectors, atol=1e-6)


def test_a_set_is_equalized_with_the_words_that_are_there(toy_model, caplog):
    sets = [["she", "he", "alien"], ["woman", "martian", "venusian"]]
    method = multiclass(toy_model, 2, equalize=sets)
    with caplog.at_level(logging.INFO):
        result = method.transform(toy_model, ignore=MEMBERS)
    assert result["she"] @ result["nurse"] == pytest.approx(result["he"] @ result["nurse"])
    assert np.array_equal(result["woman"], toy_model["woman"])
    # Each of the two in lower, title and upper case; of those only the first has two words.
    assert "5 of 6 sets" in caplog.text


@pytest.mark.parametrize(
    ("n_components", "neutralised", "equalised"),
    [(1, 0.117277, -0.013798), (2, 0.107294, -0.011716), (3, 0.074089, -0.009654)],
)
def test_recomputed_figures_of_ethnicities(published, n_components, neutralised, equalised):
    words = fetch_debias_multiclass()
    sets = words["ethnicity_definitional_sets"]
    ignore = sorted({word for part in sets for word in part})
    query = Query(
        *(
            [words[f"{name}_{kind}"] for name in ("white", "black")]
            for kind in ("terms", "biased_words")
        )
    )
    for equalize, expected in (([], neutralised), (None, equalised)):
        method = multiclass(published.model, n_components, sets, equalize)
        model = method.transform(published.model, ignore=ignore)
        result = WEAT().run_query(query, model, lost_vocabulary_threshold=1, **CASES)
        assert result["weat"] == pytest.approx(expected, abs=1e-5)


# Soft debiasing


def terms(t, words, neutral, basis):
    """Both terms of the objective, from all pairs of words, as published."""
    moved, moved_neutral, moved_basis = words @ t.T, neutral @ t.T, basis @ t.T
    similarity = np.linalg.norm(moved @ moved.T - words @ words.T) ** 2
    return similarity, np.linalg.norm(moved_neutral @ moved_basis.T) ** 2


def problem(seed=0, n_neutral=12, dim=4, k=1):
    rng = np.random.default_rng(seed)
    words = unit(rng.normal(size=(30, dim)) * np.linspace(2, 0.5, dim) + 0.3)
    basis = np.linalg.qr(rng.normal(size=(dim, k)))[0].T
    return words, words[:n_neutral], basis


def test_soft_worked_example(toy_model):
    neutral_words = ["nurse", "pilot", "tree"]
    words, neutral = unit(toy_model.vectors), unit(toy_model.get_vectors(neutral_words))
    method = SoftDebias(bias_weight=0.2, scale="sum").fit(
        toy_model, PAIRS, neutral_words=neutral_words
    )
    t, g = method.transformation_, method.bias_direction_
    np.testing.assert_allclose(g, HardDebias().fit(toy_model, PAIRS).bias_direction_)
    for matrix, first, second, objective in (
        (np.eye(3), 0, 0.728797, 0.106229),
        (np.eye(3) - 0.5 * np.outer(g, g), 3.537643, 0.182199, 12.521560),
        (np.eye(3) - np.outer(g, g), 4.716858, 0, 22.248748),
    ):
        similarity, bias = terms(matrix, words, neutral, g[None])
        np.testing.assert_allclose(np.sqrt([similarity, bias]), [first, second], atol=2e-6)
        assert similarity + 0.2 * bias == pytest.approx(objective, abs=2e-6)
    expected = [
        [0.995119, 0.000829, -0.001467],
        [0.000829, 0.999893, 0.000171],
        [-0.001467, 0.000171, 0.999742],
    ]
    np.testing.assert_allclose(t.T @ t, expected, atol=1e-6)
    similarity, bias = terms(t, words, neutral, g[None])
    assert similarity + 0.2 * bias == pytest.approx(0.1056548, abs=1e-7)
    debiased = method.transform(toy_model)
    np.testing.assert_allclose(debiased.vectors, unit(words @ t.T), atol=1e-12)
    for params, n_directions in (({}, 2), ({"n_components": 1}, 1)):
        several = SoftDebias(**params).fit(toy_model, TRIPLES)
        assert len(several.bias_subspace_) == n_directions
    # A mean over 13 x 13 pairs of words, and over 3 neutral words.
    mean = SoftDebias(bias_weight=0.2).fit(toy_model, PAIRS, neutral_words=neutral_words)
    total = SoftDebias(bias_weight=0.2 * 13**2 / 3, scale="sum").fit(
        toy_model, PAIRS, neutral_words=neutral_words
    )
    np.testing.assert_allclose(mean.transformation_, total.transformation_, atol=1e-9)


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
    real = _hard._minimum_above_zero
    monkeypatch.setattr(_hard, "_minimum_above_zero", lambda *a: stepped.append(1) or real(*a))
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


def test_neutral_words_are_all_but_definitional_and_ignored_ones(toy_model, caplog):
    rest = [word for word in toy_model if word not in {*FOUR, "kids"}]
    vectors = np.vstack([toy_model.vectors, np.zeros(3), np.full(3, np.inf)])
    words = [f"/en/{word}" for word in [*toy_model, "zero", "infinite"]]
    prefixed = WordEmbeddingModel((words, vectors), vocab_prefix="/en/")
    expected = SoftDebias().fit(toy_model, PAIRS, ignore=["kids", "absent"])
    for method in (
        SoftDebias().fit(toy_model, PAIRS, neutral_words=[*rest, "nowhere"], ignore=["tree"]),
        SoftDebias().fit(toy_model, criterion=Criterion("g", PAIRS, specific_words=["kids"])),
        SoftDebias().fit(prefixed, PAIRS, ignore=["kids", "zero"]),
    ):
        np.testing.assert_allclose(method.transformation_, expected.transformation_, atol=1e-12)
    assert "lacks 1 of the 9 neutral words" in caplog.text
    plain = SoftDebias().fit(toy_model, PAIRS)
    assert np.abs(plain.transformation_ - expected.transformation_).max() > 1e-3
    # What `fit_transform` ignores is ignored by both.
    debiased = SoftDebias().fit_transform(toy_model, None, ["kids"], definitional_sets=PAIRS)
    np.testing.assert_array_equal(debiased["kids"], toy_model["kids"])
    np.testing.assert_allclose(debiased["home"], expected.transform(toy_model)["home"])


@pytest.mark.parametrize(
    ("settings", "words", "error", "culprit"),
    [
        ({"bias_weight": float("nan")}, {}, ValueError, "bias_weight"),
        ({"scale": "means"}, {}, ValueError, "scale"),
        ({"n_components": 0}, {}, ValueError, "n_components"),
        ({}, {"neutral_words": ["absent"]}, ValueError, "no neutral word"),
    ],
)
def test_what_cannot_be_fitted_is_named(toy_model, settings, words, error, culprit):
    few = WordEmbeddingModel((list(toy_model)[:8], toy_model.vectors[:8]), "few")
    with pytest.raises(error, match=culprit):
        SoftDebias(**settings).fit(few, PAIRS, **words)
