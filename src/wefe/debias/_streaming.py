"""Mitigation from file to file: a model of any size, in bounded memory."""

from __future__ import annotations

import inspect
import logging
import os
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe._checks import found
from wefe._files import check_writable
from wefe.datasets import Criterion
from wefe.debias._base import BaseDebias, check_words
from wefe.debias._fitted import check_is_fitted
from wefe.debias._rowwise import RowwiseDebias, block_rows, log_left
from wefe.models._load import check_reading, finite, open_vectors
from wefe.models._tables import ArrayVectors, chunks
from wefe.models._types import Block
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._source import VectorSource
from wefe.models.formats._write import SavedFormat, format_of, write_blocks

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class MitigatedFile:
    """What :func:`debias_file` and :func:`transform_file` wrote.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    name : str
        The name of the mitigated model.
    n_words : int
        Words in the file.
    n_changed : int
        Words whose vectors were changed.

    Examples
    --------
    >>> import tempfile
    >>> from wefe import load, load_test_model
    >>> from wefe.debias import LinearProjection, debias_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = debias_file(
    ...         LinearProjection(),
    ...         load_test_model(),
    ...         f"{folder}/debiased.safetensors",
    ...         definitional_sets=[("she", "he"), ("woman", "man")],
    ...         ignore=["she", "he"],
    ...     )
    ...     print(written.path.name, written.name, written.n_words, written.n_changed)
    ...     print(len(load(written.path)))
    debiased.safetensors minilm-words_debiased 10569 10567
    10569
    """

    path: Path
    name: str
    n_words: int
    n_changed: int


def debias_file(
    method: BaseDebias,
    source: str | os.PathLike[str] | WordEmbeddingModel,
    path: str | os.PathLike[str],
    *,
    criterion: Criterion | str | None = None,
    target: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    format: SavedFormat | None = None,  # noqa: A002 - what it is
    vocab_prefix: str | None = None,
    trust_pickle: bool = False,
    progress: bool = True,
    **fit_params: Any,
) -> MitigatedFile:
    """Fit a method on a file of vectors and write the mitigated vectors to another one.

    Neither is read into memory: a method that learns from word sets reads the words of these, one
    that learns from the whole vocabulary makes passes over the file, and the vectors are changed
    block by block. That takes some tens of MB, and for .safetensors, whose index of words is
    written last, some 100 bytes per word; a method that makes passes over a file that cannot be
    mapped (.txt, .bin) converts it beside `path` first. INLP holds the words it learns from: some
    250 MB for the 22,500 of its defaults.

    Parameters
    ----------
    method : BaseDebias
        A mitigation method, fitted or not; it is fitted here. RepulsionAttractionNeutralization
        looks for neighbours in the whole vocabulary and is therefore given the file mapped, or in
        memory where it cannot be mapped.
    source : path or WordEmbeddingModel
        The file, in any format that :func:`wefe.models.load` opens.
    path : path
        The file to write. It appears, or is replaced, once all of it is written; it may be the
        source itself.
    criterion : Criterion or str, optional
        The criterion to fit with: 'gender', 'ethnicity', 'religion', or word sets of yours.
    target, ignore : sequence of str, optional
        The words that change, and those that do not; see :meth:`BaseDebias.transform`.
    format : {'glove', 'word2vec', 'word2vec-binary', 'gensim', 'native'}, optional
        By default as the suffix says: .txt, .vec, .bin, .kv or .safetensors.
    vocab_prefix : str, optional
        What stands before every word in the file (``"/c/en/"``).
    trust_pickle : bool, default=False
        Whether gensim's own files may be opened, which can run any code.
    progress : bool, default=True
        Whether long work shows a bar.
    **fit_params
        Word sets to fit with, as `fit` of the method names them.

    Returns
    -------
    MitigatedFile
        Where it is, and how many words were changed.

    Raises
    ------
    TypeError
        If `method` is no mitigation method, or an argument is of another type.
    ValueError
        If the file is damaged, a word cannot be written in the format, or too few words of the
        criterion are there. What was at `path` stays.

    See Also
    --------
    transform_file : The same with a method that is fitted already.

    Examples
    --------
    >>> import tempfile
    >>> from wefe import load, load_test_model
    >>> from wefe.debias import HardDebias
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_test_model().save(f"{folder}/vectors.bin")
    ...     debias_file(
    ...         HardDebias(),
    ...         f"{folder}/vectors.bin",
    ...         f"{folder}/debiased.safetensors",
    ...         criterion=Criterion("gender", [("woman", "man"), ("she", "he")]),
    ...         ignore=["woman", "man", "she", "he"],
    ...     ).n_changed
    10569
    """
    if not isinstance(method, BaseDebias):
        raise TypeError(f"method must be a mitigation method; got {found(method)}.")
    chosen = format_of(Path(path), format)
    check_writable(path)
    file = _File(source, vocab_prefix, trust_pickle, progress)
    params = dict(fit_params) if criterion is None else {"criterion": criterion, **fit_params}
    if "ignore" in inspect.signature(method.fit).parameters:
        params.setdefault("ignore", ignore)
    if not isinstance(method, RowwiseDebias):
        whole = file.whole()
        mitigated = method.fit(whole, **params).transform(whole, target, ignore, copy=True)
        n_changed = _n_different(whole, mitigated)
        mitigated.save(path, format, progress=progress)
        return MitigatedFile(Path(path), mitigated.name, len(mitigated), n_changed)
    with ExitStack() as stack:
        if method._fit_reads_vocabulary:
            method.fit(file.mapped(stack, Path(path)), **params)
        else:
            method.fit(file.words(method._words_to_fit(**params)), **params)
        return _transform(method, file, Path(path), chosen, target, ignore, progress)


