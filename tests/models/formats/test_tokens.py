"""Vectors of tokens: which words are tokens, what the others get, and where the table is found."""

import json
import pickle
import sys

import numpy as np
import pytest

from wefe.models import WordEmbeddingModel
from wefe.models._keyed_vectors import is_mapped
from wefe.models.formats._safetensors import Tensor
from wefe.models.formats._source import Reading
from wefe.models.formats._tokens import (
    TokenVectors,
    choose_table,
    find_embedding_table,
    open_token_table,
)

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


def word_piece():
    """BERT's kind: folds case, '##' continues a word."""
    names = "[PAD] [unused0] [UNK] [CLS] [SEP] she he nurse ##s house ##maid . ##he new york"
    tokenizer = Tokenizer(
        models.WordPiece({name: n for n, name in enumerate(names.split())}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 3), ("[SEP]", 4)]
    )
    return tokenizer


def byte_level(add_prefix_space=False):
    """GPT's kind: bytes; the space before a word is part of its token."""
    vocabulary = {letter: n for n, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = []

    def merge(*parts):
        for n in range(1, len(parts)):
            merges.append(("".join(parts[:n]), parts[n]))
            vocabulary.setdefault("".join(merges[-1]), len(vocabulary))

    merge("h", "e")
    merge("Ġ", "he")
    merge("Ġ", "s", "he")
    merge("Ġ", "n", "u", "r", "s", "e")
    merge("Ġ", ".")
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    zhong, guo = (splitter.pre_tokenize_str(letter)[0][0] for letter in "中国")
    merge(*zhong)
    merge(*guo)
    merge(zhong, guo)
    merge("Ġ", "n", "a", *"Ã¯", "v", "e")
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def unigram(prepend_scheme="always"):
    """T5's kind: '▁' stands for the space before a word."""
    names = "<unk> ▁ ▁she ▁he he ▁nurse s ▁s e 中国 ."
    tokenizer = Tokenizer(
        models.Unigram([(name, -float(n)) for n, name in enumerate(names.split())], unk_id=0)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend_scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=prepend_scheme)
    tokenizer.add_special_tokens(["<unk>"])
    return tokenizer


def gemma():
    """Gemma's kind: spaces become '▁', and none is put before a text."""
    tokenizer = unigram()
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    return tokenizer


def llama():
    """Llama 2's kind: the normaliser puts '▁' before every text."""
    tokenizer = gemma()
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.pre_tokenizer = None
    return tokenizer


def word_level():
    names = "[UNK] She she he nurse ."
    tokenizer = Tokenizer(
        models.WordLevel({name: n for n, name in enumerate(names.split())}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def clip():
    """CLIP's kind: '</w>' ends a word, and spaces are dropped."""
    vocabulary = {"h": 0, "e": 1, "e</w>": 2, "he</w>": 3, "he": 4, "s": 5, "she</w>": 6}
    merges = [("h", "e</w>"), ("h", "e"), ("s", "he</w>")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


KINDS = [word_piece, byte_level, unigram, gemma, llama, word_level, clip]


def table_for(tokenizer, dtype=np.float32):
    numbers = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), DIM))
    return numbers.astype(dtype)


def vectors_of(tokenizer, policy="mean", **options):
    return TokenVectors(table_for(tokenizer), tokenizer, policy, **options)


# Which words are one token


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (word_piece, ["she", "he", "nurse", "house", ".", "new", "york"]),
        (unigram, ["she", "he", "nurse", "s", "中国"]),
        (gemma, ["she", "he", "nurse", "s", "中国"]),
        (llama, ["she", "he", "nurse", "s", "中国"]),
        (word_level, ["She", "she", "he", "nurse", "."]),
        (clip, ["e", "he", "she"]),
    ],
)
def test_the_words_are_those_that_the_tokenizer_keeps_whole(kind, words):
    assert list(vectors_of(kind()).key_to_index) == words


def test_words_of_byte_level_tokens_are_those_with_a_space_before_them():
    words = list(vectors_of(byte_level()).key_to_index)
    whole = ["he", "she", "nurse", "中国", "naïve"]
    assert [word for word in words if word in whole] == whole
    # After a space the letter h is no token, and half a letter is no word anywhere.
    parts = {"s", "n", ".", "中", "国", "nu", "nur", "nurs", "na", "naï", "naïv"}
    assert set(words) == {*whole, *parts}


