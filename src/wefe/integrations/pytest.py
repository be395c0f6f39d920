"""Test that the bias measured in a model is within limits."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import pandas as pd

from wefe._checks import check_between, check_number
from wefe._output import as_text
from wefe._visible import one_line
from wefe.contextual import load_encoder
from wefe.contextual._load import is_encoder_object
from wefe.datasets._queries import OpenedQueries, open_query_set
from wefe.metrics._registry import MetricLike, as_metric
from wefe.models import WordEmbeddingModel, load
from wefe.query import Query, check_queries
from wefe.running import measure

__all__ = ["assert_bias"]


def assert_bias(
    model: Any,
    queries: str | os.PathLike[str] | Query | Sequence[Query],
    *,
    metric: MetricLike = "weat-es",
    max: float | None = None,  # noqa: A002 - as in `wefe check --max`
    p_value: float | None = None,
    offline: bool = False,
    **params: Any,
) -> pd.DataFrame:
    """Raise AssertionError, with a table of the scores, if the bias of a model exceeds your limits.

    A score that cannot be measured fails, with the reason. A test that passes does not show that a
    model has no bias, only that these queries measured less.

    Parameters
    ----------
    model : path, str, WordEmbeddingModel, SentenceTransformer or other object
        A model or encoder, or anything that :func:`wefe.load` opens: a file, a name, or 'demo'
        (the packaged vectors). Open an encoder's folder with :func:`wefe.contextual.load_encoder`.
    queries : str, path, Query or sequence of Query
        A published query set by name, a JSON file of queries, or queries.
    metric : metric class, instance or name, default='weat-es'
        The metric.
    max, p_value : float, optional
        Largest distance from the no-bias value that passes, as in ``wefe check --max``; smallest
        p-value that passes, adjusted for the number of queries (Holm).
    offline : bool, default=False
        Use only the queries of a published set that need no download. Otherwise a query whose words
        cannot be downloaded fails.
    **params
        Arguments for `run_query` of the metric. As in `wefe measure`, words are also looked up in
        lower case, and p-values are two-sided and, where possible, exact.

    Returns
    -------
    DataFrame
        The table of :func:`wefe.measure` with 'bias', the distance from no bias.

    Examples
    --------
    >>> from wefe.integrations.pytest import assert_bias
    >>> scores = assert_bias("demo", "gender", max=1.9, offline=True)
    >>> len(scores), float(scores["bias"].max())
    (6, 1.81)
    """
    # The traceback of pytest ends at the test.
    __tracebackhide__ = True
    if max is None and p_value is None:
        raise ValueError("expected a limit, such as max=0.5; got neither max nor p_value.")
    most = math.inf if max is None else check_number("max", max, 0)
    least_p = 0.0 if p_value is None else check_between("p_value", p_value, 0.05)
    asked = _queries(queries, offline)
    opened = _open(model, asked.queries)
    instance = as_metric(metric)
    lookup = {"preprocessors": [{}, {"lowercase": True}]}
    test = {"p_value_test_type": "two-sided", "random_state": 0}
    params = lookup | instance._report_params(params, **test) | params
    if least_p and not params.get("calculate_p_value"):
        name = instance.metric_short_name
        raise ValueError(f"{name} computes no p-value by default; pass calculate_p_value=True.")
    options: dict[str, Any] = {"generate_subqueries": True, "progress": False}
    scores = measure(instance, asked.queries, [opened], asked.name, metric_params=params, **options)
    reasons = scores["nan_reason"].where(scores["score"].isna()).astype(object)
    is_far = scores["bias"] > most
    reasons[is_far] = [f"{bias:.6g} is more than {most:.6g}" for bias in scores["bias"][is_far]]
    if least_p:
        is_improbable = reasons.isna() & ~(scores["p_value_holm"] >= least_p)
        reasons[is_improbable] = f"expected an adjusted p-value of at least {least_p:g}"
    failed = scores.assign(max=most, reason=reasons)[reasons.notna()]
    left_out = [] if offline else asked.left_out
    why = [f"{row['query_name']}: {row['reason']}" for row in failed.to_dict("records")]
    why += [f"{name}: its words need a download ({asked.why})" for name in left_out]
    if why:
        n = len(scores) + len(left_out)
        head = f"{opened.name}: {len(why)} of {n} scores are not within the limits"
        items = [f"- {one_line(each)}" for each in why]
        raise AssertionError("\n".join([head, *_table(failed), *items]))
    return scores


def _open(model: Any, queries: Sequence[Query]) -> WordEmbeddingModel:
    if isinstance(model, WordEmbeddingModel):
        return model
    if is_encoder_object(model):
        return load_encoder(model, progress=False)
    return load(model, words=queries, progress=False)


def _queries(
    queries: str | os.PathLike[str] | Query | Sequence[Query], offline: bool
) -> OpenedQueries:
    if isinstance(queries, str | os.PathLike):
        return open_query_set(os.fspath(queries), offline, "queries")
    given = [queries] if isinstance(queries, Query) else queries
    return OpenedQueries("queries", check_queries(given))


def _table(failed: pd.DataFrame) -> list[str]:
    if failed.empty:
        return []
    shown = failed[["query_name", "score", "bias", "max", "p_value_holm", "words_lost"]]
    shown = shown.replace(math.inf, math.nan).dropna(axis="columns", how="all")
    shown = shown.rename(columns={"query_name": "query", "bias": "distance"})
    return ["", as_text(shown), "", "distance: from the score that means no bias"]
