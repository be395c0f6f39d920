"""Spliethöver and Wachsmuth (IJCAI, 2021): robustness and accuracy of ECT, RNSB and WEAT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from wefe.datasets import load_query_set
from wefe.plotting import plot_silhouettes
from wefe.query import Query
from wefe.replication._replication import Findings, Run, Values, beside_printed
from wefe.silhouette import SilhouetteStudy
from wefe.silhouette._study import LIST_TYPES

_BIASES = ("ethnicity", "gender", "religion")
_N_RUNS = (5, 10, 20, 40, 80, 100)
# The control model, and the number of RNSB runs with it (a run takes a second).
_CONTROL, _FEW_RUNS = "shuffled control", 5


def _shipped() -> list[Query]:
    return [load_query_set(bias, offline=True)[0] for bias in _BIASES]


STAND_INS = {"bsa": _shipped}


def adapt(declared: dict[str, Any]) -> list[str]:
    has_control = any(entry["name"] == _CONTROL for entry in declared["models"])
    for entry in declared["silhouettes"]:
        is_slow = entry["metric"] == "rnsb" and has_control
        entry["n_runs"] = _FEW_RUNS if is_slow else max(_N_RUNS)
    few = f"RNSB has only {_FEW_RUNS} runs here, so its robustness is overestimated."
    return [few] if has_control else []


def findings(run: Run) -> Findings:
    """Return robustness, accuracy, all silhouettes, and the pilot study on the number of runs."""
    biased, unbiased = _references([name for name, about in run.results.models.items() if about])
    try:
        study = run.results.silhouette_study(unbiased, biased)
    except ValueError as error:  # nothing could be measured
        return Findings({}, {}, {}, (str(error),))
    (query_set,) = run.results.plan.query_sets
    names = dict(zip([query.query_name for query in query_set.queries], _BIASES, strict=True))
    named = {
        (metric, names[query], vary, model): each
        for (metric, query, vary, model), each in study.found.items()
    }
    study = replace(study, found=named)
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
        f"{'Figure 2' if bias == 'ethnicity' else 'Supplement'}: {bias}": plot_silhouettes(
            study, bias_type=bias
        )
        for bias in frame["bias_type"].unique()
    }
    measured = robustness | released | pilot
    n_words = frame.groupby("item", sort=False)["n_words"].max()
    notes = [f"{item}: {n:,} words that all models have." for item, n in n_words.items()]
    if biased:
        notes += [
            f"Accuracy treats {biased} as the biased model and {unbiased} as the unbiased one.",
            "For accuracy, the released script divides by b_max - b_min, but the formula of the "
            "paper by b_max - b_0. Printed values are compared with the results of the script.",
        ]
    return Findings(tables, figures, measured, [*notes, *study.notes])


def _values(frame: pd.DataFrame, column: str) -> Values:
    return frame.set_index(["item", "score", "model"])[column].to_dict()


def _pilot(study: SilhouetteStudy) -> Values:
    """Return 1 - robustness for increasing numbers of runs."""
    values = {}
    for (metric, bias, vary, model), each in study.silhouettes.items():
        item = f"{bias}, {LIST_TYPES[vary]}, {metric.removesuffix('-ES')}"
        for n_runs in _N_RUNS:
            if n_runs <= each.n_runs:
                first = replace(each, curves=each.curves[:n_runs])
                values[item, f"{n_runs} runs", model] = 1 - first.robustness
    return values


def _references(names: Sequence[str]) -> tuple[str, str] | tuple[None, None]:
    """Return the models used as the biased and the unbiased one."""
    if {"GloVe", "NBatch"} <= {*names}:
        return "GloVe", "NBatch"
    return (names[0], names[1]) if len(names) > 1 else (None, None)
