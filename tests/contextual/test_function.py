"""Functions from texts to vectors as encoders; prompts, and cuts of vectors, for all encoders."""

import asyncio
import logging
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


@pytest.mark.parametrize(
    "source", [Service(), Service().encode, awaited, lambda texts: awaited(texts)]
)
@pytest.mark.parametrize("in_a_loop", [False, True])
def test_objects_functions_and_coroutines_in_scripts_and_notebooks(source, in_a_loop, words):
    model = load_encoder(source, batch_size=5, **OPTIONS)

    async def notebook():
        return model.encode_words(words)

    vectors = asyncio.run(notebook()) if in_a_loop else model.encode_words(words)
    np.testing.assert_array_equal(vectors, np.float32([vector_of(word) for word in words]))
    assert (model.dim, model.pooling, model.n_layers) == (5, "sentence", 1)


def test_coroutines_run_at_the_same_time(words):
    under_way, most, all_here = 0, 0, asyncio.Event()

    async def embed(texts):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 8:
            all_here.set()
        await asyncio.wait_for(all_here.wait(), 60)
        under_way -= 1
        return [[1.0, len(text)] for text in texts]

    load_encoder(embed, batch_size=1, **OPTIONS).encode_words(words)
    assert most == 8


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
    with pytest.raises(TypeError, match="no table of input embeddings"):
        model.input_embeddings()


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


def test_it_is_asked_again_after_an_error(caplog, query, words):
    service = Service(failures=2)
    with caplog.at_level(logging.WARNING):
        load_encoder(service, retries=2, **OPTIONS).prepare(query)
    assert service.texts == words
    waits = [record.args[-1] for record in caplog.records]
    assert waits == [0.001, 0.002]
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
    opened(service).prepare(["she", "he"])
    model = opened(service, max_texts=9)
    with pytest.raises(ValueError, match=r"10 texts .* \(39 characters\), after 0"):
        model.prepare(query)
    assert service.texts == ["she", "he"]
    model.prepare([*words[:6], "she"])
    with pytest.raises(ValueError, match=r"6 texts .*, after 4 in this session; max_texts is 9"):
        model.prepare(query)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.ones((n, 2, 3)), r"shape \(2, dim\).*got \(2, 2, 3\).*late-interaction"),
        (lambda n: [np.ones((1 + i, 3)) for i in range(n)], "late-interaction"),
        (lambda n: np.ones((n + 1, 3)), r"got \(3, 3\)"),
        (lambda n: [["a"]] * n, "got list"),
        (lambda n: [[1.0], [np.nan]], "NaN or infinity for 1 of 2 texts, such as 'he'"),
    ],
)
def test_wrong_answers_are_refused(answer, message):
    model = load_encoder(lambda texts: answer(len(texts)), "toy", **OPTIONS)
    with pytest.raises(ValueError, match=f"toy .*{message}"):
        model.encode_words(["she", "he"])


def test_a_change_of_dimensions_is_refused(opened):
    model = opened(lambda texts: np.ones((len(texts), 4)))
    model.prepare(["she"])
    model._source.encoder.function = lambda texts: np.ones((len(texts), 3))
    with pytest.raises(ValueError, match=r"shape \(1, 4\).*another revision"):
        model.prepare(["he"])
    changed = opened(lambda texts: np.ones((len(texts), 3)))
    with pytest.raises(ValueError, match=r"\[3, 4\] dimensions.*another revision"):
        changed.prepare(["she", "he"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cache": True}, TypeError, "identifies a function by its revision or name"),
        ({"pooling": "cls"}, TypeError, "pooling is only for models"),
        ({"retries": "many"}, TypeError, "retries must be a finite number"),
        ({"prompt": 3}, TypeError, "prompt must be a string"),
        ({"dim": 6}, ValueError, "dim must be at most 5"),
    ],
)
def test_options_that_do_not_fit_a_function(options, error, message):
    with pytest.raises(error, match=message):
        load_encoder(Service(), **{**OPTIONS, **options}).prepare(["she"])


