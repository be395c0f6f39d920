"""The documentation of WEFE: scores before and after mitigations, their cost, and what is left."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from wefe.datasets import fetch_debiaswe
from wefe.debias import Comparison, compare
from wefe.metrics import WEAT
from wefe.models import WordEmbeddingModel
from wefe.quality import load_benchmark
from wefe.replication._replication import Findings, Run, why
from wefe.study import study_file
from wefe.study._extras import MitigationEntry
from wefe.study._tasks import Mitigation

_NOTE = (
    "Less association measured does not mean that the bias is gone. In the tables of costs, the "
    "last rows test how well gender can be recovered from words other than those of the queries; "
    "'best' is chance there."
)


def findings(run: Run) -> Findings:
    """Return the documented scores, and for each model what mitigations cost and leave."""
    entries, notes = _mitigations(run.random_state)
    benchmarks, lacking = _benchmarks()
    measured = _scores(run)
    tables, figures = {}, {}
    for name, model in _tables_of_vectors(run).items():
        try:
            after = {
                label: Mitigation(entry, Path(), offline=False).apply(model)[0]
                for label, entry in entries.items()
            }
        except ValueError as error:
            notes.append(f"No costs for {name}: {error}")
            continue
        measured |= _hard_debias(run, after["HardDebias"], name)
        comparison = _compared(run, entries["HardDebias"], model, after, benchmarks)
        title = f"Cost, and what is left of gender: {name}"
        tables[title], figures[title] = _costs(comparison), comparison.plot()
    title = "Chapter 4 and section 13.5: WEAT before and after each mitigation"
    tables = {title: _before_and_after(run, measured), **tables}
    return Findings(tables, figures, measured, [_NOTE, *notes, *lacking])


def _mitigations(random_state: int) -> tuple[dict[str, MitigationEntry], list[str]]:
    """Return the mitigations of the study, with the words that the documentation ignores."""
    entries = {
        entry["name"]: MitigationEntry(**entry).seeded(random_state)
        for entry in tomllib.loads(study_file("mitigation"))["mitigations"]
    }
    try:
        # A study leaves alone the words of the definitional pairs, too. 'John' is one of them.
        ignored = {"ignore": fetch_debiaswe()["gender_specific"]}
    except ConnectionError as error:
        why = getattr(error, "short", error)
        return entries, [f"HardDebias changes more words than documented: {why}"]
    entries["HardDebias"] = entries["HardDebias"].model_copy(update=ignored)
    return entries, []


def _benchmarks() -> tuple[tuple[str, ...], list[str]]:
    """Return the word similarities that mitigations may cost, which come with gensim."""
    names = ("wordsim353", "simlex999")
    try:
        load_benchmark(names[0])
    except ImportError as error:
        return (), [f"Word similarity is not among the costs: {why(error)}."]
    return names, []


def _tables_of_vectors(run: Run) -> dict[str, WordEmbeddingModel]:
    """Return the models with all their words, without encoders: these are not mitigated."""
    encoders = {model.label for model in run.results.plan.models if model.is_encoder}
    models = run.open_models(None)
    return {name: model for name, model in models.items() if name not in encoders}


def _scores(run: Run) -> dict[tuple[str, str, str], float]:
    """Return WEAT before and after the mitigations of the study."""
    tidy = run.results.to_frame()
    before = tidy[tidy["mitigation"].isna()].set_index(["model_name", "query_set"])["score"]
    measured = {}
    for row in tidy[tidy["mitigation"].notna()].to_dict("records"):
        item, model = f"{row['mitigation']}: {row['query_set']}", row["base_model"]
        measured[item, "before", model] = before[model, row["query_set"]]
        measured[item, "after", model] = row["score"]
    return measured


def _hard_debias(
    run: Run, after: WordEmbeddingModel, name: str
) -> dict[tuple[str, str, str], float]:
    """Return WEAT after HardDebias with the words ignored that the documentation ignores."""
    forms = [{}, {"lowercase": True}]
    return {
        (f"HardDebias: {part.name}", "after", name): WEAT().run_query(
            part.queries[0], after, preprocessors=forms
        )["weat"]
        for part in run.results.plan.query_sets
    }


def _compared(
    run: Run,
    entry: MitigationEntry,
    model: WordEmbeddingModel,
    after: dict[str, WordEmbeddingModel],
    benchmarks: Sequence[str],
) -> Comparison:
    criterion = entry.load_criterion(".")
    return compare(
        model,
        after,
        [],
        quality=benchmarks,
        criterion=criterion,
        ignore=criterion.specific_words,
        n_sample=300,
        random_state=run.random_state,
        progress=False,
    )


def _costs(comparison: Comparison) -> pd.DataFrame:
    """Return a row per cost and test: before, after each mitigation, and the best value."""
    table = comparison.table
    table = table.assign(measure=table["measure"] + ": " + table["subject"])
    rows = table.groupby("measure", sort=False)
    after = {
        str(model): own.set_index("measure")["after"]
        for model, own in table.groupby("model", sort=False)
    }
    columns = {"before": rows["before"].first(), **after, "best": rows["best_value"].first()}
    return pd.DataFrame(columns).loc[list(rows.groups)]


def _before_and_after(run: Run, measured: dict[tuple[str, str, str], float]) -> pd.DataFrame:
    """Return a row per mitigation and query: each model's scores, then the printed ones."""
    columns: dict[str, dict[str, float]] = {}
    for (item, score, model), value in measured.items():
        columns.setdefault(f"{model} {score}", {})[item] = value
    table = pd.DataFrame(columns)
    # The first value of an item: those of another library are in the comparison.
    printed = run.printed.drop_duplicates(["item", "score", "model"]).set_index("item")
    for names, rows in printed.groupby(["model", "score"], sort=False):
        table[f"{' '.join(map(str, names))} (printed)"] = rows["printed"]
    return table.rename_axis("mitigation and query")
