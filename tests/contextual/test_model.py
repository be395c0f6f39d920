"""An encoder with the face of a model: metrics, mitigation, copies, workers."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wefe import RND, WEAT, Query, WordEmbeddingModel, load  # noqa: E402
from wefe.contextual import Context, ContextualModel, load_encoder  # noqa: E402
from wefe.contextual._encoder import Encoder  # noqa: E402
from wefe.datasets import Criterion  # noqa: E402
from wefe.debias import HardDebias  # noqa: E402
from wefe.models import UnreadWordError  # noqa: E402

OPTIONS = {"cache": False, "progress": False}


@pytest.fixture
def encoder(tiny_bert):
    return load_encoder(tiny_bert, "tiny", **OPTIONS)


# As a model


def test_a_query_is_one_batch_and_prepare_does_several_at_once(encoder, query, words, n_runs):
    WEAT().run_query(query, encoder)
    assert n_runs == [12]
    WEAT().run_query(query, encoder)
    assert n_runs == [12]
    other = encoder.at_layer(1)
    other.prepare([query, "tree", "☃"])
    assert n_runs == [12, 13]
    WEAT().run_query(query, other)
    other.prepare(query)
    assert n_runs == [12, 13]
    assert list(other) == [*words, "tree"]


def test_asking_whether_a_word_is_there_encodes_nothing(encoder, n_runs):
    assert encoder
    assert "nurse" in encoder
    assert "nurse" in encoder.vocab
    assert "☃" not in encoder.vocab
    assert 3 not in encoder
    assert len(encoder) == 0
    assert n_runs == []
    assert encoder.vocab["nurse"] == 0
    with pytest.raises(KeyError):
        encoder.vocab["☃"]
    assert list(encoder) == ["nurse"]
    assert encoder.vectors.shape == (1, 16)
    assert n_runs == [1]


def test_vectors_cannot_be_changed(encoder):
    encoder.prepare(["she", "he"])
    for change in (
        lambda: encoder.update("she", np.zeros(16, dtype=np.float32)),
        encoder.normalize,
        lambda: encoder.vectors.fill(0),
        lambda: encoder["she"].fill(0),
    ):
        with pytest.raises(ValueError, match="read-only"):
            change()
    mine = encoder.encode_words(["she"])
    mine[:] = 0
    assert np.any(encoder["she"])


def test_what_fails_leaves_no_trace(encoder, monkeypatch):
    before = encoder.encode_words(["she"])
    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "_run", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            encoder.encode_words(["he", "man"])
    assert list(encoder) == ["she"]
    expected = encoder.at_layer(-1).encode_words(["kids"])
    np.testing.assert_allclose(encoder.encode_words(["kids"]), expected)
    np.testing.assert_array_equal(encoder.encode_words(["she"]), before)


def test_threads_share_it(encoder):
    words = [first + second for first in "abcdef" for second in "abcdef"]
    expected, shared = encoder.encode_words(words), encoder.at_layer(-1)

    def ask(number):
        places = np.random.default_rng(number).permutation(len(words))
        for part in np.array_split(places, 9):
            vectors = shared.encode_words([words[place] for place in part])
            np.testing.assert_allclose(vectors, expected[part], atol=1e-5)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6)))
    assert sorted(shared) == sorted(words)
    np.testing.assert_allclose(
        shared.vectors, [expected[words.index(word)] for word in shared], atol=1e-5
    )


# Static models


def test_a_snapshot_is_a_static_model(encoder, query, tmp_path):
    static = encoder.snapshot([query, "tree", "☃"], "still")
    assert type(static) is WordEmbeddingModel
    assert (static.name, len(static)) == ("still", 13)
    assert "☃" not in static  # asked for, and not to be had
    np.testing.assert_array_equal(static["she"], encoder["she"])
    for ask in (lambda: static["doctor"], lambda: "doctor" in static, lambda: static.vocab["this"]):
        with pytest.raises(UnreadWordError, match=r"static copy of tiny .*prepare.*snapshot"):
            ask()
    assert WEAT().run_query(query, static) == WEAT().run_query(query, encoder)
    assert len(static.most_similar("she", topn=3)) == 3
    static.save(tmp_path / "still.txt")
    saved = load(tmp_path / "still.txt")
    np.testing.assert_array_equal(saved.get_vectors(list(static)), static.vectors)
    encoder.save(tmp_path / "words.safetensors")
    saved = load(tmp_path / "words.safetensors")
    np.testing.assert_array_equal(saved.get_vectors(list(encoder)), encoder.vectors)
    with pytest.raises(ValueError, match="13 words only"):
        encoder.most_similar("she")
    static.update("she", np.zeros(16, dtype=np.float32))
    assert np.any(encoder["she"])


def test_a_snapshot_has_the_forms_of_preprocessors(encoder):
    query = Query([["She"], ["He"]], [["Home"]])
    forms = [{}, {"lowercase": True}]
    assert sorted(encoder.snapshot(query)) == ["He", "Home", "She"]
    static = encoder.snapshot(query, preprocessors=forms)
    assert sorted(static) == ["He", "Home", "She", "he", "home", "she"]
    RND().run_query(query, static, preprocessors=forms, strategy="all")
    # Words that are found as written need no other form.
    RND().run_query(query, encoder.snapshot(query), preprocessors=forms)
    with pytest.raises(UnreadWordError):
        RND().run_query(query, encoder.snapshot(query), preprocessors=forms, strategy="all")
    criterion = Criterion(
        "gender", [["she", "he"]], equalize_sets=[["woman", "man"]], specific_words=["her"]
    )
    assert set(encoder.snapshot(criterion)) == {"she", "he", "woman", "man", "her"}
    for wrong in ("she", [3], 3):
        with pytest.raises(TypeError, match="words"):
            encoder.prepare(wrong)


def test_a_mitigated_model_is_static(encoder, query, words):
    encoder.prepare(query)
    pairs = [["she", "he"], ["woman", "man"]]
    method = HardDebias(verbose=False).fit(encoder, pairs)
    # A word that was never encoded is not there to be ignored.
    mitigated = method.transform(encoder, ignore=[*words[:6], "doctor"])
    assert not isinstance(mitigated, ContextualModel)
    assert len(mitigated) == len(encoder) == 12
    through_snapshot = method.transform(encoder.snapshot(query), ignore=words[:6])
    np.testing.assert_allclose(mitigated.vectors, through_snapshot.vectors, atol=1e-6)
    assert np.abs(mitigated["nurse"] - encoder["nurse"]).max() > 1e-3
    for model in (mitigated, through_snapshot, mitigated.copy()):
        with pytest.raises(UnreadWordError, match="static copy of tiny"):
            model["doctor"]
    assert "doctor" in encoder
    with pytest.raises(ValueError, match="read-only"):
        method.transform(encoder, copy=False)


def test_copies_and_pickles_are_static_and_carry_no_weights(encoder):
    encoder.prepare(["she", "he"])
    assert "☃" not in encoder
    data = pickle.dumps(encoder)
    assert len(data) < 2000
    again = pickle.loads(pickle.dumps(pickle.loads(data)))
    vectors = np.array(encoder.vectors)
    encoder.prepare(["man"])
    for other in (again, encoder.copy(), encoder.snapshot()):
        assert type(other) is WordEmbeddingModel
        assert (list(other)[:2], other.name) == (["she", "he"], "tiny")
        np.testing.assert_array_equal(other.get_vectors(["she", "he"]), vectors)
        assert "☃" not in other
        with pytest.raises(UnreadWordError):
            other["woman"]
    assert len(again) == 2


# SentenceTransformers


def test_auto_is_what_the_sentence_transformer_does(tiny_sentence_transformer):
    library = tiny_sentence_transformer
    encoder = load_encoder(library, **OPTIONS)
    words = ["she", "Nursing", "the kids"]
    np.testing.assert_allclose(encoder.encode_words(words), library.encode(words), atol=1e-6)
    assert encoder.pooling == "auto"
    assert "the SentenceTransformer's own pooling" in repr(encoder)
    network = library[0].auto_model
    plain = load_encoder((network, library.tokenizer), **OPTIONS)
    contexts = [Context("This is a nurse.", 10, 15), Context("kids", 0, 4)]
    got = encoder.encode_contexts(contexts)
    # Within a text the word itself is pooled; alone it goes through everything.
    np.testing.assert_allclose(got[0], plain.encode_contexts(contexts)[0], atol=1e-6)
    np.testing.assert_allclose(got[1], library.encode(["kids"])[0], atol=1e-6)
    lower = encoder.at_layer(1)
    assert lower.pooling == "mean"
    np.testing.assert_allclose(lower["kids"], plain.at_layer(1)["kids"], atol=1e-6)
    assert lower.at_layer(-1).pooling == "auto"
    np.testing.assert_allclose(encoder.encode_layers(words), plain.encode_layers(words), atol=1e-6)
    through = load_encoder(library, templates=["This is {}.", "{}"], **OPTIONS)
    assert through.pooling == "mean"
    # Sentences go through the whole pipeline whatever the templates.
    sentence = [Context("she is here.", 0, 12)]
    vectors = [each.encode_contexts(sentence) for each in (encoder, through)]
    np.testing.assert_array_equal(*vectors)
    with pytest.raises(ValueError, match="max_seq_length"):
        load_encoder(library, max_length=10, **OPTIONS)
    with pytest.raises(TypeError, match="it has a tokenizer"):
        load_encoder(library, tokenizer=library.tokenizer, **OPTIONS)


def test_a_sentence_transformer_of_other_dims(tiny, tiny_sentence_transformer):
    from sentence_transformers import SentenceTransformer

    dense = tiny.modules().Dense(16, 4)
    parts = [tiny_sentence_transformer[0], tiny_sentence_transformer[1], dense]
    library = SentenceTransformer(modules=parts, device="cpu")
    encoder = load_encoder(library, **OPTIONS)
    assert encoder.dim == 4
    np.testing.assert_allclose(encoder["she"], library.encode(["she"])[0], atol=1e-6)
    contexts = [Context("This is a nurse.", 10, 15), Context("kids", 0, 4)]
    assert encoder.encode_contexts(contexts[:1]).shape == (1, 16)
    with pytest.raises(ValueError, match=r"\[4, 16\] dimensions"):
        encoder.encode_contexts(contexts)
    assert encoder.at_layer(1).dim == 16


def test_a_folder_of_a_sentence_transformer(
    tiny_sentence_transformer, tmp_path, monkeypatch, caplog
):
    tiny_sentence_transformer.save(str(tmp_path / "tiny-st"))
    encoder = load_encoder(tmp_path / "tiny-st", device="cpu", cache_dir=tmp_path)
    assert encoder.name == "tiny-st"
    words = ["she", "kids"]
    expected = tiny_sentence_transformer.encode(words)
    np.testing.assert_allclose(encoder.encode_words(words), expected, atol=1e-6)
    again = load_encoder(tiny_sentence_transformer, cache_dir=tmp_path)
    assert again.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(again.encode_words(words), encoder.encode_words(words))
    assert len(list(tmp_path.glob("encoders/*.sqlite"))) == 1
    # Without that library, its transformer is used.
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    encoder = load_encoder(tmp_path / "tiny-st", device="cpu", **OPTIONS)
    assert encoder.pooling == "mean"
    assert "'auto' means 'mean'" in caplog.text
