"""One model on one benchmark."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import as_seed, logger, progress_bar
from wefe._wordset import Vectors
from wefe.embeddings import forms_found
from wefe.metrics._geometry import average_ranks, pearson
from wefe.models._search import directions, read, search
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.quality._benchmark import LOOKUP, Benchmark, Kind, Mask, as_benchmark, forms_of

#: First words of a vocabulary, which most files sort by frequency; as in gensim's evaluations.
MOST_CANDIDATES = 300_000
# Questions per batch; each batch reads the vectors of the model once.
_BATCH = 4_096
# Sums of unit vectors below this length are rounding noise.
_ZERO_LENGTH = 1e-12


def answer_analogies(
    model: WordEmbeddingModel,
    benchmark: Benchmark,
    progress: bool,
    most_candidates: int = MOST_CANDIDATES,
) -> tuple[Mask, Mask, tuple[str, ...], int]:
    """Answer the questions whose words are among the candidates; this needs the whole model.

    Returns which questions were asked, which were answered correctly, the words that the model
    lacks, and the number of candidates.
    """
    table = model.whole_table("an analogy")
    n_candidates = min(most_candidates, len(table))
    words = list(benchmark._in_order())
    rows = _rows(model, words, n_candidates)
    units, directed = directions(read(table, np.array([own[0] for own in rows.values()], int)))
    place = {word: at for at, word in enumerate(rows) if directed[at]}
    asked = np.array([place.keys() >= {*four} for *four, _ in benchmark.items])
    right = np.zeros(benchmark.n_items, dtype=bool)
    questions = []
    for number in np.flatnonzero(asked).tolist():
        a, b, c, d, _ = benchmark.items[number]
        own = {*rows[a], *rows[b], *rows[c]}
        # Words of the question are no answers: if d is one of them, it is not solved.
        if answers := {*rows[d]} - own:
            questions.append((number, [place[a], place[b], place[c]], list(own), answers))
    with progress_bar(len(questions), benchmark.name, "analogy", progress) as bar:
        for part in chunks(len(questions), _BATCH):
            numbers, places, banned, wanted = zip(*questions[part], strict=True)
            one, other, third = units[np.transpose(places)]
            points = other - one + third
            near = search(table, points, 1, banned, n_words=n_candidates)[0][:, 0]
            solved = [row in answers for row, answers in zip(near, wanted, strict=True)]
            right[list(numbers)] = solved & (np.linalg.norm(points, axis=1) > _ZERO_LENGTH)
            bar.update(len(numbers))
    return asked, right, tuple(word for word in words if word not in place), n_candidates


def _rows(
    model: WordEmbeddingModel, words: Sequence[str], n_candidates: int
) -> dict[str, list[int]]:
    """Return the rows of each candidate among words, the row of its vector first.

    Words that differ only in case follow: close as they are, they would often be the answer.
    """
    prefix = model.vocab_prefix or ""
    rows = {}
    for word in words:
        hits = [model.vocab.get(form, n_candidates) for form in forms_of(word, prefix)]
        if known := [row for row in hits if row < n_candidates]:
            rows[word] = known[:1]
    alike: dict[str, list[int]] = {(prefix + word).lower(): [] for word in rows}
    for form, row in model.vocab.items():
        if row < n_candidates and (same := alike.get(form.lower())) is not None:
            same.append(row)
    return {word: own + alike[(prefix + word).lower()] for word, own in rows.items()}


# The score, `n_used`, `nan_reason`, `lost_words` and `details` of a :class:`QualityScore`.
_Measured: TypeAlias = tuple[Any, ...]
# Cosines that differ by less are equal except for rounding.
_ROUNDING = 1e-12
# Number of starts of k-means, which ends in one of many optima.
_STARTS = 10


@dataclass(frozen=True)
class QualityScore:
    """The score of a model on a benchmark, from :func:`evaluate`.

    Attributes
    ----------
    benchmark, kind, model_name : str
        Name and kind of the benchmark, and name of the model.
    score : float
        Higher is better; NaN if undefined.
    n_used, n_items : int
        Number of items that the score uses, and of all items; the others have out-of-vocabulary
        words.
    nan_reason : str or None
        Why the score is NaN.
    lost_words : tuple of str
        Words that the model lacks, or whose vector is zero or not finite.
    details : dict
        Analogies: 'sections' (name -> score, n_used, n_items), 'n_candidates'. Categorisation:
        'n_categories', 'random_state', 'purities' (method -> purity). Outliers: 'sections',
        'position' (mean share of the group's words that are nearer to the others than the outlier).

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.quality import Benchmark
    >>> pairs = [("cup", "bottle"), ("cup", "tree"), ("tree", "xyzzy")]
    >>> judged = Benchmark("tiny", "similarity", pairs, [7.0, 0.4, 0.0])
    >>> evaluate(load_test_model(), judged).lost_words
    ('xyzzy',)
    """

    benchmark: str
    kind: Kind
    model_name: str
    score: float
    n_used: int
    n_items: int
    nan_reason: str | None = None
    lost_words: tuple[str, ...] = field(default=(), repr=False)
    details: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)


def evaluate(
    model: WordEmbeddingModel,
    benchmark: Benchmark | str | os.PathLike[str],
    *,
    random_state: int | np.random.Generator | None = 0,
    progress: bool = True,
) -> QualityScore:
    """Measure how well a model performs on a benchmark.

    Items count only if the model has all their words: compare models with nearly the same `n_used`.

    - *Similarity*, -1 to 1: Spearman correlation of cosines and human scores, with average ranks
      for ties.
    - *Analogy*, 0 to 1: share of questions "a is to b as c is to what" solved. The right word must
      have the largest cosine with b - a + c of unit vectors (3CosAdd, [1]_). The words a, b and c
      are no answers; both rules ignore case. Only the first 300,000 words of the vocabulary, which
      most files sort by frequency, are used. Encoders get NaN.
    - *Categorisation*, up to 1: purity of as many clusters as categories, which is the share of
      words in the most frequent category of their cluster; chance is well above 0. The highest of
      k-means (best of 10 starts) and agglomerative clustering (Ward, average, complete linkage)
      [2]_.
    - *Outlier*, 0 to 1: share of outliers found, whose sum of cosines with the group is the
      smallest of all [3]_.

    Words are looked up as written and then in lower case. gensim's `evaluate_word_pairs` and
    `evaluate_word_analogies` agree but for case: they compare words in upper case.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model opened with all words of the benchmark; analogies need the whole model.
    benchmark : Benchmark, str or path
        A benchmark, or a name or file for :func:`load_benchmark`.
    random_state, progress : optional
        Seed of the clustering for categorisation; whether long runs show a progress bar.

    Returns
    -------
    QualityScore
        The score, and how much of the benchmark it uses.

    References
    ----------
    .. [1] Mikolov et al. Linguistic Regularities in Continuous Space Word Representations. 2013.
    .. [2] Jastrzębski, Leśniak and Czarnecki. How to evaluate word embeddings? 2017.
    .. [3] Camacho-Collados and Navigli. Find the word that does not belong. RepEval 2016.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> question = ("man", "king", "woman", "queen", "royal")
    >>> evaluate(load_test_model(), Benchmark("one", "analogy", [question])).score
    1.0
    """
    check_model(model)
    asked = as_benchmark(benchmark)
    seed = as_seed(random_state)
    measures: dict[str, Callable[..., _Measured]] = {
        "similarity": _similarity,
        "analogy": partial(_analogies, progress=progress),
        "categorisation": partial(_categorisation, seed=seed),
        "outlier": _outliers,
    }
    value, n_used, *others = measures[asked.kind](model, asked)
    names = asked.name, asked.kind, model.name
    score = QualityScore(*names, value, n_used, asked.n_items, *others)
    if score.nan_reason is not None:
        logger.warning("%s is NaN for %s: %s", asked.name, model.name, score.nan_reason)
    return score


def _purity(categories: Sequence[str], clusters: Sequence[int]) -> float:
    """Return the share of words in the most frequent category of their cluster."""
    from sklearn.metrics.cluster import contingency_matrix

    n_words = contingency_matrix(categories, clusters)
    return float(n_words.max(axis=0).sum() / len(categories))


def _units(
    model: WordEmbeddingModel, benchmark: Benchmark
) -> tuple[dict[str, Vectors], tuple[str, ...]]:
    """Return the unit vectors of the words that have one, and the other words."""
    words = [*benchmark._in_order()]
    hits = forms_found(model, words, LOOKUP)
    form_of = {word: forms[0] for word, forms in hits.items() if forms}
    # All at once, because models that compute vectors do so in one batch.
    units, directed = directions(model.get_vectors(list(form_of.values())))
    vectors = dict(compress(zip(form_of, units, strict=True), directed))
    return vectors, tuple(word for word in words if word not in vectors)


def pair_cosines(
    model: WordEmbeddingModel, benchmark: Benchmark
) -> tuple[Vectors, tuple[str, ...]]:
    """Return the cosine of each pair, NaN if a word has no vector, and these words."""
    vectors, lost = _units(model, benchmark)
    no_vector = np.full(model.dim, np.nan)
    pairs = [[vectors.get(word, no_vector) for word in pair] for pair in benchmark.items]
    first, second = np.array(pairs).swapaxes(0, 1)
    return np.einsum("ij,ij->i", first, second), lost


def _similarity(model: WordEmbeddingModel, benchmark: Benchmark) -> _Measured:
    cosines, lost = pair_cosines(model, benchmark)
    used = ~np.isnan(cosines)
    n_used = int(used.sum())
    if n_used < 2:
        reason = f"the model has both words of {n_used} of {benchmark.n_items} pairs; it needs 2"
        return math.nan, n_used, reason, lost
    human = average_ranks(np.array(benchmark.scores)[used])
    ours = average_ranks(cosines[used], tolerance=_ROUNDING)
    for ranks, what in ((ours, "cosines"), (human, "human scores")):
        if np.ptp(ranks) == 0:
            reason = f"the {what} of all {n_used} pairs are equal: correlation is undefined"
            return math.nan, n_used, reason, lost
    score = min(max(pearson(human, ours), -1.0), 1.0)
    return score, n_used, None, lost


def _analogies(model: WordEmbeddingModel, benchmark: Benchmark, progress: bool) -> _Measured:
    if hasattr(model, "encode_contexts"):
        reason = (
            "analogies need a vocabulary, and an encoder has none; evaluate its input "
            "embeddings instead, which wefe.load opens"
        )
        return math.nan, 0, reason
    asked, right, lost, n_candidates = answer_analogies(model, benchmark, progress)
    details = {"sections": _sections(benchmark, asked, right), "n_candidates": n_candidates}
    n_used = int(asked.sum())
    if n_used == 0:
        reason = f"no question has all its words among the first {n_candidates:,} of the model"
        return math.nan, 0, reason, lost, details
    return float(right.sum() / n_used), n_used, None, lost, details


def _sections(benchmark: Benchmark, asked: Mask, right: Mask) -> dict[Any, Any]:
    counts = pd.DataFrame({"score": right, "n_used": asked, "n_items": True})
    sums = counts.groupby([item[-1] for item in benchmark.items], sort=False).sum()
    shares = (sums["score"] / sums["n_used"]).astype(object).where(sums["n_used"] > 0, None)
    return sums.assign(score=shares).to_dict("index")


def _outliers(model: WordEmbeddingModel, benchmark: Benchmark) -> _Measured:
    vectors, lost = _units(model, benchmark)
    asked = np.array([vectors.keys() >= {*words} for *words, _ in benchmark.items])
    positions = np.full(benchmark.n_items, math.nan)
    for number in np.flatnonzero(asked):
        units = np.array([vectors[word] for word in benchmark.items[number][:-1]])
        # Includes the cosine of each word with itself, which is 1 for all.
        outlier, *others = units @ units.sum(axis=0)
        positions[number] = np.mean(np.array(others) > outlier + _ROUNDING)
    n_used = int(asked.sum())
    details: dict[str, Any] = {"sections": _sections(benchmark, asked, positions == 1)}
    if n_used == 0:
        reason = "the model lacks a word of every question"
        return math.nan, 0, reason, lost, details
    details["position"] = float(positions[asked].mean())
    score = float((positions[asked] == 1).mean())
    return score, n_used, None, lost, details


def _categorisation(model: WordEmbeddingModel, benchmark: Benchmark, seed: int) -> _Measured:
    from sklearn.cluster import AgglomerativeClustering, KMeans

    vectors, lost = _units(model, benchmark)
    used = [item for item in benchmark.items if item[0] in vectors]
    words, categories = np.array(used, dtype=object).reshape(-1, 2).T.tolist()
    n_categories = len(set(categories))
    details: dict[str, Any] = {"n_categories": n_categories, "random_state": seed}
    if n_categories < 2 or len(used) <= n_categories:
        reason = (
            f"the model has {len(used)} words of {n_categories} categories; at least 2 categories "
            "and more words than categories are needed"
        )
        return math.nan, len(used), reason, lost, details
    points = np.array([vectors[word] for word in words])
    methods = {
        "k-means": KMeans(n_categories, n_init=_STARTS, random_state=seed),
        "ward": AgglomerativeClustering(n_categories, linkage="ward"),
        "average": AgglomerativeClustering(n_categories, metric="cosine", linkage="average"),
        "complete": AgglomerativeClustering(n_categories, metric="cosine", linkage="complete"),
    }
    purities = details["purities"] = {
        name: _purity(categories, method.fit_predict(points)) for name, method in methods.items()
    }
    return max(purities.values()), len(used), None, lost, details
