"""Tables with a tokenizer: static embeddings (model2vec) and the input table of language models."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, found
from wefe.models._keyed_vectors import CHUNK_ROWS, FloatArray, Held, StoredVectors, is_mapped
from wefe.models.formats._safetensors import (
    Tensor,
    bfloat16_to_float32,
    map_tensor,
    read_header,
)
from wefe.models.formats._source import Reading, Subwords, TableSource

if TYPE_CHECKING:
    from tokenizers import Tokenizer

logger = logging.getLogger(__name__)

POLICIES: tuple[Subwords, ...] = ("first", "mean", "refuse")

# Tables that were made for vectors of words: model2vec, StaticEmbedding of sentence-transformers.
_STATIC_TABLES = ("embeddings", "embedding.weight")

# The input tables of language models; dots part a name, so these match whole parts of it.
_INPUT_TABLES = (
    "embed_tokens.weight",  # Llama, Qwen, Gemma, Mistral; encoders and decoders of T5 and BART
    "word_embeddings.weight",  # BERT and its kin
    "wte.weight",  # GPT-2
    "shared.weight",  # T5, BART
    "tok_embeddings.weight",  # ModernBERT; Mistral's own files
    "embed_in.weight",  # GPT-NeoX
)

# One table that the encoder and the decoder share is often stored under several names; where they
# do not share, the words of the input are those of the encoder.
_TIED_TABLES = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")

# How tokenizers write the space before a word: byte-level BPE, and sentencepiece.
SPACES = ("Ġ", "▁")

# Letters of scripts that put no space between words: Thai, Lao, Tibetan, Burmese, Khmer, kana,
# bopomofo and Chinese characters.
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)

_PLACEHOLDER = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")

_TABLE_DTYPES = {"F64", "F32", "F16", "BF16"}


class TokenVectors(StoredVectors):
    """The words that a tokenizer keeps whole, and vectors made of subwords for the others.

    `key_to_index` has the words that are exactly one token, in the order of the tokens. A word is
    tokenised as it stands inside a sentence: where the tokenizer writes the space before a word
    into its token (byte-level BPE, sentencepiece), a space is put before it, so that 'he' is the
    token of ' he' and not the end of 'the'. Words in scripts without spaces, such as Chinese,
    stand inside a sentence without one. A `static` table takes each word as it is, without a
    space, as its own library does. Special tokens are never added, and are no words.

    Parameters
    ----------
    table : ndarray of shape (n_rows, dim)
        Floating-point numbers, int8 (read as numbers), or uint16, which are raw bfloat16.
    tokenizer : tokenizers.Tokenizer
        Its padding, truncation and dropout are switched off, as they have no place in a word.
    policy : {'first', 'mean', 'refuse'}
        The vector of a word of several tokens: that of the first, the mean of all, or none.
    static : bool, default=False
        Whether the table was made for the means of its tokens: unknown tokens are then left out
        of a mean, as model2vec does. In a language model they have no meaning, so a word with
        any unknown token has no vector. Nowhere has a word of nothing but unknown tokens one.
    mapping : ndarray of shape (n_tokens,), optional
        The row of each token; by default the token's number.
    weights : ndarray of shape (n_tokens,), optional
        What the row of each token is multiplied with.
    normalize : bool, default=False
        Whether the vector of each word is scaled to unit length, after the mean.
    label : str, default='the table'
        How messages name it.
    """

    def __init__(
        self,
        table: npt.NDArray[Any],
        tokenizer: Tokenizer,
        policy: Subwords,
        *,
        static: bool = False,
        mapping: npt.NDArray[Any] | None = None,
        weights: npt.NDArray[Any] | None = None,
        normalize: bool = False,
        label: str = "the table",
    ) -> None:
        check_choice("subwords", policy, POLICIES)
        self._table = table
        self._tokenizer = tokenizer
        self._policy, self._static, self._normalize, self._label = policy, static, normalize, label
        self.vector_size = int(table.shape[1])
        vocabulary = tokenizer.get_vocab(with_added_tokens=True)
        n_tokens = max(vocabulary.values(), default=-1) + 1
        self._mapping, self._weights = _check_rows(label, table, n_tokens, mapping, weights)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if getattr(tokenizer.model, "dropout", None):
            tokenizer.model.dropout = None
        self._unknown = _unknown_id(tokenizer)
        added = tokenizer.get_added_tokens_decoder()
        self._special = frozenset(
            token
            for token, entry in added.items()
            if entry.special or _PLACEHOLDER.fullmatch(entry.content)
        ) - {self._unknown}
        self._add_space = marks_spaces(tokenizer)
        self._lone_spaces = frozenset(vocabulary[mark] for mark in SPACES if mark in vocabulary)
        words, tokens = self._find_words(vocabulary, {n: a.content for n, a in added.items()})
        self._tokens = np.array(tokens, dtype=np.intp)
        self.key_to_index = dict(zip(words, range(len(words)), strict=True))

    def _find_words(
        self, vocabulary: Mapping[str, int], added: Mapping[int, str]
    ) -> tuple[list[str], list[int]]:
        """Return the words that are one token, and these tokens.

        What a token spells is only a guess at its word; the tokenizer has the last say.
        """
        write = _Spelling(self._tokenizer)
        guesses: list[tuple[str, int]] = []
        for text, token in sorted(vocabulary.items(), key=itemgetter(1)):
            if token == self._unknown or token in self._special:
                continue
            word = (added[token].replace("▁", " ") if token in added else write(text)).strip()
            if word:
                guesses.append((word, token))
        words, tokens = [], []
        for start in range(0, len(guesses), CHUNK_ROWS):
            chunk = guesses[start : start + CHUNK_ROWS]
            encoded = self._encode([word for word, _ in chunk])
            for (word, token), ids in zip(chunk, encoded, strict=True):
                if ids == [token]:
                    words.append(word)
                    tokens.append(token)
        return words, tokens

    def _encode(self, words: Sequence[str]) -> list[list[int]]:
        if self._static:
            texts, unspaced = words, [False] * len(words)
        else:
            unspaced = [UNSPACED.match(word) is not None for word in words]
            texts = [
                f" {word}" if self._add_space and not bare else word
                for word, bare in zip(words, unspaced, strict=True)
            ]
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ids = [encoding.ids for encoding in encoded]
        # Some tokenizers put a space before every text; inside a sentence it would not be there.
        return [
            tokens[1:] if bare and len(tokens) > 1 and tokens[0] in self._lone_spaces else tokens
            for tokens, bare in zip(ids, unspaced, strict=True)
        ]

    def _tokens_of(self, word: str) -> list[int]:
        """Return the tokens whose vectors make that of a word; none if it has no vector."""
        if not word.strip():
            return []
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:  # half a letter, as JSON can write it
            return []
        tokens = self._encode([word])[0]
        known = [token for token in tokens if token != self._unknown]
        if not self._special.isdisjoint(known) or (len(known) < len(tokens) and not self._static):
            return []
        return known[:1] if self._policy == "first" else known

    def has_subwords(self, word: str) -> bool:
        """Tell whether a vector can be made for a word that is not in `key_to_index`."""
        return self._policy != "refuse" and bool(self._tokens_of(word))

    def get_vector(self, word: str) -> FloatArray:
        """Return the vector of a word: its own, or one made of its subwords.

        Raises
        ------
        KeyError
            If it has neither.
        """
        if word in self.key_to_index:
            return self[word]
        tokens = [] if self._policy == "refuse" else self._tokens_of(word)
        if not tokens:
            raise KeyError(f"{word!r} has no vector in {self._label}")
        vectors = self._of_tokens(np.array(tokens, dtype=np.intp))
        return self._finish(vectors.mean(axis=0, keepdims=True))[0]  # type: ignore[no-any-return]

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return self._finish(self._of_tokens(self._tokens[rows]))

    def _of_tokens(self, tokens: npt.NDArray[np.intp]) -> FloatArray:
        rows = self._table[tokens if self._mapping is None else self._mapping[tokens]]
        if rows.dtype == np.uint16:
            rows = bfloat16_to_float32(rows)
        vectors: FloatArray = rows.astype(np.float32, copy=False)
        # Weights in float64 are multiplied in float64, as model2vec does.
        return vectors if self._weights is None else vectors * self._weights[tokens][:, np.newaxis]

    def _finish(self, vectors: FloatArray) -> FloatArray:
        vectors = vectors.astype(np.float32, copy=False)
        if self._normalize:
            # The small number is model2vec's: a zero vector stays one.
            vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + np.float32(1e-32))
        return vectors

    @property
    def stored_nbytes(self) -> int:
        """Bytes of the table, and of the row and weight of each token."""
        parts = (self._table, self._mapping, self._weights)
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def stored_held(self) -> Held:
        """'mapped' if the table is mapped from a file, else 'memory'."""
        return "mapped" if is_mapped(self._table) else "memory"


class _Spelling:
    """What the tokens of a tokenizer spell; '' for one that only continues a word."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.prefix = getattr(tokenizer.model, "continuing_subword_prefix", None) or ""
        self.suffix = getattr(tokenizer.model, "end_of_word_suffix", None) or ""
        parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)
        # The only face that these parts have is their text in a file.
        states = [part.__getstate__() for part in parts if part is not None]
        self.bytes = _BYTES if any(b'"ByteLevel"' in state for state in states) else None

    def __call__(self, token: str) -> str:
        if (self.prefix and token.startswith(self.prefix)) or not token.endswith(self.suffix):
            return ""
        token = token.removesuffix(self.suffix)
        if self.bytes is None:
            return token.replace("▁", " ")
        try:
            return bytes(map(self.bytes.__getitem__, token)).decode("utf-8")
        except (KeyError, UnicodeDecodeError):  # half a letter
            return ""


