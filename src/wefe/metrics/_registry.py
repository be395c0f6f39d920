"""Find metrics by name: the built-in ones, your own, and those of other packages."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from wefe._checks import check_choice, check_sequence, found, plain_name
from wefe.metrics._base import BaseMetric

_registry: dict[str, type[BaseMetric]] = {}

MetricClass = TypeVar("MetricClass", bound=type[BaseMetric])
#: A metric class, an instance, or the name of a metric.
MetricLike: TypeAlias = type[BaseMetric] | BaseMetric | str


def register(metric: MetricClass) -> MetricClass:
    """Class decorator: make a metric available by name to the command line and to studies.

    Parameters
    ----------
    metric : type
        A subclass of :class:`BaseMetric`, which is found as by :func:`get_metric`.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> from wefe.metrics import ECT
    >>> register(ECT) is ECT is get_metric("ect")  # what @register above the class does
    True
    """
    names = {plain_name(metric.__name__), plain_name(metric.metric_short_name)}
    for name, known in _registry.items():
        same = (known.__module__, known.__qualname__) == (metric.__module__, metric.__qualname__)
        if not same and names & {name, plain_name(known.metric_short_name)}:
            raise ValueError(
                f"{known.__name__} ({known.metric_short_name}) is already registered; give "
                f"{metric.__name__} another name and short name."
            )
    _registry[plain_name(metric.__name__)] = metric
    return metric


def list_metrics() -> list[type[BaseMetric]]:
    """Return all registered metrics, the built-in ones first, sorted by class name.

    Returns
    -------
    list of type
        SEAT and CEAT, which need an encoder, are left out. Metrics of other packages with entry
        points in the group 'wefe.metrics' are included.

    Examples
    --------
    >>> [metric.metric_short_name for metric in list_metrics()][:4]
    ['Direct Bias', 'ECT', 'EQT', 'GWEAT']
    """
    return [m for m in _all_metrics() if not (m.encodes_texts and m.__module__.startswith("wefe."))]


def _all_metrics() -> list[type[BaseMetric]]:
    import wefe.metrics

    for name in dir(wefe.metrics):
        getattr(wefe.metrics, name)  # importing a metric registers it
    _load_metrics_of_others(tuple(sys.path))
    by_name = [_registry[name] for name in sorted(_registry)]
    return sorted(by_name, key=lambda metric: not metric.__module__.startswith("wefe."))


@functools.cache
def _load_metrics_of_others(path: tuple[str, ...]) -> None:  # noqa: ARG001 - what it depends on
    """Import metrics of other packages once, because searching takes milliseconds each time."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="wefe.metrics"):
        entry.load()


def get_metric(name: str) -> type[BaseMetric]:
    """Return the metric class with a given name.

    Parameters
    ----------
    name : str
        Class name or short name, ignoring case and punctuation. 'wefat' is SC-WEAT, 'weat-es' is
        WEAT.

    Returns
    -------
    type
        A subclass of :class:`BaseMetric`; ``get_metric("weat")()`` creates an instance.

    Examples
    --------
    >>> get_metric("direct-bias")
    <class 'wefe.metrics._projection.DirectBias'>
    """
    return metric_names()[metric_name(name)]


def metric_names() -> dict[str, type[BaseMetric]]:
    """Return all metrics by their names on the command line: short names in lower case."""
    names = {m.metric_short_name.lower().replace(" ", "-"): m for m in _all_metrics()}
    return {**names, "weat-es": names.get("weat-es", names["weat"])}


def metric_name(text: str) -> str:
    """Return the name of a metric in :func:`metric_names` for any name by which it is found."""
    names, plain = metric_names(), plain_name(str(text))
    of_classes = {plain_name(kind.__name__): name for name, kind in reversed(names.items())}
    # Articles call SC-WEAT so, too.
    known = {"wefat": "sc-weat"} | {plain_name(name): name for name in names} | of_classes
    if plain not in known:
        check_choice("metric", text, names)
    return known[plain]


def as_metric(metric: object) -> BaseMetric:
    if isinstance(metric, str):
        own: Any = {"return_effect_size": True} if plain_name(metric) == "weates" else {}
        return get_metric(metric)(**own)
    if isinstance(metric, BaseMetric):
        return metric
    if isinstance(metric, type) and issubclass(metric, BaseMetric):
        return metric()
    raise TypeError(f"metric must be a metric class such as WEAT; got {found(metric)}.")


def as_metrics(
    metrics: MetricLike | Sequence[MetricLike],
    as_one: Callable[[MetricLike], BaseMetric] = as_metric,
) -> list[BaseMetric]:
    """Return instances of one metric, or of several."""
    one = isinstance(metrics, str | type | BaseMetric)
    return list(map(as_one, [metrics] if one else check_sequence("metrics", metrics)))
