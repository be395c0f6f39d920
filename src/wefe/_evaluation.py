"""One metric, one query, one model: looked up once, scored for any subsets of the words."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wefe._checks import found
from wefe._same_words import without_logging
from wefe._workers import travelling, travelling_params
from wefe.embeddings import EmbeddedSet, Lookup, UnanswerableError, embed_query
from wefe.metrics._base import BaseMetric, Scale, picked, without_losses
from wefe.metrics._geometry import Vectors
from wefe.metrics._word_counts import Once, WordCounts, n_cases_of
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query


class Evaluation:
    """A query after look-up, ready to be scored for many subsets of its words.

    Parameters
    ----------
    metric : BaseMetric
        The metric.
    query : Query
        The query; it must fit the metric's template.
    model : WordEmbeddingModel
        The model.
    params : mapping
        What `run_query` is called with.
    subset_defaults : bool, default=True
        Put the metric's own defaults for subsets before `params`.
    value : float, optional
        The score of all words, where it is known already.

    Attributes
    ----------
    targets, attributes : tuple of EmbeddedSet
        The words found, each once; of paired targets, the complete tuples.
    lost : tuple of tuple of str
        For each set, targets first, the words that were not found.
    value : float
        The score of all words.
    scale : Scale
        How scores are to be read.
    paired : bool
        Word i of each target set belong together.
    can_repeat : bool
        Words may count several times. Not so for a metric with a `run_query` of its own.
    """

    def __init__(
        self,
        metric: BaseMetric,
        query: Query,
        model: WordEmbeddingModel,
        params: Mapping[str, Any],
        *,
        subset_defaults: bool = True,
        value: float | None = None,
    ) -> None:
        check_query(query)
        check_model(model)
        self.metric, self.query, self.model_name = metric, query, model.name
        self.params = {**(metric._params_for_subsets if subset_defaults else {}), **params}
        self._prefix = model.vocab_prefix or ""
        calls: list[tuple[Sequence[EmbeddedSet], Sequence[EmbeddedSet], dict[str, Any]]] = []

        def note_call(
            targets: Sequence[EmbeddedSet], attributes: Sequence[EmbeddedSet], **own: Any
        ) -> float:
            calls.append((targets, attributes, own))
            return 0.0

        # The metric checks its parameters and looks words up by itself; what it would compute
        # with is noted.
        probe = copy.copy(metric)
        vars(probe)["_compute"] = note_call
        ours = _definer(metric, "run_query").__module__.startswith("wefe.metrics.")
        if not ours:
            self.params = _accepted(metric, self.params)
        try:
            result: Any = probe.run_query(query, model, **self.params)
        except Exception:
            # What it makes of a result may need more than the probe has.
            if ours:
                raise
            calls, result = [], None
        reason = getattr(result, "nan_reason", None)
        if reason is not None:
            raise UnanswerableError(
                f"{query.query_name!r} cannot be answered with {model.name}: {reason}."
            )
        if value is None:
            value = float(metric.run_query(query, model, **self.params)["result"])
        self.value = value
        self._own: dict[str, Any] = {}
        self._model: WordEmbeddingModel | None = None
        if len(calls) == 1:
            targets, attributes, self._own = calls[0]
            self._set(targets, attributes, paired=metric._pairs_targets(**self._own))
            if "calculate_p_value" in self._own:
                self._own["calculate_p_value"] = False  # nobody asks for that of a variant
        if len(calls) != 1 or (not ours and not self._agrees()):
            # It has a run_query of its own, which is called for each subset.
            lookup = {key: self.params[key] for key in Lookup.__annotations__ if key in self.params}
            embedded = embed_query(model, query, **lookup)
            self._model = model
            self._set(embedded.targets, embedded.attributes, paired=False)
        self.can_repeat = self._model is None
        self.scale = self.scale_of([len(part) for part in self.sets])

    def _set(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        *,
        paired: bool,
    ) -> None:
        self.paired = paired
        self.lost = tuple(part.lost for part in (*targets, *attributes))
        self.targets = without_losses(targets, paired=paired)
        self.attributes = without_losses(attributes)

    def _agrees(self) -> bool:
        """Whether `_compute` gives what `run_query` does, so that nothing is done around it."""
        return math.isclose(self.of_all_words(), self.value, rel_tol=1e-9, abs_tol=1e-12)

    def of_all_words(self) -> float:
        """Score all words in the way in which subsets are scored."""
        return float(self.scores([Once(len(part)) for part in self.sets])[0])

    @property
    def is_fast(self) -> bool:
        """Whether variants are scored together, not one after the other."""
        cases, single = (_depth(self.metric, name) for name in ("_compute_cases", "_compute"))
        # A metric that inherits the former and overrides the latter is another metric.
        return self._model is None and cases <= single and not self._is_default()

    def _is_default(self) -> bool:
        return _definer(self.metric, "_compute_cases") is BaseMetric

    def travelling(self) -> Evaluation:
        """Return what goes to a worker: mapped models as they are in memory."""
        other = copy.copy(self)
        # Metrics of whole vocabularies have their models among the parameters.
        other.params, other._own = travelling_params(self.params), travelling_params(self._own)
        if self._model is not None:
            other._model = travelling(self.metric, [self.query], self._model, self.params)
        return other

    @property
    def strata(self) -> list[tuple[int, ...]]:
        """Positions in `sets` of those whose words come and go together, as pairs do."""
        n_targets, n_sets = len(self.targets), len(self.sets)
        if not self.paired:
            return [(position,) for position in range(n_sets)]
        together = tuple(range(n_targets))
        return [together, *((position,) for position in range(n_targets, n_sets))]

    @property
    def sets(self) -> tuple[EmbeddedSet, ...]:
        """Target sets, then attribute sets."""
        return self.targets + self.attributes

    def scale_of(self, sizes: Sequence[int]) -> Scale:
        """Return the scale of the query with the first words of each set."""
        # The sets hold the forms that were found.
        params = {k: v for k, v in self.params.items() if k not in ("strategy", "preprocessors")}
        return self.metric.scale(
            self._query_of(
                [picked(part, range(size)) for part, size in zip(self.sets, sizes, strict=True)]
            ),
            **params,
        )

    def scores(self, counts: Sequence[WordCounts]) -> Vectors:
        """Score many variants of the query.

        Parameters
        ----------
        counts : sequence of WordCounts
            For each set, targets first, how often each word counts in each case.

        Returns
        -------
        ndarray of shape (n_cases,)
            NaN where the score is undefined.
        """
        with without_logging("wefe.metrics", "wefe.embeddings"):
            if self._model is None:
                compute = BaseMetric._compute_cases
                if self.is_fast:
                    compute = type(self.metric)._compute_cases
                return compute(self.metric, self.targets, self.attributes, counts, **self._own)
            return self._by_queries(counts, self._model)

    def _by_queries(self, counts: Sequence[WordCounts], model: WordEmbeddingModel) -> Vectors:
        scores = np.empty(n_cases_of(counts))
        for case in range(len(scores)):
            sets = []
            for part, count in zip(self.sets, counts, strict=True):
                row = min(case, count.n_cases - 1)
                numbers = count.matrix(slice(row, row + 1))[0]
                if numbers.max() > 1:
                    raise ValueError(
                        f"{type(self.metric).__name__} has a run_query of its own, and a query "
                        "cannot repeat a word; a metric that defines _compute can be measured with "
                        "repeated words."
                    )
                sets.append(picked(part, np.flatnonzero(numbers)))
            found_forms = {"preprocessors": None, "lost_vocabulary_threshold": 1.0}
            options = _accepted(self.metric, {**self.params, **found_forms})
            try:
                result = self.metric.run_query(self._query_of(sets), model, **options)
                scores[case] = float(result["result"])
            except UnanswerableError:
                scores[case] = math.nan
        return scores

    def _query_of(self, sets: Sequence[EmbeddedSet]) -> Query:
        query, n_targets = self.query, len(self.targets)
        words = [[word.removeprefix(self._prefix) for word in part.words] for part in sets]
        return Query(
            words[:n_targets],
            words[n_targets:],
            query.target_sets_names,
            query.attribute_sets_names,
        )


def _definer(metric: BaseMetric, name: str) -> type:
    """Return the class that defines a method of a metric."""
    return next((each for each in type(metric).__mro__ if name in vars(each)), BaseMetric)


def _depth(metric: BaseMetric, name: str) -> int:
    return type(metric).__mro__.index(_definer(metric, name))


def _accepted(metric: BaseMetric, params: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out parameters of the look-up that a `run_query` of a user does not take."""
    known = inspect.signature(metric.run_query).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known):
        return dict(params)
    names = {parameter.name for parameter in known}
    return {k: v for k, v in params.items() if k in names or k not in Lookup.__annotations__}


def finite_range(scale: Scale, metric: BaseMetric) -> tuple[float, float]:
    """Return the range of a scale, refused where it has no bounds."""
    low, high = scale.value_range
    if math.isinf(low) or math.isinf(high):
        raise ValueError(
            f"{scale.label} has no finite range ({low} to {high}) with these parameters of "
            f"{type(metric).__name__}, so a silhouette has no share of it to fill. Pass "
            "value_range=(lowest, highest), or parameters that bound the score, such as "
            "normalize=True."
        )
    return float(low), float(high)


def check_range(value_range: object) -> tuple[float, float]:
    """Return a range that was given as two rising numbers."""
    try:
        low, high = (float(bound) for bound in value_range)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"value_range must be two rising finite numbers; got {found(value_range)}."
        )
    return low, high
