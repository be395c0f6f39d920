"""Sweeney and Najafian (ACL, 2019): negative sentiment of national origins and religions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe.datasets import load_rnsb_identity_terms, load_weat
from wefe.embeddings import EmbeddedQuery, embed_query
from wefe.explore._projections import in_two_dimensions
from wefe.metrics import RNSB, joint_negative_sentiment, negative_sentiment_correlation
from wefe.plotting import plot_negative_sentiment, plot_negative_sentiment_correlation
from wefe.plotting._style import PALETTE, add_points, apply_layout
from wefe.query import Query
from wefe.replication._replication import Findings, Run, Values, beside_printed

if TYPE_CHECKING:
    from wefe.models import WordEmbeddingModel
    from wefe.results import MetricResult

_ORIGIN, _RELIGION = "National Origin Identity", "Religion Identity"
_CASES = {"rnsb_national_origin": _ORIGIN, "rnsb_religion": _RELIGION}
_FEWEST = 0.8
_LOOKS = {"positive": (PALETTE[2], 5), "negative": (PALETTE[3], 5), "identity": (PALETTE[0], 9)}


def _by_weat_words(key: str) -> list[Query]:
    """Return the query of a case with the sentiment words of WEAT."""
    words, terms = load_weat(), load_rnsb_identity_terms()[key]
    return [Query([[term] for term in terms], [words["pleasant_5"], words["unpleasant_5"]], terms)]


STAND_INS = {
    "rnsb_national_origin": partial(_by_weat_words, "national_origin_terms"),
    "rnsb_religion": partial(_by_weat_words, "religion_terms"),
}


def findings(run: Run) -> Findings:
    """Return RNSB of both cases, maps of the words, and the negative sentiment of each identity."""
    plan = run.results.plan
    params = plan.metrics[0].params
    queries = {_CASES[each.name]: each.queries[0] for each in plan.query_sets}
    notes: dict[str, None] = {}
    scores: Values = {}
    measured: Values = {}
    maps: dict[str, go.Figure] = {}
    results: dict[str, MetricResult] = {}
    for (name, model), case in product(run.open_models(queries.values()).items(), queries):
        found = embed_query(model, queries[case], preprocessors=params["preprocessors"])
        notes |= dict.fromkeys(_missing(found, case))
        scores[case, "RNSB", name] = np.nan
        result = _result(found, model, params)
        if result is None:
            continue
        scores[case, "RNSB", name] = result["rnsb"]
        for term, value in result["negative_sentiment_probabilities"].items():
            measured[term, "P(negative)", name] = value
        if case == _ORIGIN:
            results[name] = result
            maps[f"Figure 1: words in two dimensions, {name}"] = _map(found, name)
    table = beside_printed(scores, run.printed_in("Table 1"), ["item"], ["model"])
    tables = {"Table 1: RNSB of each case study": table.rename_axis("case study")}
    return Findings(tables, maps | _figures_3_and_4(results), scores | measured, [*notes])


def _missing(found: EmbeddedQuery, case: str) -> list[str]:
    words = sum(len(part.lost) for part in found.attributes)
    terms = ", ".join(chain(*(part.lost for part in found.targets)))
    size = sum(map(len, found.query.attribute_sets))
    notes = {
        f"{found.model_name} lacks {words:,} of {size:,} positive and negative words.": words,
        f"{case}: {found.model_name} lacks {terms}; RNSB needs at least 80 % of the terms.": terms,
    }
    return [note for note, applies in notes.items() if applies]


def _result(
    found: EmbeddedQuery, model: WordEmbeddingModel, params: Mapping[str, Any]
) -> MetricResult | None:
    """Return RNSB of the identities in the vocabulary, or None if too few are."""
    terms = [part.name for part in found.targets if part.words]
    # With only a few identities, RNSB would answer another question.
    few = len(terms) < _FEWEST * len(found.targets)
    if few or not all(part.words for part in found.attributes):
        return None
    asked = Query([[term] for term in terms], found.query.attribute_sets, terms)
    return RNSB().run_query(asked, model, **params)


def _map(found: EmbeddedQuery, model: str) -> go.Figure:
    """Plot positive, negative and identity words by their first two principal components."""
    sets = [*found.attributes, *found.targets]
    vectors = np.concatenate([part.vectors for part in sets])
    points = pd.DataFrame(in_two_dimensions(vectors), columns=["x", "y"])
    kinds = ["positive", "negative", *["identity"] * len(found.targets)]
    points["kind"] = np.repeat(kinds, [len(part.words) for part in sets])
    points["word"] = list(chain(*(part.words for part in sets)))
    points["text"] = points["word"].where(points["kind"] == "identity", "")
    figure = go.Figure()
    for kind, (colour, size) in _LOOKS.items():
        own, marker = points[points["kind"] == kind], {"color": colour, "size": size}
        add_points(figure, own, f"{kind} words", "{word}", marker=marker)
    figure.update_layout(height=480)
    return apply_layout(figure, f"Sentiment words and national origins, {model}", {"PCA.": True})


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
