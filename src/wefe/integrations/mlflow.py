"""Log scores to an MLflow run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from wefe._checks import import_library
from wefe._visible import unique_labels
from wefe.integrations.exports import tidy
from wefe.study._diff import with_bias

if TYPE_CHECKING:
    from wefe.study import StudyResults

__all__ = ["log_results"]

# What MLflow takes at a time, and how long a name may be.
_BATCH = 1000
_LONGEST_NAME = 240


def log_results(results: pd.DataFrame | StudyResults, *, step: int | None = None) -> None:
    """Log what was measured to the active run of MLflow.

    The run gets

    - a metric for each score that is a number, 'model/query set/metric/query', and for each query
      set the mean distance of its scores from no bias, 'model/query set/metric/mean_distance';
    - the parameters 'wefe.version' and, of a study, 'wefe.study' and those of its metrics;
    - the artefact 'wefe/scores.json', a table with every column of :func:`wefe.measure` and 'bias',
      the distance from no bias. A score that is NaN is there only, with its reason.

    Parameters
    ----------
    results : DataFrame or StudyResults
        What was measured: the table of :func:`wefe.measure`, or a study.
    step : int, optional
        The step of the training. Rows of the table have it as well.

    Raises
    ------
    ImportError
        If MLflow is not installed (``wefe[mlflow]``).
    TypeError
        If these are no results.

    Examples
    --------
    In a training loop::

        with mlflow.start_run():
            for epoch in range(10):
                model = train(epoch)
                log_results(measure("weat-es", queries, [model]), step=epoch)
    """
    from wefe import __version__

    mlflow = import_library("mlflow", "mlflow", "log_results")
    table = with_bias(tidy(results))
    params: dict[str, Any] = {"wefe.version": __version__}
    if hasattr(results, "plan"):
        params["wefe.study"] = results.plan.name
        for metric in results.plan.metrics:
            for name, value in metric.params.items():
                params[_name("wefe", metric.label, name, by=".")] = value
    mlflow.log_params(params)
    metrics = iter(_metrics(table).items())
    while batch := dict(itertools.islice(metrics, _BATCH)):
        mlflow.log_metrics(batch, step=step)
    rows = table if step is None else table.assign(step=step)
    mlflow.log_table(rows.astype(object).where(rows.notna(), None), "wefe/scores.json")


def _metrics(table: pd.DataFrame) -> Mapping[str, float]:
    """Return names and values: every score, and the mean distances."""
    scored = table[table["score"].notna()]
    places = ["model_name", "query_set", "metric"]
    values = [
        (_name(*row[:-1]), row[-1])
        for row in scored[[*places, "query_name", "score"]].itertuples(index=False)
    ]
    values += [
        (_name(*map(str, place), "mean_distance"), float(part["bias"].mean()))
        for place, part in scored.groupby(places, sort=False)
    ]
    labels = unique_labels([name for name, _ in values], "metrics of the run")
    return {_allowed(label): value for label, (_, value) in zip(labels, values, strict=True)}


def _name(*parts: str, by: str = "/") -> str:
    # A model may be called 'org/name'; here a slash begins the next part.
    return by.join(_allowed(part).replace("/", "_") for part in parts)[:_LONGEST_NAME]


def _allowed(name: str) -> str:
    return re.sub(r"[^\w.\- /]", "_", name)
