"""Export scores to model cards, evaluation records and papers.

All functions raise TypeError for wrong results and ValueError for unknown names. NaN scores are
left out and logged. Every exported score has its no-bias value and its range.
"""

from __future__ import annotations

import json
import math
import os
import time
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pandas as pd

from wefe import __version__
from wefe._checks import check_choice, found, import_library, logger
from wefe._files import write_text
from wefe._output import as_latex, bibtex, others_used, tables_of_scores
from wefe._visible import count, unique_labels
from wefe.study import StudyResults

__all__ = [
    *("to_bibtex", "to_eval_results", "to_every_eval_ever", "to_latex", "to_model_index"),
    "write_cards",
]

CardFormat: TypeAlias = Literal["model-index", "every-eval-ever"]

# Hugging Face has no task for the measurement of embeddings.
_TASK = {"type": "feature-extraction", "name": "Measurement of social bias"}
_DEPLOYMENT = {"deployment_type": "self_deployed", "model_availability": "unknown"}
_SCALE = ["no_bias_value", "scale_min", "scale_max"]
# A file name has at most 255 bytes.
_LONGEST_SLUG = 80
_BESIDE = ["score_lower", "score_upper", "p_value", "words_used", "words_lost"]


def to_model_index(
    results: pd.DataFrame | StudyResults, model: str | None = None
) -> list[dict[str, Any]]:
    """Return the scores of a model as 'model-index' metadata of a Hugging Face model card.

    Parameters
    ----------
    results : DataFrame or StudyResults
        A table of :func:`wefe.measure`, or the results of a study.
    model : str, optional
        Name of the model; needed if there are several.

    Returns
    -------
    list of dict
        A list with one entry, in which each query is a 'dataset' and each score one of its
        'metrics'. The 'args' of a score are 'no_bias_value', 'scale_min' and 'scale_max' (or
        'Infinity'), 'bias' (distance from no bias) and, if known, interval, p-value and numbers of
        words.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> to_model_index(results, "minilm-words")[0]["results"][0]["dataset"]["name"]
    'Gender: Female terms and Male terms wrt Family and Career'
    """
    name, table = scores_of_model(results, model)
    entries = []
    for (query_set, query), part in table.groupby(["query_set", "query_name"], sort=False):
        asked = {"type": slug(str(query_set)), "name": f"{query_set}: {query}", "config": query}
        scores = [_score(row) for row in part.to_dict("records")]
        entries.append({"task": {**_TASK}, "dataset": asked, "metrics": scores})
    return [{"name": name, "results": entries}]


def to_eval_results(
    results: pd.DataFrame | StudyResults, dataset: str, model: str | None = None
) -> list[dict[str, Any]]:
    """Return the scores of a model for the '.eval_results/' folder of a Hugging Face repository.

    Parameters
    ----------
    results, model : optional
        As in :func:`to_model_index`.
    dataset : str
        Your benchmark on Hugging Face, 'org/name': a data set whose `eval.yaml` lists the tasks.

    Returns
    -------
    list of dict
        One entry per query set and metric: a task such as 'gender-weat-es', the mean distance from
        no bias as value, and notes on how to read it.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> entry = to_eval_results(results, "you/bias", "minilm-words")[0]
    >>> entry["dataset"], round(entry["value"], 3)
    ({'id': 'you/bias', 'task_id': 'gender-weat-es'}, 0.235)
    """
    _, table = scores_of_model(results, model)
    entries = []
    for (query_set, metric), part in table.groupby(["query_set", "metric"], sort=False):
        # The scale of some metrics depends on the query.
        scales = part[_SCALE].drop_duplicates().itertuples(index=False)
        ranges = ["no bias is {:g}, the range is {:g} to {:g}".format(*scale) for scale in scales]
        n_scores = count(len(part), "score")
        notes = f"mean distance of {n_scores} from no bias; {metric}: {' or '.join(ranges)}"
        about = {"id": dataset, "task_id": f"{slug(str(query_set))}-{slug(str(metric))}"}
        entries.append({"dataset": about, "value": float(part["bias"].mean()), "notes": notes})
    return entries


