"""The result of a metric."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wefe._checks import check_bool, listed
from wefe._visible import html_table
from wefe.embeddings import EmbeddedQuery, WordSet
from wefe.query import Query

__all__ = ["MetricResult", "WordUse"]

logger = logging.getLogger(__name__)

#: Begins the warning of a one-sided test that misses a significant effect; tables look for it.
OPPOSITE = "strong in the opposite direction"


@dataclass(frozen=True)
class WordUse:
    """Which words of a set were found and used.

    Attributes
    ----------
    name : str
        Name of the set.
    used : tuple of str
        The forms found in the vocabulary.
    lost : tuple of str
        The words, as the query has them, of which no variant was found.
    n_entries : int
        Number of entries of the set in the query, repetitions included.
    lost_share : float
        Share of the entries that were lost, between 0 and 1.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import ECT
    >>> query = Query([["she", "her"], ["he", "him"]], [["math", "art", "xyzzy"]])
    >>> result = ECT().run_query(query, load_test_model())
    >>> result.attributes[0]
    WordUse(name='Attribute set 0', used=('math', 'art'), lost=('xyzzy',), n_entries=3,
    lost_share=0.3333333333333333)
    """

    name: str
    used: tuple[str, ...]
    lost: tuple[str, ...]
    n_entries: int
    lost_share: float

    @classmethod
    def of(cls, part: WordSet) -> WordUse:
        """Summarise an embedded set, without its vectors.

        Parameters
        ----------
        part : WordSet
            The set after look-up.

        Returns
        -------
        WordUse
            Its words and counts.
        """
        return cls(part.name, part.words, part.lost, part.n_entries, part.lost_share)


class MetricResult(dict[str, Any]):
    """The result dictionary of a metric, with further facts as attributes.

    Attributes
    ----------
    query : Query
        What was asked.
    model_name : str
        Which model answered.
    metric_name : str
        Short name of the metric, as it heads columns: 'WEAT', 'WEAT-ES'.
    targets, attributes : tuple of WordUse
        The words used and lost, per set.
    nan_reason : str or None
        Why the result is NaN; None if it is a number.
    details : dict
        Whatever else the metric knows, for example the permutation test behind a p-value.
    warnings : tuple of str
        What to know before you use the result. It is printed with the result, too.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import ECT
    >>> query = Query([["she", "her"], ["he", "him"]], [["math", "art", "xyzzy"]])
    >>> result = ECT().run_query(query, load_test_model())
    >>> result["result"]
    nan
    >>> result.nan_reason
    "'Attribute set 0' lost 33% of its words (xyzzy), more than the 20% allowed"
    >>> result.attributes[0].used
    ('math', 'art')
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        embedded: EmbeddedQuery,
        metric_name: str,
        nan_reason: str | None = None,
        details: Mapping[str, Any] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        super().__init__(values)
        self.query: Query = embedded.query
        self.model_name = embedded.model_name
        self.metric_name = metric_name
        self.targets = tuple(WordUse.of(part) for part in embedded.targets)
        self.attributes = tuple(WordUse.of(part) for part in embedded.attributes)
        self.nan_reason = nan_reason
        self.details = dict(details or {})
        self.warnings = warnings

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"Warning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        scores = ", ".join(f"{k}: {self[k]:.4g}" for k in ("result", "p_value") if k in self)
        rows = [
            {
                "set": use.name,
                "used": listed(use.used, 10),
                "out of vocabulary": listed(use.lost, 10),
            }
            for use in self.targets + self.attributes
        ]
        why = [] if self.nan_reason is None else [f"NaN: {self.nan_reason}"]
        title = f"{self.metric_name} of {self.model_name}, {self.query.query_name}: {scores}"
        return html_table(title, rows, [*why, *self.warnings])

    @property
    def lost_words(self) -> dict[str, list[str]]:
        """The lost words of every set that lost any, by name of the set."""
        lost: dict[str, list[str]] = {}
        for use in self.targets + self.attributes:
            if use.lost:
                # A target set and an attribute set may have one name.
                lost.setdefault(use.name, []).extend(use.lost)
        return lost


def log_result(result: MetricResult, *, with_lost_words: bool = False) -> None:
    """Log why a result is NaN, and its warnings; on request also the words that were lost."""
    name, model = result.query.query_name, result.model_name
    check_bool("warn_not_found_words", with_lost_words)
    for part, lost in result.lost_words.items() if with_lost_words else ():
        logger.warning("%s lacks %d words of %r: %s", model, len(lost), part, ", ".join(lost))
    if result.nan_reason is not None:
        logger.warning("%s is NaN for %s: %s", name, model, result.nan_reason)
    for text in result.warnings:
        logger.warning("%s of %s, %s: %s", result.metric_name, name, model, text)