def transform_file(
    method: RowwiseDebias,
    source: str | os.PathLike[str] | WordEmbeddingModel,
    path: str | os.PathLike[str],
    *,
    target: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    format: SavedFormat | None = None,  # noqa: A002 - what it is
    vocab_prefix: str | None = None,
    trust_pickle: bool = False,
    progress: bool = True,
) -> MitigatedFile:
    """Write the vectors of a file to another one, mitigated by a method that is fitted already.

    Parameters
    ----------
    method : RowwiseDebias
        A fitted method.
    source : path or WordEmbeddingModel
        The file, in any format that :func:`wefe.models.load` opens, with vectors of the space that
        the method was fitted on.
    path : path
        The file to write. It appears, or is replaced, once all of it is written; it may be the
        source itself.
    target : sequence of str, optional
        The words whose vectors change; all words by default.
    ignore : sequence of str, optional
        Words that keep their vectors; none by default.
    format : {'glove', 'word2vec', 'word2vec-binary', 'gensim', 'native'}, optional
        By default as the suffix says: .txt, .vec, .bin, .kv or .safetensors.
    vocab_prefix : str, optional
        What stands before every word in the file (``"/c/en/"``).
    trust_pickle : bool, default=False
        Whether gensim's own files may be opened, which can run any code.
    progress : bool, default=True
        Whether long work shows a bar.

    Returns
    -------
    MitigatedFile
        Where it is, and how many words were changed.

    Raises
    ------
    TypeError
        If the method does not change each vector by itself, or an argument is of another type.
    ValueError
        If the file is damaged, has vectors of other dimensions or none of the words in `target`,
        or a word cannot be written in the format. What was at `path` stays.
    sklearn.exceptions.NotFittedError
        If the method was not fitted.

    See Also
    --------
    debias_file : Fit a method on the file, too.

    Examples
    --------
    Fitted on one file, applied to another one of the same space:

    >>> import tempfile
    >>> from wefe import load_test_model
    >>> from wefe.debias import LinearProjection, transform_file
    >>> model = load_test_model()
    >>> method = LinearProjection().fit(model, [("she", "he"), ("woman", "man")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/vectors.bin")
    ...     written = transform_file(
    ...         method, f"{folder}/vectors.bin", f"{folder}/debiased.bin", target=["nurse", "boss"]
    ...     )
    ...     print(written.path.name, written.n_words, written.n_changed)
    debiased.bin 10569 2
    """
    if not isinstance(method, RowwiseDebias):
        raise TypeError(
            f"{type(method).__name__} does not change each vector by itself, so that it cannot go "
            "from file to file; load the model, transform it and save it."
        )
    check_is_fitted(method)
    chosen = format_of(Path(path), format)
    check_writable(path)
    file = _File(source, vocab_prefix, trust_pickle, progress)
    return _transform(method, file, Path(path), chosen, target, ignore, progress)


