"""Nested random subsets of word lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice

Sizes: TypeAlias = npt.NDArray[np.intp]
UnequalLists: TypeAlias = Literal["exhaust", "proportional", "trim"]


def growth_sizes(
    lengths: Sequence[int], per_list: int, unequal: UnequalLists = "exhaust", k_min: int = 0
) -> Sizes:
    """Sizes of each list in each step of a growing subset.

    Parameters
    ----------
    lengths : sequence of int
        Number of words in each list.
    per_list : int
        Words that are added to each list in a step.
    unequal : {'exhaust', 'proportional', 'trim'}, default='exhaust'
        What becomes of lists of different lengths. 'exhaust': each grows by the same number, and
        stays once all its words are in. 'proportional': each has the same share of its words, as
        nearly as whole numbers allow; the shortest one grows by `per_list`. 'trim': each ends
        where the shortest one does.
    k_min : int, default=0
        Steps with fewer words in all are left out.

    Returns
    -------
    ndarray of int, shape (n_steps, n_lists)
        Rising; the last row has all words (with 'trim', as many as the shortest list has).

    Examples
    --------
    >>> growth_sizes([5, 3], 1).tolist()
    [[1, 1], [2, 2], [3, 3], [4, 3], [5, 3]]
    >>> growth_sizes([5, 3], 1, "proportional").tolist()
    [[2, 1], [3, 2], [5, 3]]
    """
    check_choice("unequal", unequal, ("exhaust", "proportional", "trim"))
    ends = np.array(lengths, dtype=np.intp)
    if unequal == "trim":
        ends = np.full_like(ends, ends.min())
    longest = int(ends.max() if unequal == "exhaust" else ends.min())
    steps = np.append(np.arange(per_list, longest, per_list), longest)
    if unequal == "proportional":
        sizes = np.maximum(1, np.rint(np.outer(steps, ends) / ends.min())).astype(np.intp)
    else:
        sizes = np.minimum(steps[:, None], ends)
    late = sizes.sum(axis=1) >= k_min
    late[-1] = True
    return np.asarray(sizes[late])


def run_orders(
    lengths: Sequence[int], n_runs: int, seed: int, *, paired: bool = False
) -> list[Sizes]:
    """Draw the order in which the words of each list come in, in each run.

    Parameters
    ----------
    lengths : sequence of int
        Number of words in each list.
    n_runs : int
        Number of runs.
    seed : int
        Orders depend on it, on the number of the run, the position of the list and its length:
        not on metric, model or the number of runs.
    paired : bool, default=False
        Word i of all lists belong together and come in together.

    Returns
    -------
    list of ndarray of int, shape (n_runs, n_words)
        One per list.
    """
    return [
        np.stack(
            [
                np.random.default_rng([seed, run, 0 if paired else position]).permutation(length)
                for run in range(n_runs)
            ]
        )
        for position, length in enumerate(lengths)
    ]
