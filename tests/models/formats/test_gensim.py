"""What gensim saved is opened if it is trusted, mapped where it can be, and never run before."""

import pickle
import shutil
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wefe.models import WordEmbeddingModel
from wefe.models.formats._gensim import open_gensim
from wefe.models.formats._source import Reading

gensim_models = pytest.importorskip("gensim.models")

TRUSTED = Reading(trust_pickle=True)
WORDS = ["she", "he", "naïve", ".", "語"]
VECTORS = np.arange(15, dtype=np.float32).reshape(5, 3) / 7
CORPUS = [["she", "reads", "math"], ["he", "reads", "art"], ["she", "likes", "art"]] * 5
TRAINING = {"vector_size": 4, "min_count": 1, "epochs": 1, "workers": 1, "seed": 1}


def keyed_vectors():
    table = gensim_models.KeyedVectors(3)
    table.add_vectors(WORDS, VECTORS)
    return table


@pytest.fixture
def together(tmp_path):
    path = tmp_path / "m.kv"
    keyed_vectors().save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["m.kv"]
    return path


@pytest.fixture
def apart(tmp_path):
    """The vectors in a file of their own, as gensim saves large ones."""
    path = tmp_path / "m.kv"
    keyed_vectors().save(str(path), separately=["vectors"])
    assert (tmp_path / "m.kv.vectors.npy").is_file()
    return path


@pytest.fixture(scope="module")
def trained():
    return {
        "Word2Vec": gensim_models.Word2Vec(CORPUS, **TRAINING),
        "FastText": gensim_models.FastText(CORPUS, bucket=50, **TRAINING),
        "Doc2Vec": gensim_models.Doc2Vec(
            [
                gensim_models.doc2vec.TaggedDocument(words, [tag])
                for tag, words in enumerate(CORPUS)
            ],
            **TRAINING,
        ),
    }


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_nothing_is_unpickled_unless_it_is_trusted(tmp_path):
    mark = tmp_path / "mark"
    path = tmp_path / "m.kv"
    path.write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(ValueError, match=r"m.kv is a pickle.*run any code.*trust_pickle=True"):
        open_gensim(path, Reading())
    assert not mark.exists()
    # The bomb does work: whoever trusts it gets what it does.
    with pytest.raises(ValueError, match="no file of gensim's"):
        open_gensim(path, TRUSTED)
    assert mark.exists()


@pytest.mark.parametrize("hold", [None, "memory", "selected"])
def test_words_and_vectors_are_those_saved(together, hold):
    source = open_gensim(together, Reading(trust_pickle=True, hold=hold))
    assert (source.name, source.dim, source.n_words) == ("m", 3, 5)
    [(words, vectors)] = source.blocks()
    assert words == WORDS
    np.testing.assert_array_equal(vectors, VECTORS)


@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "Doc2Vec"])
def test_models_give_the_vectors_of_their_words(tmp_path, trained, kind):
    trained[kind].save(str(tmp_path / "m.model"))
    source = open_gensim(tmp_path / "m.model", TRUSTED)
    assert source.table().index_to_key == trained[kind].wv.index_to_key
    np.testing.assert_array_equal(source.table().vectors, trained[kind].wv.vectors)


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
def test_files_that_gensim_compressed_are_opened(tmp_path, suffix):
    path = tmp_path / f"m.kv{suffix}"
    keyed_vectors().save(str(path), separately=["vectors"])
    assert (tmp_path / f"m.kv{suffix}.vectors.npz").is_file()
    np.testing.assert_array_equal(open_gensim(path, TRUSTED).table().vectors, VECTORS)


def test_the_name_of_a_file_is_no_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    path = tmp_path / "s3:" / "m [1]%20.kv"
    keyed_vectors().save(str(path), separately=["vectors"])
    for given_path in (path, path.relative_to(tmp_path)):
        assert open_gensim(given_path, TRUSTED).held == "mapped"


def test_vectors_of_their_own_file_are_mapped_and_the_file_never_changes(apart):
    companion = apart.with_name("m.kv.vectors.npy")
    before = companion.read_bytes()
    source = open_gensim(apart, Reading(trust_pickle=True, hold="mapped"))
    assert source.held == "mapped"
    model = WordEmbeddingModel(source.table())
    model.update("he", np.full(3, 9, np.float32))
    model.normalize()
    assert model["he"] == pytest.approx(np.full(3, 3**-0.5), rel=1e-6)
    assert companion.read_bytes() == before
    np.testing.assert_array_equal(open_gensim(apart, TRUSTED).table()["he"], VECTORS[1])