@pytest.mark.parametrize("kind", [byte_level, unigram, gemma, llama])
def test_he_is_the_token_of_a_word_and_not_the_end_of_another(kind):
    tokenizer = kind()
    table = table_for(tokenizer)
    vectors = TokenVectors(table, tokenizer, "refuse")
    whole = {"Ġhe", "▁he"} & set(tokenizer.get_vocab())
    np.testing.assert_array_equal(vectors["he"], table[tokenizer.token_to_id(whole.pop())])
    assert not np.array_equal(vectors["he"], table[tokenizer.token_to_id("he")])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("static", [True, False])
def test_every_word_is_exactly_the_one_token_whose_row_it_has(kind, static):
    tokenizer = kind()
    table = table_for(tokenizer)
    vectors = TokenVectors(table, tokenizer, "mean", static=static)
    assert len(vectors) > 2
    for word, row in vectors.key_to_index.items():
        chinese = word[0] in "中国"
        space = " " if kind in (byte_level, gemma) and not static and not chinese else ""
        ids = kind().encode(space + word, add_special_tokens=False).ids
        if chinese and not static and ids[0] == tokenizer.token_to_id("▁"):
            ids = ids[1:]
        assert len(ids) == 1
        np.testing.assert_array_equal(vectors.rows([row])[0], table[ids[0]])
        np.testing.assert_array_equal(vectors.get_vector(word), table[ids[0]])


def test_no_whole_word_of_a_word_piece_vocabulary_is_missed():
    tokenizer = word_piece()
    words = [name for name in tokenizer.get_vocab() if not name.startswith(("##", "["))]
    assert set(vectors_of(tokenizer).key_to_index) == set(words)


def test_chinese_stands_in_a_sentence_without_a_space():
    for tokenizer in (byte_level(), unigram()):
        vectors = vectors_of(tokenizer, "refuse")
        sentence = tokenizer.encode("he中国.", add_special_tokens=False).tokens
        inside = tokenizer.encode("中国", add_special_tokens=False).tokens[-1]
        assert inside in sentence
        np.testing.assert_array_equal(
            vectors["中国"], table_for(tokenizer)[tokenizer.token_to_id(inside)]
        )


def test_chinese_is_not_merged_with_a_space_that_is_not_there():
    # GPT-2 has such a token: a space and the first byte of a Chinese letter.
    state = json.loads(byte_level().to_str())
    first = "ä"  # how the byte 0xE4 is written
    state["model"]["vocab"][f"Ġ{first}"] = len(state["model"]["vocab"])
    state["model"]["merges"].insert(0, ["Ġ", first])
    state["added_tokens"] = []
    tokenizer = Tokenizer.from_str(json.dumps(state))
    assert tokenizer.encode(" 中国").tokens[0] == f"Ġ{first}"
    assert "中国" in vectors_of(tokenizer)


def test_a_part_of_a_word_is_no_word_even_where_it_is_read_as_one():
    tokenizer = word_piece()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    assert tokenizer.encode("##maid", add_special_tokens=False).tokens == ["##maid"]
    assert "##maid" not in vectors_of(tokenizer)


def test_words_added_to_a_byte_level_tokenizer_are_words():
    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken("new york", lstrip=True)])
    assert "new york" in vectors_of(tokenizer)


def test_a_byte_level_tokenizer_that_puts_the_space_itself_gets_no_second_one():
    tokenizer = byte_level(add_prefix_space=True)
    vectors = vectors_of(tokenizer)
    assert {"he", "she", "nurse", "中国"} <= set(vectors.key_to_index)
    row = table_for(tokenizer)[tokenizer.token_to_id("Ġhe")]
    np.testing.assert_array_equal(vectors["he"], row)


def test_added_runs_of_spaces_are_no_words():
    tokenizer = unigram()
    tokenizer.add_tokens(["▁▁", "\n\n"])
    assert not {"▁▁", "", "\n\n"} & set(vectors_of(tokenizer, static=True).key_to_index)


def test_special_tokens_and_placeholders_are_no_words():
    tokenizer = word_level()
    tokenizer.add_special_tokens(["[MASK]"])
    tokenizer.add_tokens(["<unused0>", "covid19", AddedToken("New York", normalized=False)])
    vectors = vectors_of(tokenizer)
    assert list(vectors.key_to_index) == ["She", "she", "he", "nurse", ".", "covid19", "New York"]
    for text in ("[MASK]", "[UNK]", "<unused0>", "she [MASK]"):
        assert not vectors.has_subwords(text)


