"""Log scores to an MLflow run."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from wefe import __version__
from wefe._checks import import_library
from wefe._visible import unique_labels
from wefe.integrations.exports import tidy
from wefe.study import StudyResults

__all__ = ["log_results"]

# Limit of MLflow.
_LONGEST_NAME = 240


def log_results(results: pd.DataFrame | StudyResults, *, step: int | None = None) -> None:
    """Log scores to the active MLflow run (``pip install "wefe[mlflow]"``).

    The run gets

    - metrics: each score as 'model/query set/metric/query', and the mean distance from no bias as
      'model/query set/metric/mean_distance';
    - parameters: 'wefe.version' and, for a study, 'wefe.study' and the parameters of its metrics;
    - the artifact 'wefe/scores.json': the table of :func:`wefe.measure` with 'bias' (distance from
      no bias). Undefined scores and their reasons appear only there.

    Parameters
    ----------
    results : DataFrame or StudyResults
        A table of :func:`wefe.measure`, or the results of a study.
    step : int, optional
        Training step, also added to the table.

    Examples
    --------
    In a training loop::

        with mlflow.start_run():
            for epoch in range(10):
                model = train(epoch)
                log_results(measure("weat-es", queries, [model]), step=epoch)
    """
    mlflow = import_library("mlflow", "mlflow", "log_results")
    table = tidy(results)
    params: dict[str, Any] = {"wefe.version": __version__}
    if hasattr(results, "plan"):
        params["wefe.study"] = results.plan.name
        for metric in results.plan.metrics:
            for name, value in metric.params.items():
                params[_name("wefe", metric.label, name, by=".")] = value
    mlflow.log_params(params)
    mlflow.log_metrics(_metrics(table), step=step)
    rows = table if step is None else table.assign(step=step)
    mlflow.log_table(rows.astype(object).where(rows.notna(), None), "wefe/scores.json")


def _metrics(table: pd.DataFrame) -> dict[str, float]:
    places = ["model_name", "query_set", "metric"]
    scored = table[table["score"].notna()]
    means = scored.groupby(places, sort=False)["bias"].apply(pd.Series.mean).rename("score")
    rows = pd.concat([scored, means.reset_index().assign(query_name="mean_distance")])
    names = [_name(*row) for row in rows[[*places, "query_name"]].itertuples(index=False)]
    labels = unique_labels(names, "metrics of the run")
    return dict(zip(map(_allowed, labels), rows["score"], strict=True))


def _name(*parts: str, by: str = "/") -> str:
    # Slashes separate parts, so replace those in names such as 'org/name'.
    return by.join(_allowed(part).replace("/", "_") for part in parts)[:_LONGEST_NAME]


def _allowed(name: str) -> str:
    return re.sub(r"[^\w.\- /]", "_", name)
