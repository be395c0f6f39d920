"""Reference models from a text: as it is, and with the words of two groups swapped."""

from __future__ import annotations

import io
import itertools
import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import (
    as_seed,
    check_bool,
    check_choice,
    check_positive_int,
    check_sequence,
    check_share,
    check_word_set,
    found,
    import_library,
    listed,
    progress_bar,
)
from wefe._evaluation import call_all
from wefe.metrics._registry import MetricLike
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query, check_query

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Text: TypeAlias = str | os.PathLike[str] | Iterable[str | Sequence[str]]
Rows: TypeAlias = npt.NDArray[np.integer[Any]]
# Words, the number of each one's partner, the text as numbers of words, and sizes of sentences.
_Corpus: TypeAlias = tuple[list[str], Rows, Rows, Rows]
Trained: TypeAlias = tuple[Sequence[str], npt.NDArray[np.float32]]

ALGORITHMS = ("ppmi_svd", "sgns", "fasttext")
# Vectors of less text are mostly noise.
_MIN_TOKENS = 100_000
_MIN_OCCURRENCES = 20
# Context words on either side, occurrences of a word, and passes over the text, as in gensim.
_WINDOW, _MIN_COUNT, _EPOCHS = 5, 5, 5
# Pairs of tokens that are counted at once; they take about 100 bytes each.
_BLOCK_TOKENS = 1 << 21
_FORMS = str.lower, str.capitalize, str.upper
# Character n-grams share so many vectors; fastText's own number, 2,000,000, takes 800 MB.
_BUCKETS = 100_000


