"""Nearest neighbours: against an oracle that sorts everything, against gensim, and in memory."""

import numpy as np
import pytest
from model_files import at_most

from wefe.models import WordEmbeddingModel
from wefe.models import _search as module
from wefe.models._search import nearest_neighbors, search
from wefe.models._tables import unchecked_table


def random_vectors(n_words, dim=16, seed=0):
    return np.random.default_rng(seed).normal(size=(n_words, dim)).astype(np.float32)


def every_cosine(vectors, queries, exclude):
    """Compute every cosine in the widest floats; -inf where there can be no neighbour."""
    with np.errstate(all="ignore"):
        unit = []
        for rows in (vectors.astype(np.longdouble), queries.astype(np.longdouble)):
            scaled = rows / np.abs(rows).max(axis=1, keepdims=True)
            unit.append(scaled / np.sqrt((scaled**2).sum(axis=1, keepdims=True)))
        cosines = unit[1] @ unit[0].T
    cosines[~np.isfinite(cosines)] = -np.inf
    for query, rows in enumerate(exclude or []):
        cosines[query, rows] = -np.inf
    return cosines.astype(float)


def check_against_oracle(vectors, queries, k, exclude=None):
    rows, cosines = nearest_neighbors(vectors, queries, k, exclude=exclude)
    every = every_cosine(vectors, queries, exclude)
    assert (rows.shape, rows.dtype, cosines.dtype) == ((len(queries), k), np.int64, np.float64)
    # Of vectors as near as float32 can tell, any may be found.
    np.testing.assert_allclose(cosines, -np.sort(-every, axis=1)[:, :k], atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(every, rows, axis=1), cosines, atol=1e-14)
    assert all(len(set(row)) == k for row in rows.tolist())
    # Of equal cosines the lower row comes first.
    assert not ((np.diff(rows, axis=1) < 0) & (np.diff(cosines, axis=1) >= 0)).any()
    return rows, cosines


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_rows", [7, module.ROWS])
@pytest.mark.parametrize(("dtype", "tens"), [("f2", 2), ("f4", 15), ("f8", 15)])
def test_agrees_with_the_oracle_whatever_the_blocks(monkeypatch, n_rows, dtype, tens):
    monkeypatch.setattr(module, "ROWS", n_rows)
    monkeypatch.setattr(module, "QUERIES", 3)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        # Small integers make ties, copies and zero vectors; a scale makes extreme lengths.
        width, dim = rng.choice([2, 3, 50]), rng.integers(1, 12)
        vectors, queries = rng.integers(-width + 1, width, size=(2, 40, dim)).astype(dtype)
        if seed % 2:
            scale = np.power(np.longdouble(10), rng.integers(-tens, tens, size=(40, 1)))
            with np.errstate(all="ignore"):
                vectors = (vectors * scale).astype(dtype)
        vectors[rng.integers(40), 0] = rng.choice([0, np.nan, np.inf])
        queries = queries[queries.any(axis=1)][:5]
        exclude = rng.integers(0, 40, size=len(queries)).tolist()
        n_there = np.isfinite(every_cosine(vectors, queries, exclude)).sum(axis=1).min(initial=40)
        for k in {min(n_there, 3), n_there} - {0}:
            check_against_oracle(vectors, queries, int(k), exclude)


def test_of_copies_any_are_found_the_lower_rows_first():
    vectors = np.tile(random_vectors(5, dim=30), (60, 1))
    rows, cosines = check_against_oracle(vectors, vectors[:5], 40)
    assert (rows % 5 == np.arange(5)[:, None]).all()
    assert (cosines == 1).all()


def test_vectors_without_direction_are_no_neighbours():
    vectors = random_vectors(30)
    vectors[3], vectors[4, 2], vectors[5, 0], vectors[6, :2] = 0, np.nan, -np.inf, np.inf
    with pytest.raises(ValueError, match="k=27 .* 26 neighbours that query 0"):
        nearest_neighbors(vectors, vectors[:3], 27)
    rows, cosines = search(vectors, vectors[:3], 40)
    assert not {3, 4, 5, 6} & set(rows.ravel().tolist())
    assert (rows[:, 26:] == -1).all()
    assert (cosines[:, 26:] == -np.inf).all()


def test_storage_does_not_matter(write):
    vectors = random_vectors(500)
    expected = nearest_neighbors(vectors, vectors[:9], 5)
    # An odd offset, as a header makes: the numbers are not aligned.
    path = write(b"abc" + vectors.tobytes())
    mapped = np.memmap(path, np.float32, "r", 3, vectors.shape)
    for kind in (mapped, np.asfortranarray(vectors), vectors.astype(">f4")):
        rows, cosines = nearest_neighbors(kind, vectors[:9].astype(np.float64), 5)
        np.testing.assert_array_equal(rows, expected[0])
        np.testing.assert_allclose(cosines, expected[1], rtol=1e-14)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "CELLS", 1_000_000)
    vectors = random_vectors(200_000, 64)
    # The vectors take 51 MB.
    with at_most(40e6):
        nearest_neighbors(vectors, vectors[-300:], 10)