def test_padding_truncation_and_special_tokens_of_the_tokenizer_do_not_count():
    tokenizer = word_piece()
    tokenizer.enable_padding(length=8)
    tokenizer.enable_truncation(2)
    vectors = vectors_of(tokenizer)
    assert "she" in vectors
    rows = table_for(tokenizer)[[9, 10, 8]]
    np.testing.assert_allclose(vectors.get_vector("housemaids"), rows.mean(axis=0), rtol=1e-6)


def test_a_tokenizer_that_drops_merges_by_chance_does_so_no_more():
    tokenizer = byte_level()
    tokenizer.model.dropout = 0.9
    assert {"he", "she", "nurse"} <= set(vectors_of(tokenizer).key_to_index)


# Words of several tokens


def test_a_word_of_several_tokens_gets_what_the_policy_says():
    tokenizer = word_piece()
    table = table_for(tokenizer)
    first, mean, refuse = (
        TokenVectors(table, word_piece(), policy) for policy in ("first", "mean", "refuse")
    )
    assert "housemaid" not in mean
    np.testing.assert_array_equal(first.get_vector("housemaid"), table[9])
    np.testing.assert_allclose(mean.get_vector("housemaid"), table[[9, 10]].mean(axis=0), rtol=1e-6)
    assert mean.has_subwords("housemaid")
    assert first.has_subwords("housemaid")
    assert not refuse.has_subwords("housemaid")
    with pytest.raises(KeyError, match="housemaid"):
        refuse.get_vector("housemaid")
    np.testing.assert_array_equal(refuse.get_vector("he"), table[6])


def test_a_word_that_the_tokenizer_folds_has_the_vector_of_what_it_is_folded_to():
    vectors = vectors_of(word_piece())
    assert "She" not in vectors
    np.testing.assert_array_equal(vectors.get_vector("She"), vectors["she"])


def test_a_word_with_an_unknown_token_has_no_vector_in_a_language_model():
    vectors = vectors_of(word_piece())
    assert not vectors.has_subwords("☃")
    assert not vectors.has_subwords("he.☃")
    with pytest.raises(KeyError):
        vectors.get_vector("he.☃")


def test_unknown_tokens_are_left_out_of_the_mean_in_a_static_table():
    vectors = vectors_of(word_piece(), static=True)
    expected = (vectors["he"] + vectors["."]) / 2
    np.testing.assert_allclose(vectors.get_vector("he.☃"), expected, rtol=1e-6)
    assert not vectors.has_subwords("☃")


def test_the_unknown_token_of_a_unigram_model_is_known():
    assert not vectors_of(unigram()).has_subwords("heß")
    assert vectors_of(unigram(), static=True).has_subwords("heß")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0", "\ud800"])
def test_nothing_but_space_or_half_a_letter_has_no_vector(kind, static, text):
    vectors = vectors_of(kind(), static=static)
    assert text not in vectors
    assert not vectors.has_subwords(text)
    with pytest.raises(KeyError):
        vectors.get_vector(text)


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="subwords must be one of 'first', 'mean', 'refuse'"):
        vectors_of(word_piece(), "last")


# The table


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
def test_rows_are_made_in_float32_whatever_the_table_has(dtype):
    tokenizer = word_piece()
    table = (table_for(tokenizer) * 20).astype(dtype)
    vectors = TokenVectors(table, tokenizer, "mean")
    made = vectors.rows([2, 0])
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, table[[7, 5]].astype(np.float32))
    assert vectors.get_vector("housemaid").dtype == np.float32


def test_raw_bfloat16_is_widened():
    tokenizer = word_piece()
    table = table_for(tokenizer)
    bits = (table.view(np.uint32) >> 16).astype(np.uint16)
    expected = (bits.astype(np.uint32) << 16).view(np.float32)
    vectors = TokenVectors(bits, tokenizer, "mean")
    np.testing.assert_array_equal(vectors["nurse"], expected[7])
    np.testing.assert_allclose(
        vectors.get_vector("housemaid"), expected[[9, 10]].mean(axis=0), rtol=1e-6
    )


def test_vectors_that_are_handed_out_are_copies():
    vectors = vectors_of(word_piece())
    before = vectors["he"].copy()
    vectors.rows([1])[:] = 0
    vectors.get_vector("he")[:] = 0
    np.testing.assert_array_equal(vectors["he"], before)


