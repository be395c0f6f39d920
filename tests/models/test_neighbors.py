"""Nearest neighbours: against an oracle that sorts everything, against gensim, and in memory."""

import importlib
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.models import UnreadWordError, WordEmbeddingModel
from wefe.models import _neighbors as module
from wefe.models._keyed_vectors import ArrayVectors, SelectedVectors, StoredVectors
from wefe.models._neighbors import ApproximateIndex, most_similar, nearest_neighbors, neighbors_of

WIDTHS = [np.float16, np.float32, np.float64, np.longdouble]
# Chunks of one row, of some, and of all.
BUFFERS = [1e-5, 0.002, 0.1, 64]


def random_vectors(n_words, dim=16, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=(n_words, dim)).astype(dtype)


def oracle(vectors, queries, k, exclude=None):
    """Every cosine, in the widest floats; then a stable sort."""
    vectors, queries = vectors.astype(np.longdouble), queries.astype(np.longdouble)
    with np.errstate(all="ignore"):
        vectors = vectors / np.abs(vectors).max(axis=1, keepdims=True)
        queries = queries / np.abs(queries).max(axis=1, keepdims=True)
        cosines = (queries @ vectors.T) / np.sqrt((vectors**2).sum(axis=1))
        cosines /= np.sqrt((queries**2).sum(axis=1))[:, np.newaxis]
    cosines[~np.isfinite(cosines)] = -np.inf
    for query, rows in enumerate(exclude or []):
        cosines[query, rows] = -np.inf
    rows = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return rows, np.take_along_axis(cosines, rows, axis=1), cosines


def check_against_oracle(vectors, queries, k, exclude=None, **options):
    rows, cosines = nearest_neighbors(vectors, queries, k, exclude=exclude, **options)
    expected_rows, expected, every = oracle(np.asarray(vectors), queries, k, exclude)
    assert rows.shape == cosines.shape == (len(queries), k)
    assert rows.dtype == np.int64
    assert cosines.dtype == np.float64
    np.testing.assert_allclose(cosines, expected.astype(float), atol=1e-14)
    # Rows may differ only where the last digits of float64 decide.
    np.testing.assert_allclose(
        np.take_along_axis(every, rows, axis=1).astype(float), cosines, atol=1e-14
    )
    assert all(len(set(row)) == k for row in rows.tolist())
    clear = np.diff(expected, axis=1, prepend=2, append=-2)
    clear = (np.abs(clear[:, 1:]) > 1e-13) & (np.abs(clear[:, :-1]) > 1e-13)
    clear[:, -1] = False  # what follows is not known
    np.testing.assert_array_equal(rows[clear], expected_rows[clear])
    return rows, cosines


