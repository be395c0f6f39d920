"""Vectors of tokens: which words are tokens, what the others get, and where the table is found."""

import json

import numpy as np
import pytest

from wefe.models._types import Reading
from wefe.models.formats._tokens import TokenVectors, choose_table, open_token_table

tokenizers = pytest.importorskip("tokenizers")
numpy_format = pytest.importorskip("safetensors.numpy")

from tokenizers import (  # noqa: E402
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

DIM = 5


def byte_level():
    """GPT's kind: bytes; the space before a word is part of its token."""
    vocabulary = {letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = []
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in (" nurse", " .", " naïve", "中国"):
        letters = splitter.pre_tokenize_str(text)[0][0]
        for n in range(1, len(letters)):
            merges.append((letters[:n], letters[n]))
            vocabulary.setdefault(letters[: n + 1], len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def word_piece():
    """BERT's kind: folds case, '##' continues a word."""
    names = "[PAD] [unused0] [UNK] [CLS] [SEP] she he nurse ##s house ##maid . ##he new york"
    vocabulary = {name: n for n, name in enumerate(names.split())}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 3), ("[SEP]", 4)]
    )
    return tokenizer


def unigram():
    """T5's kind: '▁' stands for the space before a word."""
    names = "<unk> ▁ ▁she ▁he he ▁nurse s ▁s e 中国 ."
    scores = [(name, -float(n)) for n, name in enumerate(names.split())]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<unk>"])
    return tokenizer


def llama():
    """Llama 2's kind: the normaliser puts '▁' before every text."""
    tokenizer = unigram()
    parts = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    tokenizer.normalizer = normalizers.Sequence(parts)
    tokenizer.pre_tokenizer = None
    return tokenizer


def gemma():
    """Gemma's kind: spaces become '▁', and none is put before a text."""
    tokenizer = llama()
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    return tokenizer


def word_level():
    """A kind of whole words, with special tokens and placeholders, which are none."""
    vocabulary = {name: n for n, name in enumerate(["[UNK]", "She", "she", "he", "nurse", "."])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[MASK]"])
    tokenizer.add_tokens(["<unused0>", "covid19", AddedToken("New York", normalized=False)])
    return tokenizer


def clip():
    """CLIP's kind: '</w>' ends a word, and spaces are dropped."""
    vocabulary = {"h": 0, "e": 1, "e</w>": 2, "he</w>": 3, "he": 4, "s": 5, "she</w>": 6}
    merges = [("h", "e</w>"), ("h", "e"), ("s", "he</w>")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


# A token of each kind, and the words that it keeps whole. Half a letter is no word anywhere.
KINDS = {
    word_piece: ("nurse", "she he nurse house . new york"),
    unigram: ("▁nurse", "she he nurse s 中国"),
    gemma: ("▁nurse", "she he nurse s 中国"),
    llama: ("▁nurse", "she he nurse s 中国"),
    word_level: ("nurse", "She she he nurse . covid19 New York"),
    clip: ("he</w>", "e he she"),
    byte_level: ("Ġnurse", "n nu nur nurs nurse . na naï naïv naïve 中 中国"),
}


def table_for(tokenizer, dtype=np.float32):
    numbers = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), DIM))
    return numbers.astype(dtype)


def vectors_of(tokenizer, policy="mean", **options):
    return TokenVectors(table_for(tokenizer), tokenizer, policy, **options)


# Which words are one token


@pytest.mark.parametrize("kind", KINDS)
def test_every_word_is_exactly_the_one_token_whose_row_it_has(kind):
    tokenizer, (token, words) = kind(), KINDS[kind]
    vectors = vectors_of(tokenizer)
    assert " ".join(vectors.key_to_index) == words
    row = table_for(tokenizer)[tokenizer.token_to_id(token)]
    np.testing.assert_array_equal(vectors[token.strip("▁Ġ").removesuffix("</w>")], row)
    for text in ("", "\n\t", "\ud800", "[MASK]", "[UNK]", "<unused0>", "she [MASK]"):
        assert text not in vectors
        assert kind is not word_level or not vectors.has_subwords(text)


def test_a_tokenizer_may_have_added_words_and_put_the_space_itself():
    tokenizer = byte_level()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.add_tokens([AddedToken("new york", lstrip=True)])
    tokenizer.model.dropout = 0.9  # It would drop merges by chance.
    assert " ".join(vectors_of(tokenizer).key_to_index) == KINDS[byte_level][1] + " new york"


# Words of several tokens