def test_mapping_and_weights_lead_from_tokens_to_rows():
    tokenizer = word_piece()
    n = tokenizer.get_vocab_size()
    table = table_for(tokenizer)[:4]
    mapping, weights = np.arange(n) % 4, np.linspace(0.5, 2, n)
    vectors = TokenVectors(table, tokenizer, "mean", mapping=mapping, weights=weights)
    np.testing.assert_allclose(vectors["he"], table[6 % 4] * weights[6], rtol=1e-6)
    expected = (table[9 % 4] * weights[9] + table[10 % 4] * weights[10]) / 2
    np.testing.assert_allclose(vectors.get_vector("housemaid"), expected, rtol=1e-6)
    assert vectors.stored_nbytes == table.nbytes + n * 16


def test_a_table_and_a_tokenizer_of_different_models_are_refused():
    tokenizer = word_piece()
    table = table_for(tokenizer)
    n = len(table)
    for arguments, message in [
        ((table[:-1],), f"{n} tokens, but there are rows for only {n - 1}"),
        ((table, np.zeros(n - 1, int)), f"{n} tokens, but there are rows for only {n - 1}"),
        ((table, None, np.ones(n - 1)), f"{n} tokens, but there are weights for only {n - 1}"),
        ((table, np.full(n, n)), f"rows from {n} to {n}; the table has {n} rows"),
        ((table, np.full(n, -1)), "rows from -1 to -1"),
        ((table, np.zeros(n)), "whole numbers as 'mapping'"),
        ((table, None, np.ones(n, int)), "floating-point numbers as 'weights'"),
        ((table, None, np.ones((n, 1))), "floating-point numbers as 'weights'"),
    ]:
        rows, mapping, weights = (*arguments, None, None)[:3]
        with pytest.raises(ValueError, match=message):
            TokenVectors(rows, tokenizer, "mean", mapping=mapping, weights=weights)


def test_a_table_with_more_rows_than_tokens_is_fine():
    # Language models pad theirs.
    tokenizer = word_piece()
    table = np.vstack([table_for(tokenizer), np.ones((9, DIM), np.float32)])
    assert len(TokenVectors(table, tokenizer, "mean")) == 7


def test_they_can_be_sent_to_another_process():
    vectors = vectors_of(word_piece())
    again = pickle.loads(pickle.dumps(vectors))
    np.testing.assert_array_equal(again.get_vector("housemaid"), vectors.get_vector("housemaid"))
    assert again.key_to_index == vectors.key_to_index


def test_a_model_finds_words_of_several_tokens_if_it_is_to():
    model = WordEmbeddingModel(vectors_of(word_piece()), "toy", use_subwords=True)
    assert "housemaid" in model
    assert "☃" not in model
    np.testing.assert_array_equal(
        model.get_vectors(["he", "housemaid"])[1], model.wv.get_vector("housemaid")
    )
    assert "housemaid" not in WordEmbeddingModel(vectors_of(word_piece()), "toy")


# model2vec

WORDS = ["she", "he", "housemaid", "Nurse", "nurses", "he.☃", "housemaids", "new york", ".", "hehe"]


@pytest.fixture
def static_model():
    model2vec = pytest.importorskip("model2vec")

    def make(kind=word_piece, dtype=np.float32, **options):
        tokenizer = kind()
        return model2vec.StaticModel(table_for(tokenizer, dtype), tokenizer, **options)

    return make


def opened(model, folder, **reading):
    model.save_pretrained(folder)
    return open_token_table(folder, Reading(**reading))


def assert_same_vectors(source, model, words=WORDS, normalize=None, **tolerance):
    own = model.encode(words, normalize=normalize)
    for word, expected in zip(words, own, strict=True):
        vector = source.table().get_vector(word)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, expected, **tolerance, err_msg=word)


