"""Vectors of words and contexts against direct calls of transformers, one text at a time."""

import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from wefe.contextual import Context, load_encoder  # noqa: E402

# First, in the middle and last; capitals and accents; several subwords; two in one text.
CONTEXTS = [
    Context("nurse", 0, 5),
    Context("This is a nurse.", 10, 15),
    Context("Nursing the kids, she was there", 0, 7),
    Context("She is a DÓCTOR and the pilot of that boss", 9, 15),
    Context("She is a DÓCTOR and the pilot of that boss", 24, 29),
    Context("is that his home", 12, 16),
    Context("she is here.", 0, 12),
]
KINDS = ("bert", "roberta", "gpt2", "t5")
OPTIONS = {"cache": False, "progress": False}


def network_of(model):
    return model.get_encoder() if model.config.is_encoder_decoder else model


@pytest.mark.parametrize("layer", [0, 2, -1])
@pytest.mark.parametrize(
    ("kind", "pooling"),
    [(kind, pooling) for kind in KINDS for pooling in ("mean", "first", "sentence")]
    + [("bert", "cls"), ("roberta", "cls")],
)
def test_contexts_as_direct_calls_give_them(tiny, kind, pooling, layer):
    model, tokenizer = tiny.encoder(kind)
    encoder = load_encoder((model, tokenizer), pooling=pooling, layer=layer, **OPTIONS)
    vectors = encoder.encode_contexts(CONTEXTS)
    assert vectors.dtype == np.float32
    for (text, start, end), vector in zip(CONTEXTS, vectors, strict=True):
        expected = tiny.slow(network_of(model), tokenizer, text, start, end, pooling, layer)
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    # A word by itself is another text where the space before a word is marked.
    isolated = tiny.slow(
        *(network_of(model), tokenizer),
        *((" nurse", 1, 6) if kind in ("roberta", "gpt2") else ("nurse", 0, 5)),
        *(pooling, layer),
    )
    np.testing.assert_allclose(encoder.encode_words(["nurse"])[0], isolated, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_templates_give_the_mean_over_contexts(tiny, kind):
    pair = tiny.encoder(kind)
    templates = ["This is a {}.", "{} was here", "{}"]
    encoder = load_encoder(pair, templates=templates, **OPTIONS)
    alone = load_encoder(pair, **OPTIONS)
    contexts = [Context("This is a nurse.", 10, 15), Context("nurse was here", 0, 5)]
    vectors = [*alone.encode_contexts(contexts), alone["nurse"]]
    expected = np.mean(vectors, axis=0)
    np.testing.assert_allclose(encoder["nurse"], expected, atol=1e-5)
    # Templates play no part in contexts.
    np.testing.assert_allclose(
        encoder.encode_contexts(contexts), alone.encode_contexts(contexts), atol=1e-6
    )


def test_layers_are_those_of_one_pass(tiny):
    encoder = load_encoder(tiny.encoder("bert"), **OPTIONS)
    words = ["she", "nursing", "boss"]
    every = encoder.encode_layers(words)
    assert every.shape == (4, 3, 16)
    assert encoder.n_layers == 4
    for layer in range(4):
        np.testing.assert_allclose(every[layer], encoder.at_layer(layer).encode_words(words))
    some = encoder.encode_layers(CONTEXTS, [-1, 1])
    np.testing.assert_allclose(some[0], encoder.encode_contexts(CONTEXTS), atol=1e-6)
    np.testing.assert_allclose(some[1], encoder.at_layer(1).encode_contexts(CONTEXTS), atol=1e-6)
    through = load_encoder(tiny.encoder("bert"), templates=["That is {}."], **OPTIONS)
    np.testing.assert_allclose(
        through.encode_layers(words)[2], through.at_layer(2).encode_words(words), atol=1e-6
    )


def test_heads_and_pipelines_are_taken_apart(tiny):
    model, tokenizer = tiny.encoder("bert")
    headed = transformers.BertForMaskedLM(model.config)
    headed.bert.load_state_dict(model.state_dict(), strict=False)
    pipeline = transformers.pipeline("feature-extraction", model=model, tokenizer=tokenizer)
    expected = load_encoder((model, tokenizer), **OPTIONS)["she"]
    for source, own in ((headed, tokenizer), (pipeline, None)):
        vector = load_encoder(source, tokenizer=own, **OPTIONS)["she"]
        np.testing.assert_allclose(vector, expected, atol=1e-6)


# The caller's model


def test_training_goes_on_as_it_was(tiny):
    model, tokenizer = tiny.encoder("bert")
    model.train()
    model.encoder.layer[1].eval()
    encoder = load_encoder((model, tokenizer), **OPTIONS)
    first = encoder.encode_contexts(CONTEXTS)
    # Dropout would change them.
    np.testing.assert_array_equal(first, encoder.encode_contexts(CONTEXTS))
    assert model.training
    assert model.encoder.layer[0].attention.self.dropout.training
    assert not model.encoder.layer[1].training
    assert not model.encoder.layer[1].attention.self.dropout.training
    assert all(weight.requires_grad for weight in model.parameters())


def test_vectors_of_weights_that_were_trained_meanwhile_are_refused(tiny):
    model, tokenizer = tiny.encoder("bert")
    encoder = load_encoder((model, tokenizer), **OPTIONS)
    encoder.encode_words(["she"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(**tokenizer("she", return_tensors="pt")).last_hidden_state.sum().backward()
    optimizer.step()
    for ask in (lambda: encoder["he"], lambda: encoder.encode_contexts(CONTEXTS)):
        with pytest.raises(RuntimeError, match="changed after load_encoder"):
            ask()
    load_encoder((model, tokenizer), **OPTIONS)["she"]


def test_another_type_is_a_copy(tiny):
    model, tokenizer = tiny.encoder("bert")
    encoder = load_encoder((model, tokenizer), dtype="bfloat16", **OPTIONS)
    vectors = encoder.encode_words(["she", "nurse"])
    assert vectors.dtype == np.float32
    assert next(model.parameters()).dtype == torch.float32
    full = load_encoder((model, tokenizer), **OPTIONS).encode_words(["she", "nurse"])
    np.testing.assert_allclose(vectors, full, atol=0.2)
    assert np.abs(vectors - full).max() > 0


# Words without a vector


def test_words_that_the_tokenizer_cannot_represent_are_not_in_the_model(tiny):
    encoder = load_encoder(tiny.encoder("bert"), **OPTIONS)
    for word in ("she", "unwritten", "New Yórk", " she", "she ☃"):
        assert word in encoder, word
    for word in ("", "  ", "☃", "[MASK]", "[UNK]", "\ud800", "a" * 200, "she " * 40):
        assert word not in encoder, word
    assert 3 not in encoder
    with pytest.raises(KeyError, match="'☃' is not in .*only unknown or special tokens"):
        encoder.encode_words(["she", "☃"])
    with pytest.raises(KeyError, match="'' is not in .*no token"):
        encoder[""]
    assert len(encoder) == 0
    of_bytes = load_encoder(tiny.encoder("gpt2"), **OPTIONS)
    assert [word in of_bytes for word in ("☃", "", "<|endoftext|>")] == [True, False, False]


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_a_word_that_is_cut_off_is_refused_and_one_before_it_is_not(tiny, kind):
    model, tokenizer = tiny.encoder(kind)
    encoder = load_encoder((model, tokenizer), **OPTIONS)
    assert encoder.max_length == 32
    text = "a nurse is here" + " the" * 40 + " nursing"
    early, late = Context(text, 2, 7), Context(text, len(text) - 7, len(text))
    assert encoder.can_encode([early, late]).tolist() == [True, False]
    with pytest.raises(ValueError, match=r"'nursing'.*max_length=32.*can_encode"):
        encoder.encode_contexts([early, late])
    ids = tokenizer(text, truncation=True, max_length=32)["input_ids"]
    states = model.eval()(input_ids=torch.tensor([ids])).last_hidden_state[0]
    full = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    places = [n for n, (first, last) in enumerate(full) if first < 7 and last > 2]
    expected = states[places].mean(axis=0).detach().numpy()
    np.testing.assert_allclose(encoder.encode_contexts([early])[0], expected, atol=1e-5)


def test_a_word_of_which_a_part_is_cut_off_is_refused(tiny):
    encoder = load_encoder(tiny.encoder("bert"), max_length=5, **OPTIONS)
    # [CLS] the kids nurse ##s [SEP] is one token too long.
    assert not encoder.can_encode([Context("the kids nurses", 9, 15)])[0]
    assert encoder.can_encode([Context("the kids nurse", 9, 14)])[0]
    for start, end in ((0, 0), (3, 2), (-1, 2), (0, 99)):
        with pytest.raises(ValueError, match=r"contexts\[0\] must have 0 <= start"):
            encoder.encode_contexts([Context("nurse", start, end)])
    with pytest.raises(TypeError, match="must be a Context; got str"):
        encoder.encode_contexts(["nurse"])
    assert encoder.encode_contexts([]).shape == (0, 16)


# Fingerprints


def test_the_fingerprint_is_that_of_the_numbers(tiny, tiny_folder):
    first = load_encoder(tiny.encoder("bert"), **OPTIONS).fingerprint
    assert len(first) == 32
    assert load_encoder(tiny_folder, **OPTIONS).fingerprint == first
    assert load_encoder(tiny.encoder("bert", seed=1), **OPTIONS).fingerprint != first
    model, tokenizer = tiny.encoder("bert")
    with torch.no_grad():
        model.pooler.dense.weight += 1  # hidden states do not depend on it
    assert load_encoder((model, tokenizer), **OPTIONS).fingerprint == first
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[7, 0] += 1e-3
    assert load_encoder((model, tokenizer), **OPTIONS).fingerprint != first
    model, tokenizer = tiny.encoder("bert")
    tokenizer.add_tokens(["kidss"])
    assert load_encoder((model, tokenizer), **OPTIONS).fingerprint != first
    model.config.layer_norm_eps = 0.1
    assert load_encoder((model, tiny.encoder("bert")[1]), **OPTIONS).fingerprint != first


# Files


def test_a_folder_is_opened_also_with_weights_in_bin(tiny, tiny_folder):
    model, tokenizer = tiny.encoder("bert")
    expected = load_encoder((model, tokenizer), **OPTIONS)["nurse"]
    encoder = load_encoder(tiny_folder, device="cpu", **OPTIONS)
    assert encoder.name == "tiny-bert"
    np.testing.assert_allclose(encoder["nurse"], expected, atol=1e-6)
    (tiny_folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), tiny_folder / "pytorch_model.bin")
    encoder = load_encoder(str(tiny_folder), "mine", **OPTIONS)
    assert encoder.name == "mine"
    np.testing.assert_allclose(encoder["nurse"], expected, atol=1e-6)


def test_weights_that_would_run_code_do_not(tiny_folder, tmp_path):
    proof = tmp_path / "proof"

    class Evil:
        def __reduce__(self):
            return open, (str(proof), "w")

    (tiny_folder / "model.safetensors").unlink()
    torch.save({"embeddings.word_embeddings.weight": Evil()}, tiny_folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="needs its own code.*or has a damaged pickle"):
        load_encoder(tiny_folder, **OPTIONS)
    assert not proof.exists()


def test_code_that_comes_with_a_model_is_not_run(tiny_folder, tmp_path):
    proof = tmp_path / "proof"
    (tiny_folder / "modeling_evil.py").write_text(f"open({str(proof)!r}, 'w')\nclass Evil: pass\n")
    config = json.loads((tiny_folder / "config.json").read_text())
    config["model_type"] = "evil"
    config["auto_map"] = {"AutoConfig": "modeling_evil.Evil", "AutoModel": "modeling_evil.Evil"}
    (tiny_folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="its own code, which wefe does not run"):
        load_encoder(tiny_folder, **OPTIONS)
    assert not proof.exists()


@pytest.mark.parametrize(
    ("modules", "culprit"),
    [
        ('[{"path": "", "type": "modeling_evil.Transformer"}]', "modeling_evil.Transformer"),
        ('[{"path": "", "type": "sentence_transformers.X"}]', "sentence_transformers.X"),
        (
            '[{"path": "", "type": "sentence_transformers.models.Transformer"},'
            ' {"path": "1_Dense", "type": "sentence_transformers.models.Dense"}]',
            "os.getcwd",
        ),
        *(
            (damaged, r"modules\.json is damaged")
            for damaged in ("{]", "[]", "{}", '[{"path": 3}]')
        ),
    ],
)
def test_a_list_of_parts_that_names_code_or_is_damaged_is_refused(
    tiny_folder, tmp_path, modules, culprit
):
    proof = tmp_path / "proof"
    (tiny_folder / "modeling_evil.py").write_text(
        f"open({str(proof)!r}, 'w')\nclass Transformer: pass\n"
    )
    (tiny_folder / "1_Dense").mkdir()
    config = tiny_folder / "1_Dense" / "config.json"
    config.write_text('{"activation_function": "os.getcwd"}')
    (tiny_folder / "modules.json").write_text(modules)
    with pytest.raises(ValueError, match=culprit):
        load_encoder(tiny_folder, **OPTIONS)
    assert not proof.exists()


def test_what_is_no_encoder_is_refused(tiny, tmp_path, tiny_folder):
    model, tokenizer = tiny.encoder("bert")
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        image_size=4, patch_size=2,
    )  # fmt: skip

    class Slow(type(tokenizer)):
        is_fast = False

    slow = tiny.encoder("bert")[1]
    slow.__class__ = Slow
    wrong = [
        ("nothing-here", {}, FileNotFoundError, "nothing-here is neither a folder"),
        (tmp_path, {}, ValueError, "cannot be opened as an encoder"),
        (model, {}, TypeError, r"with its tokenizer, load_encoder\(model, tokenizer="),
        (tiny_folder, {"tokenizer": tokenizer}, TypeError, "tokenizer is only for"),
        (tiny_folder, {"revision": "main"}, TypeError, "revision is only for"),
        ((model, tokenizer), {"device": "cuda:99"}, ValueError, "got 'cuda:99'"),
        ((transformers.ViTModel(config), tokenizer), {}, TypeError, "does not return hidden"),
        ((model, slow), {}, TypeError, "Use a fast one"),
        (tiny.encoder("gpt2"), {"pooling": "cls"}, ValueError, "pooling='cls' takes a special"),
        ((model, tokenizer), {"layer": 4}, ValueError, "layer must be from 0 to 3"),
        ((model, tokenizer), {"max_length": 33}, ValueError, "max_length is at most 32"),
        ((model, tokenizer), {"max_length": 2}, ValueError, "leaves no token"),
    ]
    for source, options, error, message in wrong:
        with pytest.raises(error, match=message):
            load_encoder(source, **OPTIONS, **options)


def test_tokenizer_and_model_must_belong_together(tiny):
    encoder = load_encoder((tiny.network("bert", 6), tiny.wordpiece()), **OPTIONS)
    with pytest.raises(ValueError, match="use the tokenizer that belongs"):
        encoder["nurse"]
    assert len(encoder) == 0


@pytest.mark.parametrize("kind", ["transformers", "sentence-transformers"])
def test_weights_that_the_files_lack_are_refused(tiny_sentence_transformer, tmp_path, kind):
    safetensors = pytest.importorskip("safetensors.torch")
    folder = tmp_path / "model"
    if kind == "transformers":
        tiny_sentence_transformer[0].auto_model.save_pretrained(folder)
        tiny_sentence_transformer.tokenizer.save_pretrained(folder)
    else:
        tiny_sentence_transformer.save(str(folder))
    (path,) = folder.rglob("model.safetensors")
    weights = safetensors.load_file(path)
    kept = {name: each for name, each in weights.items() if ".layer.2." not in f".{name}"}
    assert len(kept) < len(weights)
    safetensors.save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"its files lack \d+ of the weights"):
        load_encoder(folder, **OPTIONS)
    path.write_bytes(b"no weights at all")
    with pytest.raises(ValueError, match="cannot be opened as an encoder"):
        load_encoder(folder, **OPTIONS)


