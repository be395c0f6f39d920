"""Mitigate from file to file: models of any size, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wefe._checks import found
from wefe._files import check_writable
from wefe.debias._base import BaseDebias, Fates, RowwiseDebias, WordDebias, log_left
from wefe.models._load import convert, open_vectors
from wefe.models._tables import ForeignVectors, StoredVectors
from wefe.models._types import FloatArray, Reading
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._write import format_of, save_table


class MitigatedFile(NamedTuple):
    """The result of :func:`debias_file`."""

    path: Path
    name: str
    n_words: int
    n_changed: int


def debias_file(
    method: BaseDebias,
    source: str | os.PathLike[str] | WordEmbeddingModel,
    path: str | os.PathLike[str],
    *,
    target: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    vocab_prefix: str | None = None,
    trust_pickle: bool = False,
    progress: bool = True,
    **fit_params: Any,
) -> MitigatedFile:
    """Fit a method on a file of vectors, and write the mitigated vectors to another file.

    A method that is fitted, perhaps on another model of the same space, is not fitted again if you
    pass no parameters of its `fit`.

    Vectors change block by block, in bounded memory. Sources that cannot be mapped (.txt, .bin) are
    first copied to disk, beside `path`. INLP keeps the words it learns from in memory. Methods that
    are no :class:`RowwiseDebias`, such as RepulsionAttractionNeutralization, keep their result in
    memory; so do models of gensim.

    Parameters
    ----------
    method : BaseDebias
        The mitigation method.
    source : path or WordEmbeddingModel
        A model, or a file in any format of :func:`wefe.models.load`.
    path : path
        The file to write, perhaps the source. Its suffix decides on the format: .txt (GloVe), .vec,
        .bin (word2vec), .kv (gensim) or .safetensors. It is replaced only when the new file is
        complete.
    target, ignore : sequence of str, optional
        See :meth:`BaseDebias.transform`.
    vocab_prefix, trust_pickle, progress : optional
        As in :func:`wefe.models.load`.
    **fit_params
        Parameters of the method's `fit`: ``criterion="gender"``, or word sets.

    Returns
    -------
    MitigatedFile
        A named tuple: 'path', 'name' (of the mitigated model), 'n_words' in the file, and
        'n_changed', how many of them changed.

    Raises
    ------
    ValueError
        If the file is damaged, or the format cannot store a word; and as in `fit` and `transform`.

    Examples
    --------
    >>> import tempfile
    >>> from wefe.debias import LinearProjection
    >>> method, sets = LinearProjection(), [("she", "he"), ("woman", "man")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     debias_file(method, "demo", f"{folder}/new.bin", definitional_sets=sets).n_changed
    10569
    """
    if not isinstance(method, BaseDebias):
        raise TypeError(f"method must be a mitigation method; got {found(method)}.")
    with _opened(source, path, vocab_prefix, trust_pickle, progress) as model:
        if fit_params or not method.__sklearn_is_fitted__():
            method.fit(model, **method._fit_params(fit_params, ignore))
        # A method may have a `transform` of its own.
        own = type(method).transform is not WordDebias.transform
        if own or not isinstance(method, RowwiseDebias) or isinstance(model.table, ForeignVectors):
            mitigated = method.transform(model, target, ignore)
            n_changed = int((model.vectors != mitigated.vectors).any(axis=1).sum())
            mitigated.save(path, progress=progress)
            return MitigatedFile(Path(path), mitigated.name, len(model), n_changed)
        fates = method._choose(model, target, ignore, copy=True)
        table, name = _ChangedRows(method, model, fates), method._name_of_mitigated(model)
        save_table(table, path, None, name, progress=progress)
        log_left(table.n_left)
        method._log("%s: %d of %d vectors changed", name, table.n_changed, len(model))
        return MitigatedFile(Path(path), name, len(model), table.n_changed)


@contextmanager
def _opened(
    source: Any, path: Any, vocab_prefix: Any, trust_pickle: bool, progress: bool
) -> Iterator[WordEmbeddingModel]:
    """Open a file as a model without reading it into memory; check that `path` can be written."""
    format_of(Path(path), None)
    check_writable(path)
    if not isinstance(source, WordEmbeddingModel) and Path(source).is_fifo():
        raise ValueError(
            f"{source} is a pipe, which can be read only once, but debiasing reads its source "
            "several times. Write it to a file first; you need not unpack it."
        )
    opened = open_vectors(source, Reading(trust_pickle=trust_pickle, progress=progress))
    vocab_prefix = opened.vocab_prefix if vocab_prefix is None else vocab_prefix
    if opened.table is not None:
        yield WordEmbeddingModel(opened.table, opened.name, vocab_prefix)
        return
    # Beside the result, where there is room for it.
    beside = Path(path).absolute()
    with TemporaryDirectory(prefix=f".{beside.name[:50]}.", dir=beside.parent) as folder:
        copied = Path(folder, "vectors.safetensors")
        converted = convert(
            source, copied, name=opened.name, trust_pickle=trust_pickle, progress=progress
        )
        yield WordEmbeddingModel(converted.wv, opened.name, vocab_prefix)


class _ChangedRows(StoredVectors):
    """Vectors of a model that a method changes when they are read, each once."""

    def __init__(self, method: RowwiseDebias, model: WordEmbeddingModel, fates: Fates) -> None:
        self.key_to_index, self.vector_size = model.vocab, model.dim
        self.requested, self.dtype = model.table.requested, model.dtype
        self.method, self.model, self.fates = method, model, fates
        self.settled, self.n_left, self.n_changed = method._settled(model, fates), 0, 0

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        vectors = self.model.table.rows(rows)
        changed, fates = vectors.copy(), self.fates[rows]
        self.n_left += self.method._map(changed, fates)
        for row in self.settled.keys() & rows.tolist():
            changed[rows == row] = self.settled[row]
        self.n_changed += int((vectors != changed).any(axis=1).sum())
        return changed
