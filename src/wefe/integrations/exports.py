"""Scores in the formats of model cards, of shared evaluation records, and of papers.

The functions take the table of :func:`wefe.measure` or the results of a study. They need no other
library. Scores that are NaN are left out, because these formats have no place for a reason; the log
names them. Every score comes with the value that means no bias and with its range.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import pandas as pd

from wefe._checks import check_choice, found, import_library
from wefe._files import atomic_file
from wefe._visible import count, unique_labels
from wefe.study._export import slug

if TYPE_CHECKING:
    from wefe.study import StudyResults

__all__ = [
    "to_bibtex",
    "to_eval_results",
    "to_every_eval_ever",
    "to_latex",
    "to_model_index",
    "write_cards",
]

logger = logging.getLogger(__name__)

Relationship: TypeAlias = Literal["first_party", "third_party", "collaborative", "other"]
CardFormat: TypeAlias = Literal["model-index", "every-eval-ever"]

# What measures embeddings has no task of its own on Hugging Face.
_TASK = {"type": "feature-extraction", "name": "Measurement of social bias"}
_SCALE = ["no_bias_value", "scale_min", "scale_max"]
_BESIDE = ["score_lower", "score_upper", "p_value", "words_used", "words_lost"]


def to_model_index(
    results: pd.DataFrame | StudyResults, model: str | None = None
) -> list[dict[str, Any]]:
    """Return the scores of a model as the entry 'model-index' of a Hugging Face model card.

    Parameters
    ----------
    results : DataFrame or StudyResults
        What was measured: the table of :func:`wefe.measure`, or a study.
    model : str, optional
        Which model, if there are several.

    Returns
    -------
    list of dict
        A list with one entry. Each query is a 'dataset', each score one of its 'metrics'. The
        'args' of a score are 'no_bias_value', 'scale_min' and 'scale_max' ('Infinity': none) and
        'bias', the distance from no bias; then its interval, p-value and numbers of words, if any.

    Raises
    ------
    TypeError, ValueError
        If these are no results, or have no such model.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> (card,) = to_model_index(results, "minilm-words")
    >>> card["results"][0]["dataset"]["name"]
    'Gender: Female terms and Male terms wrt Family and Career'
    >>> card["results"][0]["metrics"][0]["args"]["no_bias_value"]
    0.0
    """
    name, table = scores_of_model(results, model)
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for row in table.to_dict("records"):
        query_set, query = row["query_set"], row["query_name"]
        asked = {"type": slug(query_set), "name": f"{query_set}: {query}", "config": query}
        new = {"task": {**_TASK}, "dataset": asked, "metrics": []}
        entry = entries.setdefault((query_set, query), new)
        score = {"type": slug(row["metric"]), "name": row["metric"], "value": row["score"]}
        entry["metrics"].append({**score, "args": _facts(row)})
    return [{"name": name, "results": list(entries.values())}]


def to_eval_results(
    results: pd.DataFrame | StudyResults, dataset: str, model: str | None = None
) -> list[dict[str, Any]]:
    """Return the scores of a model in the format of '.eval_results/' files in its repository.

    Parameters
    ----------
    results, model : optional
        As in :func:`to_model_index`.
    dataset : str
        Your benchmark on Hugging Face, 'org/name': a data set whose `eval.yaml` lists the tasks.

    Returns
    -------
    list of dict
        One entry for each query set and metric. The task is called like 'gender-weat-es', the value
        is the mean distance from no bias, and the notes say how to read it.

    Raises
    ------
    TypeError, ValueError
        If these are no results, or have no such model.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> entry = to_eval_results(results, "you/bias", "minilm-words")[0]
    >>> entry["dataset"], round(entry["value"], 3)
    ({'id': 'you/bias', 'task_id': 'gender-weat-es'}, 0.235)
    >>> entry["notes"]
    'mean distance of 1 score from no bias; WEAT-ES: no bias is 0, the range is -2 to 2'
    """
    _, table = scores_of_model(results, model)
    entries = []
    for (query_set, metric), part in table.groupby(["query_set", "metric"], sort=False):
        # The scale of some metrics depends on the query.
        scales = [
            f"no bias is {no_bias:g}, the range is {low:g} to {high:g}"
            for no_bias, low, high in part[_SCALE].drop_duplicates().itertuples(index=False)
        ]
        n_scores = count(len(part), "score")
        notes = f"mean distance of {n_scores} from no bias; {metric}: {' or '.join(scales)}"
        task = f"{slug(str(query_set))}-{slug(str(metric))}"
        about = {"id": dataset, "task_id": task}
        entries.append({"dataset": about, "value": float(part["bias"].mean()), "notes": notes})
    return entries


def to_every_eval_ever(
    results: pd.DataFrame | StudyResults,
    model: str | None = None,
    *,
    model_id: str | None = None,
    organization: str = "unknown",
    relationship: Relationship = "other",
) -> dict[str, Any]:
    """Return the scores of a model as a record of Every Eval Ever, a shared schema of evaluations.

    That schema wants to know whether lower is better. So the score of a record is the distance from
    no bias, and the metric's own score is among the details.

    Parameters
    ----------
    results, model : optional
        As in :func:`to_model_index`.
    model_id : str, optional
        Its name on Hugging Face, 'org/name'; by default `model`.
    organization : str, default='unknown'
        Who measured.
    relationship : {'first_party', 'third_party', 'collaborative', 'other'}, default='other'
        Whether those who measured are those who made the model.

    Returns
    -------
    dict
        Fit for JSON, by version 0.3.0 of the schema.

    Raises
    ------
    TypeError, ValueError
        If these are no results, or have no such model.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> record = to_every_eval_ever(results, "minilm-words", organization="Example Lab")
    >>> ect = record["evaluation_results"][1]
    >>> ect["metric_config"]["additional_details"]
    {'no_bias_value': '1.0', 'scale_min': '-1.0', 'scale_max': '1.0'}
    >>> ect["score_details"]["score"], ect["score_details"]["details"]["score"]
    (0.5, '0.5')
    """
    from wefe import __version__

    check_choice("relationship", relationship, get_args(Relationship))
    name, table = scores_of_model(results, model)
    now = str(int(time.time()))
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"wefe/{model_id or name}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {"name": "wefe", "version": __version__},
        "model_info": {
            "name": name,
            "id": model_id or name,
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "unknown",
            },
        },
        "evaluation_results": [_evaluation(row) for row in table.to_dict("records")],
    }


def _evaluation(row: Mapping[Any, Any]) -> dict[str, Any]:
    no_bias, low, high = (row[name] for name in _SCALE)
    farthest = max(abs(low - no_bias), abs(high - no_bias))
    metric = row["metric"]
    return {
        "evaluation_name": f"{row['query_set']}: {row['query_name']}",
        "source_data": {"dataset_name": row["query_set"], "source_type": "other"},
        "metric_config": {
            "evaluation_description": f"Distance of {metric} from the score that means no bias",
            "metric_id": f"wefe.{slug(metric)}",
            "metric_name": metric,
            "lower_is_better": True,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": _as_data(farthest),
            "additional_details": {name: str(_as_data(row[name])) for name in _SCALE},
        },
        "score_details": {
            "score": row["bias"],
            "details": {
                name: str(row[name]) for name in ("score", *_BESIDE) if pd.notna(row[name])
            },
        },
    }


def to_latex(results: pd.DataFrame | StudyResults) -> str:
    r"""Return the scores in LaTeX, as ``wefe measure --format latex`` prints them.

    Parameters
    ----------
    results : DataFrame or StudyResults
        What was measured: the table of :func:`wefe.measure`, or a study.

    Returns
    -------
    str
        One table for each metric and query set, for the package booktabs.

    Raises
    ------
    TypeError, ValueError
        If these are no results.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> print(to_latex(results).splitlines()[2])
    \caption{WEAT-ES, Gender (no bias: 0)}
    """
    from wefe._output import as_latex, tables_of_scores

    table = tidy(results).rename(columns={"query_set": "queries"})
    return "\n".join(as_latex(title, frame) for title, frame in tables_of_scores(table))


def to_bibtex(results: pd.DataFrame | StudyResults) -> str:
    """Return the references for what was measured, as ``wefe measure --bibtex`` writes them.

    Parameters
    ----------
    results : DataFrame or StudyResults
        What was measured: the table of :func:`wefe.measure`, or a study.

    Returns
    -------
    str
        Entries for the metrics, the published query sets, intervals, adjusted p-values, audits and
        rankings that were used.

    Raises
    ------
    TypeError, ValueError
        If these are no results, or a metric is not known by the name in the table.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> [line for line in to_bibtex(results).splitlines() if line.startswith("@")][:2]
    ['@misc{caliskan2017,', '@misc{dev2019,']
    """
    from wefe._bibtex import bibtex, others_used

    table = tidy(results)
    audited = bool((table["warnings"] == "").any())
    metrics, query_sets = table["metric"].unique(), table["query_set"].unique()
    return bibtex(metrics, query_sets, others_used(table, audited=audited))


def write_cards(
    results: StudyResults,
    folder: str | os.PathLike[str],
    format: CardFormat = "model-index",  # noqa: A002 - as in `wefe report --export-format`
) -> list[str]:
    """Write a file for each model of a study, as ``wefe report --export-format`` does.

    Parameters
    ----------
    results : StudyResults
        What was measured.
    folder : path
        It is made if it does not exist.
    format : {'model-index', 'every-eval-ever'}, default='model-index'
        YAML to be pasted at the top of a model card (:func:`to_model_index`), or a record in JSON
        (:func:`to_every_eval_ever`).

    Returns
    -------
    list of str
        Names of the files.

    Raises
    ------
    ImportError
        If 'model-index' is asked for and PyYAML is not there (``wefe[hub]``).
    TypeError, ValueError
        If these are no results, or the format is unknown.

    Examples
    --------
    >>> import tempfile
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_cards(results, folder, "every-eval-ever")
    ['minilm-words.json', 'minilm-words-hard-debias-gender.json']
    """
    check_choice("format", format, get_args(CardFormat))
    if format == "model-index":
        yaml = import_library("yaml", "hub", "format='model-index'")
    Path(folder).mkdir(parents=True, exist_ok=True)
    models = tidy(results)["model_name"].unique()
    stems = unique_labels([slug(model) for model in models], "files")
    names = []
    for model, stem in zip(models, stems, strict=True):
        if format == "model-index":
            card = {"model-index": to_model_index(results, model)}
            text, suffix = yaml.safe_dump(card, sort_keys=False, allow_unicode=True), "yaml"
        else:
            text, suffix = json.dumps(to_every_eval_ever(results, model), indent=2), "json"
        names.append(f"{stem}.{suffix}")
        with atomic_file(Path(folder) / names[-1]) as file:
            file.write(text.encode())
    return names


# What was measured


def tidy(results: Any) -> pd.DataFrame:
    """Return the tidy table of what was measured."""
    table = results.to_frame() if hasattr(results, "plan") else results
    wanted = ["model_name", "query_set", "query_name", "metric", "score", *_SCALE, *_BESIDE]
    if isinstance(table, pd.DataFrame) and set(wanted) <= set(table.columns):
        return table
    raise TypeError(
        "results must be the table that wefe.measure returns, or the results of a study; got "
        f"{found(results)}."
    )


def scores_of_model(results: Any, model: str | None) -> tuple[str, pd.DataFrame]:
    """Return a model and its scores that are numbers, with 'bias', the distance from no bias."""
    from wefe.study._diff import with_bias

    table = with_bias(tidy(results))
    names = list(table["model_name"].unique())
    if model is None and len(names) != 1:
        raise ValueError(f"say which model: {', '.join(map(repr, names))}.")
    name = names[0] if model is None else model
    check_choice("model", name, names)
    table = table[table["model_name"] == name]
    undefined = table[table["score"].isna()]
    if len(undefined):
        reason = undefined["nan_reason"].iloc[0]
        logger.warning("%s: %s left out: %s", name, count(len(undefined), "score"), reason)
    return name, table[table["score"].notna()]


def _facts(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what is needed to read a score."""
    known = [name for name in _BESIDE if pd.notna(row[name])]
    return {name: _as_data(row[name]) for name in (*_SCALE, "bias", *known)}


def _as_data(number: float) -> float | str:
    """Return a number as it is, and what is infinite as a text, because JSON has no infinity."""
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
