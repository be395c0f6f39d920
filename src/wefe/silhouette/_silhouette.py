"""Bias silhouettes, robustness and accuracy (Spliethöver and Wachsmuth, IJCAI 2021)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._bootstrap import why_not_comparable
from wefe._checks import (
    as_seed,
    check_array,
    check_choice,
    check_number,
    check_positive_int,
    check_share,
    check_up_to,
    listed,
    logger,
    progress_bar,
)
from wefe._evaluation import Evaluation
from wefe._same_words import on_same_words
from wefe._visible import Facts
from wefe._wordset import Nested
from wefe.metrics._base import BaseMetric
from wefe.metrics._declaration import Scale
from wefe.metrics._geometry import Vectors
from wefe.metrics._registry import MetricLike, as_metric
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query, check_query

Vary: TypeAlias = Literal["targets", "attributes"]
Sizes: TypeAlias = npt.NDArray[np.intp]
UnequalLists: TypeAlias = Literal["exhaust", "proportional", "trim"]

# Words that are added in a step, as in the paper: 2 social-group words, 6 concept words.
_STEPS = {"targets": 2, "attributes": 6}
# Runs that are held at once.
_MOST_RUNS = 25


@dataclass(frozen=True, eq=False, repr=False)
class Silhouette(Facts):
    """How the score of a metric depends on the choice of words from its lists.

    :func:`wefe.plotting.plot_silhouettes` draws it.

    Attributes
    ----------
    metric, query_name, model_name : str
        Label of the score, such as 'WEAT-ES', and names of the query and the model.
    vary : {'targets', 'attributes'}
        Which lists grow; the others are used in full.
    sizes : ndarray of int, shape (n_steps, n_lists)
        Number of words of each growing list in each step.
    curves : ndarray of shape (n_runs, n_steps)
        The score of each run at each size.
    n_words : int
        Number of words of all growing lists together, ``|W|`` in the paper.
    value : float
        The score of the full lists.
    value_range : tuple of float
        Smallest and largest possible score.
    no_bias_value : float
        The score that means that no bias was measured.
    random_state : int
        Seed of the orders.
    words_left_out : tuple of str
        Words of the growing lists that one of the compared models lacks.

    Examples
    --------
    With two names of women and two of men, the score is anything from 0.15 to 1.91:

    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> query, model = load_weat_queries()[5], load_test_model()
    >>> (silhouette,) = bias_silhouettes("weat", query, [model], n_runs=20)
    >>> silhouette.to_frame().round(2).iloc[[1, 7]]
        k  lower  mean  upper
    1   4   0.15  1.17   1.91
    7  16   1.04  1.04   1.04
    """

    metric: str
    query_name: str
    model_name: str
    vary: Vary
    sizes: Sizes
    curves: Vectors
    n_words: int
    value: float
    value_range: tuple[float, float]
    no_bias_value: float
    random_state: int
    words_left_out: tuple[str, ...] = ()

    @property
    def n_runs(self) -> int:
        """Number of random orders."""
        return len(self.curves)

    @property
    def k(self) -> Sizes:
        """Number of words in each step, all growing lists together: shape (n_steps,)."""
        return np.asarray(self.sizes.sum(axis=1))

    @property
    def lower(self) -> Vectors:
        """Smallest score of any run at each size: shape (n_steps,)."""
        return np.asarray(self.curves.min(axis=0))

    @property
    def upper(self) -> Vectors:
        """Largest score of any run at each size: shape (n_steps,)."""
        return np.asarray(self.curves.max(axis=0))

    @property
    def mean(self) -> Vectors:
        """Mean score at each size: shape (n_steps,)."""
        return np.asarray(self.curves.mean(axis=0))

    @property
    def area(self) -> float:
        """Area between the bounds over k, by the trapezoidal rule, in words x score; at least 0."""
        from scipy.integrate import trapezoid  # quicker to start without it

        return float(trapezoid(self.upper - self.lower, self.k))

    @property
    def robustness(self) -> float:
        """Robustness score, in [0, 1]: share of the possible area that the curves do not cover.

        ``1 - area / (range * |W|)``, section 3.3 of the paper; also high if a metric uses little of
        its range. Sizes below the first count as not covered, unlike in `robustness_of_span`. NaN
        for a single size.
        """
        return self._robustness(self.n_words)

    @property
    def robustness_of_span(self) -> float:
        """Robustness within the measured sizes, in [0, 1]; NaN for a single size."""
        return self._robustness(float(self.k[-1] - self.k[0]))

    def _robustness(self, width: float) -> float:
        low, high = self.value_range
        return 1.0 - self.area / ((high - low) * width) if len(self.k) > 1 else np.nan

    @property
    def bias(self) -> Vectors:
        """Distance of the mean score from the no-bias value at each size: shape (n_steps,)."""
        return np.asarray(np.abs(self.mean - self.no_bias_value))

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per size: 'k', 'lower', 'mean', 'upper'."""
        return pd.DataFrame({name: getattr(self, name) for name in ("k", "lower", "mean", "upper")})

    @classmethod
    def _of(cls, content: Mapping[str, Any]) -> Silhouette:
        """Return a silhouette from the data of :meth:`to_json`."""
        arrays = {name: np.asarray(content[name]) for name in ("sizes", "curves")}
        tuples = {name: tuple(content[name]) for name in ("value_range", "words_left_out")}
        return cls(**{**content, **arrays, **tuples})

    def sufficient_size(self, tolerance: float = 0.05, coverage: float = 1.0) -> int | None:
        """Smallest number of words from which on the score stays close to that of all words.

        Parameters
        ----------
        tolerance : float, default=0.05
            Largest accepted distance from the score of all words, in units of the score; at least
            0.
        coverage : float, default=1.0
            Share of the runs, in [0, 1], that must stay within the tolerance at this and all larger
            sizes.

        Returns
        -------
        int or None
            Number of words of all growing lists together, as in `k`. None if all words are needed.
        """
        share = check_share("coverage", coverage)
        check_number("tolerance", tolerance, at_least=0)
        near = np.abs(self.curves - self.value) <= tolerance
        stays = np.logical_and.accumulate(near[:, ::-1], axis=1)[:, ::-1]
        enough = np.flatnonzero(stays[:, :-1].sum(axis=0) >= share * self.n_runs - 1e-9)
        return int(self.k[enough[0]]) if len(enough) else None

    def __repr__(self) -> str:
        steps = f"{len(self.k)} sizes from {self.k[0]} to {self.k[-1]} words"
        return (
            f"<Silhouette of {self.metric} on {self.model_name!r}, {self.vary} of "
            f"{self.query_name!r}: robustness {self.robustness:.3f}, {self.n_runs} runs, {steps}>"
        )


