"""Badilla, Bravo-Marquez and Pérez (IJCAI 2020): seven models ranked by four metrics."""

from __future__ import annotations

from typing import Any

import pandas as pd

from wefe.plotting import plot_ranking, plot_ranking_correlations
from wefe.replication._replication import Findings, Run, aggregates, benchmarks_at_hand
from wefe.study import StudyResults
from wefe.study._plan import OVERALL

# Rankings need several models, so the packaged vectors are also used with fewer dimensions.
DIMS = (64,)


def adapt(declared: dict[str, Any]) -> list[str]:
    """Remove printed ranks of models that were not given, and benchmarks that cannot be opened."""
    names = {entry["name"] for entry in declared["models"]}
    (web,) = declared["external"]
    web["scores"] = {model: rank for model, rank in web["scores"].items() if model in names}
    declared["external"] = [web] if web["scores"] else []
    quality = declared["quality"]
    quality["benchmarks"], notes = benchmarks_at_hand(quality["benchmarks"])
    if not quality["benchmarks"]:
        del declared["quality"]
    return notes


def findings(run: Run) -> Findings:
    """Return table 1, figure 1 and figure 2."""
    results = run.results
    places = [*(part.name for part in results.plan.query_sets), OVERALL]
    tables = {f"Table 1, {place}: rank (score)": _table_1(results, place) for place in places}
    quality = results.quality()
    if quality is not None:
        tables["The benchmarks of WEB"] = quality.rename_axis("model")
    figures = {}
    for place in places:
        title = f"Figure 1, {place}: Spearman correlations of the rankings"
        figures[title] = plot_ranking_correlations(results.correlations(place))
    figures["Figure 2: accumulated ranks, overall"] = plot_ranking(results.rankings())
    complete, notes = set(places), []
    for part in results.plan.query_sets:
        if part.left_out:
            complete -= {part.name, OVERALL}
            notes.append(
                f"{part.name}: scores are not compared with printed values, because "
                f"{len(part.left_out)} queries are left out ({part.left_out[0][1]})."
            )
    tidy = results.to_frame().query("words_lost > 0")
    incomplete = set(zip(tidy["query_set"], tidy["model_name"], strict=True))
    incomplete |= {(OVERALL, model) for _, model in incomplete}
    return Findings(tables, figures, aggregates(results, complete), notes, incomplete)


def _table_1(results: StudyResults, place: str) -> pd.DataFrame:
    """Return ranks with scores in parentheses; WEB has only ranks."""
    scores = results.aggregated(place)
    cells = results.rankings(place).map("{:g}".format)
    cells[scores.columns] += scores.map(" ({:.2f})".format)
    return cells.rename_axis("model")
