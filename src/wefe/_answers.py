"""Run many queries on many models, in this process or in joblib workers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wefe._checks import as_seed, progress_bar
from wefe._evaluation import Evaluation, call_all, in_memory, travelling
from wefe.embeddings import UnanswerableError, embed_models
from wefe.metrics._base import BaseMetric, result_of
from wefe.metrics._exchange import ALTERNATIVES
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult, WordUse, uses_of
from wefe.words import check_preprocessors

# Number of models whose vectors of a query are in memory at the same time.
_MODELS_AT_ONCE = 32
#: Finds out facts of an answer, such as its interval: `Resampling`, for example.
Wanted: TypeAlias = Callable[[Evaluation], dict[str, Any]]

#: The metrics of a query, by their place among all metrics and queries.
_Metrics: TypeAlias = Mapping[int, BaseMetric]
#: What is known of a score, by the columns of the tidy table.
Answer: TypeAlias = dict[str, Any]
_SIDES = {alternative: side for side, alternative in ALTERNATIVES.items()}


def answer_of(
    metric: BaseMetric,
    query: Query,
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
    wanted: Wanted | None,
) -> Answer:
    """Score one query in one model; add the facts that `wanted` finds out with other words."""
    if not metric.accepts(query):
        return {"score": math.nan, "nan_reason": no_subquery(metric)}
    try:
        answer = _answer(result_of(metric, query, model, **options))
    except UnanswerableError as error:
        return {"score": math.nan, "nan_reason": str(error)}
    if wanted is None or math.isnan(answer["score"]):
        return answer
    try:
        evaluation = Evaluation(metric, query, model, options, answer["score"])
    except UnanswerableError as error:
        return answer | {"interval_nan_reason": str(error)}
    return answer | wanted(evaluation)


def _answer(result: Mapping[str, Any]) -> Answer:
    """Return the answer of a result; a user's own run_query may return a plain dictionary."""
    score = float(result["result"])
    answer: Answer = {"score": score, "p_value": result.get("p_value")}
    if math.isnan(score):
        answer["nan_reason"] = getattr(result, "nan_reason", None) or "the metric returned NaN"
    return answer | _facts_of(result) if isinstance(result, MetricResult) else answer


def _facts_of(result: MetricResult) -> Answer:
    facts = _counted(result.targets + result.attributes) | {
        "warnings": list(result.warnings) or None,
        # RNSB: target word -> its share, for the figures of a study.
        "negative_sentiment": result.get("negative_sentiment_distribution"),
    }
    if test := result.details.get("permutation_test"):
        names = ("null_lower", "null_median", "null_upper", "p_value_lower", "p_value_upper")
        facts |= zip(names, (*test.null_quantiles, *test.p_value_bounds), strict=True)
        facts |= {"null_mean": test.null_mean, "p_value_method": test.method}
        facts["p_value_test"] = _SIDES[test.alternative]
    if effect_sizes := result.get("effect_sizes"):
        # SC-WEAT: target word -> effect size, p-value and method of the test.
        tests = result.details.get("permutation_tests", {}).items()
        tested = {word: (test.p_value, test.method) for word, test in tests}
        facts["words"] = {
            word: [effect_size, *tested.get(word, (None, None))]
            for word, effect_size in effect_sizes.items()
        }
    return facts


def _counted(uses: Sequence[WordUse]) -> Answer:
    lost = [word for use in uses for word in use.lost]
    n_used = sum(len(use.used) for use in uses)
    return {"words_used": n_used, "words_lost": len(lost), "lost_words": lost or None}


def _answer_all(
    groups: Sequence[tuple[Query, _Metrics]],
    models: Sequence[WordEmbeddingModel],
    options: Mapping[str, Any],
    wanted: Wanted | None,
) -> dict[int, list[Answer]]:
    """Return the answers of models to queries, by the place of each metric and query."""
    answers = {}
    for query, metrics in groups:
        known = {} if wanted else dict(_at_once(query, metrics, models, options))
        for place, metric in metrics.items():
            answers[place] = [
                known.get((place, i)) or answer_of(metric, query, model, options, wanted)
                for i, model in enumerate(models)
            ]
    return answers


def _at_once(
    query: Query,
    metrics: _Metrics,
    models: Sequence[WordEmbeddingModel],
    options: Mapping[str, Any],
) -> Iterator[tuple[tuple[int, int], Answer]]:
    """Score models that find the same words in one computation, one case of the weights per model.

    Only plain numbers: p-values, NaN scores and everything else is left to :func:`answer_of`.
    """
    plain = {}
    for place, metric in metrics.items():
        # Not inherited, because a subclass may have another formula.
        if vars(type(metric)).get("scores_many_models") and metric.accepts(query):
            own, lookup = metric._with_params(**options)
            if not own.calculate_p_value:
                plain[place] = own
    for members, embedded in embed_models(models, query, **lookup) if plain else ():
        words = _counted(uses_of(embedded.sets))
        for place, own in plain.items():
            scores = own._scores(embedded.targets, embedded.attributes).tolist()
            for member, score in zip(members, scores, strict=True):
                if score == score:
                    yield (place, member), {"score": score, **words}


def run_all(
    asked: Sequence[tuple[BaseMetric, Query]],
    models: Sequence[WordEmbeddingModel],
    options: Mapping[str, Any],
    n_jobs: int | None,
    progress: bool,
    wanted: Wanted | None = None,
) -> list[list[Answer]]:
    """Return the answers of all models to each metric and query; see :func:`answer_of`."""
    import joblib

    if isinstance(options.get("random_state"), np.random.Generator):
        # All scores get the same seed, so `n_jobs` has no effect.
        options = {**options, "random_state": as_seed(options["random_state"])}
    metrics = list(dict.fromkeys(metric for metric, _ in asked))
    encodes = any(metric.encodes_texts for metric in metrics)
    n_jobs = 1 if encodes else n_jobs  # the weights of an encoder are not sent to workers
    n_workers = joblib.effective_n_jobs(n_jobs)
    # Each query is looked up once for all metrics.
    by_query: dict[Query, dict[int, BaseMetric]] = defaultdict(dict)
    for place, (metric, query) in enumerate(asked):
        by_query[query][place] = metric
    groups = list(by_query.items())
    if not encodes:
        # A worker can only use forms prepared here; this process can add forms later.
        forms = check_preprocessors(options.get("preprocessors"))
        all_forms = n_workers > 1 or options.get("strategy") == "all"
        for model in models:
            model.prepare(by_query, forms if all_forms else forms[:1])
    if n_workers > 1:
        models, options = [in_memory(model) for model in models], travelling(options)
    # Large calls for workers, else short ones, to show progress.
    n_models = min(_MODELS_AT_ONCE, -(-len(models) // n_workers))
    n_queries = 1 if n_workers == 1 else -(-len(groups) // -(-n_workers // len(models)))
    parts = itertools.product(chunks(len(models), n_models), chunks(len(groups), n_queries))
    calls = ((groups[some], models[part], options, wanted) for part, some in parts)
    answers: list[list[Answer]] = [[] for _ in asked]
    label = ", ".join(metric.metric_short_name for metric in metrics)
    with progress_bar(len(models) * len(asked), label, "query", progress) as bar:
        for answered in call_all(_answer_all, calls, n_jobs):
            for place, own in answered.items():
                answers[place] += own
                bar.update(len(own))
    return answers


def no_subquery(metric: BaseMetric) -> str:
    """Explain why a query has no answer even after subqueries were generated."""
    return f"it has no subquery of {metric._wanted_shape()}, as {metric.metric_short_name} needs"
