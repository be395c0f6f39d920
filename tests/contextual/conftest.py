"""Tiny random encoders, made by the tests themselves, and a slow oracle for what they encode."""

from types import SimpleNamespace

import numpy as np
import pytest

from wefe import Query

WORDS = [
    *("she", "he", "woman", "man", "her", "his", "home", "kids", "boss", "job", "nurse", "pilot"),
    *("this", "is", "a", "the", "of", "that", "was", "doctor", "and", "here", "there", "tree"),
]
PIECES = [*"abcdefghijklmnopqrstuvwxyz.,!'", "##ing", "##s", "##er"]
PIECES += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


# Those of BERT have the types of tokens as well.
INPUTS = ["input_ids", "attention_mask"]


def make_wordpiece(**options):
    """A tokenizer like BERT's, which lower-cases and strips accents."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = dict.fromkeys([*special, *WORDS, *PIECES])
    vocabulary = {piece: n for n, piece in enumerate(pieces)}
    model = tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=32,
        **{f"{name}_token": token for name, token in names.items()},
        **options,
    )


def make_byte_level(with_special, **options):
    """A tokenizer like RoBERTa's or GPT-2's, which writes the space before a word."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"] if with_special else ["<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(WORDS) + " the other then them"] * 4, trainer)
    if with_special:
        tokenizer.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
        names = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "cls": "<s>"}
    else:
        tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
        names = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=INPUTS,
        **{f"{name}_token": token for name, token in names.items()},
        **options,
    )


def make_network(kind, n_tokens, seed=0):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(
        kind,
        vocab_size=n_tokens,
        initializer_range=0.4,  # large weights, so that the context counts
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        max_position_embeddings=34 if kind == "roberta" else 32,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return transformers.AutoModel.from_config(config)


def make_encoder(kind, seed=0):
    tokenizer = {
        "bert": lambda: make_wordpiece(model_input_names=[*INPUTS, "token_type_ids"]),
        "t5": lambda: make_wordpiece(model_input_names=INPUTS),
        # RoBERTa and its kin pad at the right; to do otherwise must not matter.
        "roberta": lambda: make_byte_level(True, padding_side="left"),
        "gpt2": lambda: make_byte_level(False),
    }[kind]()
    return make_network(kind, len(tokenizer), seed), tokenizer


def sentence_modules():
    """The parts of a SentenceTransformer, which have moved in version 6."""
    try:
        from sentence_transformers.sentence_transformer import modules
    except ImportError:
        from sentence_transformers import models as modules
    return modules


@pytest.fixture(scope="session")
def tiny():
    """What makes tiny encoders, and the slow oracle."""
    return SimpleNamespace(
        encoder=make_encoder,
        network=make_network,
        wordpiece=make_wordpiece,
        slow=slow_vector,
        modules=sentence_modules,
    )


@pytest.fixture
def tiny_bert():
    """A model and its tokenizer, as transformers has them."""
    return make_encoder("bert")


@pytest.fixture
def query():
    """The sets of WEAT, of words that the tiny encoders know."""
    return Query(
        [["she", "woman", "her"], ["he", "man", "his"]],
        [["home", "kids", "nurse"], ["boss", "job", "pilot"]],
        ["Female", "Male"],
        ["Home", "Work"],
    )


@pytest.fixture
def words(query):
    """All words of the query, in their order."""
    return [word for part in query.target_sets + query.attribute_sets for word in part]


@pytest.fixture
def tiny_folder(tiny_bert, tmp_path):
    """The folder that transformers saves."""
    folder = tmp_path / "tiny-bert"
    for part in tiny_bert:
        part.save_pretrained(folder)
    return folder


@pytest.fixture
def tiny_sentence_transformer(tiny_folder):
    """A SentenceTransformer with mean pooling and vectors of unit length."""
    library = pytest.importorskip("sentence_transformers")
    models = sentence_modules()
    transformer = models.Transformer(str(tiny_folder))
    parts = [transformer, models.Pooling(16, pooling_mode="mean"), models.Normalize()]
    return library.SentenceTransformer(modules=parts, device="cpu")


@pytest.fixture
def n_runs(monkeypatch):
    """The number of texts of each batch that a network reads."""
    encoder = pytest.importorskip("wefe.contextual._encoder").Encoder
    sizes, run = [], encoder._run

    def counting(self, batch, **options):
        sizes.append(len(batch))
        return run(self, batch, **options)

    monkeypatch.setattr(encoder, "_run", counting)
    return sizes


def slow_vector(network, tokenizer, text, start, end, pooling="mean", layer=-1):
    """One text at a time, without padding, and by loops: the vector of text[start:end]."""
    import torch

    network.eval()
    inputs = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
    offsets = inputs.pop("offset_mapping")[0].tolist()
    special = tokenizer.get_special_tokens_mask(
        inputs["input_ids"][0].tolist(), already_has_special_tokens=True
    )
    with torch.no_grad():
        output = network(**inputs, output_hidden_states=True)
    states = output.hidden_states[layer][0].numpy()
    of_word = [
        states[n]
        for n, (first, last) in enumerate(offsets)
        if any(start <= letter < end for letter in range(first, last)) and not special[n]
    ]
    if pooling == "first":
        return of_word[0]
    if pooling == "cls":
        return states[0]
    return np.mean(of_word if pooling == "mean" else states, axis=0)