def test_in_memory_the_files_are_no_longer_needed(apart):
    source = open_gensim(apart, Reading(trust_pickle=True, hold="memory"))
    assert source.held == "memory"
    apart.with_name("m.kv.vectors.npy").write_bytes(b"")
    np.testing.assert_array_equal(source.table().vectors, VECTORS)


def test_vectors_within_the_pickle_cannot_be_mapped(together):
    with pytest.raises(ValueError, match=r"m.kv cannot be mapped.*within the pickle.*[Cc]onvert"):
        open_gensim(together, Reading(trust_pickle=True, hold="mapped"))


def test_vectors_that_fasttext_makes_of_ngrams_cannot_be_mapped(tmp_path, trained):
    path = tmp_path / "m.kv"
    trained["FastText"].wv.save(str(path), separately=["vectors_vocab", "vectors_ngrams"])
    assert open_gensim(path, TRUSTED).held == "memory"
    with pytest.raises(ValueError, match="made from their n-grams"):
        open_gensim(path, Reading(trust_pickle=True, hold="mapped"))


def test_fasttext_in_memory_keeps_nothing_mapped(tmp_path, trained):
    path = tmp_path / "m.kv"
    trained["FastText"].wv.save(str(path), separately=["vectors_vocab", "vectors_ngrams"])
    table = open_gensim(path, Reading(trust_pickle=True, hold="memory")).table()
    for file in tmp_path.glob("*.npy"):
        file.write_bytes(b"")
    expected = trained["FastText"].wv
    for word in ("she", "shes"):
        np.testing.assert_array_equal(table.get_vector(word), expected.get_vector(word))


@pytest.mark.parametrize(
    ("thing", "what"),
    [
        ({"she": [1.0]}, "no file of gensim's"),
        (VECTORS, "no file of gensim's"),
        ("a model", "no file of gensim's"),
    ],
    ids=["dict", "array", "str"],
)
def test_other_pickles_are_refused(tmp_path, thing, what):
    (tmp_path / "m.kv").write_bytes(pickle.dumps(thing))
    with pytest.raises(ValueError, match=rf"m\.kv.*{what}"):
        open_gensim(tmp_path / "m.kv", TRUSTED)


def test_models_without_vectors_of_words_are_refused(tmp_path):
    from gensim.corpora import Dictionary

    Dictionary(CORPUS).save(str(tmp_path / "m.model"))
    with pytest.raises(ValueError, match=r"holds no vectors of words.*found Dictionary"):
        open_gensim(tmp_path / "m.model", TRUSTED)


def test_vectors_of_documents_are_no_vectors_of_words(tmp_path, trained):
    trained["Doc2Vec"].dv.save(str(tmp_path / "m.kv"))
    with pytest.raises(ValueError, match=r"m\.kv: there is no word in it"):
        open_gensim(tmp_path / "m.kv", TRUSTED)


def test_numbers_are_no_words(tmp_path):
    table = gensim_models.KeyedVectors(3)
    table.add_vectors(["she", 10], VECTORS[:2])
    table.save(str(tmp_path / "m.kv"))
    with pytest.raises(ValueError, match=r"m\.kv: words must be strings; got int 10"):
        open_gensim(tmp_path / "m.kv", TRUSTED)


def test_a_missing_companion_is_named(apart):
    apart.with_name("m.kv.vectors.npy").unlink()
    with pytest.raises(ValueError, match=r"'m\.kv\.vectors\.npy' is missing"):
        open_gensim(apart, TRUSTED)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_gensim(tmp_path / "m.kv", TRUSTED)


@pytest.mark.parametrize("hold", [None, "memory"])
def test_a_companion_cut_anywhere_is_named(apart, hold):
    companion = apart.with_name("m.kv.vectors.npy")
    whole = companion.read_bytes()
    for length in range(len(whole)):
        companion.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"m\.kv\.vectors\.npy is damaged"):
            open_gensim(apart, Reading(trust_pickle=True, hold=hold))


