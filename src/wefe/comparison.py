"""Compare two models over queries, which may share words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from wefe._answers import no_subquery
from wefe._bootstrap import MOST_UNDEFINED, Resampling, why_none
from wefe._evaluation import Evaluation
from wefe._same_words import on_same_words
from wefe._wordset import FractionalWeightsError, Vectors, Weights
from wefe.embeddings import UnanswerableError
from wefe.metrics._registry import MetricLike, as_metric
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query, check_queries
from wefe.running import generate_subqueries_from_queries_list

__all__ = ["compare_models"]


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """The result of :func:`compare_models`, which describes the attributes."""

    one: str
    other: str
    difference: float
    lower: float
    upper: float
    p_value: float
    n_queries: int
    n_words: int
    distances: pd.DataFrame = field(repr=False)
    left_out: dict[str, str] = field(repr=False)


def compare_models(
    metric: MetricLike,
    queries: Sequence[Query],
    one: WordEmbeddingModel,
    other: WordEmbeddingModel,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
    *,
    metric_params: Mapping[str, Any] | None = None,
) -> ModelComparison:
    """Test whether two models differ in their mean distance from no bias.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``"weat-es"``.
    queries : sequence of Query
        Queries, which may share words. Those that do not fit the metric are replaced by their
        subqueries; queries with the same words count once.
    one, other : WordEmbeddingModel
        The models, compared on the words that both have.
    n_bootstrap, confidence : int, default=1000, and float, default=0.95
        Number of resamples, at least 2 / (1 - confidence), and level of the interval.
    random_state : int, Generator or None, default=0
        Seed of the weights. With the same seed a word gets the same weights for any metric, models
        and other queries.
    metric_params : mapping, optional
        Arguments for `run_query` of the metric.

    Returns
    -------
    ModelComparison
        `one` and `other` (names of the models); `difference`, the mean distance of `other` from the
        no-bias value minus that of `one` (above 0, `one` shows less bias); `lower` and `upper`,
        bounds of its interval; the two-sided `p_value` for a difference of 0; `n_queries` and
        `n_words`, compared queries and their distinct words; `distances`, a table with the distance
        of each query from its no-bias value ('query_name', 'one', 'other'); and `left_out`, the
        reason for each query that was not compared.

    Raises
    ------
    ValueError
        If no query can be compared.

    Notes
    -----
    The Bayesian bootstrap gives every distinct word a random weight that holds in all queries and
    both models. Weights follow the standard exponential distribution, one per word (one per pair
    in metrics of pairs), and are scaled to sum to the length of each set. A metric that needs whole
    numbers of words gets multinomial counts instead.

    With the observed difference D and the differences b of B resamples, the p-value is
    (1 + number of abs(b - mean(b)) >= abs(D)) / (1 + B), and the interval is D plus and minus the
    `confidence` quantile of abs(b - mean(b)). The test is conservative. It does not cover the
    randomness of training.

    References
    ----------
    Rubin, "The Bayesian Bootstrap", The Annals of Statistics 9, 1981.

    Examples
    --------
    Compare the test model with a copy that keeps half of the dimensions:

    >>> from wefe import WordEmbeddingModel, load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> full = load_test_model()
    >>> half = WordEmbeddingModel((list(full.vocab), full.vectors[:, :128].copy()), "half")
    >>> found = compare_models("weat-es", load_weat_queries(), full, half)
    >>> print(f"{found.difference:.2f} [{found.lower:.2f}, {found.upper:.2f}], {found.p_value:.3f}")
    0.18 [0.05, 0.32], 0.010
    """
    instance, params = as_metric(metric), dict(metric_params or {})
    asked = check_queries(queries)
    given = check_models([one, other])
    wanted = Resampling(n_bootstrap, confidence, random_state)
    models = on_same_words(given, asked, params)
    left_out = {q.query_name: no_subquery(instance) for q in asked if not instance.subqueries(q)}
    rows, every_pair, words = [], [], set[str]()
    for query in generate_subqueries_from_queries_list(instance, asked):
        try:
            pair = [Evaluation(instance, query, m, params) for m in models]
            resampled = [resampled_distances(each, wanted) for each in pair]
            _differences(*resampled)
        except UnanswerableError as error:
            left_out[query.query_name] = str(error)
            continue
        rows.append((query.query_name, *(e.scale.bias(e.value) for e in pair)))
        every_pair.append(resampled)
        words.update(itertools.chain(*(part.words for part in pair[0].sets)))
    if not rows:
        name, why = next(iter(left_out.items()))
        raise ValueError(f"no query can be compared; the first one, {name!r}: {why.rstrip('.')}.")
    distances = pd.DataFrame(rows, columns=["query_name", "one", "other"])
    values = distances[["one", "other"]].to_numpy()
    found = paired_test(values, every_pair, confidence=wanted.confidence)
    return ModelComparison(
        *(one.name, other.name, *found), len(rows), len(words), distances, left_out
    )


def paired_test(
    distances: np.ndarray,
    resampled: Sequence[Sequence[Vectors]],
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> tuple[float, float, float, float]:
    """Return the mean difference of two models, the bounds of its interval, and its p-value.

    `distances` has shape (n_queries, 2). `resampled` holds, for each query, a pair of arrays of
    shape (n_bootstrap,) that use the same resamples. `weights` are those of the queries.
    """
    difference = float(np.average(distances[:, 1] - distances[:, 0], weights=weights))
    samples = np.average([_differences(*pair) for pair in resampled], axis=0, weights=weights)
    # Subtracting the mean of the resamples removes the bias that resampling adds.
    noise = np.abs(samples - samples.mean())
    margin = float(np.quantile(noise, confidence))
    n_beyond = np.count_nonzero(noise >= abs(difference) - 1e-12)  # allow for rounding
    p_value = float((1 + n_beyond) / (1 + len(samples)))
    return difference, difference - margin, difference + margin, p_value


def _differences(one: Vectors, other: Vectors) -> Vectors:
    """Return the difference in distance from no bias in each resample."""
    differences = other - one
    defined = np.isfinite(differences)
    if (n_undefined := np.count_nonzero(~defined)) > MOST_UNDEFINED * len(defined):
        raise UnanswerableError(f"{n_undefined} of {len(defined)} resamples have no score")
    # A few undefined resamples must not make the mean over queries undefined.
    return np.where(defined, differences, differences[defined].mean())


def resampled_distances(evaluation: Evaluation, wanted: Resampling) -> Vectors:
    """Return the distances of resamples from no bias; the same words get the same resamples."""
    if reason := why_none(evaluation):
        raise UnanswerableError(reason)
    try:
        scores = evaluation.scores(_weights(evaluation, wanted))
    except FractionalWeightsError:
        scores = evaluation.scores(_weights(evaluation, wanted, whole=True))
    return np.asarray(evaluation.scale.bias(scores))


def _weights(evaluation: Evaluation, wanted: Resampling, whole: bool = False) -> dict[int, Weights]:
    """Return weights of all sets that depend only on the words and the seed."""

    def drawn_for(words: Sequence[str]) -> np.random.Generator:
        return np.random.default_rng([wanted.seed, *"\n".join(words).encode()])

    weights: dict[int, Weights] = {}
    for stratum, size in evaluation.strata.items():
        rows = zip(*(evaluation.sets[i].words for i in stratum), strict=True)
        # Both orders of a pair get the same weights.
        members = [sorted(w.removeprefix(evaluation.prefix) for w in row) for row in rows]
        if whole:
            matrix = np.empty((wanted.n_bootstrap, size))
            order = sorted(range(size), key=members.__getitem__)
            generator = drawn_for([word for row in order for word in members[row]])
            matrix[:, order] = generator.multinomial(size, [1 / size] * size, wanted.n_bootstrap)
        else:
            columns = [drawn_for(each).standard_exponential(wanted.n_bootstrap) for each in members]
            matrix = np.stack(columns, axis=1)
            matrix *= size / matrix.sum(axis=1, keepdims=True)
        weights |= dict.fromkeys(stratum, Weights(matrix))
    return weights