@pytest.fixture
def hub(monkeypatch, tiny_folder, tmp_path):
    """A Hugging Face with one model, and what was fetched from it."""
    library = pytest.importorskip("huggingface_hub")
    fetched = []
    cache = tmp_path / "snapshots" / "0123"
    for name in ("onnx/model.onnx", "tf_model.h5", "pytorch_model.bin", "model.fp16.safetensors"):
        (tiny_folder / name).parent.mkdir(exist_ok=True)
        (tiny_folder / name).write_bytes(b"large")

    class Api:
        error = None

        def list_repo_files(self, repo_id, *, revision=None, token=None):
            if self.error is not None:
                raise self.error
            assert (repo_id, revision) == ("org/tiny", "v1")
            files = (path for path in tiny_folder.rglob("*") if path.is_file())
            return [path.relative_to(tiny_folder).as_posix() for path in files]

    def download(repo_id, filename, *, revision=None, token=None):
        fetched.append(filename)
        target = cache / filename
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tiny_folder / filename, target)
        return str(target)

    def no_snapshot(*args, **kwargs):
        raise library.utils.LocalEntryNotFoundError("not there")

    api = Api()
    api.fetched = fetched
    monkeypatch.setattr(library, "HfApi", lambda: api)
    monkeypatch.setattr(library, "hf_hub_download", download)
    monkeypatch.setattr(library, "snapshot_download", no_snapshot)
    return api