def test_a_companion_of_fewer_rows_is_refused(apart):
    np.save(apart.with_name("m.kv.vectors.npy"), VECTORS[:4])
    with pytest.raises(ValueError, match="the 5 words do not fit 4 vectors"):
        open_gensim(apart, TRUSTED)


@pytest.mark.parametrize("vectors", [VECTORS.ravel(), VECTORS.astype(int)], ids=["1-d", "int"])
def test_a_companion_of_no_vectors_is_refused(apart, vectors):
    np.save(apart.with_name("m.kv.vectors.npy"), vectors)
    with pytest.raises(ValueError, match=r"m\.kv: vectors must"):
        open_gensim(apart, TRUSTED)


def test_a_pickle_cut_anywhere_is_refused(together, tmp_path):
    whole = together.read_bytes()
    for length in range(0, len(whole), 3):
        together.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"m\.kv"):
            open_gensim(together, TRUSTED)


# Of a changed pickle, numpy may make an array that it cannot take apart again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_changed_pickle_gives_an_error_or_a_whole_model(together, tmp_path, data):
    content = bytearray(together.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path / "changed.kv"
    path.write_bytes(content)
    try:
        source = open_gensim(path, TRUSTED)
    except ValueError as error:
        assert "changed.kv" in str(error)  # noqa: PT017
        return
    words, vectors = next(source.blocks())
    assert vectors.shape == (len(words), source.dim)
    assert all(isinstance(word, str) for word in words)


def test_counts_are_those_of_training(tmp_path, trained):
    trained["Word2Vec"].save(str(tmp_path / "m.model"))
    counts = open_gensim(tmp_path / "m.model", TRUSTED).counts
    assert dict(counts) == {"she": 10, "reads": 10, "math": 5, "he": 5, "likes": 5, "art": 10}
    assert type(counts["she"]) is int


def test_counts_that_gensim_made_up_are_not_believed(tmp_path):
    text = tmp_path / "m.txt"
    text.write_text("4 2\nshe 1 2\nhe 3 4\nart 5 6\nmath 7 8\n")
    table = gensim_models.KeyedVectors.load_word2vec_format(str(text))
    assert table.get_vecattr("she", "count") == 4
    table.save(str(tmp_path / "m.kv"))
    assert open_gensim(tmp_path / "m.kv", TRUSTED).counts is None


def test_without_counts_there_are_none(together):
    assert open_gensim(together, TRUSTED).counts is None


@pytest.mark.parametrize(
    ("subwords", "expected"), [(None, False), ("refuse", False), ("mean", True)]
)
def test_unseen_words_are_built_if_asked_for(tmp_path, trained, subwords, expected):
    trained["FastText"].save(str(tmp_path / "m.model"))
    source = open_gensim(tmp_path / "m.model", Reading(trust_pickle=True, subwords=subwords))
    assert source.use_subwords is expected
    model = WordEmbeddingModel(source.table(), use_subwords=source.use_subwords)
    assert ("shes" in model) is expected


def test_ngrams_have_no_first(tmp_path, trained):
    trained["FastText"].save(str(tmp_path / "m.model"))
    with pytest.raises(ValueError, match=r"mean of its n-grams.*subwords='mean'"):
        open_gensim(tmp_path / "m.model", Reading(trust_pickle=True, subwords="first"))


@pytest.mark.parametrize("subwords", ["first", "mean"])
def test_vectors_of_whole_words_have_no_subwords(together, subwords):
    with pytest.raises(ValueError, match="whole words only"):
        open_gensim(together, Reading(trust_pickle=True, subwords=subwords))


def test_without_gensim_the_error_says_what_to_install(together, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.utils", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[gensim\]"'):
        open_gensim(together, TRUSTED)
    # At once with the trust that it needs, too.
    with pytest.raises(ValueError, match=r'trust_pickle=True.*pip install "wefe\[gensim\]"'):
        open_gensim(together, Reading())


def test_files_may_be_moved_together(apart, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    for file in list(tmp_path.glob("m.kv*")):
        shutil.move(file, folder / file.name)
    np.testing.assert_array_equal(open_gensim(folder / "m.kv", TRUSTED).table().vectors, VECTORS)
