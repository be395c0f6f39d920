"""Reference models: embeddings made with a known bias."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._answers import no_subquery
from wefe._checks import as_seed, check_number, check_positive_int, check_share, found, noted
from wefe._visible import unique_labels
from wefe.metrics._base import BaseMetric
from wefe.metrics._geometry import Vectors, unit_rows
from wefe.metrics._registry import MetricLike, as_metric, as_metrics
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query, check_query
from wefe.running import measure

# What a unit vector is made of. Cosines, unless it says otherwise; chosen so that norms, cosines
# and neighbours are as in word2vec's Google News vectors.
_GROUP = 0.4  # a group word with the direction of its group: twins as she, he have 1 - 2 * 0.4^2
_LEAN, _LEAN_SPREAD = 0.2, 0.1  # a concept word with the direction of its group, at bias 1
_LEAN_NOISE = 0.04
_COMMON, _COMMON_SPREAD = 0.26, 0.08  # any word with the mean vector
_FREQUENCY = 0.1  # any word with the frequency direction, for one unit of log rank
_CONTENT = 0.55  # a concept word with its content, as far as group words may have some of it
_TOPIC_NOISE, _SHARED_NOISE = 0.085, 0.3  # a group word with what concepts are made of
_NOISE_RATIO = 1.7  # length of a word's own part over the part that it shares with its set
_FILLER_RATIOS = 0.6, 1.8  # the same of the words of one filler cluster
_CLUSTER_SIZE = 50
_LENGTH, _LENGTH_SLOPE, _LENGTH_NOISE = 2.8, 0.06, 0.25  # log-normal, by log rank

# Dimensions for the noise of what all words share, group words alone and concept words alone.
_LEAST_NOISE_DIMS = 4

_DIAL = tuple(i / 10 for i in range(11))


def make_biased_embeddings(
    query: Query,
    bias: float,
    n_words: int = 10_000,
    dim: int = 300,
    noise: float = 1.0,
    random_state: int | np.random.Generator | None = 0,
) -> WordEmbeddingModel:
    r"""Make an embedding with a known bias for a query.

    Attribute set j leans towards target set j, with a strength between 0 (none, provably) and 1 (as
    much as the most biased word lists of real embeddings). Lengths, frequency, the mean vector and
    neighbourhoods are like those of real embeddings. Spliethöver and Wachsmuth (IJCAI 2021, section
    5) ask for models of known bias.

    Parameters
    ----------
    query : Query
        Two or more target sets (groups) and one or more attribute sets (concepts). Attribute sets
        without a target set at the same position lean to no group. A single attribute set leans to
        the first group on average; its words differ in how much.
    bias : float
        Bias strength, from 0 to 1. The mean cosine of the words of attribute set j with the
        direction of target set j (from the mean of all groups, for sets of equal size) is ``0.2 *
        bias``. For comparison: in word2vec's Google News vectors the mean absolute cosine (SAME) of
        the WEAT lists is 0.02 to 0.16.
    n_words : int, default=10_000
        Size of the vocabulary, in order of frequency: the words of the query among fillers
        'word0001' and so on.
    dim : int, default=300
        Dimensions; at least about 20, depending on the number of sets.
    noise : float, default=1.0
        How much words differ from others of their set or cluster; at least 0, and 1 is realistic.
        It also scales, up to 1.4 times the value at 1, how much single group words lean to single
        concepts, and a random part of how much concept words lean to their group.
    random_state : int, Generator or None, default=0
        Seed of draws that do not depend on `bias` and `noise`; `bias` changes the words of
        attribute sets only.

    Returns
    -------
    WordEmbeddingModel
        Named, for example, 'bias 0.5'. In float64, so zeros are exact to 1e-15.

    Notes
    -----
    *Construction.* A unit vector is a sum of parts in orthogonal, randomly rotated subspaces: the
    directions of the groups, a subspace of group words only, one of concept words only, the mean
    vector, a frequency direction, and a subspace that all words share, with a direction for each
    attribute set. Words at the same position of the target sets (she, he) differ only in their
    group. The bias strength changes cosines between group and concept words only through their
    lean. For two sets each, WEAT is ``0.16 * bias`` times the number of target words.

    *Zero at bias 0.* The inner product of every attribute word with the difference of the means of
    any two target sets (of vectors, and of unit vectors) is exactly zero. So

    - WEAT (sum and effect size) and GWEAT are 0, SAME is 0 and ECT is 1, up to rounding;
    - direct bias, RIPA and RND are 0 for target sets of equal size; otherwise RND is not, because
      the mean of more words is shorter;
    - RNSB is almost 0 (0.003 with eight words per set, compared with 0.09 at bias 1): it compares
      words, and some words of *both* groups lean to a concept;
    - MAC is about 0.93, because any two words have a mean cosine of about 0.07.

    With one word per target set, the effect size is undefined (0/0) at bias 0. For random subsets
    of the words, WEAT and GWEAT are 0 only on average.

    Examples
    --------
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.metrics import WEAT
    >>> query = load_weat_queries()[5]  # male and female names, career and family
    >>> WEAT().run_query(query, make_biased_embeddings(query, 0.5, n_words=500))["weat"]
    1.28
    """
    dial = check_share("bias", bias)
    return _Reference(query, n_words, dim, noise, random_state).model(dial)


@dataclass
class _Reference:
    """All random draws of a reference model, which give vectors for any bias strength."""

    query: Query
    n_words: int = 10_000
    dim: int = 300
    noise: float = 1.0
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self) -> None:
        from scipy.linalg import helmert

        check_query(self.query)
        sets = self.query.target_sets + self.query.attribute_sets
        n_groups = len(self.query.target_sets)
        n_concepts = len(sets) - n_groups
        if n_groups < 2 or not n_concepts:
            raise ValueError(
                "a reference model needs a query with two or more target sets and one or more "
                f"attribute sets; {self.query.query_name!r} has another shape."
            )
        by_set = [list(dict.fromkeys(words)) for words in sets]
        self.words = list(itertools.chain(*by_set))
        # The group subspace, mean, frequency, topics, what group words share, what the words of
        # each concept share, and noise.
        least = (n_groups - 1) + 1 + 1 + n_concepts + 1 + n_concepts + 3 * _LEAST_NOISE_DIMS
        self.n_words = check_positive_int("n_words", self.n_words, len(self.words))
        self.dim = check_positive_int("dim", self.dim, least)
        self.noise = check_number("noise", self.noise, at_least=0)
        # Grows like `noise` at first, and stays below sqrt(2): these parts are of fixed length.
        self.scale = self.noise * math.sqrt(2 / (1 + self.noise**2))
        n_noise = (self.dim - least) // 3 + _LEAST_NOISE_DIMS
        # Last, concept words alone, who get what is left over.
        ends = np.cumsum([n_groups - 1, 1, 1, n_concepts, n_noise, 1 + n_noise])
        parts = np.split(np.arange(self.dim), ends)
        self.group, self.common, self.frequency, self.topics, self.shared = parts[:5]
        self.of_groups, self.of_concepts = parts[5:]
        # Mean 0, and all equally far from each other.
        self.groups = unit_rows(helmert(n_groups).T)
        *seeds, self._filler_seed = np.random.SeedSequence(as_seed(self.random_state)).spawn(5)
        order, basis, of_targets, of_concepts = map(np.random.default_rng, seeds)
        *rarities, self._filler_rarity = self._ranked(list(map(len, by_set)), order)
        # Row i of the basis is where coordinate i points to.
        self.basis = np.linalg.qr(basis.standard_normal((self.dim, self.dim)))[0]
        self._targets = self._draw_targets(rarities[:n_groups], of_targets) @ self.basis
        of_sets = enumerate(rarities[n_groups:])
        concepts = [self._draw_concept(j, own, of_concepts) for j, own in of_sets]
        self._concepts = [np.concatenate(parts) for parts in zip(*concepts, strict=True)]

    def model(self, bias: float, *, fillers: bool = True) -> WordEmbeddingModel:
        """The words of the query; with `fillers` the whole vocabulary, in order of frequency."""
        lengths, fixed, lean, own = self._concepts
        # Group words have nothing of the own part, so the dial changes their cosines with concept
        # words by the lean and by nothing else.
        rows = fixed + bias * lean
        concepts = lengths * (rows + _rest(rows)[:, None] * own)
        words, vectors = self.words, np.concatenate([self._targets, concepts @ self.basis])
        if fillers:
            drawn = self._draw_fillers() @ self.basis
            every = words + [f"word{i:04d}" for i in range(1, len(drawn) + 1)]
            words = [every[i] for i in self._order]
            vectors = np.concatenate([vectors, drawn])[self._order]
        return WordEmbeddingModel((words, vectors), f"bias {bias:g}")

    def _ranked(self, sizes: Sequence[int], rng: np.random.Generator) -> list[Vectors]:
        """Order all words by frequency; return the rarity of those of each set, and of fillers."""
        n_groups = len(self.groups)
        of_positions = rng.random(max(sizes[:n_groups]))
        of_concepts = rng.random(sum(sizes[n_groups:]))
        # Twins have neighbouring ranks.
        of_targets = [of_positions[:size] for size in sizes[:n_groups]]
        of_fillers = np.sort(rng.random(self.n_words - len(self.words)))
        self._order = np.concatenate([*of_targets, of_concepts, of_fillers]).argsort(kind="stable")
        # Logarithm of the rank, with a mean of about 0; clipped for the few most frequent words.
        rarity = np.clip(1 + np.log((self._order.argsort() + 1) / self.n_words), -2, 1)
        return np.split(rarity, np.cumsum(sizes))

    def _lengths(self, rarity: Vectors, rng: np.random.Generator) -> Vectors:
        noise = _LENGTH_NOISE * rng.standard_normal(len(rarity)).clip(-3, 3)
        return np.asarray(_LENGTH * np.exp(_LENGTH_SLOPE * rarity + noise))

    def _draw_targets(self, rarities: Sequence[Vectors], rng: np.random.Generator) -> Vectors:
        sizes, rarity = [len(own) for own in rarities], max(rarities, key=len)
        n, lengths = len(rarity), self._lengths(rarity, rng)
        topics = self.scale * _TOPIC_NOISE * _directions(rng, n, len(self.topics))
        shared = self.scale * _SHARED_NOISE * _directions(rng, n, len(self.shared))
        apart = np.column_stack([_FREQUENCY * rarity, topics, shared])
        own = _around(np.eye(len(self.of_groups))[0], self.noise * _NOISE_RATIO, n, rng)
        sets = []
        for size, direction in zip(sizes, self.groups, strict=True):
            of_set = lengths[:size] * (lengths.mean() / lengths[:size].mean())
            parts = apart[:size]
            if len(set(sizes)) > 1:
                # Remove from every column its mean over words, and its mean weighted by length.
                weights = np.stack([np.ones(size), of_set], axis=1)
                parts = parts - weights @ (np.linalg.pinv(weights) @ parts)
            rows = np.zeros((size, self.dim))
            rows[:, self.group] = _GROUP * direction
            rows[:, self.common] = _COMMON
            rows[:, self.frequency[0] : self.of_groups[0]] = parts
            rows[:, self.of_groups] = _rest(rows)[:, None] * own[:size]
            sets.append(of_set[:, None] * rows)
        return np.concatenate(sets)

    def _draw_concept(
        self, j: int, rarity: Vectors, rng: np.random.Generator
    ) -> tuple[Vectors, ...]:
        n, lengths = len(rarity), self._lengths(rarity, rng)
        spread = _LEAN + _LEAN_SPREAD * _evenly(n, rng)
        wobble = rng.standard_normal((n, len(self.group))).clip(-3, 3)
        wobble -= wobble.mean(axis=0)
        fixed, own, lean = np.zeros((3, n, self.dim))
        fixed[:, self.common] = (_COMMON + _COMMON_SPREAD * _evenly(n, rng))[:, None]
        fixed[:, self.frequency] = _FREQUENCY * rarity[:, None]
        seen = np.concatenate([self.topics, self.shared])
        ratio = self.noise * _NOISE_RATIO
        fixed[:, seen] = _CONTENT * _around(np.eye(len(seen))[j], ratio, n, rng)
        own[:, self.of_concepts] = _around(np.eye(len(self.of_concepts))[j], ratio, n, rng)
        if j < len(self.groups):
            lean[:, self.group] = spread[:, None] * self.groups[j]
            lean[:, self.group] += self.scale * _LEAN_NOISE * wobble
        return lengths[:, None], fixed, lean, own

    def _draw_fillers(self) -> Vectors:
        """Draw words in clusters: those of the groups and concepts, and many others."""
        rng, rarity = np.random.default_rng(self._filler_seed), self._filler_rarity
        n, lengths = len(rarity), self._lengths(rarity, rng)
        of_groups = np.zeros((len(self.groups), self.dim))
        of_groups[:, self.group] = _GROUP * self.groups
        of_groups[:, self.of_groups[0]] = math.sqrt(1 - _GROUP**2)
        others = _directions(rng, 1 + n // _CLUSTER_SIZE, self.dim)
        centres = np.concatenate([of_groups, np.eye(self.dim)[self.topics], others])
        sizes = rng.lognormal(0.0, 0.7, len(centres))
        cluster = rng.choice(len(centres), n, p=sizes / sizes.sum())
        ratios = self.noise * rng.uniform(*_FILLER_RATIOS, n)
        rows = centres[cluster] + ratios[:, None] * _directions(rng, n, self.dim)
        rows[:, self.common] = rows[:, self.frequency] = 0
        rows = unit_rows(rows)
        common = _COMMON + _COMMON_SPREAD * rng.standard_normal(n).clip(-3, 3)
        frequency = _FREQUENCY * rarity
        rows *= np.sqrt(1 - common**2 - frequency**2)[:, None]
        rows[:, self.common] = common[:, None]
        rows[:, self.frequency] = frequency[:, None]
        return np.asarray(lengths[:, None] * rows)


def dial_response(
    metrics: MetricLike | Sequence[MetricLike],
    query: Query,
    biases: Sequence[float] | npt.NDArray[np.floating[Any]] = _DIAL,
    n_seeds: int = 5,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: bool = True,
    **model_params: Any,
) -> pd.DataFrame:
    """Vary the bias strength of reference models, and measure which metrics follow it.

    Parameters
    ----------
    metrics : metric class, instance or name, or a sequence of them
        For parameters pass an instance, such as ``WEAT(return_effect_size=True)``. The class RNSB
        is used without hold-out.
    query : Query
        The query of the reference models. Metrics with another template report the mean over its
        subqueries, or NaN if there are none.
    biases : sequence of float, default=(0, 0.1, ..., 1)
        Bias strengths, two or more, all different.
    n_seeds, random_state, n_jobs, progress : optional
        Number of models for each strength, 5 by default, and the source of their seeds; the others
        are as for :func:`wefe.running.run_queries`.
    **model_params
        'dim', 'noise' or 'n_words' of :func:`make_biased_embeddings`. Only metrics of
        neighbourhoods get models with fillers.

    Returns
    -------
    DataFrame
        One row per metric. The columns are the bias strengths, with the mean distance of the score
        from the no-bias value; 'rank_correlation', the mean over seeds of Spearman's correlation of
        strength and distance (1 if the metric follows; NaN if the distance is constant); and
        'note'.

    Notes
    -----
    With the WEAT queries and noise of 0, 1 and 3, WEAT, GWEAT, RNSB (without hold-out), RND, SAME,
    direct bias and RIPA always follow, and ECT almost always (0.99, because ranks move in steps).
    But:

    - MAC hardly changes: it averages over all target sets, and what one gains the others lose;
    - the effect size of WEAT is near its maximum from 0.3 on;
    - RND measures a bias that does not exist if target sets differ in size;
    - ECT only notices that the words of an attribute set lean by different amounts.

    Examples
    --------
    >>> from wefe import Query
    >>> query = Query([["she", "her"], ["he", "him"]], [["poetry", "dance"], ["math", "logic"]])
    >>> table = dial_response(["weat", "mac"], query, biases=[0, 1], n_seeds=2)
    >>> table.round(2)[[0.0, 1.0, "rank_correlation"]]  # WEAT follows, MAC does not
           0.0   1.0  rank_correlation
    WEAT  0.00  0.64               1.0
    MAC   0.06  0.06               NaN
    """
    asked = as_metrics(metrics, _steady)
    dial = [check_share(f"biases[{i}]", b) for i, b in enumerate(biases)]
    if len({*dial}) < max(2, len(dial)):
        raise ValueError(f"biases must be two or more different strengths; got {found(biases)}.")
    check_positive_int("n_seeds", n_seeds)
    seeds = np.random.SeedSequence(as_seed(random_state)).generate_state(n_seeds).tolist()
    references = [_Reference(query, random_state=seed, **model_params) for seed in seeds]
    rows = []
    for metric in asked:
        if not (parts := metric.subqueries(query)):
            rows.append([math.nan] * (len(dial) + 1) + [no_subquery(metric)])
            continue
        tables = []
        for reference in references:
            # Whole models of one seed after the other: all at once may need gigabytes.
            models = [reference.model(b, fillers=metric.needs_vocabulary) for b in dial]
            with noted([]):  # the table has a note instead
                tables.append(measure(metric, parts, models, n_jobs=n_jobs, progress=progress))
        rows.append(_response(pd.concat(tables), np.array(dial), n_seeds))
    labels = unique_labels([metric.scale().label for metric in asked], "metrics")
    return pd.DataFrame(rows, index=labels, columns=[*dial, "rank_correlation", "note"])


def _response(table: pd.DataFrame, dial: Vectors, n_seeds: int) -> list[Any]:
    by_query = table["bias"].to_numpy().reshape(n_seeds, len(dial), -1)
    curves, n_queries = by_query.mean(axis=2), by_query.shape[2]
    notes = [f"mean over {n_queries} subqueries"] * (n_queries > 1)
    if len(reasons := table["nan_reason"].dropna()):
        notes.append(f"{len(reasons)} of {len(table)} scores are NaN: {reasons.iloc[0]}")
    # Distances that differ by rounding are equal: a flat curve has no order.
    ranked = pd.DataFrame([dial, *curves.round(9)]).T.corr("spearman")
    correlation = ranked[0].iloc[1:].mean(skipna=False)
    return [*curves.mean(axis=0), correlation, "; ".join(notes)]


def _steady(metric: MetricLike) -> BaseMetric:
    """Return a metric; RNSB without its random hold-out, unless it is an instance."""
    instance = as_metric(metric)
    if instance is not metric and "holdout" in instance.subset_params:
        return instance._with_params(holdout=False)[0]
    return instance


def _directions(rng: np.random.Generator, n: int, dim: int) -> Vectors:
    return unit_rows(rng.standard_normal((n, dim)))


def _around(centre: Vectors, ratio: float, n: int, rng: np.random.Generator) -> Vectors:
    """Return n unit vectors around a centre; `ratio` is noise over signal."""
    return unit_rows(centre + ratio * _directions(rng, n, len(centre)))


def _evenly(n: int, rng: np.random.Generator) -> Vectors:
    """Return n evenly spaced numbers in random order: mean 0, standard deviation about 1."""
    return rng.permutation(2 * np.arange(n) + 1 - n) * (math.sqrt(3) / n)


def _rest(rows: Vectors) -> Vectors:
    return np.asarray(np.sqrt(1 - np.einsum("ij,ij->i", rows, rows)))
