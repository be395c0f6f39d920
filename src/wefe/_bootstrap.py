"""Bootstrap intervals and jackknife: how much a score depends on the choice of words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from wefe._checks import as_seed, check_between, check_choice, check_positive_int, progress_bar
from wefe._evaluation import Evaluation
from wefe._wordset import Vectors, Weights

IntervalMethod: TypeAlias = Literal["expanded", "percentile", "bca"]

# An interval needs at most this share of resamples without a score.
MOST_UNDEFINED = 0.05
# Largest number of entries (cases x words), and of cases, per block.
_BLOCK_NUMBERS = 1 << 21
_MOST_CASES = 100


@dataclass(frozen=True, eq=False)
class BootstrapInterval:
    """A score with a confidence interval that reflects the choice of words.

    Attributes
    ----------
    label : str
        Label of the score, for example 'WEAT-ES'.
    score : float
        The score of all words.
    lower, upper : float
        Bounds of the interval; NaN if there is none. The interval need not contain the score: RNSB,
        for example, cannot fall below 0 and rises when words repeat.
    standard_error : float
        Standard deviation of the scores of the resamples.
    n_undefined : int
        Number of resamples without a score. Up to 5 % are ignored; with more, there is no interval.
    nan_reason, note : str
        Why there is no interval (or None), and how to read it (or '').
    samples : ndarray of shape (n_bootstrap,)
        The scores of the resamples; NaN where undefined. Empty if no words could be resampled.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.silhouette import bootstrap_interval
    >>> interval = bootstrap_interval("weat", load_weat_queries()[5], load_test_model())
    >>> interval.score, interval.lower, interval.upper
    (1.04, -0.483, 1.777)
    """

    label: str
    score: float
    lower: float
    upper: float
    standard_error: float
    n_undefined: int
    nan_reason: str | None
    note: str
    samples: Vectors = field(repr=False)


@dataclass
class Resampling:
    """The checked options of a bootstrap."""

    n_bootstrap: int
    confidence: float
    random_state: int | np.random.Generator | None
    method: IntervalMethod = "expanded"

    def __post_init__(self) -> None:
        self.n_bootstrap = check_positive_int("n_bootstrap", self.n_bootstrap)
        self.confidence = check_between("confidence", self.confidence, 0.95)
        least = math.ceil(round(2 / (1 - self.confidence), 6))
        if self.n_bootstrap < least:
            raise ValueError(
                f"an interval of confidence {self.confidence} needs n_bootstrap={least} or more, "
                f"so that a sample lies beyond each bound; got {self.n_bootstrap}. Use 1000."
            )
        check_choice("method", self.method, get_args(IntervalMethod))
        # Drawn once, so that all queries and models get the same resamples.
        self.seed = as_seed(self.random_state)

    def __call__(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return the interval of a score as facts of an answer."""
        interval = bootstrap(evaluation, self)
        return {
            "score_lower": interval.lower,
            "score_upper": interval.upper,
            "score_se": interval.standard_error,
            "interval_nan_reason": interval.nan_reason,
            "interval_note": None if interval.nan_reason else interval.note or None,
        }


def bootstrap(
    evaluation: Evaluation, wanted: Resampling, n_jobs: int | None = 1, progress: bool = False
) -> BootstrapInterval:
    """Resample the words of an evaluation and return the interval of its score."""
    scale, samples, note = evaluation.scale, np.empty(0), ""
    lower = upper = error = math.nan
    reason = why_none(evaluation)
    if reason is None:
        with progress_bar(wanted.n_bootstrap, scale.label, "resample", progress) as bar:
            samples = evaluation.scores_of(_resamples(evaluation, wanted), n_jobs, bar)
    defined = samples[np.isfinite(samples)]
    n_undefined = len(samples) - len(defined)
    if n_undefined > MOST_UNDEFINED * len(samples):
        share = f"more than {MOST_UNDEFINED:.0%}"
        reason = f"{n_undefined} of {len(samples)} resamples have no score, {share}"
    if reason is None:
        error = float(defined.std(ddof=1))
        levels = _levels(evaluation, wanted, defined)
        if isinstance(levels, str):
            reason = levels
        else:
            lower, upper = np.quantile(defined, levels).tolist()
    if scale.is_one_sided:
        note = (
            f"{scale.no_bias_value:g}, which means no bias, is the end of the range, which chance "
            "alone does not reach. Compare with the permutation null"
        )
    scores = scale.label, evaluation.value, lower, upper, error
    return BootstrapInterval(*scores, n_undefined, reason, note, samples)


def without_each(evaluation: Evaluation, stratum: tuple[int, ...]) -> Vectors:
    """Score the query without each word (or pair) of a set: (n_words,), NaN where undefined."""
    words = np.arange(evaluation.strata[stratum])
    if len(words) == 1:
        return np.array([math.nan])
    size = _cases_at_once(evaluation)
    scores = [
        evaluation.scores(dict.fromkeys(stratum, Weights(left_out[:, None] != words)))
        for left_out in np.split(words, range(size, len(words), size))
    ]
    return np.concatenate(scores)