# Approximate search


@pytest.mark.parametrize("k", [10, 30_000])
def test_approximate_search_finds_most_and_their_exact_cosines(monkeypatch, k):
    pytest.importorskip("faiss")
    groups = np.random.default_rng(0).integers(400, size=33_000)
    clustered = random_vectors(400)[groups] + 0.4 * random_vectors(33_000, seed=1)
    clustered[5] = 0
    queries, exclude = clustered[10:20], range(10, 20)
    exact_rows, exact = nearest_neighbors(clustered, queries, k, exclude=exclude)
    if k == 10:
        monkeypatch.setattr(module, "_scan", None)
    rows, cosines = nearest_neighbors(clustered, queries, k, exclude=exclude, approximate=True)
    found = [len(set(a) & set(b)) / k for a, b in zip(rows, exact_rows, strict=True)]
    # The cells do not hold so many, so that all are looked at.
    assert np.mean(found) == 1 if k > 10 else np.mean(found) > 0.95
    same = rows == exact_rows
    np.testing.assert_array_equal(cosines[same], exact[same])
    assert not any({5, 10 + query} & set(near) for query, near in enumerate(rows.tolist()))


# The nearest words of words


def assert_same_words(ours, theirs):
    cosines = [[cosine for _, cosine in found] for found in (ours, theirs)]
    np.testing.assert_allclose(*cosines, atol=1e-5)
    # Words that share one vector come in any order, and the last may be others.
    for word, cosine in theirs:
        assert dict(ours).get(word, cosines[0][-1]) == pytest.approx(cosine, abs=1e-5)


@pytest.mark.parametrize(
    ("positive", "negative"), [("nurse", []), (["king", "woman"], "man"), (["she", "she"], ["he"])]
)
def test_most_similar_agrees_with_gensim(packaged_model, positive, negative):
    theirs = pytest.importorskip("gensim").models.KeyedVectors(packaged_model.dim)
    theirs.add_vectors(list(packaged_model.vocab), packaged_model.vectors)
    for topn in (1, 500):
        ours = packaged_model.most_similar(positive, negative, topn)
        assert_same_words(ours, theirs.most_similar(positive, negative, topn=topn))


def test_words_built_of_subwords_have_neighbours(gensim_model):
    trained = gensim_model("FastText").wv
    model = WordEmbeddingModel(trained, use_subwords=True)
    assert_same_words(model.most_similar("readers"), trained.most_similar("readers"))
    with pytest.raises(KeyError, match="readers"):
        WordEmbeddingModel(trained).most_similar("readers")


def test_most_similar_gives_all_there_are_whatever_the_order_of_the_words():
    vectors = np.array([[1.0, 0], [1, 1], [0, 0], [0, 1]])
    table = unchecked_table({"c": 3, "a": 0, "zero": 2, "b": 1}, vectors)
    model = WordEmbeddingModel(table)
    assert [word for word, _ in model.most_similar("a", topn=99)] == ["b", "c"]


SIX = random_vectors(6)
most_similar = WordEmbeddingModel.most_similar


@pytest.mark.parametrize(
    ("function", "arguments", "error", "culprit"),
    [
        (nearest_neighbors, {"k": 0}, ValueError, "k must"),
        (nearest_neighbors, {"k": 6, "exclude": [2, 3]}, ValueError, "k=6 .* 5 .* query 0"),
        (nearest_neighbors, {"queries": SIX[0]}, ValueError, "queries must be 2-d"),
        (nearest_neighbors, {"queries": 0 * SIX[:2]}, ValueError, "queries: row 0"),
        (nearest_neighbors, {"exclude": [0]}, ValueError, "exclude must be"),
        (nearest_neighbors, {"exclude": [0, -1]}, ValueError, "exclude must be"),
        (most_similar, {"positive": []}, ValueError, "the sum of"),
        (most_similar, {"positive": "qwerty"}, KeyError, "'qwerty' .* toy"),
        (most_similar, {"positive": "she", "negative": "she"}, ValueError, "the sum"),
        (most_similar, {"positive": "zero"}, ValueError, "'zero'"),
    ],
)
def test_wrong_arguments_are_named(toy_model, function, arguments, error, culprit):
    vectors = np.vstack([toy_model.vectors, np.zeros(3)])
    model = WordEmbeddingModel(([*toy_model.vocab, "zero"], vectors), "toy")
    if function is nearest_neighbors:
        model, arguments = SIX, {"queries": SIX[:2], "k": 2} | arguments
    with pytest.raises(error, match=culprit):
        function(model, **arguments)