@st.composite
def searches(draw):
    """Small integers make ties, duplicates and zero vectors; a scale makes extreme lengths."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_words, n_queries = draw(st.integers(2, 60)), draw(st.integers(0, 8))
    dim = draw(st.integers(1, 12))
    dtype = draw(st.sampled_from(WIDTHS))
    width = draw(st.sampled_from([2, 3, 50]))
    vectors = rng.integers(-width + 1, width, size=(n_words, dim)).astype(dtype)
    if draw(st.booleans()):
        limit = {2: 4, 4: 36, 8: 300}.get(np.dtype(dtype).itemsize, 4000)
        tens = rng.integers(-limit, limit, size=(n_words, 1))
        with np.errstate(all="ignore"):
            vectors = (vectors * np.power(np.longdouble(10), tens)).astype(dtype)
    if draw(st.booleans()):
        vectors[rng.integers(n_words), rng.integers(dim)] = draw(st.sampled_from([np.nan, np.inf]))
    queries = rng.integers(-width + 1, width, size=(n_queries, dim)).astype(dtype)
    queries[~queries.any(axis=1), 0] = 1
    exclude = [rng.integers(0, n_words, size=rng.integers(0, 3)).tolist() for _ in range(n_queries)]
    finite = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
    available = min(
        [int(finite.sum())]
        + [int(finite.sum() - len({row for row in rows if finite[row]})) for rows in exclude]
    )
    if available < 1:
        return draw(searches())
    return vectors, queries, draw(st.integers(1, available)), exclude


class TestExactSearch:
    @pytest.mark.filterwarnings("error")
    @given(searches(), st.sampled_from(BUFFERS))
    @settings(max_examples=300, deadline=None)
    def test_agrees_with_the_oracle(self, search, buffer_mb):
        vectors, queries, k, exclude = search
        check_against_oracle(vectors, queries, k, exclude, buffer_mb=buffer_mb)

    @given(searches())
    @settings(max_examples=100, deadline=None)
    def test_chunks_change_nothing(self, search):
        vectors, queries, k, exclude = search
        results = [
            nearest_neighbors(vectors, queries, k, exclude=exclude, buffer_mb=buffer_mb)
            for buffer_mb in BUFFERS
        ]
        for rows, cosines in results[1:]:
            np.testing.assert_array_equal(rows, results[0][0])
            np.testing.assert_array_equal(cosines, results[0][1])

    @pytest.mark.parametrize("dtype", WIDTHS)
    @pytest.mark.parametrize("n_queries", [1, 7, 700])
    def test_agrees_on_many_chunks_and_blocks(self, dtype, n_queries):
        vectors = random_vectors(5000, dtype=dtype)
        check_against_oracle(vectors, vectors[:n_queries], 10, buffer_mb=1)

    def test_blocks_of_queries_change_nothing(self, monkeypatch):
        vectors = random_vectors(3000)
        exclude = [[row, 2 * row, 2999] for row in range(100)]
        expected = nearest_neighbors(vectors, vectors[:100], 20, exclude=exclude)
        monkeypatch.setattr(module, "BLOCK_QUERIES", 7)
        monkeypatch.setattr(module, "PAIR_BYTES", 1000)
        rows, cosines = nearest_neighbors(vectors, vectors[:100], 20, exclude=exclude)
        np.testing.assert_array_equal(rows, expected[0])
        np.testing.assert_array_equal(cosines, expected[1])
        check_against_oracle(vectors, vectors[:100], 20, exclude, buffer_mb=0.1)

    def test_threads_change_nothing(self):
        threadpoolctl = pytest.importorskip("threadpoolctl")
        vectors = random_vectors(20_000, dim=50)
        expected = nearest_neighbors(vectors, vectors[:100], 20)
        with threadpoolctl.threadpool_limits(1):
            rows, cosines = nearest_neighbors(vectors, vectors[:100], 20)
        np.testing.assert_array_equal(rows, expected[0])
        np.testing.assert_array_equal(cosines, expected[1])

    @pytest.mark.parametrize("buffer_mb", BUFFERS)
    def test_of_equal_vectors_the_lower_rows_come_first(self, buffer_mb):
        few = random_vectors(5, dim=30)
        vectors = np.tile(few, (60, 1))
        rows, cosines = nearest_neighbors(vectors, few, 150, buffer_mb=buffer_mb)
        for query in range(5):
            np.testing.assert_array_equal(rows[query, :60], np.arange(query, 300, 5))
            assert (cosines[query, :60] == 1).all()
            for tied in np.split(rows[query], np.flatnonzero(np.diff(cosines[query])) + 1):
                assert (np.diff(tied) > 0).all()

    def test_words_nearer_and_nearer_do_not_fill_the_memory(self):
        angles = np.linspace(np.pi, 0.1, 20_000)
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        rows, _ = nearest_neighbors(vectors, vectors[-1:], 5, exclude=[19_999], buffer_mb=0.2)
        assert rows.tolist() == [[19998, 19997, 19996, 19995, 19994]]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_neighbours_closer_than_float32_can_tell(self, dtype):
        # Angles of 1e-9 to 1e-3: float32 products see one and the same cosine.
        rng = np.random.default_rng(1)
        base = np.zeros((1, 40))
        base[0, 0] = 1
        vectors = (base + rng.normal(size=(4000, 40)) * 1e-4).astype(dtype)
        check_against_oracle(vectors, vectors[:20], 15, buffer_mb=0.5)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_lengths_do_not_matter(self, dtype):
        vectors = random_vectors(2000, dtype=dtype)
        powers = np.random.default_rng(1).integers(-40, 40, size=(2000, 1))
        scaled = np.ldexp(vectors, powers)
        expected = nearest_neighbors(vectors, vectors[:50], 12)
        rows, cosines = nearest_neighbors(scaled, 4 * vectors[:50], 12, buffer_mb=0.1)
        np.testing.assert_array_equal(rows, expected[0])
        np.testing.assert_array_equal(cosines, expected[1])

    @pytest.mark.filterwarnings("error")
    def test_extreme_lengths(self):
        unit = np.eye(4)
        unit[3, 2] = 1
        vectors = unit * np.array([1e300, 5e-324, 1e-300, 1.7e308])[:, np.newaxis]
        rows, cosines = nearest_neighbors(vectors, vectors[2:3], 2)
        assert rows.tolist() == [[2, 3]]
        np.testing.assert_allclose(cosines, [[1, 0.5**0.5]])
        narrow = (unit * np.array([3e38, 1e-45, 1e-30, 3e38])[:, np.newaxis]).astype(np.float32)
        assert nearest_neighbors(narrow, narrow[2:3], 2)[0].tolist() == [[2, 3]]

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("dtype", WIDTHS)
    def test_vectors_without_direction_are_no_neighbours(self, dtype):
        vectors = random_vectors(30, dtype=dtype)
        vectors[3], vectors[4, 2], vectors[5, 0], vectors[6, :2] = 0, np.nan, -np.inf, np.inf
        rows, _ = nearest_neighbors(vectors, vectors[:3], 26)
        assert not {3, 4, 5, 6} & set(rows.ravel().tolist())
        with pytest.raises(ValueError, match=r"k=27 is more than the 26 .* less 4 without a dir"):
            nearest_neighbors(vectors, vectors[:3], 27)

    def test_storage_does_not_matter(self, tmp_path):
        vectors = random_vectors(500)
        expected = nearest_neighbors(vectors, vectors[:9], 5)
        path = tmp_path / "vectors.bin"
        # An odd offset, as a header makes: the numbers are not aligned.
        path.write_bytes(b"abc" + vectors.tobytes())
        mapped = np.memmap(path, np.float32, "r", 3, vectors.shape)
        wide = np.zeros((500, 40), np.float32)
        wide[:, 3:35:2] = vectors
        kinds = [mapped, np.asfortranarray(vectors), vectors.astype(">f4"), wide[:, 3:35:2]]
        for kind in kinds:
            rows, cosines = nearest_neighbors(kind, vectors[:9], 5, buffer_mb=0.01)
            np.testing.assert_array_equal(rows, expected[0])
            np.testing.assert_array_equal(cosines, expected[1])

    def test_queries_may_be_wider_than_vectors(self):
        vectors = random_vectors(300, dtype=np.float16)
        queries = random_vectors(5, dtype=np.float64, seed=3)
        check_against_oracle(vectors, queries, 4)

    def test_exclude_takes_a_row_or_rows_for_each_query(self):
        vectors = random_vectors(50)
        rows, _ = nearest_neighbors(vectors, vectors[:4], 49, exclude=np.arange(4))
        assert all(query not in row for query, row in enumerate(rows.tolist()))
        ragged = [[], [1, 1, 2], np.array([7]), 3]
        rows, _ = nearest_neighbors(vectors, vectors[:4], 48, exclude=ragged)
        assert [bool({0} & set(rows[0])), bool({1, 2} & set(rows[1]))] == [True, False]
        assert not {7} & set(rows[2])
        assert not {3} & set(rows[3])

    def test_no_queries(self):
        rows, cosines = nearest_neighbors(random_vectors(5), np.empty((0, 16)), 3)
        assert rows.shape == cosines.shape == (0, 3)


class TestMemory:
    N_WORDS, DIM, BUFFER_MB = 200_000, 64, 8

    def peak(self, vectors, queries, k, **options):
        tracemalloc.start()
        nearest_neighbors(vectors, queries, k, buffer_mb=self.BUFFER_MB, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / 1e6

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    @pytest.mark.parametrize("n_queries", [1, 1000])
    def test_is_bounded(self, dtype, n_queries):
        vectors = np.empty((self.N_WORDS, self.DIM), dtype=dtype)
        vectors[:] = random_vectors(self.N_WORDS, self.DIM)
        # Beside the buffer: the result twice, and the queries in float32.
        assert self.peak(vectors, vectors[:n_queries], 10) < 1.5 * self.BUFFER_MB

    def test_is_bounded_where_all_are_equally_near(self):
        vectors = np.ones((20_000, self.DIM), dtype=np.float32)
        assert self.peak(vectors, vectors[:100], 10) < 3 * self.BUFFER_MB

    def test_is_bounded_where_the_nearest_come_last(self):
        vectors = random_vectors(20_000, self.DIM)
        vectors += np.linspace(0, 3, len(vectors), dtype=np.float32)[:, np.newaxis]
        assert self.peak(vectors, vectors[-100:], 10) < 3 * self.BUFFER_MB


class TestRefusals:
    VECTORS = random_vectors(6)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"k": 0}, ValueError, "k must be an integer of at least 1; got int 0"),
            ({"k": 2.0}, TypeError, "k must be an integer of at least 1; got float 2.0"),
            ({"k": True}, TypeError, "k must be an integer"),
            ({"k": 7}, ValueError, r"k=7 is more than the 6 neighbours .*query 0.*\(6 vectors\)"),
            ({"k": 10**30}, ValueError, "is more than the 6 neighbours"),
            (
                {"k": 6, "exclude": [[], [2, 3]]},
                ValueError,
                r"k=6 is more than the 4 neighbours that query 1 can have \(6 vectors, less 2 ex",
            ),
            ({"queries": VECTORS[0]}, ValueError, r"must have shape \(n_queries, 16\).*\[query\]"),
            ({"queries": VECTORS[:, :3]}, ValueError, r"got \(6, 3\)\.$"),
            ({"queries": np.ones((2, 16), int)}, TypeError, "queries must hold floating-point"),
            (
                {"queries": np.eye(3, 16)[[1, 0]] - np.eye(1, 16)},
                ValueError,
                "queries: row 1 is a zero vector, which has no direction",
            ),
            ({"queries": np.full((1, 16), np.nan)}, ValueError, "queries: row 0 holds NaN or inf"),
            ({"vectors": VECTORS[0]}, ValueError, "vectors must be 2-d"),
            ({"vectors": np.ones((3, 16), int)}, TypeError, "vectors must hold floating-point"),
            ({"exclude": [0]}, ValueError, "exclude must have one entry for each of the 2 quer"),
            ({"exclude": 0}, TypeError, "exclude must be a list or array of rows; got int 0"),
            ({"exclude": "ab"}, TypeError, "exclude must be a list or array of rows; got str"),
            ({"exclude": [0, 6]}, ValueError, "exclude: row 6 is not from 0 to 5"),
            ({"exclude": [0, -1]}, ValueError, "exclude: row -1 is not from 0 to 5"),
            ({"exclude": [0.0, 1.0]}, TypeError, "exclude must hold rows, which are integers"),
            ({"buffer_mb": 0}, ValueError, "buffer_mb must be a number above 0; got 0"),
            ({"buffer_mb": np.inf}, ValueError, "buffer_mb must be a number above 0"),
            ({"buffer_mb": "64"}, TypeError, "buffer_mb must be a number above 0; got str '64'"),
            ({"approximate": 1}, TypeError, "approximate must be True or False"),
        ],
    )
    def test_say_what_is_wrong(self, arguments, error, message):
        defaults = {"vectors": self.VECTORS, "queries": self.VECTORS[:2], "k": 2}
        with pytest.raises(error, match=message):
            nearest_neighbors(**{**defaults, **arguments})


@pytest.fixture(scope="module")
def many_vectors():
    # Clusters, as words have; a zero vector among them.
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(400, 24))
    vectors = centres[rng.integers(400, size=40_000)] + 0.4 * rng.normal(size=(40_000, 24))
    vectors[5] = 0
    return vectors.astype(np.float32)


class TestApproximateIndex:
    def test_small_tables_are_searched_exactly(self):
        vectors = random_vectors(500)
        expected = nearest_neighbors(vectors, vectors[:5], 4, exclude=range(5))
        index = ApproximateIndex(vectors)
        for got in (
            index.query(vectors[:5], 4, exclude=range(5)),
            nearest_neighbors(vectors, vectors[:5], 4, exclude=range(5), approximate=True),
        ):
            np.testing.assert_array_equal(got[0], expected[0])
            np.testing.assert_array_equal(got[1], expected[1])

    def test_needs_faiss(self, many_vectors, monkeypatch):
        monkeypatch.setitem(sys.modules, "faiss", None)
        with pytest.raises(ImportError, match=r"pip install 'wefe\[neighbors\]'"):
            ApproximateIndex(many_vectors)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_finds_most_with_exact_cosines(self, many_vectors, dtype):
        pytest.importorskip("faiss")
        vectors = many_vectors.astype(dtype)
        queries, exclude = vectors[10:310], np.arange(10, 310)
        index = ApproximateIndex(vectors)
        rows, cosines = index.query(queries, 10, exclude=exclude)
        exact_rows, exact = nearest_neighbors(vectors, queries, 10, exclude=exclude)
        found = [len(set(a) & set(b)) for a, b in zip(rows, exact_rows, strict=True)]
        assert np.mean(found) > 9.8
        same = rows[:, 0] == exact_rows[:, 0]
        np.testing.assert_array_equal(cosines[same, 0], exact[same, 0])
        assert (np.diff(cosines, axis=1) <= 0).all()
        assert not (rows == exclude[:, np.newaxis]).any()
        again = index.query(queries, 10, exclude=exclude)
        np.testing.assert_array_equal(again[0], rows)

    def test_completes_what_the_cells_do_not_hold(self, many_vectors):
        pytest.importorskip("faiss")
        index = ApproximateIndex(many_vectors, probes=1)
        exclude = [[], [1, 2], []]
        rows, _ = index.query(many_vectors[:3], 30_000, exclude=exclude)
        expected, _ = nearest_neighbors(many_vectors, many_vectors[:3], 30_000, exclude=exclude)
        np.testing.assert_array_equal(rows, expected)
        with pytest.raises(ValueError, match=r"less 1 without a direction"):
            index.query(many_vectors[:1], 40_000)


class Halved(StoredVectors):
    """Vectors stored as halves of what they are; counts what it makes at once."""

    def __init__(self, words, vectors):
        self.key_to_index = {word: row for row, word in enumerate(words)}
        self.vector_size = vectors.shape[1]
        self.half = vectors / 2
        self.most_made = 0

    def _make(self, rows):
        self.most_made = max(self.most_made, len(rows))
        return self.half[rows] * np.float32(2)

    stored_nbytes = property(lambda self: self.half.nbytes)
    stored_held = property(lambda self: "memory")


@pytest.fixture(scope="module")
def gensim_vectors(packaged_model):
    keyed_vectors = pytest.importorskip("gensim").models.KeyedVectors
    vectors = keyed_vectors(packaged_model.dim)
    vectors.add_vectors(list(packaged_model.vocab), packaged_model.vectors)
    return vectors


def assert_same_words(ours, theirs):
    assert len(ours) == len(theirs)
    np.testing.assert_allclose(
        [cosine for _, cosine in ours], [cosine for _, cosine in theirs], atol=1e-5
    )
    # Words that share one vector come in any order.
    cosines = dict(ours)
    last = ours[-1][1]
    for (word, cosine), (their_word, their_cosine) in zip(ours, theirs, strict=True):
        tied = abs(cosines.get(their_word, last) - their_cosine) < 1e-6
        assert word == their_word or tied, (word, their_word, cosine)


class TestMostSimilar:
    @pytest.mark.parametrize(
        ("positive", "negative"),
        [
            ("nurse", None),
            (["nurse"], []),
            (["king", "woman"], ["man"]),
            (["king", "woman"], "man"),
            ([("king", 2.0), "woman"], [("man", -0.5)]),
            (["adam", "Catholic_priest"], None),
            (["she", "she"], ["he"]),
        ],
    )
    @pytest.mark.parametrize("topn", [1, 10, 500])
    def test_agrees_with_gensim(self, packaged_model, gensim_vectors, positive, negative, topn):
        ours = most_similar(packaged_model, positive, negative, topn)
        theirs = gensim_vectors.most_similar(positive, negative, topn=topn)
        assert_same_words(ours, theirs)

    def test_agrees_with_gensim_for_a_hundred_words(self, packaged_model, gensim_vectors):
        words = list(packaged_model.vocab)[::100]
        for word in words:
            assert_same_words(most_similar(packaged_model, word), gensim_vectors.most_similar(word))

    def test_agrees_with_gensim_on_vectors(self, packaged_model, gensim_vectors):
        she, he = packaged_model["she"], packaged_model["he"]
        assert_same_words(
            most_similar(packaged_model, she - he), gensim_vectors.most_similar([she - he])
        )
        for positive, negative in [([she, "nurse"], [he]), (np.stack([she, he]), None)]:
            theirs = gensim_vectors.most_similar(
                positive if isinstance(positive, list) else list(positive), negative
            )
            assert_same_words(most_similar(packaged_model, positive, negative), theirs)

    def test_agrees_with_gensim_on_the_first_words(self, packaged_model, gensim_vectors):
        ours = most_similar(packaged_model, "Catholic_priest", restrict_vocab=300)
        theirs = gensim_vectors.most_similar("Catholic_priest", restrict_vocab=300)
        assert_same_words(ours, theirs)

    def test_wraps_gensim_vectors(self, packaged_model, gensim_vectors):
        wrapped = WordEmbeddingModel(gensim_vectors, "wrapped")
        assert most_similar(wrapped, "nurse") == most_similar(packaged_model, "nurse")

    def test_subwords(self):
        models = pytest.importorskip("gensim").models
        sentences = [["nurse", "doctor", "ward"], ["king", "queen", "palace"]]
        trained = models.FastText(sentences, vector_size=8, min_count=1, epochs=1, bucket=50)
        model = WordEmbeddingModel(trained.wv, use_subwords=True)
        assert_same_words(most_similar(model, "nurses"), trained.wv.most_similar("nurses"))
        assert len(neighbors_of(model, ["nurses", "king"], 5)) == 10
        with pytest.raises(KeyError, match="nurses"):
            most_similar(WordEmbeddingModel(trained.wv), "nurses")

    def test_result_is_plain_python(self, packaged_model):
        [(word, cosine)] = most_similar(packaged_model, "nurse", topn=np.int64(1))
        assert (type(word), type(cosine)) == (str, float)

    def test_gives_all_there_are(self):
        vectors = np.array([[1.0, 0], [1, 1], [0, 0], [0, 1]])
        model = WordEmbeddingModel((["a", "b", "zero", "c"], vectors))
        assert [word for word, _ in most_similar(model, "a", topn=99)] == ["b", "c"]
        assert most_similar(model, ["a", "b", "zero", "c"][:1], topn=5, restrict_vocab=1) == []

    def test_words_in_another_order_than_rows(self):
        class Table:
            vectors = np.array([[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
            key_to_index = {"c": 2, "a": 0, "b": 1}  # noqa: RUF012

        assert most_similar(WordEmbeddingModel(Table()), "a", topn=1)[0][0] == "b"

    def test_stored_vectors_are_not_made_all_at_once(self, packaged_model):
        words, vectors = list(packaged_model.vocab), packaged_model.vectors
        stored = Halved(words, vectors)
        model = WordEmbeddingModel(stored)
        assert most_similar(model, ["king", "woman"], ["man"]) == most_similar(
            packaged_model, ["king", "woman"], ["man"]
        )
        assert neighbors_of(model, words[:20]).equals(neighbors_of(packaged_model, words[:20]))
        assert stored._all is None
        assert stored.most_made < len(words)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({}, ValueError, "positive and negative are empty"),
            ({"positive": []}, ValueError, "positive and negative are empty"),
            ({"positive": "qwerty"}, KeyError, "'qwerty' is not in the vocabulary of toy"),
            ({"positive": "she", "negative": "she"}, ValueError, "cancel each other out"),
            ({"positive": 3}, TypeError, "positive must be a word, a vector, or a list"),
            ({"negative": [3]}, TypeError, "negative: element 0 must be a word or a vector"),
            ({"positive": np.ones(4)}, ValueError, r"element 0 must have shape \(3,\); got \(4,\)"),
            ({"positive": np.zeros(3)}, ValueError, "element 0 is zero or holds NaN"),
            ({"positive": ["she", np.full(3, np.nan)]}, ValueError, "element 1 is zero or holds"),
            ({"positive": "zero"}, ValueError, "vector of 'zero' in toy is zero, or not finite"),
            ({"positive": "she", "topn": 0}, ValueError, "topn must be an integer of at least 1"),
            ({"positive": "she", "restrict_vocab": 0}, ValueError, "restrict_vocab must be an int"),
        ],
    )
    def test_refusals(self, toy_model, arguments, error, message):
        vectors = np.vstack([toy_model.vectors, np.zeros(3)])
        model = WordEmbeddingModel(([*toy_model.vocab, "zero"], vectors), "toy")
        with pytest.raises(error, match=message):
            most_similar(model, **arguments)

    @pytest.mark.parametrize("function", [most_similar, neighbors_of])
    def test_selected_vectors_teach(self, function):
        table = SelectedVectors(["she"], [[1.0, 0.0]], asked=["she", "xyzzy"], label="file")
        model = WordEmbeddingModel(table, "some")
        with pytest.raises(ValueError, match=r"opened for 2 words only.*hold='memory'.*mapped"):
            function(model, ["she"])
        with pytest.raises(ValueError, match="opened for"):
            function(model, ["he"])
        assert issubclass(UnreadWordError, KeyError)

    @pytest.mark.parametrize("function", [most_similar, neighbors_of])
    def test_refuses_what_is_no_model(self, function):
        with pytest.raises(TypeError, match="model must be a WordEmbeddingModel"):
            function(ArrayVectors(["a"], [[1.0]]), ["a"])


class TestNeighborsOf:
    def test_agrees_with_most_similar(self, packaged_model):
        words = ["nurse", "Adam", "nurse", "Catholic_priest"]
        table = neighbors_of(packaged_model, words, k=6)
        assert table.columns.tolist() == ["word", "rank", "neighbor", "cosine"]
        assert table["word"].tolist() == [word for word in words for _ in range(6)]
        assert table["rank"].tolist() == [1, 2, 3, 4, 5, 6] * 4
        for place, word in enumerate(words):
            block = table[6 * place : 6 * place + 6]
            near = most_similar(packaged_model, word, topn=6)
            assert block["neighbor"].tolist() == [other for other, _ in near]
            np.testing.assert_allclose(block["cosine"], [cosine for _, cosine in near], atol=1e-7)

    def test_approximate(self, many_vectors):
        pytest.importorskip("faiss")
        words = [str(row) for row in range(len(many_vectors))]
        model = WordEmbeddingModel((words, many_vectors))
        near = neighbors_of(model, words[10:60], approximate=True)
        assert np.mean(near["neighbor"] == neighbors_of(model, words[10:60])["neighbor"]) > 0.9

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"words": []}, ValueError, "words is empty"),
            ({"words": "nurse"}, TypeError, "words must be a list"),
            ({"words": ["she", "qwerty"]}, KeyError, "qwerty"),
            ({"words": ["she"], "k": 13}, ValueError, "k=13 is more than the 12 neighbours"),
            ({"words": ["she"], "k": 0}, ValueError, "k must be an integer of at least 1"),
        ],
    )
    def test_refusals(self, toy_model, arguments, error, message):
        with pytest.raises(error, match=message):
            neighbors_of(toy_model, **arguments)


def test_needs_neither_faiss_nor_pandas_until_used():
    code = (
        "import sys, wefe.models._neighbors; "
        "assert not {'faiss', 'pandas', 'gensim', 'sklearn'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert importlib.import_module("wefe.models._neighbors") is module


# Candidates by cosines in float32 first, for many neighbours of vectors in memory


@pytest.mark.parametrize("kind", ["random", "copies", "nearly equal", "few directions"])
@pytest.mark.parametrize("dtype", WIDTHS)
def test_candidates_lead_to_the_same_bits_as_one_exact_pass(kind, dtype, monkeypatch):
    rng = np.random.default_rng(8)
    vectors = rng.normal(size=(300, 6))
    if kind == "copies":
        vectors = vectors[rng.integers(9, size=300)] * rng.integers(1, 3, (300, 1))
    elif kind == "nearly equal":
        vectors = vectors[:1] + 1e-6 * vectors
    elif kind == "few directions":
        vectors[rng.random(300) < 0.85] = 0
    vectors = vectors.astype(dtype)
    picked = np.flatnonzero(vectors.any(axis=1))[:20]
    exclude = [[row, int(picked[0])] for row in picked]

    def search(candidates_from):
        monkeypatch.setattr(module, "CANDIDATES_FROM", candidates_from)
        return nearest_neighbors(vectors, vectors[picked], 21, exclude=exclude, buffer_mb=0.02)

    for found, expected in zip(search(1), search(10**9), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_cosines_in_float64_are_computed_of_candidates_only(monkeypatch):
    vectors = random_vectors(5_000)
    pairs = []
    cosines = module._Task.cosines

    def counted(task, of_vectors, of_query):
        pairs.append(len(of_query))
        return cosines(task, of_vectors, of_query)

    monkeypatch.setattr(module._Task, "cosines", counted)
    rows, _ = nearest_neighbors(vectors, vectors[:30], 100, buffer_mb=0.1)
    assert sum(pairs) == 30 * 116
    np.testing.assert_array_equal(rows, oracle(vectors, vectors[:30], 100)[0])
