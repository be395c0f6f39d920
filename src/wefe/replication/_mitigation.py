"""The documentation of WEFE: scores before and after mitigations, side effects, remaining bias."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from wefe.datasets import fetch_debiaswe
from wefe.debias import Comparison, compare
from wefe.models import WordEmbeddingModel
from wefe.plotting import plot_comparison
from wefe.replication._replication import (
    Findings,
    Run,
    Values,
    benchmarks_at_hand,
    beside_printed,
    found_in,
    why,
)
from wefe.study._tasks import Mitigation

_NOTE = (
    "Less association measured does not mean that the bias is gone. The last rows of the tables of "
    "costs test how well gender can be recovered from words outside the queries. There, 'best' is "
    "the level of chance."
)


def adapt(declared: dict[str, Any]) -> list[str]:
    """Let HardDebias ignore the same words as the documentation."""
    try:
        # By default, a study also ignores the words of the definitional pairs, such as 'John'.
        declared["mitigations"][0]["ignore"] = fetch_debiaswe()["gender_specific"]
    except ConnectionError as error:
        return [
            "HardDebias changes more words than in the documentation, because its list of words to "
            f"ignore cannot be downloaded: {why(error)}."
        ]
    return []


def findings(run: Run) -> Findings:
    """Return the documented scores, and the costs and remaining bias of each mitigation."""
    benchmarks, notes = benchmarks_at_hand(["wordsim353", "simlex999"])
    measured = _scores(run)
    scores = beside_printed(measured, run.printed, ["item"], ["model", "score"])
    title = "Chapter 4 and section 13.5: WEAT before and after each mitigation"
    tables, figures = {title: scores.rename_axis("mitigation and query")}, {}
    comparisons, lacking = found_in(run.open_models(None), partial(_compared, run, benchmarks))
    for name, comparison in comparisons.items():
        title = f"Costs and remaining gender bias: {name}"
        tables[title], figures[title] = _costs(comparison), plot_comparison(comparison.table)
    return Findings(tables, figures, measured, [_NOTE, *notes, *lacking])


def _scores(run: Run) -> Values:
    """Return WEAT before and after each mitigation."""
    tidy = run.results.to_frame()
    before = tidy[tidy["mitigation"].isna()].set_index(["model_name", "query_set"])["score"]
    measured = {}
    for row in tidy[tidy["mitigation"].notna()].to_dict("records"):
        item, model = f"{row['mitigation']}: {row['query_set']}", row["base_model"]
        measured[item, "before", model] = before[model, row["query_set"]]
        measured[item, "after", model] = row["score"]
    return measured


def _compared(run: Run, benchmarks: list[str], model: WordEmbeddingModel) -> Comparison:
    entries = [entry for of, entry in run.study.declaration.mitigated() if of.label == model.name]
    after = {entry.label: Mitigation.open(entry, Path()).apply(model)[0] for entry in entries}
    # Without a connection, there are fewer specific words.
    criterion = entries[0].load_criterion("")
    return compare(
        model,
        after,
        [],
        quality=benchmarks,
        criterion=criterion,
        n_sample=300,
        random_state=run.random_state,
        progress=False,
    )


def _costs(comparison: Comparison) -> pd.DataFrame:
    """Return one row per cost and test: before, after each mitigation, and the best value."""
    table = comparison.table
    table = table.assign(measure=table["measure"] + ": " + table["subject"])
    costs = table.set_index(["measure", "model"])["after"].unstack(sort=False)
    first = table.drop_duplicates("measure").set_index("measure")
    costs.insert(0, "before", first["before"])
    return costs.assign(best=first["best_value"]).rename_axis(columns=None)
