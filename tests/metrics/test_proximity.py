"""Neighbourhoods: proximity bias, GIPE, neighbours per group, and the traps of released code."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel, load
from wefe.metrics import GIPE, NeighborPercentage, ProximityBias, bias_subspace
from wefe.metrics._proximity import _edges, _gammas, _mean_of_known, proximity_bias

T1, T2 = "she woman", "he man"
OUTSIDE = (T1 + " " + T2).split()
SIX = "home kids nurse boss job pilot"
NINE = "home kids boss job nurse pilot tree they folk"
OF_TOY = {"k": 3, "exclude": OUTSIDE}
METRICS = [ProximityBias, GIPE, NeighborPercentage]
each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)


@pytest.fixture
def six(query_of):
    return query_of([T1, T2], [SIX], ["Female", "Male"], ["Six"])


def random_model(seed, n_words=60, dim=8, dtype=np.float64):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(0.15, 1, (n_words, dim)).astype(dtype)
    return WordEmbeddingModel(([f"w{i}" for i in range(n_words)], vectors), f"model {seed}")


# Worked examples


def test_toy_neighbours_and_their_indirect_bias(six, toy_model):
    table = ProximityBias().run_query(six, toy_model, **OF_TOY).details["neighborhoods"]
    assert table["word"].tolist() == [word for word in SIX.split() for _ in range(3)]
    names = "kids folk they, they home folk, tree home pilot, job folk pilot, boss pilot folk, "
    assert " ".join(table["neighbor"]) == names.replace(",", "") + "job boss tree"
    home, boss, job = 0.036267, 0.030650, 0.081659
    positive = [[home, 0, 0], [0, home, 0], [0, 0.226520, 0], [0, 0, boss], [0, job, 0]]
    positive.append([job, boss, 0])
    assert table["indirect_bias"].clip(0).tolist() == pytest.approx(np.ravel(positive), abs=1e-6)


@pytest.mark.parametrize(
    ("theta", "eta", "gamma", "proximity", "score"),
    [
        (0.05, [0, 0, 1, 0, 1, 1], [1.5, 1, 1, 1, 1.5, 4 / 3], 0.166667, 0.174242),
        (0.03, [1, 1, 1, 1, 1, 2], [2, 2, 1, 1.5, 1.5, 5 / 3], 0.388889, 0.390805),
    ],
)
def test_toy_scores(theta, eta, gamma, proximity, score, six, toy_model):
    words = SIX.split()
    shares = dict(zip(words, np.array(eta) / 3, strict=True))
    result = ProximityBias().run_query(six, toy_model, theta=theta, **OF_TOY)
    assert result["proximity_bias"] == pytest.approx(proximity, abs=1e-6)
    assert result["word_values"] == pytest.approx(shares)
    result = GIPE().run_query(six, toy_model, theta=theta, **OF_TOY)
    # Not 0.149123 and 0.397436, the scores of code in which gamma is 0 for nurse.
    assert result["gipe"] == pytest.approx(score, abs=1e-6)
    assert result["word_values"] == pytest.approx(shares)
    assert result["weights"] == pytest.approx(dict(zip(words, gamma, strict=True)))


def test_toy_percentages_of_male_neighbours(query_of, toy_model):
    query = query_of([T2, T1], [NINE], ["Male", "Female"], ["Nine"])
    result = NeighborPercentage().run_query(query, toy_model, **OF_TOY)
    third = 100 / 3
    expected = {
        "home": third, "kids": third, "boss": 100, "job": 100, "nurse": third,
        "pilot": 2 * third, "tree": 2 * third, "they": third, "folk": third,
    }  # fmt: skip
    assert result["word_values"] == pytest.approx(expected)
    assert result["pmn"] == pytest.approx(55.555556, abs=1e-6)
    assert result["group_values"] == pytest.approx({"Male": 55.555556, "Female": 44.444444})
    # Bias by neighbours of Gonen and Goldberg: their correlation with cos(w, she) - cos(w, he).
    units = {word: toy_model[word] / np.linalg.norm(toy_model[word]) for word in toy_model.vocab}
    along = [units[word] @ (units["he"] - units["she"]) for word in NINE.split()]
    shares = list(result["word_values"].values())
    assert np.corrcoef(along, shares)[0, 1] == pytest.approx(0.806600, abs=1e-6)


# A second implementation


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("before", [True, False])
def test_all_scores_agree_with_loops(literal, seed, before):
    model = random_model(seed)
    original = random_model(seed + 100, dim=5) if before else None
    words, k, theta = [f"w{i}" for i in range(4, 20)], 7, 0.02
    space = original or model
    pairs = [[space["w0"], space["w1"]], [space["w2"], space["w3"]]]
    g = bias_subspace(pairs).directions
    names, betas, along = literal.neighborhoods(model, words, g[0], k, original)
    score, eta, gamma = literal.gipe(words, names, betas, theta)
    query = Query([["w0", "w1"], ["w2", "w3"]], [words])
    options = {"k": k, "original": original}
    result = GIPE().run_query(query, model, theta=theta, **options)
    assert result["result"] == pytest.approx(score)
    assert list(result["weights"].values()) == pytest.approx(gamma)
    result = ProximityBias().run_query(query, model, theta=theta, **options)
    assert result["result"] == pytest.approx(np.mean(eta))
    table, (first, second) = result.details["neighborhoods"], result.targets
    assert table["neighbor"].tolist() == np.ravel(names).tolist()
    assert table["indirect_bias"].tolist() == pytest.approx(np.ravel(betas), rel=1e-7, abs=1e-9)
    towards = table[[f"towards {first.name}", f"towards {second.name}"]].to_numpy()
    assert towards == pytest.approx(np.outer(along, [1, -1]), abs=1e-12)
    result = NeighborPercentage().run_query(query, model, **options)
    assert result["result"] == pytest.approx(100 * np.mean(along > 0))


# The side of the groups


@pytest.mark.parametrize("sign", [1, -1])
def test_percentage_is_of_the_side_of_the_first_targets_whatever_the_sign_of_a_component(sign):
    vectors = sign * np.array([[1, 0.1], [-1, 0.1], [0.9, 0.3], [0.8, 0.3], [0.7, 0.4]])
    model = WordEmbeddingModel((["she", "he", "nurse", "home", "kids"], vectors))
    query = Query([["she"], ["he"]], [["nurse"]])
    assert NeighborPercentage().run_query(query, model, k=3)["result"] == 100


def test_group_at_the_mean_of_all_groups_has_no_direction():
    # What sets a apart in one tuple, a2 takes back in the other.
    vectors = np.array([[1.0, 0], [-1, 0], [0, 1], [0, 1], [0, -1], [0, -1], [1, 1]])
    model = WordEmbeddingModel((["a", "a2", "b", "b2", "c", "c2", "w"], vectors))
    query = Query([["a", "a2"], ["b", "b2"], ["c", "c2"]], [["w"]])
    assert "groups[0]" in ProximityBias().run_query(query, model).nan_reason


# The model before mitigation


def test_the_sign_of_rounding_is_no_leaning_and_most_of_it_is_told(caplog):
    model = random_model(8, n_words=400, dim=50)
    query = Query([["w0", "w1"], ["w2", "w3"]], [[f"w{i}" for i in range(4, 40)]])
    g = bias_subspace([model.get_vectors(words) for words in query.target_sets]).directions[0]
    # In float32 without its bias direction, but for the words of the targets.
    g, narrow = g.astype(np.float32), model.vectors.astype(np.float32)
    flat = narrow - np.outer(narrow @ g, g)
    flat[:4] = model.vectors[:4]
    scores = []
    for scale in (1.0, 3.1, 0.017):
        mitigated = WordEmbeddingModel((list(model.vocab), flat * np.float32(scale)), "mitigated")
        result = NeighborPercentage().run_query(query, mitigated, k=30)
        along = result.details["neighborhoods"].filter(like="towards")
        assert 0 < np.median(np.abs(along)) < 1e-5
        scores.append(result["result"])
    # Of words of the targets alone there is more than rounding.
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-9)
    assert scores[0] == pytest.approx(50, abs=1)
    assert "only rounding errors" in caplog.text
    options = {"k": 30, "exclude": ["w0", "w1", "w2", "w3"]}
    result = NeighborPercentage().run_query(query, mitigated, **options)
    assert math.isnan(result["result"])
    assert "only rounding errors" in result.nan_reason
    result = NeighborPercentage().run_query(query, mitigated, original=model, **options)
    assert not result.nan_reason


def test_original_that_lacks_words_is_told(six, toy_model, caplog):
    kept = [word for word in toy_model.vocab if word not in ("pilot", "folk")]

    def before(words, name):
        return WordEmbeddingModel((words, toy_model.get_vectors(words)), name)

    options = {"original": before(kept, "smaller"), **OF_TOY}
    result = ProximityBias().run_query(six, toy_model, **options)
    assert "smaller lacks 2 of 9 words and neighbours" in caplog.text
    assert "3 of 6 words are left out: boss (" in caplog.text
    # Of job's neighbours boss, pilot and folk, boss alone is known.
    why = "fewer than half of its 3 neighbours are known"
    left_out = {"boss": why, "job": why, "pilot": "smaller lacks it"}
    assert result.details["left_out"] == left_out
    # Of nurse's neighbours tree, home and pilot, home is biased, and tree is not.
    assert result["word_values"] == {"home": 0, "kids": 0, "nurse": 0.5}
    assert result["result"] == pytest.approx(0.5 / 3)
    percentages = NeighborPercentage().run_query(six, toy_model, **options)
    assert percentages.details["left_out"] == {"boss": why, "job": why}
    result = ProximityBias().run_query(six, toy_model, original=before(["nurse"], "nothing"))
    assert result.nan_reason.startswith("nothing lacks words of 'Female'")
    with pytest.raises(TypeError, match="^original must be a WordEmbeddingModel"):
        ProximityBias().run_query(six, toy_model, original="nothing")
    for metric in METRICS:
        options["original"] = before(OUTSIDE, "targets")
        result = metric().run_query(six, toy_model, **options)
        assert math.isnan(result["result"])
        assert result.nan_reason.startswith("no word is left: home (targets lacks it), kids (")


# Neighbours


def gipe(words, rows, betas):
    """Score and weights of words with given neighbours and their indirect biases."""
    edges, betas = _edges(words, np.array(rows)), np.array(betas)
    weights = _gammas(edges, betas[..., None], 0.05, np.ones((len(words), 1)))[:, 0]
    return _mean_of_known(proximity_bias(betas, 0.05), weights), weights


@pytest.mark.parametrize(
    ("words", "rows", "betas", "weights", "score"),
    [
        # A word without incoming edges has weight one and counts.
        ([7, 8], [[1, 2], [7, 7]], [[1.0, 1.0], [0.0, 0.0]], [1, 1], 0.5),
        # Weights reach from one to two.
        ([0, 1, 2], [[1], [0], [0]], [[0.2], [0.2], [0.04]], [1.5, 2, 1], (1.5 + 2) / 4.5),
        ([0], [[1]], [[math.nan]], None, math.nan),
        # A bias of theta is not more than theta.
        ([0, 1], [[1], [0]], [[0.2], [0.05]], [1, 2], 1 / 3),
    ],
)
def test_gipe_of_given_neighbours(words, rows, betas, weights, score):
    found, of_words = gipe(words, rows, betas)
    assert found == pytest.approx(score, nan_ok=True)
    assert weights is None or of_words.tolist() == weights


def test_neighbours_of_which_nothing_is_known_are_left_out():
    nan = math.nan
    # One biased neighbour of two known ones is a half, not a quarter.
    betas = [[nan, 0.3, 0.0, nan], [nan, nan, nan, 0.3], [nan] * 4]
    np.testing.assert_array_equal(proximity_bias(np.array(betas), 0.05), [0.5, nan, nan])
    rows = [[1, 2, 7, 8], [2, 7, 8, 0], [0, 1, 7, 8]]
    score, weights = gipe([0, 1, 2], rows, betas)
    # One known edge leads to 0, which is biased; one to 2, which is; none to 1.
    assert (weights.tolist(), score) == ([2, 1, 2], 0.5)


# Models


@each_metric
def test_mapped_models_answer_and_those_of_some_words_only_are_refused(metric, tmp_path):
    model = random_model(3, dtype=np.float32)
    query = Query([["w0", "w1"], ["w2", "w3"]], [[f"w{i}" for i in range(4, 20)]])
    model.save(tmp_path / "model.safetensors")
    mapped = load(tmp_path / "model.safetensors")
    assert dict(metric().run_query(query, mapped, k=9)) == dict(
        metric().run_query(query, model, k=9)
    )
    model.save(tmp_path / "model.txt")
    some = load(tmp_path / "model.txt", words=[f"w{i}" for i in range(20)])
    result = metric().run_query(query, some)
    assert math.isnan(result["result"])
    assert "was opened for 20 words only" in result.nan_reason
    with pytest.raises(ValueError, match="was opened for 20 words only"):
        metric().run_query(query, model, original=some)


# In the framework
