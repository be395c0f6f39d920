"""Base class of metrics: parameters, look-up, template check, result, scale and order.

A metric is a class with a template, its parameters, and one formula on weighted word sets::

    @register
    class MyMetric(BaseMetric):
        metric_template = (1, 2)
        metric_name = "My Metric"
        metric_short_name = "MM"

        def _scores(self, targets, attributes):
            (words,), (a, b) = targets, attributes
            return words.mean(a.mean_cosine(words) - b.mean_cosine(words))
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    dataclass_transform,
    get_args,
)

import numpy as np

from wefe._checks import check_choice, found, nearest
from wefe._wordset import Vectors, WordSet, each_case, n_cases_of
from wefe.embeddings import (
    DEFAULT_THRESHOLD,
    EmbeddedQuery,
    Lookup,
    UnanswerableError,
    embed_query,
    without_log,
)
from wefe.metrics._exchange import Exchange, Sums, exchange_test
from wefe.metrics._pairs import paired, too_few_tuples
from wefe.metrics._parameters import Count, RandomState, check_parameters, hints_of
from wefe.metrics._permutation import Method, PermutationTest
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, Template, check_query
from wefe.results import OPPOSITE, MetricResult, log_result

logger = logging.getLogger(__name__)

TestType: TypeAlias = Literal["left-sided", "right-sided", "two-sided"]

_NOT_CALCULATED = "no p-value is calculated; set calculate_p_value=True"
_FORMULAS = "run_query", "_scores", "_compute"
_MISSED = f"{OPPOSITE}: a one-sided test misses it; use p_value_test_type='two-sided'"


@dataclass(frozen=True)
class Scale:
    """How to read the scores of a metric.

    Attributes
    ----------
    label : str
        Short name of the score, as it heads columns.
    value_range : (float, float)
        Smallest and largest possible score; infinite where there is no bound.
    no_bias_value : float
        The score that means that no bias was measured.

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

    @property
    def is_one_sided(self) -> bool:
        """Whether no bias lies at an end of the range, so that all bias is on one side of it."""
        return self.no_bias_value in self.value_range

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
    """What `_compute` of a metric returns if it is more than one number.

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


# Audit warnings that concern scores which are means, as the biases of words may cancel.
SCORES_OF_MEANS = frozenset({"small-attribute-difference", "cancelling-biases"})


class Prepared(NamedTuple):
    """A metric with its parameters, and a query after look-up."""

    metric: BaseMetric
    embedded: EmbeddedQuery
    #: Of paired sets the complete tuples, row i of each belonging together.
    targets: tuple[WordSet, ...]
    attributes: tuple[WordSet, ...]
    nan_reason: str | None


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(eq=False, repr=False, kw_only=True)
class BaseMetric:
    """Base class of the metrics.

    A metric declares the first three attributes below, and others where they differ from the
    defaults. Its parameters are annotated fields with defaults, as of a dataclass. Give them to
    the class, ``MAC(average="words")``, or to `run_query`. All metrics have these:

    Parameters
    ----------
    calculate_p_value : bool, default=False
        Run a permutation test: exchange what `null_exchange` names, and compare the score with
        those that result. The result then has 'p_value' and ``details["permutation_test"]``, a
        :class:`PermutationTest`.
    p_value_test_type : {'right-sided', 'left-sided', 'two-sided'}, default='right-sided'
        Which scores count as extreme: those at least as large as the observed one, at most as
        large, or at least as far from the value that means no bias. Ties count. The default is
        'two-sided' for metrics whose scores lie on one side of no bias (ECT, SAME, RNSB and those
        of neighbours); it asks whether there is more bias than by chance.
    p_value_method : {'exact', 'approximate', 'saddlepoint', 'auto'}, default='exact'
        'exact' counts all splits of scores that are sums over words or pairs, or encloses their
        share between guaranteed bounds and returns the upper one. It lists the splits of other
        scores if there are up to 20,000, and draws a sample otherwise. 'approximate' draws random
        splits and returns (r + 1)/(n + 1); it is the default of WEAT. For 'saddlepoint' and
        'auto' see :func:`permutation_test`.
    p_value_iterations : int, default=10000
        Number of random splits.
    p_value_verbose : bool, default=False
        Log the outcome of the test at level INFO.
    random_state : int, Generator or None, default=None
        Makes the random splits reproducible.

    Attributes
    ----------
    metric_template : tuple of (int or 'n')
        Number of target and of attribute sets of its queries; 'n' for any number.
    metric_name, metric_short_name : str
        Its name in full, and the acronym that heads columns.
    metric_template_minimum : tuple of int
        The smallest numbers that 'n' stands for; (1, 1) by default.
    value_range : tuple of float
        Smallest and largest score; unbounded by default.
    no_bias_value : float
        The score that means that no bias was measured; 0 by default.
    pairs_targets : bool
        Word i of each target set belong together, as she and he do; False by default.
    encodes_texts : bool
        Runs where the encoder is, because it encodes texts of its own; False by default.
    needs_vocabulary : bool
        Looks at words outside the query, so that models are opened whole; False by default.
    scores_many_models : bool
        The formula uses word sets by their methods and weights alone, so that it takes the vectors
        of several models as cases; False by default.
    takes_original : bool
        Has a parameter `original`, the model before mitigation, in which directions are found;
        studies and comparisons pass it. False by default.
    nan_values : dict
        The entries, after 'result', of the result of a query that cannot be answered; by default
        NaN under the short name in lower case.
    subset_params : dict
        Parameters with which scores of subsets of the words can be compared: bounded, not random.
    if_unpaired : dict or None
        Of a metric that pairs target words: parameters that help where they are no pairs.
    question, meaning : str
        What it asks, in a line; what a score means, in a sentence or two. Reports print them.
    null_exchange : {'targets', 'attributes', 'pairs'} or None
        What may be exchanged if there is no bias: words between the target sets or between the
        attribute sets, or the two words of each pair (then define `_pair_values`, too); None if
        there is no such test.
    no_p_value : str
        Why there is none, perhaps only with the parameters at hand.
    audit_findings : frozenset of str
        Kinds of audit warnings that concern its score; see :func:`wefe.audit.score_warnings`.
    model, lookup : WordEmbeddingModel and dict
        The model and the options of the look-up of a call, where `needs_vocabulary` is True.

    Raises
    ------
    TypeError, ValueError
        If a parameter is unknown, of a wrong type or out of range.

    Notes
    -----
    Define ``_scores(targets, attributes)``: the formula on weighted word sets. It gets two
    sequences of :class:`wefe.embeddings.WordSet` and returns an array with one score for each case
    of their weights, NaN where it is undefined. Intervals, silhouettes and the influence of words
    come from it. ``_compute(targets, attributes)`` makes the result of one case, a number or a
    :class:`wefe.metrics.Measurement`; by default what `_scores` returns. A metric that defines
    `_compute` alone is asked again for each case, which is slow. Both are called only if every set
    kept enough of its words.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import BaseMetric
    >>> class MeanLean(BaseMetric):
    ...     metric_template = (1, 2)
    ...     metric_name = "Mean Lean"
    ...     metric_short_name = "ML"
    ...     value_range = (-2.0, 2.0)
    ...     absolute: bool = False
    ...
    ...     def _scores(self, targets, attributes):
    ...         (words,), (a, b) = targets, attributes
    ...         lean = a.mean_cosine(words) - b.mean_cosine(words)
    ...         return words.mean(abs(lean) if self.absolute else lean)
    >>> query = Query([["nurse", "engineer"]], [["she", "woman"], ["he", "man"]])
    >>> result = MeanLean().run_query(query, load_test_model(), absolute=True)
    >>> list(result), 0 < result["ml"] < 2
    (['query_name', 'result', 'ml'], True)
    """

    metric_template: ClassVar[Template]
    metric_name: ClassVar[str]
    metric_short_name: ClassVar[str]
    metric_template_minimum: ClassVar[tuple[int, int]] = (1, 1)
    value_range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    no_bias_value: ClassVar[float] = 0.0
    pairs_targets: ClassVar[Any] = False
    encodes_texts: ClassVar[bool] = False
    needs_vocabulary: ClassVar[bool] = False
    scores_many_models: ClassVar[bool] = False
    takes_original: ClassVar[bool] = False
    nan_values: ClassVar[Mapping[str, Any] | None] = None
    subset_params: ClassVar[Mapping[str, Any]] = {}
    if_unpaired: ClassVar[Mapping[str, Any] | None] = None
    question: ClassVar[Any] = ""
    meaning: ClassVar[Any] = "a metric of a user"
    null_exchange: ClassVar[Exchange | None] = None
    no_p_value: ClassVar[Any] = ""
    audit_findings: ClassVar[Any] = SCORES_OF_MEANS | {"common-lean"}

    calculate_p_value: bool = False
    p_value_test_type: TestType = "right-sided"
    p_value_method: Method = "exact"
    p_value_iterations: Count = 10_000
    p_value_verbose: bool = False
    random_state: RandomState = None

    #: Those of a call, where a metric needs the vocabulary.
    model: ClassVar[WordEmbeddingModel]
    lookup: ClassVar[Lookup]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(eq=False, repr=False, kw_only=True)(cls)

    def __post_init__(self) -> None:
        check_parameters(self)

    def run_query(
        self, query: Query, model: WordEmbeddingModel, *args: Any, **params: Any
    ) -> MetricResult:
        """Measure the bias of a model with respect to a query.

        Parameters
        ----------
        query : Query
            The target and attribute sets; their numbers must fit the template of the metric.
        model : WordEmbeddingModel
            The model to be measured.
        *args, **params
            Parameters of the metric, in place of those that it was made with, and how words are
            looked up: `lost_vocabulary_threshold`, `preprocessors`, `strategy`, `normalize`,
            `warn_not_found_words`; see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            A dictionary with 'query_name', 'result' and what the metric adds. 'result' is NaN, with
            the reason in the attribute `nan_reason`, if the query cannot be answered: a set lost
            more words than `lost_vocabulary_threshold` allows, or the score is undefined.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong, or the query does not fit the template.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        names = self.parameters()
        if len(args) > len(names):
            raise TypeError(
                f"{type(self).__name__}.run_query takes query, model and {len(names)} parameters "
                f"by position; got {len(args)}. Pass look-up options by name."
            )
        result = self._result(query, model, **dict(zip(names, args, strict=False)), **params)
        log_result(result, with_lost_words=params.get("warn_not_found_words", False))
        return result

    def _result(self, query: Query, model: WordEmbeddingModel, **params: Any) -> MetricResult:
        """Measure without a line in the log: what there is to say is in the result."""
        own, lookup = self.with_params(**params)
        metric, embedded, targets, attributes, reason = own._prepare(query, model, lookup)
        sides = targets, attributes
        measured = metric._undefined(reason) if reason else metric._measure(*sides)
        measured = metric._tested(measured, *sides)
        reason = measured.nan_reason
        if reason is None and math.isnan(measured.values["result"]):
            reason = metric._why_undefined(*sides)
        return MetricResult(
            {"query_name": query.query_name, **measured.values},
            embedded,
            metric.scale().label,
            reason,
            measured.details,
            measured.warnings,
        )

    def with_params(self, **params: Any) -> tuple[Self, Lookup]:
        """Return the metric with other parameters, and the parameters in `params` for the look-up.

        Parameters
        ----------
        **params
            What `run_query` takes beside query and model.

        Returns
        -------
        (BaseMetric, dict)
            The metric, or a copy with these parameters, and the options of the look-up; see
            :class:`wefe.embeddings.Lookup`.

        Raises
        ------
        TypeError, ValueError
            If an argument is of a wrong kind, shape or range.
        """
        known = hints_of(type(self))
        lookup = {name: params.pop(name) for name in Lookup.__annotations__ if name in params}
        if unknown := [name for name in params if name not in known]:
            names = [*known, *Lookup.__annotations__]
            # A misspelt option would otherwise be a silent default.
            raise TypeError(
                f"{type(self).__name__}.run_query has no parameter {unknown[0]!r}; it has "
                f"{', '.join(names)}.{nearest(unknown[0], names)}"
            )
        metric = self
        if params:
            metric = copy.copy(self)
            vars(metric).update(params)
            metric.__post_init__()
        return metric, lookup  # type: ignore[return-value]

    @property
    def reference(self) -> str:
        """The publication, for reports: the "References" section of the class."""
        _, _, text = (inspect.getdoc(type(self)) or "").partition("References\n----------\n")
        return " ".join(text.partition("\n\n")[0].split())

    @classmethod
    def parameters(cls) -> list[str]:
        """Return the names of the metric's own parameters.

        Returns
        -------
        list of str
            What `run_query` takes beside query, model and the options of the look-up.

        Examples
        --------
        >>> from wefe.metrics import MAC
        >>> MAC.parameters()[:3]
        ['average', 'calculate_p_value', 'p_value_test_type']
        """
        if cls.run_query is BaseMetric.run_query:
            return list(hints_of(cls))
        own = list(inspect.signature(cls.run_query).parameters.values())[3:]
        return [each.name for each in own if each.kind is not each.VAR_KEYWORD]

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Return how to read scores: label, range, and the value that means no bias.

        Parameters
        ----------
        query : Query, optional
            With a query the range is as tight as its set sizes allow, where the metric knows it.
            Out-of-vocabulary words change these sizes, and so perhaps the range a little.
        **params
            Parameters that `run_query` is called with; some select another score.

        Returns
        -------
        Scale
            What heads columns, the smallest and largest score, and the score that means that no
            bias was measured.

        Raises
        ------
        TypeError, ValueError
            If an argument is of a wrong kind, shape or range.
        """
        if query is not None:
            check_query(query)
        known = (*hints_of(type(self)), *Lookup.__annotations__)
        own = {name: value for name, value in params.items() if name in known}
        metric, lookup = self.with_params(**own)
        return metric._scale(query, lookup)

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        return Scale(self.metric_short_name, self.value_range, self.no_bias_value)

    def _tested(
        self, measured: Measurement, targets: Sequence[WordSet], attributes: Sequence[WordSet]
    ) -> Measurement:
        """Add the p-value that is asked for, or say why there is none."""
        if not self.calculate_p_value:
            ignored = (_NOT_CALCULATED,) * self._asks_more()
            return replace(measured, warnings=measured.warnings + ignored)
        p_value, details, warnings = math.nan, dict(measured.details), measured.warnings
        score = float(measured.values["result"])
        undeclared = "" if self.null_exchange else "it does not define what may be exchanged"
        if why := self.no_p_value or undeclared:
            warnings += (f"{self.metric_short_name} has no p-value: {why}",)
        elif not math.isnan(score):
            check_choice("null_exchange", self.null_exchange, get_args(Exchange))
            test, is_missed = exchange_test(self, targets, attributes, score)
            details["permutation_test"], p_value = test, test.p_value
            warnings += (_MISSED,) * is_missed + self._not_as_asked(test)
            if self.p_value_verbose:
                logger.info("%s", test)
        values = {**measured.values, "p_value": p_value}
        return replace(measured, values=values, details=details, warnings=warnings)

    def _asks_more(self) -> bool:
        """Tell whether a p-value is asked for, or what has no effect without one."""
        asked, defaults = ((at.p_value_method, at.p_value_test_type) for at in (self, type(self)))
        return self.calculate_p_value or asked != defaults

    def _not_as_asked(self, test: PermutationTest) -> tuple[str, ...]:
        """Say why a p-value is another than the one that was asked for."""
        listed = self.null_exchange != "pairs" and type(self)._sums is BaseMetric._sums
        if listed or self.p_value_method == "approximate":
            return ()
        lower, upper = test.p_value_bounds
        if test.method == "approximate":
            n_splits = test.n_splits
            return (f"too many words for an exact p-value; {n_splits} random splits were drawn",)
        if upper - lower > 0.01 * upper:
            between = f"between {lower:.3g} and {upper:.3g}"
            return (f"the exact p-value lies {between}; the upper bound is returned",)
        return ()

    def _sums(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Sums | None:
        """Return what a score is a sum of, if it is, so that its splits can be counted."""
        return None

    def _pair_values(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        """Return the values of pairs, (n_pairs, 2): as they are, and with their words exchanged."""
        raise TypeError(
            f"{type(self).__name__} exchanges the words of pairs, so it must define _pair_values."
        )

    def report_params(
        self, own: Mapping[str, Any], random_state: int, p_value_test_type: Any
    ) -> dict[str, Any]:
        """Return what `wefe measure` and studies ask of the metric, unless they are told otherwise.

        Parameters
        ----------
        own : mapping
            The user's parameters, which go before these.
        random_state : int
            Seed of what is random.
        p_value_test_type : str
            Side of the permutation test.

        Returns
        -------
        dict
            Parameters of `run_query`.
        """
        if self.null_exchange is None or self.needs_vocabulary:
            return {}
        return {
            "calculate_p_value": True,
            "p_value_method": "exact",
            "p_value_test_type": p_value_test_type,
            "random_state": random_state,  # for sets so large that random splits are drawn
        }

    def params_for_unpaired(
        self, own: Mapping[str, Any], queries: str, paired: bool | None
    ) -> dict[str, Any]:
        """Return what helps a metric that pairs target words, where they are no pairs; log it.

        Parameters
        ----------
        own : mapping
            The user's parameters.
        queries : str
            What messages call the queries.
        paired : bool or None
            Whether word i of each target set belong together; None if nobody knows.

        Returns
        -------
        dict
            Parameters of `run_query`.
        """
        if self.if_unpaired is None or paired is not False:
            return {}
        helps = {name: value for name, value in self.if_unpaired.items() if name not in own}
        then = "the difference of their means is taken instead"
        logger.warning(
            "%s pairs target words by position, but those of %r are not pairs; %s",
            self.metric_short_name.lower().replace(" ", "-"),
            queries,
            then if helps else "its scores are meaningless here",
        )
        return helps

    def accepts(self, query: Query) -> bool:
        """Tell whether a query has the shape that the metric asks for.

        Parameters
        ----------
        query : Query
            Any query; its words do not matter.

        Returns
        -------
        bool
            True if its numbers of sets fit `metric_template` and `metric_template_minimum`.

        Raises
        ------
        TypeError, ValueError
            If an argument is of a wrong kind, shape or range.
        """
        check_query(query)
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
            See :meth:`wefe.query.Query.get_subqueries`; empty if the query has too few sets.
        """
        if self.accepts(query):
            return [query]
        parts = query.get_subqueries(self.metric_template, self.metric_template_minimum)
        return [part for part in parts if self.accepts(part)]

    def _prepare(self, query: Query, model: WordEmbeddingModel, lookup: Lookup) -> Prepared:
        """Look a query up."""
        self._check_input(query, model)
        metric = copy.copy(self)
        model = metric._bind(query, model, lookup)
        embedded = embed_query(model, query, **without_log(lookup))
        targets, reason = embedded.targets, embedded.nan_reason
        if reason is None and self.pairs_targets:
            threshold = lookup.get("lost_vocabulary_threshold", DEFAULT_THRESHOLD)
            reason = too_few_tuples(targets, threshold)
            targets = targets if reason else paired(targets)
        if reason is None and self.needs_vocabulary and model.held == "selected":
            reason = (
                f"the metric needs the whole vocabulary, but {model.name} was opened for "
                f"{len(model.requested or ()):,} words only"
            )
        return Prepared(metric, embedded, targets, embedded.attributes, reason)

    def _bind(self, query: Query, model: WordEmbeddingModel, lookup: Lookup) -> WordEmbeddingModel:
        """Keep what the formula needs beside word sets; return the model to look words up in."""
        if self.needs_vocabulary:
            vars(self).update(model=model, lookup=lookup)
        return model

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        """Return one score for each case of the weights, NaN where it is undefined."""
        sets, n_targets = (*targets, *attributes), len(targets)
        scores = np.full(n_cases_of(sets), math.nan)
        for case, parts in enumerate(each_case(sets)):
            with suppress(UnanswerableError):
                measured = self._measure(parts[:n_targets], parts[n_targets:])
                scores[case] = measured.values["result"]
        return scores

    def _compute(
        self, targets: Sequence[WordSet], attributes: Sequence[WordSet]
    ) -> float | Measurement:
        """Return the result of word sets without weights."""
        return self._measured(float(self._scores(targets, attributes)[0]))

    def _measure(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        """Return what `_compute` does, as a measurement with a number."""
        measured = self._compute(targets, attributes)
        try:
            if not isinstance(measured, Measurement):
                measured = self._measured(float(measured))
            float(measured.values["result"])
        except (KeyError, TypeError, ValueError):
            raise TypeError(
                f"{type(self).__name__}._compute must return a number, or a Measurement with one "
                f"under 'result'; got {found(measured)}."
            ) from None
        return measured

    def _measured(
        self, score: float, details: Mapping[str, Any] | None = None, **more: Any
    ) -> Measurement:
        """Return a score with further entries of the result."""
        name = next(iter(self.nan_values or ()), self.metric_short_name.lower())
        return Measurement({"result": score, name: score, **more}, None, details or {})

    def _why_undefined(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> str:
        """Say why the score of word sets is NaN."""
        return f"{self.metric_short_name} is undefined for these vectors"

    def _undefined(self, reason: str, details: Mapping[str, Any] | None = None) -> Measurement:
        nan_values = self.nan_values or {self.metric_short_name.lower(): math.nan}
        # A copy: users may write into what they get.
        values = {"result": math.nan, **copy.deepcopy(dict(nan_values))}
        return Measurement(values, reason, details or {})

    def _check_input(self, query: Query, model: WordEmbeddingModel) -> None:
        check_model(model)
        kind = type(self)
        check_declared(kind)
        if all(getattr(kind, name) is getattr(BaseMetric, name) for name in _FORMULAS):
            raise TypeError(f"{kind.__name__} defines neither _scores nor _compute.")
        if not self.accepts(query):
            raise ValueError(
                f"{self.metric_name} needs {self._wanted_shape()}; {query.query_name!r} has "
                f"{query.template[0]} and {query.template[1]}. To split larger queries, use "
                "Query.get_subqueries, or run_queries(generate_subqueries=True)."
            )

    def _wanted_shape(self) -> str:
        shape = zip(self.metric_template, self.metric_template_minimum, strict=True)
        targets, attributes = (f"{n} or more" if want == "n" else want for want, n in shape)
        return f"{targets} target and {attributes} attribute sets"

    def __repr__(self) -> str:
        own = [
            f"{each.name}={value!r}"
            for each in dataclasses.fields(self)
            if (value := getattr(self, each.name)) is not each.default
        ]
        return f"{type(self).__name__}({', '.join(own)})"


def check_declared(kind: type[BaseMetric]) -> None:
    """Refuse a class without its names and its template."""
    for fact in ("metric_template", "metric_name", "metric_short_name"):
        if not hasattr(kind, fact):
            raise TypeError(f"{kind.__name__} must declare {fact}.")


def result_of(
    metric: BaseMetric, query: Query, model: WordEmbeddingModel, **params: Any
) -> Mapping[str, Any]:
    """Ask a metric, without a line in the log; a `run_query` of a user may write its own."""
    ask = metric.run_query if has_own_run_query(metric) else metric._result
    return ask(query, model, **params)


def has_own_run_query(metric: BaseMetric) -> bool:
    """Tell whether a metric has a `run_query` of its own, as those of WEFE have."""
    return type(metric).run_query is not BaseMetric.run_query


def distinct_sizes(sets: Sequence[Sequence[Any]] | None, lookup: Lookup) -> list[int] | None:
    """Return how many vectors each word set has when all its words are found; None if unknown.

    With ``strategy="all"`` a word has as many vectors as variants in the vocabulary.
    """
    if sets is None or lookup.get("strategy") == "all":
        return None
    return [len(set(words)) for words in sets]
