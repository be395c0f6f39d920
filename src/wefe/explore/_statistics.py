"""Compare the bias of words with a real-world statistic, such as the share of women in jobs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from wefe._bootstrap import MOST_UNDEFINED, Resampling, bca_levels
from wefe._checks import check_choice, check_word_set, found, logger
from wefe._visible import draw, plain
from wefe._wordset import word_sets
from wefe.embeddings import embed_tuples
from wefe.explore._directions import CriterionLike, bias_directions, look_up
from wefe.metrics._geometry import Vectors
from wefe.metrics._permutation import left_out
from wefe.metrics._weat import SCWEAT
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Measure: TypeAlias = Literal["projection", "sc-weat"]
_ESTIMATES = ("pearson", "spearman", "slope")

# A line always fits two points; the t-test of a correlation needs a third one.
_FEWEST = 3
# Resamples of fewer words often repeat two or three, and intervals span -1 to 1.
_FEWEST_FOR_INTERVALS = 6
# Number of resampled values processed at once.
_BLOCK_NUMBERS = 1 << 20


@dataclass(frozen=True)
class Estimate:
    """A number with its interval and p-value.

    Attributes
    ----------
    value, lower, upper : float
        The estimate, and the bounds of its interval (NaN if there are none).
    p_value : float
        Two-sided p-value of the hypothesis that the value is 0, in [0, 1]; NaN if not tested.

    Examples
    --------
    >>> Estimate(0.77, 0.1, 0.9, 0.13).value
    0.77
    """

    value: float
    lower: float
    upper: float
    p_value: float = math.nan


@dataclass(frozen=True, eq=False, repr=False)
class StatisticCorrelation:
    """Correlation of word bias with a statistic: result of :func:`correlate_with_statistic`.

    Attributes
    ----------
    model_name, statistic_name, bias_name : str
        Names of the model, the statistic and the measure of bias.
    words : tuple of str
        The words that have both numbers, as the statistic names them.
    statistic, bias : ndarray of shape (n,)
        Their numbers.
    pearson, spearman : Estimate
        Correlations in [-1, 1]; 0 means no association was measured. The p-values come from a
        t-test with n - 2 degrees of freedom.
    slope, intercept : Estimate, float
        Of the least-squares line: units of bias per unit of the statistic, and bias where it is 0.
    lost, without_number : tuple of str
        Words without a vector or a direction; words whose statistic is missing or not finite.
    confidence_level, n_bootstrap : float, int
        Level of the intervals and number of resamples.
    nan_reason : str or None
        Why there is no correlation or no interval; None if there are both.
    fits : ndarray of shape (n_resamples, 2)
        Slope and intercept of each resample in which they are defined.

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
    words: tuple[str, ...] = field(repr=False)
    statistic: Vectors = field(repr=False)
    bias: Vectors = field(repr=False)
    pearson: Estimate
    spearman: Estimate
    slope: Estimate
    intercept: float
    lost: tuple[str, ...]
    without_number: tuple[str, ...]
    confidence_level: float
    n_bootstrap: int
    nan_reason: str | None = None
    fits: Vectors = field(repr=False, default_factory=lambda: np.empty((0, 2)))

    @property
    def n(self) -> int:
        """Number of words."""
        return len(self.words)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of `word`, `statistic` and `bias`, in the order of the statistic."""
        columns = {"word": self.words, "statistic": self.statistic, "bias": self.bias}
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; undefined values are None.

        It has the attributes by name, 'statistic' and 'bias' (their names), and 'words', the rows
        of :meth:`to_frame`.
        """
        names = (
            *("n", "pearson", "spearman", "slope", "intercept", "confidence_level", "nan_reason"),
            *("lost", "without_number"),
        )
        return {
            "statistic": self.statistic_name,
            "bias": self.bias_name,
            **{name: plain(getattr(self, name)) for name in names},
            "words": plain(self.to_frame()),
        }

    def band(self, n_points: int = 101) -> pd.DataFrame:
        """Return the regression line with a pointwise interval.

        Parameters
        ----------
        n_points : int, default=101
            Number of points, evenly spaced from the smallest to the largest statistic.

        Returns
        -------
        pandas.DataFrame
            `statistic`, `fit`, `low` and `high` (quantiles of the resampled lines; NaN without
            intervals).
        """
        points = np.linspace(self.statistic.min(), self.statistic.max(), n_points)
        low = high = np.full(n_points, math.nan)
        if len(self.fits):
            lines = self.fits[:, :1] * points + self.fits[:, 1:]
            tail = (1 - self.confidence_level) / 2
            low, high = np.quantile(lines, [tail, 1 - tail], axis=0)
        fit = self.slope.value * points + self.intercept
        return pd.DataFrame({"statistic": points, "fit": fit, "low": low, "high": high})

    def plot(self) -> Figure:
        """Return a scatter plot; see :func:`wefe.plotting.plot_statistic`."""
        return draw("plot_statistic", self)

    def _pearson(self) -> str:
        r, level = self.pearson, f"{self.confidence_level * 100:g} %"
        interval = f"{level} interval {r.lower:.2f} to {r.upper:.2f}"
        return f"r = {r.value:.2f} ({'no interval' if math.isnan(r.lower) else interval})"

    def __repr__(self) -> str:
        lost = f", {len(self.lost)} lost" if self.lost else ""
        known = not math.isnan(self.pearson.value)
        found = f"{self.bias_name}: {self._pearson()}" if known else f"none: {self.nan_reason}"
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
    confidence_level: float = 0.95,
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
    confidence_level : float, default=0.95
        Level of the intervals, which are bias-corrected and accelerated (BCa).
    n_bootstrap : int, default=2000
        Number of resamples of the words.
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
    wanted = Resampling(n_bootstrap, confidence_level, random_state)
    numbers = _numbers(statistic)
    name = str(statistic_name or numbers.name or "statistic")
    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    towards = check_choice("group", group or directions.groups[0], directions.groups)
    position = directions.groups.index(towards)
    has_number = np.isfinite(numbers)
    without_number = tuple(numbers.index[~has_number])
    known = look_up(model, list(numbers.index[has_number]), preprocessors, name)
    lost = known.lost + known.unusable
    if without_number:
        logger.warning("%s: no number, left out: %s", name, ", ".join(without_number))
    if len(known.words) < _FEWEST:
        raise ValueError(
            f"a correlation needs at least {_FEWEST} words with a number and a vector; got "
            f"{len(known.words)} of {len(numbers)}. {len(without_number)} words have no number, "
            f"and {model.name} lacks {len(lost)} ({', '.join(lost[:5])})."
        )
    measured, bias = "cosine with the direction", directions.cosines(known.vectors)[:, position]
    if measure == "sc-weat":
        measured = "effect size"
        columns = list(map(dict.fromkeys, zip(*directions.sets, strict=True)))
        sets = [[*columns.pop(position)], [*dict.fromkeys(itertools.chain(*columns))]]
        a, b = embed_tuples(model, sets, "definitional words", preprocessors)
        (of_words,) = word_sets(words=known.vectors)
        bias = SCWEAT()._by_word(of_words, [a, b])[0]
    x: Vectors = np.array(numbers[known.words], dtype=np.float64)
    return StatisticCorrelation(
        model.name,
        name,
        f"{measured} towards {towards}",
        tuple(known.words),
        x,
        bias,
        lost=lost,
        without_number=without_number,
        confidence_level=wanted.confidence,
        n_bootstrap=wanted.n_bootstrap,
        **_estimates(x, bias, wanted),
    )


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


