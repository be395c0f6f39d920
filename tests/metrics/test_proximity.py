"""Neighbourhoods: proximity bias, GIPE, neighbours per group, and the traps of released code."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe._evaluation import Evaluation
from wefe._wordset import Ones, Weights
from wefe.embeddings import UnanswerableError
from wefe.metrics import (
    GIPE,
    NeighborPercentage,
    ProximityBias,
    bias_subspace,
    gipe,
    group_directions,
    indirect_bias,
    neighbor_group_shares,
    neighborhoods,
    proximity_bias,
)

T1, T2 = "she woman", "he man"
OUTSIDE = (T1 + " " + T2).split()
SIX = "home kids nurse boss job pilot"
NINE = "home kids boss job nurse pilot tree they folk"
OF_TOY = {"k": 3, "exclude": OUTSIDE}
METRICS = [ProximityBias, GIPE, NeighborPercentage]
each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)


@pytest.fixture
def g(vectors):
    return bias_subspace([vectors(T1), vectors(T2)]).directions


@pytest.fixture
def six(query_of):
    return query_of([T1, T2], [SIX], ["Female", "Male"], ["Six"])


def slow_neighborhoods(model, words, g, k, original=None, exclude=()):
    """Neighbours and their indirect bias and projection, word by word and pair by pair."""
    original = original or model

    def unit(vector):
        return vector.astype(float) / math.sqrt(sum(float(x) ** 2 for x in vector))

    names, betas, along = [], [], []
    for word in words:
        others = [
            (-sum(unit(model[word]) * unit(model[other])), row, other)
            for row, other in enumerate(model.vocab)
            if other != word and other not in exclude
        ]
        near = [other for _, _, other in sorted(others)[:k]]
        names.append(near)
        w = unit(original[word])
        rest = unit(w - sum(w * g) * g)
        of_word = []
        for other in near:
            v = unit(original[other])
            left = sum(rest * unit(v - sum(v * g) * g))
            of_word.append((sum(w * v) - left) / sum(w * v))
        betas.append(of_word)
        along.append([sum(unit(original[other]) * g) for other in near])
    return names, np.array(betas), np.array(along)


def slow_gipe(words, names, betas, theta):
    """Kumar et al., a loop over all edges."""
    eta = [sum(beta > theta for beta in of_word) / len(of_word) for of_word in betas]
    gamma = []
    for word in words:
        incoming = [
            beta
            for other, near, of_other in zip(words, names, betas, strict=True)
            for name, beta in zip(near, of_other, strict=True)
            if name == word and other != word
        ]
        biased = sum(beta > theta for beta in incoming)
        gamma.append(1 + biased / len(incoming) if incoming else 1)
    return sum(e * w for e, w in zip(eta, gamma, strict=True)) / sum(gamma), eta, gamma


def random_model(seed, n_words=60, dim=8, dtype=np.float64):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(0.15, 1, (n_words, dim)).astype(dtype)
    return WordEmbeddingModel(([f"w{i}" for i in range(n_words)], vectors), f"model {seed}")


# Worked examples


def test_toy_neighbours_and_their_indirect_bias(toy_model, g):
    near = neighborhoods(toy_model, SIX.split(), g, np.vstack([g, -g]), k=3, exclude=OUTSIDE)
    assert [" ".join(row) for row in near.names] == [
        "kids folk they",
        "they home folk",
        "tree home pilot",
        "job folk pilot",
        "boss pilot folk",
        "job boss tree",
    ]
    positive = {
        (word, name): beta
        for word, names, betas in zip(near.words, near.names, near.indirect_bias, strict=True)
        for name, beta in zip(names, betas, strict=True)
        if beta > 0
    }
    assert positive == pytest.approx(
        {
            ("home", "kids"): 0.036267,
            ("kids", "home"): 0.036267,
            ("nurse", "home"): 0.226520,
            ("boss", "pilot"): 0.030650,
            ("pilot", "boss"): 0.030650,
            ("job", "pilot"): 0.081659,
            ("pilot", "job"): 0.081659,
        },
        abs=1e-6,
    )


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
    assert list(result) == ["query_name", "result", "proximity_bias", "word_values"]
    assert result["result"] == result["proximity_bias"] == pytest.approx(proximity, abs=1e-6)
    assert result["word_values"] == pytest.approx(shares)
    result = GIPE().run_query(six, toy_model, theta=theta, **OF_TOY)
    assert list(result) == ["query_name", "result", "gipe", "word_values", "weights"]
    # Not 0.149123 and 0.397436, the scores of code in which gamma is 0 for nurse.
    assert result["result"] == result["gipe"] == pytest.approx(score, abs=1e-6)
    assert result["word_values"] == pytest.approx(shares)
    assert result["weights"] == pytest.approx(dict(zip(words, gamma, strict=True)))


def test_toy_percentages_of_male_neighbours(query_of, toy_model):
    query = query_of([T2, T1], [NINE], ["Male", "Female"], ["Nine"])
    result = NeighborPercentage().run_query(query, toy_model, **OF_TOY)
    assert list(result) == ["query_name", "result", "pmn", "word_values", "group_values"]
    third = 100 / 3
    expected = {
        "home": third, "kids": third, "boss": 100, "job": 100, "nurse": third,
        "pilot": 2 * third, "tree": 2 * third, "they": third, "folk": third,
    }  # fmt: skip
    assert result["word_values"] == pytest.approx(expected)
    assert result["result"] == result["pmn"] == pytest.approx(55.555556, abs=1e-6)
    assert result["group_values"] == pytest.approx({"Male": 55.555556, "Female": 44.444444})
    # Bias by neighbours of Gonen and Goldberg: their correlation with cos(w, she) - cos(w, he).
    units = {word: toy_model[word] / np.linalg.norm(toy_model[word]) for word in toy_model.vocab}
    along = [units[word] @ (units["he"] - units["she"]) for word in NINE.split()]
    shares = list(result["word_values"].values())
    assert np.corrcoef(along, shares)[0, 1] == pytest.approx(0.806600, abs=1e-6)


# A second implementation


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("before", [True, False])
def test_all_scores_agree_with_loops(seed, before):
    model = random_model(seed)
    original = random_model(seed + 100, dim=5) if before else None
    words, k, theta = [f"w{i}" for i in range(4, 20)], 7, 0.02
    space = original or model
    pairs = [[space["w0"], space["w1"]], [space["w2"], space["w3"]]]
    g = bias_subspace(pairs).directions
    names, betas, along = slow_neighborhoods(model, words, g[0], k, original)
    near = neighborhoods(model, words, g, np.vstack([g, -g]), k, original=original)
    assert near.names.tolist() == names
    assert near.indirect_bias == pytest.approx(betas, rel=1e-7, abs=1e-9)
    assert near.along[..., 0] == pytest.approx(along, abs=1e-12)
    assert near.n_missing == 0
    score, eta, gamma = slow_gipe(words, names, betas, theta)
    query = Query([["w0", "w1"], ["w2", "w3"]], [words])
    options = {"k": k, "original": original}
    result = GIPE().run_query(query, model, theta=theta, **options)
    assert result["result"] == pytest.approx(score)
    assert list(result["weights"].values()) == pytest.approx(gamma)
    result = ProximityBias().run_query(query, model, theta=theta, **options)
    assert result["result"] == pytest.approx(np.mean(eta))
    result = NeighborPercentage().run_query(query, model, **options)
    assert result["result"] == pytest.approx(100 * np.mean(along > 0))


def test_groups_beyond_two_are_those_of_the_largest_cosine(query_of, toy_model, vectors):
    groups = [T1, T2, "they folk"]
    words = ("home", "boss", "tree")
    towards = group_directions([vectors(words) for words in groups])
    basis = np.linalg.svd(towards, full_matrices=False)[2][:2]
    near = neighborhoods(toy_model, words, basis, towards, 4)
    counts = np.zeros(3)
    for word in ("home", "boss", "tree"):
        names, _, _ = slow_neighborhoods(toy_model, [word], towards[0], 4)
        for name in names[0]:
            cosines = [toy_model[name] @ each for each in towards]
            counts[cosines.index(max(cosines))] += 1
    shares = neighbor_group_shares(near.along).mean(axis=0)
    np.testing.assert_allclose(shares, counts / 12)


def test_percentages_of_more_than_two_groups_are_those_of_each_two(query_of, toy_model):
    # No number means no bias of three: their directions do not lie evenly.
    query = query_of([T1, T2, "they folk"], ["home boss tree"], ["F", "M", "N"], ["W"])
    metric = NeighborPercentage()
    assert not metric.accepts(query)
    assert [part.target_sets_names for part in metric.subqueries(query)] == [
        ["F", "M"],
        ["F", "N"],
        ["M", "N"],
    ]
    assert metric.scale().no_bias_value == 50


# Theorems


def test_percentage_is_of_the_side_of_the_first_targets_whatever_the_sign_of_a_component():
    # A principal component points anywhere; she has to stand on the side of the first targets.
    for sign in (1, -1):
        vectors = sign * np.array([[1, 0.1], [-1, 0.1], [0.9, 0.3], [0.8, 0.3], [0.7, 0.4]])
        model = WordEmbeddingModel((["she", "he", "nurse", "home", "kids"], vectors))
        query = Query([["she"], ["he"]], [["nurse"]])
        result = NeighborPercentage().run_query(query, model, k=3)
        assert result["result"] == 100


def test_a_model_without_the_direction_shows_its_bias_only_through_the_original(six, toy_model):
    g = bias_subspace([toy_model.get_vectors(T1.split()), toy_model.get_vectors(T2.split())])
    g = g.directions[0]
    flat = toy_model.vectors - np.outer(toy_model.vectors @ g, g)
    debiased = WordEmbeddingModel((list(toy_model.vocab), flat), "debiased")
    near = neighborhoods(debiased, SIX.split(), g, [g, -g], 3, exclude=OUTSIDE)
    assert near.indirect_bias == pytest.approx(np.zeros((6, 3)), abs=1e-9)
    options = {"theta": 0.01, **OF_TOY}
    assert ProximityBias().run_query(six, debiased, **options)["result"] == 0
    result = ProximityBias().run_query(six, debiased, original=toy_model, **options)
    names, betas, _ = slow_neighborhoods(debiased, SIX.split(), g, 3, toy_model, OUTSIDE)
    assert result.details["neighborhoods"].names.tolist() == names
    assert result["result"] == pytest.approx((betas > 0.01).mean())
    assert result["result"] > 0


@pytest.mark.parametrize("metric", [ProximityBias, GIPE])
def test_a_smaller_original_leaves_the_bias(metric):
    """Neighbours that it lacks are unknown, not without bias."""
    rng = np.random.default_rng(2)
    model = WordEmbeddingModel(([f"w{i}" for i in range(400)], rng.normal(0.3, 1, (400, 5))))
    words = [f"w{i}" for i in range(4, 34)]
    query = Query([["w0", "w1"], ["w2", "w3"]], [words])
    full = metric().run_query(query, model, original=model, k=40)["result"]
    kept = [f"w{i}" for i in range(34)] + [f"w{i}" for i in range(34, 400) if i % 3]
    smaller = WordEmbeddingModel((kept, model.get_vectors(kept)), "smaller")
    result = metric().run_query(query, model, original=smaller, k=40)
    assert result.details["neighborhoods"].n_missing > 80
    assert full > 0.2
    assert result["result"] == pytest.approx(full, abs=0.02)
    # All three divide by the same neighbours.
    near = result.details["neighborhoods"]
    for word, betas in zip(near.words, near.indirect_bias, strict=True):
        known = betas[~np.isnan(betas)]
        assert result["word_values"][word] == pytest.approx(np.mean(known > 0.05))


def test_a_word_that_is_nothing_but_bias_says_so_without_an_original(caplog):
    vectors = np.array([[1, 0.1], [-1, 0.1], [2, 0], [0.9, 0.3], [0.8, 0.3], [-0.7, 0.4]])
    model = WordEmbeddingModel((["she", "he", "lady", "nurse", "home", "kids"], vectors), "flat")
    query = Query([["she"], ["he"]], [["lady", "nurse"]])
    result = ProximityBias().run_query(query, model, k=2)
    assert list(result["word_values"]) == ["nurse"]
    assert result.details["left_out"] == {
        "lady": "the indirect bias of 0 of its 2 neighbours is known"
    }
    assert result.details["not_in_original"] == ()
    assert "1 of 2 words are left out: lady" in caplog.text


def without_direction(model, targets):
    """The model in float32 without its bias direction, and with a few words as they were."""
    sets = [model.get_vectors(words) for words in targets]
    g = bias_subspace(sets).directions[0].astype(np.float32)
    narrow = model.vectors.astype(np.float32)
    return g, narrow - np.outer(narrow @ g, g)


def test_the_sign_of_rounding_is_no_leaning():
    model = random_model(8, n_words=400, dim=50)
    targets = [["w0", "w1"], ["w2", "w3"]]
    query = Query(targets, [[f"w{i}" for i in range(4, 40)]])
    _, flat = without_direction(model, targets)
    flat[:4] = model.vectors[:4]
    scores = []
    for scale in (1.0, 3.1, 0.017):
        mitigated = WordEmbeddingModel((list(model.vocab), flat * np.float32(scale)), "mitigated")
        result = NeighborPercentage().run_query(query, mitigated, k=30)
        cosines = result.details["neighborhoods"].along
        assert 0 < np.median(np.abs(cosines)) < 1e-5
        scores.append(result["result"])
    # Of words of the targets alone there is more than rounding.
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-9)
    assert scores[0] == pytest.approx(50, abs=1)


def test_most_of_the_neighbours_being_rounding_is_told(caplog):
    model = random_model(8, n_words=400, dim=50)
    targets = [["w0", "w1"], ["w2", "w3"]]
    query = Query(targets, [[f"w{i}" for i in range(4, 40)]])
    _, flat = without_direction(model, targets)
    flat[:4] = model.vectors[:4]
    mitigated = WordEmbeddingModel((list(model.vocab), flat), "mitigated")
    assert NeighborPercentage().run_query(query, mitigated, k=30)["result"] > 0
    assert "neighbours only rounding errors lie along the direction" in caplog.text
    caplog.clear()
    exclude = ["w0", "w1", "w2", "w3"]
    result = NeighborPercentage().run_query(query, mitigated, k=30, exclude=exclude)
    assert math.isnan(result["result"])
    assert result.nan_reason == (
        "only rounding errors lie along the direction; pass the model before mitigation as "
        "`original`"
    )
    assert (
        not NeighborPercentage()
        .run_query(query, mitigated, k=30, exclude=exclude, original=model)
        .nan_reason
    )


# Traps


def test_no_word_is_its_own_neighbour(toy_model, g, six):
    near = neighborhoods(toy_model, list(toy_model.vocab), g, [g[0]], k=12)
    assert all(word not in names for word, names in zip(near.words, near.names, strict=True))
    for metric in METRICS:
        details = metric().run_query(six, toy_model).details["neighborhoods"]
        assert details.k == 12
        assert not (details.rows == details.word_rows[:, None]).any()


def test_word_without_incoming_edges_has_weight_one_and_counts():
    score, weights = gipe([7, 8], [[1, 2], [7, 7]], [[1.0, 1.0], [0.0, 0.0]])
    assert weights.tolist() == [1, 1]
    assert score == 0.5


def test_a_word_among_its_own_neighbours_makes_no_edge():
    _, weights = gipe([7, 8], [[7, 2], [3, 4]], [[1.0, 1.0], [0.0, 0.0]])
    assert weights.tolist() == [1, 1]


def test_weights_reach_from_one_to_two_and_repeated_words_share_theirs():
    score, weights = gipe([0, 1, 1], [[1], [0], [0]], [[0.2], [0.2], [0.04]])
    assert weights.tolist() == [1.5, 2, 2]
    assert score == pytest.approx((1.5 + 2) / 5.5)


def test_indirect_bias_at_the_threshold_is_not_above_it():
    assert proximity_bias([[0.05, 0.05000001, -9.0, 0.0]]) == pytest.approx([0.25])
    assert proximity_bias([[0.05, 0.05]], theta=0.0499).tolist() == [1]


def test_neighbours_of_which_nothing_is_known_are_left_out():
    nan = math.nan
    # One biased neighbour of two known ones is a half, not a quarter.
    betas = [[nan, 0.3, 0.0, nan], [nan, nan, nan, 0.3], [nan] * 4]
    np.testing.assert_array_equal(proximity_bias(betas), [0.5, nan, nan])
    along = np.array(betas)[..., None] * [1, -1]
    along[0, 2] = [-0.2, 0.2]
    np.testing.assert_array_equal(
        neighbor_group_shares(along), [[0.5, 0.5], [nan, nan], [nan, nan]]
    )
    rows = [[1, 2, 7, 8], [2, 7, 8, 0], [0, 1, 7, 8]]
    score, weights = gipe([0, 1, 2], rows, betas)
    # One known edge leads to 0, which is biased; one to 2, which is; none to 1.
    assert weights.tolist() == [2, 1, 2]
    assert score == 0.5
    score, _ = gipe([0], [[1]], [[nan]])
    assert math.isnan(score)


def test_shares_split_what_stands_between_groups_and_leave_out_what_is_unknown():
    along = [[[0.2, 0.2, 0.1], [0.1, 0.2, 0.3]], [[math.nan] * 3, [0.3, 0.1, 0.0]]]
    assert neighbor_group_shares(along) == pytest.approx(np.array([[0.25, 0.25, 0.5], [1, 0, 0]]))
    assert np.isnan(neighbor_group_shares([[[math.nan, math.nan]]])).all()
    rng = np.random.default_rng(0)
    assert neighbor_group_shares(rng.normal(size=(5, 9, 4))).sum(axis=1) == pytest.approx(1)


# Models


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_numbers_are_computed_in_float64_from_those_stored(dtype):
    model = random_model(3, dtype=dtype)
    wide = WordEmbeddingModel((list(model.vocab), model.vectors.astype(np.float64)))
    g = model.vectors[:1].astype(float)
    narrow, broad = (neighborhoods(each, ["w5", "w6"], g, g, k=9) for each in (model, wide))
    assert narrow.indirect_bias.dtype == np.float64
    np.testing.assert_array_equal(narrow.indirect_bias, broad.indirect_bias)
    expected = indirect_bias(wide["w5"], wide.vectors[narrow.rows[0]], g)
    assert narrow.indirect_bias[0] == pytest.approx(expected, rel=1e-7)


def test_mapped_and_quantised_models_answer_as_models_in_memory_do(tmp_path):
    from wefe import load

    model = random_model(3, dtype=np.float32)
    query = Query([["w0", "w1"], ["w2", "w3"]], [[f"w{i}" for i in range(4, 20)]])
    model.save(tmp_path / "model.safetensors")
    mapped = load(tmp_path / "model.safetensors")
    for metric in METRICS:
        assert dict(metric().run_query(query, mapped, k=9)) == dict(
            metric().run_query(query, model, k=9)
        )


def test_neighbours_of_many_words_are_those_of_each_word():
    model, original = random_model(3), random_model(4, dim=6)
    g, words = original.vectors[:1], [f"w{i}" for i in range(9)]
    whole = neighborhoods(model, words, g, g, 20, original=original)
    for i, word in enumerate(words):
        alone = neighborhoods(model, [word], g, g, 20, original=original)
        np.testing.assert_array_equal(alone.names[0], whole.names[i])
        np.testing.assert_allclose(alone.indirect_bias[0], whole.indirect_bias[i], rtol=1e-9)
        np.testing.assert_allclose(alone.along[0], whole.along[i], rtol=1e-9)


def test_small_models_give_the_neighbours_that_they_have(six, toy_model):
    result = ProximityBias().run_query(six, toy_model, exclude=OUTSIDE)
    assert result.details["neighborhoods"].k == 8
    toy_model.update("tree", np.zeros(3))
    near = NeighborPercentage().run_query(six, toy_model, exclude=OUTSIDE)
    assert near.details["neighborhoods"].k == 7
    assert "tree" not in near.details["neighborhoods"].names


def test_words_that_nobody_could_be_near_to_are_refused(query_of, toy_model):
    query = query_of([T1, T2], ["nurse"])
    with pytest.raises(UnanswerableError, match="toy has no words that could be neighbours"):
        ProximityBias().run_query(query, toy_model, exclude=list(toy_model.vocab))


def test_original_that_lacks_words_is_told(six, toy_model, caplog):
    kept = [word for word in toy_model.vocab if word not in ("pilot", "folk")]
    original = WordEmbeddingModel((kept, toy_model.get_vectors(kept)), "smaller")
    result = ProximityBias().run_query(six, toy_model, original=original, **OF_TOY)
    assert "smaller lacks 2 of 9 words and neighbours" in caplog.text
    assert "3 of 6 words are left out: boss (" in caplog.text
    assert result.details["not_in_original"] == ("pilot",)
    # Of job's neighbours boss, pilot and folk, boss alone is known.
    assert result.details["left_out"] == {
        "boss": "the indirect bias of 1 of its 3 neighbours is known",
        "job": "the indirect bias of 1 of its 3 neighbours is known",
        "pilot": "smaller lacks it",
    }
    # Of nurse's neighbours tree, home and pilot, home is biased, and tree is not.
    assert result["word_values"] == {"home": 0, "kids": 0, "nurse": 0.5}
    assert result["result"] == pytest.approx(0.5 / 3)
    assert result.details["neighborhoods"].n_missing == 2
    percentages = NeighborPercentage().run_query(six, toy_model, original=original, **OF_TOY)
    why = "the leaning of 1 of its 3 neighbours is known"
    assert percentages.details["left_out"] == {"boss": why, "job": why}
    without = WordEmbeddingModel((["nurse"], toy_model.get_vectors(["nurse"])), "nothing")
    with pytest.raises(UnanswerableError, match="nothing lacks words of 'Female'"):
        ProximityBias().run_query(six, toy_model, original=without)
    targets_only = WordEmbeddingModel((OUTSIDE, toy_model.get_vectors(OUTSIDE)), "targets")
    for metric in METRICS:
        result = metric().run_query(six, toy_model, original=targets_only, **OF_TOY)
        assert math.isnan(result["result"])
        what = "targets lacks it"
        assert result.nan_reason == (
            f"no word is left: home ({what}), kids ({what}), nurse ({what}) and 3 more"
        )


def test_a_model_most_of_which_has_no_direction_gives_the_neighbours_that_it_has():
    vectors = np.zeros((1000, 5))
    vectors[:12] = np.random.default_rng(0).normal(size=(12, 5))
    model = WordEmbeddingModel(([f"w{i}" for i in range(1000)], vectors), "empty")
    query = Query([["w0", "w1"], ["w2", "w3"]], [["w4", "w5"]])
    result = ProximityBias().run_query(query, model, k=20)
    assert result.details["neighborhoods"].k == 11


@each_metric
def test_model_of_some_words_only_is_refused(metric, six, toy_model, tmp_path):
    from wefe import load

    toy_model.save(tmp_path / "toy.txt")
    some = load(tmp_path / "toy.txt", words=[*OUTSIDE, *SIX.split()])
    result = metric().run_query(six, some)
    assert math.isnan(result["result"])
    assert "was opened for 10 words only" in result.nan_reason
    with pytest.raises(ValueError, match="was opened for 10 words only. Load the whole file"):
        metric().run_query(six, toy_model, original=some)


# In the framework


def test_group_at_the_mean_of_all_groups_has_no_direction():
    # What sets a apart in one tuple, a2 takes back in the other.
    vectors = np.array([[1.0, 0], [-1, 0], [0, 1], [0, 1], [0, -1], [0, -1], [1, 1]])
    model = WordEmbeddingModel((["a", "a2", "b", "b2", "c", "c2", "w"], vectors))
    query = Query([["a", "a2"], ["b", "b2"], ["c", "c2"]], [["w"]])
    with pytest.raises(UnanswerableError, match=r"groups\[0\] has the same mean as all groups"):
        ProximityBias().run_query(query, model)


@each_metric
def test_variants_of_a_query_score_as_queries_of_their_own(metric, six, toy_model):
    evaluation = Evaluation(metric(), six, toy_model, {"k": 4})
    assert evaluation.is_fast
    assert evaluation.of_all_words() == pytest.approx(evaluation.value)
    some = Weights([[1, 1, 0, 1, 0, 1], [1, 0, 0, 0, 1, 1]])
    scores = evaluation.scores([Ones(2), Ones(2), some])
    for score, words in zip(scores, ("home kids boss pilot", "home job pilot"), strict=True):
        query = Query(six.target_sets, [words.split()])
        assert score == pytest.approx(metric().run_query(query, toy_model, k=4)["result"])


def test_what_does_not_fit_is_refused(toy_model, g):
    with pytest.raises(KeyError, match="xyzzy"):
        neighborhoods(toy_model, ["xyzzy"], g, g)
    with pytest.raises(ValueError, match="directions and towards must have 3 dimensions"):
        neighborhoods(toy_model, ["nurse"], [1.0, 0.0], g)
    with pytest.raises(ValueError, match="along must have shape"):
        neighbor_group_shares([[0.1, 0.2]])
    with pytest.raises(ValueError, match="indirect must have shape"):
        proximity_bias([0.1, 0.2])
    with pytest.raises(ValueError, match=r"rows_of_words must have shape \(n_words,\)"):
        gipe([0, 1], [[1, 2]], [[0.1, 0.2]])


def test_frame_has_one_line_per_neighbour(toy_model, g):
    near = neighborhoods(toy_model, ["nurse", "boss"], g, [g[0], -g[0]], 2, exclude=OUTSIDE)
    frame = near.to_frame(["F", "M"])
    assert list(frame) == [
        "word", "rank", "neighbor", "cosine", "indirect_bias", "towards F", "towards M",
    ]  # fmt: skip
    assert frame["neighbor"].tolist() == ["tree", "home", "job", "folk"]
    assert frame.loc[1, "indirect_bias"] == pytest.approx(0.226520, abs=1e-6)
    assert list(near.to_frame())[-1] == "towards group 1"