class _File:
    """A file of vectors that is read several times."""

    def __init__(
        self, source: Any, vocab_prefix: str | None, trust_pickle: bool, progress: bool
    ) -> None:
        if not isinstance(source, str | os.PathLike | WordEmbeddingModel):
            raise TypeError(f"source must be a file or a WordEmbeddingModel; got {found(source)}.")
        if not isinstance(source, WordEmbeddingModel) and Path(source).is_fifo():
            raise ValueError(
                f"{source} is a pipe, which can be read only once; debiasing reads its source "
                "several times. Write it to a file first; a packed one need not be unpacked."
            )
        self._source = source
        if isinstance(source, WordEmbeddingModel):
            vocab_prefix = source.vocab_prefix if vocab_prefix is None else vocab_prefix
        self.prefix = vocab_prefix
        self._reading = check_reading("raise", trust_pickle, None, None, None, progress)
        self.progress = progress
        # A file that is a table, mapped or another library's, has every word once.
        first = self.open()
        self.name, self.dim = first.name, first.dim
        self.is_table = first.table is not None
        self.dtype = np.dtype(np.float32) if first.table is None else first.table.dtype

    def open(self) -> VectorSource:
        """Open the file anew, from its start."""
        return open_vectors(self._source, self._reading)

    def blocks(self) -> Iterator[Block]:
        """Read all words and vectors; NaN and infinity are refused."""
        opened = self.open()
        hint = "wefe.load(file, on_error='skip') leaves such words out; pass that model."
        yield from finite(opened, opened.blocks(), lenient=False, hint=hint)

    def model(self, table: Any) -> WordEmbeddingModel:
        """Return a model over a table of vectors of this file."""
        return WordEmbeddingModel(table, self.name, self.prefix)

    def words(self, words: Sequence[str]) -> WordEmbeddingModel:
        """Return a model of some words, given without the prefix."""
        prefix = self.prefix or ""
        names, vectors = self.open().select(frozenset(prefix + word for word in words))
        return self.model(ArrayVectors(names, vectors))

    def whole(self) -> WordEmbeddingModel:
        """Return a model of all words, mapped if the file can be."""
        if isinstance(self._source, WordEmbeddingModel):
            return self._source
        from wefe.models._load import load

        return load(
            self._source,
            vocab_prefix=self.prefix,
            hold=None if self.is_table else "memory",
            trust_pickle=self._reading.trust_pickle,
            progress=self.progress,
        )

    def mapped(self, stack: ExitStack, path: Path) -> WordEmbeddingModel:
        """Return a model of all words that is not read into memory."""
        if self.is_table:
            return self.model(self.open().table)
        from wefe.models._convert import convert

        # Beside the result, where there is room for it.
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix=f".{path.name[:50]}.", dir=path.absolute().parent)
        )
        converted = convert(
            self._source,
            Path(folder) / "vectors.safetensors",
            name=self.name,
            trust_pickle=self._reading.trust_pickle,
            progress=self.progress,
        )
        return self.model(converted.wv)


def _transform(
    method: RowwiseDebias,
    file: _File,
    path: Path,
    chosen: str,
    target: Sequence[str] | None,
    ignore: Sequence[str] | None,
    progress: bool,
) -> MitigatedFile:
    # A model of no words, for the checks that every `transform` makes.
    empty = file.model(ArrayVectors([], np.empty((0, file.dim), dtype=file.dtype)))
    method._check_transform_args(empty, target, ignore, True)
    method._check_dim(empty)
    choice = _Words(method, file.prefix or "", target, ignore)
    settled = method._settled(file.words(method._joint_words()), choice.masks)
    n_words, again = _count(file)
    counts = _Counts()
    name = method._name_of_mitigated(empty)
    blocks = _mapped_blocks(method, file, again, choice, settled, counts)
    write_blocks(
        path, chosen, blocks, n_words, file.dim, dtype=file.dtype, name=name, progress=progress
    )
    log_left(counts.left)
    return MitigatedFile(path, name, n_words, counts.changed)