@pytest.mark.parametrize("kind", [word_piece, byte_level, unigram, word_level])
def test_vectors_are_those_of_model2vec_with_every_kind_of_tokenizer(static_model, tmp_path, kind):
    model = static_model(kind)
    words = [word for word in [*WORDS, "heß", "中国"] if model.tokenize([word])[0]]
    assert_same_vectors(opened(model, tmp_path / "m"), model, words, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("dtype", "error"), [("f2", 1e-3), ("f4", 1e-6), ("f8", 1e-6), ("i1", 1e-6)]
)
def test_vectors_are_those_of_model2vec_in_every_width(static_model, tmp_path, dtype, error):
    model = static_model(dtype=np.float32)
    model.embedding = (model.embedding * 20).astype(dtype)
    # model2vec rounds its means to the width of the table.
    assert_same_vectors(opened(model, tmp_path / "m"), model, rtol=error, atol=error)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_vectors_of_a_quantised_vocabulary_are_those_of_model2vec(static_model, tmp_path, dtype):
    from model2vec.model import quantize_model

    model = quantize_model(static_model(dtype=dtype), vocabulary_quantization=4)
    source = opened(model, tmp_path / "m")
    assert source.table()._table.shape == (4, DIM)
    error = 2e-3 if dtype == "f2" else 1e-6
    assert_same_vectors(source, model, rtol=error, atol=error)
    rows = source.table().rows([source.table().key_to_index["he"]])
    np.testing.assert_allclose(rows[0], model.encode(["he"])[0], rtol=error, atol=error)


def test_a_model_that_says_it_is_normalised_has_vectors_of_unit_length(static_model, tmp_path):
    model = static_model(normalize=True)
    model.embedding[6] = 0
    source = opened(model, tmp_path / "m")
    assert_same_vectors(source, model, rtol=1e-6, atol=1e-7)
    vectors = source.table().vectors
    lengths = np.linalg.norm(vectors, axis=1)
    zero = source.table().key_to_index["he"]
    assert lengths[zero] == 0
    np.testing.assert_allclose(np.delete(lengths, zero), 1, rtol=1e-6)


def test_a_model_that_says_nothing_keeps_its_lengths(static_model, tmp_path):
    model = static_model(normalize=False)
    source = opened(model, tmp_path / "m")
    np.testing.assert_array_equal(source.table()["he"], model.embedding[6])


def test_words_added_to_a_static_model_are_words(static_model, tmp_path):
    model = static_model()
    model.tokenizer.add_tokens([AddedToken("new york", normalized=True)])
    model.embedding = np.vstack([model.embedding, np.ones((1, DIM), np.float32)])
    source = opened(model, tmp_path / "m")
    assert "new york" in source.table().key_to_index
    assert_same_vectors(source, model, rtol=1e-6)


# Which tensor is the table


def shapes(*names, shape=(3, 2)):
    return {name: Tensor(name, "F32", shape, 0, 24) for name in names}


@pytest.mark.parametrize(
    "name",
    [
        "embeddings",
        "embedding.weight",
        "model.embed_tokens.weight",
        "language_model.model.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "bert.embeddings.word_embeddings.weight",
        "embeddings.word_embeddings.weight",
        "transformer.wte.weight",
        "wte.weight",
        "shared.weight",
        "tok_embeddings.weight",
        "model.embeddings.tok_embeddings.weight",
        "gpt_neox.embed_in.weight",
    ],
)
def test_the_table_of_every_known_family_is_found_among_others(name):
    others = [
        "embeddings.position_embeddings.weight",
        "embeddings.token_type_embeddings.weight",
        "wpe.weight",
        "lm_head.weight",
        "model.embed_tokens_per_layer.weight",
        "h.0.mlp.weight",
        "not_embed_tokens.weight",
    ]
    assert find_embedding_table(shapes(*others, name)) == name


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (
            ["decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "shared.weight"],
            "shared.weight",
        ),
        (
            ["decoder.embed_tokens.weight", "encoder.embed_tokens.weight"],
            "encoder.embed_tokens.weight",
        ),
        (["model.encoder.embed_tokens.weight", "model.shared.weight"], "model.shared.weight"),
    ],
)
def test_of_names_for_one_shared_table_the_first_in_order_is_taken(names, chosen):
    assert find_embedding_table(shapes(*names)) == chosen
    assert choose_table(reversed(names)) == chosen


@pytest.mark.parametrize(
    "names",
    [
        ["embeddings", "embedding.weight"],
        ["shared.weight", "wte.weight"],
        ["text.shared.weight", "audio.encoder.embed_tokens.weight"],
        ["model.embed_tokens.weight", "vision.embeddings.word_embeddings.weight"],
        ["a.embed_tokens.weight", "b.embed_tokens.weight"],
    ],
)
def test_several_tables_are_an_error_that_names_them(names):
    with pytest.raises(ValueError, match="found 2: .*" + ".*".join(sorted(names))):
        find_embedding_table(shapes(*names))


