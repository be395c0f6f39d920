"""Compare the bias of words with a real-world statistic, such as the share of women in jobs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from wefe._bootstrap import MOST_UNDEFINED, bca_levels
from wefe._checks import as_seed, check_choice, check_positive_int, check_word_set, found, logger
from wefe._wordset import word_sets
from wefe.embeddings import embed_tuples
from wefe.explore._directions import CriterionLike, bias_directions, look_up
from wefe.metrics._geometry import Vectors, average_ranks, pearson
from wefe.metrics._weat import SCWEAT
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

Measure: TypeAlias = Literal["projection", "sc-weat"]
_ESTIMATES = ("pearson", "spearman", "slope")

# A line always fits two points; the t-test of a correlation needs a third one.
_FEWEST = 3
# Resamples of fewer words often repeat two or three, and intervals span -1 to 1.
_FEWEST_FOR_INTERVALS = 6
# So that one resample lies beyond each bound.
_FEWEST_RESAMPLES = 40
# Of 95 % intervals.
_TAILS = 0.025, 0.975
# Number of points of a line with its interval.
_N_POINTS = 101


@dataclass(frozen=True)
class Estimate:
    """A number, the bounds of its interval, and its two-sided p-value (that it is 0); or NaN."""

    value: float
    lower: float = math.nan
    upper: float = math.nan
    p_value: float = math.nan


@dataclass(frozen=True, eq=False, repr=False)
class StatisticCorrelation:
    """Correlation of word bias with a statistic: result of :func:`correlate_with_statistic`.

    :func:`wefe.plotting.plot_statistic` draws it.

    Attributes
    ----------
    model_name, statistic_name, bias_name : str
        The model, and what the numbers are.
    words : DataFrame
        One row per word, in the order of the statistic: 'word', 'statistic', 'bias'.
    pearson, spearman, slope : estimates with `value`, `lower`, `upper` and `p_value`
        Correlations in [-1, 1], where 0 means that no association was measured, and the slope of
        the least-squares line, in units of bias per unit of the statistic. The bounds are those of
        a 95 % interval, NaN without one. The p-values of the correlations come from a t-test with n
        - 2 degrees of freedom.
    intercept : float
        Bias on the line where the statistic is 0.
    lost, without_number : tuple of str
        Words without a vector or a direction; words whose statistic is missing or not finite.
    nan_reason : str or None
        Why there is no correlation or no interval; None if there are both.
    band : DataFrame or None
        The line with its pointwise 95 % interval: 'statistic', 'fit', 'low', 'high'; None without
        intervals.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> women = {"nurse": 0.86, "librarian": 0.83, "dietitian": 0.91, "teacher": 0.74,
    ...          "lawyer": 0.38, "engineer": 0.14, "pilot": 0.06, "carpenter": 0.02}
    >>> correlate_with_statistic(load_test_model(), women).spearman.value
    0.74
    """

    model_name: str
    statistic_name: str
    bias_name: str
    words: pd.DataFrame
    pearson: Estimate
    spearman: Estimate
    slope: Estimate
    intercept: float
    lost: tuple[str, ...]
    without_number: tuple[str, ...]
    nan_reason: str | None
    band: pd.DataFrame | None = None

    @property
    def n(self) -> int:
        """Number of words."""
        return len(self.words)

    def __repr__(self) -> str:
        r, lost = self.pearson, f", {len(self.lost)} lost" if self.lost else ""
        interval = "no interval"
        if not math.isnan(r.lower):
            interval = f"95 % interval {r.lower:.2f} to {r.upper:.2f}"
        found = f"{self.bias_name}: r = {r.value:.2f} ({interval})"
        if math.isnan(r.value):
            found = f"none: {self.nan_reason}"
        return f"<StatisticCorrelation in {self.model_name}, {found}, {self.n} words{lost}>"


def correlate_with_statistic(
    model: WordEmbeddingModel,
    statistic: Mapping[str, float] | pd.Series[float],
    criterion: CriterionLike = "gender",
    *,
    group: str | None = None,
    measure: Measure = "projection",
    statistic_name: str | None = None,
    preprocessors: Preprocessors | None = None,
    n_bootstrap: int = 2000,
    random_state: int | np.random.Generator | None = 0,
) -> StatisticCorrelation:
    """Correlate the bias of words with a real-world number for each word.

    Intervals and p-values assume that words are independent observations. They are too small if
    several words stand for one observation ('physician' and 'surgeon'). A correlation says nothing
    about the size of the bias: a model with less bias may correlate as strongly.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    statistic : mapping from str to float, or pandas.Series
        A number for each word, for example ``fetch_occupation_shares(2015)["female"]``. NaN means
        that a word has no number.
    criterion : optional
        The groups, as in :func:`bias_directions`.
    group : str, optional
        The group towards which the bias is positive. Default: the first one.
    measure : {'projection', 'sc-weat'}, default='projection'
        'projection': cosine with the direction towards the group, in [-1, 1]. 'sc-weat': effect
        size of the word with the definitional words of the group and of all other groups as
        attribute sets, in [-2, 2] for sets of equal size, as in WEFAT [1]_.
    statistic_name : str, optional
        Name of the statistic in figures. Default: the name of a Series, or 'statistic'.
    preprocessors : list of dict, optional
        Variants of each word; see :class:`wefe.embeddings.Lookup`.
    n_bootstrap : int, default=2000
        Number of resamples of the words, at least 40. The 95 % intervals are bias-corrected and
        accelerated (BCa).
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the resamples.

    Returns
    -------
    StatisticCorrelation
        Correlations, regression line, intervals and words left out. Correlations are NaN, with the
        reason, if all words have the same number.

    Raises
    ------
    ValueError
        If fewer than 3 words have both a number and a vector.

    References
    ----------
    .. [1] Caliskan, Bryson and Narayanan, "Semantics derived automatically from language corpora
       contain human-like biases", Science 356, 2017.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> women = {"nurse": 0.86, "teacher": 0.74, "lawyer": 0.38, "engineer": 0.14, "pilot": 0.06}
    >>> r = correlate_with_statistic(load_test_model(), women).pearson
    >>> print(f"{r.value:.2f}, p = {r.p_value:.2f}")
    0.77, p = 0.13
    """
    check_choice("measure", measure, ("projection", "sc-weat"))
    check_positive_int("n_bootstrap", n_bootstrap, _FEWEST_RESAMPLES)
    seed, numbers = as_seed(random_state), _numbers(statistic)
    name = str(statistic_name or numbers.name or "statistic")
    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    towards = check_choice("group", group or directions.groups[0], directions.groups)
    position = directions.groups.index(towards)
    has_number = np.isfinite(numbers)
    no_number = tuple(numbers.index[~has_number])
    asked = list(numbers.index[has_number])
    words, _, vectors, lost = look_up(model, asked, preprocessors, name)
    if no_number:
        logger.warning("%s: no number, left out: %s", name, ", ".join(no_number))
    if len(words) < _FEWEST:
        raise ValueError(
            f"a correlation needs at least {_FEWEST} words with a number and a vector; got "
            f"{len(words)} of {len(numbers)}. {len(no_number)} words have no number, "
            f"and {model.name} lacks {len(lost)} ({', '.join(lost[:5])})."
        )
    measured, bias = "cosine with the direction", directions.cosines(vectors)[:, position]
    if measure == "sc-weat":
        measured = "effect size"
        columns = list(map(dict.fromkeys, zip(*directions.sets, strict=True)))
        sets = [[*columns.pop(position)], [*dict.fromkeys(itertools.chain(*columns))]]
        a, b = embed_tuples(model, sets, "definitional words", preprocessors=preprocessors)
        (of_words,) = word_sets(words=vectors)
        bias = SCWEAT()._by_word(of_words, [a, b])[0]
    x: Vectors = np.array(numbers[words], dtype=np.float64)
    names = model.name, name, f"{measured} towards {towards}"
    table = pd.DataFrame({"word": words, "statistic": x, "bias": bias})
    facts = _estimates(x, bias, n_bootstrap, seed) | {"lost": lost, "without_number": no_number}
    return StatisticCorrelation(*names, table, **facts)


def _numbers(statistic: Any) -> pd.Series[float]:
    """Return the number of each word; NaN if missing."""
    if not isinstance(statistic, Mapping | pd.Series):
        raise TypeError(
            "statistic must be a mapping from words to numbers, or a Series; got "
            f"{found(statistic)}. Select a column: table.set_index('word')['value']."
        )
    numbers = pd.Series(statistic, dtype=object)
    check_word_set("statistic", list(numbers.index))
    if repeated := numbers.index[numbers.index.duplicated()].tolist():
        raise ValueError(f"statistic must have one number per word; got several for {repeated}.")
    return pd.to_numeric(numbers).astype(np.float64)


def _estimates(x: Vectors, y: Vectors, n_bootstrap: int, seed: int) -> dict[str, Any]:
    from scipy.stats import pearsonr, spearmanr

    n, values = len(x), _line(x, y)
    facts: dict[str, Any] = {"intercept": float(values[3])}
    reason: str | None = None
    if np.isnan(values).any():
        which = "statistic" if np.ptp(x) == 0 else "bias"
        reason = f"the {which} of all words is the same"
        if np.isnan(y).any():
            reason = "a word has no effect size because all its cosines are equal"
        return facts | dict.fromkeys(_ESTIMATES, Estimate(math.nan)) | {"nan_reason": reason}
    generator = np.random.default_rng(seed)
    drawn = (generator.integers(n, size=n) for _ in range(n_bootstrap))
    samples = np.array([_line(x[rows], y[rows]) for rows in drawn])
    samples = samples[~np.isnan(samples).any(axis=1)]
    without_each = np.array([_line(np.delete(x, row), np.delete(y, row)) for row in range(n)])
    undefined = n_bootstrap - len(samples)
    if n < _FEWEST_FOR_INTERVALS:
        reason = f"it would mean nothing with {n} words; use at least {_FEWEST_FOR_INTERVALS}"
    elif undefined > MOST_UNDEFINED * n_bootstrap or np.isnan(without_each).any():
        reason = (
            "too few words differ, so some resamples have no correlation "
            f"({undefined} of {n_bootstrap})"
        )
    facts["nan_reason"] = reason and f"no interval: {reason}"
    if reason is None:
        points = np.linspace(x.min(), x.max(), _N_POINTS)
        low, high = np.quantile(samples[:, 2:3] * points + samples[:, 3:], _TAILS, axis=0)
        fit = values[2] * points + values[3]
        band = {"statistic": points, "fit": fit, "low": low, "high": high}
        facts["band"] = pd.DataFrame(band)
    p_values = pearsonr(x, y).pvalue, spearmanr(x, y).pvalue, math.nan
    parts = zip(_ESTIMATES, values.tolist(), samples.T, without_each.T, p_values, strict=False)
    for name, value, resampled, without, p_value in parts:
        bounds = _bca(resampled, value, without) if reason is None else (math.nan, math.nan)
        facts[name] = Estimate(value, *bounds, float(p_value))
    return facts


def _line(x: Vectors, y: Vectors) -> Vectors:
    """Return Pearson, Spearman, slope and intercept; NaN if all numbers are the same."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.full(4, math.nan)
    r, rank_correlation = pearson(x, y), pearson(average_ranks(x), average_ranks(y))
    slope = r * y.std() / x.std()
    return np.array([r, rank_correlation, slope, y.mean() - slope * x.mean()])


def _bca(samples: Vectors, value: float, without_each: Vectors) -> tuple[float, float]:
    """Return bias-corrected and accelerated bounds (Efron, 1987); NaN if undefined."""
    # Resamples of the same words in another order differ only by rounding.
    same = 1e-9 * max(abs(value), float(samples.std()))
    below = float((samples < value - same).mean() + (samples <= value + same).mean()) / 2
    levels = None
    if 0 < below < 1:
        levels = bca_levels(below, without_each.mean() - without_each, _TAILS[0])
    lower, upper = (math.nan, math.nan) if levels is None else np.quantile(samples, levels).tolist()
    return lower, upper
