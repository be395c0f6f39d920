"""Schröder, Schulz, Hinder and Hammer (ICPRAM 2024): what cosine-based scores can say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wefe.audit import (
    DirectionAudit,
    IndividualBias,
    audit_direction,
    audit_query,
    check_requirements,
    mean_attribute_differences,
    requirements_table,
)
from wefe.metrics import association, bias_subspace, direct_bias, weat_effect_size
from wefe.models import WordEmbeddingModel
from wefe.plotting import plot_individual_biases
from wefe.query import Query
from wefe.replication._replication import Findings, Run, compared

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NOTES = [
    "The paper lists neither its 25 pairs nor its job titles. The pairs here are those of Garg et "
    "al. and five more, the job titles those of Manzini et al.",
    "Table 2 as printed is of vectors as they are: 5.206 cannot be a distance of means of unit "
    "vectors, which is 2 at most. Only the distance of unit vectors bounds individual biases.",
]
_LOOKUP: dict[str, Any] = {"preprocessors": [{}, {"lowercase": True}]}
_OF_QUERY = ["effect size", "p value", "auc", "largest |s|", "mean attribute difference d"]


def findings(run: Run) -> Findings:
    """Return the paper's tables and figures, and its theorems in numbers."""
    queries = {part.name: part.queries[0] for part in run.results.plan.query_sets}
    direct_bias_query = queries.pop("Direct bias of roles")
    pairs = list(zip(*direct_bias_query.target_sets, strict=True))
    requirements = [
        check_requirements(IndividualBias),
        check_requirements("weat", metric_params={"return_effect_size": True}),
        check_requirements("direct-bias"),
    ]
    models = run.open_models([*queries.values(), direct_bias_query])
    distances = pd.DataFrame(
        {
            label: mean_attribute_differences(
                pairs, list(models.values()), normalize=normalize, **_LOOKUP
            )["mean_attribute_difference"]
            for label, normalize in {"unit vectors (d)": True, "as they are": False}.items()
        }
    ).loc[list(models)]
    measured = dict(_theorems())
    for name, distance in distances["as they are"].items():
        measured["25 pairs", "mean attribute difference", str(name)] = distance
    for each in requirements:
        measured[each.metric, "comparable", ""] = float(bool(each.comparable))
        measured[each.metric, "trustworthy", ""] = float(bool(each.trustworthy))
    tables = {
        "Table 1: requirements": requirements_table(requirements).set_index("metric"),
        "Theorems in numbers": _in_numbers(run, measured),
        "Table 2: mean attribute difference of 25 pairs": _with_printed(run, distances),
    }
    more, figures, lacking = _audited(models, queries, pairs)
    return Findings({**tables, **more}, figures, measured, [*_NOTES, *lacking])


def _audited(
    models: dict[str, WordEmbeddingModel],
    queries: dict[str, Query],
    pairs: Sequence[tuple[str, str]],
) -> tuple[dict[str, pd.DataFrame], dict[str, go.Figure], list[str]]:
    """Return tables and figures of audits, and which models lack words for them."""
    figures, effects, directions, lacking = {}, {}, {}, []
    for name, model in models.items():
        try:
            audits = [audit_query(query, model, **_LOOKUP) for query in queries.values()]
            of_pairs = audit_direction(pairs, model, normalize=False, **_LOOKUP)
        except ValueError as error:
            lacking.append(f"{name} is not in the figures: {error}")
            continue
        for targets, audit in zip(queries, audits, strict=True):
            effects[name, targets] = audit.summary()[_OF_QUERY]
        shown = plot_individual_biases(audits, shared_axis=False)
        figures[f"Figures 1 and 2: individual biases, {name}"] = shown
        for what, direction in _with_and_without_outliers(of_pairs):
            directions[name, what] = _summary(direction)
            figures[f"Figure 3: directions of {what}, {name}"] = direction.plot()
    tables = {
        "Figures 1 and 2: effect size and separability": _by_model(effects),
        "Figure 3: what the directions of pairs have in common": _by_model(directions),
    }
    return (tables if effects else {}), figures, lacking


def _theorems() -> Iterator[tuple[tuple[str, str, str], float]]:
    """Yield what the scores make of the vectors of the paper's proofs."""
    women, men = [(1.0, 0.2, 0.1), (0.8, 0.4, 0.0)], [(-0.9, 0.3, 0.2), (-0.7, 0.5, -0.1)]
    unit = [np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (women, men)]
    farthest = unit[0].mean(axis=0) - unit[1].mean(axis=0)
    largest, smallest = association([farthest, -farthest], women, men)
    a, b = [(1, 0, 0)], [(0, 1, 0)]
    x, y = [(1, 0, 0), (0, 1, 0)], [(1, 0, 1), (0, 1, 1)]
    v, w = (1, 0.9, 0), (1, 0.901, 0)
    first, second = [(1, 2), (1, -2)], [(-1, -2), (-1, 2)]
    direction = bias_subspace([first, second])
    values = {
        ("theorem 1: four words", "largest s"): largest,
        ("theorem 1: four words", "smallest s"): smallest,
        ("theorem 3: every word is biased", "largest |s|"): max(abs(association([*x, *y], a, b))),
        ("theorem 3: every word is biased", "WEAT-ES"): weat_effect_size(x, y, a, b),
        ("theorem 4: sets hardly differ", "WEAT-ES"): weat_effect_size([v, v], [w, w], a, b),
        ("theorem 5: word along the direction", "Direct Bias"): direct_bias([(2, 1)], [(2, 1)]),
        ("theorem 5: word across the direction", "Direct Bias"): direct_bias([(2, 1)], [(-1, 2)]),
        ("theorem 6: pairs", "first component"): direction.explained_variance_ratio[0],
    }
    for name, word in {"(0, 1)": (0, 1), "(1, 0)": (1, 0), "(0.6, 0.8)": (0.6, 0.8)}.items():
        values[f"theorem 6: word {name}", "s"] = association([word], first, second)[0]
        values[f"theorem 6: word {name}", "Direct Bias"] = direct_bias([word], direction.directions)
    for (item, score), value in values.items():
        yield (item, score, ""), float(value)


def _with_and_without_outliers(audit: DirectionAudit) -> Iterator[tuple[str, DirectionAudit]]:
    yield "all pairs", audit
    if audit.outliers:
        yield "pairs but outliers", audit.without(audit.outliers)


def _summary(audit: DirectionAudit) -> dict[str, Any]:
    return {
        "pairs": audit.n_sets,
        "mean correlation": audit.mean_correlation,
        "variance of the first component": audit.explained_variance_ratio[0],
        "mean |cosine| with it": float(np.abs(audit.cosines).mean()),
        "outliers": ", ".join(audit.outliers),
    }


def _by_model(columns: dict[tuple[str, str], Any]) -> pd.DataFrame:
    table = pd.DataFrame(columns).T.infer_objects()
    return table.rename_axis(["model", "of"]).reset_index(level="of")


def _in_numbers(run: Run, measured: dict[tuple[str, str, str], float]) -> pd.DataFrame:
    rows = run.printed[run.printed["table"] == "theorems"]
    table = compared(rows, measured).rename(columns={"printed": "expected", "source": "from"})
    return table.set_index("item")[["score", "value", "expected", "verdict", "from"]]


def _with_printed(run: Run, distances: pd.DataFrame) -> pd.DataFrame:
    """Return the distances of the given models, then those of the paper's other models."""
    rows = run.printed[run.printed["table"] == "Table 2"]
    printed = rows.set_index("model")["printed"]
    return pd.concat([distances, printed], axis=1).rename_axis("model")