def test_no_table_is_an_error_that_names_what_is_there():
    tensors = shapes(*(f"h.{n}.weight" for n in range(20)), "patch_embed.weight")
    with pytest.raises(ValueError, match=r"\['patch_embed.weight', 'h.0.weight'.* and 13 more"):
        find_embedding_table(tensors)


def test_only_tables_of_two_dimensions_count():
    tensors = shapes("embeddings", shape=(3,)) | shapes("wte.weight")
    assert find_embedding_table(tensors) == "wte.weight"


# Files and folders


@pytest.fixture
def write(tmp_path):
    def write(tensors, folder="model", file="model.safetensors", kind=word_piece, **texts):
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        numpy_format.save_file(tensors, place / file)
        if kind is not None:
            kind().save(str(place / "tokenizer.json"))
        for name, content in texts.items():
            (tmp_path / folder / f"{name}.json").write_text(json.dumps(content))
        return place

    return write


BERT = "embeddings.word_embeddings.weight"


def test_a_folder_and_its_file_are_the_same_model(write):
    table = table_for(word_piece())
    folder = write({BERT: table, "lm_head.weight": table * 2})
    for path in (folder, folder / "model.safetensors"):
        source = open_token_table(path, Reading())
        assert source.name == "model"
        assert source.dim == DIM
        assert source.n_words == 7
        assert source.label == str(path)
        np.testing.assert_array_equal(source.table()["he"], table[6])


def test_the_name_is_that_of_the_file_if_it_says_more(write):
    folder = write({BERT: table_for(word_piece())}, file="bert.safetensors")
    assert open_token_table(folder / "bert.safetensors", Reading()).name == "bert"
    assert open_token_table(folder, Reading()).name == "model"


def test_a_model_in_the_cache_of_hugging_face_has_its_name_and_not_its_commit(write):
    folder = write({BERT: table_for(word_piece())}, "models--org--bert-tiny/snapshots/0a1b")
    assert open_token_table(folder, Reading()).name == "bert-tiny"
    assert open_token_table(folder / "model.safetensors", Reading()).name == "bert-tiny"


def test_words_of_several_tokens_are_refused_in_a_language_model_unless_asked_for(write):
    folder = write({BERT: table_for(word_piece())})
    source = open_token_table(folder, Reading())
    assert not source.use_subwords
    assert not source.table().has_subwords("housemaid")
    source = open_token_table(folder, Reading(subwords="first"))
    assert source.use_subwords
    assert source.table().has_subwords("housemaid")


@pytest.mark.parametrize("name", ["embeddings", "embedding.weight"])
def test_words_of_several_tokens_are_means_in_a_static_table_unless_refused(write, name, caplog):
    table = table_for(word_piece())
    folder = write({name: table})
    with caplog.at_level("INFO"):
        source = open_token_table(folder, Reading())
    assert name in caplog.text
    assert "'mean'" in caplog.text
    assert source.use_subwords
    np.testing.assert_allclose(
        source.table().get_vector("housemaid"), table[[9, 10]].mean(axis=0), rtol=1e-6
    )
    assert not open_token_table(folder, Reading(subwords="refuse")).use_subwords


def test_only_the_rows_that_are_used_are_read(write):
    source = open_token_table(write({BERT: table_for(word_piece())}), Reading())
    assert source.held == "mapped"
    rows = source.table().rows([0, 1])
    assert not is_mapped(rows)
    words, vectors = source.select(frozenset(["he", "xyzzy"]))
    assert (words, vectors.shape) == (["he"], (1, DIM))
    assert source.held == "mapped"
    assert source.table()._all is None


def test_a_table_is_copied_to_memory_if_it_is_to_be_held_there(write):
    folder = write({BERT: table_for(word_piece())})
    source = open_token_table(folder, Reading(hold="memory"))
    assert source.held == "memory"
    np.testing.assert_array_equal(source.table()["he"], table_for(word_piece())[6])


def test_a_table_in_bfloat16_is_opened(write, tmp_path):
    table = table_for(word_piece())
    bits = (table.view(np.uint32) >> 16).astype(np.uint16)
    folder = write({"unused": table})
    header = {BERT: {"dtype": "BF16", "shape": table.shape, "data_offsets": [0, bits.nbytes]}}
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(
        len(text).to_bytes(8, "little") + text + bits.tobytes()
    )
    vector = open_token_table(folder, Reading()).table()["he"]
    np.testing.assert_allclose(vector, table[6], rtol=2**-7)
    assert not np.array_equal(vector, table[6])