def _byte_alphabet() -> dict[str, int]:
    """Return the letter that byte-level BPE writes for each byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = sorted(set(range(256)).difference(shown))
    return {chr(byte): byte for byte in shown} | {chr(256 + n): b for n, b in enumerate(hidden)}


_BYTES = _byte_alphabet()


def marks_spaces(tokenizer: Tokenizer) -> bool:
    """Tell whether a word needs a space before it to be tokenised as inside a sentence.

    Not where the tokenizer puts one there itself, nor where it drops spaces.
    """

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


def _check_rows(
    label: str,
    table: npt.NDArray[Any],
    n_tokens: int,
    mapping: npt.NDArray[Any] | None,
    weights: npt.NDArray[Any] | None,
) -> tuple[npt.NDArray[np.intp] | None, npt.NDArray[Any] | None]:
    """Return mapping and weights in memory; every token must have its row and weight."""
    if mapping is not None:
        if mapping.ndim != 1 or mapping.dtype.kind not in "iu":
            raise ValueError(
                f"{label}: expected whole numbers as 'mapping', one per token; found "
                f"{mapping.dtype} of shape {mapping.shape}."
            )
        if mapping.size and not (mapping.min() >= 0 and mapping.max() < len(table)):
            raise ValueError(
                f"{label}: 'mapping' names rows from {mapping.min()} to {mapping.max()}; the table "
                f"has {len(table):,} rows."
            )
    if weights is not None and (weights.ndim != 1 or weights.dtype.kind != "f"):
        raise ValueError(
            f"{label}: expected floating-point numbers as 'weights', one per token; found "
            f"{weights.dtype} of shape {weights.shape}."
        )
    rows = len(table) if mapping is None else len(mapping)
    for what, length in (
        ("rows", rows),
        ("weights", n_tokens if weights is None else len(weights)),
    ):
        if length < n_tokens:
            raise ValueError(
                f"{label}: the tokenizer has {n_tokens:,} tokens, but there are {what} for only "
                f"{length:,}; table and tokenizer belong to different models."
            )
    return (
        None if mapping is None else np.array(mapping, dtype=np.intp),
        None if weights is None else np.array(weights),
    )


def find_embedding_table(tensors: Mapping[str, Tensor]) -> str:
    """Return the name of the tensor that holds a vector per token.

    Where encoder and decoder share one table that is stored under several names, the order is
    'shared.weight', 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'.

    Raises
    ------
    ValueError
        If there is none, or several that may be different tables.
    """
    return choose_table([name for name, tensor in tensors.items() if len(tensor.shape) == 2])


def choose_table(names: Iterable[str]) -> str:
    """Do as `find_embedding_table` where only the names of the tensors are known."""
    names = list(names)
    candidates = [
        name
        for name in names
        if name in _STATIC_TABLES or any(_ends_with(name, table) for table in _INPUT_TABLES)
    ]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        some = sorted(names, key=lambda name: ("embed" not in name, name))[:8]
        more = f" and {len(names) - len(some):,} more" if len(names) > len(some) else ""
        raise ValueError(
            "expected a table with a vector per token, named "
            f"{', '.join(repr(name) for name in _STATIC_TABLES)} or ending in "
            f"{', '.join(repr(name) for name in _INPUT_TABLES)}; found the 2-d tensors "
            f"{some}{more}."
        )
    tied = {
        suffix: [name for name in candidates if _ends_with(name, suffix)] for suffix in _TIED_TABLES
    }
    stems = {name.removesuffix(suffix) for suffix, matching in tied.items() for name in matching}
    if len(stems) == 1 and sum(map(len, tied.values())) == len(candidates):
        return next(matching[0] for matching in tied.values() if matching)
    raise ValueError(
        f"expected one table with a vector per token; found {len(candidates)}: "
        f"{sorted(candidates)[:8]}. Save the one you mean in a file of its own, beside the "
        "tokenizer.json."
    )


def _ends_with(name: str, table: str) -> bool:
    return name == table or name.endswith(f".{table}")


def open_token_table(path: Path, reading: Reading) -> TableSource:
    """Open the table of a model with a tokenizer.

    Words of several subwords have a vector unless the user refuses it in a table that was made
    for that (model2vec, StaticEmbedding): the mean, which is the only definition that its own
    library has of a word's vector, scaled to unit length where the model says so. The tokens of a
    language model were not made to be averaged, so there they have none unless the user asks.

    Parameters
    ----------
    path : Path
        A safetensors file with its tokenizer.json beside it, or the folder of a model, as
        model2vec, sentence-transformers, transformers or the Hugging Face cache keep it.
    reading : Reading
        Of which `hold` and `subwords` count here.

    Raises
    ------
    ValueError
        If something is missing or damaged, or table and tokenizer do not belong together.
    ImportError
        If the library tokenizers is not installed.
    """
    path = Path(path)
    folder = module_folder(path) if path.is_dir() else path.parent
    file, name = find_weights(folder) if path.is_dir() else (path, None)
    tensors, _ = read_header(file)
    try:
        name = find_embedding_table(tensors) if name is None else name
        tensor = tensors[name]
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    except KeyError as error:
        raise ValueError(
            f"{file}: expected the tensor {name!r}; found {_some(tensors)}."
        ) from error
    static = name in _STATIC_TABLES
    # model2vec rounds to int8 and reads the integers as numbers.
    if len(tensor.shape) != 2 or tensor.dtype not in _TABLE_DTYPES | ({"I8"} if static else set()):
        raise ValueError(
            f"{file}: expected {name!r} to be a table (2-d) of type "
            f"{', '.join(sorted(_TABLE_DTYPES))}; found {tensor.dtype} of shape {tensor.shape}."
        )
    policy = reading.subwords or ("mean" if static else "refuse")
    table = map_tensor(file, tensor)
    if reading.hold == "memory":
        table = np.array(table, subok=False)
    extras = {
        key: map_tensor(file, tensors[key])
        for key in ("mapping", "weights")
        if name == "embeddings" and key in tensors
    }
    tokens = TokenVectors(
        table,
        _read_tokenizer(folder, str(file)),
        policy,
        static=static,
        normalize=static and _is_normalized(folder, name),
        label=str(path),
        **extras,
    )
    if not static:
        logger.warning(
            "%s: these are the input embeddings of a language model, one vector per token; "
            "wefe.contextual.load_encoder (on the command line --encoder) opens what it makes of "
            "them",
            path,
        )
    logger.info(
        "%s: the vectors are the rows of %r (%d x %d, %s); %d of the tokens are words; words of "
        "several subwords: %r",
        path,
        name,
        *tensor.shape,
        tensor.dtype,
        len(tokens),
        policy,
    )
    return TableSource(tokens, str(path), _name_of(path), subwords=policy != "refuse")


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return f"{names[:8]}{f' and {len(names) - 8:,} more' if len(names) > 8 else ''}"


def _name_of(path: Path) -> str:
    """Return the name of a model: that of its folder, where its file has the usual one."""
    folder = path
    if path.is_file():
        if path.stem != "model":
            return path.stem
        folder = path.parent
    folder = folder.resolve()
    if _is_module(folder):
        folder = folder.parent
    # The Hugging Face cache names folders by commits, below 'models--organisation--name'.
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
        return folder.parent.parent.name.split("--")[-1]
    return folder.name


def _is_module(folder: Path) -> bool:
    """Tell whether a folder is a part of a sentence-transformers model."""
    return re.fullmatch(r"\d+_\w+", folder.name) is not None


def read_json(path: Path) -> Any:
    """Read a JSON file; damage is a ValueError that names it."""
    try:
        return json.loads(path.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: expected JSON ({str(error)[:200]}).") from error


def _modules(folder: Path) -> list[dict[str, Any]]:
    """Return the parts of a sentence-transformers model, in order; none if it is no such model."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    modules = read_json(path)
    if not isinstance(modules, list) or not all(
        isinstance(part, dict)
        and isinstance(part.get("type", ""), str)
        and isinstance(part.get("path", ""), str)
        for part in modules
    ):
        raise ValueError(
            f"{path} is damaged: expected a list of modules with 'type' and 'path'; found "
            f"{found(modules)}."
        )
    return modules