def why_not_comparable(evaluation: Evaluation) -> str | None:
    """Explain why resamples are not comparable with the score of all words; None if they are."""
    if math.isnan(evaluation.value):
        return "the score of all words is undefined"
    first, second = evaluation.of_all_words(), evaluation.of_all_words()
    # liblinear stops before the optimum, so scores may differ a little.
    near = math.isclose(first, evaluation.value, rel_tol=0.05, abs_tol=1e-6)
    if near and math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12):
        return None
    return (
        f"measured again with the same words, {evaluation.scale.label} gives another score "
        f"({evaluation.value:.6g}, then {first:.6g} and {second:.6g}); if it is random, fix it by "
        "a parameter, for example random_state=0, or holdout=False for RNSB"
    )


def why_none(evaluation: Evaluation) -> str | None:
    """Explain why the words cannot be resampled; None if they can."""
    if all(n_words == 1 for n_words in evaluation.strata.values()):
        return "no set to resample has two or more words"
    return why_not_comparable(evaluation)


def _resamples(evaluation: Evaluation, wanted: Resampling) -> Iterator[dict[int, Weights]]:
    """Yield blocks of resamples, which depend only on the seed and each set's place and length."""
    strata = evaluation.strata
    generators = {each: np.random.default_rng([wanted.seed, each[0]]) for each in strata}
    size = _cases_at_once(evaluation)
    for start in range(0, wanted.n_bootstrap, size):
        n_cases = min(size, wanted.n_bootstrap - start)
        weights: dict[int, Weights] = {}
        for stratum, n_words in strata.items():
            rows = generators[stratum].integers(n_words, size=(n_cases, n_words))
            rows += n_words * np.arange(n_cases)[:, None]
            counts = np.bincount(rows.ravel(), minlength=rows.size)
            weights |= dict.fromkeys(stratum, Weights(counts.reshape(rows.shape)))
        yield weights


def _cases_at_once(evaluation: Evaluation) -> int:
    width = sum(len(part) for part in evaluation.sets) + evaluation.sets[0].vectors.shape[1]
    return max(1, min(_MOST_CASES, _BLOCK_NUMBERS // int(width)))


def _levels(
    evaluation: Evaluation, wanted: Resampling, samples: Vectors
) -> tuple[float, float] | str:
    """Return the quantiles that bound an interval, or the reason why there are none."""
    from scipy.special import ndtr, ndtri, stdtrit  # a slow import

    tail = (1 - wanted.confidence) / 2
    if wanted.method == "percentile":
        return tail, 1 - tail
    score = evaluation.of_all_words()
    below = float((samples < score).mean() + (samples <= score).mean()) / 2
    if wanted.method == "bca":
        return _bca_levels(evaluation, below, tail)
    # Expanded percentiles: without the median bias of the resamples (Efron 1981), and with the
    # tails of Student's t, times sqrt(n / (n - 1)) for n words in the smallest set (Hesterberg
    # 2015).
    n, least = min(n for n in evaluation.strata.values() if n > 1), 0.5 / len(samples)
    z = math.sqrt(n / (n - 1)) * float(stdtrit(n - 1, 1 - tail))
    shift = float(ndtri(np.clip(below, least, 1 - least)))
    return float(ndtr(2 * shift - z)), float(ndtr(2 * shift + z))


def _bca_levels(evaluation: Evaluation, below: float, tail: float) -> tuple[float, float] | str:
    if not 0 < below < 1:
        return "all resamples lie on one side of the score, so bca cannot correct them"
    influences = [np.zeros(1)]
    for stratum, n_words in evaluation.strata.items():
        if n_words > 1:
            scores = without_each(evaluation, stratum)
            influences.append((n_words - 1) / n_words * (scores.mean() - scores))
    influence = np.concatenate(influences)
    if np.isnan(influence).any():
        return "bca needs the score without each word, and one of them is undefined"
    return bca_levels(below, influence, tail) or "the samples are so skewed that bca has no bounds"


def bca_levels(below: float, influence: Vectors, tail: float) -> tuple[float, float] | None:
    """Return the quantiles that bound a BCa interval, or None if the samples are too skewed.

    `below` is the share of resamples below the score; `influence` is the change of the score with
    each word. Source: Davison and Hinkley, "Bootstrap Methods and their Application", 1997, 5.4.
    """
    squares = float((influence**2).sum())
    acceleration = float((influence**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    normal = NormalDist()
    shift = normal.inv_cdf(below)
    moved = [shift + normal.inv_cdf(level) for level in (tail, 1 - tail)]
    if any(acceleration * z >= 1 for z in moved):
        return None
    low, high = (normal.cdf(shift + z / (1 - acceleration * z)) for z in moved)
    return low, high
