"""Base class of metrics: parameters, look-up, template check, result, scale and p-value."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
import numpy.typing as npt

from wefe._checks import logger, nearest
from wefe._wordset import Vectors, WordSet, WordSets, each_case, lists_of_word_sets, n_cases_of
from wefe.embeddings import EmbeddedQuery, Lookup, UnanswerableError, embed_query, paired
from wefe.metrics._declaration import Measurement, Scale, check_parameters, hints_of
from wefe.metrics._exchange import PermutationTested
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, Template, check_query
from wefe.results import MetricResult, log_result

_SOURCE = re.compile(r"Source:\s|References\n-+\n")
# Audit warnings for scores that are means, in which the biases of words may cancel.
SCORES_OF_MEANS = frozenset({"small-attribute-difference", "cancelling-biases"})


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(eq=False, repr=False, kw_only=True)
class BaseMetric(PermutationTested):
    """Base class of the metrics.

    A metric declares at least `metric_template`, `metric_name` and `metric_short_name`. Its
    parameters are annotated fields with defaults, as in a dataclass. You can give them to the
    class, ``MAC(average="words")``, or to `run_query`. It defines one of two methods, which get two
    sequences of :class:`wefe.embeddings.WordSet` if every set kept enough words:

    - ``_scores(targets, attributes)``, the formula on weighted word sets, returns an array with one
      score for each case of the weights, NaN where it is undefined.
    - ``_compute(targets, attributes)`` returns the result of one case: a number, or a
      :class:`Measurement` if there are more entries. An UnanswerableError says why it is NaN.
      Without `_scores` it is called for each case.

    A subclass that defines one of them uses neither the inherited other one nor `_sums` and
    `_pair_values`, with which splits are counted.

    Parameters
    ----------
    calculate_p_value : bool, default=False
        Run a permutation test. The result gets 'p_value' and, in `details`, a
        :class:`PermutationTest`.
    p_value_test_type : {'right-sided', 'left-sided', 'two-sided'}, default='right-sided'
        Which scores count as extreme: those at least as large as the observed one, at most as
        large, or at least as far from the no-bias value. Ties count. ECT, EQT, SAME, RNSB and the
        metrics of neighbours use 'two-sided' by default: is there more bias than by chance?
    p_value_method : {'exact', 'approximate', 'saddlepoint', 'auto'}, default='exact'
        As in :func:`permutation_test` if the score is a sum over words. 'exact' counts the splits
        of up to 40 pairs, and lists up to 20,000 splits for other scores. Beyond these limits it
        draws random splits, as 'approximate', the default of WEAT, always does.
    p_value_iterations : int, default=10000
        Number of random splits.
    random_state : int, Generator or None, default=None
        Seed of the random splits.
    p_value_verbose : bool, default=False
        Log the result of the test at level INFO.

    Attributes
    ----------
    metric_template, metric_template_minimum : tuple of (int or 'n')
        Number of target sets and of attribute sets that the metric needs, 'n' for any number; and
        the smallest numbers that 'n' stands for, (1, 1) by default.
    metric_name, metric_short_name : str
        Full name, and the acronym used as a column heading.
    value_range, no_bias_value : tuple of float, and float
        Smallest and largest score, unbounded by default; and the score that means that no bias was
        measured, 0 by default.
    pairs_targets, encodes_texts : bool
        Whether words at the same position of the target sets form pairs, such as she and he; and
        whether the metric encodes texts of its own, so that it must run where the encoder is.
    needs_vocabulary, takes_original, scores_many_models : bool
        Whether the metric looks at words outside the query, in the `model` of the call; whether a
        parameter `original` can be the model of the directions; and whether the formula only uses
        methods and weights of word sets, so that it scores several models at once.
    nan_values : dict
        Entries after 'result' if a query cannot be answered; by default NaN under the short name.
    subset_params, if_unpaired : dict
        Parameters that make scores of subsets of the words comparable (bounded, not random); and
        those to use if target words that the metric pairs are not pairs, or None.
    question, meaning : str
        For reports: what the metric asks, and what a score means, in a sentence or two.
    null_exchange : {'targets', 'attributes', 'pairs'} or None
        What may be exchanged if there is no bias: words between the target sets or between the
        attribute sets, or the two words of each pair (this needs `_pair_values`). None for no test.
    no_p_value : str
        Why there is no p-value, possibly only with the current parameters; empty if there is one.
    audit_findings : frozenset of str
        Kinds of audit warnings that apply to the score; see :func:`wefe.audit.score_warnings`.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> class MeanLean(BaseMetric):
    ...     metric_template = (1, 2)
    ...     metric_name = "Mean Lean"
    ...     metric_short_name = "ML"
    ...     absolute: bool = False
    ...
    ...     def _scores(self, targets, attributes):
    ...         (words,), (a, b) = targets, attributes
    ...         lean = a.mean_cosine(words) - b.mean_cosine(words)
    ...         return words.mean(abs(lean) if self.absolute else lean)
    >>> query = Query([["nurse", "engineer"]], [["she", "woman"], ["he", "man"]])
    >>> list(MeanLean().run_query(query, load_test_model(), absolute=True))
    ['query_name', 'result', 'ml']
    """

    metric_template: ClassVar[Template]
    metric_name: ClassVar[str]
    metric_short_name: ClassVar[str]
    metric_template_minimum: ClassVar[tuple[int, int]] = (1, 1)
    value_range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    no_bias_value: ClassVar[float] = 0.0
    encodes_texts: ClassVar[bool] = False
    scores_many_models: ClassVar[bool] = False
    takes_original: ClassVar[bool] = False
    nan_values: ClassVar[Mapping[str, Any] | None] = None
    subset_params: ClassVar[Mapping[str, Any]] = {}
    if_unpaired: ClassVar[Mapping[str, Any] | None] = None
    question: ClassVar[str] = ""
    meaning: ClassVar[str] = "a metric of a user"
    audit_findings: ClassVar[Any] = SCORES_OF_MEANS | {"common-lean"}

    #: Set during a call, if `needs_vocabulary` is True.
    model: ClassVar[WordEmbeddingModel]
    lookup: ClassVar[Lookup]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(eq=False, repr=False, kw_only=True)(cls)
        # A class with a formula of its own must not use what computes an inherited score.
        if not {"_scores", "_compute"}.isdisjoint(vars(cls)):
            for name in {"_scores", "_compute", "_sums", "_pair_values"} - {*vars(cls)}:
                setattr(cls, name, getattr(BaseMetric, name))

    def __post_init__(self) -> None:
        check_parameters(self)

    def run_query(
        self, query: Query, model: WordEmbeddingModel, *args: Any, **params: Any
    ) -> MetricResult:
        """Measure the bias of a model with respect to a query.

        Parameters
        ----------
        query : Query
            Target and attribute sets; their numbers must fit the template of the metric.
        model : WordEmbeddingModel
            The model to measure.
        *args, **params
            Parameters of the metric, which override those of the instance, and options of
            :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            A dictionary with 'query_name', 'result' and the entries of the metric. 'result' is NaN
            if a set lost more words than `lost_vocabulary_threshold` allows, or if the score is
            undefined; `nan_reason` says why.

        Raises
        ------
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        names = self.parameters()
        if len(args) > len(names):
            most = f"{len(names)} parameters by position"
            raise TypeError(f"run_query takes {most}; got {len(args)}. Give options by name.")
        result = self._result(query, model, **dict(zip(names, args, strict=False)), **params)
        log_result(result, with_lost_words=params.get("warn_not_found_words", False))
        return result

    def run_vectors(
        self, targets: Sequence[npt.ArrayLike], attributes: Sequence[npt.ArrayLike], **params: Any
    ) -> MetricResult:
        """Measure the bias of vectors that belong to no model.

        Parameters
        ----------
        targets, attributes : sequence of array-like of shape (n_words, dim)
            Vectors of each target set and each attribute set, one word per row.
        **params
            As in :meth:`run_query`.

        Returns
        -------
        MetricResult
            As from :meth:`run_query`, for words called 'targets[0][0]', 'targets[0][1]' and so on,
            which are also the whole vocabulary.

        Examples
        --------
        >>> from wefe import WEAT
        >>> he, she = [[1.0, 0.0]], [[0.0, 1.0]]
        >>> WEAT().run_vectors([he, she], [he, she])["weat"]
        2.0
        """
        sides = lists_of_word_sets(targets=targets, attributes=attributes)
        words, others = (
            [[f"{part.name}[{i}]" for i in range(len(part))] for part in side] for side in sides
        )
        vocabulary = [word for part in words + others for word in part]
        vectors = np.concatenate([part.vectors for side in sides for part in side])
        model = WordEmbeddingModel((vocabulary, vectors), "vectors")
        return self.run_query(Query(words, others), model, **params)

    def _result(self, query: Query, model: WordEmbeddingModel, **params: Any) -> MetricResult:
        own, lookup = self._with_params(**params)
        metric, embedded, targets, reason = own._prepare(query, model, lookup)
        sides = targets, embedded.attributes
        nothing = metric._measured(math.nan, reason=reason)
        measured = metric._tested(nothing if reason else metric._measure(*sides), *sides)
        if measured.nan_reason is None and math.isnan(measured.values["result"]):
            measured = dataclasses.replace(measured, nan_reason=metric._why_undefined(*sides))
        return MetricResult(measured, embedded, metric.scale().label)

    def _with_params(self, **params: Any) -> tuple[Self, Lookup]:
        """Split parameters of `run_query`: a metric that has its own ones, and look-up options.

        Lost words are logged with the result, not by the look-up.
        """
        known = hints_of(type(self))
        lookup = {name: params.pop(name) for name in Lookup.__annotations__ if name in params}
        lookup.pop("warn_not_found_words", None)
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
        """The publication: in the class docstring after "Source:", or the section "References"."""
        parts = _SOURCE.split(inspect.getdoc(type(self)) or "", maxsplit=1)
        return " ".join(parts[-1].partition("\n\n")[0].split()) if len(parts) > 1 else ""

    @classmethod
    def parameters(cls) -> list[str]:
        """Return the names of the metric's own parameters, which `run_query` accepts."""
        if cls.run_query is BaseMetric.run_query:
            return list(hints_of(cls))
        own = list(inspect.signature(cls.run_query).parameters.values())[3:]
        return [each.name for each in own if each.kind is not each.VAR_KEYWORD]

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Return the label, range and no-bias value of scores.

        Parameters
        ----------
        query : Query, optional
            Makes the range as tight as its set sizes allow, but for out-of-vocabulary words.
        **params
            Parameters as for `run_query`; some of them select another score.

        Returns
        -------
        Scale
            How to read the scores.
        """
        if query is not None:
            check_query(query)
        known = (*hints_of(type(self)), *Lookup.__annotations__)
        own = {name: value for name, value in params.items() if name in known}
        metric, lookup = self._with_params(**own)
        return metric._scale(query, lookup)

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        return Scale(self.metric_short_name, self.value_range, self.no_bias_value)

    def _params_for_unpaired(
        self, own: Mapping[str, Any], queries: str, paired: bool | None
    ) -> dict[str, Any]:
        """Return and log parameters for unpaired target words; `paired` is None if unknown."""
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
        """Tell whether a query fits the template of the metric.

        Parameters
        ----------
        query : Query
            Only its numbers of sets matter, not its words.

        Returns
        -------
        bool
            True if it fits `metric_template` and `metric_template_minimum`.
        """
        check_query(query)
        return query.satisfies(self.metric_template, self.metric_template_minimum)

    def subqueries(self, query: Query) -> list[Query]:
        """Return the subqueries that fit the metric, or the query itself if it fits.

        Parameters
        ----------
        query : Query
            The query to split.

        Returns
        -------
        list of Query
            As from :meth:`wefe.query.Query.get_subqueries`; empty if the query has too few sets.
        """
        if self.accepts(query):
            return [query]
        parts = query.get_subqueries(self.metric_template, self.metric_template_minimum)
        return [part for part in parts if self.accepts(part)]

    def _on_one_list(self, query: Query) -> list[Query]:
        """Return the query, with all attribute words as one set if only that fits."""
        if self.accepts(query) or not self.accepts(query._joined()):
            return [query]
        return [query._joined()]

    def _prepare(
        self, query: Query, model: WordEmbeddingModel, lookup: Lookup
    ) -> tuple[Self, EmbeddedQuery, tuple[WordSet, ...], str | None]:
        """Return the metric of a call, the query after look-up, its targets, and why it is NaN.

        The targets of paired sets are the complete tuples: row i of all sets is one tuple.
        """
        self._check_input(query, model)
        metric = copy.copy(self)
        model = metric._bind(query, model, lookup)
        embedded = embed_query(model, query, **lookup)
        targets, reason = embedded.targets, embedded.nan_reason
        if reason is None and self.pairs_targets:
            targets, reason = paired(targets, **lookup)
        if reason is None and self.needs_vocabulary and model.held == "selected":
            reason = (
                f"the metric needs the whole vocabulary, but {model.name} was opened for "
                f"{len(model.table.requested or ()):,} words only"
            )
        return metric, embedded, targets, reason

    def _bind(self, query: Query, model: WordEmbeddingModel, lookup: Lookup) -> WordEmbeddingModel:
        """Keep what the formula needs besides word sets; return the model to look words up in."""
        if self.needs_vocabulary:
            vars(self).update(model=model, lookup=lookup)
        return model

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        """Return one score for each case of the weights, NaN where it is undefined."""
        sets, n_targets = (*targets, *attributes), len(targets)
        scores = np.full(n_cases_of(sets), math.nan)
        for case, parts in enumerate(each_case(sets)):
            measured = self._measure(parts[:n_targets], parts[n_targets:])
            scores[case] = measured.values["result"]
        return scores

    def _compute(self, targets: WordSets, attributes: WordSets) -> float | Measurement:
        """Return the result of word sets without weights."""
        return self._measured(float(self._scores(targets, attributes)[0]))

    def _measure(self, targets: WordSets, attributes: WordSets) -> Measurement:
        """Return what `_compute` returns, or the reason for none that it raises."""
        try:
            measured = self._compute(targets, attributes)
        except UnanswerableError as error:
            return self._measured(math.nan, reason=str(error))
        return measured if isinstance(measured, Measurement) else self._measured(float(measured))

    def _measured(
        self,
        score: float,
        details: Mapping[str, Any] | None = None,
        reason: str | None = None,
        warnings: tuple[str, ...] = (),
        **more: Any,
    ) -> Measurement:
        """Return a score with the entries of `nan_values`, unless `more` has others."""
        nan_values = self.nan_values or {self.metric_short_name.lower(): score}
        # Copies: users may write into what they get.
        values = {name: copy.copy(value) for name, value in nan_values.items()}
        values = {"result": score, **values, next(iter(values)): score, **more}
        return Measurement(values, reason, details or {}, warnings)

    def _why_undefined(self, targets: WordSets, attributes: WordSets) -> str:
        return f"{self.metric_short_name} is undefined for these vectors"

    def _check_input(self, query: Query, model: WordEmbeddingModel) -> None:
        check_model(model)
        kind, formulas = type(self), ("run_query", "_scores", "_compute")
        if all(getattr(kind, name) is getattr(BaseMetric, name) for name in formulas):
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


def result_of(
    metric: BaseMetric, query: Query, model: WordEmbeddingModel, **params: Any
) -> Mapping[str, Any]:
    """Run a metric without logging; a `run_query` that a user defined may still log."""
    ask = metric.run_query if has_own_run_query(metric) else metric._result
    return ask(query, model, **params)


def has_own_run_query(metric: BaseMetric) -> bool:
    """Tell whether a metric overrides `run_query`, as metrics written for WEFE 1 do."""
    return type(metric).run_query is not BaseMetric.run_query


def distinct_sizes(
    query: Query | None, lookup: Lookup, side: str, n_sets: int | None = None
) -> list[int]:
    """Size of each set of a side if all words are found.

    Empty if it is unknown, as with 'all', or if the side has not `n_sets` sets.
    """
    sets = [] if query is None or lookup.get("strategy") == "all" else getattr(query, side)
    return [len(set(words)) for words in sets] if n_sets in (None, len(sets)) else []
