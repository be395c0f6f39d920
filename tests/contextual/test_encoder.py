"""Vectors of words and contexts against direct calls of transformers, one text at a time."""

import itertools
import json
import shutil
from types import SimpleNamespace

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
LARGE = ["onnx/model.onnx", "tf_model.h5", "pytorch_model.bin", "model.fp16.safetensors"]


@pytest.mark.parametrize("layer", [0, 2, -1])
@pytest.mark.parametrize(
    ("kind", "pooling"),
    [*itertools.product(KINDS, ("mean", "first", "sentence")), ("bert", "cls"), ("roberta", "cls")],
)
def test_contexts_as_direct_calls_give_them(tiny, kind, pooling, layer):
    model, tokenizer = tiny.encoder(kind)
    network = model.get_encoder() if model.config.is_encoder_decoder else model
    encoder = load_encoder((model, tokenizer), pooling=pooling, layer=layer, **OPTIONS)
    vectors = encoder.encode_contexts(CONTEXTS)
    assert vectors.dtype == np.float32
    for context, vector in zip(CONTEXTS, vectors, strict=True):
        expected = tiny.slow(network, tokenizer, *context, pooling, layer)
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    # A word by itself is another text where the space before a word is marked.
    alone = (" nurse", 1, 6) if kind in ("roberta", "gpt2") else ("nurse", 0, 5)
    isolated = tiny.slow(network, tokenizer, *alone, pooling, layer)
    np.testing.assert_allclose(encoder["nurse"], isolated, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_templates_give_the_mean_over_contexts(tiny, kind):
    pair = tiny.encoder(kind)
    encoder = load_encoder(pair, templates=["This is a {}.", "{} was here", "{}"], **OPTIONS)
    alone = load_encoder(pair, **OPTIONS)
    contexts = [Context("This is a nurse.", 10, 15), Context("nurse was here", 0, 5)]
    expected = np.mean([*alone.encode_contexts(contexts), alone["nurse"]], axis=0)
    np.testing.assert_allclose(encoder["nurse"], expected, atol=1e-5)


def test_heads_are_left_out(tiny_bert):
    model, tokenizer = tiny_bert
    headed = transformers.BertForMaskedLM(model.config)
    headed.bert.load_state_dict(model.state_dict(), strict=False)
    expected = load_encoder(tiny_bert, **OPTIONS)["she"]
    found = load_encoder((headed, tokenizer), **OPTIONS)["she"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


# The caller's model


def test_training_goes_on_as_it_was(tiny):
    model, tokenizer = tiny.encoder("bert")
    model.train()
    model.encoder.layer[1].eval()
    encoder = load_encoder((model, tokenizer), **OPTIONS)
    first = encoder.encode_contexts(CONTEXTS)
    # Dropout would change them.
    np.testing.assert_array_equal(first, encoder.encode_contexts(CONTEXTS))
    layers = model.encoder.layer
    assert [each.attention.self.dropout.training for each in layers] == [True, False, True]
    assert all(weight.requires_grad for weight in model.parameters())


def test_vectors_of_weights_that_were_trained_meanwhile_are_refused(tiny):
    model, tokenizer = tiny.encoder("bert")
    encoder = load_encoder((model, tokenizer), **OPTIONS)
    encoder.get_vectors(["she"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(**tokenizer("she", return_tensors="pt")).last_hidden_state.sum().backward()
    optimizer.step()
    for ask in (lambda: encoder["he"], lambda: encoder.encode_contexts(CONTEXTS)):
        with pytest.raises(RuntimeError, match="changed after load_encoder"):
            ask()
    load_encoder((model, tokenizer), **OPTIONS)["she"]


def test_another_type_is_a_copy(tiny_bert):
    vectors = load_encoder(tiny_bert, dtype="bfloat16", **OPTIONS).get_vectors(["she", "nurse"])
    assert vectors.dtype == np.float32
    assert next(tiny_bert[0].parameters()).dtype == torch.float32
    full = load_encoder(tiny_bert, **OPTIONS).get_vectors(["she", "nurse"])
    np.testing.assert_allclose(vectors, full, atol=0.2)
    assert np.abs(vectors - full).max() > 0


# Words without a vector


def test_words_that_the_tokenizer_cannot_represent_are_not_in_the_model(tiny):
    encoder = load_encoder(tiny.encoder("bert"), **OPTIONS)
    for word in ("she", "unwritten", "New Yórk", " she", "she ☃"):
        assert word in encoder, word
    for word in ("", "  ", "☃", "[MASK]", "[UNK]", "\ud800", "a" * 200, "she " * 40):
        assert word not in encoder, word
    with pytest.raises(KeyError, match="'☃' is not in .*only unknown or special tokens"):
        encoder.get_vectors(["she", "☃"])
    with pytest.raises(KeyError, match="'' is not in .*no token"):
        encoder[""]
    of_bytes = load_encoder(tiny.encoder("gpt2"), **OPTIONS)
    assert [word in of_bytes for word in ("☃", "", "<|endoftext|>")] == [True, False, False]


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_a_word_that_is_cut_off_is_refused_and_one_before_it_is_not(tiny, kind):
    encoder = load_encoder(tiny.encoder(kind), **OPTIONS)
    text = "a nurse is here" + " the" * 40 + " nursing"
    early, late = Context(text, 2, 7), Context(text, len(text) - 7, len(text))
    assert encoder.can_encode([early, late]).tolist() == [True, False]
    with pytest.raises(ValueError, match=r"'nursing'.*max_length=32.*can_encode"):
        encoder.encode_contexts([early, late])
    assert np.isfinite(encoder.encode_contexts([early])).all()


def test_a_word_of_which_a_part_is_cut_off_is_refused(tiny_bert):
    # [CLS] the kids nurse ##s [SEP] is one token too long.
    encoder = load_encoder(tiny_bert, max_length=5, **OPTIONS)
    whole, cut = Context("the kids nurse", 9, 14), Context("the kids nurses", 9, 15)
    assert encoder.can_encode([whole, cut]).tolist() == [True, False]


def test_what_is_no_context_is_refused(tiny_bert):
    encoder = load_encoder(tiny_bert, **OPTIONS)
    for wrong in ("nurse", *(Context("nurse", *span) for span in ((0, 0), (-1, 2), (0, 99)))):
        with pytest.raises(ValueError, match=r"contexts\[0\] must be a Context with 0 <= start"):
            encoder.encode_contexts([wrong])


# Fingerprints


def test_the_fingerprint_is_that_of_the_numbers(tiny, tiny_folder):
    def fingerprint(*pair):
        return load_encoder(pair, **OPTIONS).fingerprint

    first = fingerprint(*tiny.encoder("bert"))
    assert load_encoder(tiny_folder, **OPTIONS).fingerprint == first
    assert fingerprint(*tiny.encoder("bert", seed=1)) != first
    model, tokenizer = tiny.encoder("bert")
    with torch.no_grad():
        model.pooler.dense.weight += 1  # hidden states do not depend on it
    assert fingerprint(model, tokenizer) == first
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[7, 0] += 1e-3
    assert fingerprint(model, tokenizer) != first
    model, other = tiny.encoder("bert")
    other.add_tokens(["kidss"])
    assert fingerprint(model, other) != first
    model.config.layer_norm_eps = 0.1
    assert fingerprint(model, tokenizer) != first


# Files


def test_a_folder_is_opened_also_with_weights_in_bin(tiny_bert, tiny_folder):
    expected = load_encoder(tiny_bert, **OPTIONS)["nurse"]
    (tiny_folder / "model.safetensors").unlink()
    torch.save(tiny_bert[0].state_dict(), tiny_folder / "pytorch_model.bin")
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


PARTS = "sentence_transformers.models"
OF_CODE = {
    "model_type": "evil",
    "auto_map": {"AutoConfig": "modeling_evil.Evil", "AutoModel": "modeling_evil.Evil"},
}


@pytest.mark.parametrize(
    ("file", "content", "culprit"),
    [
        ("config.json", json.dumps(OF_CODE), "its own code, which wefe does not run"),
        ("modules.json", '[{"path": "", "type": "modeling_evil.Evil"}]', "modeling_evil.Evil"),
        ("modules.json", '[{"path": "", "type": "sentence_transformers.X"}]', "transformers.X"),
        (
            "modules.json",
            f'[{{"path": "", "type": "{PARTS}.Transformer"}},'
            f' {{"path": "1_Dense", "type": "{PARTS}.Dense"}}]',
            "os.getcwd",
        ),
        *(
            ("modules.json", damaged, r"modules\.json is damaged")
            for damaged in ("{]", "[]", "{}", '[{"path": 3}]')
        ),
    ],
)
def test_a_folder_that_names_code_or_is_damaged_is_refused(
    tiny_folder, tmp_path, file, content, culprit
):
    proof = tmp_path / "proof"
    (tiny_folder / "modeling_evil.py").write_text(f"open({str(proof)!r}, 'w')\nclass Evil: pass\n")
    (tiny_folder / "1_Dense").mkdir()
    dense = tiny_folder / "1_Dense" / "config.json"
    dense.write_text('{"activation_function": "os.getcwd"}')
    (tiny_folder / file).write_text(content)
    with pytest.raises(ValueError, match=culprit):
        load_encoder(tiny_folder, **OPTIONS)
    assert not proof.exists()


def test_what_is_no_encoder_is_refused(tiny, tmp_path, tiny_folder):
    model, tokenizer = tiny.encoder("bert")

    class Slow(type(tokenizer)):
        is_fast = False

    slow = tiny.encoder("bert")[1]
    slow.__class__ = Slow
    of_images = transformers.ViTConfig(hidden_size=12, num_hidden_layers=1)
    wrong = [
        ("nothing-here", {}, FileNotFoundError, "nothing-here"),
        (tmp_path, {}, ValueError, "cannot be opened as an encoder"),
        (model, {}, TypeError, "a tuple of a transformers model and its tokenizer"),
        (tiny_folder, {"revision": "main"}, TypeError, "revision"),
        ((transformers.ViTModel(of_images), tokenizer), {}, TypeError, "hidden states"),
        ((model, slow), {}, TypeError, "Use a fast one"),
        (tiny.encoder("gpt2"), {"pooling": "cls"}, ValueError, "pooling='cls'"),
        ((model, tokenizer), {"layer": 4}, ValueError, "layer must be from 0 to 3"),
        ((model, tokenizer), {"max_length": 33}, ValueError, "max_length is at most 32"),
    ]
    for source, options, error, message in wrong:
        with pytest.raises(error, match=message):
            load_encoder(source, **OPTIONS, **options)
    encoder = load_encoder((tiny.network("bert", 6), tokenizer), **OPTIONS)
    with pytest.raises(ValueError, match="use the tokenizer that belongs"):
        encoder["nurse"]


@pytest.mark.parametrize("kind", ["transformers", "sentence-transformers"])
def test_weights_that_the_files_lack_are_refused(tiny_folder, tiny_sentence_transformer, kind):
    safetensors = pytest.importorskip("safetensors.torch")
    if kind == "sentence-transformers":
        tiny_sentence_transformer.save(str(tiny_folder))
    path = tiny_folder / "model.safetensors"
    weights = safetensors.load_file(path)
    kept = {name: each for name, each in weights.items() if ".layer.2." not in f".{name}"}
    assert len(kept) < len(weights)
    safetensors.save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"its files lack \d+ of the weights"):
        load_encoder(tiny_folder, **OPTIONS)
    path.write_bytes(b"no weights at all")
    with pytest.raises(ValueError, match="cannot be opened as an encoder"):
        load_encoder(tiny_folder, **OPTIONS)


@pytest.fixture
def hub(monkeypatch, tiny_folder, tmp_path):
    """The files that were fetched from a Hugging Face with one model; its error, if any."""
    library = pytest.importorskip("huggingface_hub")
    hub = SimpleNamespace(fetched=[], error=None)
    for name in LARGE:
        (tiny_folder / name).parent.mkdir(exist_ok=True)
        (tiny_folder / name).write_bytes(b"large")

    def list_files(repo_id, *, revision=None, token=None):
        if hub.error is not None:
            raise hub.error
        assert (repo_id, revision) == ("org/tiny", "v1")
        files = (path for path in tiny_folder.rglob("*") if path.is_file())
        return [path.relative_to(tiny_folder).as_posix() for path in files]

    def download(repo_id, filename, *, revision=None, token=None):
        hub.fetched.append(filename)
        target = tmp_path / "snapshots" / "0123" / filename
        target.parent.mkdir(parents=True, exist_ok=True)
        return str(shutil.copy(tiny_folder / filename, target))

    def no_snapshot(*args, **kwargs):
        raise library.utils.LocalEntryNotFoundError("not there")

    monkeypatch.setattr(library, "HfApi", lambda: SimpleNamespace(list_repo_files=list_files))
    monkeypatch.setattr(library, "hf_hub_download", download)
    monkeypatch.setattr(library, "snapshot_download", no_snapshot)
    return hub


def test_of_a_model_on_hugging_face_only_what_is_needed_is_fetched(hub, tiny, tiny_folder):
    encoder = load_encoder("org/tiny@v1", **OPTIONS)
    assert encoder.name == "tiny"
    expected = load_encoder(tiny.encoder("bert"), **OPTIONS)
    np.testing.assert_allclose(encoder["nurse"], expected["nurse"], atol=1e-6)
    assert "model.safetensors" in hub.fetched
    assert not set(LARGE) & set(hub.fetched)
    (tiny_folder / "config.json").unlink()
    with pytest.raises(ValueError, match=r"org/tiny has no config\.json"):
        load_encoder("org/tiny@v1", **OPTIONS)
    hub.error = OSError("no network")
    with pytest.raises(ConnectionError, match="org/tiny.*not in the cache.*HF_HUB_OFFLINE"):
        load_encoder("org/tiny", revision="v1", **OPTIONS)
    with pytest.raises(ValueError, match="one revision"):
        load_encoder("org/tiny@v1", revision="v2", **OPTIONS)


def test_unknown_words_of_a_sentencepiece_tokenizer_are_lost(tiny):
    tokenizers = pytest.importorskip("tokenizers")
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0), ("▁she", -2.0)]
    inner = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    encoder = load_encoder((tiny.encoder("t5")[0], tokenizer), **OPTIONS)
    assert [word in encoder for word in ("she", "中文", "😀")] == [True, False, False]