def train_reference_models(
    text: Text,
    query: Query,
    swap_pairs: Sequence[Sequence[str]] | None = None,
    algorithms: Sequence[str] = ALGORITHMS,
    bias_strengths: Sequence[float] = (0, 1),
    n_seeds: int = 5,
    random_state: int | np.random.Generator | None = 0,
    *,
    resample: bool = False,
    dim: int = 100,
    n_jobs: int | None = None,
    progress: bool = True,
) -> tuple[dict[str, WordEmbeddingModel], pd.DataFrame]:
    """Train small models on your text as it is, and on the text with group words swapped.

    This is counterfactual data augmentation: the balanced text contains each sentence twice, once
    as it is and once with group words swapped ("She codes", "He codes"), so the two words of a pair
    occur equally often in the same contexts.

    Parameters
    ----------
    text : path, or iterable of str or of lists of str
        A text file in UTF-8 (plain, gzip, bzip2, xz or zstd) with a sentence or paragraph per line,
        or an iterable of sentences. Strings are split into runs of letters, digits and underscores;
        lists are taken as tokens. Case is kept.
    query : Query
        The query to measure. Each target word needs a partner in `swap_pairs`; no attribute word
        may have one.
    swap_pairs : sequence of pairs of str, optional
        Words to swap, in lower case, Capitalised and in CAPITALS. By default the gender pairs of
        :func:`wefe.datasets.load_criterion` (definitional and equalize pairs of Bolukbasi et al.
        2016).
    algorithms : sequence of {'ppmi_svd', 'sgns', 'fasttext'}, default=all
        'ppmi_svd': truncated SVD of positive pointwise mutual information; 'sgns': skip-gram with
        negative sampling; 'fasttext': the same with character n-grams. The last two need
        ``wefe[gensim]``.
    bias_strengths : sequence of float, default=(0, 1)
        Shares of sentences that stay unchanged in both copies, a larger one including the sentences
        of the smaller ones: 0 is the balanced text, 1 the original.
    n_seeds : int, default=5
        Number of models for each algorithm and bias strength.
    random_state : int, Generator or None, default=0
        Source of the seeds.
    resample : bool, default=False
        Draw as many sentences as there are, with replacement, for each seed. The spread over seeds
        then also shows how much scores depend on the text.
    dim : int, default=100
        Dimensions of the vectors.
    n_jobs, progress : optional
        As for :func:`bias_silhouettes`. Each worker needs the memory of one model.

    Returns
    -------
    models : dict of str to WordEmbeddingModel
        Names are, for example, 'sgns, balanced, seed 0', 'sgns, bias strength 0.5, seed 0' and
        'sgns, original, seed 0'.
    table : DataFrame
        One row per model: 'model_name', 'algorithm', 'bias_strength' and 'seed'.

    Raises
    ------
    ValueError
        If a word is in two swap pairs, the query does not fit the pairs, or the text is too small:
        fewer than 100,000 tokens, or a word of the query occurs fewer than 20 times.
    FileNotFoundError, ImportError
        If the file does not exist, or gensim is not installed.

    Notes
    -----
    *Zero at strength 0.* If the second target set contains the partners of the first, WEAT of
    'ppmi_svd' is 0 up to rounding; 'sgns' and 'fasttext' are random and come close. Each sentence
    occurs twice at every strength, so the amount of training is the same.

    *How to measure.* Use WEAT as a sum. Its effect size divides by the spread of the target words,
    which is almost zero at strength 0, so it may take any value from -2 to 2. RIPA may be undefined
    there, because two partners may have the same vector.

    *One partner per word.* Counts balance only if swapping twice restores the text. English "her"
    corresponds to "his" and "him": the default pairs swap it with "his" and leave "him" and "hers".
    To measure "him", pass your own pairs: ``[("he", "she"), ("him", "her"), ("his", "hers")]``.

    *Training.* Contexts are up to 5 words on either side. Words that occur less than 5 times are
    left out, where partners count together. 'sgns' and 'fasttext' pass over the text 5 times.

    *PPMI-SVD* is not random: at strengths 0 and 1 all seeds give the same model without `resample`.
    It smooths the context distribution with 0.75 and has a flat window. A vector is the sum of word
    and context vector, each a singular vector times the square roots of the singular values.
    Cosines then reflect co-occurrence and rise with the bias strength. Word vectors alone reflect
    shared contexts, and WEAT may fall while the association in the text grows.

    References
    ----------
    | Lu et al., "Gender Bias in Neural Natural Language Processing", 2020 (data augmentation).
    | Hall Maudslay et al., "It's All in the Name", EMNLP 2019 (swapping with probability 1/2).
    | Levy, Goldberg and Dagan, "Improving Distributional Similarity with Lessons Learned from Word
      Embeddings", TACL 2015 (PPMI-SVD).
    | Antoniak and Mimno, "Evaluating the Stability of Embedding-based Word Similarities", 2018.

    Examples
    --------
    >>> from wefe import Query
    >>> query = Query([["he"], ["she"]], [["office"], ["home"]])
    >>> text = ["he left the office", "she came home"] * 20_000  # in place of a file
    >>> models, _ = train_reference_models(text, query, algorithms=["ppmi_svd"], n_seeds=1, dim=3)
    >>> list(models)
    ['ppmi_svd, balanced, seed 0', 'ppmi_svd, original, seed 0']
    """
    check_query(query)
    check_bool("resample", resample)
    check_positive_int("dim", dim)
    check_positive_int("n_seeds", n_seeds)
    for name in check_word_set("algorithms", algorithms):
        if check_choice("algorithms", name, ALGORITHMS) != "ppmi_svd":
            import_library("gensim.models", "gensim", f"training {name!r}")
    strengths = dict.fromkeys(check_share("bias_strengths", each) for each in bias_strengths)
    swap = _swap_of(swap_pairs)
    wrong = [word for word in itertools.chain(*query.target_sets) if word not in swap]
    wrong += [word for word in itertools.chain(*query.attribute_sets) if word in swap]
    if wrong:
        raise ValueError(
            f"swap_pairs must contain all target words of {query.query_name!r} and none of its "
            f"attribute words; check {listed(wrong)}. Change the query or the pairs."
        )
    corpus = _read(text, swap, query, progress)
    seeds = np.random.SeedSequence(as_seed(random_state)).generate_state(n_seeds).tolist()
    asked = list(itertools.product(dict.fromkeys(algorithms), strengths, range(n_seeds)))
    calls = ((corpus, algorithm, s, seeds[i], resample, dim) for algorithm, s, i in asked)
    models: dict[str, WordEmbeddingModel] = {}
    with progress_bar(len(asked), "training", "model", progress) as bar:
        trained = call_all(_train, calls, n_jobs)
        for (algorithm, strength, i), (words, vectors) in zip(asked, trained, strict=True):
            kind = {0: "balanced", 1: "original"}.get(strength, f"bias strength {strength}")
            name = f"{algorithm}, {kind}, seed {i}"
            models[name] = WordEmbeddingModel((words, vectors), name)
            bar.update()
    table = pd.DataFrame(asked, columns=["algorithm", "bias_strength", "seed"])
    table.insert(0, "model_name", list(models))
    return models, table