def accuracy_score(unbiased: Silhouette, biased: Silhouette) -> float:
    """How clearly a metric, with its word lists, separates a biased from an unbiased model.

    Parameters
    ----------
    unbiased, biased : Silhouette
        Silhouettes of the two reference models, with the same metric, lists, sizes and scale.

    Returns
    -------
    float
        In [0, 1]. 0.5: no difference; 1: as far apart as scores can be; below 0.5: more bias
        measured in the supposedly unbiased model. It is ``0.5 + 0.5 * I / (b * |W|)``, where I is
        the integral over k, from the first size at which both scores are defined, of the difference
        of `bias` (biased minus unbiased model), b the largest possible bias, and ``|W|`` the number
        of words. In section 3.3 of Spliethöver and Wachsmuth, IJCAI 2021, the formula takes 0 as
        the no-bias value of every metric, even of ECT, where it is 1.

    Examples
    --------
    >>> import wefe
    >>> query = wefe.datasets.load_weat_queries()[5]
    >>> models = [wefe.silhouette.make_biased_embeddings(query, b, 100, 50) for b in (0, 0.2)]
    >>> unbiased, biased = bias_silhouettes("weat", query, models, n_runs=20)
    >>> accuracy_score(unbiased, biased), accuracy_score(biased, biased)
    (0.758, 0.5)
    """
    from scipy.integrate import trapezoid  # quicker to start without it

    by_size = accuracy_by_size(unbiased, biased)
    k, accuracy = by_size["k"].to_numpy(), by_size["accuracy"].to_numpy()
    if len(k) == 1:
        # A single size has a difference, but no area.
        return float(accuracy[0])
    return 0.5 + float(trapezoid(accuracy - 0.5, k)) / biased.n_words


