"""Sweeney and Najafian (ACL, 2019): the negative sentiment of national origins and religions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe.datasets import load_rnsb_identity_terms, load_weat
from wefe.embeddings import EmbeddedQuery, embed_query
from wefe.explore import in_two_dimensions
from wefe.metrics import RNSB, joint_negative_sentiment, negative_sentiment_correlation
from wefe.plotting import plot_negative_sentiment, plot_negative_sentiment_correlation
from wefe.plotting._style import PALETTE, add_points, apply_layout
from wefe.query import Query
from wefe.replication._replication import Findings, Run

if TYPE_CHECKING:
    from wefe.results import MetricResult

_ORIGIN, _RELIGION = "National Origin Identity", "Religion Identity"
_CASES = {"rnsb_national_origin": _ORIGIN, "rnsb_religion": _RELIGION}
_FEWEST = 0.8
_COLOURS = {"positive": PALETTE[2], "negative": PALETTE[3], "identity": PALETTE[0]}


def _by_weat_words(key: str) -> list[Query]:
    """Return the query of a case, with the sentiment words of WEAT."""
    words, terms = load_weat(), load_rnsb_identity_terms()[key]
    return [Query([[term] for term in terms], [words["pleasant_5"], words["unpleasant_5"]], terms)]


STAND_INS = {
    "rnsb_national_origin": partial(_by_weat_words, "national_origin_terms"),
    "rnsb_religion": partial(_by_weat_words, "religion_terms"),
}


def findings(run: Run) -> Findings:
    """Return RNSB of both cases, where the words lie, and how negative each identity is."""
    plan = run.results.plan
    params = plan.metrics[0].params
    queries = {_CASES[each.name]: each.queries[0] for each in plan.query_sets}
    notes: list[str] = []
    measured: dict[tuple[str, str, str], float] = {}
    maps: dict[str, go.Figure] = {}
    results: dict[str, MetricResult] = {}
    for name, model in run.open_models(queries.values()).items():
        for case, query in queries.items():
            found = embed_query(model, query, preprocessors=params["preprocessors"])
            notes += _missing(found, case)
            measured[case, "RNSB", name] = math.nan
            terms = [part.name for part in found.targets if part.words]
            # RNSB of few of the identities is another question.
            if len(terms) < _FEWEST * len(found.targets) or not all(
                part.words for part in found.attributes
            ):
                continue
            asked = Query([[term] for term in terms], query.attribute_sets, terms)
            result = RNSB().run_query(asked, model, **params)
            measured[case, "RNSB", name] = result["rnsb"]
            for term, value in result["negative_sentiment_probabilities"].items():
                measured[term, "P(negative)", name] = value
            if case == _ORIGIN:
                results[name] = result
                maps[f"Figure 1: words in two dimensions, {name}"] = _map(found, name)
    tables = {"Table 1: RNSB of each case study": _table_1(run, measured)}
    return Findings(tables, maps | _figures_3_and_4(results), measured, list(dict.fromkeys(notes)))


def _missing(found: EmbeddedQuery, case: str) -> list[str]:
    """Return notes on the words of a query that a model lacks."""
    notes = []
    if any(part.lost for part in found.attributes):
        lost, size = (
            sum(map(len, parts))
            for parts in ([part.lost for part in found.attributes], found.query.attribute_sets)
        )
        notes.append(f"{found.model_name} lacks {lost:,} of {size:,} positive and negative words.")
    if terms := list(chain(*(part.lost for part in found.targets))):
        notes.append(f"{case}: {found.model_name} lacks {', '.join(terms)}; RNSB needs 80 %.")
    return notes


def _table_1(run: Run, measured: Mapping[tuple[str, str, str], float]) -> pd.DataFrame:
    """Return RNSB by case and model, as measured and as printed."""
    scores = pd.Series({key: value for key, value in measured.items() if key[1] == "RNSB"})
    table = scores.droplevel(1).unstack(sort=False)
    of_paper = run.printed[run.printed["table"] == "Table 1"]
    printed = of_paper.pivot_table("printed", "item", "model", sort=False)
    return table.join(printed.add_suffix(" (printed)")).rename_axis("case study")


def _map(found: EmbeddedQuery, model: str) -> go.Figure:
    """Draw positive, negative and identity words by their first two principal components."""
    parts = {
        "positive": found.attributes[:1],
        "negative": found.attributes[1:],
        "identity": found.targets,
    }
    rows = [
        {"kind": kind, "word": word}
        for kind, sets in parts.items()
        for word in chain(*(part.words for part in sets))
    ]
    vectors = np.concatenate([part.vectors for part in chain(*parts.values())])
    points = pd.DataFrame(rows)
    points[["x", "y"]] = in_two_dimensions(vectors)
    figure = go.Figure()
    for kind, colour in _COLOURS.items():
        own = points[points["kind"] == kind]
        own = own.assign(text=own["word"]) if kind == "identity" else own
        marker = {"color": colour, "size": 9 if kind == "identity" else 5}
        add_points(figure, own, f"{kind} words", "{word}", marker)
    return apply_layout(figure, f"Sentiment words and national origins, {model}", ["PCA."], 480)


def _figures_3_and_4(results: Mapping[str, MetricResult]) -> dict[str, go.Figure]:
    if not results:
        return {}
    title = "Figure 3: shares of negative sentiment (dashed: the uniform distribution)"
    figures = {title: plot_negative_sentiment(results)}
    for name, result in results.items():
        for what, matrix in {
            "joint shares, as released": joint_negative_sentiment(result),
            "correlations, as described": negative_sentiment_correlation(result),
        }.items():
            title = f"Figure 4: {what}, {name}"
            figures[title] = plot_negative_sentiment_correlation(matrix)
    return figures
