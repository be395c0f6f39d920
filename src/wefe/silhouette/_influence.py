"""Influence of single words on a score, and its bootstrap interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from wefe._bootstrap import (
    BootstrapInterval,
    IntervalMethod,
    Resampling,
    bootstrap,
    why_not_comparable,
    without_each,
)
from wefe._evaluation import Evaluation
from wefe.metrics._registry import MetricLike, as_metric
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

__all__ = ["BootstrapInterval", "bootstrap_interval", "word_influence"]


def word_influence(
    metric: MetricLike,
    query: Query,
    model: WordEmbeddingModel,
    metric_params: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Measure how much each word contributes to a score, by leaving out one word at a time.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``WEAT`` or ``"weat"``.
    query : Query
        A query that fits the template of the metric.
    model : WordEmbeddingModel
        The model to measure.
    metric_params : mapping, optional
        As for :func:`bias_silhouettes`.

    Returns
    -------
    DataFrame of shape (n_words, 5)
        One row per word and set, the most influential first: 'set', 'word' (for paired sets the
        pair, such as 'she/he', which is left out together), 'score' (without the word), 'influence'
        (score of all words minus 'score'; positive if the word raises the score) and 'nan_reason'
        (why both are NaN).

    Raises
    ------
    ValueError
        If the query cannot be answered, or the score is undefined or random.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> influence = word_influence("weat", load_weat_queries()[5], load_test_model())
    >>> influence[["word", "influence"]].head(2).round(3).values.tolist()
    [['Greg', -0.227], ['wedding', 0.206]]
    """
    evaluation = Evaluation.of_subsets(as_metric(metric), query, model, metric_params or {})
    if reason := why_not_comparable(evaluation):
        raise ValueError(f"the influence of words of {query.query_name!r} is undefined: {reason}.")
    label, score_of_all = evaluation.scale.label, evaluation.of_all_words()
    tables = []
    for stratum, n_words in evaluation.strata.items():
        parts = [evaluation.sets[position] for position in stratum]
        why = "its set has no other word" if n_words == 1 else f"{label} is undefined without it"
        scores = without_each(evaluation, stratum)
        columns = {
            "set": "/".join(part.name for part in parts),
            "word": list(map("/".join, zip(*(part.words for part in parts), strict=True))),
            "score": scores,
            "influence": score_of_all - scores,
            "nan_reason": [why if np.isnan(score) else None for score in scores],
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables).sort_values(
        "influence", key=abs, ascending=False, kind="stable", ignore_index=True
    )


def bootstrap_interval(
    metric: MetricLike,
    query: Query,
    model: WordEmbeddingModel,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    method: IntervalMethod = "expanded",
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    *,
    metric_params: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> BootstrapInterval:
    """Estimate how far a score would move with other words of the same kind.

    The words of each set are drawn again with replacement, as many as there are; pairs, as in RIPA,
    stay together. Each such resample is scored.

    Parameters
    ----------
    metric, query, model : metric, Query, WordEmbeddingModel
        As for :func:`word_influence`. For intervals of the scores of ``measure``, use its
        `n_bootstrap`.
    n_bootstrap : int, default=1000
        Number of resamples; at least 40 for a confidence of 0.95, so that one lies beyond each
        bound.
    confidence : float, default=0.95
        Confidence level of the interval, between 0 and 1.
    method : {'expanded', 'percentile', 'bca'}, default='expanded'
        Which quantiles of the resampled scores are the bounds. 'percentile': those of the
        confidence level. 'expanded': wider ones, because few words vary less than the population
        they represent, corrected for bias. 'bca': corrected for bias and skewness.
    random_state : int, Generator or None, default=0
        Seed. Metrics and models with the same words get the same resamples.
    n_jobs, metric_params, progress : optional
        As for :func:`bias_silhouettes`.

    Returns
    -------
    BootstrapInterval
        Score, bounds, standard error and samples. There is no interval, but a reason, for random
        metrics, sets of one word, and if more than 5 % of the resamples have no score. The interval
        covers the choice of words, not the training of the embedding. For lists of fewer than about
        ten words it is too narrow, like any bootstrap interval. ValueError if the query cannot be
        answered.

    Examples
    --------
    >>> import wefe
    >>> query, model = wefe.datasets.load_weat_queries()[5], wefe.load_test_model()
    >>> bootstrap_interval("weat", query, model).standard_error
    0.477
    """
    wanted = Resampling(n_bootstrap, confidence, random_state, method)
    evaluation = Evaluation.of_subsets(as_metric(metric), query, model, metric_params or {})
    return bootstrap(evaluation, wanted, n_jobs, progress)
