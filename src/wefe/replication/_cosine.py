"""Schröder, Schulz, Hinder and Hammer (ICPRAM 2024): properties of cosine-based scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wefe.audit import (
    DirectionAudit,
    IndividualBias,
    QueryAudit,
    audit_direction,
    audit_query,
    check_requirements,
    mean_attribute_differences,
    requirements_table,
)
from wefe.metrics import WEAT, association, bias_subspace, direct_bias
from wefe.metrics._geometry import unit_rows
from wefe.models import WordEmbeddingModel
from wefe.plotting import plot_direction_correlations, plot_individual_biases
from wefe.query import Query
from wefe.replication._replication import LOOKUP, Findings, Run, Values, compared, found_in

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NOTES = [
    "The paper lists neither its 25 pairs nor its job titles. This replication uses the pairs of "
    "Garg et al. with five more, and the job titles of Manzini et al.",
    "The printed Table 2 must use vectors that are not normalised: its value 5.206 is larger than "
    "2, the largest distance between means of unit vectors. Only the distance of unit vectors "
    "bounds individual biases.",
]
_OF_AUDITS = (
    "Figures 1 and 2: effect size and separability",
    "Figure 3: common direction of the pairs",
)


def findings(run: Run) -> Findings:
    """Return the tables and figures of the paper, and its theorems as numbers."""
    queries = {part.name: part.queries[0] for part in run.results.plan.query_sets}
    pairs = list(zip(*queries["Direct bias of roles"].target_sets, strict=True))
    models = run.open_models(queries.values())
    del queries["Direct bias of roles"]
    measured = _theorems()
    requirements = [
        check_requirements(IndividualBias),
        check_requirements("weat", metric_params={"return_effect_size": True}),
        check_requirements("direct-bias"),
    ]
    for each in requirements:
        measured[each.metric, "comparable", ""] = float(bool(each.verdicts["comparable"]))
        measured[each.metric, "trustworthy", ""] = float(bool(each.verdicts["trustworthy"]))
    columns, given = {}, list(models.values())
    for label, normalize in {"unit vectors (d)": True, "as they are": False}.items():
        found = mean_attribute_differences(pairs, given, normalize=normalize, **LOOKUP)
        columns[label] = found["mean_attribute_difference"]
    distances = pd.DataFrame(columns).loc[list(models)]
    for name, distance in distances["as they are"].items():
        measured["25 pairs", "mean attribute difference", str(name)] = distance
    # The given models first, then the other models of the paper.
    printed = run.printed_in("Table 2").set_index("model")["printed"]
    distances = pd.concat([distances, printed], axis=1).rename_axis("model")
    theorems = compared(run.printed_in("theorems"), measured).set_index("item")
    theorems = theorems.rename(columns={"printed": "expected", "source": "from"})
    tables = {
        "Table 1: requirements": requirements_table(requirements).set_index("metric"),
        "Theorems in numbers": theorems[["score", "value", "expected", "verdict", "from"]],
        "Table 2: mean attribute difference of 25 pairs": distances,
    }
    audited, lacking = found_in(models, partial(_audited, queries, pairs))
    for at, title in enumerate(_OF_AUDITS if audited else ()):
        rows = pd.concat([own[at] for own, _ in audited.values()], keys=list(audited))
        tables[title] = rows.infer_objects().rename_axis(["model", "of"]).reset_index("of")
    figures = {
        f"{title}, {name}": figure
        for name, (_, own) in audited.items()
        for title, figure in own.items()
    }
    return Findings(tables, figures, measured, [*_NOTES, *lacking])


def _audited(
    queries: Mapping[str, Query], pairs: Sequence[tuple[str, str]], model: WordEmbeddingModel
) -> tuple[list[pd.DataFrame], dict[str, go.Figure]]:
    """Return tables and figures of the audits of queries and of the direction of pairs."""
    audits = {targets: audit_query(query, model, **LOOKUP) for targets, query in queries.items()}
    of_pairs = audit_direction(pairs, model, normalize=False, **LOOKUP)
    directions = {"all pairs": of_pairs}
    if of_pairs.outliers:
        directions["pairs but outliers"] = of_pairs.without(of_pairs.outliers)
    biases = plot_individual_biases(list(audits.values()))
    figures = {"Figures 1 and 2: individual biases": biases}
    figures |= {
        f"Figure 3: directions of {what}": plot_direction_correlations(each)
        for what, each in directions.items()
    }
    effects = pd.DataFrame({of: _effects(audit) for of, audit in audits.items()})
    common = pd.DataFrame({what: _summary(each) for what, each in directions.items()})
    return [effects.T, common.T], figures


def _effects(audit: QueryAudit) -> dict[str, Any]:
    compared: Any = audit.comparison
    return {
        "effect size": compared.effect_size,
        "p value": f"{compared.p_value:.2g}",
        "auc": compared.auc,
        "largest |s|": audit.largest_bias,
        "mean attribute difference d": audit.attribute_difference,
    }


def _theorems() -> Values:
    """Return the scores of the vectors that the proofs of the paper use."""
    women, men = [(1.0, 0.2, 0.1), (0.8, 0.4, 0.0)], [(-0.9, 0.3, 0.2), (-0.7, 0.5, -0.1)]
    farthest = np.subtract(*(unit_rows(np.array(group)).mean(axis=0) for group in (women, men)))
    largest, smallest = association([farthest, -farthest], women, men)
    a, b = [(1, 0, 0)], [(0, 1, 0)]
    x, y = [(1, 0, 0), (0, 1, 0)], [(1, 0, 1), (0, 1, 1)]
    v, w = (1, 0.9, 0), (1, 0.901, 0)
    first, second = [(1, 2), (1, -2)], [(-1, -2), (-1, 2)]
    direction = bias_subspace([first, second])
    effect_size = WEAT(return_effect_size=True).run_vectors
    of_close_sets = effect_size([[v, v], [w, w]], [a, b])["result"]
    values = {
        ("theorem 1: four words", "largest s"): largest,
        ("theorem 1: four words", "smallest s"): smallest,
        ("theorem 3: every word is biased", "largest |s|"): max(abs(association([*x, *y], a, b))),
        ("theorem 3: every word is biased", "WEAT-ES"): effect_size([x, y], [a, b])["result"],
        ("theorem 4: sets hardly differ", "WEAT-ES"): of_close_sets,
        ("theorem 5: word along the direction", "Direct Bias"): direct_bias([(2, 1)], [(2, 1)]),
        ("theorem 5: word across the direction", "Direct Bias"): direct_bias([(2, 1)], [(-1, 2)]),
        ("theorem 6: pairs", "first component"): direction.explained_variance_ratio[0],
    }
    for name, word in {"(0, 1)": (0, 1), "(1, 0)": (1, 0), "(0.6, 0.8)": (0.6, 0.8)}.items():
        values[f"theorem 6: word {name}", "s"] = association([word], first, second)[0]
        values[f"theorem 6: word {name}", "Direct Bias"] = direct_bias([word], direction.directions)
    return {(*key, ""): float(value) for key, value in values.items()}


def _summary(audit: DirectionAudit) -> dict[str, Any]:
    return {
        "pairs": audit.n_sets,
        "mean correlation": audit.mean_correlation,
        "variance of the first component": audit.explained_variance_ratio[0],
        "mean |cosine| with it": audit.to_frame()["cosine"].abs().mean(),
        "outliers": ", ".join(audit.outliers),
    }