def _estimates(x: Vectors, y: Vectors, wanted: Resampling) -> dict[str, Any]:
    from scipy.stats import pearsonr, spearmanr

    n, nothing, reason = len(x), math.nan, ""
    values = _line(x[None], y[None])[0]
    if np.isnan(values).any():
        which = "statistic" if np.ptp(x) == 0 else "bias"
        reason = f"the {which} of all words is the same"
        if np.isnan(y).any():
            reason = "a word has no effect size because all its cosines are equal"
        missing = dict.fromkeys(_ESTIMATES, Estimate(nothing, nothing, nothing))
        return {**missing, "intercept": nothing, "nan_reason": reason}
    at_once = max(1, _BLOCK_NUMBERS // n)
    generator = np.random.default_rng(wanted.seed)
    drawn = (
        generator.integers(n, size=(part.stop - part.start, n))
        for part in chunks(wanted.n_bootstrap, at_once)
    )
    samples = np.concatenate([_line(x[rows], y[rows]) for rows in drawn])
    samples = samples[~np.isnan(samples).any(axis=1)]
    without_each = left_out(lambda kept: _line(x[None, kept], y[None, kept])[0], n, n)
    undefined = wanted.n_bootstrap - len(samples)
    if n < _FEWEST_FOR_INTERVALS:
        reason = f"it would mean nothing with {n} words; use at least {_FEWEST_FOR_INTERVALS}"
    elif undefined > MOST_UNDEFINED * wanted.n_bootstrap or np.isnan(without_each).any():
        reason = (
            "too few words differ, so some resamples have no correlation "
            f"({undefined} of {wanted.n_bootstrap})"
        )
    if reason:
        samples, reason = samples[:0], f"no interval: {reason}"
    p_values = [pearsonr(x, y).pvalue, spearmanr(x, y).pvalue, nothing]
    columns = zip(_ESTIMATES, samples.T, values.tolist(), without_each.T, p_values, strict=False)
    tail = (1 - wanted.confidence) / 2
    return {
        **{
            name: Estimate(value, *_bca(resampled, value, without, tail), float(p_value))
            for name, resampled, value, without, p_value in columns
        },
        "intercept": float(values[3]),
        "nan_reason": reason or None,
        "fits": samples[:, 2:],
    }


def _line(x: Vectors, y: Vectors) -> Vectors:
    """Return Pearson, Spearman, slope and intercept of each row; NaN for constant rows."""
    from scipy.stats import rankdata

    def products(x: Vectors, y: Vectors) -> tuple[Vectors, Vectors, Vectors]:
        dx, dy = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        flat = (np.ptp(x, axis=1) == 0) | (np.ptp(y, axis=1) == 0)
        xx = np.where(flat, np.nan, np.einsum("ij,ij->i", dx, dx))
        return xx, np.einsum("ij,ij->i", dy, dy), np.einsum("ij,ij->i", dx, dy)

    xx, yy, xy = products(x, y)
    ranks = products(rankdata(x, axis=1), rankdata(y, axis=1))
    slope = xy / xx
    with np.errstate(invalid="ignore"):
        pearson = np.clip(xy / np.sqrt(xx * yy), -1, 1)
        spearman = np.clip(ranks[2] / np.sqrt(ranks[0] * ranks[1]), -1, 1)
    return np.stack([pearson, spearman, slope, y.mean(axis=1) - slope * x.mean(axis=1)], axis=1)


def _bca(samples: Vectors, value: float, without_each: Vectors, tail: float) -> tuple[float, float]:
    """Return bias-corrected and accelerated bounds (Efron, 1987); NaN if undefined."""
    if not len(samples):
        return math.nan, math.nan
    # Resamples of the same words in another order differ only by rounding.
    same = 1e-9 * max(abs(value), float(samples.std()))
    below = float((samples < value - same).mean() + (samples <= value + same).mean()) / 2
    levels = None
    if 0 < below < 1:
        levels = bca_levels(below, without_each.mean() - without_each, tail)
    lower, upper = (math.nan, math.nan) if levels is None else np.quantile(samples, levels).tolist()
    return lower, upper