def to_every_eval_ever(
    results: pd.DataFrame | StudyResults, model: str | None = None
) -> dict[str, Any]:
    """Return the scores of a model as a record of Every Eval Ever, a shared evaluation schema.

    The score of a record is the distance from no bias (lower is better), because the schema needs a
    fixed direction. The score of the metric is in its details. Set 'source_metadata' (who measured)
    and the 'id' in 'model_info' (by default `model`) before you publish the record.

    Parameters
    ----------
    results, model : optional
        As in :func:`to_model_index`.

    Returns
    -------
    dict
        JSON data in version 0.3.0 of the schema.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> record = to_every_eval_ever(results, "minilm-words")
    >>> record["evaluation_results"][1]["score_details"]["score"]
    0.5
    """
    name, table = scores_of_model(results, model)
    now = str(int(time.time()))
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"wefe/{name}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "wefe", "version": __version__},
        "model_info": {"name": name, "id": name, "additional_details": _DEPLOYMENT},
        "evaluation_results": [_evaluation(row) for row in table.to_dict("records")],
    }


def _evaluation(row: Mapping[Any, Any]) -> dict[str, Any]:
    no_bias, low, high = (row[name] for name in _SCALE)
    farthest = max(abs(low - no_bias), abs(high - no_bias))
    metric = row["metric"]
    known = {name: str(row[name]) for name in ("score", *_BESIDE) if pd.notna(row[name])}
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
        "score_details": {"score": row["bias"], "details": known},
    }


def to_latex(results: pd.DataFrame | StudyResults) -> str:
    r"""Return a booktabs table per metric and query set, like ``wefe measure --format latex``.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> print(to_latex(results).splitlines()[2])
    \caption{WEAT-ES, Gender (no bias: 0)}
    """
    table = tidy(results).rename(columns={"query_set": "queries"})
    return "\n".join(as_latex(title, frame) for title, frame in tables_of_scores(table))


def to_bibtex(results: pd.DataFrame | StudyResults) -> str:
    """Return BibTeX entries of metrics, query sets and methods, like ``wefe measure --bibtex``.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> to_bibtex(results).splitlines()[0]
    '@misc{caliskan2017,'
    """
    table = tidy(results)
    audited = bool((table["warnings"] == "").any())
    metrics, query_sets = table["metric"].unique(), table["query_set"].unique()
    return bibtex(metrics, query_sets, others_used(table, audited=audited))


def write_cards(
    results: StudyResults,
    folder: str | os.PathLike[str],
    format: CardFormat = "model-index",  # noqa: A002 - as in `wefe report --export-format`
) -> list[str]:
    """Write one file per model of a study, like ``wefe report --export-format``.

    Parameters
    ----------
    results : StudyResults
        The results of a study.
    folder : path
        Created if needed.
    format : {'model-index', 'every-eval-ever'}, default='model-index'
        YAML to paste at the top of a model card (:func:`to_model_index`; needs the extra 'hub'),
        or a JSON record (:func:`to_every_eval_ever`).

    Returns
    -------
    list of str
        Names of the files.

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
        write_text(Path(folder, names[-1]), text)
    return names


def slug(text: str) -> str:
    """Return the letters and digits of a text in lower case, since some disks ignore case."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    parts = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    cut = "-".join(parts).encode()[:_LONGEST_SLUG].decode(errors="ignore")
    return cut.strip("-") or "unnamed"


# Reading results


def tidy(results: Any) -> pd.DataFrame:
    table = results.to_frame() if hasattr(results, "plan") else results
    wanted = ["model_name", "query_set", "query_name", "metric", "score", "bias", *_SCALE, *_BESIDE]
    if not isinstance(table, pd.DataFrame) or not {*wanted} <= {*table.columns}:
        raise TypeError(
            f"results must be a table of wefe.measure or of a study; got {found(results)}."
        )
    return table


def scores_of_model(results: Any, model: str | None) -> tuple[str, pd.DataFrame]:
    """Return a model name and its defined scores, with 'bias' (the distance from no bias)."""
    table = tidy(results)
    names = list(table["model_name"].unique())
    if model is None and len(names) != 1:
        raise ValueError(f"choose one of {len(names)} models with the parameter model: {names}.")
    name = names[0] if model is None else model
    check_choice("model", name, names)
    table = table[table["model_name"] == name]
    undefined = table[table["score"].isna()]
    if len(undefined):
        reason = undefined["nan_reason"].iloc[0]
        what = count(len(undefined), "undefined score")
        logger.warning("%s: left out %s; the first reason: %s", name, what, reason)
    return name, table[table["score"].notna()]


def _score(row: Mapping[Any, Any]) -> dict[str, Any]:
    metric, known = row["metric"], [name for name in _BESIDE if pd.notna(row[name])]
    facts = {name: _as_data(row[name]) for name in (*_SCALE, "bias", *known)}
    return {"type": slug(metric), "name": metric, "value": row["score"], "args": facts}


def _as_data(number: float) -> float | str:
    """Return a number, or a string for infinity, which JSON does not have."""
    return str(number).replace("inf", "Infinity") if math.isinf(number) else number
