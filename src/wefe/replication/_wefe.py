"""Badilla, Bravo-Marquez and Perez (IJCAI 2020): seven models ranked by four metrics."""

from __future__ import annotations

import pandas as pd

from wefe.plotting import plot_ranking, plot_ranking_correlations
from wefe.replication._replication import Findings, Run
from wefe.study._plan import OVERALL
from wefe.study._results import StudyResults


def findings(run: Run) -> Findings:
    """Return table 1, figure 1 and figure 2."""
    results = run.results
    places = [*(part.name for part in results.plan.query_sets), OVERALL]
    tables = {f"Table 1, {place}: rank (score)": _table_1(results, place) for place in places}
    figures = {}
    for place in places:
        matrix = results.correlations(place)
        figures[f"Figure 1, {place}: Spearman correlations of the rankings"] = (
            plot_ranking_correlations(matrix)
        )
    figures["Figure 2: accumulated ranks, overall"] = plot_ranking(results.rankings())
    left_out = {part.name: part.left_out for part in results.plan.query_sets if part.left_out}
    notes = [
        f"{place}: {len(queries)} queries are left out, so no score is compared ({queries[0][1]})."
        for place, queries in left_out.items()
    ]
    measured = {
        (place, str(metric), str(model)): float(score)
        for place in places
        if place not in left_out and not (left_out and place == OVERALL)
        for metric, scores in results.aggregated(place).items()
        for model, score in scores.items()
    }
    quality = results.quality()
    if quality is not None:
        tables["The benchmarks of WEB"] = quality.rename_axis("model")
    tidy = results.to_frame()
    lacking = tidy[tidy["words_lost"] > 0]
    incomplete = set(zip(lacking["query_set"], lacking["model_name"], strict=True))
    incomplete |= {(OVERALL, model) for _, model in incomplete}
    return Findings(tables, figures, measured, notes, incomplete)


def _table_1(results: StudyResults, place: str) -> pd.DataFrame:
    """Return ranks with scores in parentheses; WEB has ranks only."""
    scores = results.aggregated(place)
    ranks = results.rankings(place)
    cells = ranks.map("{:g}".format)
    for metric in scores:
        cells[metric] += scores[metric].map(" ({:.2f})".format)
    return cells.rename_axis("model")
