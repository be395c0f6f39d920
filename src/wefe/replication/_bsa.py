"""Spliethöver and Wachsmuth (IJCAI, 2021): robustness and accuracy of ECT, RNSB and WEAT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pandas as pd

from wefe._progress import noted
from wefe.datasets import load_case_study_queries
from wefe.query import Query
from wefe.replication._replication import Findings, Run, Values, beside_printed
from wefe.silhouette import SilhouetteStudy, silhouette_study
from wefe.silhouette._study import LIST_TYPES, NothingMeasuredError

_BIASES = ("ethnicity", "gender", "religion")
# In the paper, 0 means no bias for all three metrics.
_SCALES: dict[str, dict[str, Any]] = {
    "ect": {"value_range": (-1.0, 1.0), "no_bias_value": 0.0},
    "rnsb": {"value_range": (0.0, 1.0)},
    "weat": {"value_range": (-2.0, 2.0)},
}
_N_RUNS = (5, 10, 20, 40, 80, 100)
# The control model, and the number of RNSB runs with it (a run takes a second).
_CONTROL, _FEW_RUNS = "shuffled control", 5


def _shipped() -> list[Query]:
    return [load_case_study_queries(bias, offline=True)[0] for bias in _BIASES]


STAND_INS = {"bsa": _shipped}


def findings(run: Run) -> Findings:
    """Return robustness, accuracy, all silhouettes, and the pilot study on the number of runs."""
    study = _silhouettes(run)
    if not study.silhouettes:
        return Findings({}, {}, {}, study.notes)
    frame = study.to_frame()
    frame["item"] = frame["bias_type"] + ", " + frame["list_type"]
    frame["score"] = frame["metric"].str.removesuffix("-ES")
    # The script divides by the whole range, the formula by the part above the no-bias value.
    share = frame["highest"] / (frame["highest"] - frame["lowest"])
    frame["released"] = 0.5 + (frame["accuracy"] - 0.5) * share
    both = frame[(frame["model"] == study.biased) & frame["accuracy"].notna()]
    both = both.assign(model=f"{study.biased} and {study.unbiased}")
    robustness, pilot = _values(frame, "robustness"), _pilot(study)
    accuracy, released = _values(both, "accuracy"), _values(both, "released")
    shown = {
        "Table 1: robustness": (robustness, "Table 1"),
        "Table 2: accuracy, by the formula of the paper": (accuracy, ""),
        "Table 2: accuracy, by the released script": (released, "Table 2"),
        "Supplement: 1 - robustness by number of runs": (pilot, "Supplement"),
    }
    tables = {
        title: beside_printed(values, run.printed_in(table), ["item", "model"], ["score"])
        for title, (values, table) in shown.items()
        if values
    }
    figures = {
        f"{'Figure 2' if bias == 'ethnicity' else 'Supplement'}: {bias}": study.plot(bias_type=bias)
        for bias in frame["bias_type"].unique()
    }
    measured = robustness | released | pilot
    n_words = frame.groupby("item", sort=False)["n_words"].max()
    notes = [f"{item}: {n:,} words that all models have." for item, n in n_words.items()]
    return Findings(tables, figures, measured, [*notes, *study.notes])


def _values(frame: pd.DataFrame, column: str) -> Values:
    keys = frame[["item", "score", "model"]].itertuples(index=False, name=None)
    return dict(zip(keys, frame[column], strict=True))


def _pilot(study: SilhouetteStudy) -> Values:
    """Return 1 - robustness for increasing numbers of runs."""
    return {
        (
            f"{bias}, {LIST_TYPES[vary]}, {metric.removesuffix('-ES')}",
            f"{n_runs} runs",
            model,
        ): 1 - replace(each, curves=each.curves[:n_runs]).robustness
        for (metric, bias, vary, model), each in study.silhouettes.items()
        for n_runs in _N_RUNS
        if n_runs <= each.n_runs
    }


def _silhouettes(run: Run) -> SilhouetteStudy:
    """Return the silhouettes of all metrics on the scales of the paper."""
    (query_set,) = run.results.plan.query_sets
    models = run.open_models(query_set.queries)
    biased, unbiased = _references(list(models))
    lookup = {"preprocessors": run.results.plan.metrics[0].params["preprocessors"]}
    with noted([], quiet=False):
        studies = [
            _measured(
                *(metric, dict(zip(_BIASES, query_set.queries, strict=True)), models),
                n_runs=_FEW_RUNS if metric == "rnsb" and _CONTROL in models else max(_N_RUNS),
                random_state=run.random_state,
                n_jobs=run.n_jobs,
                biased=biased,
                unbiased=unbiased,
                directory=run.folder / "silhouettes",
                metric_params={metric: lookup},
                scales={metric: scale},
                progress=run.progress,
            )
            for metric, scale in _SCALES.items()
        ]
    notes = list(dict.fromkeys(chain(*(study.notes for study in studies))))
    if biased:
        notes += [
            f"Accuracy treats {biased} as the biased model and {unbiased} as the unbiased one.",
            "For accuracy, the released script divides by b_max - b_min, but the formula of the "
            "paper by b_max - b_0. Printed values are compared with the results of the script.",
        ]
    if _CONTROL in models:
        notes.append(f"RNSB has only {_FEW_RUNS} runs here, so its robustness is overestimated.")
    return replace(
        studies[0],
        metrics=tuple(study.metrics[0] for study in studies),
        silhouettes={key: each for study in studies for key, each in study.silhouettes.items()},
        notes=tuple(notes),
    )


def _measured(*args: Any, **options: Any) -> SilhouetteStudy:
    """Run a silhouette study; if nothing can be measured, return only its notes."""
    try:
        return silhouette_study(*args, **options)
    except NothingMeasuredError as error:
        return error.study


def _references(names: Sequence[str]) -> tuple[str, str] | tuple[None, None]:
    """Return the models used as the biased and the unbiased one."""
    if {"GloVe", "NBatch"} <= {*names}:
        return "GloVe", "NBatch"
    return (names[0], names[1]) if len(names) > 1 else (None, None)
