"""Scores with weights are those of queries in which words are repeated and left out."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe._evaluation import Evaluation
from wefe._wordset import Nested, Ones, Weights, WordSet
from wefe.embeddings import UnanswerableError
from wefe.metrics import ECT, RIPA, RNSB, SAME, WEAT, get_metric, list_metrics

# Metric, numbers of target and attribute sets, parameters.
VARIANTS = [
    ("WEAT", (2, 2), {}),
    ("WEAT", (2, 2), {"return_effect_size": True, "ddof": 0}),
    ("WEAT", (2, 2), {"return_effect_size": True, "ddof": 1}),
    ("SCWEAT", (1, 2), {"reduce": "mean", "ddof": 1}),
    ("SCWEAT", (1, 2), {"reduce": "mean_abs"}),
    ("ECT", (2, 1), {}),
    ("MAC", (2, 3), {"average": "sets"}),
    ("MAC", (3, 1), {"average": "words"}),
    ("MAC", (2, 3), {"average": "words"}),
    ("RND", (2, 1), {"distance": "norm", "reduce": "sum"}),
    ("RND", (2, 1), {"distance": "cos", "reduce": "mean"}),
    ("RND", (2, 1), {"distance": "cos_distance", "reduce": "sum"}),
    ("SAME", (2, 1), {"combine": "sum"}),
    ("SAME", (3, 1), {"combine": "projection"}),
    ("GeneralizedWEAT", (2, 2), {}),
    ("GeneralizedWEAT", (3, 3), {}),
    ("RIPA", (2, 1), {"relation": "pairs"}),
    ("RIPA", (2, 1), {"relation": "pca"}),
    ("DirectBias", (2, 1), {}),
    ("DirectBias", (2, 1), {"c": 0.5, "direction": "means"}),
    ("DirectBias", (3, 1), {"c": 2.0, "n_components": 2}),
    ("RNSB", (3, 2), {"holdout": False}),
    ("EQT", (2, 1), {"both_directions": True}),
    ("EQT", (2, 1), {"k": 2, "variants": {"x4": ["o1"]}}),
    ("ProximityBias", (2, 1), {"k": 5}),
    ("ProximityBias", (2, 1), {"k": 5, "direction": "means"}),
    ("GIPE", (3, 1), {"k": 5}),
    ("NeighborPercentage", (2, 1), {"k": 5}),
]
SIZES = {"a": 7, "b": 7, "c": 7, "x": 8, "y": 9, "z": 10}
# Both stop short of the optimum.
TOLERANCE = {"RNSB": 1e-6}


def rng(seed=0):
    return np.random.default_rng(seed)


def model_of():
    words = [f"{letter}{i}" for letter, size in SIZES.items() for i in range(size)]
    words += [f"o{i}" for i in range(20)]
    return WordEmbeddingModel((words, rng().normal(0.2, 1, (len(words), 12))), "drawn")


def evaluation_of(metric, shape, params):
    words = [[f"{letter}{i}" for i in range(size)] for letter, size in SIZES.items()]
    query = Query(words[: shape[0]], words[3 : 3 + shape[1]])
    return Evaluation(get_metric(metric)(), query, model_of(), params)


def drawn(n_words, seed):
    return Weights(rng(seed).multinomial(n_words, np.full(n_words, 1 / n_words), size=4))


def left_out(n_words, seed):
    return Weights(1 - np.eye(n_words)[rng(seed).permutation(n_words)[:4]])


def grown(n_words, seed):
    orders = [rng([seed, run]).permutation(n_words) for run in range(2)]
    return Nested(orders, [1, 4, n_words])


BOTH = ("targets", "attributes")
KINDS = {
    "drawn": (drawn, BOTH),
    "left out": (left_out, BOTH),
    "grown": (grown, BOTH),
    "targets drawn": (drawn, ["targets"]),
    "attributes left out": (left_out, ["attributes"]),
}


def weights_of(evaluation, kind):
    """Weights of the kind for targets, attributes or both; pairs come and go together."""
    (make, some), weights = KINDS[kind], {}
    for i, part in enumerate(evaluation.sets):
        is_target = i < len(evaluation.targets)
        seed = 0 if evaluation.paired and is_target else i
        if ("targets" if is_target else "attributes") in some:
            weights[i] = make(len(part), seed)
    return weights


def literally(evaluation, weights, params):
    """Score each case as a query of its own; what comes again gets a name of its own."""
    model, metric, n_targets = model_of(), type(evaluation.metric), len(evaluation.targets)
    copies = {f"{word}/{i}": word for word in model for i in range(1, 10)}
    vectors = np.concatenate([model.vectors, model.get_vectors([*copies.values()])])
    if not metric.needs_vocabulary:
        model = WordEmbeddingModel(([*model, *copies], vectors), "with copies")
    scores = []
    weights = [weights.get(i, Ones(len(part))) for i, part in enumerate(evaluation.sets)]
    for case in range(max(each.n_cases for each in weights)):
        sets = []
        for part, each in zip(evaluation.sets, weights, strict=True):
            counts = each.matrix()[min(case, each.n_cases - 1)].astype(int).tolist()
            numbered = [
                (i, word)
                for word, count in zip(part.words, counts, strict=True)
                for i in range(count)
            ]
            sets.append([f"{word}/{i}" if i else word for i, word in numbered])
        try:
            query = Query(sets[:n_targets], sets[n_targets:])
            scores.append(metric().run_query(query, model, **params)["result"])
        except UnanswerableError:
            scores.append(math.nan)
    return scores


@pytest.mark.parametrize(
    ("metric", "shape", "params", "kind"),
    [
        pytest.param(*variant, kind, id=f"{variant[0]}-{kind}")
        for variant in VARIANTS
        for kind in KINDS
        # Copies of words would be neighbours, and answers.
        if not ("drawn" in kind and get_metric(variant[0]).needs_vocabulary)
    ],
)
def test_weights_score_what_queries_of_their_own_do(metric, shape, params, kind):
    evaluation = evaluation_of(metric, shape, params)
    weights = weights_of(evaluation, kind)
    expected = literally(evaluation, weights, params)
    assert np.isfinite(expected).any()
    tolerance = TOLERANCE.get(metric, 1e-9)
    scores = evaluation.scores(weights)
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)
    assert evaluation.of_all_words() == pytest.approx(evaluation.value, rel=tolerance)


def test_every_metric_is_there():
    known = {each.__name__ for each in list_metrics() if each.__module__.startswith("wefe.")}
    assert {metric for metric, _, _ in VARIANTS} == known


def set_of(name, vectors, weights=None):
    part = WordSet(name, tuple(f"{name}{i}" for i in range(len(vectors))), vectors)
    return part if weights is None else part._weighted(weights)


A, B = (set_of(name, rng(seed).normal(size=(7, 12))) for seed, name in enumerate("ab"))
X, Y = (set_of(name, rng(seed).normal(size=(8, 12))) for seed, name in enumerate("xy", 2))


def test_cases_without_a_score_are_nan():
    # Words of one association have no deviation.
    same = A._take([0, 0, 0])
    assert np.isnan(WEAT(return_effect_size=True)._scores([same, same], [X, Y])).all()
    # One word cannot be ranked.
    growing = X._weighted(Nested([np.arange(8)], [1, 2, 3]))
    assert np.isnan(ECT()._scores([A, B], [growing])).tolist() == [True, False, False]
    # Groups of the same mean have no direction, nor have pairs of the same words.
    assert np.isnan(SAME()._scores([A, A], [X])).all()
    assert np.isnan(RIPA()._scores([A, A], [X])).all()


def test_rnsb_of_probabilities_that_are_all_zero_is_nan():
    far = set_of("far", 1e6 * X.vectors[:3])
    assert np.isnan(RNSB(holdout=False)._scores([far, far], [X, Y])).all()


def test_words_of_nearly_one_direction_do_not_lose_their_deviation_to_rounding():
    base = rng(9).normal(size=12)
    near = base + 1e-7 * rng(3).normal(size=(6, 12))
    weights = [drawn(6, 1), drawn(6, 2)]
    sets = [set_of("n", near, weights[0]), set_of("m", near[::-1] + 1e-7, weights[1])]
    expected = [
        WEAT().run_vectors(
            [part._take(part.weights.rows(case)).vectors for part in sets], [X.vectors, Y.vectors]
        )["effect_size"]
        for case in range(4)
    ]
    scores = WEAT(return_effect_size=True)._scores(sets, [X, Y])
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
