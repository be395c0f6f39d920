"""Permutation tests of any metric: its score under the exchanges that change nothing without bias.

Exchanged sets are weights of the pooled words; splits of sums over words or pairs are counted.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, progress_bar
from wefe._wordset import Chosen, Vectors, WordSet
from wefe.metrics._permutation import (
    Alternative,
    PermutationTest,
    flip_test,
    permutation_test,
    random_orders,
    sampled,
)

if TYPE_CHECKING:
    from wefe.metrics._base import BaseMetric

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

ALTERNATIVES: dict[str, Alternative] = {
    "right-sided": "greater",
    "left-sided": "less",
    "two-sided": "two-sided",
}
_OPPOSITES: dict[Alternative, Alternative] = {"greater": "less", "less": "greater"}

_Run: TypeAlias = Callable[[Alternative], PermutationTest]


class Sums(NamedTuple):
    """A score that depends only on sums of word values over two sets."""

    #: Values of the words of either set, of shape (n_words,).
    x: Vectors
    y: Vectors
    #: Makes scores of the sums over the first and over the second set, each of shape (n_splits,).
    score: Callable[[Vectors, Vectors], Vectors]


def exchange_test(
    metric: BaseMetric, targets: Sequence[WordSet], attributes: Sequence[WordSet], score: float
) -> tuple[PermutationTest, bool]:
    """Test a score, and tell whether the test misses a strong effect in the opposite direction."""
    # Counted tests have the same null distribution in every call.
    counted = metric.p_value_method != "approximate"
    seed = as_seed(0 if counted and metric.random_state is None else metric.random_state)
    sums = metric._sums(targets, attributes)
    if metric.null_exchange == "pairs":
        run, null = _of_pairs(metric, metric._pair_values(targets, attributes), seed)
    elif sums is not None:
        run, null = _of_sums(metric, sums, seed)
    else:
        run, null = _of_sets(metric, targets, attributes, score, seed)
    test, missed = tested(run, _alternative(metric))
    known = null[~np.isnan(null)]
    if len(known):
        quantiles = tuple(np.quantile(known, [0.025, 0.5, 0.975]).tolist())
        test = replace(test, null_mean=float(known.mean()), null_quantiles=quantiles)
    # If no bias is an end of the range, two-sided tests have a direction, too.
    return replace(test, statistic=score), missed and metric.p_value_test_type != "two-sided"


def value_test(
    metric: BaseMetric, x: Vectors, y: Vectors, seed: int
) -> tuple[PermutationTest, bool]:
    return tested(_counting(metric, x, y, seed), ALTERNATIVES[metric.p_value_test_type])


def tested(run: _Run, alternative: Alternative) -> tuple[PermutationTest, bool]:
    test = run(alternative)
    # A p-value near 1 is not enough: ties count on both sides, and few words have few splits.
    near_one = alternative != "two-sided" and test.p_value >= 1 - _TAIL
    return test, near_one and run(_OPPOSITES[alternative]).p_value <= _TAIL


def _alternative(metric: BaseMetric) -> Alternative:
    """Side that counts as extreme: more bias, where scores lie on one side of no bias."""
    scale = metric.scale()
    if metric.p_value_test_type == "two-sided" and scale.is_one_sided:
        return "greater" if scale.no_bias_value == scale.value_range[0] else "less"
    return ALTERNATIVES[metric.p_value_test_type]


def _counting(metric: BaseMetric, x: Vectors, y: Vectors, seed: int) -> _Run:
    return lambda alternative: permutation_test(
        x,
        y,
        alternative=alternative,
        method=metric.p_value_method,
        n_iterations=metric.p_value_iterations,
        random_state=seed,
    )


def _of_sums(metric: BaseMetric, sums: Sums, seed: int) -> tuple[_Run, Vectors]:
    values = np.concatenate([sums.x, sums.y])
    orders = random_orders(len(values), _N_NULL, seed)
    first = values[orders[:, : len(sums.x)]].sum(axis=1)
    return _counting(metric, sums.x, sums.y, seed), sums.score(first, values.sum() - first)


def _of_pairs(metric: BaseMetric, values: Vectors, seed: int) -> tuple[_Run, Vectors]:
    """Test a mean over pairs of values: (n_pairs, 2), as they are and with words exchanged."""
    half = (values[:, 0] - values[:, 1]) / 2
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(_N_NULL, len(half)))
    how = metric.p_value_method, metric.p_value_iterations, seed
    return lambda side: flip_test(half, side, *how), values.mean() + signs @ half / len(half)


def _of_sets(
    metric: BaseMetric,
    targets: Sequence[WordSet],
    attributes: Sequence[WordSet],
    score: float,
    seed: int,
) -> tuple[_Run, Vectors]:
    exchanged = targets if metric.null_exchange == "targets" else attributes
    sizes = tuple(len(part) for part in exchanged)
    # For pairs, the order within the sets counts, too.
    listed = metric.p_value_method != "approximate" and not metric.pairs_targets
    every = all_orders(sizes) if listed else None
    drawn = sum(sizes), metric.p_value_iterations, seed
    orders = random_orders(*drawn) if every is None else every
    scores = _scores(metric, targets, attributes, orders)
    if every is not None:
        # The first order is the observed one. A solver finds its score in this batch a little apart
        # from `score`, and it must count.
        score = float(scores[0])
    tie = _TIE * max(1.0, abs(score))

    def run(alternative: Alternative) -> PermutationTest:
        if alternative == "two-sided":
            middle = metric.scale().no_bias_value
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


def _scores(
    metric: BaseMetric, targets: Sequence[WordSet], attributes: Sequence[WordSet], orders: Rows
) -> Vectors:
    """Score splits, given as orders of the pooled words: shape (n_splits,)."""
    of_targets = metric.null_exchange == "targets"
    exchanged = targets if of_targets else attributes
    vectors = np.concatenate([part.vectors for part in exchanged])
    words = tuple(word for part in exchanged for word in part.words)
    pooled = WordSet("pooled", words, vectors, (), tuple(range(len(vectors))))
    pooled.unit  # noqa: B018 - computed once, for all sets that are taken from it
    ends = np.cumsum([len(part) for part in exchanged])[:-1]
    at_once, scores = max(1, _BLOCK_NUMBERS // sum(vectors.shape)), []
    with progress_bar(len(orders), metric.metric_short_name, "split") as bar:
        for start in range(0, len(orders), at_once):
            rows = np.split(orders[start : start + at_once], ends, axis=1)
            parts = [
                pooled.weighted(Chosen(own, len(pooled)), part.name)
                for own, part in zip(rows, exchanged, strict=True)
            ]
            sides = (parts, attributes) if of_targets else (targets, parts)
            scores.append(np.broadcast_to(metric._scores_of(*sides), len(rows[0])))
            bar.update(len(rows[0]))
    return np.concatenate(scores)


def all_orders(sizes: tuple[int, ...]) -> Rows | None:
    """All ways to split words into sets of these sizes, as orders; None if they are too many."""
    n_splits = math.prod(math.comb(sum(sizes[i:]), size) for i, size in enumerate(sizes))
    return _listed(sizes) if n_splits <= _MOST_LISTED else None


@functools.lru_cache(maxsize=16)
def _listed(sizes: tuple[int, ...]) -> Rows:
    orders, n_done = np.arange(sum(sizes))[None], 0
    for size in sizes:
        n_left = orders.shape[1] - n_done
        chosen = np.array(list(itertools.combinations(range(n_left), size)), dtype=np.int32)
        is_left = np.ones((len(chosen), n_left), dtype=bool)
        np.put_along_axis(is_left, chosen, False, axis=1)
        # The chosen ones first, each of them in every order so far.
        rest = orders[:, n_done:][:, np.argsort(is_left, axis=1, kind="stable")]
        begun = np.repeat(orders[:, :n_done], len(chosen), axis=0)
        orders, n_done = np.hstack([begun, rest.reshape(-1, n_left)]), n_done + size
    return orders
