"""Methods, references and provenance, for the report."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pandas as pd

from wefe import __version__
from wefe.metrics._registry import as_metric
from wefe.report._text import TEMPLATES
from wefe.study._plan import PlannedMetric, digest
from wefe.study._results import StudyResults

#: 'aggregations', 'ties' and 'mitigations' (meaning and publication) by name.
METHODS: dict[str, dict[str, Any]] = tomllib.loads(
    (TEMPLATES / "methods.toml").read_text(encoding="utf-8")
)
_STATUSES = ["done", "failed", "missing"]
# Facts about a run, None if there was none.
_RUN = ("started", "finished", "wefe", "python", "platform", "engine", "packages")


def methods_of(results: StudyResults) -> dict[str, Any]:
    settings = results.plan.settings
    aggregation = settings["aggregation"]
    return {
        "lookup": settings["lookup"],
        "aggregation": METHODS["aggregations"][aggregation["function"]],
        "ties": METHODS["ties"][aggregation["ties"]],
        "correlation": aggregation["correlation"],
        "intervals": settings["intervals"],
        "metrics": [_metric(metric, settings["lookup"]) for metric in results.plan.metrics],
        "mitigations": [
            {**part, "about": METHODS["mitigations"].get(part["method"], ("", ""))}
            for part in settings["mitigations"]
        ],
    }


def _metric(metric: PlannedMetric, lookup: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a metric measures, and its parameters."""
    about = {
        "label": metric.label,
        "title": metric.title,
        **dict.fromkeys(("asks", "meaning", "reference"), ""),
        "params": {key: value for key, value in metric.params.items() if key not in lookup},
    }
    # Metrics of other packages may not be installed here.
    with suppress(ValueError):
        found = as_metric(metric.metric)
        about |= {"asks": found.question, "meaning": found.meaning, "reference": found.reference}
    return about


def provenance(results: StudyResults) -> dict[str, Any]:
    columns = ["kind", "status", "key", "finished", "wefe_version"]
    rows = [{"kind": task.kind, **vars(each)} for task, each in results._pairs]
    table = pd.DataFrame(rows, columns=columns)
    tasks = pd.crosstab(table["kind"], table["status"]).rename_axis(columns=None)
    tasks = tasks.reindex(table["kind"].unique(), columns=_STATUSES, fill_value=0).reset_index()
    keys, finished = sorted(table["key"].dropna()), table["finished"].dropna()
    return {
        "run": {**dict.fromkeys(_RUN), **results.run},
        "written_by": __version__,
        "tasks": tasks,
        "n_done": tasks["done"].sum(),
        "oldest": min(finished, default=None),
        "newest": max(finished, default=None),
        "versions": sorted(table["wefe_version"].dropna().unique()),
        "random_state": results.plan.settings.get("random_state"),
        "declaration": json.dumps(results.plan.settings, indent=2, ensure_ascii=False),
        "digest": digest(keys) if keys else None,
    }
