"""Nearest neighbours: against an oracle that sorts everything, against gensim, and in memory."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.models import WordEmbeddingModel
from wefe.models import _search as module
from wefe.models._passes import neighbors_of
from wefe.models._search import nearest_neighbors, search
from wefe.models._tables import ArrayVectors, StoredVectors

WIDTHS = [np.float16, np.float32, np.float64]


def most_similar(model, *args, **options):
    return model.most_similar(*args, **options)


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


def check_against_oracle(vectors, queries, k, exclude=None):
    rows, cosines = nearest_neighbors(vectors, queries, k, exclude=exclude)
    _, expected, every = oracle(np.asarray(vectors), queries, k, exclude)
    assert (rows.shape, rows.dtype, cosines.dtype) == ((len(queries), k), np.int64, np.float64)
    # Of vectors as near as float32 can tell, any may be found.
    np.testing.assert_allclose(cosines, expected.astype(float), atol=1e-6)
    np.testing.assert_allclose(
        np.take_along_axis(every, rows, axis=1).astype(float), cosines, atol=1e-14
    )
    assert all(len(set(row)) == k for row in rows.tolist())
    # Of equal cosines the lower row comes first.
    assert not ((np.diff(rows, axis=1) < 0) & (np.diff(cosines, axis=1) >= 0)).any()
    return rows, cosines


@st.composite
def searches(draw):
    """Small integers make ties, duplicates and zero vectors; a scale makes extreme lengths."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_words, n_queries = draw(st.integers(2, 60)), draw(st.integers(0, 8))
    dim, dtype = draw(st.integers(1, 12)), draw(st.sampled_from(WIDTHS))
    width = draw(st.sampled_from([2, 3, 50]))
    vectors = rng.integers(-width + 1, width, size=(n_words, dim)).astype(dtype)
    if draw(st.booleans()):
        limit = {2: 2, 4: 30, 8: 290}[np.dtype(dtype).itemsize]
        tens = rng.integers(-limit, limit, size=(n_words, 1))
        with np.errstate(all="ignore"):
            vectors = (vectors * np.power(np.longdouble(10), tens)).astype(dtype)
    if draw(st.booleans()):
        vectors[rng.integers(n_words), rng.integers(dim)] = draw(st.sampled_from([np.nan, np.inf]))
    queries = rng.integers(-width + 1, width, size=(n_queries, dim)).astype(dtype)
    queries[~queries.any(axis=1), 0] = 1
    exclude = [rng.integers(0, n_words, size=rng.integers(0, 3)).tolist() for _ in range(n_queries)]
    directed = set(np.flatnonzero(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)).tolist())
    available = min(len(directed - set(rows)) for rows in [[], *exclude])
    if available < 1:
        return draw(searches())
    return vectors, queries, draw(st.integers(1, available)), exclude


