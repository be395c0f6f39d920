"""Nearest neighbours over a whole vocabulary, exact and in bounded memory."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_positive_int, check_word_set, found
from wefe.models._keyed_vectors import (
    FloatArray,
    StoredVectors,
    check_vectors,
    held,
    is_mapped,
)

if TYPE_CHECKING:
    import pandas as pd

    from wefe.models._word_embedding_model import WordEmbeddingModel

Rows: TypeAlias = npt.NDArray[np.int64]
Cosines: TypeAlias = npt.NDArray[np.float64]
Approximations: TypeAlias = npt.NDArray[np.float32]
#: Rows not wanted: one for each query, or a sequence of them for each query.
Exclude: TypeAlias = npt.ArrayLike | Sequence[npt.ArrayLike]

# Blocks beyond these sizes are not faster, as measured; smaller ones stay in the cache.
BLOCK_QUERIES = 512
CHUNK_NUMBERS = 4_000_000
CHUNK_ROWS = 8_192
# Bytes of the pairs of vectors whose cosines are computed in float64 at once.
PAIR_BYTES = 2_000_000

# From so many neighbours on, cosines in float64 are computed of candidates only, at the end.
CANDIDATES_FROM = 50

NUMBERS = (int, float, np.integer, np.floating)

# An approximate index is no faster below.
APPROXIMATE_FROM = 32_768
FAISS_HINT = (
    "approximate=True needs faiss: pip install 'wefe[neighbors]'. "
    "The exact search (approximate=False) needs nothing."
)


def nearest_neighbors(
    vectors: npt.ArrayLike | StoredVectors,
    queries: npt.ArrayLike,
    k: int,
    *,
    exclude: Exclude | None = None,
    buffer_mb: float = 64,
    approximate: bool = False,
) -> tuple[Rows, Cosines]:
    """Find the vectors of largest cosine with each query.

    Parameters
    ----------
    vectors : ndarray of shape (n_words, dim), or StoredVectors
        Floating-point numbers of any width, in memory or mapped from a file; each is read once
        from a file.
    queries : ndarray of shape (n_queries, dim)
        Floating-point vectors, none of them zero; their lengths do not matter.
    k : int
        Neighbours wanted of each query, at least 1.
    exclude : sequence of int or of sequences of int, of length n_queries, optional
        The row, or the rows, that each query must not have as neighbours: a word is usually not
        meant to be its own.
    buffer_mb : float, default=64
        Memory to work in, in MB (10**6 bytes): a chunk of rows and its cosines with a block of
        queries. Besides it there are only the result, some times, and the queries in float32.
    approximate : bool, default=False
        True builds an `ApproximateIndex` first. Of several batches of queries, make it once.

    Returns
    -------
    rows : ndarray of shape (n_queries, k), int64
        Rows of `vectors`, by falling cosine; of equal cosines the lower row comes first.
    cosines : ndarray of shape (n_queries, k), float64
        Their cosines, in [-1, 1].

    Raises
    ------
    ValueError
        If a query has no direction (it is zero, or holds NaN or infinity), the shapes do not fit,
        or a query has fewer than `k` neighbours.
    TypeError
        If an argument is of another type.
    ImportError
        If an approximate search is asked for and faiss is not installed.

    Notes
    -----
    A vector without a direction is nobody's neighbour.

    *What is promised.* The neighbours are those of largest cosine, each computed in float64 from
    the numbers as they are stored, by itself. Chunks, `buffer_mb` and the number of threads have
    no influence on a single bit of the result. Matrix products in float32 only sort out what is
    too far to be a neighbour, with a margin that is larger than their error can be.

    The time is that of these products, n_queries * n_words * dim multiplications, and somewhat
    more; from several hundred neighbours on, to compare and sort them takes longer. It grows, too,
    where very many vectors are as near as the k-th neighbour within that margin,
    (2 * dim + 16) * 2**-24: copies of one and the same vector, for example.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])
    >>> rows, cosines = nearest_neighbors(vectors, vectors[:1], k=2)
    >>> rows
    array([[0, 1]])
    >>> cosines
    array([[1. , 0.6]])
    >>> nearest_neighbors(vectors, vectors[:1], k=2, exclude=[0])[0]
    array([[1, 3]])
    """
    if check_bool("approximate", approximate):
        return ApproximateIndex(vectors, buffer_mb=buffer_mb).query(queries, k, exclude=exclude)
    task = _Task.checked(_Table(vectors), queries, k, exclude, buffer_mb)
    return task.complete(*_search(task))


class ApproximateIndex:
    """An index that finds most of the nearest neighbours, for very many queries.

    It is an inverted file of the library faiss: vectors are put into some 4 * sqrt(n_words)
    cells, and a query is compared with those of the cells nearest to it. The index holds a copy of
    all vectors in float32. Below 32,768 vectors the search is exact and no index is built.

    Parameters
    ----------
    vectors : ndarray of shape (n_words, dim), or StoredVectors
        Floating-point numbers of any width.
    probes : int, default=32
        Cells that are searched for each query: more of them find more of the neighbours and take
        longer.
    buffer_mb : float, default=64
        Memory to work in, in MB, besides the index.

    Raises
    ------
    ImportError
        If faiss is not installed.

    Notes
    -----
    Cosines and their order are exact, in float64; what may happen is that a neighbour is missed.
    The same vectors and version of faiss give the same cells.

    Examples
    --------
    >>> import numpy as np
    >>> index = ApproximateIndex(np.eye(3))
    >>> index.query(np.array([[0.0, 1.0, 0.5]]), k=2)[0]
    array([[1, 2]])
    """

    def __init__(
        self,
        vectors: npt.ArrayLike | StoredVectors,
        *,
        probes: int = 32,
        buffer_mb: float = 64,
    ) -> None:
        self.probes = check_positive_int("probes", probes)
        self.buffer_mb = _check_buffer(buffer_mb)
        self._table = _Table(vectors)
        self._index = self._build() if self._table.n_words >= APPROXIMATE_FROM else None

    def _build(self) -> Any:
        try:
            faiss = importlib.import_module("faiss")
        except ImportError as error:
            raise ImportError(FAISS_HINT) from error
        table = self._table
        n_cells = int(4 * math.sqrt(table.n_words))
        # faiss asks for 39 vectors per cell to place the cells well.
        sample = np.random.default_rng(0).permutation(table.n_words)[: 40 * n_cells]
        units, directed = _units(table.rows(np.sort(sample)))
        index = faiss.index_factory(table.dim, f"IVF{n_cells},Flat", faiss.METRIC_INNER_PRODUCT)
        index.cp.spherical = True
        index.train(units[directed])
        n_rows = max(1, int(1e6 * self.buffer_mb / (16 * table.dim)))
        for start in range(0, table.n_words, n_rows):
            units, directed = _units(table.chunk(start, min(start + n_rows, table.n_words)))
            index.add_with_ids(units[directed], start + np.flatnonzero(directed))
        return index

    def query(
        self, queries: npt.ArrayLike, k: int, *, exclude: Exclude | None = None
    ) -> tuple[Rows, Cosines]:
        """Find vectors of large cosine with each query; as `nearest_neighbors` does.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, dim)
            Floating-point vectors, none of them zero.
        k : int
            Neighbours wanted of each query, at least 1.
        exclude : sequence of int or of sequences of int, of length n_queries, optional
            The row, or the rows, that each query must not have as neighbours.

        Returns
        -------
        rows : ndarray of shape (n_queries, k), int64
            Rows of the vectors, by falling cosine; of equal cosines the lower row comes first.
        cosines : ndarray of shape (n_queries, k), float64
            Their cosines, in [-1, 1].
        """
        task = _Task.checked(self._table, queries, k, exclude, self.buffer_mb)
        if self._index is None:
            return task.complete(*_search(task))
        self._index.nprobe = self.probes
        best = _Best(task.n_queries, task.k, 0.0)
        most_excluded = int(np.bincount(task.excluded[0]).max(initial=0))
        block = max(1, int(1e6 * task.buffer_mb / (16 * (task.k + most_excluded + task.dim))))
        banned = task.excluded[0] * task.table.n_words + task.excluded[1]
        for first in range(0, task.n_queries, block):
            units, _ = _units(task.queries[first : first + block])
            _, near = self._index.search(units, task.k + most_excluded)
            of_query = np.repeat(np.arange(first, first + len(near)), near.shape[1])
            rows = near.astype(np.int64).ravel()
            wanted = (rows >= 0) & ~np.isin(of_query * task.table.n_words + rows, banned)
            # By row, as `_Best` wants ties to be.
            order = np.flatnonzero(wanted)[np.argsort(rows[wanted], kind="stable")]
            for part in task.parts(len(order)):
                pairs = order[part]
                cosines = task.cosines(task.table.rows(rows[pairs]), of_query[pairs])
                best.add(of_query[pairs], rows[pairs], cosines)
        best.merge()
        # The cells searched may hold fewer than k vectors.
        short = np.flatnonzero(best.rows[:, -1] < 0)
        if short.size:
            best.rows[short], best.cosines[short] = _search(task.only(short))
        return task.complete(best.rows, best.cosines)


def most_similar(
    model: WordEmbeddingModel,
    positive: Any = None,
    negative: Any = None,
    topn: int = 10,
    *,
    restrict_vocab: int | None = None,
) -> list[tuple[str, float]]:
    """Find the words nearest to some words and far from others, as gensim's method does.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary.
    positive, negative : str, ndarray of shape (dim,), or sequence of these, optional
        Words, written as the vocabulary has them, and vectors. A pair (word or vector, weight) in
        a sequence gives it another weight than 1. At least one word or vector is needed.
    topn : int, default=10
        Number of words wanted, at least 1; all that there are, if it is larger.
    restrict_vocab : int, optional
        Search only that many words from the start of the vocabulary, which most files sort by
        falling frequency.

    Returns
    -------
    list of (str, float)
        Words and their cosines, in [-1, 1], with the weighted mean of the unit vectors of the
        words; by falling cosine. The words given are left out. Vectors given go into the mean
        with the length that they have.

    Raises
    ------
    KeyError
        If the model lacks a word; the error names it.
    ValueError
        If the model was opened for some words only, no word or vector is given, one has no
        direction, or they cancel each other out.
    TypeError
        If an argument is of another type.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model = load_test_model()
    >>> [word for word, _ in most_similar(model, "nurse", topn=3)]
    ['nurses', 'nursing', 'midwife']
    >>> most_similar(model, ["king", "woman"], ["man"], topn=1)
    [('queen', 0.503997)]
    """
    table = _whole_table(model, "most_similar")
    topn = check_positive_int("topn", topn)
    if restrict_vocab is not None:
        table = table.first(check_positive_int("restrict_vocab", restrict_vocab))
    items = [
        *_weighted(model, "positive", positive, 1.0),
        *_weighted(model, "negative", negative, -1.0),
    ]
    if not items:
        raise ValueError("most_similar needs a word or vector: positive and negative are empty.")
    query = np.zeros(model.dim)
    for item, weight in items:
        query += weight * (_word_direction(model, item) if isinstance(item, str) else item)
    # What is left of vectors that cancel is rounding noise.
    if np.linalg.norm(query) <= 1e-12 * sum(
        abs(weight) * (1.0 if isinstance(item, str) else float(np.linalg.norm(item)))
        for item, weight in items
    ):
        raise ValueError(
            "positive and negative cancel each other out; what is left has no direction."
        )
    given = {
        model.vocab[item] for item, _ in items if isinstance(item, str) and item in model.vocab
    }
    exclude = [row for row in given if row < table.n_words]
    topn = min(topn, table.n_words - len(exclude))
    if topn == 0:
        return []
    rows, cosines = _search(_Task.checked(table, query[np.newaxis], topn, [exclude], 64))
    near = rows[0][rows[0] >= 0]
    return list(zip(_words(model, near), cosines[0].tolist(), strict=False))


def neighbors_of(
    model: WordEmbeddingModel, words: Sequence[str], k: int = 10, *, approximate: bool = False
) -> pd.DataFrame:
    """Find the nearest words of several words at once.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary.
    words : sequence of str
        Words of the model, written as its vocabulary has them.
    k : int, default=10
        Neighbours wanted of each word, at least 1.
    approximate : bool, default=False
        True searches with an `ApproximateIndex`: for very many words of a large model.

    Returns
    -------
    pandas.DataFrame
        One line per neighbour, `k` for each word, with the columns ``word``, ``rank`` (from 1),
        ``neighbor`` and ``cosine`` (in [-1, 1]). No word is its own neighbour.

    Raises
    ------
    KeyError
        If the model lacks a word; the error names it.
    ValueError
        If the model was opened for some words only, `words` is empty, a word has a vector without
        a direction, or the model has too few words.
    TypeError
        If an argument is of another type.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> neighbors_of(load_test_model(), ["nurse", "pilot"], k=2)
        word  rank  neighbor    cosine
    0  nurse     1    nurses  0.925204
    1  nurse     2   nursing  0.867853
    2  pilot     1    pilots  0.841789
    3  pilot     2  aviation  0.665441
    """
    import pandas as pd

    table = _whole_table(model, "neighbors_of")
    words = check_word_set("words", words)
    queries = model.get_vectors(words)
    for word, directed in zip(words, _squares_of_rows(queries)[1], strict=True):
        if not directed:
            raise ValueError(_no_direction(model, word))
    exclude = [[model.vocab[word]] if word in model.vocab else [] for word in words]
    k = check_positive_int("k", k)
    search = ApproximateIndex(table.vectors) if check_bool("approximate", approximate) else None
    if search is None:
        task = _Task.checked(table, queries, k, exclude, 64)
        rows, cosines = task.complete(*_search(task))
    else:
        rows, cosines = search.query(queries, k, exclude=exclude)
    return pd.DataFrame(
        {
            "word": np.repeat(np.array(words, dtype=object), k),
            "rank": np.tile(np.arange(1, k + 1), len(words)),
            "neighbor": _words(model, rows.ravel()),
            "cosine": cosines.ravel(),
        }
    )


class _Table:
    """Vectors of either kind, read in chunks."""

    def __init__(self, vectors: npt.ArrayLike | StoredVectors, n_words: int | None = None) -> None:
        self.vectors: FloatArray | StoredVectors
        if isinstance(vectors, StoredVectors):
            self.vectors, self.dim = vectors, int(vectors.vector_size)
        else:
            self.vectors = check_vectors(vectors)
            self.dim = int(self.vectors.shape[1])
        self.n_words = len(self.vectors) if n_words is None else min(n_words, len(self.vectors))

    @property
    def in_memory(self) -> bool:
        """Any rows may be read once more, at no cost."""
        return not isinstance(self.vectors, StoredVectors) and not is_mapped(self.vectors)

    def first(self, n_words: int) -> _Table:
        return _Table(self.vectors, min(n_words, self.n_words))

    def chunk(self, start: int, stop: int) -> FloatArray:
        if isinstance(self.vectors, StoredVectors):
            return self.vectors.rows(np.arange(start, stop))
        return np.asarray(self.vectors[start:stop])

    def rows(self, rows: npt.NDArray[np.int64]) -> FloatArray:
        if isinstance(self.vectors, StoredVectors):
            return self.vectors.rows(rows.astype(np.intp))
        return np.asarray(self.vectors[rows])


class _Task(NamedTuple):
    """What is searched for, checked."""

    table: _Table
    queries: FloatArray
    squares: Cosines
    k: int
    excluded: tuple[Rows, Rows]
    buffer_mb: float

    @classmethod
    def checked(
        cls,
        table: _Table,
        queries: npt.ArrayLike,
        k: int,
        exclude: Exclude | None,
        buffer_mb: float,
    ) -> _Task:
        array = np.asarray(queries)
        if array.ndim != 2 or array.shape[1] != table.dim:
            hint = " Put it in a list: [query]." if array.shape == (table.dim,) else ""
            raise ValueError(
                f"queries must have shape (n_queries, {table.dim}), as the vectors have "
                f"{table.dim} dimensions; got {array.shape}.{hint}"
            )
        if not np.issubdtype(array.dtype, np.floating):
            raise TypeError(f"queries must hold floating-point numbers; got {array.dtype}.")
        squares, directed = _squares_of_rows(array)
        if not directed.all():
            row = int(np.flatnonzero(~directed)[0])
            what = "is a zero vector" if not array[row].any() else "holds NaN or infinity"
            raise ValueError(f"queries: row {row} {what}, which has no direction.")
        excluded = _check_exclude(exclude, len(array), table.n_words)
        task = cls(
            table, array, squares, check_positive_int("k", k), excluded, _check_buffer(buffer_mb)
        )
        most = int(np.bincount(excluded[0]).max(initial=0))
        if task.k > table.n_words - most and task.n_queries:
            query = int(np.bincount(excluded[0], minlength=1).argmax())
            raise ValueError(task._too_few(query, table.n_words - most))
        return task

    @property
    def n_queries(self) -> int:
        return len(self.queries)

    @property
    def dim(self) -> int:
        return self.table.dim

    def only(self, which: npt.NDArray[np.intp]) -> _Task:
        """Return the task of some of the queries."""
        place = np.full(self.n_queries, -1)
        place[which] = np.arange(len(which))
        kept = place[self.excluded[0]] >= 0
        return self._replace(
            queries=self.queries[which],
            squares=self.squares[which],
            excluded=(place[self.excluded[0][kept]], self.excluded[1][kept]),
        )

    def cosines(self, vectors: FloatArray, of_query: npt.NDArray[np.intp]) -> Cosines:
        """Cosines of vectors with the queries named beside them, each computed by itself.

        einsum adds up the products of one row in an order that depends on nothing else; BLAS, of
        which this cannot be said, is not used.
        """
        left, right = _wide(vectors), _wide(self.queries[of_query])
        products = np.einsum("ij,ij->i", left, right)
        # One root, not two: the cosine of a vector with itself is 1.
        products /= np.sqrt(np.einsum("ij,ij->i", left, left) * self.squares[of_query])
        return np.asarray(products.clip(-1.0, 1.0))

    def parts(self, n_pairs: int) -> Iterator[slice]:
        """Cut pairs of vectors into parts that fit into the memory for them."""
        n_bytes = min(PAIR_BYTES, 1e6 * self.buffer_mb / 4)
        size = max(1, int(n_bytes / (16 * max(self.dim, 1))))
        return (slice(start, start + size) for start in range(0, n_pairs, size))

    def complete(self, rows: Rows, cosines: Cosines) -> tuple[Rows, Cosines]:
        """Refuse results with gaps."""
        if rows.size and rows[:, -1].min() < 0:
            query = int(np.flatnonzero(rows[:, -1] < 0)[0])
            raise ValueError(self._too_few(query, int((rows[query] >= 0).sum())))
        return rows, cosines

    def _too_few(self, query: int, n_there: int) -> str:
        n_excluded = int((self.excluded[0] == query).sum())
        n_undirected = self.table.n_words - n_excluded - n_there
        less = f", less {n_excluded} excluded" if n_excluded else ""
        less += f", less {n_undirected} without a direction" if n_undirected else ""
        return (
            f"k={self.k} is more than the {n_there} neighbours that query {query} can have "
            f"({self.table.n_words} vectors{less})."
        )


class _Best:
    """The k nearest of each of a block of queries, among what was seen so far.

    Rows of a query must be added in rising order, as ties keep the order in which they came, if
    that matters (`break_ties`).
    """

    def __init__(self, n_queries: int, k: int, error: float, *, break_ties: bool = True) -> None:
        self._break_ties = break_ties
        self.rows = np.full((n_queries, k), -1, dtype=np.int64)
        self.cosines = np.full((n_queries, k), -np.inf)
        self.error = error
        # What is not above has no chance.
        self.bar = np.full(n_queries, -np.inf, dtype=np.float32)
        self._pending: list[tuple[npt.NDArray[np.intp], Rows, Cosines]] = []
        self._n_pending = 0

    def add(self, of_query: npt.NDArray[np.intp], rows: Rows, cosines: Cosines) -> None:
        self._pending.append((of_query, rows, cosines))
        self._n_pending += len(rows)
        # Not at once: to sort the k nearest again for each newcomer would take longer than to
        # look at more of them, as the bar rises late.
        if 2 * self._n_pending >= self.rows.size:
            self.merge()

    def merge(self) -> None:
        if not self._pending:
            return
        n_queries, k = self.rows.shape
        everyone = np.arange(n_queries)
        of_query = np.concatenate([np.repeat(everyone, k), *(part[0] for part in self._pending)])
        rows = np.concatenate([self.rows.ravel(), *(part[1] for part in self._pending)])
        cosines = np.concatenate([self.cosines.ravel(), *(part[2] for part in self._pending)])
        order = _by_query(of_query.astype(np.min_scalar_type(n_queries)), cosines, self._break_ties)
        of_query = of_query[order]
        position = np.arange(len(order)) - np.searchsorted(of_query, everyone)[of_query]
        kept = order[position < k]
        self.rows, self.cosines = rows[kept].reshape(-1, k), cosines[kept].reshape(-1, k)
        self.bar = (self.cosines[:, -1] - self.error).astype(np.float32)
        self._pending, self._n_pending = [], 0


def _search(task: _Task) -> tuple[Rows, Cosines]:
    """Exact search; where a query has fewer than k neighbours, the last rows are -1."""
    k = task.k
    n_candidates = k + max(16, k // 8)
    if k < CANDIDATES_FROM or not task.table.in_memory or n_candidates > task.table.n_words:
        return _scan(task, k)
    # Of the many that were among the k nearest for a while, cosines in float64 are not needed.
    candidates, approximate = _scan(task, n_candidates, exact=False)
    # What was left out is so far below that no error could have put it there.
    safe = approximate[:, -1] < approximate[:, k - 1] - 2 * _error(task.dim)
    found_rows, found_cosines = np.empty((len(safe), k), dtype=np.int64), np.empty((len(safe), k))
    for start in range(0, len(safe), BLOCK_QUERIES):
        block = slice(start, start + BLOCK_QUERIES)
        rows = np.sort(candidates[block], axis=1)
        cosines = np.full(rows.shape, -np.inf)
        of_query, place = np.nonzero(rows >= 0)
        for part in task.parts(len(place)):
            pairs = of_query[part], place[part]
            cosines[pairs] = task.cosines(task.table.rows(rows[pairs]), start + pairs[0])
        # Of equal cosines the lower row comes first.
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        found_rows[block] = np.take_along_axis(rows, order, axis=1)
        found_cosines[block] = np.take_along_axis(cosines, order, axis=1)
    unsafe = np.flatnonzero(~safe)
    if unsafe.size:
        found_rows[unsafe], found_cosines[unsafe] = _scan(task.only(unsafe), k)
    return found_rows, found_cosines


def _error(dim: int) -> float:
    """Largest error of a cosine in float32."""
    # Of a product of unit vectors (dim), of the length of one (dim / 2), and of the rounding of
    # their components and of the bar, in units of the last place.
    return (2 * dim + 16) * 2.0**-24


def _scan(task: _Task, k: int, *, exact: bool = True) -> tuple[Rows, Cosines]:
    """Find the k nearest in one pass; by their cosines in float32, if not `exact`."""
    n_words, dim, n_queries = task.table.n_words, task.dim, task.n_queries
    n_rows, n_block = _sizes(task)
    units = np.empty((n_queries, dim), dtype=np.float32)
    for start in range(0, n_queries, n_rows):
        units[start : start + n_rows] = _units(task.queries[start : start + n_rows])[0]
    blocks = [slice(start, start + n_block) for start in range(0, n_queries, n_block)]
    best = [_Best(len(units[block]), k, _error(dim), break_ties=exact) for block in blocks]
    banned_queries, banned_rows = task.excluded
    scaled = np.empty((0, dim), dtype=np.float32)
    buffer = np.empty(n_rows * n_block, dtype=np.float32)
    mask_buffer = np.empty(n_rows * n_block, dtype=bool)
    # Rows are the outer loop, so that a file is read once.
    for start in range(0, n_words, n_rows):
        chunk = task.table.chunk(start, min(start + n_rows, n_words))
        first, last = np.searchsorted(banned_rows, (start, start + len(chunk)))
        # What does not fit into float32 gets a length that is not plain.
        with np.errstate(all="ignore"):
            matrix = np.require(chunk, np.float32, ["C", "A"])
            squares = np.einsum("ij,ij->i", matrix, matrix)
            factors = 1 / np.sqrt(squares)
        plain = (squares > 1e-30) & (squares < np.inf)
        undirected = np.empty(0, dtype=np.intp)
        # To scale the cosines is quicker than the vectors, unless there are many more of them.
        scale_vectors = n_queries > dim or not plain.all()
        if scale_vectors:
            if not scaled.size:
                scaled = np.empty((n_rows, dim), dtype=np.float32)
            with np.errstate(all="ignore"):
                np.multiply(matrix, factors[:, np.newaxis], out=scaled[: len(chunk)])
            matrix = scaled[: len(chunk)]
            unusual = np.flatnonzero(~plain)
            matrix[unusual], directed = _units(chunk[unusual])
            undirected = unusual[~directed]
        for block, nearest in zip(blocks, best, strict=True):
            shape = (len(nearest.rows), len(chunk))
            size = shape[0] * shape[1]
            cosines = buffer[:size].reshape(shape)
            np.matmul(units[block], matrix.T, out=cosines)
            if not scale_vectors:
                cosines *= factors
            cosines[:, undirected] = -np.inf
            if last > first:
                of_query = banned_queries[first:last] - block.start
                here = (of_query >= 0) & (of_query < shape[0])
                cosines[of_query[here], banned_rows[first:last][here] - start] = -np.inf
            mask = mask_buffer[:size].reshape(shape)
            near = _above_bar(cosines, nearest, mask)
            for part in task.parts(len(near)):
                of_query, rows = np.divmod(near[part], len(chunk))
                values = (
                    task.cosines(chunk[rows], block.start + of_query)
                    if exact
                    else cosines[of_query, rows].astype(np.float64)
                )
                nearest.add(of_query, start + rows, values)
    for nearest in best:
        nearest.merge()
    if not best:
        return np.empty((0, k), dtype=np.int64), np.empty((0, k))
    return (
        np.concatenate([nearest.rows for nearest in best]),
        np.concatenate([nearest.cosines for nearest in best]),
    )


def _by_query(
    of_query: npt.NDArray[Any], cosines: Cosines, break_ties: bool = True
) -> npt.NDArray[np.intp]:
    """Order by query and falling cosine; what is equal keeps its order if ties are broken."""
    # Some times faster than a stable sort of everything, and equal cosines are rare.
    order = np.argsort(-cosines)
    order = order[np.argsort(of_query[order], kind="stable")]
    if not break_ties:
        return order
    ordered, queries = cosines[order], of_query[order]
    ties = (ordered[1:] == ordered[:-1]) & (queries[1:] == queries[:-1]) & (ordered[1:] > -np.inf)
    return np.lexsort((-cosines, of_query)) if ties.any() else order


def _above_bar(
    cosines: Approximations, best: _Best, mask: npt.NDArray[np.bool_]
) -> npt.NDArray[np.intp]:
    """Return the flat positions of cosines that may be among the k largest of their row."""
    (n_queries, n_rows), k = cosines.shape, best.rows.shape[1]
    np.greater(cosines, best.bar[:, np.newaxis], out=mask)
    if k < n_rows and np.count_nonzero(mask) > 2 * k * n_queries:
        # As at the start, and where words get nearer and nearer: the k-th largest of this block
        # is a higher bar. Both it and what is compared with it have the error.
        bar = np.partition(cosines, n_rows - k, axis=1)[:, n_rows - k] - np.float32(2 * best.error)
        np.greater(cosines, np.maximum(bar, best.bar)[:, np.newaxis], out=mask)
    return np.flatnonzero(mask)


def _sizes(task: _Task) -> tuple[int, int]:
    """Rows in a chunk and queries in a block, so that their arrays fit into the buffer."""
    n_block = min(BLOCK_QUERIES, max(task.n_queries, 1))
    # A row as it is read and as it is scaled; a cosine, its mask and its copy in a partition.
    n_bytes = 8 * task.dim + 9 * n_block
    n_rows = min(CHUNK_NUMBERS // max(task.dim, 1), CHUNK_ROWS, task.table.n_words)
    return max(1, min(n_rows, int(0.75e6 * task.buffer_mb / n_bytes))), n_block


def _units(vectors: FloatArray) -> tuple[Approximations, npt.NDArray[np.bool_]]:
    """Unit vectors in float32, zeros where there is no direction, and where there is one."""
    wide = _wide(vectors)
    squares = np.einsum("ij,ij->i", wide, wide)
    directed = np.isfinite(squares) & (squares > 0)
    units = np.zeros(vectors.shape, dtype=np.float32)
    lengths = np.sqrt(squares, where=directed, out=np.ones_like(squares))
    np.divide(wide, lengths[:, np.newaxis], out=units, where=directed[:, np.newaxis])
    return units, directed


def _squares_of_rows(vectors: FloatArray) -> tuple[Cosines, npt.NDArray[np.bool_]]:
    """Squared lengths of `_wide` vectors, and whether each has a direction."""
    squares = np.empty(len(vectors))
    for start in range(0, len(vectors), CHUNK_ROWS):
        wide = _wide(vectors[start : start + CHUNK_ROWS])
        squares[start : start + CHUNK_ROWS] = np.einsum("ij,ij->i", wide, wide)
    return squares, np.isfinite(squares) & (squares > 0)


def _wide(vectors: FloatArray) -> Cosines:
    """Vectors in float64, where they could overflow or vanish scaled by a power of two each."""
    # Of vectors that are not finite anything may come.
    with np.errstate(all="ignore"):
        if vectors.itemsize > 4 and vectors.size:
            one = vectors.dtype.type(1)
            most = np.finfo(vectors.dtype).maxexp - 24
            exponents = np.frexp(np.abs(vectors).max(axis=1))[1].clip(-most, most)
            vectors = vectors * np.ldexp(one, -exponents)[:, np.newaxis]
        return np.ascontiguousarray(vectors, dtype=np.float64)


def _check_buffer(buffer_mb: object) -> float:
    if isinstance(buffer_mb, NUMBERS) and not isinstance(buffer_mb, bool):
        size = float(buffer_mb)
        if math.isfinite(size) and size > 0:
            return size
        raise ValueError(f"buffer_mb must be a number above 0; got {buffer_mb!r}.")
    raise TypeError(f"buffer_mb must be a number above 0; got {found(buffer_mb)}.")


def _check_exclude(exclude: Exclude | None, n_queries: int, n_words: int) -> tuple[Rows, Rows]:
    """Return the pairs (query, row) that are excluded, each once, by rising row."""
    if exclude is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if not hasattr(exclude, "__len__") or isinstance(exclude, str | bytes):
        raise TypeError(f"exclude must be a list or array of rows; got {found(exclude)}.")
    entries: Any = exclude
    if len(entries) != n_queries:
        raise ValueError(
            f"exclude must have one entry for each of the {n_queries} queries; got {len(entries)}."
        )
    if isinstance(entries, np.ndarray) and entries.ndim == 1 and entries.dtype != object:
        rows, counts = entries, np.ones(n_queries, dtype=np.intp)
    else:
        parts = [np.atleast_1d(np.asarray(entry)).ravel() for entry in entries]
        counts = np.array([len(part) for part in parts], dtype=np.intp)
        parts = [part for part in parts if len(part)]
        rows = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    if rows.size and not np.issubdtype(rows.dtype, np.integer):
        raise TypeError(f"exclude must hold rows, which are integers; got {rows.dtype}.")
    outside = (rows < 0) | (rows >= n_words)
    if outside.any():
        raise ValueError(
            f"exclude: row {rows[outside][0]} is not from 0 to {n_words - 1}, the last row."
        )
    pairs = np.unique(
        np.stack([rows.astype(np.int64), np.repeat(np.arange(n_queries), counts)], axis=1), axis=0
    )
    return pairs[:, 1], pairs[:, 0]


def _whole_table(model: WordEmbeddingModel, name: str) -> _Table:
    """Return the vectors of a model that has them all."""
    from wefe.models._word_embedding_model import check_model  # which imports this module

    check_model(model)
    if held(model.wv) == "selected":
        raise ValueError(
            f"{name} compares with the whole vocabulary, and {model.name} was opened for "
            f"{len(model.wv.asked):,} words only. Load the whole file: into memory "
            "(hold='memory'), or convert it once to a format that can be mapped."
        )
    vectors = model.wv if isinstance(model.wv, StoredVectors) else model.vectors
    # gensim may have room for words to come.
    return _Table(vectors, len(model.vocab))


def _words(model: WordEmbeddingModel, rows: Rows) -> list[str]:
    """Return the words of rows."""
    words: Sequence[str] = getattr(model.wv, "index_to_key", None) or list(model.vocab)
    wanted = rows.tolist()
    near = list(map(words.__getitem__, wanted))
    if list(map(model.vocab.__getitem__, near)) == wanted:
        return near
    # A table may list its words in another order than that of the rows.
    by_row = {row: word for word, row in model.vocab.items()}
    return [by_row[row] for row in wanted]


def _weighted(
    model: WordEmbeddingModel, name: str, items: Any, sign: float
) -> Iterator[tuple[str | Cosines, float]]:
    """Yield words and vectors (float64) with their weights."""
    if items is None:
        return
    if isinstance(items, str) or (_is_vector(items)):
        items = [items]
    if not isinstance(items, list | tuple | np.ndarray):
        raise TypeError(
            f"{name} must be a word, a vector, or a list of words and vectors; got {found(items)}."
        )
    for position, item in enumerate(items):
        weight = sign
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], NUMBERS):
            item, weight = item
        if isinstance(item, str):
            yield item, float(weight)
            continue
        if not _is_vector(item):
            raise TypeError(
                f"{name}: element {position} must be a word or a vector (a numpy array); "
                f"got {found(item)}."
            )
        vector = item.astype(np.float64)
        if vector.shape != (model.dim,):
            raise ValueError(
                f"{name}: element {position} must have shape ({model.dim},); got {item.shape}."
            )
        if not np.isfinite(vector).all() or not vector.any():
            raise ValueError(
                f"{name}: element {position} is zero or holds NaN or infinity; it has no direction."
            )
        yield vector, float(weight)


def _is_vector(item: object) -> TypeGuard[FloatArray]:
    return isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "fiu"


def _word_direction(model: WordEmbeddingModel, word: str) -> Cosines:
    """Return the unit vector of a word."""
    wide = _wide(model[word][np.newaxis])[0]
    length = float(np.linalg.norm(wide))
    if not 0 < length < math.inf:
        raise ValueError(_no_direction(model, word))
    return np.asarray(wide / length)


def _no_direction(model: WordEmbeddingModel, word: str) -> str:
    return f"the vector of {word!r} in {model.name} is zero, or not finite: it has no direction."
