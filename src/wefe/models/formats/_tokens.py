"""Tables with a tokenizer: static embeddings (model2vec) and input tables of language models."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import import_library, logger
from wefe._files import read_json
from wefe.models._file_array import FileArray
from wefe.models._tables import StoredVectors, chunks
from wefe.models._types import CHUNK_ROWS, FloatArray, Reading, Subwords
from wefe.models.formats._safetensors import bfloat16_to_float32, read_header
from wefe.models.formats._source import TableSource

if TYPE_CHECKING:
    from tokenizers import AddedToken, Tokenizer


# Tables that were made for vectors of words (model2vec, StaticEmbedding of sentence-transformers),
# and the input tables of language models: Llama, Qwen, Gemma and the encoders and decoders of T5
# and BART; BERT; GPT-2; T5 and BART; ModernBERT and Mistral's own files; GPT-NeoX.
_TABLE = re.compile(
    r"embeddings|embedding\.weight"
    r"|(.+\.)?(embed_tokens|word_embeddings|wte|shared|tok_embeddings|embed_in)\.weight"
)

# One table that the encoder and the decoder share is often stored under several names. Where they
# do not share, the words of the input are those of the encoder.
_TIED = re.compile(r"\.(shared|(en|de)coder\.embed_tokens)\.weight\Z")


@dataclass(frozen=True)
class Module:
    """A part of a sentence-transformers model, as listed in modules.json."""

    type: str = ""
    path: str = ""


@dataclass(frozen=True)
class _Index:
    """The file of each tensor of a model in several files."""

    weight_map: dict[str, str]


def find_local_files(path: Path) -> tuple[Path, tuple[Path, Path, list[str]]]:
    """Return the folder of a model and its `find_files`, given the folder, a part or a file."""
    root, weights = (path, None) if path.is_dir() else (path.parent, path.name)
    above, part = root.resolve().parent, root.resolve().name
    listed = above / "modules.json"
    modules = read_json(listed, list[Module]) if listed.is_file() else []
    if modules and modules[0].path == part:
        root, weights = above, weights and f"{part}/{weights}"
    names = [each.relative_to(root).as_posix() for each in (*root.glob("*"), *root.glob("*/*"))]
    return root, find_files(str(path), names, root.joinpath, weights)


def find_files(
    label: str, names: Collection[str], fetch: Callable[[str], Path], weights: str | None = None
) -> tuple[Path, Path, list[str]]:
    """Find and fetch the table (safetensors), the tokenizer.json and the pooling steps of a model.

    Only `names`, files relative to its folder, are opened, whatever the configuration says.
    """
    modules = read_json(fetch("modules.json"), list[Module]) if "modules.json" in names else []
    folder = PurePosixPath(modules[0].path if modules else "")
    weights = weights or _find_weights(label, names, fetch, folder)
    beside = PurePosixPath(weights).with_name
    # The tokenizer of sentence-transformers may also be in the folder of the whole model.
    places = [str(beside("tokenizer.json")), "tokenizer.json"]
    tokenizer = next((name for name in places if name in names), None)
    if tokenizer is None:
        raise missing(label, places[0], names)
    steps = [module.type.rpartition(".")[2] for module in modules[1:]]
    config = str(beside("config.json"))
    if config in names and read_json(fetch(config), dict[str, Any]).get("normalize") is True:
        steps.append("Normalize")  # as model2vec says it
    return fetch(weights), fetch(tokenizer), steps


def _find_weights(
    label: str, names: Collection[str], fetch: Callable[[str], Path], folder: PurePosixPath
) -> str:
    weights = str(folder / "model.safetensors")
    if weights in names:
        return weights
    paths = map(PurePosixPath, names)
    others = [str(each) for each in paths if (each.parent, each.suffix) == (folder, ".safetensors")]
    if (index := f"{weights}.index.json") in names:
        shards = read_json(fetch(index), _Index).weight_map
        weights = str(folder / shards[choose_table(f"{label}: {index}", shards)])
    elif len(others) == 1:
        weights = others[0]
    if weights not in names:
        raise missing(label, weights, names)
    return weights


def missing(label: str, wanted: str, names: Iterable[str]) -> ValueError:
    return ValueError(
        f"{label}: expected {wanted}; found {_some(names)}. A pickle (pytorch_model.bin) is never "
        "opened, as it can run code. transformers writes what is read here: AutoModel and "
        "AutoTokenizer open older files, save_pretrained(folder) writes model.safetensors and "
        "tokenizer.json. On Hugging Face some models have them in the revision 'refs/pr/1'."
    )


def choose_table(label: str, names: Iterable[str]) -> str:
    """Return the name of the tensor with a vector per token; refuse an ambiguous model."""
    names = list(names)
    candidates = [name for name in names if _TABLE.fullmatch(name)]
    if len({_TIED.sub("", f".{name}") for name in candidates}) == 1:
        # By the alphabet, 'shared' comes after 'encoder', and that after 'decoder'.
        return max(candidates)
    raise ValueError(
        f"{label}: expected one table with a name like {_TABLE.pattern}; found "
        f"{_some(candidates or names)}. Save the table that you mean in a file of its own."
    )


def _some(names: Iterable[str]) -> str:
    names = sorted(names, key=lambda name: (re.search("embed|pytorch", name) is None, name))
    return f"{names[:8]}{f' and {len(names) - 8:,} more' if len(names) > 8 else ''}"


# ---- Tables ------------------------------------------------------------------------------------

# How tokenizers write the space before a word: byte-level BPE, and sentencepiece.
SPACES = ("Ġ", "▁")

# Letters of scripts that put no space between words: Thai, Lao, Tibetan, Burmese, Khmer, kana,
# bopomofo and Chinese characters.
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)

# What model2vec keeps beside a table, and the kinds of its numbers: the row of each token, and its
# weight.
_EXTRAS = {"mapping": ("I", "U"), "weights": ("F",)}

_PLACEHOLDER = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")


@dataclass(eq=False, repr=False)
class TokenVectors(StoredVectors):
    """Words that are exactly one token, and vectors built from subwords for the others.

    Words are tokenized as inside a sentence: if the tokenizer writes the preceding space into the
    token, a space is added, so that 'he' is the token of ' he' and not the end of 'the', except in
    scripts without spaces. In a `static` table (model2vec), words are tokenized as they are.

    `table` has floating-point numbers, int8, or raw bfloat16 (uint16). `policy` decides about words
    of several tokens. Means ignore unknown tokens in a `static` table; otherwise a word with an
    unknown token has no vector. `mapping` and `weights` have the row of each token and a factor for
    it. `normalize` scales vectors to unit length after the mean.
    """

    knows_subwords = True

    table: npt.NDArray[Any] | FileArray
    tokenizer: Tokenizer
    policy: Subwords
    static: bool = False
    mapping: npt.NDArray[Any] | None = None
    weights: npt.NDArray[Any] | None = None
    normalize: bool = False
    label: str = "the table"

    def __post_init__(self) -> None:
        table, tokenizer, label = self.table, self.tokenizer, self.label
        vocabulary = tokenizer.get_vocab(with_added_tokens=True)
        n_tokens = max(vocabulary.values(), default=-1) + 1
        # No array is made for as many tokens as a damaged tokenizer may have.
        rows = np.arange(len(table)) if self.mapping is None else self.mapping
        n_known = len(rows) if self.weights is None else min(len(rows), len(self.weights))
        if n_known < n_tokens or not 0 <= rows.min() <= rows.max() < len(table):
            raise ValueError(
                f"{label}: the table, of shape {table.shape}, its mapping and weights do not fit a "
                f"tokenizer of {n_tokens:,} tokens. Use the one that was saved with the table."
            )
        self.stored = table, self.mapping, self.weights
        self.vector_size = int(table.shape[1])
        self._rows = rows.astype(np.intp, casting="same_kind")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if getattr(tokenizer.model, "dropout", None):
            tokenizer.model.dropout = None
        self._unknown = _unknown_id(tokenizer)
        unknown = {self._unknown}
        self._space = "" if self.static or not marks_spaces(tokenizer) else " "
        self._unspaced = re.compile(r"(?!)") if self.static else UNSPACED
        self._lone_spaces = {vocabulary.get(mark) for mark in SPACES}
        added = tokenizer.get_added_tokens_decoder()
        placeholders = {
            token
            for token, entry in added.items()
            if entry.special or _PLACEHOLDER.fullmatch(entry.content)
        }
        # What no other word is built from.
        self._refused = placeholders - unknown if self.static else placeholders | unknown
        # Which of several texts a number stands for changes from run to run.
        clear = {token for token, n in Counter(vocabulary.values()).items() if n == 1} | {*added}
        words = self._whole_words(sorted(clear - placeholders - unknown), added)
        self.key_to_index = dict(zip(words, range(len(words)), strict=True))
        self._tokens = np.array(list(words.values()), dtype=np.intp)

    def _whole_words(self, tokens: list[int], added: dict[int, AddedToken]) -> dict[str, int]:
        """Return the words that are exactly one of some tokens."""
        prefix = getattr(self.tokenizer.model, "continuing_subword_prefix", None) or " "
        suffix = getattr(self.tokenizer.model, "end_of_word_suffix", None) or ""
        words = {}
        for part in chunks(len(tokens), CHUNK_ROWS):
            alone = [[token] for token in tokens[part]]
            texts = self.tokenizer.decode_batch(alone, skip_special_tokens=False)
            for place, (token,) in enumerate(alone):
                text = added[token].content if token in added else texts[place]
                texts[place] = text.replace("▁", " ").removesuffix(suffix).strip()
            # The tokenizer has the last say on whether this is the word of the token.
            for word, one, ids in zip(texts, alone, self._encode(texts), strict=True):
                if one == ids and word and not word.startswith(prefix):
                    words[word] = one[0]
        return words

    def _encode(self, words: Sequence[str]) -> list[list[int]]:
        bare = [self._unspaced.match(word) is not None for word in words]
        texts = [word if b else self._space + word for word, b in zip(words, bare, strict=True)]
        encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        ids = [each.ids for each in encoded]
        # Some tokenizers put a space before every text. Inside a sentence it is not there.
        for place in np.flatnonzero(bare):
            if len(ids[place]) > 1 and ids[place][0] in self._lone_spaces:
                del ids[place][0]
        return ids

    def _tokens_of(self, word: str) -> list[int]:
        """Return the tokens that build the vector of a word; none if it has no vector."""
        # JSON can write half a letter (a surrogate), which no tokenizer takes.
        if not word.strip() or re.search("[\ud800-\udfff]", word):
            return []
        tokens = self._encode([word])[0]
        if not self._refused.isdisjoint(tokens):
            return []
        return [token for token in tokens if token != self._unknown]

    def has_subwords(self, word: str) -> bool:
        return self.policy != "refuse" and bool(self._tokens_of(word))

    def get_vector(self, word: str) -> FloatArray:
        tokens = self._tokens_of(word)[: 1 if self.policy == "first" else None]
        vectors = self._of_tokens(np.array(tokens, dtype=np.intp))
        return self._finish(vectors.mean(axis=0, keepdims=True))[0]  # type: ignore[no-any-return]

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return self._finish(self._of_tokens(self._tokens[rows]))

    def _of_tokens(self, tokens: npt.NDArray[np.intp]) -> FloatArray:
        rows = self.table[self._rows[tokens]]
        if rows.dtype == np.uint16:
            rows = bfloat16_to_float32(rows)
        vectors: FloatArray = rows.astype(np.float32, copy=False)
        # Weights in float64 are multiplied in float64, as model2vec does.
        return vectors if self.weights is None else vectors * self.weights[tokens][:, np.newaxis]

    def _finish(self, vectors: FloatArray) -> FloatArray:
        vectors = vectors.astype(np.float32, copy=False)
        if self.normalize:
            # The small number is model2vec's: a zero vector stays one.
            vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + np.float32(1e-32))
        return vectors


def marks_spaces(tokenizer: Tokenizer) -> bool:
    """Tell whether a tokenizer keeps the space before a word, and does not add it itself."""

    def first_letter(text: str) -> str:
        if tokenizer.normalizer is not None:
            text = tokenizer.normalizer.normalize_str(text)
        if tokenizer.pre_tokenizer is not None:
            text = "".join(part for part, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text))
        return text[:1]

    return first_letter("he") not in SPACES and first_letter(" he") in SPACES


def _unknown_id(tokenizer: Tokenizer) -> int | None:
    if hasattr(tokenizer.model, "unk_token"):
        token = tokenizer.model.unk_token
        return None if token is None else tokenizer.token_to_id(token)
    # Unigram does not tell otherwise.
    number = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return None if number is None else int(number)


def open_token_table(path: Path, reading: Reading) -> TableSource:
    """Open a safetensors file with its tokenizer.json beside it, or the folder of a model.

    Words of several subwords are means for model2vec and StaticEmbedding, as their own libraries
    define them, and have no vector for language models.
    """
    root, (weights, tokenizer, steps) = find_local_files(path)
    tensors, _ = read_header(weights)
    tables = [name for name, tensor in tensors.items() if len(tensor.shape) == 2]
    name = choose_table(str(weights), tables)
    static = name in ("embeddings", "embedding.weight")
    # model2vec rounds to int8 and reads the integers as numbers.
    table = tensors[name].numbers(2, "F64", "F32", "F16", "BF16", *["I8"] * static)
    extras = {*_EXTRAS} & {*tensors} if name == "embeddings" else ()
    tokens = TokenVectors(
        table,
        _read_tokenizer(tokenizer),
        reading.subwords or ("mean" if static else "refuse"),
        static=static,
        normalize=static and "Normalize" in steps,
        label=str(path),
        **{key: tensors[key].numbers(1, *_EXTRAS[key])[:] for key in extras},
    )
    layers = ["the layers of a language model (wefe.contextual.load_encoder runs them)"]
    left_out = sorted({*steps} - {"Normalize"}) if static else layers
    logger.log(
        logging.WARNING if left_out else logging.INFO,
        "%s: %d words are vectors of %r; words of several subwords: %r; left out: %s",
        *(path, len(tokens), name, tokens.policy, ", ".join(left_out) or "nothing"),
    )
    return TableSource(tokens, str(path), _name_of(path, root), subwords=tokens.policy != "refuse")


def _name_of(path: Path, root: Path) -> str:
    """Return the name of a model: that of its folder, unless its file has an unusual name."""
    if path.is_file() and path.stem != "model":
        return path.stem
    root = root.resolve()
    if root.parent.name == "snapshots":
        # The Hugging Face cache names folders by commits, below 'models--organisation--name'.
        return root.parent.parent.name.split("--")[-1]
    return root.name


def _read_tokenizer(path: Path) -> Tokenizer:
    library = import_library("tokenizers", "hub", str(path))
    try:
        tokenizer: Tokenizer = library.Tokenizer.from_file(str(path))
        # An unknown letter: whether there is a token for it shows only when it is needed.
        tokenizer.encode("𐎀", add_special_tokens=False)
    except (KeyboardInterrupt, SystemExit):
        raise
    # The library raises plain exceptions, and panics, which are none.
    except BaseException as error:
        raise ValueError(
            f"{path} is damaged, or no tokenizer that the library tokenizers can read: "
            f"{str(error)[:200]}. Fetch or save it again."
        ) from error
    return tokenizer
