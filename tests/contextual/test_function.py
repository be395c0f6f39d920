"""Functions from texts to vectors as encoders; prompts, and cuts of vectors, for all encoders."""

import asyncio
import time

import numpy as np
import pytest

from wefe import WEAT
from wefe.contextual import Context, load_encoder

OPTIONS = {"cache": False, "progress": False}


def vector_of(text):
    """Return five numbers that depend on the text alone."""
    return np.random.default_rng(list(text.encode())).normal(size=5)


class Service:
    """Remembers what it was asked, and can fail."""

    def __init__(self, failures=0):
        self.batches, self.failures = [], failures

    @property
    def texts(self):
        return [text for batch in self.batches for text in batch]

    def encode(self, texts):
        if self.failures:
            self.failures -= 1
            raise ConnectionError("busy")
        self.batches.append(texts)
        return [vector_of(text) for text in texts]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("wefe.contextual._function._FIRST_WAIT_S", 0.001)


@pytest.fixture
def opened(tmp_path):
    """Opens a service with a cache of its own."""

    def load(service, name="toy", **options):
        return load_encoder(service, name, cache_dir=tmp_path, progress=False, **options)

    return load


# Functions


async def awaited(texts):
    await asyncio.sleep(0.001)
    return [vector_of(text) for text in texts]


@pytest.mark.parametrize("source", [Service(), Service().encode, awaited])
@pytest.mark.parametrize("in_a_loop", [False, True])
def test_objects_functions_and_coroutines_in_scripts_and_notebooks(source, in_a_loop, words):
    model = load_encoder(source, batch_size=5, **OPTIONS)

    async def notebook():
        return model.get_vectors(words)

    vectors = asyncio.run(notebook()) if in_a_loop else model.get_vectors(words)
    np.testing.assert_array_equal(vectors, np.float32([vector_of(word) for word in words]))
    assert (model.dim, model.pooling, model.n_layers) == (5, "sentence", 1)


def test_coroutines_run_at_the_same_time(words):
    all_here = asyncio.Barrier(4)

    async def embed(texts):
        await asyncio.wait_for(all_here.wait(), 60)
        return [[1.0, len(text)] for text in texts]

    load_encoder(embed, batch_size=1, **OPTIONS).get_vectors(words)


def test_texts_are_read_as_wholes():
    service = Service()
    model = load_encoder(service, templates=["A {}.", "{}"], **OPTIONS)
    mean = (vector_of("A nurse.") + vector_of("nurse")) / 2
    np.testing.assert_allclose(model["nurse"], mean, rtol=1e-6)
    text = "A nurse. And a boss."
    rows = model.encode_contexts([Context(text, 2, 7), Context(text, 15, 19)])
    np.testing.assert_array_equal(rows, np.float32([vector_of(text)] * 2))
    assert service.texts == ["A nurse.", "nurse", text]
    assert " " not in model


def test_the_second_session_asks_for_nothing(opened, query):
    first, again = Service(), Service()
    scores = [
        WEAT().run_query(query, opened(each, batch_size=5))["result"] for each in (first, again)
    ]
    assert [len(batch) for batch in first.batches] == [5, 5, 2]
    assert (again.texts, scores[0]) == ([], scores[1])
    # A cut is made of the same vectors, by another name of the same revision.
    opened(again, "cut", revision="toy", dim=2).prepare(query)
    cached = opened(again, max_texts=0)
    cached.prepare(query)
    assert cached.dim == 5
    assert again.texts == []
    for other in ({"revision": "v2"}, {"prompt": "query: "}):
        opened(again, **other).prepare(["she"])
    assert again.texts == ["she", "query: she"]


@pytest.mark.parametrize("error", [ConnectionError, KeyboardInterrupt, SystemExit])
def test_a_crash_half_way_loses_one_batch(opened, error, query, words):
    service = Service()

    def crashing(texts):
        if len(service.batches) == 2:
            raise error("down")
        return service.encode(texts)

    with pytest.raises(RuntimeError, match=r"toy failed .*the cache keeps the vectors"):
        opened(crashing, batch_size=5, retries=1).prepare(query)
    again = Service()
    opened(again).prepare(query)
    assert service.texts + again.texts == words


def test_it_is_asked_again_after_an_error(query, words):
    service = Service(failures=2)
    load_encoder(service, retries=2, **OPTIONS).prepare(query)
    assert service.texts == words
    with pytest.raises(RuntimeError, match=r"failed 2 times, .* ConnectionError\('busy'"):
        load_encoder(Service(failures=2), retries=1, **OPTIONS).prepare(query)


def test_the_rate_is_limited(query):
    starts = []

    def embed(texts):
        starts.append(time.monotonic())
        return [vector_of(text) for text in texts]

    load_encoder(embed, batch_size=4, rate=20, **OPTIONS).prepare(query)
    assert len(starts) == 3
    # The third may not start before two intervals of 50 ms have passed.
    assert starts[-1] - starts[0] > 0.09


