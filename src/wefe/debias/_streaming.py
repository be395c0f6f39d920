"""Mitigation from file to file: a model of any size, in bounded memory."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wefe._checks import found
from wefe._files import check_writable
from wefe.datasets import Criterion
from wefe.debias._base import BaseDebias
from wefe.debias._fitted import check_is_fitted
from wefe.debias._rowwise import Choice, RowwiseDebias, log_left
from wefe.models._load import check_reading, finite, open_vectors
from wefe.models._tables import chunks
from wefe.models._types import CHUNK_ROWS, Block
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._source import TableSource
from wefe.models.formats._write import SavedFormat, format_of, write_blocks


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

    Neither is read into memory: vectors are changed block by block, which takes some tens of MB,
    and for .safetensors, whose index of words is written last, some 100 bytes per word. A file
    that cannot be mapped (.txt, .bin) is converted beside `path` first, and takes room on the disk
    until the end. INLP holds the words it learns from: some 250 MB for the 22,500 of its defaults.

    Parameters
    ----------
    method : BaseDebias
        A mitigation method, fitted or not; it is fitted here. The result of
        RepulsionAttractionNeutralization is held in memory before it is written.
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
    params = dict(fit_params) if criterion is None else {"criterion": criterion, **fit_params}
    if "ignore" in inspect.signature(method.fit).parameters:
        params.setdefault("ignore", ignore)
    with _opened(source, Path(path), vocab_prefix, trust_pickle, progress) as model:
        method.fit(model, **params)
        if isinstance(method, RowwiseDebias):
            return _transform(method, model, Path(path), chosen, target, ignore, progress)
        mitigated = method.transform(model, target, ignore, copy=True)
        n_changed = sum(
            int((model.rows(part) != mitigated.rows(part)).any(axis=1).sum())
            for part in chunks(model.table.n_rows, CHUNK_ROWS)
        )
        mitigated.save(path, format, progress=progress)
        return MitigatedFile(Path(path), mitigated.name, len(mitigated), n_changed)


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
    with _opened(source, Path(path), vocab_prefix, trust_pickle, progress) as model:
        return _transform(method, model, Path(path), chosen, target, ignore, progress)


@contextmanager
def _opened(
    source: Any, path: Path, vocab_prefix: str | None, trust_pickle: bool, progress: bool
) -> Iterator[WordEmbeddingModel]:
    """Open a file as a model that is not read into memory."""
    if not isinstance(source, str | os.PathLike | WordEmbeddingModel):
        raise TypeError(f"source must be a file or a WordEmbeddingModel; got {found(source)}.")
    if isinstance(source, WordEmbeddingModel):
        vocab_prefix = source.vocab_prefix if vocab_prefix is None else vocab_prefix
    elif Path(source).is_fifo():
        raise ValueError(
            f"{source} is a pipe, which can be read only once; debiasing reads its source "
            "several times. Write it to a file first; a packed one need not be unpacked."
        )
    reading = check_reading("raise", trust_pickle, None, None, None, progress)
    opened = open_vectors(source, reading)
    if opened.table is not None:
        yield WordEmbeddingModel(opened.table, opened.name, vocab_prefix)
        return
    from wefe.models._convert import convert

    # Beside the result, where there is room for it.
    with tempfile.TemporaryDirectory(
        prefix=f".{path.name[:50]}.", dir=path.absolute().parent
    ) as folder:
        converted = convert(
            source,
            Path(folder) / "vectors.safetensors",
            name=opened.name,
            trust_pickle=trust_pickle,
            progress=progress,
        )
        yield WordEmbeddingModel(converted.wv, opened.name, vocab_prefix)


def _transform(
    method: RowwiseDebias,
    model: WordEmbeddingModel,
    path: Path,
    chosen: str,
    target: Sequence[str] | None,
    ignore: Sequence[str] | None,
    progress: bool,
) -> MitigatedFile:
    method._check_transform_args(model, target, ignore, True)
    method._check_dim(model)
    choice = Choice(method, model, target, ignore)
    settled = method._settled(model, choice)
    opened = TableSource(model.wv, model.name, model.name)
    hint = "wefe.load(file, on_error='skip') leaves such words out; pass that model."
    n_changed = n_left = 0

    def mitigated() -> Iterator[Block]:
        nonlocal n_changed, n_left
        for words, vectors in finite(opened, opened.blocks(), lenient=False, hint=hint):
            index = {word: row for row, word in enumerate(words)}
            changed, touched = choice.masks(index)
            new = np.array(vectors)
            n_left += method._map_rows(vectors.__getitem__, new, changed, touched)
            for word in index.keys() & settled.keys():
                new[index[word]] = settled[word]
                touched[index[word]] = True
            n_changed += int(touched.sum())
            yield words, new

    name, n_words = method._name_of_mitigated(model), len(model)
    write_blocks(
        *(path, chosen, mitigated(), n_words, model.dim),
        dtype=model.dtype,
        name=name,
        progress=progress,
    )
    log_left(n_left)
    return MitigatedFile(path, name, n_words, n_changed)
