"""Compare the bias of words with a real-world statistic, such as the share of women in jobs."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from wefe._bootstrap import MOST_UNDEFINED, Resampling, bca_levels
from wefe._checks import check_choice, found
from wefe._plain import plain
from wefe._visible import draw
from wefe.embeddings import embed_tuples
from wefe.explore._directions import BiasDirections, CriterionLike, bias_directions
from wefe.explore._lookup import look_up
from wefe.metrics._geometry import Vectors
from wefe.metrics._sc_weat import sc_weat_by_word
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

logger = logging.getLogger(__name__)

Measure: TypeAlias = Literal["projection", "sc-weat"]
_ESTIMATES = ("pearson", "spearman", "slope")

# A line through two points fits always; the t-test of a correlation needs one more.
_FEWEST = 3
# Resamples of fewer words are often but two or three of them, and intervals reach from -1 to 1.
_FEWEST_FOR_INTERVALS = 6
# Numbers of resamples that are worked on at once.
_BLOCK_NUMBERS = 1 << 20


@dataclass(frozen=True)
class Estimate:
    """A number and its interval.

    Attributes
    ----------
    value : float
        The number of the words as they are.
    lower, upper : float
        Bounds; NaN if there are none.
    p_value : float
        Two-sided, of the hypothesis that it is 0, in [0, 1]; NaN if it was not tested.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> women = {"nurse": 0.86, "teacher": 0.74, "lawyer": 0.38, "engineer": 0.14, "pilot": 0.06}
    >>> r = correlate_with_statistic(load_test_model(), women).pearson
    >>> print(f"{r.value:.2f}, p = {r.p_value:.2f}")
    0.77, p = 0.13
    """

    value: float
    lower: float
    upper: float
    p_value: float = math.nan


@dataclass(frozen=True, eq=False, repr=False)
class StatisticCorrelation:
    """How the bias of words follows a statistic: the result of :func:`correlate_with_statistic`.

    Attributes
    ----------
    model_name : str
        The model.
    statistic_name, bias_name : str
        What the numbers of the words are.
    words : tuple of str
        The words that have both numbers, as the statistic names them.
    statistic, bias : ndarray of shape (n,)
        Their numbers.
    pearson, spearman : Estimate
        Correlations in [-1, 1], 0 if no association was measured. Their p-values are those of the
        t-test with n - 2 degrees of freedom.
    slope : Estimate
        Of the line of least squares, in units of bias for each unit of the statistic.
    intercept : float
        Bias on that line where the statistic is 0.
    lost : tuple of str
        Words that the model lacks, or that have no direction.
    without_number : tuple of str
        Words of which the statistic is missing or not finite.
    confidence_level : float
        That of the intervals.
    n_bootstrap : int
        Resamples behind them.
    nan_reason : str or None
        Why there is no correlation, or no interval; None if there are both.
    fits : ndarray of shape (n_resamples, 2)
        Slope and intercept in each resample where they are defined.

    Examples
    --------
    The line of least squares and its interval, at three shares of women:

    >>> from wefe import load_test_model
    >>> women = {"nurse": 0.86, "librarian": 0.83, "dietitian": 0.91, "teacher": 0.74,
    ...          "lawyer": 0.38, "engineer": 0.14, "pilot": 0.06, "carpenter": 0.02}
    >>> correlate_with_statistic(load_test_model(), women).band(3).round(2)
       statistic   fit   low  high
    0       0.02 -0.03 -0.14  0.06
    1       0.46  0.08  0.02  0.14
    2       0.91  0.18  0.10  0.30
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
        """Return the numbers of each word.

        Returns
        -------
        pandas.DataFrame
            `word`, `statistic` and `bias`, in the order in which the statistic was given.
        """
        import pandas as pd

        columns = {"word": self.words, "statistic": self.statistic, "bias": self.bias}
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; undefined values are None.

        Returns
        -------
        dict
            'statistic' and 'bias' (what the numbers are), attributes by name, and 'words', the rows
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
        """Return the regression line, with an interval at each of the given points.

        Parameters
        ----------
        n_points : int, default=101
            Number of points, evenly from the smallest to the largest statistic.

        Returns
        -------
        pandas.DataFrame
            `statistic`, `fit`, and `low` and `high`: the quantiles of the lines of the
            resamples, at each point by itself; NaN if there are no intervals.
        """
        import pandas as pd

        points = np.linspace(self.statistic.min(), self.statistic.max(), n_points)
        low = high = np.full(n_points, math.nan)
        if len(self.fits):
            lines = self.fits[:, :1] * points + self.fits[:, 1:]
            tail = (1 - self.confidence_level) / 2
            low, high = np.quantile(lines, [tail, 1 - tail], axis=0)
        fit = self.slope.value * points + self.intercept
        return pd.DataFrame({"statistic": points, "fit": fit, "low": low, "high": high})

    def plot(self, **options: Any) -> Figure:
        """Show the words as points, with the regression line and its interval.

        Parameters
        ----------
        **options
            Those of :func:`wefe.plotting.plot_statistic`.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure; correlation, interval and lost words stand below the title.
        """
        shown: dict[str, Any] = {
            "statistic_name": self.statistic_name,
            "bias_name": self.bias_name,
            "notes": self._notes(),
            "band": self.band() if len(self.fits) else None,
        }
        if not math.isnan(self.slope.value):
            shown["fit"] = (self.slope.value, self.intercept)
        return draw("plot_statistic", self.to_frame(), **shown | options)

    def _notes(self) -> list[str]:
        """Say what was measured, and of how many words."""
        words = f"{self.model_name}: {self.n} words"
        if self.lost:
            more = f" and {len(self.lost) - 5} more" * (len(self.lost) > 5)
            words += f", without {', '.join(self.lost[:5])}{more}, which the model lacks"
        known = not math.isnan(self.pearson.value)
        found = f"Pearson {self._pearson()}, Spearman {self.spearman.value:.2f}"
        return [*[found] * known, words, *filter(None, [self.nan_reason])]

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
    """Compare the bias of words with a real-world number for each word.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    statistic : mapping from str to float, or pandas.Series
        A number for each word, for example ``fetch_occupation_shares(2015)["female"]``. NaN is a
        word without a number.
    criterion : str, Criterion, mapping, sequence of tuples, or BiasDirections, default='gender'
        The groups; see :func:`wefe.explore.bias_directions`.
    group : str, optional
        The group towards which the bias is positive; the first by default.
    measure : {'projection', 'sc-weat'}, default='projection'
        'projection': cosine with the direction towards the group, in [-1, 1]. 'sc-weat': the
        effect size of the word, in [-2, 2] for sets of equal size, where the attribute sets are
        the definitional words of the group and of all other groups; compared with a property of
        the world this is WEFAT [1]_.
    statistic_name : str, optional
        What the statistic is, for figures; by default the name of a Series, or 'statistic'.
    preprocessors : list of dict, optional
        Variants of each word; see :class:`wefe.embeddings.Lookup`.
    confidence_level : float, default=0.95
        Share of intervals made like this that are to hold the correlation of the population which
        the words stand for.
    n_bootstrap : int, default=2000
        Resamples of the words for the intervals, which are bias-corrected and accelerated (BCa).
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the resamples.

    Returns
    -------
    StatisticCorrelation
        Pearson and Spearman correlation, a line, intervals, and what was left out. The
        correlations are NaN, with the reason, if all words have the same number.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range, or fewer than 3 words have a number and
        a vector.

    Notes
    -----
    Intervals and p-values take words for independent observations. They are too narrow, and too
    small, if several words stand for one observation ('physician' and 'surgeon'). A correlation
    says nothing about the size of the bias: a model with less of it may follow as closely.

    References
    ----------
    .. [1] Caliskan, Bryson and Narayanan, "Semantics derived automatically from language corpora
       contain human-like biases", Science 356, 2017.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> women = {"nurse": 0.86, "librarian": 0.83, "dietitian": 0.91, "teacher": 0.74,
    ...          "lawyer": 0.38, "engineer": 0.14, "pilot": 0.06, "carpenter": 0.02}
    >>> correlate_with_statistic(load_test_model(), women)
    <StatisticCorrelation in minilm-words, cosine with the direction towards female: r = 0.73 \
(95 % interval 0.42 to 0.93), 8 words>
    """
    check_choice("measure", measure, ("projection", "sc-weat"))
    wanted = Resampling(n_bootstrap, confidence_level, random_state)
    numbers = _numbers(statistic)
    name = statistic_name or str(getattr(statistic, "name", None) or "statistic")
    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    towards = check_choice("group", group or directions.groups[0], directions.groups)
    position = directions.groups.index(towards)
    has_number = np.isfinite(numbers)
    without_number = tuple(numbers.index[~has_number])
    known = look_up(model, list(numbers.index[has_number]), preprocessors)
    known.log(model, name)
    lost = known.lost + known.unusable
    if without_number:
        logger.warning(
            "%s: %d of %d words have no number and are left out: %s",
            *(name, len(without_number), len(numbers), ", ".join(without_number)),
        )
    if len(known.words) < _FEWEST:
        raise ValueError(
            f"a correlation needs {_FEWEST} words or more with a number and a vector; "
            f"{len(known.words)} of {len(numbers)} have both: {len(without_number)} have no number "
            f"and {model.name} lacks {len(lost)} ({', '.join(lost[:5])})."
        )
    if measure == "projection":
        bias = directions.cosines(known.vectors)[:, position]
        bias_name = f"cosine with the direction towards {towards}"
    else:
        bias = _effect_sizes(model, directions, position, known.vectors, preprocessors)
        bias_name = f"effect size towards {towards}"
    x: Vectors = np.array(numbers[known.words], dtype=np.float64)
    return StatisticCorrelation(
        model.name,
        name,
        bias_name,
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
    """Return the number of each word, NaN for none."""
    import pandas as pd

    if not isinstance(statistic, Mapping | pd.Series):
        raise TypeError(
            "statistic must be a mapping from words to numbers, or a pandas Series; got "
            f"{found(statistic)}. Choose one: table.set_index('word')['value'], for example."
        )
    numbers = pd.Series(statistic, dtype=object)
    if numbers.index.has_duplicates:
        word = numbers.index[numbers.index.duplicated()][0]
        raise ValueError(f"statistic has several numbers for {word!r}; one is needed.")
    for word, value in numbers.items():
        if not isinstance(word, str):
            raise TypeError(f"statistic: words must be strings; got {found(word)}.")
        if not pd.isna(value) and not pd.api.types.is_number(value):
            raise TypeError(f"statistic: {word!r} needs a number; got {found(value)}.")
    return pd.to_numeric(numbers).astype(np.float64)


def _effect_sizes(
    model: WordEmbeddingModel,
    directions: BiasDirections,
    position: int,
    vectors: Vectors,
    preprocessors: Preprocessors | None,
) -> Vectors:
    """Effect size of each word wrt the definitional words of one group, and of all others."""
    columns = [tuple(dict.fromkeys(column)) for column in zip(*directions.sets, strict=True)]
    others = [words for i, words in enumerate(columns) if i != position]
    rest = tuple(dict.fromkeys(word for words in others for word in words))
    a, b = embed_tuples(model, [columns[position], rest], "definitional words", preprocessors)
    return sc_weat_by_word(vectors, a.vectors, b.vectors)


def _estimates(x: Vectors, y: Vectors, wanted: Resampling) -> dict[str, Any]:
    """Return correlations and line, with intervals."""
    from scipy.stats import pearsonr, spearmanr

    n, nothing = len(x), math.nan
    values = _line(x[None], y[None])[0]
    if np.isnan(values).any():
        which = "statistic" if np.ptp(x) == 0 else "bias"
        reason = f"the {which} of all words is the same"
        if np.isnan(y).any():
            reason = "a word has no effect size, as all its cosines are equal"
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
    first = np.arange(n - 1)
    others = (first + (first >= np.arange(n)[part, None]) for part in chunks(n, at_once))
    without_each = np.concatenate([_line(x[rows], y[rows]) for rows in others])
    undefined = wanted.n_bootstrap - len(samples)
    reason = ""
    if n < _FEWEST_FOR_INTERVALS:
        reason = (
            f"no interval: it would mean nothing with {n} words; use at least "
            f"{_FEWEST_FOR_INTERVALS}"
        )
    elif undefined > MOST_UNDEFINED * wanted.n_bootstrap or np.isnan(without_each).any():
        reason = (
            "no interval: too few words differ, so some resamples have no correlation "
            f"({undefined} of {wanted.n_bootstrap})"
        )
    if reason:
        samples = samples[:0]
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
    """Pearson, Spearman, slope and intercept of each row; NaN where a row is constant."""
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
    """Bias-corrected and accelerated bounds (Efron, 1987); NaN if there are none."""
    if not len(samples):
        return math.nan, math.nan
    # Resamples of the same words in another order differ from the value by rounding.
    same = 1e-9 * max(abs(value), float(samples.std()))
    below = float((samples < value - same).mean() + (samples <= value + same).mean()) / 2
    levels = None
    if 0 < below < 1:
        levels = bca_levels(below, without_each.mean() - without_each, tail)
    lower, upper = (math.nan, math.nan) if levels is None else np.quantile(samples, levels).tolist()
    return lower, upper