def test_max_texts_is_refused_before_the_first_request(opened, query, words):
    service = Service()
    model = opened(service, max_texts=9)
    with pytest.raises(ValueError, match=r"12 texts .*, after 0"):
        model.prepare(query)
    assert service.texts == []
    model.prepare(words[:5])
    with pytest.raises(ValueError, match=r"7 texts .*, after 5 in this session; max_texts is 9"):
        model.prepare(query)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.ones((n, 2, 3)), r"shape \(2, dim\).*got \(2, 2, 3\).*late-interaction"),
        (lambda n: [np.ones((1 + i, 3)) for i in range(n)], "late-interaction"),
        (lambda n: np.ones((n + 1, 3)), r"got \(3, 3\)"),
        (lambda n: [["a"]] * n, "got list"),
        (lambda n: [[1.0], [np.nan]], "NaN or infinity for 1 of 2 texts, such as 'he'"),
        (lambda n: np.ones((n, 3)), r"\[3, 4\] dimensions.*another revision"),
    ],
)
def test_wrong_answers_are_refused(opened, answer, message):
    opened(lambda texts: np.ones((len(texts), 4))).prepare(["kids"])
    model = opened(lambda texts: answer(len(texts)))
    with pytest.raises(ValueError, match=f"toy .*{message}"):
        model.get_vectors(["kids", "she", "he"])


def test_options_that_do_not_fit_a_function():
    for option, error in (
        ({"cache": True}, TypeError),
        ({"pooling": "cls"}, TypeError),
        ({"retries": "many"}, TypeError),
        ({"dim": 6}, ValueError),
    ):
        with pytest.raises(error, match=next(iter(option)).replace("cache", "revision or name")):
            load_encoder(Service(), **{**OPTIONS, **option}).prepare(["she"])


# Prompts and cuts


@pytest.mark.parametrize(("kind", "prompt"), [("bert", "the boss is "), ("roberta", "this is ")])
def test_a_prompt_stands_before_every_text(tiny, kind, prompt, query):
    model, tokenizer = tiny.encoder(kind)
    encoder = load_encoder((model, tokenizer), pooling="mean", prompt=prompt, dim=8, **OPTIONS)
    start = len(prompt)  # after it, a word keeps its one space
    expected = tiny.slow(model, tokenizer, f"{prompt}nurse", start, start + 5)[:8]
    np.testing.assert_allclose(encoder["nurse"], expected, atol=1e-5)
    plain = load_encoder((model, tokenizer), pooling="mean", **OPTIONS)
    assert np.abs(plain["nurse"][:8] - expected).max() > 0.01
    assert plain.encoding != encoder.encoding
    settings = WEAT().run_query(query, encoder).model_settings
    assert (settings["prompt"], settings["dim"]) == (prompt, 8)
    assert settings["encoding"] == encoder.encoding


def test_prompts_of_a_sentence_transformer(tiny_sentence_transformer):
    library = tiny_sentence_transformer
    library.prompts, library.default_prompt_name = {"query": "she is a "}, "query"
    given = {None: "she is a ", "": "", "that boss ": "that boss "}
    for prompt, used in given.items():
        encoder = load_encoder(library, prompt=prompt, **OPTIONS)
        expected = library.encode(["nurse"], prompt=used)
        np.testing.assert_allclose(encoder.get_vectors(["nurse"]), expected, atol=1e-6)
        assert encoder.prompt == used


@pytest.mark.parametrize("normalize", [False, True])
def test_dim_is_a_cut_by_hand(tiny_bert, normalize):
    options = {"pooling": "mean", "normalize": normalize, **OPTIONS}
    cut = load_encoder(tiny_bert, dim=6, templates=["A {}.", "The {}."], **options)
    whole = load_encoder(tiny_bert, pooling="mean", **OPTIONS)
    rows = whole.encode_contexts([Context("A nurse.", 2, 7), Context("The nurse.", 4, 9)])[:, :6]
    if normalize:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(cut["nurse"], rows.mean(axis=0), atol=1e-6)
    assert (cut.dim, cut.at_layer(1).dim) == (6, 6)


# Sources without a vector of a text


def test_late_interaction_is_refused_unless_words_are_pooled(tiny_folder, tiny):
    library = pytest.importorskip("sentence_transformers")
    tokens_only = library.SentenceTransformer(
        modules=[tiny.modules().Transformer(str(tiny_folder))], device="cpu"
    )
    with pytest.raises(TypeError, match="no single vector for a text. A late-interaction"):
        load_encoder(tokens_only, **OPTIONS)
    assert load_encoder(tokens_only, pooling="mean", **OPTIONS).dim == 16