# Prompts and cuts


def test_a_prompt_stands_before_every_text(tiny):
    model, tokenizer = tiny.encoder("bert")
    options = {"pooling": "mean", "prompt": "the boss is ", **OPTIONS}
    encoder = load_encoder((model, tokenizer), **options)
    text = "the boss is nurse"
    expected = tiny.slow(model, tokenizer, text, 12, 17)
    np.testing.assert_allclose(encoder["nurse"], expected, atol=1e-5)
    assert encoder.prompt == "the boss is "
    assert "after 'the boss is '" in repr(encoder)
    plain = load_encoder((model, tokenizer), pooling="mean", **OPTIONS)
    assert np.abs(plain["nurse"] - expected).max() > 0.01
    assert plain.encoding != encoder.encoding
    # After a prompt, a word keeps its one space.
    model, tokenizer = tiny.encoder("roberta")
    encoder = load_encoder((model, tokenizer), prompt="this is ", **OPTIONS)
    expected = tiny.slow(model, tokenizer, "this is he", 8, 10)
    np.testing.assert_allclose(encoder["he"], expected, atol=1e-5)


def test_results_carry_the_options_of_the_encoder(tiny, query):
    options = {"pooling": "mean", "dim": 8, **OPTIONS}
    settings = []
    for prompt in ("", "the boss is "):
        encoder = load_encoder(tiny.encoder("bert"), prompt=prompt, **options)
        settings.append(WEAT().run_query(query, encoder).model_settings)
        assert (settings[-1]["prompt"], settings[-1]["dim"]) == (prompt, 8)
    assert settings[0]["encoding"] != settings[1]["encoding"]
    assert WEAT().run_query(query, encoder.input_embeddings()).model_settings == {}


def test_prompts_of_a_sentence_transformer(tiny_sentence_transformer):
    library = tiny_sentence_transformer
    library.prompts, library.default_prompt_name = {"query": "she is a "}, "query"
    given = {None: "she is a ", "": "", "that boss ": "that boss "}
    for prompt, used in given.items():
        encoder = load_encoder(library, prompt=prompt, **OPTIONS)
        expected = library.encode(["nurse"], prompt=used)
        np.testing.assert_allclose(encoder.encode_words(["nurse"]), expected, atol=1e-6)
        assert encoder.prompt == used


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("templates", [None, ["A {}.", "The {}."]])
def test_dim_is_a_cut_by_hand(tiny_bert, normalize, templates):
    whole = load_encoder(tiny_bert, pooling="mean", **OPTIONS)
    options = {"pooling": "mean", "templates": templates, **OPTIONS}
    cut = load_encoder(tiny_bert, dim=6, normalize=normalize, **options)
    texts = [template.replace("{}", "nurse") for template in templates or ["{}"]]
    spans = [Context(text, at := text.index("nurse"), at + 5) for text in texts]
    rows = whole.encode_contexts(spans)[:, :6]
    if normalize:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(cut["nurse"], rows.mean(axis=0), atol=1e-6)
    assert (cut.dim, cut.at_layer(1).dim, cut.encode_layers([], [0, 1]).shape) == (6, 6, (2, 0, 6))
    assert cut.encoding != whole.encoding
    with pytest.raises(ValueError, match="dim must be at most 16, .*; got 17"):
        load_encoder(tiny_bert, dim=17, **options)


# Sources without a vector of a text


def test_late_interaction_is_refused_unless_words_are_pooled(tiny_folder, tiny):
    library = pytest.importorskip("sentence_transformers")
    tokens_only = library.SentenceTransformer(
        modules=[tiny.modules().Transformer(str(tiny_folder))], device="cpu"
    )
    with pytest.raises(TypeError, match="no single vector for a text. A late-interaction"):
        load_encoder(tokens_only, **OPTIONS)
    assert load_encoder(tokens_only, pooling="mean", **OPTIONS).dim == 16
