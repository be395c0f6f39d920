"""What every metric shares: look-up, template check, result, scale and order.

A metric is a pure function on arrays plus a class of a few lines::

    @register
    class MyMetric(BaseMetric):
        metric_template = (2, 1)
        metric_name = "My Metric"
        metric_short_name = "MM"

        def _compute(self, targets, attributes):
            return my_metric(*[s.vectors for s in targets], attributes[0].vectors)
"""

from __future__ import annotations

import copy
import inspect
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import found, nearest
from wefe.embeddings import (
    DEFAULT_THRESHOLD,
    EmbeddedSet,
    Lookup,
    UnanswerableError,
    embed_query,
)
from wefe.metrics._geometry import Vectors
from wefe.metrics._pairs import paired_vectors, too_few_tuples
from wefe.metrics._word_counts import WordCounts, n_cases_of
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, Template, check_query
from wefe.results import MetricResult

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scale:
    """How the scores of a metric are to be read.

    Attributes
    ----------
    label : str
        Short name of the score, as it heads columns.
    value_range : (float, float)
        Smallest and largest possible score; infinite where there is no bound.
    no_bias_value : float
        The score that means that no bias was measured.

    See Also
    --------
    wefe.metrics.BaseMetric.scale : where one gets it.

    Examples
    --------
    MAC is a distance, and 1 means that no bias was measured, so that neither the smallest nor the
    largest score is the best one:

    >>> from wefe.metrics import MAC
    >>> scale = MAC().scale()
    >>> scale
    Scale(label='MAC', value_range=(0.0, 2.0), no_bias_value=1.0)
    >>> sorted([0.7, 1.2, 0.95], key=scale.bias)
    [0.95, 1.2, 0.7]
    """

    label: str
    value_range: tuple[float, float]
    no_bias_value: float

    def bias(self, scores: Any) -> Any:
        """Distance from the value that means no bias: the order "less biased than".

        A score is less biased than another one if this is smaller (WEFE paper, section 3.1: for
        WEAT and RND ``|x| <= |y|``, for RNSB ``x <= y``; ECT is better when higher, MAC when nearer
        to 1).

        Parameters
        ----------
        scores : float, ndarray, Series or DataFrame
            Scores on this scale.

        Returns
        -------
        float, or as `scores`
            ``abs(scores - no_bias_value)``, at least 0; NaN where a score is NaN.

        Examples
        --------
        >>> from wefe.metrics import ECT
        >>> scale = ECT().scale()
        >>> bool(scale.bias(0.9) < scale.bias(0.2))
        True
        """
        return abs(scores - self.no_bias_value)


