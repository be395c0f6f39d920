"""What the report says of how results were made: methods, references, provenance."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wefe.metrics._registry import as_metric
from wefe.report import _methods
from wefe.report._paired import LEAST_CLUSTERS

if TYPE_CHECKING:
    from wefe.study._plan import PlannedMetric
    from wefe.study._results import StudyResults

# What is known of a run, unless it was never made.
_RUN = ("started", "finished", "wefe", "python", "platform", "engine", "packages")


def methods_of(results: StudyResults) -> dict[str, Any]:
    plan, settings = results.plan, results.plan.settings
    lookup, aggregation = settings["lookup"], settings["aggregation"]
    lookup_names = set(lookup)
    own = {part["method"]: part for part in settings["mitigations"]}
    intervals = settings["intervals"]
    unknown = _methods.Method("", "")
    references = [_methods.FRAMEWORK]
    if intervals["n_bootstrap"]:
        references.append(_methods.BOOTSTRAP)
    if results.of_kind("silhouette"):
        references.append(_methods.SILHOUETTES)
    if results.of_kind("direction") or settings["audit"]["scores"]:
        references.append(_methods.AUDITS)
    return {
        "forms": _forms(lookup["preprocessors"]),
        "lookup": lookup,
        "aggregation": _methods.AGGREGATIONS.get(aggregation["function"], aggregation["function"]),
        "ties": _methods.TIES.get(aggregation["ties"], aggregation["ties"]),
        "correlation": aggregation["correlation"],
        "intervals": intervals,
        "least_clusters": LEAST_CLUSTERS,
        "metrics": [
            {
                "label": metric.label,
                "title": metric.title,
                **_facts(metric.metric),
                "range": _range(*_bounds(results, metric)),
                "no_bias_value": metric.scale.no_bias_value,
                "params": {
                    key: value for key, value in metric.params.items() if key not in lookup_names
                },
                "query_sets": list(metric.query_sets),
            }
            for metric in plan.metrics
        ],
        "mitigations": [
            {
                "method": name,
                "criterion": part["criterion"],
                "meaning": _methods.MITIGATIONS.get(name, unknown).meaning,
                "reference": _methods.MITIGATIONS.get(name, unknown).reference,
                "params": part["params"],
            }
            for name, part in own.items()
        ],
        "references": references,
    }


def _bounds(results: StudyResults, metric: PlannedMetric) -> tuple[float, float]:
    """Return the bounds of scores over the queries that are asked, as far as they are known."""
    from wefe.metrics._registry import get_metric

    asked = {
        task.identity["query"]: task.identity
        for task, _ in results.of_kind("score")
        if task.place["metric"] == metric.label and "query" in task.identity
    }
    try:
        scales = [
            get_metric(identity["metric"])().scale(
                results.plan.queries[query], **identity["params"]
            )
            for query, identity in asked.items()
        ]
    # A metric of somebody else may not be installed where the report is written.
    except (LookupError, TypeError, ValueError):
        scales = []
    ranges = [scale.value_range for scale in scales] or [metric.scale.value_range]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _range(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "scores have no bounds"
    if math.isinf(high):
        return f"scores are at least {low:g}"
    return (
        f"scores are at most {high:g}" if math.isinf(low) else f"scores are {low:.4g} to {high:.4g}"
    )


def _forms(preprocessors: Sequence[Mapping[str, Any]]) -> str:
    return ", then ".join(
        " and ".join(f"{key}={value}" for key, value in form.items()) or "written"
        for form in preprocessors
    )


def provenance(results: StudyResults) -> dict[str, Any]:
    from wefe import __version__
    from wefe.study._plan import digest

    kinds: dict[str, dict[str, int]] = {}
    for task, outcome in zip(results.plan.tasks, results.outcomes, strict=True):
        counts = kinds.setdefault(task.kind, {"done": 0, "failed": 0, "missing": 0})
        counts[outcome.status] += 1
    pairs = zip(results.plan.tasks, results.outcomes, strict=True)
    keys = [(task.name, outcome.key) for task, outcome in pairs if outcome.key is not None]
    n_done = sum(counts["done"] for counts in kinds.values())
    n_computed = results.run.get("n_computed")
    finished = [outcome.finished for outcome in results.outcomes if outcome.finished]
    return {
        "run": {**dict.fromkeys(_RUN), **results.run},
        "written_by": __version__,
        "tasks": [{"kind": kind, **counts} for kind, counts in kinds.items()],
        "n_done": n_done,
        "n_computed": n_computed,
        "n_kept": None if n_computed is None else max(0, n_done - n_computed),
        "oldest": min(finished, default=None),
        "newest": max(finished, default=None),
        "versions": sorted({o.version for o in results.outcomes if o.version is not None}),
        "random_state": results.plan.settings.get("random_state"),
        "declaration": as_toml(_said(results.plan.settings)),
        "digest": digest(sorted(key for _, key in keys)) if keys else None,
        "keys": [list(pair) for pair in keys],
    }


def as_toml(table: Mapping[str, Any], path: str = "") -> str:
    """Return plain data as TOML, as study files are written in it.

    Examples
    --------
    >>> print(as_toml({"name": "A", "models": [{"source": "demo"}]}))
    name = "A"
    <BLANKLINE>
    [[models]]
    source = "demo"
    """
    lines, blocks = [], []
    for key, value in table.items():
        # JSON's texts, numbers and lists are TOML as well.
        name = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _as_json(key)
        place = f"{path}.{name}" if path else name
        if isinstance(value, Mapping):
            blocks.append(f"[{place}]\n{as_toml(value, place)}".rstrip())
        elif isinstance(value, list) and value and all(isinstance(x, Mapping) for x in value):
            blocks += [f"[[{place}]]\n{as_toml(part, place)}".rstrip() for part in value]
        else:
            lines.append(f"{name} = {_as_json(value)}")
    return "\n\n".join(["\n".join(lines), *blocks] if lines else blocks)


def _as_json(value: Any) -> str:
    # The only character that JSON may leave as it is and TOML may not.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _said(value: Any) -> Any:
    """Leave out of a declaration what says nothing."""
    if isinstance(value, Mapping):
        parts = {key: _said(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part not in (None, {}, [])}
    if isinstance(value, list | tuple):
        return [_said(part) for part in value]
    return value


def _facts(name: str) -> dict[str, str]:
    """Return what a metric asks and means, and its publication; nothing of one that is unknown."""
    try:
        metric = as_metric(name)
    except ValueError:  # of another package, which is not installed here
        return {"asks": "", "meaning": "", "reference": ""}
    return {"asks": metric.question, "meaning": metric.meaning, "reference": metric.reference}