def score_reference_models(
    metrics: MetricLike | Sequence[MetricLike],
    queries: Sequence[Query],
    models: Mapping[str, WordEmbeddingModel],
    table: pd.DataFrame,
    **options: Any,
) -> pd.DataFrame:
    """Show how much a score depends on algorithm, bias strength and seed, with intervals.

    Parameters
    ----------
    metrics, queries : metrics and sequence of Query
        As for :func:`wefe.running.measure`.
    models, table : dict, DataFrame
        The two results of :func:`train_reference_models`.
    **options
        Other parameters of :func:`wefe.running.measure`, such as `n_jobs`.

    Returns
    -------
    DataFrame
        One row per query, metric, algorithm and bias strength, with 'score' (mean over seeds),
        'score_lower' and 'score_upper' (95 % Student t interval over seeds, NaN for one),
        'score_sd' (standard deviation between seeds), 'n_seeds' (those with a score) and
        'no_bias_value'. The interval covers randomness of training and, with `resample`, of the
        sentences, but not the choice of words; for that use `n_bootstrap` of
        :func:`wefe.running.measure`.

    Examples
    --------
    >>> import pandas, wefe
    >>> models = {"demo": wefe.load_test_model().copy("demo")}  # in place of trained ones
    >>> facts = {"model_name": "demo", "algorithm": "demo", "bias_strength": 1.0, "seed": 0}
    >>> queries, table = wefe.datasets.load_weat_queries()[5:6], pandas.DataFrame([facts])
    >>> score_reference_models("weat-es", queries, models, table)["score"].item()
    1.04
    """
    from scipy.stats import t

    from wefe.running import measure

    scores = measure(metrics, queries, list(models.values()), **options)
    keys = ["query_name", "metric", "algorithm", "bias_strength", "no_bias_value"]
    groups = scores.merge(table, on="model_name").groupby(keys, sort=False, dropna=False)["score"]
    result = groups.agg(score="mean", score_sd="std", n_seeds="count").reset_index()
    half = t.ppf(0.975, result["n_seeds"] - 1) * groups.sem().to_numpy()
    return result.assign(score_lower=result["score"] - half, score_upper=result["score"] + half)


def _swap_of(pairs: Sequence[Sequence[str]] | None) -> dict[str, str]:
    """Return the partner of each group word in each form."""
    if pairs is None:
        from wefe.datasets import load_criterion

        gender = load_criterion("gender", offline=True)
        pairs = [*gender.definitional_sets, *gender.equalize_sets]
    swap: dict[str, str] = {}
    for i, pair in enumerate(check_sequence("swap_pairs", pairs)):
        if len(check_word_set(f"swap_pairs[{i}]", pair)) != 2:
            raise ValueError(f"swap_pairs[{i}] must be two words; got {found(pair)}.")
        for form, both in itertools.product(_FORMS, itertools.permutations(pair)):
            word, partner = map(form, both)
            if swap.setdefault(word, partner) != partner:
                raise ValueError(
                    "swap_pairs must give each word one partner, so that counts balance; "
                    f"{word!r} has {swap[word]!r} and {partner!r}. Remove one of these pairs."
                )
    return swap


def _sentences(text: Text) -> Iterator[Sequence[str]]:
    import re

    from wefe.models.formats._source import PackedFile, naming_errors

    split = re.compile(r"\w+").findall
    if isinstance(text, str | os.PathLike):
        file = PackedFile(text)
        with (
            naming_errors(file.label, "text in UTF-8"),
            io.TextIOWrapper(file.open(), encoding="utf-8-sig") as lines,
        ):
            yield from map(split, lines)
    else:
        for sentence in text:
            yield split(sentence) if isinstance(sentence, str) else check_sequence("text", sentence)