@pytest.mark.parametrize(("policy", "rows"), [("first", [9]), ("mean", [9, 10]), ("refuse", [])])
def test_a_word_of_several_tokens_gets_what_the_policy_says(policy, rows):
    vectors = vectors_of(word_piece(), policy)
    assert "housemaid" not in vectors
    assert vectors.has_subwords("housemaid") == bool(rows)
    if rows:
        made = vectors.get_vector("housemaid")
        np.testing.assert_allclose(made, table_for(word_piece())[rows].mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize(("kind", "text"), [(word_piece, "he.☃"), (unigram, "heß")])
def test_unknown_tokens_are_left_out_in_a_static_table_and_refused_in_a_language_model(kind, text):
    assert not vectors_of(kind()).has_subwords(text)
    assert vectors_of(kind(), static=True).has_subwords(text)
    assert not vectors_of(word_piece(), static=True).has_subwords("☃")


# The table


def test_bfloat16_is_widened_exactly():
    raw = (table_for(word_piece()).view(np.uint32) >> 16).astype(np.uint16)
    expected = (raw.astype(np.uint32) << 16).view(np.float32)
    vectors = TokenVectors(raw, word_piece(), "mean")
    np.testing.assert_array_equal(vectors["he"], expected[6], strict=True)


@pytest.mark.parametrize(
    ("n_rows", "mapping", "weights"),
    [(14, None, None), (15, np.full(15, 15), None), (15, None, np.ones(14))],
)
def test_a_table_and_a_tokenizer_of_different_models_are_refused(n_rows, mapping, weights):
    table = np.ones((n_rows, DIM), np.float32)
    with pytest.raises(ValueError, match=r"toy: .*15 tokens"):
        TokenVectors(table, word_piece(), "mean", mapping=mapping, weights=weights, label="toy")
    # No array is made for as many tokens.
    huge = Tokenizer(models.WordLevel({"a": 1 << 31}, "a"))
    with pytest.raises(ValueError, match="fit a"):
        TokenVectors(table, huge, "mean")


# model2vec


@pytest.mark.parametrize(
    ("kind", "dtype", "options"),
    [
        *((kind, "f4", {}) for kind in (byte_level, unigram, word_level)),
        *((word_piece, dtype, {}) for dtype in ("f2", "f8", "i1")),
        (word_piece, "f8", {"n_clusters": 4}),
        (word_piece, "f4", {"normalize": True}),
    ],
)
def test_vectors_are_those_of_model2vec(tmp_path, kind, dtype, options):
    model2vec = pytest.importorskip("model2vec")
    table = table_for(kind()) * 20
    model = model2vec.StaticModel(table, kind(), normalize=options.get("normalize", False))
    model.embedding = model.embedding.astype(dtype)
    if n_clusters := options.get("n_clusters"):
        model = model2vec.model.quantize_model(model, vocabulary_quantization=n_clusters)
    model.save_pretrained(tmp_path / "m")
    opened = open_token_table(tmp_path / "m", Reading()).table
    words = ["she", "he", "housemaid", "Nurse", "he.☃", "new york", "hehe", "heß", "中国"]
    words = [word for word in words if model.tokenize([word])[0]]
    # model2vec rounds its means to the width of the table.
    error = 2e-3 if dtype == "f2" else 1e-6
    for word, expected in zip(words, model.encode(words), strict=True):
        vector = opened.get_vector(word)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, expected, rtol=error, atol=20 * error, err_msg=word)


# Which tensor is the table

OTHERS = "wpe lm_head embeddings.position_embeddings embed_tokens_per_layer not_embed_tokens"
KNOWN = "embedding model.embed_tokens language_model.model.embed_tokens model.decoder.embed_tokens"
KNOWN += " bert.embeddings.word_embeddings transformer.wte wte shared tok_embeddings embed_in"
TIED = ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]


@pytest.mark.parametrize("name", ["embeddings", *(f"{name}.weight" for name in KNOWN.split(" "))])
def test_the_table_of_every_known_family_is_found_among_others(name):
    others = [f"{other}.weight" for other in OTHERS.split(" ")]
    assert choose_table("toy", [*others, name]) == name
    # One table that the encoder and the decoder share has several names.
    assert choose_table("toy", [*TIED, "shared.weight"]) == "shared.weight"
    assert choose_table("toy", TIED) == TIED[0]
    for names in (["text.shared.weight", f"audio.{TIED[0]}"], ["patch_embed.weight", "h.weight"]):
        with pytest.raises(ValueError, match=f"toy: .*{names[0]}"):
            choose_table("toy", names)


# Files and folders


@pytest.fixture
def write(tmp_path):
    def write(tensors, folder="model", file="model.safetensors", kind=word_piece, **texts):
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        numpy_format.save_file(tensors, place / file)
        kind().save(str(place / "tokenizer.json"))
        for name, content in texts.items():
            (place / f"{name}.json").write_text(json.dumps(content))
        return place

    return write


BERT = "embeddings.word_embeddings.weight"


@pytest.mark.parametrize(
    ("folder", "file", "name"),
    [
        ("model", "bert.safetensors", "bert"),
        ("models--org--bert-tiny/snapshots/0a1b", "model.safetensors", "bert-tiny"),
        ("bert--tiny", "model.safetensors", "bert--tiny"),
    ],
)
def test_a_folder_and_its_file_are_the_same_model(write, folder, file, name):
    table = table_for(word_piece())
    path = write({BERT: table, "lm_head.weight": table * 2}, folder, file)
    for place, called in ((path / file, name), (path, "model" if name == "bert" else name)):
        source = open_token_table(place, Reading())
        assert (source.name, source.label, source.table.held) == (called, str(place), "mapped")
        np.testing.assert_array_equal(source.table["he"], table[6])


