"""Write any embedding in the native format, once, so that it opens in milliseconds ever after."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from wefe._checks import check_choice, found
from wefe.models._load import VocabularyCut, collect, finite, load, log_skipped, open_cut
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._native import StoredDtype, write_native
from wefe.models.formats._source import TableSource

logger = logging.getLogger(__name__)


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
    progress : bool, default=True
        Whether long work shows a progress bar on a terminal.
    **options
        Which words to keep, and how to read, as in :func:`load`: `limit`, `lowercase`, `keep`,
        `min_count`, `counts`, `subwords`, `vocabulary`, `on_error`, `trust_pickle`, `revision`,
        `token` and `n_jobs`. With ``subwords='refuse'`` nothing is said of vectors that are made
        of subwords, which are never written.

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
    opened, cut, reading = open_cut(source, progress=progress, **options)
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
            "%s contains only the words of the vocabulary; vectors of other words, which %s builds "
            "from subwords, cannot be kept",
            *(target, opened.label),
        )
    return load(target)