def _read(text: Text, swap: Mapping[str, str], query: Query, progress: bool) -> _Corpus:
    """Read a text, and keep its frequent words, most frequent first."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    tokens, lengths = array("i"), array("i")
    with progress_bar(None, "reading", "sentence", progress) as bar:
        for sentence in _sentences(text):
            tokens.extend(map(numbers.__getitem__, sentence))
            lengths.append(len(sentence))
            bar.update()
    for word in list(numbers):
        numbers[swap.get(word, word)]  # partners that are not in the text get a number, too
    words = list(numbers)
    partner = np.array([numbers[swap.get(word, word)] for word in words], dtype=np.intp)
    ids = np.array(tokens, dtype=np.intc)
    counts = np.bincount(ids, minlength=len(words))
    _check_enough(query, Counter(dict(zip(words, counts.tolist(), strict=True))))
    balanced = counts + counts[partner]
    order = np.argsort(-balanced, kind="stable")
    order = order[balanced[order] >= 2 * _MIN_COUNT]
    new = np.full(len(words), -1, dtype=np.intc)
    new[order] = np.arange(len(order))
    ids, sentences = new[ids], np.repeat(np.arange(len(lengths)), lengths)
    kept = ids >= 0
    sizes = np.bincount(sentences[kept], minlength=len(lengths))
    return [words[i] for i in order], new[partner[order]], ids[kept], sizes


def _check_enough(query: Query, counts: Counter[str]) -> None:
    if (n_tokens := counts.total()) < _MIN_TOKENS:
        raise ValueError(
            f"text must have at least {_MIN_TOKENS:,} tokens; got {n_tokens:,}. Use more text."
        )
    if rare := [f"{w!r} ({counts[w]})" for w in query.words if counts[w] < _MIN_OCCURRENCES]:
        raise ValueError(
            f"each word of {query.query_name!r} must occur at least {_MIN_OCCURRENCES} times in "
            f"the text; found {listed(rare)}. Remove these words from the query, or use more text."
        )


def _train(
    corpus: _Corpus, algorithm: str, strength: float, seed: int, resample: bool, dim: int
) -> Trained:
    rng, (words, partner, tokens, sizes) = np.random.default_rng(seed), corpus
    # Drawn first, so that the sentences of a smaller strength are among those of a larger one.
    as_is = rng.random(len(sizes)) < strength
    if resample:
        sentences = np.split(tokens, np.cumsum(sizes)[:-1])
        drawn = rng.integers(len(sizes), size=len(sizes))
        tokens, sizes = np.concatenate([sentences[i] for i in drawn]), sizes[drawn]
    copies = tokens, np.where(np.repeat(as_is, sizes), tokens, partner[tokens])
    if algorithm != "ppmi_svd":
        return _gensim(algorithm, _in_turn(words, copies, sizes), dim, seed)
    counts = sum(_cooccurrences(copy, sizes, len(words)) for copy in copies)
    return _svd(words, _ppmi(counts), dim, rng)


def _cooccurrences(tokens: Rows, sizes: Rows, n_words: int) -> csr_matrix:
    """Count how often two words are at most `_WINDOW` positions apart in a sentence."""
    from scipy import sparse

    sentence = np.repeat(np.arange(len(sizes), dtype=np.intc), sizes)
    counts = sparse.csr_matrix((n_words, n_words))
    for block in chunks(len(tokens), _BLOCK_TOKENS):
        for offset in range(1, _WINDOW + 1):
            right = np.arange(max(block.start, offset), block.stop)
            right = right[sentence[right] == sentence[right - offset]]
            pairs = tokens[right - offset], tokens[right]
            counts += sparse.csr_matrix((np.ones(len(right)), pairs), shape=counts.shape)
    return counts + counts.T


def _ppmi(counts: csr_matrix) -> csr_matrix:
    """Return positive pointwise mutual information, with context counts to the power of 0.75."""
    words = np.asarray(counts.sum(axis=1)).ravel()
    contexts = words**0.75
    ppmi = counts.tocoo()
    ratio = ppmi.data * contexts.sum() / (words[ppmi.row] * contexts[ppmi.col])
    ppmi.data = np.log(ratio).clip(min=0)
    ppmi.eliminate_zeros()
    return ppmi.tocsr()


def _svd(words: list[str], ppmi: csr_matrix, dim: int, rng: np.random.Generator) -> Trained:
    """Return the words that have contexts, and the sums of their word and context vectors."""
    from scipy.sparse.linalg import svds

    start = rng.standard_normal(len(words))
    left, values, right = svds(ppmi, dim, v0=start)
    there = np.diff(ppmi.indptr) > 0
    vectors = (left + right.T)[there] * np.sqrt(values)
    return list(itertools.compress(words, there)), vectors.astype(np.float32)


def _in_turn(words: list[str], copies: Sequence[Rows], sizes: Rows) -> list[list[str]]:
    """Return each sentence followed by its second copy, so that both get the same learning rate."""
    forms, ends = np.array(words, dtype=object), np.cumsum(sizes)[:-1]
    pairs = zip(*(np.split(forms[copy], ends) for copy in copies), strict=True)
    return [sentence.tolist() for pair in pairs for sentence in pair]


def _gensim(algorithm: str, sentences: list[list[str]], dim: int, seed: int) -> Trained:
    from gensim.models import FastText, Word2Vec

    make = Word2Vec if algorithm == "sgns" else partial(FastText, bucket=_BUCKETS)
    params = {"vector_size": dim, "window": _WINDOW, "epochs": _EPOCHS}
    # With several workers, which sentence comes first depends on the machine.
    vectors = make(sentences, **params, sg=1, min_count=1, seed=seed, workers=1).wv
    return vectors.index_to_key, vectors.vectors
