"""Open any embedding as a model, and convert it to the native format."""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, check_given, found, logger
from wefe.models._tables import ArrayVectors, PartialIndex, VectorTable, number, unchecked_table
from wefe.models._types import Block, FloatArray, Held, Lowercase, Reading, Subwords, Vocabulary
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._native import StoredDtype, open_safetensors, write_native
from wefe.models.formats._open import open_source
from wefe.models.formats._source import TableSource, VectorSource
from wefe.models.formats._write import Writing
from wefe.words import Words, words_of

# Growing is cheap where the C library can move pages; what is too much is memory in use.
_GROWTH = 1.0625


def load(
    source: Any,
    name: str | None = None,
    vocab_prefix: str | None = None,
    *,
    words: Words | None = None,
    hold: Held | None = None,
    limit: int | None = None,
    lowercase: Lowercase | None = None,
    keep: Callable[[str], bool] | None = None,
    min_count: int | None = None,
    subwords: Subwords | None = None,
    vocabulary: Vocabulary | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    trust_pickle: bool = False,
    token: str | bool | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> WordEmbeddingModel:
    """Open any embedding as a model.

    Parameters
    ----------
    source : path, str or object
        A file, whose content determines the format:

        - GloVe or word2vec text, with or without a header, or word2vec binary, perhaps compressed
          (gzip, bzip2, xz, zip, or zstd with ``wefe[zstd]``). Members of zip archives:
          'glove.6B.zip/glove.6B.50d.txt'.
        - CSV or TSV, with or without column names, perhaps compressed; the native format of
          :func:`convert`.
        - safetensors with a tokenizer.json beside it, or a folder with both (``wefe[hub]``):
          model2vec, StaticEmbedding, or the input embeddings of a language model.
        - fastText .bin and gensim's plain KeyedVectors. Other gensim files are pickles, which need
          `trust_pickle` (``wefe[gensim]``).
        - .npy and .npz with a vocabulary, and parquet (``wefe[parquet]``).

        An object: gensim vectors or a model with such vectors, a spaCy pipeline or vocabulary,
        flair's classic embeddings, a pandas DataFrame, a dict, or a pair (words, array).

        A name: a Hugging Face repository ('org/name', or 'org/name@revision' for a branch, tag or
        commit), an embedding of gensim-data ('glove-twitter-25'), or 'demo' for the packaged
        vectors.
    name, vocab_prefix : str, optional
        Name of the model, by default that of the source; and prefix of every word that is looked up
        ('/c/en/' for ConceptNet).
    words : iterable of str, Query, Criterion or Benchmark; or one of the last three, optional
        The only words that you need. Of text, word2vec, parquet and CSV files, only these are
        parsed and kept; the other lines of text are only checked for a plausible length. Strings
        are exact; the others stand for their words in every form that a preprocessor can produce.
        Looking up another word raises `UnreadWordError`.
    hold : {'selected', 'mapped', 'memory'}, optional
        Where to keep the vectors: only those of `words` in memory; in the file, reading rows when
        they are used; or all in memory. By default 'mapped' if the format allows it, otherwise
        'selected' with `words` and 'memory' without. A query that finds NaN or infinity in a
        mapped file reports it.
    limit : int, optional
        Read only so many rows from the start; most files are sorted by falling frequency.
    lowercase : {'first', 'mean'}, optional
        Convert words to lower case. If several become equal, keep the first vector or the mean.
    keep : callable, optional
        Takes a word and returns whether to keep it (``lambda word: word.startswith("/c/en/")``).
    min_count : int, optional
        Drop words with fewer occurrences, which gensim and fastText .bin count. For other sources
        use `limit` or `keep`.
    subwords : {'mean', 'first', 'refuse'}, optional
        The vector of a word outside the vocabulary: the mean of its subwords, the first of them, or
        none. By default 'mean' for model2vec and StaticEmbedding, otherwise 'refuse'.
    vocabulary : sequence of str or path, optional
        The words of a .npy or .npz matrix, or a text file with one per line, by default
        ``<name>.txt`` beside it, unless the .npz holds words.
    on_error : {'raise', 'skip'}, default='raise'
        Whether a damaged line or word raises an error, or is left out, counted and logged.
    trust_pickle : bool, default=False
        Allow unpickling of models saved by gensim and of numpy objects. A pickle can run any code.
    token : str or bool, optional
        Access token for a private Hugging Face repository.
    n_jobs : int, optional
        Threads that parse text; by default one per core.
    progress : bool, default=True
        Whether to show a progress bar on a terminal.

    Returns
    -------
    WordEmbeddingModel
        The model. Numbers in text become float32.

    Raises
    ------
    ValueError
        If the source is damaged or in no known format. The message names the file and the line,
        word or byte.
    FileNotFoundError, ImportError
        If there is no such file, or a library is missing; the message names the extra to install.

    Examples
    --------
    >>> load("demo")
    <WordEmbeddingModel named 'minilm-words' with 10569 word embeddings of 256 dims>
    """
    given = locals()
    check_given(partial(check_choice, choices=get_args(Held)), hold=hold)
    if hold == "selected" and words is None:
        raise ValueError("hold='selected' needs the words to read: words=[...].")
    reading = Reading(**{option.name: given[option.name] for option in fields(Reading)})
    source = open_vectors(source, reading)
    prefix = source.vocab_prefix if vocab_prefix is None else vocab_prefix
    requested = None if words is None else words_of(words, prefix)
    table = _take(source, requested, hold)
    has_subwords = source.use_subwords and table is source.table
    if has_subwords != source.use_subwords:
        logger.warning(
            "%s: no vectors are built from subwords if the vocabulary is changed or "
            "hold='selected'; words of several subwords count as lost",
            source.label,
        )
    name = source.name if name is None else name
    model = WordEmbeddingModel(table, name, prefix, use_subwords=has_subwords)
    source.log_skipped()
    logger.info("%s: %r (%.1f MB)", source.label, model, model.nbytes / 1e6)
    return model


def convert(
    source: Any,
    path: str | os.PathLike[str],
    dtype: StoredDtype = "float32",
    *,
    name: str | None = None,
    progress: bool = True,
    **options: Any,
) -> WordEmbeddingModel:
    """Write an embedding in the native format, and open the result.

    Memory is bounded, except with ``lowercase='mean'`` and formats that other libraries read.
    Vectors built from subwords are not written; ``subwords='refuse'`` silences the warning.

    Parameters
    ----------
    source : path, str or object
        Any source that :func:`load` accepts.
    path : path
        The file to write, 'NAME.safetensors'; it is replaced only when the new one is complete.
    dtype : {'float32', 'float16', 'int8'}, default='float32'
        float16 halves the size and keeps 11 significant bits. int8 takes a quarter: vectors are
        rounded to multiples of 1/127 of their largest absolute number.
    name, progress, **options : optional
        As in :func:`load`, which describes all options but `vocab_prefix`, `words` and `hold`.

    Returns
    -------
    WordEmbeddingModel
        The new model, memory-mapped from the file.

    Raises
    ------
    FileNotFoundError, ImportError, TypeError, ValueError
        As in :func:`load`. Also if `path` has another suffix or a number does not fit `dtype`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = convert("demo", Path(folder) / "demo.safetensors", dtype="int8")
    ...     print(model, f"{model.nbytes / 1e6:.1f} MB")
    <WordEmbeddingModel named 'minilm-words' with 10569 word embeddings of 256 dims, mapped> 2.7 MB
    """
    check_choice("dtype", dtype, get_args(StoredDtype))
    target = Path(path)
    if target.suffix != ".safetensors":
        raise ValueError(
            f"path must end with '.safetensors'; got {found(str(path))}. To write another format, "
            "load the model and call its save()."
        )
    reading = Reading(progress=progress, **options)
    opened = open_vectors(source, reading)
    blocks, n_words = _blocks(opened), opened.n_words
    if reading.lowercase == "mean":
        table = _collect(opened)
        blocks, n_words = table.blocks(), len(table)
    name = opened.name if name is None else name
    # Readers of rows show a bar of their own, in bytes.
    shown = progress and opened.table is not None
    write_native(target, Writing(blocks, n_words, opened.dim, "native", dtype, name, shown))
    opened.log_skipped()
    if opened.use_subwords:
        logger.warning(
            "%s contains only the words of the vocabulary; vectors of other words, which %s builds "
            "from subwords, cannot be kept",
            *(target, opened.label),
        )
    return load(target)


def load_test_model() -> WordEmbeddingModel:
    """Load the small, real embedding that ships with the package, without a network.

    It has all words of the packaged word sets. Draw no conclusions about other models from it.

    Returns
    -------
    WordEmbeddingModel
        A new model 'minilm-words' on each call: 10,569 words, 256 dimensions, float32.

    Notes
    -----
    The sentence encoder all-MiniLM-L6-v2 (Apache-2.0) encoded each word as a sentence. A centred
    PCA kept 256 of 384 dimensions (95 % of the variance), rounded to float16. The words are the
    10,000 most frequent English words of `wordfreq`, by falling frequency, then the other words of
    the packaged word sets, sorted. The encoder ignores case.

    Examples
    --------
    >>> "nurse" in load_test_model()
    True
    """
    shipped = resources.files("wefe.models").joinpath("data", "minilm-words.safetensors")
    with resources.as_file(shipped) as path:
        source = open_safetensors(path, Reading())
        [(words, vectors)] = source.blocks()
    # Computed with in float32, kept in float16.
    return WordEmbeddingModel(ArrayVectors(words, vectors.astype(np.float32)), name=source.name)


def load_weat_w2v() -> ArrayVectors:
    """Load the vectors of :func:`load_test_model` under the name used by the oldest releases.

    Returns
    -------
    ArrayVectors
        The vectors, to be wrapped in a model. A UserWarning says that they are not from word2vec.

    Examples
    --------
    >>> with warnings.catch_warnings(action="ignore"):
    ...     WordEmbeddingModel(load_weat_w2v(), "as before")
    <WordEmbeddingModel named 'as before' with 10569 word embeddings of 256 dims>
    """
    warnings.warn(
        "load_weat_w2v() returns the vectors of load_test_model(), not the word2vec subset of "
        "older releases. Call load_test_model() instead.",
        stacklevel=2,
    )
    vectors: ArrayVectors = load_test_model().wv
    return vectors


def open_vectors(source: Any, reading: Reading) -> VectorSource:
    """Open any source of `load`, including models and 'demo'."""
    if isinstance(source, str) and source == "demo":
        source = load_test_model()
    opened: VectorSource
    if isinstance(source, WordEmbeddingModel):
        opened = TableSource(source.wv, source.name, source.name, subwords=source.use_subwords)
        opened.vocab_prefix = source.vocab_prefix
    else:
        opened = open_source(source, reading)
    opened.reading = reading
    if reading.subwords in ("mean", "first") and not opened.use_subwords:
        raise ValueError(
            f"subwords={reading.subwords!r}: {opened.label} builds no vectors of words in this "
            "way. Leave subwords out: words that it lacks count as lost."
        )
    return opened


def _is_whole(reading: Reading) -> bool:
    return not (reading.limit or reading.keep or reading.min_count or reading.lowercase)


def _blocks(source: VectorSource, words: frozenset[str] | None = None) -> Iterator[Block]:
    """Yield the words to keep, or those among `words`; repeated words stay."""
    reading = source.reading
    frequent = None
    if reading.min_count is not None:
        if source.counts is None:
            raise ValueError(
                f"min_count needs counts, which {source.label} lacks. Use limit, or keep with your "
                "own."
            )
        frequent = iter(source.counts >= reading.min_count)
    left = reading.limit or sys.maxsize
    for names, vectors in source.blocks(words if _is_whole(reading) else None):
        names, vectors = names[:left], vectors[:left]
        left -= len(names)
        rows = list(range(len(names)))
        if frequent is not None:
            rows = list(itertools.compress(rows, frequent))
        if reading.keep is not None:
            rows = [row for row in rows if reading.keep(names[row])]
        if reading.lowercase is not None:
            names = [name.lower() for name in names]
        if words is not None:
            rows = [row for row in rows if names[row] in words]
        if len(rows) < len(names):
            names, vectors = [names[row] for row in rows], vectors[rows]
        finite: Any = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            source.skip_or_raise(
                "",
                f"the vector of {names[finite.argmin()]!r} has NaN or infinity. To leave such "
                "words out, use on_error='skip'.",
                int((~finite).sum()),
            )
            names, vectors = list(itertools.compress(names, finite)), vectors[finite]
        yield names, vectors
        if left == 0:
            return


def _collect(source: VectorSource, requested: frozenset[str] | None = None) -> ArrayVectors:
    """Read everything, or `requested`; a repeated word gets its first vector or the mean."""
    index: dict[str, int] = {}
    every: FloatArray = np.empty((0, source.dim), dtype=np.float32)
    every_place: list[npt.NDArray[np.intp]] = [np.empty(0, dtype=np.intp)]
    is_mean, label = source.reading.lowercase == "mean", source.label
    for words, vectors in _blocks(source, requested):
        start = len(index)
        places, new = number(index, words)
        every_place.append(places)
        if start == 0:
            every = every.astype(vectors.dtype)
        if len(index) > len(every):
            # Grows in place (nobody else holds the array): there are never two copies.
            n_rows = max(len(index), int(len(every) * _GROWTH))
            every.resize((n_rows, source.dim), refcheck=False)
        if is_mean:
            np.add.at(every, places, vectors)
        else:
            every[start : len(index)] = vectors[new]
    every.resize((len(index), source.dim), refcheck=False)
    n_times = np.bincount(np.concatenate(every_place))
    n_repeated = int(n_times.sum()) - len(index)
    if is_mean:
        every /= n_times[:, None]
        logger.info("%s: %d words merged into the mean of their forms", label, n_repeated)
    elif n_repeated:
        logger.warning("%s has %d words twice; the first vector of each is kept", label, n_repeated)
    if requested is not None:
        table = unchecked_table(PartialIndex(index, requested, label), every)
        table.requested = requested
        return table
    if not index:
        raise ValueError(f"{label}: no word is left; expected at least one.")
    return unchecked_table(index, every)


def _take(source: VectorSource, requested: frozenset[str] | None, hold: Held | None) -> VectorTable:
    table = source.table if _is_whole(source.reading) else None
    if hold == "mapped" and getattr(table, "held", None) != "mapped":
        raise ValueError(
            f"{source.label} cannot be mapped, or not with another vocabulary. Convert it once: "
            "wefe.convert(source, 'vectors.safetensors'), or 'wefe convert'."
        )
    if table is None or hold == "selected":
        return _collect(source, None if hold == "memory" else requested)
    if hold == "memory":
        table.load()
        if not all(np.isfinite(vectors).all() for _, vectors in table.blocks()):
            return _collect(source)
    return table