@pytest.mark.parametrize("opened", ["", "0_StaticEmbedding", "0_StaticEmbedding/model.safetensors"])
@pytest.mark.parametrize("tokenizer_above", [True, False])
def test_a_sentence_transformers_model_is_opened_by_any_of_its_folders(
    write, opened, tokenizer_above
):
    table = table_for(word_piece())
    inner = write(
        {"embedding.weight": table},
        "model/0_StaticEmbedding",
        kind=None if tokenizer_above else word_piece,
    )
    if tokenizer_above:
        word_piece().save(str(inner.parent / "tokenizer.json"))
    modules = [
        {"idx": 0, "path": "0_StaticEmbedding", "type": "sentence_transformers.StaticEmbedding"},
        {"idx": 1, "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]
    (inner.parent / "modules.json").write_text(json.dumps(modules))
    source = open_token_table(inner.parent / opened, Reading())
    assert source.name == "model"
    np.testing.assert_allclose(source.table()["he"], table[6] / np.linalg.norm(table[6]), rtol=1e-6)
    modules[1]["type"] = "sentence_transformers.models.Dense"
    (inner.parent / "modules.json").write_text(json.dumps(modules))
    source = open_token_table(inner.parent / opened, Reading())
    np.testing.assert_array_equal(source.table()["he"], table[6])


def test_parts_of_a_model_that_are_left_out_are_logged(write, caplog):
    modules = [{"path": "", "type": "a.StaticEmbedding"}, {"path": "1_Dense", "type": "a.Dense"}]
    folder = write({"embedding.weight": table_for(word_piece())}, modules=modules)
    open_token_table(folder, Reading())
    assert "changes its vectors after the mean (Dense)" in caplog.text


def test_the_modules_of_a_sentence_encoder_do_not_scale_its_input_table(write):
    table = table_for(word_piece())
    modules = [{"path": "", "type": "a.Transformer"}, {"path": "2", "type": "a.Normalize"}]
    folder = write({BERT: table}, modules=modules, config={"normalize": True})
    np.testing.assert_array_equal(open_token_table(folder, Reading()).table()["he"], table[6])


def test_of_a_model_in_several_files_only_that_with_the_table_is_opened(write):
    table = table_for(byte_level())
    weight_map = {
        "lm_head.weight": "model-00002-of-00002.safetensors",
        "model.embed_tokens.weight": "model-00001-of-00002.safetensors",
    }
    folder = write(
        {"model.embed_tokens.weight": table},
        file="model-00001-of-00002.safetensors",
        kind=byte_level,
        **{"model.safetensors.index": {"metadata": {}, "weight_map": weight_map}},
    )
    source = open_token_table(folder, Reading())
    np.testing.assert_array_equal(source.table()["he"], table[byte_level().token_to_id("Ġhe")])
    assert source.name == "model"


def index_of(shard):
    return {"model.safetensors.index": {"weight_map": {"wte.weight": shard}}}


@pytest.mark.parametrize(
    "shard",
    [
        *("../secret.safetensors", "/secret.safetensors", "a/b.safetensors", "..\\b", "C:\\b"),
        *("C:b", "..", ".", "", 3),
    ],
)
def test_an_index_that_leads_out_of_the_folder_is_refused(write, tmp_path, shard):
    numpy_format.save_file({"wte.weight": np.zeros((20, 2))}, tmp_path / "secret.safetensors")
    folder = write({"wte.weight": table_for(word_piece())}, file="a.safetensors", **index_of(shard))
    with pytest.raises(ValueError, match="expected the name of a file in the same folder"):
        open_token_table(folder, Reading())


def test_a_missing_shard_is_named(write):
    folder = write({"x": np.zeros((2, 2))}, file="a.safetensors", **index_of("b.safetensors"))
    with pytest.raises(ValueError, match="'wte.weight' is in 'b.safetensors', which is not in"):
        open_token_table(folder, Reading())


def test_a_shard_without_the_table_that_the_index_promises_is_an_error(write):
    folder = write({"x": np.zeros((2, 2))}, file="b.safetensors", **index_of("b.safetensors"))
    with pytest.raises(ValueError, match=r"expected the tensor 'wte.weight'; found \['x'\]"):
        open_token_table(folder, Reading())


@pytest.mark.parametrize("inner", ["../elsewhere", "/etc", "C:\\x"])
def test_modules_that_lead_out_of_the_folder_are_refused(write, inner):
    modules = [{"path": inner, "type": "a.Transformer"}]
    folder = write({BERT: table_for(word_piece())}, modules=modules)
    with pytest.raises(ValueError, match="expected a module inside the folder"):
        open_token_table(folder, Reading())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("modules.json", "{}", "expected a list of modules"),
        ("modules.json", "[1]", "expected a list of modules"),
        ("modules.json", '[{"path": 3}]', "expected a list of modules"),
        ("modules.json", "[" * 200_000, "expected JSON"),
        ("config.json", "{", "expected JSON"),
        ("tokenizer.json", "{}", "no tokenizer that the library tokenizers can read"),
        ("tokenizer.json", "", "no tokenizer that the library tokenizers can read"),
        ("model.safetensors", "", "damaged safetensors file"),
    ],
)
def test_a_damaged_file_is_named(write, name, content, message):
    folder = write({"embeddings": table_for(word_piece())})
    (folder / name).write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        open_token_table(folder, Reading())
    assert str(folder / name) in str(caught.value)