class TestNearestNeighbors:
    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("n_rows", [1, 7, module.ROWS])
    @given(searches())
    @settings(max_examples=150, deadline=None)
    def test_agrees_with_the_oracle_whatever_the_blocks(self, n_rows, task):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(module, "ROWS", n_rows)
            patched.setattr(module, "QUERIES", 3 if n_rows == 7 else 1_024)
            check_against_oracle(*task)

    def test_of_copies_any_are_found_the_lower_rows_first(self):
        vectors = np.tile(random_vectors(5, dim=30), (60, 1))
        rows, cosines = check_against_oracle(vectors, vectors[:5], 40)
        assert (rows % 5 == np.arange(5)[:, None]).all()
        assert (cosines == 1).all()
        rows, _ = check_against_oracle(vectors, vectors[:5], 60)
        np.testing.assert_array_equal(rows, np.arange(5)[:, None] + np.arange(0, 300, 5))

    def test_words_nearer_and_nearer(self, monkeypatch):
        monkeypatch.setattr(module, "ROWS", 1_000)
        angles = np.linspace(np.pi, 0.1, 20_000)
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        rows, _ = nearest_neighbors(vectors, vectors[-1:], 5, exclude=[19_999])
        assert rows.tolist() == [[19998, 19997, 19996, 19995, 19994]]

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        ("dtype", "lengths"),
        [(np.float32, [3e38, 1e-45, 1e-30, 3e38]), (np.float64, [1e300, 5e-324, 1e-300, 1.7e308])],
    )
    def test_extreme_lengths_do_not_matter(self, dtype, lengths):
        unit = np.eye(4)
        unit[3, 2] = 1
        vectors = (unit * np.array(lengths)[:, None]).astype(dtype)
        rows, cosines = nearest_neighbors(vectors, vectors[2:3], 2)
        assert rows.tolist() == [[2, 3]]
        np.testing.assert_allclose(cosines, [[1, 0.5**0.5]])

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("dtype", WIDTHS)
    def test_vectors_without_direction_are_no_neighbours(self, dtype):
        vectors = random_vectors(30, dtype=dtype)
        vectors[3], vectors[4, 2], vectors[5, 0], vectors[6, :2] = 0, np.nan, -np.inf, np.inf
        rows, _ = nearest_neighbors(vectors, vectors[:3], 26)
        assert not {3, 4, 5, 6} & set(rows.ravel().tolist())
        with pytest.raises(ValueError, match="k=27 is more than the 26 neighbours that query 0"):
            nearest_neighbors(vectors, vectors[:3], 27)
        rows, cosines = search(vectors, vectors[:3], 40)
        assert (rows[:, 26:] == -1).all()
        assert (cosines[:, 26:] == -np.inf).all()

    def test_storage_does_not_matter(self, tmp_path):
        vectors = random_vectors(500)
        expected = nearest_neighbors(vectors, vectors[:9], 5)
        path = tmp_path / "vectors.bin"
        # An odd offset, as a header makes: the numbers are not aligned.
        path.write_bytes(b"abc" + vectors.tobytes())
        mapped = np.memmap(path, np.float32, "r", 3, vectors.shape)
        wide = np.zeros((500, 40), np.float32)
        wide[:, 3:35:2] = vectors
        for kind in (mapped, np.asfortranarray(vectors), vectors.astype(">f4"), wide[:, 3:35:2]):
            rows, cosines = nearest_neighbors(kind, vectors[:9].astype(np.float64), 5)
            np.testing.assert_array_equal(rows, expected[0])
            np.testing.assert_allclose(cosines, expected[1], rtol=1e-14)

    def test_exclude_takes_a_row_or_rows_for_each_query(self):
        vectors = random_vectors(50)
        rows, _ = nearest_neighbors(vectors, vectors[:4], 49, exclude=np.arange(4))
        assert all(query not in row for query, row in enumerate(rows.tolist()))
        ragged = [[], [1, 1, 2], np.array([7]), 3]
        rows, _ = nearest_neighbors(vectors, vectors[:4], 48, exclude=ragged)
        assert 0 in rows[0]
        unwanted = zip(ragged, rows.tolist(), strict=True)
        assert all(not set(np.atleast_1d(some)) & set(row) for some, row in unwanted)

    @pytest.mark.parametrize("n_queries", [1, 1_000])
    @pytest.mark.parametrize("kind", ["random", "copies", "nearest last"])
    def test_memory_is_bounded(self, n_queries, kind, monkeypatch):
        monkeypatch.setattr(module, "CELLS", 1_000_000)
        vectors = random_vectors(200_000, 64)
        if kind == "copies":
            vectors[:] = 1
        if kind == "nearest last":
            vectors += np.linspace(0, 3, len(vectors), dtype=np.float32)[:, None]
        tracemalloc.start()
        nearest_neighbors(vectors, vectors[-n_queries:], 10)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # The vectors take 51 MB.
        assert peak < 40e6

    VECTORS = random_vectors(6)

    @pytest.mark.parametrize(
        ("arguments", "error", "culprit"),
        [
            ({"k": 0}, ValueError, "k must"),
            ({"k": 2.0}, TypeError, "k must"),
            ({"k": 6, "exclude": [[], [2, 3]]}, ValueError, "k=6 .* 4 .* query 1"),
            ({"queries": VECTORS[0]}, ValueError, r"queries .* \(n_queries, 16\)"),
            ({"queries": np.ones((2, 16), int)}, TypeError, "queries .* int64"),
            ({"queries": np.eye(2, 16) - np.eye(1, 16)}, ValueError, "queries: row 0"),
            ({"queries": np.full((1, 16), np.nan)}, ValueError, "queries: row 0"),
            ({"vectors": VECTORS[0]}, ValueError, "vectors must be 2-d"),
            ({"exclude": [0]}, ValueError, "exclude .* 2 queries.* 1 entries"),
            ({"exclude": "ab"}, ValueError, "exclude"),
            ({"exclude": [0, 6]}, ValueError, "exclude .* 0 to 5.* 6"),
            ({"exclude": [0, -1]}, ValueError, "exclude .*-1"),
            ({"exclude": [0.0, 1.0]}, ValueError, "exclude .* integer "),
            ({"approximate": 1}, TypeError, "approximate"),
        ],
    )
    def test_refusals(self, arguments, error, culprit):
        defaults = {"vectors": self.VECTORS, "queries": self.VECTORS[:2], "k": 2}
        with pytest.raises(error, match=culprit):
            nearest_neighbors(**{**defaults, **arguments})

    def test_no_queries(self):
        rows, cosines = nearest_neighbors(random_vectors(5), np.empty((0, 16)), 3)
        assert rows.shape == cosines.shape == (0, 3)


@pytest.fixture(scope="module")
def clustered():
    rng = np.random.default_rng(0)
    vectors = random_vectors(400)[rng.integers(400, size=33_000)]
    vectors += 0.4 * random_vectors(33_000, seed=1)
    vectors[5] = 0
    return vectors


