"""Spliethöver and Wachsmuth (IJCAI, 2021): robustness and accuracy of ECT, RNSB and WEAT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from wefe._same_words import lacking
from wefe.datasets import load_case_study_queries
from wefe.models import WordEmbeddingModel
from wefe.query import Query
from wefe.replication._replication import Findings, Run
from wefe.silhouette import SilhouetteStudy, accuracy_score, silhouette_study
from wefe.silhouette._study import LIST_TYPES
from wefe.words import Preprocessors

_BIASES = ("ethnicity", "gender", "religion")
# Lowest and highest score in the paper; of all three, 0 means no bias.
_LIMITS = {"ect": (-1.0, 1.0), "rnsb": (0.0, 1.0), "weat": (-2.0, 2.0)}
_N_RUNS = (5, 10, 20, 40, 80, 100)
# The control of the packaged vectors, and runs of RNSB with it: each takes a second.
_CONTROL, _FEW_RUNS = "shuffled control", 5

# (item, score, model) -> value.
_Values = dict[tuple[str, str, str], float]


def _shipped() -> list[Query]:
    return [load_case_study_queries(bias, offline=True)[0] for bias in _BIASES]


STAND_INS = {"bsa": _shipped}


def findings(run: Run) -> Findings:
    """Return robustness, accuracy, all silhouettes, and the pilot study of the number of runs."""
    (query_set,) = run.results.plan.query_sets
    models = run.open_models(query_set.queries)
    lookup = {"preprocessors": run.results.plan.metrics[0].params["preprocessors"]}
    notes: list[str] = []
    queries: dict[str, Query] = {}
    for bias, query in zip(_BIASES, query_set.queries, strict=True):
        groups, concepts = _known(query, models.values(), **lookup)
        n_groups, n_concepts = (sum(map(len, sets)) for sets in (groups, concepts))
        notes.append(
            f"{bias}: all models have {n_groups} group words, {n_concepts:,} concept words."
        )
        if all(groups + concepts):
            names = query.target_sets_names, query.attribute_sets_names
            queries[bias] = Query(groups, concepts, *names)
    if not queries:
        return Findings({}, {}, {}, notes)
    study = _silhouettes(run, queries, models, lookup)
    return _shown(study, run, [*notes, *study.notes])


def _shown(study: SilhouetteStudy, run: Run, notes: Sequence[str]) -> Findings:
    """Return the tables and figures of the paper and its supplement."""
    robustness, pilot = _Values(), _Values()
    accuracy, released = _Values(), _Values()
    for (metric, bias, vary, model), each in study.silhouettes.items():
        item, score = f"{bias}, {LIST_TYPES[vary]}", metric.removesuffix("-ES")
        robustness[item, score, model] = each.robustness
        for n_runs in _N_RUNS:
            if n_runs <= each.n_runs:
                first = replace(each, curves=each.curves[:n_runs])
                pilot[f"{item}, {score}", f"{n_runs} runs", model] = 1 - first.robustness
        unbiased = study.silhouettes.get((metric, bias, vary, str(study.unbiased)))
        if model == study.biased and unbiased:
            pair = item, score, f"{model} and {study.unbiased}"
            accuracy[pair] = accuracy_score(unbiased, each)
            # The script divides by the whole range; the formula, by the part above no bias.
            low, high = each.value_range
            released[pair] = 0.5 + (accuracy[pair] - 0.5) * high / (high - low)
    tables = {
        "Table 1: robustness": _table(robustness, run, "Table 1"),
        "Table 2: accuracy, by the formula of the paper": _table(accuracy, run),
        "Table 2: accuracy, by the released script": _table(released, run, "Table 2"),
        "Supplement: 1 - robustness by number of runs": _table(pilot, run, "Supplement"),
    }
    figures = {
        f"{'Figure 2' if bias == 'ethnicity' else 'Supplement'}: {bias}": study.plot(bias_type=bias)
        for bias in dict.fromkeys(key[1] for key in study.silhouettes)
    }
    measured = robustness | released | pilot
    return Findings({title: t for title, t in tables.items() if len(t)}, figures, measured, notes)


def _silhouettes(
    run: Run,
    queries: Mapping[str, Query],
    models: Mapping[str, WordEmbeddingModel],
    lookup: Mapping[str, Any],
) -> SilhouetteStudy:
    """Return all silhouettes, on the scales of the paper."""
    biased, unbiased = _references(list(models))
    studies = {
        metric: silhouette_study(
            *(metric, queries, models),
            n_runs=_FEW_RUNS if metric == "rnsb" and _CONTROL in models else max(_N_RUNS),
            random_state=run.random_state,
            n_jobs=run.n_jobs,
            biased=biased,
            unbiased=unbiased,
            directory=run.folder / "silhouettes",
            metric_params={metric: lookup},
            progress=run.progress,
        )
        for metric in _LIMITS
    }
    notes = [note for study in studies.values() for note in study.notes]
    if biased:
        notes += [
            f"Taken for biased: {biased}. Taken for unbiased: {unbiased}.",
            "The released script divides accuracy by b_max - b_min, the formula of the paper by "
            "b_max - b_0. Printed values are compared with the former.",
        ]
    if _CONTROL in models:
        notes.append(f"RNSB has {_FEW_RUNS} runs here, which makes it look more robust.")
    return replace(
        studies["weat"],
        metrics=tuple(study.metrics[0] for study in studies.values()),
        silhouettes={
            key: replace(each, value_range=_LIMITS[metric], no_bias_value=0.0)
            for metric, study in studies.items()
            for key, each in study.silhouettes.items()
        },
        notes=tuple(notes),
    )


def _known(
    query: Query, models: Iterable[WordEmbeddingModel], preprocessors: Preprocessors
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the groups and concepts of a query without words that one of the models lacks."""
    lost = {word for model in models for word in lacking(model, query, preprocessors)}
    groups, concepts = (
        [[word for word in part if word not in lost] for part in sets]
        for sets in (query.target_sets, query.attribute_sets)
    )
    return groups, concepts


def _references(names: Sequence[str]) -> tuple[str, str] | tuple[None, None]:
    """Return which model is taken for biased, and which for unbiased."""
    if {"GloVe", "NBatch"} <= {*names}:
        return "GloVe", "NBatch"
    return (names[0], names[1]) if len(names) > 1 else (None, None)


def _table(
    values: Mapping[tuple[str, str, str], float], run: Run, printed: str = ""
) -> pd.DataFrame:
    """Return a row per item and model, measured and printed, and a column per score."""
    rows = [(item, model, score, value) for (item, score, model), value in values.items()]
    own = run.printed[run.printed["table"] == printed]
    rows += list(
        zip(own["item"], own["model"] + " (printed)", own["score"], own["printed"], strict=True)
    )
    frame = pd.DataFrame(rows, columns=["item", "model", "score", "value"])
    return frame.pivot_table("value", ["item", "model"], "score", sort=False).rename_axis(
        columns=None
    )