@pytest.mark.parametrize("kind", [word_piece, word_level])
def test_a_tokenizer_that_fails_at_unknown_words_is_refused_when_it_is_opened(write, kind):
    folder = write({"embeddings": table_for(kind())}, kind=kind)
    path = folder / "tokenizer.json"
    path.write_text(path.read_text().replace("[UNK]", "[unk]", 1).replace('"[UNK]":', '"x":'))
    with pytest.raises(ValueError, match=r"Missing \[UNK\] token") as caught:
        open_token_table(folder, Reading())
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", ["[]", '{"weight_map": []}', "{", "[" * 200_000])
def test_a_damaged_index_is_named(write, content):
    folder = write({"x": np.zeros((2, 2))}, file="a.safetensors")
    (folder / "model.safetensors.index.json").write_text(content)
    with pytest.raises(ValueError, match=r"model.safetensors.index.json is damaged: expected"):
        open_token_table(folder, Reading())


def test_a_model_that_is_only_a_pickle_is_refused_with_what_to_do(write):
    folder = write({})
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="a pickle, which can run code.*safe_serialization=True"):
        open_token_table(folder, Reading())


def test_a_folder_without_weights_is_refused(write):
    folder = write({})
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"expected model.safetensors, .*\['tokenizer.json'\]"):
        open_token_table(folder, Reading())


def test_a_missing_tokenizer_is_an_error_that_says_where_it_was_looked_for(write):
    folder = write({BERT: table_for(word_piece())}, kind=None)
    with pytest.raises(ValueError, match="looked for .*tokenizer.json, found nothing") as caught:
        open_token_table(folder, Reading())
    assert "AutoTokenizer" not in str(caught.value)
    (folder / "vocab.txt").write_text("she")
    with pytest.raises(ValueError, match="There is vocab.txt, .* AutoTokenizer"):
        open_token_table(folder, Reading())


def test_a_tokenizer_in_a_folder_above_counts_only_in_a_part_of_a_model(write):
    folder = write({BERT: table_for(word_piece())}, "above/model", kind=None)
    word_piece().save(str(folder.parent / "tokenizer.json"))
    with pytest.raises(ValueError, match="found nothing"):
        open_token_table(folder, Reading())


@pytest.mark.parametrize("dtype", ["i4", "u1", "c8"])
def test_a_table_of_other_numbers_is_refused(write, dtype):
    folder = write({BERT: np.zeros((20, DIM), dtype)})
    with pytest.raises(ValueError, match=r"to be a table \(2-d\) of type BF16, F16, F32, F64"):
        open_token_table(folder, Reading())


def test_int8_is_refused_in_a_language_model_where_a_scale_would_be_missing(write):
    folder = write({BERT: np.zeros((20, DIM), "i1")})
    with pytest.raises(ValueError, match="found I8"):
        open_token_table(folder, Reading())


def test_a_table_that_does_not_fit_its_tokenizer_is_refused(write):
    folder = write({BERT: table_for(word_piece())[:9]})
    with pytest.raises(ValueError, match="15 tokens, but there are rows for only 9") as caught:
        open_token_table(folder, Reading())
    assert str(folder) in str(caught.value)


def test_without_the_library_the_error_says_what_to_install(write, monkeypatch):
    folder = write({BERT: table_for(word_piece())})
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[hub\]"'):
        open_token_table(folder, Reading())