@dataclass(frozen=True)
class Measurement:
    """What `_compute` of a metric returns when it has more to say than one number.

    Attributes
    ----------
    values : dict
        The result dictionary after 'query_name', 'result' first, in its documented order.
    nan_reason : str or None
        Why 'result' is NaN; None if it is a number. Without a reason a NaN gets a general one.
    details : dict
        What goes on the `details` attribute of the result.
    warnings : tuple of str
        What goes on its `warnings` attribute.

    See Also
    --------
    wefe.metrics.BaseMetric : what it is returned to.
    wefe.results.MetricResult : what users get.

    Examples
    --------
    A metric that says what each word contributes:

    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import BaseMetric, Measurement, association
    >>> class Leaning(BaseMetric):
    ...     metric_template = (1, 2)
    ...     metric_name = "Leaning"
    ...     metric_short_name = "LEAN"
    ...
    ...     def _compute(self, targets, attributes):
    ...         (words,), (a, b) = targets, attributes
    ...         s = association(words.vectors, a.vectors, b.vectors)
    ...         by_word = dict(zip(words.words, s.tolist()))
    ...         score = float(s.mean())
    ...         return Measurement({"result": score, "lean": score}, details={"by_word": by_word})
    >>> query = Query([["nurse", "engineer"]], [["she", "woman"], ["he", "man"]])
    >>> result = Leaning().run_query(query, load_test_model())
    >>> list(result), list(result.details["by_word"])
    (['query_name', 'result', 'lean'], ['nurse', 'engineer'])
    """

    values: Mapping[str, Any]
    nan_reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class BaseMetric:
    """Base class of the metrics.

    A metric declares the first three of these attributes, and more of them where they differ from
    the defaults.

    Attributes
    ----------
    metric_template : tuple of (int or 'n')
        Number of target and of attribute sets of the queries it answers; 'n' for any number.
    metric_name : str
        Its name in full.
    metric_short_name : str
        The acronym that heads columns.
    metric_template_minimum : tuple of int
        The smallest numbers that 'n' stands for; (1, 1) by default.
    value_range : tuple of float
        Smallest and largest score; unbounded by default.
    no_bias_value : float
        The score that means that no bias was measured; 0 by default.
    encodes_texts : bool
        Asks an encoder for the vectors of texts of its own, as SEAT does, not for those of words;
        it is then run where the encoder is. False by default.
    needs_vocabulary : bool
        Looks at more words than those of the query, such as their nearest neighbours, so that a
        model has to be opened whole. Its `_compute` is given the model, too, as `model`. False by
        default.
    takes_original : bool
        `run_query` takes `original`, the model before mitigation, in which directions are then
        found; studies and comparisons pass it. False by default.
    nan_values : dict
        The entries, after 'result', of the result of a query that cannot be answered; by default
        NaN under the short name in lower case.

    See Also
    --------
    wefe.metrics.register : makes a metric known by its name.
    wefe.running.run_queries : many queries and models.

    Notes
    -----
    Either define ``_compute(targets, attributes)`` or override `run_query` as a whole. For
    `_compute` words are looked up: it gets two sequences of :class:`wefe.embeddings.EmbeddedSet`,
    whose `vectors` have shape (n_words, dim), and returns a number or a
    :class:`wefe.metrics.Measurement`. It is called only if every set kept enough of its words.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import BaseMetric, association
    >>> class LargestLean(BaseMetric):
    ...     metric_template = (1, 2)
    ...     metric_name = "Largest Lean"
    ...     metric_short_name = "LL"
    ...     value_range = (0.0, 2.0)
    ...
    ...     def _compute(self, targets, attributes):
    ...         (words,), (a, b) = targets, attributes
    ...         return abs(association(words.vectors, a.vectors, b.vectors)).max()
    >>> query = Query([["nurse", "engineer"]], [["she", "woman"], ["he", "man"]])
    >>> result = LargestLean().run_query(query, load_test_model())
    >>> list(result), 0 < result["ll"] < 2
    (['query_name', 'result', 'll'], True)
    """

    metric_template: ClassVar[Template]
    metric_name: ClassVar[str]
    metric_short_name: ClassVar[str]
    metric_template_minimum: ClassVar[tuple[int, int]] = (1, 1)
    value_range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    no_bias_value: ClassVar[float] = 0.0
    encodes_texts: ClassVar[bool] = False
    needs_vocabulary: ClassVar[bool] = False
    takes_original: ClassVar[bool] = False
    nan_values: ClassVar[Mapping[str, Any] | None] = None

    #: Parameters with which scores of subsets of the words can be compared: bounded, not random.
    _params_for_subsets: ClassVar[Mapping[str, Any]] = {}

    #: Computes the score from the target sets and attribute sets and the metric's own parameters.
    _compute: Callable[..., float | Measurement]

    def run_query(
        self, query: Query, model: WordEmbeddingModel, **lookup: Unpack[Lookup]
    ) -> MetricResult:
        """Measure the bias of a model with respect to a query.

        Parameters
        ----------
        query : Query
            The target and attribute sets; their numbers must fit the template of the metric.
        model : WordEmbeddingModel
            The model to be measured.
        **lookup
            How words are looked up: `lost_vocabulary_threshold`, `preprocessors`, `strategy`,
            `normalize`, `warn_not_found_words`; see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            A dictionary with 'query_name', 'result' and what the metric adds. 'result' is NaN, with
            the reason in the attribute `nan_reason`, if the query cannot be answered: a set lost
            more words than `lost_vocabulary_threshold` allows, or the score is undefined.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, an option is unknown or of a wrong type, or
            the metric does not declare what it has to.
        ValueError
            If the query has other numbers of sets than the metric takes, or an option has no such
            value.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector; it is a ValueError, too.
        """
        return self._run(query, model, lookup)

    def scale(self, query: Query | None = None, **params: Any) -> Scale:  # noqa: ARG002
        """Say how scores are to be read: label, range, and the value that means no bias.

        Parameters
        ----------
        query : Query, optional
            With a query the range is as tight as its set sizes allow, where the metric knows it.
            Lost words change these sizes, and so perhaps the range a little.
        **params
            Parameters that `run_query` is called with; some select another score.

        Returns
        -------
        Scale
            What heads columns, the smallest and largest score, and the score that means that no
            bias was measured.
        """
        return Scale(self.metric_short_name, self.value_range, self.no_bias_value)

    def accepts(self, query: Query) -> bool:
        """Tell whether a query has the shape that the metric asks for.

        Parameters
        ----------
        query : Query
            Any query; its words do not matter.

        Returns
        -------
        bool
            True if its numbers of target and of attribute sets fit `metric_template`, where 'n'
            stands for any number from `metric_template_minimum` on.
        """
        return query.satisfies(self.metric_template, self.metric_template_minimum)

    def subqueries(self, query: Query) -> list[Query]:
        """Return the query if the metric accepts it, otherwise its subqueries that fit.

        Parameters
        ----------
        query : Query
            Any query.

        Returns
        -------
        list of Query
            The query alone, or all combinations of its sets that have the metric's template (see
            :meth:`wefe.query.Query.get_subqueries`); empty if it has too few sets.
        """
        if self.accepts(query):
            return [query]
        parts = query.get_subqueries(self.metric_template, self.metric_template_minimum)
        return [part for part in parts if self.accepts(part)]

    def _run(
        self, query: Query, model: WordEmbeddingModel, lookup: Lookup, **params: Any
    ) -> MetricResult:
        self._check_input(query, model)
        if not hasattr(self, "_compute"):
            raise TypeError(
                f"{type(self).__name__} defines neither _compute nor run_query; a metric needs one."
            )
        self._check_lookup(lookup)
        embedded = embed_query(model, query, **lookup)
        unanswerable = embedded.nan_reason
        if unanswerable is None and self._pairs_targets(**params):
            unanswerable = too_few_tuples(
                embedded.targets, lookup.get("lost_vocabulary_threshold", DEFAULT_THRESHOLD)
            )
        if unanswerable is None and self.needs_vocabulary:
            unanswerable = _why_not_whole(model)
            params["model"] = model
        if unanswerable is None:
            measured = self._compute(embedded.targets, embedded.attributes, **params)
            if isinstance(measured, Measurement):
                self._as_score(measured.values.get("result"))
            else:
                score = self._as_score(measured)
                measured = Measurement({"result": score, self.metric_short_name.lower(): score})
        else:
            measured = self._undefined(unanswerable)
        reason = measured.nan_reason
        if reason is None and math.isnan(measured.values["result"]):
            reason = f"{self.metric_short_name} is undefined for these vectors"
        if reason is not None and reason != embedded.nan_reason:
            # What look-up found is logged there.
            logger.warning("%s is NaN for %s: %s", query.query_name, model.name, reason)
        return MetricResult(
            {"query_name": query.query_name, **measured.values},
            embedded,
            self.scale(query, **params).label,
            reason,
            measured.details,
            measured.warnings,
        )

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        """Score many variants of a query at once: subsets of its words, or repeated words.

        This calls `_compute` for each. A metric that knows what its variants have in common
        overrides it.

        Parameters
        ----------
        targets, attributes : sequence of EmbeddedSet
            The sets, as `without_losses` makes them.
        counts : sequence of WordCounts
            For each set, targets first, how often each word counts in each case.
        **params
            As for `_compute`.

        Returns
        -------
        ndarray of shape (n_cases,)
            NaN where the score is undefined.
        """
        every = range(n_cases_of(counts))
        return np.array(
            [self._compute_case(targets, attributes, counts, case, **params) for case in every]
        )

    def _compute_case(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        case: int,
        **params: Any,
    ) -> float:
        sets = [
            case_of(part, count, case)
            for part, count in zip((*targets, *attributes), counts, strict=True)
        ]
        try:
            measured = self._compute(sets[: len(targets)], sets[len(targets) :], **params)
        except UnanswerableError:
            return math.nan
        if isinstance(measured, Measurement):
            measured = measured.values["result"]
        return self._as_score(measured)

    def _as_score(self, value: object) -> float:
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise TypeError(
                f"{type(self).__name__}._compute must return a number, or a Measurement with one "
                f"under 'result'; got {found(value)}."
            ) from None

    def _undefined(self, reason: str, details: Mapping[str, Any] | None = None) -> Measurement:
        nan_values = self.nan_values or {self.metric_short_name.lower(): math.nan}
        # A copy: users may write into what they get.
        values = {"result": math.nan, **copy.deepcopy(dict(nan_values))}
        return Measurement(values, reason, details or {})

    def _pairs_targets(self, **params: Any) -> bool:  # noqa: ARG002
        """Tell whether word i of each target set belong together, with these parameters."""
        return False

    def _check_lookup(self, lookup: Mapping[str, Any]) -> None:
        # A misspelt option would otherwise be a silent default.
        unknown = [name for name in lookup if name not in Lookup.__annotations__]
        if not unknown:
            return
        own = [
            parameter.name
            for parameter in inspect.signature(self.run_query).parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        known = own[2:] + list(Lookup.__annotations__)  # without query and model
        raise TypeError(
            f"{type(self).__name__}.run_query has no parameter {', '.join(map(repr, unknown))}; "
            f"it has {', '.join(known)}.{nearest(unknown[0], known)}"
        )

    def _check_input(self, query: Query, model: WordEmbeddingModel) -> None:
        check_query(query)
        check_model(model)
        for fact in ("metric_template", "metric_name", "metric_short_name"):
            if not hasattr(self, fact):
                raise TypeError(f"{type(self).__name__} must declare {fact}.")
        if not self.accepts(query):
            name = self.metric_name
            raise ValueError(
                f"{name} needs {self._wanted_shape()}; {query.query_name!r} has "
                f"{query.template[0]} and {query.template[1]}. Query.get_subqueries, or "
                "run_queries(generate_subqueries=True), takes larger queries apart."
            )

    def _wanted_shape(self) -> str:
        numbers = [
            f"{least} or more" if want == "n" else str(want)
            for want, least in zip(self.metric_template, self.metric_template_minimum, strict=True)
        ]
        return f"{numbers[0]} target and {numbers[1]} attribute sets"

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _why_not_whole(model: WordEmbeddingModel) -> str | None:
    if model.held != "selected":
        return None
    return (
        f"{model.name} was opened for {len(model.wv.asked):,} words only, and the whole vocabulary "
        "is needed"
    )


def picked(part: EmbeddedSet, rows: npt.ArrayLike) -> EmbeddedSet:
    """Return a set of some words of a set, in that order; a word may come several times."""
    chosen = np.asarray(rows, dtype=np.intp)
    words = tuple(part.words[row] for row in chosen)
    return EmbeddedSet(part.name, words, part.vectors[chosen], (), tuple(range(len(chosen))))


def case_of(part: EmbeddedSet, counts: WordCounts, case: int) -> EmbeddedSet:
    """Return a set as it is in one case."""
    numbers = counts.row(min(case, counts.n_cases - 1)).astype(int)
    return picked(part, np.repeat(np.arange(len(part)), numbers))


def without_losses(
    targets: Sequence[EmbeddedSet], *, paired: bool = False
) -> tuple[EmbeddedSet, ...]:
    """Return sets of the words that were found, each once; of paired sets, of complete tuples."""
    if not paired:
        return tuple(picked(part, range(len(part))) for part in targets)
    tuples, arrays = paired_vectors(targets)
    return tuple(
        EmbeddedSet(
            part.name,
            tuple(words[position] for words in tuples),
            array,
            (),
            tuple(range(len(tuples))),
        )
        for position, (part, array) in enumerate(zip(targets, arrays, strict=True))
    )


def distinct_sizes(sets: Sequence[Sequence[str]], params: Mapping[str, Any]) -> list[int] | None:
    """Return how many vectors each word set has when all its words are found; None if unknown.

    With ``strategy="all"`` a word has as many vectors as variants in the vocabulary.
    """
    if params.get("strategy") == "all":
        return None
    return [len(set(words)) for words in sets]