class TestApproximateSearch:
    def test_small_tables_are_searched_exactly(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "faiss", None)
        vectors = random_vectors(500)
        near = nearest_neighbors(vectors, vectors[:5], 4, approximate=True)
        np.testing.assert_array_equal(near, nearest_neighbors(vectors, vectors[:5], 4))

    def test_needs_faiss(self, clustered, monkeypatch):
        monkeypatch.setitem(sys.modules, "faiss", None)
        with pytest.raises(ImportError, match=r"pip install 'wefe\[neighbors\]'"):
            nearest_neighbors(clustered, clustered[:1], 1, approximate=True)

    @pytest.mark.parametrize("k", [10, 30_000])
    def test_finds_most_and_their_exact_cosines(self, clustered, k):
        pytest.importorskip("faiss")
        queries, exclude = clustered[10:20], [[row, 3] for row in range(10, 20)]
        rows, cosines = nearest_neighbors(clustered, queries, k, exclude=exclude, approximate=True)
        exact_rows, exact = nearest_neighbors(clustered, queries, k, exclude=exclude)
        found = [len(set(a) & set(b)) / k for a, b in zip(rows, exact_rows, strict=True)]
        # The cells do not hold so many, so that all are looked at.
        assert np.mean(found) == 1 if k > 10 else np.mean(found) > 0.95
        same = rows == exact_rows
        np.testing.assert_array_equal(cosines[same], exact[same])
        assert not any(
            {3, 5, row} & set(near) for row, near in zip(range(10, 20), rows.tolist(), strict=True)
        )


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

    def test_subwords(self):
        models = pytest.importorskip("gensim").models
        sentences = [["nurse", "doctor", "ward"], ["king", "queen", "palace"]]
        trained = models.FastText(sentences, vector_size=8, min_count=1, epochs=1, bucket=50)
        model = WordEmbeddingModel(trained.wv, use_subwords=True)
        assert_same_words(most_similar(model, "nurses"), trained.wv.most_similar("nurses"))
        assert len(neighbors_of(model, ["nurses", "king"], 5)) == 10
        with pytest.raises(KeyError, match="nurses"):
            most_similar(WordEmbeddingModel(trained.wv), "nurses")

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

    def test_stored_vectors_are_not_made_all_at_once(self, packaged_model, monkeypatch):
        monkeypatch.setattr(module, "ROWS", 1_000)
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
        ("arguments", "error", "culprit"),
        [
            ({}, ValueError, "positive and negative are empty"),
            ({"positive": []}, ValueError, "positive and negative are empty"),
            ({"positive": "qwerty"}, KeyError, "'qwerty' .* toy"),
            ({"positive": "she", "negative": "she"}, ValueError, "cancel each other out"),
            ({"positive": 3}, TypeError, "positive"),
            ({"negative": [3]}, TypeError, "negative: element 0"),
            ({"positive": np.ones(4)}, ValueError, r"positive: element 0 .*\(4,\)"),
            ({"positive": ["she", np.full(3, np.nan)]}, ValueError, "positive: element 1"),
            ({"positive": "zero"}, ValueError, "'zero'"),
            ({"positive": "she", "topn": 0}, ValueError, "topn"),
            ({"positive": "she", "restrict_vocab": 0}, ValueError, "restrict_vocab"),
        ],
    )
    def test_refusals(self, toy_model, arguments, error, culprit):
        vectors = np.vstack([toy_model.vectors, np.zeros(3)])
        model = WordEmbeddingModel(([*toy_model.vocab, "zero"], vectors), "toy")
        with pytest.raises(error, match=culprit):
            most_similar(model, **arguments)

    @pytest.mark.parametrize("function", [most_similar, neighbors_of])
    def test_needs_a_model_with_its_whole_vocabulary(self, function):
        table = ArrayVectors(["she"], [[1.0, 0.0]], requested=["she", "xyzzy"], label="file")
        with pytest.raises(ValueError, match=r"some was opened for 2 words only.*hold='memory'"):
            function(WordEmbeddingModel(table, "some"), ["she"])


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

    @pytest.mark.parametrize(
        ("arguments", "error", "culprit"),
        [
            ({"words": []}, ValueError, "words"),
            ({"words": "nurse"}, TypeError, "words"),
            ({"words": ["she", "qwerty"]}, KeyError, "qwerty"),
            ({"words": ["she"], "k": 13}, ValueError, "k=13 .* 12 neighbours"),
            ({"words": ["she"], "k": 0}, ValueError, "k must"),
            ({"words": ["she"], "approximate": 1}, TypeError, "approximate"),
        ],
    )
    def test_refusals(self, toy_model, arguments, error, culprit):
        with pytest.raises(error, match=culprit):
            neighbors_of(toy_model, **arguments)


def test_needs_neither_faiss_nor_pandas_until_used():
    code = (
        "import sys, wefe.models._search; "
        "assert not {'faiss', 'pandas', 'gensim', 'sklearn'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
