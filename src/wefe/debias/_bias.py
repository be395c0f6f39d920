"""Bias of several models by one metric, on the same words, with standard errors."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wefe._answers import Answer, no_subquery, run_all
from wefe.debias._common_words import Row, undefined_rows
from wefe.debias._uncertainty import Errors, paired_errors, reduced_queries
from wefe.embeddings import Lookup, embed_query
from wefe.metrics._base import BaseMetric
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.running import unique_labels

logger = logging.getLogger(__name__)


def bias_rows(
    metric: BaseMetric,
    queries: Sequence[Query],
    models: list[WordEmbeddingModel],
    options: Mapping[str, Any],
    n_jobs: int | None,
    progress: bool,
    label: str | None = None,
) -> list[Row]:
    """Measure every query with one metric, in full and with words left out.

    Parameters
    ----------
    metric : BaseMetric
        The metric; a query that it does not take is replaced by its subqueries.
    queries : sequence of Query
        What is asked.
    models : list of WordEmbeddingModel
        The original model and the mitigated ones, as `on_same_words` returns them.
    options : mapping
        What `run_query` is called with.
    n_jobs, progress
        See :func:`wefe.debias.compare`.
    label : str, optional
        Name of the measure; that of the metric by default.
    """
    names = [model.name for model in models[1:]]
    if metric.takes_original:
        # What is left of the former bias, not what is called one afterwards.
        options = {"original": models[0], **options}
    scale = metric.scale(None, **scale_params(options))
    label, best = label or scale.label, scale.no_bias_value
    parts: dict[object, Query] = {}
    rows = []
    for query in queries:
        fitting = metric.subqueries(query)
        for part in fitting:
            parts.setdefault(part.content, part)
        if not fitting:
            logger.warning("%r: %s", query.query_name, no_subquery(metric))
            rows += undefined_rows(
                "bias", label, query.query_name, names, no_subquery(metric), best=best
            )
    asked = list(parts.values())
    if not asked:
        return rows
    answers = run_all([(metric, asked)], models, options, n_jobs, progress)[0]
    errors = _jackknife(metric, asked, models, answers, options, n_jobs, progress)
    subjects = unique_labels([query.query_name for query in asked], "queries")
    for position, subject in enumerate(subjects):
        old = answers[0][position]
        for number, name in enumerate(names, 1):
            new = answers[number][position]
            error, note = errors[position][number - 1]
            notes = [f"before: {old.nan_reason}"] if old.nan_reason else []
            notes += [f"after: {new.nan_reason}"] if new.nan_reason else []
            if old.words_lost and not notes:
                notes.append(f"words left out, as a model lacks them: {old.words_lost}")
            rows.append(
                Row(
                    *("bias", label, subject, name, old.score, new.score, *error),
                    *(old.words_used or 0, best, "; ".join(notes + ([note] if note else []))),
                )
            )
    return rows


def _jackknife(
    metric: BaseMetric,
    queries: Sequence[Query],
    models: list[WordEmbeddingModel],
    answers: list[list[Answer]],
    options: Mapping[str, Any],
    n_jobs: int | None,
    progress: bool,
) -> list[list[tuple[Errors, str]]]:
    """Return errors, and why there are none, per query and mitigated model."""
    lookup = {key: value for key, value in options.items() if key in Lookup.__annotations__}
    # A set may lose a word of its own beside those left out.
    lookup |= {"lost_vocabulary_threshold": 1.0, "warn_not_found_words": False}
    paired = bool(metric.with_params(**options)[0].pairs_targets)
    plans: list[tuple[list[list[Query]], str | None]] = []
    for position, query in enumerate(queries):
        scores = [row[position].score for row in answers]
        if math.isnan(scores[0]) or np.isnan(scores[1:]).all():
            plans.append(([], None))
        else:
            plans.append(reduced_queries(embed_query(models[0], query, **lookup), paired=paired))
    everything = [query for by_set, _ in plans for part in by_set for query in part]
    if not everything:
        return [[(Errors(), reason or "")] * (len(models) - 1) for _, reason in plans]
    asked = [(metric, everything)]
    flat = run_all(asked, models, {**options, **lookup}, n_jobs, progress)[0]
    results, start = [], 0
    for by_set, reason in plans:
        sizes = [len(part) for part in by_set]
        own = [row[start : start + sum(sizes)] for row in flat]
        start += sum(sizes)
        ends = np.cumsum(sizes)[:-1]
        cut = [np.split(np.array([answer.score for answer in row]), ends) for row in own]
        why = [next((a.nan_reason for a in row if a.nan_reason), None) for row in own]
        of_query = []
        for number in range(1, len(models)):
            undefined = why[0] or why[number]
            if not by_set:
                of_query.append((Errors(), reason or ""))
            else:
                note = f"no standard error: with words left out, {undefined}" if undefined else ""
                of_query.append((paired_errors(cut[0], cut[number]), note))
        results.append(of_query)
    return results


def scale_params(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options of a call that may matter for what is measured."""
    return {
        key: value
        for key, value in options.items()
        if key not in ("lost_vocabulary_threshold", "warn_not_found_words")
    }
