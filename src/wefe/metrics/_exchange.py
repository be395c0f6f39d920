"""Permutation tests of any metric: its score under the exchanges that change nothing without bias.

Exchanged sets are weights of the pooled words; splits of sums over words or pairs are counted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, check_choice, logger, progress_bar
from wefe._wordset import Chosen, Vectors, WordSet, WordSets
from wefe.metrics._declaration import Count, Measurement, RandomState, Scale
from wefe.metrics._permutation import (
    Alternative,
    Method,
    PermutationTest,
    flip_test,
    permutation_test,
    random_orders,
    sampled,
)
from wefe.results import OPPOSITE

TestType: TypeAlias = Literal["left-sided", "right-sided", "two-sided"]
Rows: TypeAlias = npt.NDArray[np.integer[Any]]
#: What may be exchanged if there is no bias: words between sets, or the two words of a pair.
Exchange: TypeAlias = Literal["targets", "attributes", "pairs"]

# Splits that are listed one by one; of more, a sample is drawn.
_MOST_LISTED = 20_000
# Numbers of the matrices that are made for some splits: they stay in the cache of a core.
_BLOCK_NUMBERS = 1 << 16
# Splits that show what a counted score is without bias.
_N_NULL = 1000
# Scores that differ by less than this, relative to max(1, |score|), are ties.
_TIE = 1e-9
# Share of splits in one tail of a two-sided test at level 0.05.
_TAIL = 0.025

_MISSED = f"{OPPOSITE}: a one-sided test misses it; use p_value_test_type='two-sided'"
ALTERNATIVES: dict[str, Alternative] = {
    "right-sided": "greater",
    "left-sided": "less",
    "two-sided": "two-sided",
}
_OPPOSITES: dict[Alternative, Alternative] = {"greater": "less", "less": "greater"}

#: Tests one side: takes `alternative`.
_Run: TypeAlias = Callable[..., PermutationTest]


@dataclass(eq=False, repr=False, kw_only=True)
class PermutationTested:
    """What tests the scores of a metric; :class:`BaseMetric` describes parameters and facts."""

    metric_short_name: ClassVar[str]
    pairs_targets: ClassVar[Any] = False
    needs_vocabulary: ClassVar[bool] = False
    null_exchange: ClassVar[Exchange | None] = None
    no_p_value: ClassVar[Any] = ""
    #: Methods of `BaseMetric`.
    scale: ClassVar[Callable[..., Scale]]
    _scores: ClassVar[Callable[..., Vectors]]

    calculate_p_value: bool = False
    p_value_test_type: TestType = "right-sided"
    p_value_method: Method = "exact"
    p_value_iterations: Count = 10_000
    p_value_verbose: bool = False
    random_state: RandomState = None

    def _tested(self, measured: Measurement, *sides: WordSets) -> Measurement:
        """Add the p-value if it is requested, or a warning that says why there is none."""
        if not self.calculate_p_value:
            return measured
        p_value, details, warnings = math.nan, dict(measured.details), measured.warnings
        score = float(measured.values["result"])
        undeclared = "" if self.null_exchange else "it does not define what may be exchanged"
        if why := self.no_p_value or undeclared:
            warnings += (f"{self.metric_short_name} has no p-value: {why}",)
        elif not math.isnan(score):
            check_choice("null_exchange", self.null_exchange, get_args(Exchange))
            test, is_missed = self._exchange_test(score, *sides)
            details["permutation_test"], p_value = test, test.p_value
            warnings += (_MISSED,) * is_missed + (*self._not_as_asked(test),)
            if self.p_value_verbose:
                logger.info("%s", test)
        values = {**measured.values, "p_value": p_value}
        return replace(measured, values=values, details=details, warnings=warnings)

    def _not_as_asked(self, test: PermutationTest) -> Iterator[str]:
        """Explain why a p-value was computed with another method than the requested one."""
        listed = self.null_exchange != "pairs" and type(self)._sums is PermutationTested._sums
        if listed or self.p_value_method == "approximate":
            return
        lower, upper = test.p_value_bounds
        if test.method == "approximate":
            yield f"too many words for an exact p-value; {test.n_splits} random splits were drawn"
        elif upper - lower > 0.01 * upper:
            between = f"between {lower:.3g} and {upper:.3g}"
            yield f"the exact p-value lies {between}; the upper bound is returned"

    def _sums(self, targets: WordSets, attributes: WordSets) -> tuple[Vectors, Vectors] | None:
        """Return values of the words of both sets, so that splits can be counted, or None.

        In all splits, their sum over the first set is the score plus the same constant.
        """
        return None

    def _pair_values(self, targets: WordSets, attributes: WordSets) -> Vectors:
        """Return the values of pairs, (n_pairs, 2): as they are, and with their words exchanged."""
        raise TypeError(f"{type(self).__name__} must define _pair_values.")

    def _report_params(self, own: Mapping[str, Any], **test: Any) -> dict[str, Any]:
        """Return the default parameters of `wefe measure` and of studies for this metric.

        `own` are the user's parameters, which take precedence. `test` has the 'p_value_test_type'
        and the 'random_state', for sets so large that random splits are drawn.
        """
        if self.null_exchange is None or self.needs_vocabulary:
            return {}
        return {"calculate_p_value": True, "p_value_method": "exact", **test}

    def _exchange_test(self, score: float, *sides: WordSets) -> tuple[PermutationTest, bool]:
        """Test a score, and tell whether the test misses a strong effect on the other side."""
        # Counted tests have the same null distribution in every call.
        counted = self.p_value_method != "approximate"
        seed = as_seed(0 if counted and self.random_state is None else self.random_state)
        sums = self._sums(*sides)
        if self.null_exchange == "pairs":
            values = self._pair_values(*sides)
            half = (values[:, 0] - values[:, 1]) / 2
            signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(_N_NULL, len(half)))
            null = values.mean() + signs @ half / len(half)
            run: _Run = partial(flip_test, half, **self._how(seed))
        elif sums is not None:
            pooled = np.concatenate(sums)
            first = random_orders(len(pooled), _N_NULL, seed)[:, : len(sums[0])]
            null = score + pooled[first].sum(axis=1) - sums[0].sum()
            run = partial(permutation_test, *sums, **self._how(seed))
        else:
            run, null = self._of_sets(score, seed, *sides)
        side, scale = ALTERNATIVES[self.p_value_test_type], self.scale()
        if side == "two-sided" and scale.is_one_sided:
            # Extreme is what shows more bias.
            side = "greater" if scale.no_bias_value == scale.value_range[0] else "less"
        test, missed = run(alternative=side), False
        if self.p_value_test_type != "two-sided" and test.p_value >= 1 - _TAIL:
            # This is not enough: ties count on both sides, and few words have few splits.
            missed = run(alternative=_OPPOSITES[side]).p_value <= _TAIL
        known = null[~np.isnan(null)]
        if len(known):
            quantiles = tuple(np.quantile(known, [0.025, 0.5, 0.975]).tolist())
            test = replace(test, null_mean=float(known.mean()), null_quantiles=quantiles)
        return replace(test, statistic=score), missed

    def _how(self, seed: int) -> dict[str, Any]:
        """Return how to count splits."""
        how: dict[str, Any] = {"method": self.p_value_method, "random_state": seed}
        return how | {"n_iterations": self.p_value_iterations}

    def _of_sets(self, score: float, seed: int, *sides: WordSets) -> tuple[_Run, Vectors]:
        side = 0 if self.null_exchange == "targets" else 1
        sizes = tuple(map(len, sides[side]))
        # For pairs, the order within the sets counts, too.
        listed = self.p_value_method != "approximate" and not self.pairs_targets
        every = all_orders(sizes) if listed else None
        drawn = sum(sizes), self.p_value_iterations, seed
        orders = random_orders(*drawn) if every is None else every
        scores = self._scores_of_splits(orders, side, *sides)
        if every is not None:
            # The first order is the observed one. A solver finds its score in this batch a little
            # apart from `score`, and it must count.
            score = float(scores[0])
        tie = _TIE * max(1.0, abs(score))

        def run(alternative: Alternative) -> PermutationTest:
            if alternative == "two-sided":
                middle = self.scale().no_bias_value
                hits = np.abs(scores - middle) >= abs(score - middle) - tie
            else:
                hits = scores >= score - tie if alternative == "greater" else scores <= score + tie
            # A split without a score counts as extreme, so that the test keeps its level.
            n_hits, n = int(np.count_nonzero(hits | np.isnan(scores))), len(scores)
            if every is None:
                return sampled(score, n_hits, n, alternative)
            share = n_hits / n
            return PermutationTest(score, share, (share, share), "exact", alternative, n)

        return run, scores

    def _scores_of_splits(self, orders: Rows, side: int, *sides: WordSets) -> Vectors:
        """Score splits of a side, given as orders of its words: shape (n_splits,)."""
        exchanged, split = sides[side], [*sides]
        vectors = np.concatenate([part.vectors for part in exchanged])
        words = tuple(word for part in exchanged for word in part.words)
        pooled = WordSet("pooled", words, vectors)
        pooled.unit  # noqa: B018 - computed once, for all sets that are taken from it
        ends = np.cumsum([len(part) for part in exchanged])[:-1]
        at_once, scores = max(1, _BLOCK_NUMBERS // sum(vectors.shape)), []
        with progress_bar(len(orders), self.metric_short_name, "split") as bar:
            for start in range(0, len(orders), at_once):
                rows = np.split(orders[start : start + at_once], ends, axis=1)
                split[side] = [
                    pooled._weighted(Chosen(own, len(pooled)), part.name)
                    for own, part in zip(rows, exchanged, strict=True)
                ]
                scores.append(np.broadcast_to(self._scores(*split), len(rows[0])))
                bar.update(len(rows[0]))
        return np.concatenate(scores)


def of_means(x: Vectors, y: Vectors, unit: float) -> tuple[Vectors, Vectors]:
    """Return values for `_sums` of a score that is the difference of two means in some unit."""
    # With the sum of both sets, which no split changes, the sum over one set determines it.
    factor = (1 / len(x) + 1 / len(y)) / unit
    return factor * x, factor * y


@lru_cache(maxsize=16)
def all_orders(sizes: tuple[int, ...]) -> Rows | None:
    """All ways to split words into sets of these sizes, as orders; None if they are too many."""
    n_splits = math.prod(math.comb(sum(sizes[i:]), size) for i, size in enumerate(sizes))
    words = tuple(range(sum(sizes)))
    return np.array([*_splits(words, sizes)]) if n_splits <= _MOST_LISTED else None


def _splits(words: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not sizes:
        yield ()
        return
    for chosen in itertools.combinations(words, sizes[0]):
        rest = tuple(word for word in words if word not in chosen)
        yield from (chosen + order for order in _splits(rest, sizes[1:]))