def module_folder(folder: Path) -> Path:
    """Return where the table of a model is: its folder, or that of its first module."""
    modules = _modules(folder)
    if not modules:
        return folder
    inner: str = modules[0].get("path", "")
    if not is_inside(inner):
        raise ValueError(
            f"{folder / 'modules.json'}: expected a module inside the folder; found {inner!r}."
        )
    return folder / inner


def is_inside(path: str) -> bool:
    """Tell whether a relative path stays in its folder, on every system."""
    return not any(
        parsed.is_absolute() or parsed.drive or ".." in parsed.parts
        for parsed in (PurePosixPath(path), PureWindowsPath(path))
    )


def find_weights(folder: Path) -> tuple[Path, str | None]:
    """Return the safetensors file that has the table, and the table's name if an index tells it.

    Raises
    ------
    ValueError
        If the folder has no such file.
    """
    file, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if file.is_file():
        return file, None
    if index.is_file():
        shard, name = read_index(index)
        if not (folder / shard).is_file():
            raise ValueError(
                f"{index}: the table {name!r} is in {shard!r}, which is not in the folder."
            )
        return folder / shard, name
    files = sorted(folder.glob("*.safetensors"))
    if len(files) == 1:
        return files[0], None
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if any(name.startswith("pytorch_model") for name in names):
        raise ValueError(
            f"{folder} has its weights only as pytorch_model.bin, a pickle, which can run code "
            "when opened. Use a version of the model in safetensors: many have one on Hugging "
            "Face; or load it with transformers and save it with "
            "save_pretrained(folder, safe_serialization=True)."
        )
    raise ValueError(
        f"{folder}: expected model.safetensors, model.safetensors.index.json or one other "
        f"safetensors file; found {_some(names)}."
    )


