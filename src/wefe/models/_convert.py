"""Write any embedding in the native format, once, so that it opens in milliseconds ever after."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from wefe._checks import check_choice, found
from wefe.models._load import (
    VocabularyCut,
    check_cut,
    check_reading,
    collect,
    finite,
    load,
    log_skipped,
    open_vectors,
)
from wefe.models._types import Lowercase, Subwords
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._native import StoredDtype, write_native
from wefe.models.formats._source import TableSource, Vocabulary

logger = logging.getLogger(__name__)


def convert(
    source: Any,
    path: str | os.PathLike[str],
    dtype: StoredDtype = "float32",
    *,
    name: str | None = None,
    limit: int | None = None,
    lowercase: Lowercase | None = None,
    keep: Callable[[str], bool] | None = None,
    min_count: int | None = None,
    counts: Mapping[str, int] | str | os.PathLike[str] | None = None,
    subwords: Subwords | None = None,
    vocabulary: Vocabulary | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    trust_pickle: bool = False,
    revision: str | None = None,
    token: str | bool | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> WordEmbeddingModel:
    """Write an embedding in the native format, and open the result.

    The source is read in one pass and in bounded memory, whatever its size: some 30 bytes per word
    beside a few tens of MB (but for lowercase='mean', which needs all vectors at once, and formats
    that other libraries read). The file appears under its name when it is complete.

    Parameters
    ----------
    source : path, str or object
        Whatever :func:`load` takes.
    path : path
        The file to write, 'NAME.safetensors'.
    dtype : {'float32', 'float16', 'int8'}, default='float32'
        How the numbers are kept. float16 takes half the room and keeps 11 significant bits; int8
        takes a quarter: each vector is divided by a scale of its own, 1/127 of its largest number,
        and rounded, so that no number is off by more than half of that scale.
    name : str, optional
        The name that the model gets; by default that of the source.
    limit : int, optional
        Only the first rows of the source; files are sorted by frequency as a rule.
    lowercase : {'first', 'mean'}, optional
        Lower the case of all words. Of several that become the same, the first (most frequent) is
        kept, or their mean.
    keep : callable, optional
        Takes a word and tells whether to keep it.
    min_count : int, optional
        Drop words that occurred less often, as the source or `counts` say.
    counts : mapping from str to int, or path, optional
        How often each word occurred.
    subwords : {'mean', 'first', 'refuse'}, optional
        As in :func:`load`. Vectors that are made of subwords are not written in any case; a source
        that makes some says so in the log, unless they are refused.
    vocabulary : sequence of str or path, optional
        The words of a .npy or .npz matrix, if they do not lie beside it.
    on_error : {'raise', 'skip'}, default='raise'
        Whether a damaged line or word is an error, or left out, counted and logged.
    trust_pickle : bool, default=False
        Unpickle files of gensim and numpy, which can run any code.
    revision : str, optional
        Of a repository of Hugging Face: branch, tag or commit.
    token : str or bool, optional
        Passed to huggingface_hub, for repositories that are not public.
    n_jobs : int, optional
        Threads that parse text; by default as many as there are cores.
    progress : bool, default=True
        Whether long work shows a progress bar on a terminal.

    Returns
    -------
    WordEmbeddingModel
        The converted model, mapped from the file.

    Raises
    ------
    FileNotFoundError
        If there is no such source.
    ValueError
        If the source is damaged, a vector has NaN or infinity or numbers too large for `dtype`, or
        `path` has another suffix. What was at `path` stays as it was.
    ImportError
        If the format needs a library that is not installed.

    See Also
    --------
    load : Open the source as it is.

    Notes
    -----
    Vectors that a model builds from subwords are not written, only those of its vocabulary.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = convert("demo", Path(folder) / "demo.safetensors", dtype="int8")
    ...     print(model, f"{model.nbytes / 1e6:.1f} MB")
    <WordEmbeddingModel named 'minilm-words' with 10569 word embeddings of 256 dims, mapped> 2.7 MB
    """
    check_choice("dtype", dtype, ("float32", "float16", "int8"))
    target = Path(path)
    if target.suffix != ".safetensors":
        raise ValueError(
            f"path must end with '.safetensors'; got {found(str(path))}. To write another format, "
            "load the model and call its save()."
        )
    reading = check_reading(on_error, trust_pickle, subwords, vocabulary, n_jobs, progress)
    opened = open_vectors(source, reading, revision, token)
    cut = check_cut(opened, limit, lowercase, keep, min_count, counts)
    if cut.lowercase == "mean":
        table = collect(opened, cut, reading.lenient)
        opened, cut = TableSource(table, opened.label, opened.name), VocabularyCut()
    write_native(
        target,
        finite(opened, cut.apply(opened.blocks()), reading.lenient),
        opened.n_words,
        opened.dim,
        dtype=dtype,
        name=opened.name if name is None else name,
        # Readers of rows show a bar of their own, in bytes.
        progress=reading.progress and opened.table is not None,
    )
    log_skipped(opened)
    if opened.use_subwords:
        logger.warning(
            "%s has the words of the vocabulary only; vectors of other words, which %s builds from "
            "subwords, cannot be kept",
            *(target, opened.label),
        )
    return load(target)
