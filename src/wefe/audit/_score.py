"""Warnings to read together with a score."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from wefe.audit._direction import audit_direction
from wefe.audit._query import CANCELLED, DEFAULT_EPSILON, LEAN, QueryAudit, audit_query
from wefe.audit._warnings import AuditWarning
from wefe.embeddings import Lookup, UnanswerableError, without_log
from wefe.metrics._base import BaseMetric
from wefe.metrics._projection import RIPA, DirectBias
from wefe.metrics._registry import MetricLike, as_metric
from wefe.metrics._weat import WEAT
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

# With these, pairs need no common first component.
_OF_PAIRS = {"few-sets", "lost-sets", "identical-members", "repeated-sets", "outliers"}


def score_warnings(
    metric: MetricLike,
    query: Query,
    model: WordEmbeddingModel,
    **params: Any,
) -> tuple[AuditWarning, ...]:
    """Return warnings about what a score of a metric does not show.

    Parameters
    ----------
    metric : metric class, instance or name
        The metric determines which warnings apply: those of :func:`audit_query` about what it
        computes; those of :func:`audit_direction` for Direct Bias and RIPA, whose target words form
        pairs; for ECT, 'shared-lean' (all words lean to the same side). SEAT and CEAT have none,
        because they use vectors of texts, not of words.
    query : Query
        The query. With a single attribute set, its words are audited between each two target sets.
    model : WordEmbeddingModel
        The model.
    **params
        Parameters of the metric's `run_query`.

    Returns
    -------
    tuple of AuditWarning
        Empty if there are none; a single warning 'not-audited' if the query has no score.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import Query, WordEmbeddingModel
    >>> words = ["she", "he", "nurse", "pilot"]
    >>> model = WordEmbeddingModel((words, np.array([[1, 0], [0, 1], [3, 1], [1.0, 3]])))
    >>> query = Query([["she"], ["he"]], [["nurse", "pilot"]])
    >>> [warning.kind for warning in score_warnings("rnd", query, model)]
    ['cancelling-biases']
    """
    instance = as_metric(metric)
    if instance.encodes_texts:
        return ()
    try:
        return tuple(dict.fromkeys(_found(instance, query, model, params)))
    except UnanswerableError as error:
        return (AuditWarning._of("not-audited", why=error),)


def _found(
    metric: BaseMetric, query: Query, model: WordEmbeddingModel, params: Mapping[str, Any]
) -> Iterator[AuditWarning]:
    lookup = without_log({key: params[key] for key in Lookup.__annotations__ if key in params})
    relevant = metric._with_params(**params)[0].audit_findings
    own: dict[str, Any] = {"calculate_p_value": False, "p_value_method": "approximate"}
    if isinstance(metric, WEAT):
        own |= {key: value for key, value in params.items() if hasattr(WEAT, key)}
    for part in between_two_groups(query):
        audit = audit_query(part, model, **own | lookup)
        if "shared-lean" in relevant:
            yield from _shared_lean(audit)
        yield from (each for each in audit.warnings if each.kind in relevant | {"equal-sets"})
    if isinstance(metric, RIPA):
        one_direction = params.get("relation", "pairs") == "pca"
    elif isinstance(metric, DirectBias) and params.get("direction", "pca") == "pca":
        one_direction = params.get("n_components", 1) == 1
    else:
        return
    pairs = [list(pair) for pair in zip(*query.target_sets, strict=False)]
    with contextlib.suppress(ValueError):  # no pair is complete: the score has its own reason
        found = audit_direction(pairs, model, preprocessors=lookup.get("preprocessors")).warnings
        kinds = _OF_PAIRS | ({"low-correlation"} if isinstance(metric, RIPA) else set())
        yield from (each for each in found if one_direction or each.kind in kinds)


def between_two_groups(query: Query) -> list[Query]:
    """Return a query for each two groups: attribute sets or, if there is only one, target sets."""
    if query.template[1] < 2:
        names = query.attribute_sets_names, query.target_sets_names
        query = Query(query.attribute_sets, query.target_sets, *names)
    return query.get_subqueries(("n", 2))


def _shared_lean(audit: QueryAudit) -> Iterator[AuditWarning]:
    for use, s, positions in zip(audit.targets, audit.biases, audit.positions, strict=True):
        mean = float(s.mean())
        # All clearly on one side.
        shared = abs(mean) >= (1 - CANCELLED) * abs(s).mean()
        if shared and abs(float(positions.mean())) > LEAN * DEFAULT_EPSILON:
            towards = audit.attributes[0 if mean > 0 else 1].name
            yield AuditWarning._of("shared-lean", name=use.name, towards=towards, mean=mean)
