"""Convert an embedding to the native format, which opens in milliseconds."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from wefe._checks import check_choice, found
from wefe.models._load import VocabularyCut, collect, finite, load, log_skipped, open_cut
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._native import StoredDtype, write_native
from wefe.models.formats._source import TableSource, Writing

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

    The source is read once, in bounded memory (except with ``lowercase='mean'`` and formats that
    other libraries read). `path` is replaced only when the new file is complete. Vectors built from
    subwords are not written; ``subwords='refuse'`` silences the warning.

    Parameters
    ----------
    source : path, str or object
        Any source that :func:`load` accepts.
    path : path
        The file to write, 'NAME.safetensors'.
    dtype : {'float32', 'float16', 'int8'}, default='float32'
        How the numbers are stored. float16 halves the size and keeps 11 significant bits. int8
        takes a quarter: vectors are rounded to multiples of 1/127 of their largest absolute number.
    name : str, optional
        Name of the new model; by default that of the source.
    progress : bool, default=True
        Whether to show a progress bar on a terminal.
    **options
        Other options of :func:`load`: `limit`, `lowercase`, `keep`, `min_count`, `counts`,
        `subwords`, `vocabulary`, `on_error`, `trust_pickle`, `revision`, `token` and `n_jobs`.

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
    blocks = finite(opened, cut.apply(opened.blocks()), reading.lenient)
    name = opened.name if name is None else name
    # Readers of rows show a bar of their own, in bytes.
    shown = reading.progress and opened.table is not None
    write_native(target, Writing(blocks, opened.n_words, opened.dim, "native", dtype, name, shown))
    log_skipped(opened)
    if opened.use_subwords:
        logger.warning(
            "%s contains only the words of the vocabulary; vectors of other words, which %s builds "
            "from subwords, cannot be kept",
            *(target, opened.label),
        )
    return load(target)
