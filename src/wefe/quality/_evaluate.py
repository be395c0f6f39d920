"""One model, one benchmark: how well do its vectors answer?"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, check_bool, check_positive_int, check_sequence
from wefe.metrics._geometry import average_ranks, pearson
from wefe.models._search import directions
from wefe.models._word_embedding_model import check_model
from wefe.quality._analogies import answer_analogies
from wefe.quality._benchmark import Benchmark, Kind, as_benchmark, forms_of

if TYPE_CHECKING:
    from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

#: As many words as gensim's evaluations take.
DEFAULT_SIZE = 300_000

# Cosines that are no further apart are equal but for rounding.
_ROUNDING = 1e-12
# k-means ends in one of many optima; the best of so many starts is taken.
_STARTS = 10


@dataclass(frozen=True)
class QualityScore:
    """What :func:`evaluate` returns.

    Attributes
    ----------
    benchmark : str
        Name of the benchmark.
    kind : {'similarity', 'analogy', 'categorisation', 'outlier'}
        Its kind.
    model_name : str
        Name of the model.
    score : float
        Higher is better. Similarity: Spearman's correlation with the human scores, in [-1, 1].
        Analogy: share of the questions solved, in [0, 1]. Categorisation: purity, in (0, 1].
        Outlier: share of the outliers found, in [0, 1]. NaN if there is none.
    n_used, n_items : int
        Items that the score is over, and all of the benchmark: the others lost a word.
    nan_reason : str or None
        Why the score is NaN; None if it is a number.
    lost_words : tuple of str
        Words of the benchmark that the model lacks, or whose vector is zero or not finite.
    details : dict
        Of analogies 'sections' (name -> score, n_used, n_items) and 'n_candidates'; of a
        categorisation 'n_categories', 'random_state' and 'purities' (method -> purity); of
        outliers 'sections' and 'position', the mean share of the words of the group that are nearer
        to the others than the outlier is.

    See Also
    --------
    evaluate : Makes it.
    quality_scores : Many models and benchmarks in one table.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.quality import Benchmark, evaluate
    >>> pairs = [("cup", "bottle"), ("cup", "tree"), ("tree", "forest"), ("tree", "xyzzy")]
    >>> judged = Benchmark("tiny", "similarity", pairs, [7.0, 0.4, 8.5, 0.0])
    >>> result = evaluate(load_test_model(), judged)
    >>> result.score, f"{result.n_used} of {result.n_items} pairs", result.lost_words
    (1.0, '3 of 4 pairs', ('xyzzy',))
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; a score that is NaN is None.

        Returns
        -------
        dict
            The attributes under their names.
        """
        return {
            "benchmark": self.benchmark,
            "kind": self.kind,
            "model_name": self.model_name,
            "score": None if math.isnan(self.score) else self.score,
            "n_used": self.n_used,
            "n_items": self.n_items,
            "nan_reason": self.nan_reason,
            "lost_words": list(self.lost_words),
            "details": dict(self.details),
        }


def evaluate(
    model: WordEmbeddingModel,
    benchmark: Benchmark | str | os.PathLike[str],
    *,
    lowercase: bool = True,
    vocabulary_size: int = DEFAULT_SIZE,
    random_state: int | np.random.Generator | None = 0,
    progress: bool = True,
) -> QualityScore:
    """Measure how well a model does on a benchmark.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model; a contextual one answers everything but analogies.
    benchmark : Benchmark, str or path
        A benchmark, or what :func:`load_benchmark` takes.
    lowercase : bool, default=True
        Look a word up as it is written, then in lower case. False: as it is written. In either
        case the prefix of the model comes first.
    vocabulary_size : int, default=300_000
        Analogies: only that many words from the start of the vocabulary, which most files sort by
        falling frequency, count as known and may be an answer. The other kinds look up words of
        the whole vocabulary; a size that is given for them is logged.
    random_state : int, Generator or None, default=0
        Seed of the clustering of a categorisation.
    progress : bool, default=True
        Whether long work shows a bar.

    Returns
    -------
    QualityScore
        The score, and how much of the benchmark it is over.

    Raises
    ------
    ValueError
        If analogies are asked of a model that was opened for some words only, or a word is looked
        up for which it was not opened.
    TypeError
        If an argument is of another type.

    Notes
    -----
    An item counts only if the model has all its words, with vectors that have a direction. So two
    models can be compared only if `n_used` is nearly the same.

    *Similarity* is Spearman's correlation of cosines with human scores; ties get average ranks.

    *Analogies*: to "a is to b as c is to what" the answer is the word whose cosine with
    b - a + c, of unit vectors, is largest (3CosAdd). The words a, b and c are no answers. With
    `lowercase` words that differ from them in case only are none either, and those that differ so
    from the right word are right.

    *Categorisation* is the :func:`purity` of as many clusters as there are categories, made from
    unit vectors: the highest of k-means (the best, by inertia, of 10 starts) and of agglomerative
    clustering (Ward's, average and complete linkage), as in the Word Embedding Benchmark.

    *Outlier* detection: a group and a word that does not belong to it. It is found if the sum of
    its cosines with the other words is smaller than that of any of them.

    `evaluate_word_pairs` and `evaluate_word_analogies` of gensim give the same scores but for
    case. By default they turn all words into upper case and take the vector of the first row that
    becomes the word, be it 'us' or 'US'; here 'US' is looked up, then 'us'. Their
    ``case_insensitive=False`` is ``lowercase=False``. For similarity they know the first 300,000
    words only; here all count.

    References
    ----------
    Jastrzębski, Leśniak and Czarnecki, "How to evaluate word embeddings? On importance of data
    efficiency and simple supervised tasks", 2017 (the Word Embedding Benchmark). Mikolov, Yih and
    Zweig, "Linguistic Regularities in Continuous Space Word Representations", NAACL 2013.
    Camacho-Collados and Navigli, "Find the word that does not belong", RepEval 2016 (outliers).

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.quality import Benchmark, evaluate
    >>> questions = [("man", "king", "woman", "queen", "royal"), ("go", "went", "is", "was", "be")]
    >>> evaluate(load_test_model(), Benchmark("two", "analogy", questions))
    QualityScore(benchmark='two', kind='analogy', model_name='minilm-words', score=1.0, n_used=2,
    n_items=2, nan_reason=None)
    """
    check_model(model)
    asked = as_benchmark(benchmark)
    check_bool("lowercase", lowercase)
    check_bool("progress", progress)
    size = check_positive_int("vocabulary_size", vocabulary_size)
    seed = as_seed(random_state)
    if asked.kind != "analogy" and size != DEFAULT_SIZE:
        logger.warning(
            "vocabulary_size is for analogies; %s is of kind %r, and takes all words",
            asked.name,
            asked.kind,
        )
    if asked.kind == "similarity":
        result = _similarity(model, asked, lowercase)
    elif asked.kind == "analogy":
        result = _analogies(model, asked, lowercase, size, progress)
    elif asked.kind == "outlier":
        result = _outliers(model, asked, lowercase)
    else:
        result = _categorisation(model, asked, lowercase, seed)
    if result.nan_reason is not None:
        logger.warning("%s is NaN for %s: %s", asked.name, model.name, result.nan_reason)
    return result


def purity(categories: Sequence[str], clusters: Sequence[int]) -> float:
    """Share of the words that belong to the category that is most frequent in their cluster.

    Parameters
    ----------
    categories : sequence of str, of length n_words
        The category of each word.
    clusters : sequence of int, of length n_words
        The cluster of each word.

    Returns
    -------
    float
        In (0, 1]; 1 if no cluster mixes categories. Chance is well above 0, and the more clusters
        there are, the higher.

    Raises
    ------
    TypeError
        If an argument is no sequence.
    ValueError
        If they have different lengths, or none.

    Examples
    --------
    Of the first three words two are birds, the other two are fish: (2 + 2) / 5.

    >>> purity(["bird", "bird", "fish", "fish", "fish"], [0, 0, 0, 1, 1])
    0.8
    """
    if len(check_sequence("categories", categories)) != len(check_sequence("clusters", clusters)):
        raise ValueError(
            f"categories and clusters must have the same length; got {len(categories)} and "
            f"{len(clusters)}."
        )
    if len(categories) == 0:
        raise ValueError("categories is empty; purity needs one word or more.")
    names, rows = np.unique(np.asarray(categories), return_inverse=True)
    labels, columns = np.unique(np.asarray(clusters), return_inverse=True)
    counts = np.zeros((len(names), len(labels)), dtype=int)
    np.add.at(counts, (rows, columns), 1)
    return float(counts.max(axis=0).sum() / len(categories))


def _score(
    model: WordEmbeddingModel,
    benchmark: Benchmark,
    score: float,
    n_used: int,
    nan_reason: str | None = None,
    lost_words: tuple[str, ...] = (),
    details: Mapping[str, Any] | None = None,
) -> QualityScore:
    return QualityScore(
        benchmark.name,
        benchmark.kind,
        model.name,
        score,
        n_used,
        benchmark.n_items,
        nan_reason,
        lost_words,
        {} if details is None else details,
    )


def _units(
    model: WordEmbeddingModel, words: Sequence[str], lowercase: bool
) -> tuple[dict[str, npt.NDArray[np.float64]], tuple[str, ...]]:
    """Return the unit vectors of the words that have one, and the other words."""
    form_of: dict[str, str] = {}
    for word in words:
        forms = forms_of(word, lowercase, model.vocab_prefix)
        hit = next((form for form in forms if form in model.vocab), None)
        if hit is None and model.use_subwords:
            hit = next((form for form in forms if form in model), None)
        if hit is not None:
            form_of[word] = hit
    # All at once: a model that computes its vectors does so in one batch.
    units, directed = directions(model.get_vectors(list(form_of.values())))
    vectors = {
        word: unit for word, unit, usable in zip(form_of, units, directed, strict=True) if usable
    }
    return vectors, tuple(word for word in words if word not in vectors)


def _similarity(model: WordEmbeddingModel, benchmark: Benchmark, lowercase: bool) -> QualityScore:
    vectors, lost = _units(model, list(benchmark._in_order()), lowercase)
    used = [at for at, pair in enumerate(benchmark.items) if all(word in vectors for word in pair)]
    if len(used) < 2:
        reason = f"the model has both words of {len(used)} of {benchmark.n_items} pairs; 2 needed"
        return _score(model, benchmark, math.nan, len(used), reason, lost)
    pairs = [benchmark.items[at] for at in used]
    cosines = np.array([vectors[one] @ vectors[other] for one, other in pairs])
    human = average_ranks(np.array([benchmark.scores[at] for at in used]))
    ours = average_ranks(cosines, tolerance=_ROUNDING)
    for ranks, what in ((ours, "cosines"), (human, "human scores")):
        if np.ptp(ranks) == 0:
            reason = f"the {what} of all {len(used)} pairs are the same: there is no correlation"
            return _score(model, benchmark, math.nan, len(used), reason, lost)
    spearman = min(max(pearson(human, ours), -1.0), 1.0)
    return _score(model, benchmark, spearman, len(used), None, lost)


def _analogies(
    model: WordEmbeddingModel, benchmark: Benchmark, lowercase: bool, size: int, progress: bool
) -> QualityScore:
    if hasattr(model, "encode_words"):
        reason = (
            "an encoder makes vectors of the words that it is asked for: it has no vocabulary "
            "among which an analogy is solved (its input_embeddings() have one)"
        )
        return _score(model, benchmark, math.nan, 0, reason)
    answers = answer_analogies(model, benchmark, lowercase, size, progress)
    sections = _sections(benchmark, answers.asked, answers.right)
    details = {"sections": sections, "n_candidates": answers.n_candidates}
    n_used = int(answers.asked.sum())
    if n_used == 0:
        reason = (
            f"no question has its four words among the first {answers.n_candidates:,} of the model"
        )
        return _score(model, benchmark, math.nan, 0, reason, answers.lost_words, details)
    accuracy = float(answers.right.sum() / n_used)
    return _score(model, benchmark, accuracy, n_used, None, answers.lost_words, details)


def _sections(
    benchmark: Benchmark, asked: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_]
) -> dict[str, dict[str, Any]]:
    """Say how many items of each section, their label, were asked and answered rightly."""
    sections: dict[str, dict[str, Any]] = {}
    names = np.array([item[-1] for item in benchmark.items], dtype=object)
    for name in dict.fromkeys(names):
        inside = names == name
        n_used, n_right = int(asked[inside].sum()), int(right[inside].sum())
        score = n_right / n_used if n_used else None
        sections[name] = {"score": score, "n_used": n_used, "n_items": int(inside.sum())}
    return sections


def _outliers(model: WordEmbeddingModel, benchmark: Benchmark, lowercase: bool) -> QualityScore:
    vectors, lost = _units(model, list(benchmark._in_order()), lowercase)
    positions = np.full(benchmark.n_items, math.nan)
    for number, (*words, _) in enumerate(benchmark.items):
        if all(word in vectors for word in words):
            units = np.array([vectors[word] for word in words])
            # A word's cosine with itself is 1 for all of them.
            outlier, *others = units @ units.sum(axis=0)
            positions[number] = np.mean([other > outlier + _ROUNDING for other in others])
    asked = ~np.isnan(positions)
    n_used = int(asked.sum())
    details: dict[str, Any] = {"sections": _sections(benchmark, asked, positions == 1)}
    if n_used == 0:
        reason = "the model has no outlier together with all words of its group"
        return _score(model, benchmark, math.nan, 0, reason, lost, details)
    details["position"] = float(positions[asked].mean())
    found = float((positions[asked] == 1).mean())
    return _score(model, benchmark, found, n_used, None, lost, details)


def _categorisation(
    model: WordEmbeddingModel, benchmark: Benchmark, lowercase: bool, seed: int
) -> QualityScore:
    vectors, lost = _units(model, list(benchmark._in_order()), lowercase)
    used = [(word, category) for word, category in benchmark.items if word in vectors]
    categories = [category for _, category in used]
    n_categories = len(set(categories))
    details: dict[str, Any] = {"n_categories": n_categories, "random_state": seed}
    reason = None
    if n_categories < 2:
        reason = f"the model has words of {n_categories} categories; 2 are needed"
    elif len(used) <= n_categories:
        reason = f"the model has one word of each of {n_categories} categories: nothing to group"
    if reason is not None:
        return _score(model, benchmark, math.nan, len(used), reason, lost, details)
    from sklearn.cluster import AgglomerativeClustering, KMeans

    methods = {
        "k-means": KMeans(n_categories, n_init=_STARTS, random_state=seed),
        "ward": AgglomerativeClustering(n_categories, linkage="ward"),
        "average": AgglomerativeClustering(n_categories, metric="cosine", linkage="average"),
        "complete": AgglomerativeClustering(n_categories, metric="cosine", linkage="complete"),
    }
    points = np.array([vectors[word] for word, _ in used])
    details["purities"] = {
        name: purity(categories, method.fit_predict(points)) for name, method in methods.items()
    }
    score = max(details["purities"].values())
    return _score(model, benchmark, score, len(used), None, lost, details)
