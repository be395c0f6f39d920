"""The result of a metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wefe._checks import listed, logger
from wefe._visible import html_table
from wefe.embeddings import EmbeddedQuery, WordSet, log_lost
from wefe.query import Query

__all__ = ["MetricResult"]

#: First words of the warning that a one-sided test misses a significant effect; tables search it.
OPPOSITE = "strong in the opposite direction"


@dataclass(frozen=True)
class WordUse:
    """The words of a set that were found and lost; see `targets` of :class:`MetricResult`."""

    name: str
    used: tuple[str, ...]
    lost: tuple[str, ...]
    n_entries: int
    lost_share: float


def uses_of(sets: Iterable[WordSet]) -> tuple[WordUse, ...]:
    """Return the words of sets, without vectors."""
    return tuple(
        WordUse(part.name, part.words, part.lost, part.n_entries, part.lost_share) for part in sets
    )


@dataclass(frozen=True)
class Measurement:
    """What `_compute` of a metric returns if the result has more entries than the score.

    Attributes
    ----------
    values : dict
        The entries of the result after 'query_name', in this order; 'result' comes first.
    nan_reason : str or None
        Why 'result' is NaN; None if it is a number, or to give a general reason.
    details : dict
        The `details` of the result.
    warnings : tuple of str
        The `warnings` of the result.

    Examples
    --------
    >>> Measurement({"result": 0.2, "lean": 0.2}, details={"by_word": {"nurse": 0.2}}).values
    {'result': 0.2, 'lean': 0.2}
    """

    values: Mapping[str, Any]
    nan_reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class MetricResult(dict[str, Any]):
    """The result of a metric: a dictionary of scores, with more facts as attributes.

    Attributes
    ----------
    query : Query
        The query.
    model_name, metric_name : str
        Names of the model and of the metric (its label in tables: 'WEAT', 'WEAT-ES').
    model_settings : dict
        Options that decided the vectors: prompt, layer, pooling ... of an encoder, and a hash of
        these and the weights; empty for tables of vectors.
    targets, attributes : tuple
        One entry per set: its `name`, the forms `used`, the words `lost` (as in the query),
        `n_entries` in the query with repetitions, and `lost_share` (0 to 1).
    nan_reason : str or None
        Why the score is NaN; None if it is a number.
    details : dict
        Further objects of the metric, for example its permutation test.
    warnings : tuple of str
        Cautions for the use of the score, also printed with the result.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import ECT
    >>> query = Query([["she", "her"], ["he", "him"]], [["math", "art", "xyzzy"]])
    >>> ECT().run_query(query, load_test_model()).nan_reason
    "'Attribute set 0' lost 33% of its words (xyzzy), more than the 20% allowed"
    """

    def __init__(self, measured: Measurement, embedded: EmbeddedQuery, metric_name: str) -> None:
        super().__init__({"query_name": embedded.query.query_name, **measured.values})
        self.query: Query = embedded.query
        self.model_name = embedded.model_name
        self.model_settings = dict(embedded.model_settings)
        self.metric_name = metric_name
        self.targets = uses_of(embedded.targets)
        self.attributes = uses_of(embedded.attributes)
        self.nan_reason = measured.nan_reason
        self.details = dict(measured.details or {})
        self.warnings = measured.warnings

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"Warning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        scores = ", ".join(f"{k}: {self[k]:.4g}" for k in ("result", "p_value") if k in self)
        rows = [
            {"set": use.name, "used": listed(use.used, 10), "lost": listed(use.lost, 10)}
            for use in self.targets + self.attributes
        ]
        why = [] if self.nan_reason is None else [f"NaN: {self.nan_reason}"]
        title = f"{self.metric_name} of {self.model_name}, {self.query.query_name}: {scores}"
        return html_table(title, rows, [*why, *self.warnings])

    @property
    def lost_words(self) -> dict[str, list[str]]:
        """Name of each set with lost words -> those words."""
        lost: dict[str, list[str]] = {}
        for use in self.targets + self.attributes:
            if use.lost:
                # A target set and an attribute set may have the same name.
                lost.setdefault(use.name, []).extend(use.lost)
        return lost


def log_result(result: MetricResult, *, with_lost_words: bool = False) -> None:
    """Log why a result is NaN, its warnings and, if you ask for it, the lost words."""
    name, model = result.query.query_name, result.model_name
    for part, lost in result.lost_words.items() if with_lost_words else ():
        log_lost(model, part, lost)
    if result.nan_reason is not None:
        logger.warning("%s is NaN for %s: %s", name, model, result.nan_reason)
    for text in result.warnings:
        logger.warning("%s of %s, %s: %s", result.metric_name, name, model, text)