def read_index(index: Path) -> tuple[str, str]:
    """Return the file and the name of the table of a model that is stored in several files."""
    content = read_json(index)
    weight_map = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(weight_map, dict):
        raise ValueError(f"{index} is damaged: expected a 'weight_map'; found {found(content)}.")
    try:
        name = choose_table(weight_map)
    except ValueError as error:
        raise ValueError(f"{index}: {error}") from error
    shard = weight_map[name]
    # Nothing but the plain name of a file: the index may come from anywhere.
    if not isinstance(shard, str) or not is_inside(shard) or len(PureWindowsPath(shard).parts) != 1:
        raise ValueError(
            f"{index}: expected the name of a file in the same folder for {name!r}; found "
            f"{found(shard)}."
        )
    return shard, name


def _read_tokenizer(folder: Path, label: str) -> Tokenizer:
    places = [folder / "tokenizer.json"]
    if _is_module(folder.resolve()):
        places.append(folder.parent / "tokenizer.json")
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        others = ("tokenizer.model", "spiece.model", "vocab.txt", "vocab.json")
        older = [name for name in others if (folder / name).is_file()]
        hint = (
            f" There is {older[0]}, of the same tokenizer in an older form: open it with "
            "transformers' AutoTokenizer and save it with save_pretrained(folder)."
            if older
            else ""
        )
        raise ValueError(
            f"{label}: a table without words needs its tokenizer; looked for "
            f"{' and '.join(map(str, places))}, found nothing.{hint}"
        )
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(
            f'{path} needs the library tokenizers to be read; install it: pip install "wefe[hub]"'
        ) from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
        # An unknown letter: whether there is a token for it shows only when it is needed.
        tokenizer.encode("\U00010380", add_special_tokens=False)
    except (KeyboardInterrupt, SystemExit):
        raise
    # The library raises plain exceptions, and panics, which are none.
    except BaseException as error:
        raise ValueError(
            f"{path} is damaged, or no tokenizer that the library tokenizers can read: "
            f"{str(error)[:200]}. Fetch or save it again."
        ) from error
    return tokenizer


def _is_normalized(folder: Path, name: str) -> bool:
    """Tell whether the own library of a static table scales its vectors to unit length."""
    config = folder / "config.json"
    if name == "embeddings" and config.is_file():
        content = read_json(config)
        return isinstance(content, dict) and content.get("normalize") is True
    root = folder if (folder / "modules.json").is_file() else folder.parent
    if root != folder and not _is_module(folder.resolve()):
        return False
    kinds = [str(part.get("type", "")).rpartition(".")[2] for part in _modules(root)]
    others = [kind for kind in kinds[1:] if kind != "Normalize"]
    if others:
        logger.warning(
            "%s changes its vectors after the mean (%s); that is left out here",
            root,
            ", ".join(others),
        )
    return "Normalize" in kinds