def accuracy_by_size(unbiased: Silhouette, biased: Silhouette) -> pd.DataFrame:
    """How the accuracy of a metric depends on the number of words, where both have a score.

    Parameters
    ----------
    unbiased, biased : Silhouette
        As for :func:`accuracy_score`.

    Returns
    -------
    DataFrame
        One row per size: 'k' (words of all growing lists), 'accuracy' (which :func:`accuracy_score`
        integrates) and 'told_apart': the share of pairs of runs, one on each model, in which the
        biased model scores as more biased, in [0, 1]; ties count half. It does not depend on how
        much of its range a metric uses.

    Examples
    --------
    >>> import wefe
    >>> query = wefe.datasets.load_weat_queries()[5]
    >>> models = [wefe.silhouette.make_biased_embeddings(query, b, 100, 50) for b in (0, 0.2)]
    >>> by_size = accuracy_by_size(*bias_silhouettes("weat", query, models, n_runs=20))
    >>> by_size["told_apart"].iloc[[0, -1]].tolist()
    [0.8825, 1.0]
    """
    start = max(unbiased.k[0], biased.k[0])
    first, second = (
        replace(each, sizes=each.sizes[each.k >= start], curves=each.curves[:, each.k >= start])
        for each in (unbiased, biased)
    )
    for fact in ("metric", "query_name", "vary", "n_words", "value_range", "no_bias_value", "k"):
        one, other = getattr(first, fact), getattr(second, fact)
        if not np.array_equal(one, other):
            raise ValueError(
                f"both silhouettes must have the same {fact}; got {one!r} and {other!r}. Pass both "
                "models to one call of bias_silhouettes, which uses only words that both have."
            )
    largest = max(abs(bound - second.no_bias_value) for bound in second.value_range)
    distances, of_biased = (np.abs(each.curves - each.no_bias_value) for each in (first, second))
    # For each run on the biased model: 1, 0 or -1 for each run on the other one.
    wins = [np.sign(run - distances).mean(axis=0) for run in of_biased]
    columns = {
        "k": second.k,
        "accuracy": 0.5 + 0.5 * (second.bias - first.bias) / largest,
        "told_apart": 0.5 + 0.5 * np.mean(wins, axis=0),
    }
    return pd.DataFrame(columns)