class _Words:
    """Which words change, told word by word."""

    def __init__(
        self,
        method: RowwiseDebias,
        prefix: str,
        target: Sequence[str] | None,
        ignore: Sequence[str] | None,
    ) -> None:
        def named(words: Sequence[str]) -> frozenset[str]:
            return frozenset(prefix + word for word in words)

        self.target = None if target is None else named(check_words("target", target))
        self.ignored = named(check_words("ignore", ignore))
        self.kept = self.ignored | named(method._protected_words())
        self.changes_ignored = method._changes_ignored
        self._found: set[str] = set()

    def is_mapped(self, word: str) -> bool:
        """Whether the vector of a word is mapped."""
        return word not in self.kept and (self.target is None or word in self.target)

    def masks(self, words: list[str]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which words are mapped, and which change in any way."""
        if self.target is not None:
            self._found.update(word for word in words if word in self.target)
        mapped = np.fromiter(map(self.is_mapped, words), dtype=bool, count=len(words))
        touched = mapped.copy()
        if self.changes_ignored:
            ignored = (
                word in self.ignored and (self.target is None or word in self.target)
                for word in words
            )
            touched |= np.fromiter(ignored, dtype=bool, count=len(words))
        return mapped, touched

    def check_found(self, name: str) -> None:
        """Say which target words were not found; refuse it if none was."""
        if self.target and not self._found:
            raise ValueError(
                f"{name} has none of the {len(self.target)} words in target; their case and "
                "spelling must be those of the vocabulary."
            )
        missing = sorted((self.target or frozenset()) - self._found)
        if missing:
            listed = ", ".join(missing[:10]) + (", ..." if len(missing) > 10 else "")
            logger.warning(
                "%s lacks %d of the %d words in target: %s",
                *(name, len(missing), len(self.target or ()), listed),
            )


@dataclass
class _Counts:
    changed: int = 0
    left: int = 0


def _mapped_blocks(
    method: RowwiseDebias,
    file: _File,
    again: Callable[[int, str], bool],
    choice: _Words,
    settled: dict[str, npt.NDArray[np.float64]],
    counts: _Counts,
) -> Iterator[Block]:
    """Yield the mitigated blocks of a file; a word that stood there before is left out."""
    position = 0
    for words, vectors in file.blocks():
        repeated = [row for row, word in enumerate(words) if again(position + row, word)]
        position += len(words)
        if repeated:
            rows = np.setdiff1d(np.arange(len(words)), repeated)
            words, vectors = [words[row] for row in rows], vectors[rows]
        mapped, touched = choice.masks(words)
        new = np.empty_like(vectors)
        for part in chunks(len(words), block_rows(file.dim)):
            new[part], n_left = method._map_block(vectors[part], mapped[part], touched[part])
            counts.left += n_left
        if settled:
            jointly = [row for row, word in enumerate(words) if word in settled]
            if jointly:
                new[jointly] = [settled[words[row]] for row in jointly]
                touched[jointly] = True
        counts.changed += int(touched.sum())
        yield words, new
    # Before the file appears under its name.
    choice.check_found(file.name)


def _count(file: _File) -> tuple[int, Callable[[int, str], bool]]:
    """Return the number of different words, and what tells whether a word stood there before."""
    if file.is_table:
        n_words = file.open().n_words
        assert n_words is not None
        return n_words, lambda position, word: False  # noqa: ARG005
    hashes = array("q")
    for words, _ in file.blocks():
        hashes.extend(map(hash, words))
    numbers = np.frombuffer(hashes, dtype=np.int64)
    ordered = np.sort(numbers)
    shared = frozenset(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if not shared:
        return len(numbers), lambda position, word: False  # noqa: ARG005
    # Few words share a hash with another; only these are compared as words.
    first: dict[str, int] = {}
    position = 0
    for words, _ in file.blocks():
        for word in words:
            if hash(word) in shared:
                first.setdefault(word, position)
            position += 1
    suspects = int(np.isin(numbers, list(shared)).sum())
    n_repeated = suspects - len(first)
    if n_repeated:
        logger.warning("%d words came twice; the first vector of each is kept", n_repeated)
    return len(numbers) - n_repeated, lambda position, word: first.get(word, position) != position


def _n_different(before: WordEmbeddingModel, after: WordEmbeddingModel) -> int:
    """Return the number of vectors that differ."""
    return sum(
        int(
            (before.vectors[start : start + 4096] != after.vectors[start : start + 4096])
            .any(axis=1)
            .sum()
        )
        for start in range(0, len(before.vectors), 4096)
    )
