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
from wefe.datasets import Criterion  # noqa: E402
from wefe.debias import HardDebias  # noqa: E402
from wefe.models import UnreadWordError  # noqa: E402

OPTIONS = {"cache": False, "progress": False}
CONTEXTS = [Context("This is a nurse.", 10, 15), Context("kids", 0, 4)]


@pytest.fixture
def encoder(tiny_bert):
    return load_encoder(tiny_bert, "tiny", **OPTIONS)


# As a model


def test_asking_whether_a_word_is_there_encodes_nothing_and_a_query_is_one_batch(
    encoder, query, words, n_runs
):
    assert [word in encoder.vocab for word in ("nurse", "☃")] == [True, False]
    assert 3 not in encoder
    assert (len(encoder), n_runs) == (0, [])
    for _ in range(2):
        WEAT().run_query(query, encoder)
        assert n_runs == [12]
    assert (list(encoder), encoder.vocab["woman"], encoder.vectors.shape) == (words, 1, (12, 16))
    other = encoder.at_layer(1)
    other.prepare([query, "tree", "☃"])
    WEAT().run_query(query, other)
    assert n_runs == [12, 13]
    assert list(other) == [*words, "tree"]


def test_a_model_loaded_from_an_encoder_leaves_it_open(encoder):
    assert "nurse" in load(encoder, hold="memory")
    assert "kids" in encoder


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
    encoder.get_vectors(["she"]).fill(0)
    assert np.any(encoder["she"])


def test_threads_share_it(encoder):
    words = [first + second for first in "abcdef" for second in "abcdef"]
    expected, shared = encoder.get_vectors(words), encoder.at_layer(-1)

    def ask(number):
        for place in np.random.default_rng(number).permutation(len(words)):
            np.testing.assert_allclose(shared[words[place]], expected[place], atol=1e-5)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6)))
    assert sorted(shared) == sorted(words)
    np.testing.assert_allclose(shared.get_vectors(words), expected, atol=1e-5)


# Static models


def test_a_snapshot_is_a_static_model(encoder, query, tmp_path):
    static = encoder.snapshot([query, "tree", "☃"], "still")
    assert type(static) is WordEmbeddingModel
    assert (static.name, len(static)) == ("still", 13)
    assert "☃" not in static  # asked for, and not to be had
    for ask in (lambda: static["doctor"], lambda: "doctor" in static, lambda: static.vocab["this"]):
        with pytest.raises(UnreadWordError, match=r"static copy of tiny .*prepare.*snapshot"):
            ask()
    assert WEAT().run_query(query, static) == WEAT().run_query(query, encoder)
    assert len(static.most_similar("she", topn=3)) == 3
    with pytest.raises(ValueError, match="13 words only"):
        encoder.most_similar("she")
    for model in (static, encoder):
        model.save(tmp_path / "words.safetensors")
        saved = load(tmp_path / "words.safetensors")
        np.testing.assert_array_equal(saved.get_vectors(list(model)), model.vectors)
    static.update("she", np.zeros(16, dtype=np.float32))
    assert np.any(encoder["she"])


def test_a_snapshot_has_the_forms_of_preprocessors(encoder):
    query = Query([["She"], ["He"]], [["Home"]])
    options = {"preprocessors": [{}, {"lowercase": True}], "strategy": "all"}
    static = encoder.snapshot(query, preprocessors=options["preprocessors"])
    assert sorted(static) == ["He", "Home", "She", "he", "home", "she"]
    RND().run_query(query, static, **options)
    with pytest.raises(UnreadWordError):
        RND().run_query(query, encoder.snapshot(query), **options)
    criterion = Criterion(
        "gender", [["she", "he"]], equalize_sets=[["woman", "man"]], specific_words=["her"]
    )
    assert set(encoder.snapshot(criterion)) == {"she", "he", "woman", "man", "her"}
    for wrong in ("she", [3], 3):
        with pytest.raises(TypeError, match="words"):
            encoder.prepare(wrong)


def test_a_mitigated_model_is_static(encoder, query, words):
    encoder.prepare(query)
    method = HardDebias(verbose=False).fit(encoder, [["she", "he"], ["woman", "man"]])
    # A word that was never encoded is not there to be ignored.
    mitigated = method.transform(encoder, ignore=[*words[:6], "doctor"])
    assert not isinstance(mitigated, ContextualModel)
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
    data = pickle.dumps(encoder)
    assert len(data) < 2000
    for other in (pickle.loads(data), encoder.copy()):
        assert type(other) is WordEmbeddingModel
        assert (list(other), other.name) == (["she", "he"], "tiny")
        np.testing.assert_array_equal(other.vectors, encoder.vectors)
        with pytest.raises(UnreadWordError):
            other["woman"]


# SentenceTransformers


def test_auto_is_what_the_sentence_transformer_does(tiny_sentence_transformer):
    library = tiny_sentence_transformer
    encoder = load_encoder(library, **OPTIONS)
    words = ["she", "Nursing", "the kids"]
    np.testing.assert_allclose(encoder.get_vectors(words), library.encode(words), atol=1e-6)
    plain = load_encoder((library[0].auto_model, library.tokenizer), **OPTIONS)
    got = encoder.encode_contexts(CONTEXTS)
    # Within a text the word itself is pooled; alone it goes through everything.
    np.testing.assert_allclose(got[0], plain.encode_contexts(CONTEXTS)[0], atol=1e-6)
    np.testing.assert_allclose(got[1], library.encode(["kids"])[0], atol=1e-6)
    lower = encoder.at_layer(1)
    assert (encoder.pooling, lower.pooling, lower.at_layer(-1).pooling) == ("auto", "mean", "auto")
    np.testing.assert_allclose(lower["kids"], plain.at_layer(1)["kids"], atol=1e-6)
    through = load_encoder(library, templates=["This is {}.", "{}"], **OPTIONS)
    assert through.pooling == "mean"
    # Sentences go through the whole pipeline whatever the templates.
    np.testing.assert_array_equal(through.encode_contexts(CONTEXTS[1:]), got[1:])
    with pytest.raises(ValueError, match="max_seq_length"):
        load_encoder(library, max_length=10, **OPTIONS)


def test_a_sentence_transformer_of_other_dims(tiny, tiny_sentence_transformer):
    parts = [*tiny_sentence_transformer][:2]
    library = type(tiny_sentence_transformer)(
        modules=[*parts, tiny.modules().Dense(16, 4)], device="cpu"
    )
    encoder = load_encoder(library, **OPTIONS)
    assert (encoder.dim, encoder.at_layer(1).dim) == (4, 16)
    np.testing.assert_allclose(encoder["she"], library.encode(["she"])[0], atol=1e-6)
    assert encoder.encode_contexts(CONTEXTS[:1]).shape == (1, 16)
    with pytest.raises(ValueError, match=r"\[4, 16\] dimensions"):
        encoder.encode_contexts(CONTEXTS)


def test_a_folder_of_a_sentence_transformer(tiny_sentence_transformer, tmp_path, monkeypatch):
    tiny_sentence_transformer.save(str(tmp_path / "tiny-st"))
    encoder = load_encoder(tmp_path / "tiny-st", device="cpu", **OPTIONS)
    assert encoder.name == "tiny-st"
    expected = tiny_sentence_transformer.encode(["she", "kids"])
    np.testing.assert_allclose(encoder.get_vectors(["she", "kids"]), expected, atol=1e-6)
    again = load_encoder(tiny_sentence_transformer, **OPTIONS)
    assert again.fingerprint == encoder.fingerprint
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match="needs the library sentence_transformers"):
        load_encoder(tmp_path / "tiny-st", **OPTIONS)