def test_of_a_model_on_hugging_face_only_what_is_needed_is_fetched(hub, tiny, tiny_folder):
    encoder = load_encoder("org/tiny@v1", **OPTIONS)
    assert encoder.name == "tiny"
    expected = load_encoder(tiny.encoder("bert"), **OPTIONS)
    np.testing.assert_allclose(encoder["nurse"], expected["nurse"], atol=1e-6)
    assert "model.safetensors" in hub.fetched
    (tiny_folder / "modules.json").write_text("{]")
    with pytest.raises(ValueError, match=r"modules\.json is damaged"):
        load_encoder("org/tiny@v1", **OPTIONS)
    (tiny_folder / "modules.json").unlink()
    (tiny_folder / "config.json").unlink()
    with pytest.raises(ValueError, match=r"org/tiny has no config\.json"):
        load_encoder("org/tiny@v1", **OPTIONS)
    hub.error = OSError("no network")
    with pytest.raises(ConnectionError, match="org/tiny.*not in the cache.*HF_HUB_OFFLINE"):
        load_encoder("org/tiny", revision="v1", **OPTIONS)
    with pytest.raises(ValueError, match="one revision"):
        load_encoder("org/tiny@v1", revision="v2", **OPTIONS)
    large = {"onnx/model.onnx", "tf_model.h5", "pytorch_model.bin", "model.fp16.safetensors"}
    assert not large & set(hub.fetched)


def test_sides_of_truncation_do_not_share_vectors(tiny, tmp_path):
    text = "she is a nurse and he is the boss of the kids at home and here there was a tree"
    vectors = []
    for side in ("left", "right"):
        model, tokenizer = tiny.encoder("bert")
        tokenizer.truncation_side = side
        options = {"max_length": 12, "pooling": "sentence", "progress": False}
        for folder in (tmp_path, None):
            encoder = load_encoder(
                (model, tokenizer), cache=folder is not None, cache_dir=folder, **options
            )
            word = text.rindex("tree") if side == "left" else 0
            vectors.append(encoder.encode_contexts([Context(text, word, word + 3)])[0])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    np.testing.assert_allclose(vectors[2], vectors[3], atol=1e-6)


def test_unknown_words_of_a_sentencepiece_tokenizer_are_lost(tiny):
    tokenizers = pytest.importorskip("tokenizers")
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0), ("▁she", -2.0)]
    inner = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    model, _ = tiny.encoder("t5")
    encoder = load_encoder((model, tokenizer), **OPTIONS)
    assert "she" in encoder
    assert "中文" not in encoder
    assert "😀" not in encoder
