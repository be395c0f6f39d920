"""The search for counterexamples: constructions, paths that cross b_0, and optimisation.

Groups (n_groups, group_size, dim) and neutral words (n_targets, dim) are unit vectors.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import null_space, orthogonal_procrustes
from scipy.optimize import brentq, minimize

from wefe._checks import progress_bar
from wefe.audit._theorems import IndividualBias, Property, groups_of
from wefe.metrics._base import BaseMetric, result_of
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, unit_rows
from wefe.metrics._projection import bias_subspace
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

# A score this close to b_0 may be b_0 except for rounding; `_is_zero` decides.
TOLERANCE = 1e-9
# Difference of mean cosines that counts as clearly biased.
CLEAR_BIAS = 0.1
# Without biased words, a score this far from b_0 is not due to rounding.
CLEAR_SCORE = 1e-6
# Extremes differ clearly if by this share of the range of all scores.
CLEAR_GAP = 0.02

# Errors of a metric that count as undefined, for example for degenerate vectors.
UNDEFINED = (ValueError, ArithmeticError, np.linalg.LinAlgError)

_GRID = 12

# Groups, words, and how they were found.
Candidate: TypeAlias = tuple[Vectors, Vectors, str]


class Case(NamedTuple):
    """Vectors and how they were found."""

    groups: Vectors
    words: Vectors
    score: float
    how: str


class Counterexample:
    """Vectors that show that a metric lacks a property; you can evaluate them again.

    Parameters
    ----------
    name, probe, cases : str, Probe, sequence of Case
        What :func:`check_requirements` found.

    Attributes
    ----------
    property : {'comparable', 'trustworthy', 'no_false_alarm'}
        The refuted property. 'trustworthy': a word is clearly biased, but the score is b_0.
        'no_false_alarm': no word is biased, but the score is undefined or not b_0. 'comparable': in
        two models with different groups, the score of the first is beyond the extreme of the
        second, which is the best of a long search: evidence, but not a proof.
    query : Query
        The query.
    vectors, scores : list of dict, list of float
        For each model, word -> vector of shape (dim,), and the score; NaN if undefined.
    biases : list of dict
        For each model, neutral word -> individual bias: the largest difference of its mean cosines
        with two groups, in [0, 2]. For two groups, this is ``abs(s(w, A, B))``.
    how : str
        How the vectors were constructed or found.

    Examples
    --------
    >>> from wefe.audit import check_requirements
    >>> example = check_requirements("weat").counterexamples["trustworthy"]
    >>> example.biases[0], example.evaluate()
    ({'w0_0': 1.0, 'w0_1': 1.0, 'w1_0': 0.71, 'w1_1': 0.71}, [0.0])
    """

    def __init__(self, name: Property, probe: Probe, cases: Sequence[Case]) -> None:
        self.property, self.query, self._probe, self._cases = name, probe.query, probe, cases
        self.vectors: list[dict[str, Vectors]] = []
        self.biases: list[dict[str, float]] = []
        for groups, words, _, _ in cases:
            spread = spreads(groups, words).tolist()
            self.vectors.append(dict(zip(probe.words, _rows(groups, words), strict=True)))
            self.biases.append(dict(zip(probe.words[-len(words) :], spread, strict=True)))
        self.scores = [case.score for case in cases]
        self.how = " against ".join(case.how for case in cases)

    def evaluate(self) -> list[float]:
        """Return the score of each model, computed again; NaN if it is undefined."""
        again = (self._probe.score(case.groups, case.words) for case in self._cases)
        return [score + self._probe.b_0 for score in again]

    def __str__(self) -> str:
        if self.property == "comparable":
            first, second = self.scores
            side = "maximum" if first > second else "minimum"
            return (
                f"the {side} is {first:.3g} for one model's groups and {second:.3g} for "
                "another's (the best of a long search, not a proof)"
            )
        score = "undefined" if math.isnan(self.scores[0]) else f"{self.scores[0] + 0.0:.3g}"
        word = "no word is biased"
        if self.property == "trustworthy":
            word = f"a word has a bias of {max(self.biases[0].values()):.3g}"
        return f"score {score} though {word} ({self.how})"

    def __repr__(self) -> str:
        return (
            f"<Counterexample: {type(self._probe.metric).__name__} is not {self.property}: {self}>"
        )


class Probe:
    """A metric as a function of groups and words of these shapes; `scores` are all so far."""

    def __init__(self, metric: BaseMetric, params: Mapping[str, Any], n_groups: int) -> None:
        self.metric, self.params, self.side = metric, params, groups_of(metric)
        # More words than components, and more dimensions than either.
        components = params.get("n_components", 1)
        dim = max(n_groups, components) + 2
        self.shape = n_groups, max(2, components + 1), dim
        self.words_shape = (1 if isinstance(metric, IndividualBias) else 4), dim
        self.query, self.words = self._query()
        self.b_0 = float(metric.scale(self.query, **params).no_bias_value)
        self.scores: list[float] = []
        self.errors: dict[str, Exception] = {}

    def score(self, groups: Vectors, words: Vectors) -> float:
        """Return the score minus b_0; NaN if undefined or infinite."""
        rows = _rows(groups, words)
        model = WordEmbeddingModel((self.words, rows), name="counterexample")
        try:
            score = float(result_of(self.metric, self.query, model, **self.params)["result"])
        except UNDEFINED as error:
            self.errors.setdefault(type(error).__name__, error)
            score = math.nan
        self.scores.append(score if math.isfinite(score) else math.nan)
        return self.scores[-1] - self.b_0

    def _query(self) -> tuple[Query, list[str]]:
        """Return a query that the metric accepts, and its words."""
        (n_groups, size, _), (n_words, _) = self.shape, self.words_shape
        groups = _names("a", [size] * n_groups)
        for n_sets in range(1, min(n_groups, n_words) + 1):
            neutral = _names("w", map(len, np.array_split(np.arange(n_words), n_sets)))
            query = Query(*((groups, neutral) if self.side == "targets" else (neutral, groups)))
            if self.metric.accepts(query):
                return query, [*itertools.chain(*groups, *neutral)]
        raise ValueError(
            f"{self.metric.metric_name} accepts no query with {n_groups} groups as {self.side} "
            f"and {n_words} neutral words; its template is {self.metric.metric_template}."
        )


def _names(letter: str, sizes: Iterable[int]) -> list[list[str]]:
    return [[f"{letter}{i}_{row}" for row in range(size)] for i, size in enumerate(sizes)]


def _rows(groups: Vectors, words: Vectors) -> Vectors:
    return np.concatenate([groups.reshape(-1, groups.shape[-1]), words])


def check_repeatable(probe: Probe, rng: np.random.Generator) -> None:
    for _ in range(3):
        groups, words = _random_groups(probe, rng), _random_words(probe, rng)
        first, second = probe.score(groups, words), probe.score(groups, words)
        if not np.array_equal(first, second, equal_nan=True):
            raise ValueError(
                f"{probe.metric.metric_name} is random: the same vectors scored "
                f"{first + probe.b_0:.6g} and then {second + probe.b_0:.6g}. Give it a seed, such "
                "as metric_params={'random_state': 0}."
            )
    # If the metric answered no query, its parameters may be wrong.
    if probe.errors and np.isnan(probe.scores).all():
        raise next(iter(probe.errors.values()))


def spreads(groups: Vectors, words: Vectors) -> Vectors:
    """Return the range of the mean cosines of each word with the groups."""
    means = np.stack([unit_rows(group).mean(axis=0) for group in groups])
    return np.asarray(np.ptp(unit_rows(words) @ means.T, axis=1))


# Groups


def constructed_groups(shape: tuple[int, int, int]) -> Iterator[tuple[str, Vectors]]:
    """Yield groups with special properties, by name."""
    n_groups, size, dim = shape
    axes = np.eye(dim)
    # Orthogonal: all words of group i are axis i.
    orthogonal = np.zeros(shape) + axes[:n_groups, None]
    yield "orthogonal groups", orthogonal
    opposite = orthogonal.copy()
    opposite[1] = -axes[0]
    yield "opposite groups", opposite
    # Theorem 6: pairs differ most across to the first axis, but in ways that cancel in the means.
    outliers = opposite.copy()
    across = _balanced(size, dim - 1 - (n_groups > 2))
    n_across = across.shape[1]
    outliers[0, :, 1 : 1 + n_across] = 2 * math.sqrt(n_across) * across
    outliers[1] = -outliers[0]
    outliers[2:] = axes[-1]
    outliers[:2, :, 0] = np.array([[1.0], [-1.0]])
    yield "pairs as in theorem 6", unit_rows(outliers)
    # The first group is compact, the others scatter, so their means are shorter.
    uneven = 0.5 * orthogonal
    uneven[:, :, -1] = math.sqrt(0.75) * _balanced(size, 1)[:, 0]
    uneven[0] = axes[0]
    yield "one group scatters more", uneven
    # Half of the pairs differ more than the others, which differ along another axis.
    half = size // 2
    tilted = np.zeros(shape)
    tilted[:, :half] = orthogonal[:, :half]
    tilted[:, half:, -1] = 1
    tilted[0, half:, n_groups - 2 + (dim > n_groups + 1) * 2] += 0.5
    yield "pairs of different length", unit_rows(tilted)
    mixed = orthogonal.copy()
    mixed[0, half:] = axes[1]
    mixed[1, half:] = -axes[0]
    yield "groups that mix", mixed
    near = 0.1 * orthogonal
    near[:, :, -1] = 1
    yield "near groups", unit_rows(near)


def _balanced(n_points: int, dim: int) -> Vectors:
    """Return unit vectors with sum 0 and equal variance along each of up to `dim` axes."""
    if n_points == 2 or dim == 1:
        return np.where(np.arange(n_points) % 2, -1.0, 1.0)[:, None]
    if n_points > dim + 1:
        turns = 2 * np.pi * np.arange(n_points) / n_points
        return np.stack([np.cos(turns), np.sin(turns)], axis=1)
    corners = np.eye(n_points) - 1 / n_points  # of a simplex
    return unit_rows(corners @ np.linalg.svd(corners)[2][: n_points - 1].T)


def _random_groups(probe: Probe, rng: np.random.Generator) -> Vectors:
    """Return random groups with different spread and clearly different means."""
    while True:
        centres = rng.normal(size=(probe.shape[0], 1, probe.shape[2]))
        scatter = rng.uniform(0, 2)
        noise = rng.normal(size=probe.shape)
        groups = unit_rows(centres + scatter * noise)
        if np.linalg.norm(groups[0].mean(axis=0) - groups[1].mean(axis=0)) > 4 * CLEAR_BIAS:
            return groups


def _random_words(probe: Probe, rng: np.random.Generator) -> Vectors:
    return unit_rows(rng.normal(size=probe.words_shape))


# Words


def constructed_words(probe: Probe, groups: Vectors) -> Iterator[tuple[str, Vectors]]:
    """Yield words with special positions relative to the groups, by name."""
    n, half = probe.words_shape[0], (probe.words_shape[0] + 1) // 2
    means = groups.mean(axis=1)
    difference = means[0] - means[1]
    towards, neither = _direction(difference), null_space(means)[:, 0]
    unit_means = np.array([_direction(mean) for mean in means])
    theorem_3 = unit_means[np.arange(n) % len(means)]
    theorem_3[half:] += neither
    yield "words as in theorem 3", unit_rows(theorem_3)
    camps_of = {"all words lean alike": n, "two camps": half, "one word against the others": 1}
    for what, n_first in camps_of.items():
        camps = np.where(np.arange(n) < n_first, 1.0, -1.0)[:, None] * towards
        yield what, camps
        yield f"{what}, reversed", -camps
    little = np.tile(neither, (n, 1))
    little[0] += 1.5 * CLEAR_BIAS / max(float(np.linalg.norm(difference)), CLEAR_BIAS) * towards
    yield "one word leans a little", unit_rows(little)
    tilt = np.linspace(0.2, 1.2, n)[:, None]
    between = _direction(2 * unit_means[0] + unit_means[1])
    yield "all words lean, in equal order", np.cos(tilt) * between + np.sin(tilt) * neither
    of_pairs = np.nan_to_num(unit_rows(groups[0] - groups[1])).mean(axis=0)
    # The direction of the means without another one that scores may be about, if any is left.
    for what, direction in {
        "principal component": bias_subspace(list(groups)).directions[0],
        "mean of the pairs' directions": _direction(of_pairs, towards),
    }.items():
        rest = difference
        for _ in range(2):  # once more, against rounding
            rest = _direction(rest - (rest @ direction) * direction, towards)
        yield f"across to the {what}", np.tile(rest, (n, 1))
    along = np.tile(_direction(means.mean(axis=0), neither), (n, 1))
    yield "all words along the mean of the groups", along
    yield "all words along the mean of the groups, reversed", -along


def _direction(vector: Vectors, otherwise: Vectors | None = None) -> Vectors:
    length = np.linalg.norm(vector)
    if length < 1e-6:
        return np.eye(len(vector))[0] if otherwise is None else otherwise
    return np.asarray(vector / length)


# Trustworthy: a biased word, but the score is b_0


def search_trustworthy(probe: Probe, n_trials: int, rng: np.random.Generator) -> list[Case]:
    """Search for words of which one is clearly biased although the score is b_0."""
    tried = itertools.chain(_constructed(probe), _likely_zeros(probe, n_trials, rng))
    for groups, words, how in tried:
        if spreads(groups, words).max() >= CLEAR_BIAS:
            score = probe.score(groups, words)
            near = abs(score) <= TOLERANCE and _is_zero(probe, groups, words, score)
            if near and _is_stable(probe, groups, words):
                return [Case(groups, words, score + probe.b_0, how)]
    return []


def _constructed(probe: Probe) -> Iterator[Candidate]:
    for name, groups in constructed_groups(probe.shape):
        for words_name, words in constructed_words(probe, groups):
            yield groups, words, f"{name}; {words_name}"


def _likely_zeros(probe: Probe, n_trials: int, rng: np.random.Generator) -> Iterator[Candidate]:
    with progress_bar(n_trials, f"trustworthiness of {probe.metric}", "trial") as bar:
        for trial in range(n_trials):
            bar.update()
            groups = _random_groups(probe, rng)
            u, v = rng.normal(size=(2, *probe.words_shape))
            if trial % 2:
                u[:], v[:] = u[0], v[0]  # all words equal
            for words in _on_path(probe, groups, u, v):
                yield groups, words, "continuity: a path between scores on both sides of b_0"
            if trial % 25 == 0:
                words = _minimum(probe, groups, u if trial % 50 else u[:1])
                yield groups, words, "minimum of |score - b_0| over the words"


def _is_zero(probe: Probe, groups: Vectors, words: Vectors, score: float) -> bool:
    """Return whether a tiny score is 0 but for rounding: near a true 0 it grows fast or is flat."""
    if abs(score) <= 1e-15 * abs(probe.b_0):
        return True
    noise = np.random.default_rng(1).normal(size=(3, *words.shape))
    near = np.array([probe.score(groups, unit_rows(words + 1e-5 * each)) for each in noise])
    flat = abs(score) <= 1e-14 and bool((near == score).all())
    return flat or np.abs(near).max() > 2 * abs(score)


def _is_stable(probe: Probe, groups: Vectors, words: Vectors, tolerance: float = TOLERANCE) -> bool:
    """Return whether the score is independent of the rounding of vectors."""
    noise = np.random.default_rng(0)
    moved = [part + 1e-13 * noise.normal(size=part.shape) for part in (groups, words)]
    return abs(probe.score(*moved) - probe.score(groups, words)) <= tolerance


def _on_path(probe: Probe, groups: Vectors, u: Vectors, v: Vectors) -> Iterator[Vectors]:
    """Yield words of score b_0 on a closed path from each row of `u` via the row of `v`."""
    u = unit_rows(u)
    v = unit_rows(v - np.sum(u * v, axis=1, keepdims=True) * u)

    def path(angle: float) -> Vectors:
        return np.asarray(math.cos(angle) * u + math.sin(angle) * v)

    angles = np.linspace(0, 2 * math.pi, _GRID + 1)
    scores = np.array([probe.score(groups, path(angle)) for angle in angles])
    for i in np.flatnonzero(scores[:-1] * scores[1:] < 0):
        with contextlib.suppress(ValueError):  # undefined on the way
            angle = brentq(lambda x: probe.score(groups, path(x)), *angles[i : i + 2], xtol=1e-15)
            yield path(angle)


def _minimum(probe: Probe, groups: Vectors, start: Vectors) -> Vectors:
    """Minimise |score - b_0| over words, or one word for all, of which one stays clearly biased."""
    repeats = probe.words_shape[0] // len(start)

    def words_of(x: Vectors) -> Vectors:
        return np.tile(unit_rows(x.reshape(start.shape)), (repeats, 1))

    def objective(x: Vectors) -> float:
        words = words_of(x)
        score = abs(probe.score(groups, words))
        missing = max(0.0, 1.5 * CLEAR_BIAS - float(spreads(groups, words).max()))
        return 1e3 if math.isnan(score) else score + 10 * missing

    x = start.ravel()
    # Continue if it approaches 0.
    for n_calls, most in ((60, math.inf), (200, 1e-3)):
        options = {"xatol": 1e-14, "fatol": 1e-14, "maxfev": n_calls * x.size, "adaptive": True}
        if objective(x) < most:
            x = minimize(objective, x, method="Nelder-Mead", options=options).x
    return words_of(x)


# No false alarm: no biased word, but the score is not b_0, or there is none


def search_false_alarm(probe: Probe, n_trials: int, rng: np.random.Generator) -> list[Case]:
    """Search for unbiased words with a score far from b_0, or undefined."""
    clearest: Case | None = None
    undefined: Case | None = None
    least = CLEAR_SCORE
    for groups, words, how in _many_words(probe, n_trials, rng):
        neutral = _without_bias(groups, words)
        if neutral is None:
            continue
        score = probe.score(groups, neutral)
        case = Case(groups, neutral, score + probe.b_0, f"{how}, made neutral")
        if abs(score) > least and _is_stable(probe, groups, neutral, CLEAR_SCORE):
            clearest, least = case, abs(score)
        # Other words have a score with these groups.
        elif math.isnan(score) and not (undefined or math.isnan(probe.score(groups, words))):
            undefined = case
    return [case for case in (clearest, undefined) if case][:1]


def _many_words(probe: Probe, n_trials: int, rng: np.random.Generator) -> Iterator[Candidate]:
    for name, groups in constructed_groups(probe.shape):
        for words_name, words in constructed_words(probe, groups):
            yield groups, words, f"{name}; {words_name}"
        yield groups, _random_words(probe, rng), f"{name}; random words"
    for _ in range(n_trials):
        yield _random_groups(probe, rng), _random_words(probe, rng), "random groups and words"


def _without_bias(groups: Vectors, words: Vectors) -> Vectors | None:
    """Return words orthogonal to all differences of the groups; None if too little is left."""
    means = groups.mean(axis=1)
    _, lengths, directions = np.linalg.svd(means[1:] - means[0], full_matrices=False)
    differences = directions[lengths > ZERO_LENGTH]
    for _ in range(2):  # once more, against rounding
        words = words - (words @ differences.T) @ differences
        if np.linalg.norm(words, axis=1).min() < 0.1:
            return None
        words = unit_rows(words)
    return words


# Comparable: the extremes over the words must not depend on the groups


def search_comparable(probe: Probe, n_trials: int, rng: np.random.Generator) -> list[Case]:
    """Search for two sets of groups with different extremes."""
    candidates = list(constructed_groups(probe.shape))
    candidates += [("random groups", _random_groups(probe, rng)) for _ in range(2)]
    found: list[dict[int, Case]] = []
    with progress_bar(len(candidates), f"comparability of {probe.metric}", "groups") as bar:
        for name, groups in candidates:
            bar.update()
            starts = _starts(probe, groups, n_trials, rng)
            found += filter(None, [_extremes(probe, groups, starts, name)])
    scores = [case.score for extremes in found for case in extremes.values()]
    margin = max(1e-6, CLEAR_GAP * float(np.ptp(scores))) if scores else 0.0
    searched: set[tuple[float, ...]] = set()
    # Search longer until the extreme of the groups that fall behind is confirmed.
    while len(found) > 1:
        ends = np.array([[sign * each[sign].score for each in found] for sign in (1, -1)])
        side = int(np.ptp(ends, axis=1).argmax())
        sign, best, worst = 1 - 2 * side, int(ends[side].argmax()), int(ends[side].argmin())
        first, second = found[best][sign], found[worst][sign]
        if sign * (first.score - second.score) <= margin:
            return []
        if (key := (sign, *second.groups.flat)) in searched:
            return [first, second]
        searched.add(key)
        turned = first.words @ _turn(first.groups, second.groups)
        starts = _starts(probe, second.groups, 4 * n_trials, rng)
        starts = [turned, second.words, *starts]
        if longer := _extremes(probe, second.groups, starts, second.how, n_starts=4):
            found[worst] = longer
        else:
            del found[worst]  # it rests on rounding
    return []


def _starts(probe: Probe, groups: Vectors, n: int, rng: np.random.Generator) -> list[Vectors]:
    constructed = [words for _, words in constructed_words(probe, groups)]
    return constructed + [_random_words(probe, rng) for _ in range(n)]


def _extremes(
    probe: Probe, groups: Vectors, starts: Sequence[Vectors], how: str, n_starts: int = 1
) -> dict[int, Case]:
    """Return the smallest (-1) and largest (1) case; none if a score depends on rounding."""
    scored = [(probe.score(groups, words), words) for words in starts]
    scored = [each for each in scored if not math.isnan(each[0])]
    result = {}
    for sign in (1, -1) if scored else ():

        def objective(x: Vectors, sign: int = sign) -> float:
            score = probe.score(groups, unit_rows(x.reshape(starts[0].shape)))
            return 1e3 if math.isnan(score) else -sign * score

        ranked = sorted(scored, key=lambda each: -sign * each[0])
        score, words = ranked[0]
        # The best start, and some that are not constructed.
        for _, start in [*ranked[:n_starts], *ranked[len(ranked) // 2 :][:n_starts]]:
            # The line search would take long at a kink.
            options = {"maxiter": 40, "maxfun": 25 * start.size}
            end = minimize(objective, start.ravel(), method="L-BFGS-B", options=options)
            if -end.fun > sign * score:
                score, words = -sign * float(end.fun), unit_rows(end.x.reshape(words.shape))
        if not _is_stable(probe, groups, words, CLEAR_SCORE):
            return {}
        result[sign] = Case(groups, words, score + probe.b_0, how)
    return result


def _turn(own: Vectors, others: Vectors) -> Vectors:
    means = [groups.mean(axis=1) - groups.mean(axis=(0, 1)) for groups in (own, others)]
    return np.asarray(orthogonal_procrustes(*means)[0])