@pytest.mark.parametrize(
    ("name", "static"), [(BERT, 0), ("embeddings", 1), ("embedding.weight", 1)]
)
def test_words_of_several_tokens_have_vectors_in_static_tables_and_where_asked_for(
    write, name, static, caplog
):
    modules = [{"type": f"a.{step}"} for step in ["First", "Dense" if static else "Pooling"]]
    folder = write({name: table_for(word_piece())}, modules=modules)
    for subwords in (None, "refuse" if static else "first"):
        source = open_token_table(folder, Reading(subwords=subwords))
        asked = bool(static) if subwords is None else not static
        assert source.use_subwords == source.table.has_subwords("housemaid") == asked
    # What is left out is said.
    assert ("Dense" if static else "load_encoder") in caplog.text


def test_a_sentence_transformers_model_is_opened_by_any_of_its_folders(write):
    table = table_for(word_piece())
    inner = write({"embedding.weight": table}, "model/0_Static")
    (inner / "tokenizer.json").rename(inner.parent / "tokenizer.json")
    steps = {"0_Static": "StaticEmbedding", "1_Normalize": "models.Normalize"}
    modules = [{"path": path, "type": f"x.{step}"} for path, step in steps.items()]
    (inner.parent / "modules.json").write_text(json.dumps(modules))
    for opened in (inner.parent, inner, inner / "model.safetensors"):
        source = open_token_table(opened, Reading())
        assert source.name == "model"
        expected = table[6] / np.linalg.norm(table[6])
        np.testing.assert_allclose(source.table["he"], expected, rtol=1e-6)


@pytest.mark.parametrize("shard", ["../secret.safetensors", "/secret.safetensors", "..", ""])
def test_only_files_in_the_folder_are_opened_whatever_the_model_says(write, tmp_path, shard):
    numpy_format.save_file({"wte.weight": np.zeros((20, 2))}, tmp_path / "secret.safetensors")
    index = {"model.safetensors.index": {"weight_map": {"wte.weight": shard}}}
    folder = write({"x": np.zeros((2, 2))}, file="a.safetensors", **index)
    with pytest.raises(ValueError, match="a.safetensors"):
        open_token_table(folder, Reading())


DAMAGED = {
    "modules.json": ["{}", '[{"path": 3}]', "[" * 200_000, "\xff"],
    "config.json": ["{"],
    "tokenizer.json": ["{}", ""],
    "model.safetensors.index.json": ["[]", '{"weight_map": {"a": 1}}'],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named(write, name):
    file = "a.safetensors" if name.endswith("index.json") else "model.safetensors"
    folder = write({"embeddings": table_for(word_piece())}, file=file)
    for content in DAMAGED[name]:
        (folder / name).write_text(content, encoding="latin-1")
        with pytest.raises(ValueError, match="damaged") as caught:
            open_token_table(folder, Reading())
        assert str(folder / name) in str(caught.value)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("name", "dtype", "part"),
    [
        # In a language model int8 lacks its scale.
        (BERT, "i1", {}),
        # A mapping of floats was a TypeError without the name of the file.
        ("mapping", "f4", {"mapping": np.ones(20)}),
        ("mapping", "f4", {"mapping": np.ones((20, 1), int)}),
    ],
)
def test_a_table_of_other_numbers_is_refused(write, name, dtype, part):
    table = {"embeddings" if part else name: np.zeros((20, DIM), dtype)}
    folder = write({**table, **part})
    with pytest.raises(ValueError, match=f"model.safetensors.*{name}"):
        open_token_table(folder, Reading())


def test_odd_tokenizers_are_refused_or_their_unclear_words_left_out(write):
    folder = write({"embeddings": table_for(word_level())}, kind=word_level)
    path = folder / "tokenizer.json"
    text = path.read_text()
    # Which of the two is the word of the token would change from one loading to the next.
    path.write_text(text.replace('"nurse": 4', '"nurse": 3'))
    words = [*open_token_table(folder, Reading()).table.key_to_index]
    assert words == ["She", "she", ".", "covid19", "New York"]
    path.write_text(text.replace('"unk_token": "[UNK]"', '"unk_token": "[unk]"'))
    with pytest.raises(ValueError, match=r"tokenizer\.json.*UNK"):
        open_token_table(folder, Reading())


@pytest.mark.parametrize("lost", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named_and_what_to_do_about_a_pickle(write, lost):
    folder = write({BERT: table_for(word_piece())}, "above/model")
    # One in a folder above counts only for the parts of a model.
    (folder / lost).rename(folder.parent / lost)
    (folder / "pytorch_model.bin").touch()
    with pytest.raises(ValueError, match=f"{lost}.*pytorch_model.bin.*pickle.*save_pretrained"):
        open_token_table(folder, Reading())