def bias_silhouettes(
    metric: MetricLike,
    query: Query,
    models: Sequence[WordEmbeddingModel],
    vary: Vary = "targets",
    n_runs: int = 100,
    step: int | None = None,
    k_min: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    *,
    unequal: UnequalLists = "exhaust",
    value_range: tuple[float, float] | None = None,
    no_bias_value: float | None = None,
    metric_params: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> list[Silhouette]:
    """Measure a query with growing subsets of its words, in many random orders.

    This is Bias Silhouette Analysis (Spliethöver and Wachsmuth, IJCAI 2021, section 3). All models
    get the same subsets of the words that all of them have.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``WEAT`` or ``"weat"``.
    query : Query
        A query that fits the template of the metric.
    models : sequence of WordEmbeddingModel
        The models to measure. A word that one of them lacks is left out for all, and logged.
    vary : {'targets', 'attributes'}, default='targets'
        Which word lists grow: the social groups or the concepts.
    n_runs : int, default=100
        Number of random orders.
    step : int, optional
        Words added per step, all growing lists together; by default 2 for targets and 6 for
        attributes, as in the paper. Each list gets an equal share, rounded down, but at least 1.
    k_min : int, optional
        Smallest number of words; by default one step. Sizes at which the score is undefined are
        left out, and logged.
    random_state : int, Generator or None, default=0
        Seed of the orders. These depend only on seed and lists, so models, and metrics with the
        same lists, get the same words at each step. (Pairs are added together.)
    n_jobs : int, optional
        Number of joblib workers; it does not change the result. Under ``joblib.parallel_config``
        the runs use its backend, such as Dask.
    unequal : {'exhaust', 'proportional', 'trim'}, default='exhaust'
        How lists of different lengths grow: by the same number of words, until a list is complete;
        by the same share of their words; or until the shortest one is complete, as in the published
        code.
    value_range, no_bias_value : tuple of float, float, optional
        Smallest and largest possible score, and the one that means no bias; by default those of the
        metric. The paper uses (-1, 1) for ECT, (0, 1) for RNSB, (-2, 2) for WEAT, and 0 for all.
    metric_params : mapping, optional
        Parameters of `run_query`. So that scores of subsets can be compared, WEAT uses the effect
        size by default, RND and RIPA use unit vectors, and RNSB uses no hold-out. A WEAT sum is
        compared with the range of the full lists.
    progress : bool, default=True
        Show a progress bar if it takes long.

    Returns
    -------
    list of Silhouette
        One per model, in the same order.

    Raises
    ------
    ValueError
        If there is no model, or the query cannot be answered; if the score is random, has no finite
        range, leaves the given one, or is undefined for most sizes; or if two words of a set have
        the same form in one model only.

    Examples
    --------
    >>> import wefe
    >>> query = wefe.datasets.load_weat_queries()[5]
    >>> models = [wefe.silhouette.make_biased_embeddings(query, b, 100, 50) for b in (0, 0.2)]
    >>> [one.robustness for one in bias_silhouettes("weat", query, models, n_runs=20)]
    [0.63, 0.84]
    """
    check_choice("vary", vary, get_args(Vary))
    check_positive_int("n_runs", n_runs)
    wanted = check_positive_int("step", _STEPS[vary] if step is None else step)
    seed = as_seed(random_state)
    check_query(query)
    most = sum(map(len, query.target_sets if vary == "targets" else query.attribute_sets))
    fewest = check_up_to("k_min", k_min or 0, most, "the number of words")
    params = {"lost_vocabulary_threshold": 1.0, **(metric_params or {})}
    alike = on_same_words(check_models(models), [query], params)
    evaluations = [
        Evaluation.of_subsets(as_metric(metric), query, model, params) for model in alike
    ]
    first = evaluations[0]
    for each in evaluations:
        if reason := why_not_comparable(each):
            raise ValueError(f"{query.query_name!r} on {each.model_name}: {reason}.")
        if [*map(len, each.sets)] != [*map(len, first.sets)]:
            raise ValueError(
                f"two words of {query.query_name!r} have the same form in one model only; write "
                "them in one form."
            )
    n_targets = len(first.targets)
    growing = slice(n_targets) if vary == "targets" else slice(n_targets, None)
    positions = range(len(first.sets))[growing]
    lengths = [len(part) for part in first.sets[growing]]
    sizes = growth_sizes(lengths, max(1, wanted // len(lengths)), unequal, fewest)
    orders = run_orders(lengths, n_runs, seed, paired=vary == "targets" and first.paired)
    scale = _scale(first, growing, sizes, value_range, no_bias_value)
    left_out = tuple(dict.fromkeys(itertools.chain(*first.lost[growing])))
    if left_out:
        logger.warning(
            "%d words of the %s are left out because at least one model lacks them: %s",
            *(len(left_out), vary, listed(left_out, 10)),
        )
    is_fast = type(first.metric)._scores is not BaseMetric._scores
    blocks = []
    for runs in chunks(n_runs, _MOST_RUNS if is_fast else 1):
        nested = map(Nested, [order[runs] for order in orders], sizes.T)
        blocks.append(dict(zip(positions, nested, strict=True)))
    silhouettes = []
    n_subsets = len(evaluations) * n_runs * len(sizes)
    with progress_bar(n_subsets, scale.label, "subset", progress) as bar:
        for evaluation in evaluations:
            curves = evaluation.scores_of(blocks, n_jobs, bar).reshape(n_runs, -1)
            if sizes[-1].tolist() == lengths:
                # All orders end in the same words; `why_not_comparable` has found the value near
                # what these have, and a solver may have stopped a little apart.
                curves[:, -1] = evaluation.value
            _check_within(curves, scale)
            start = _first_defined(curves, sizes, evaluation)
            silhouettes.append(
                Silhouette(
                    scale.label,
                    query.query_name,
                    evaluation.model_name,
                    vary,
                    sizes[start:],
                    curves[:, start:],
                    int(sizes[-1].sum()),
                    evaluation.value,
                    scale.value_range,
                    scale.no_bias_value,
                    seed,
                    left_out,
                )
            )
    return silhouettes


def growth_sizes(
    lengths: Sequence[int], per_list: int, unequal: UnequalLists = "exhaust", k_min: int = 0
) -> Sizes:
    """Return the size of each list in each step, (n_steps, n_lists), from `k_min` words on."""
    check_choice("unequal", unequal, get_args(UnequalLists))
    ends = np.array(lengths, dtype=np.intp)
    longest = int(ends.max() if unequal == "exhaust" else ends.min())
    steps = np.append(np.arange(per_list, longest, per_list), longest)
    sizes: Sizes = np.minimum(steps[:, None], ends)
    if unequal == "proportional":
        sizes = np.rint(np.outer(steps, ends) / ends.min()).astype(np.intp)
    start = np.searchsorted(sizes.sum(axis=1), k_min)
    return sizes[min(start, len(sizes) - 1) :]


def run_orders(lengths: Sequence[int], n_runs: int, seed: int, paired: bool = False) -> list[Sizes]:
    """Draw orders, (n_runs, n_words) per list, that depend on seed, run, position and length only.

    If `paired`, the order is the same for all lists.
    """
    orders = []
    for position, length in enumerate(lengths):
        seeds = ([seed, run, 0 if paired else position] for run in range(n_runs))
        orders.append(np.stack([np.random.default_rng(own).permutation(length) for own in seeds]))
    return orders


def _check_within(curves: Vectors, scale: Scale) -> None:
    low, high = scale.value_range
    lowest, highest = float(np.nanmin(curves)), float(np.nanmax(curves))
    slack = 1e-9 * (high - low)
    if lowest < low - slack or highest > high + slack:
        raise ValueError(
            f"scores of {scale.label} must be within value_range {scale.value_range}; got "
            f"{lowest:.4g} to {highest:.4g}. Pass a wider value_range."
        )


def _first_defined(curves: Vectors, sizes: Sizes, evaluation: Evaluation) -> int:
    """Return the first step from which on every score is defined."""
    undefined = np.isnan(curves).any(axis=0)
    if not undefined.any():
        return 0
    start = int(np.flatnonzero(undefined)[-1]) + 1
    if 2 * start > len(sizes):
        raise ValueError(
            f"{evaluation.scale.label} must be defined for at least half of the sizes; it is "
            f"undefined for subsets of up to {sizes[start - 1].sum()} of the {sizes[-1].sum()} "
            f"words of {evaluation.query.query_name!r} on {evaluation.model_name}. Use more words."
        )
    logger.warning(
        "%s is undefined for some subsets of up to %d words; the curves start at %d words",
        *(evaluation.scale.label, sizes[start - 1].sum(), sizes[start].sum()),
    )
    return start


def _scale(
    evaluation: Evaluation, growing: slice, sizes: Sizes, value_range: Any, no_bias_value: Any
) -> Scale:
    """Return the scale that holds for the full lists and all subsets."""
    scale = evaluation.scale
    if value_range is not None:
        low, high = check_array("value_range", value_range, "(2,)").tolist()
    elif np.isinf(scale.value_range).any():
        raise ValueError(
            f"a silhouette needs a score with a finite range; {scale.label} has "
            f"{scale.value_range}. Pass value_range=(lowest, highest), or metric_params that "
            "bound the score, such as normalize=True."
        )
    else:
        # The effect size of sets of different sizes may exceed that of the full sets.
        lengths = np.tile([len(part) for part in evaluation.sets], (len(sizes) + 1, 1))
        lengths[1:, growing] = sizes
        bounds = [evaluation.scale_of(own).value_range for own in lengths.tolist()]
        low, high = float(np.min(bounds)), float(np.max(bounds))
    no_bias = scale.no_bias_value if no_bias_value is None else float(no_bias_value)
    if not low <= no_bias <= high or low == high:
        raise ValueError(
            f"value_range of {scale.label} must be two numbers, the smaller one first, with "
            f"no_bias_value between them; got {(low, high)} and {no_bias}."
        )
    return Scale(scale.label, (low, high), no_bias)
