"""Slow readers of every format: plain Python, or the tool that owns the format.

Each takes the path of a file and returns its words and vectors, the first of a word that comes
twice; or raises whatever it likes. They share nothing with the readers of wefe. They are strict:
where the meaning of a file can be argued about, they refuse it.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import pickle
import re
import struct
import zipfile
from pathlib import Path

import numpy as np

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
HEADER = re.compile(r"\s*([0-9]{1,15})\s+([0-9]{1,15})\s*", re.ASCII)


def first_of_each(words, rows, dtype=np.float32):
    """Keep the first row of each word."""
    found = {}
    for word, row in zip(words, rows, strict=True):
        found.setdefault(word, row)
    if not found:
        raise ValueError("no words")
    vectors = np.array(list(found.values()), dtype=dtype)
    if vectors.ndim != 2:
        raise ValueError("no matrix")
    return list(found), vectors


def _number(text):
    if not NUMBER.fullmatch(text):
        raise ValueError(f"no plain number: {text!r}")
    with np.errstate(over="ignore"):
        number = np.float32(float(text))
    if not np.isfinite(number):
        raise ValueError("a number beyond float32")
    return number


# ---- Text and binary ---------------------------------------------------------------------------


def unpacked(path):
    """Return the bytes of a file, whatever packed it."""
    content = Path(path).read_bytes()
    if content.startswith(b"\x1f\x8b"):
        return gzip.decompress(content)
    if content.startswith(b"BZh"):
        return bz2.decompress(content)
    if content.startswith(b"\xfd7zXZ\x00"):
        return lzma.decompress(content)
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard

        return zstandard.ZstdDecompressor().decompress(content, max_output_size=1 << 20)
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            (name,) = (name for name in archive.namelist() if not name.endswith("/"))
            return archive.read(name)
    return content


def read_text(path):
    """Read GloVe's and word2vec's text line by line."""
    text = unpacked(path).removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    if re.search(r"[\t\v\f\0]|\r(?!\n)", text):
        raise ValueError("control characters")
    lines = text.split("\n")
    header = HEADER.fullmatch(lines[0])
    rows = [line.rstrip(" \r").split(" ") for line in lines[bool(header) :] if line.strip()]

    def count(fields):
        numbers = [NUMBER.fullmatch(field) is not None for field in reversed(fields[1:])]
        return numbers.index(False) if False in numbers else len(numbers)

    # A word may end with a number, so the fewest count.
    dim = int(header[2]) if header else min(map(count, rows))
    if header and int(header[1]) != len(rows):
        raise ValueError("another number of lines than promised")
    words = []
    for fields in rows:
        if len(fields) <= dim or "" in fields or dim == 0:
            raise ValueError("not a word and its numbers")
        words.append(" ".join(fields[:-dim]))
    return first_of_each(words, [[_number(field) for field in row[-dim:]] for row in rows])


def read_word2vec_binary(path):
    """Read word after word, as word2vec's own `distance` does."""
    content = unpacked(path)
    header, _, _ = content.partition(b"\n")
    n_words, dim = map(int, HEADER.fullmatch(header.decode("ascii")).groups())
    place = len(header) + 1
    words, rows = [], []
    if 4 * dim * n_words > len(content) or 0 in (n_words, dim):
        raise ValueError("the header promises too much, or nothing")
    for _ in range(n_words):
        end = content.index(b" ", place)
        word = content[place:end].removeprefix(b"\n").decode("utf-8")
        place = end + 1 + 4 * dim
        rows.append(struct.unpack(f"<{dim}f", content[end + 1 : place]))
        if not word or len(word) > 1000 or not np.isfinite(rows[-1]).all():
            raise ValueError("an empty word, or a vector that is not finite")
        words.append(word)
    if content[place:].strip():
        raise ValueError("more than promised")
    return first_of_each(words, rows)


def read_packed(path):
    """Read binary, or text if it is none."""
    try:
        return read_word2vec_binary(path)
    except Exception as binary:
        try:
            return read_text(path)
        except Exception as text:
            raise ValueError(f"{type(text).__name__}: {text}; as binary: {binary}") from text


# ---- Tables ------------------------------------------------------------------------------------


def read_csv(path, sep):
    """Read a line at a time with the csv module."""
    text = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    rows = []
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        if line.count('"') % 2 or re.search(r"[\r\0]", line):
            raise ValueError("a quote that is not closed, or a control character")
        if line.strip():
            rows += csv.reader([line], delimiter=sep, strict=True)
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("lines of different lengths")
    if not any(NUMBER.fullmatch(field.strip()) for field in rows[0][1:]):
        names = [name.strip().lower() for name in rows.pop(0)]
        if names[0] != "word" or not all(re.fullmatch("[a-c]|v[0-9]", n) for n in names[1:]):
            raise ValueError("other names of columns")
    return first_of_each([row[0] for row in rows], [list(map(_number, r[1:])) for r in rows])


def read_parquet(path):
    """Read it whole with pyarrow."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(path, use_threads=False, page_checksum_verification=True)
    table.validate(full=True)
    words = table.column("word").to_pylist()
    others = table.drop_columns("word").columns
    if [column.type for column in others] == [pa.list_(pa.float32())]:
        rows = others[0].to_pylist()
    elif all(column.type == pa.float32() for column in others):
        rows = list(zip(*(column.to_pylist() for column in others), strict=True))
    else:
        raise ValueError("columns of other types")
    if any(number is None for row in rows for number in row) or not all(
        isinstance(word, str) for word in words
    ):
        raise ValueError("something is missing")
    return first_of_each(words, rows)


def _matrix(array):
    if array.ndim != 2 or array.dtype.kind != "f" or not array.size:
        raise ValueError("no matrix of floats")
    return array


def read_npy(path):
    """Load the matrix with numpy; the words are lines beside it."""
    matrix = _matrix(np.load(path, allow_pickle=False))
    (file,) = (each for each in Path(path).parent.iterdir() if each != Path(path))
    words = file.read_text("utf-8-sig").removesuffix("\n").split("\n")
    return first_of_each(words, matrix, matrix.dtype)


def read_npz(path):
    """Load both arrays with numpy."""
    with np.load(path, allow_pickle=False) as archive:
        if sorted(archive.files) != ["vectors", "words"]:
            raise ValueError("other arrays")
        matrix, words = _matrix(archive["vectors"]), archive["words"]
    if words.dtype.kind != "U" or words.ndim != 1:
        raise ValueError("no list of words")
    "".join(words.tolist()).encode("utf-8")
    return first_of_each(words.tolist(), matrix, matrix.dtype)


# ---- safetensors -------------------------------------------------------------------------------


def read_native(path):
    """Load every tensor with the library of the format, and check the index against the words."""
    import hashlib

    from safetensors.numpy import load

    tensors = load(Path(path).read_bytes())
    matrix, letters = tensors["embeddings"], tensors["vocabulary"]
    words = letters.tobytes().decode("utf-8").split("\n")
    if letters.dtype != np.uint8 or letters.ndim != 1 or matrix.ndim != 2:
        raise ValueError("no vocabulary or no matrix")
    if len(set(words)) != len(matrix):
        raise ValueError("words and vectors do not fit")
    if "vocabulary.hashes" in tensors:
        encoded = [word.encode() for word in words]
        hashes = [hashlib.blake2b(word, digest_size=8).digest() for word in encoded]
        pairs = sorted((int.from_bytes(h, "little"), row) for row, h in enumerate(hashes))
        found = [tensors[f"vocabulary.{part}"] for part in ("hashes", "rows", "starts")]
        starts = np.cumsum([0, *(len(word) + 1 for word in encoded)])
        hashes, rows = zip(*pairs, strict=True)
        wanted = [np.array(hashes, "<u8"), np.array(rows, "<u4"), starts.astype("<u8")]
        for one, other in zip(found, wanted, strict=True):
            if one.dtype != other.dtype or not np.array_equal(one, other):
                raise ValueError("the index does not fit the words")
    if matrix.dtype == np.int8:
        scale = tensors["scale"]
        if scale.dtype != np.float32 or scale.shape != (len(matrix),):
            raise ValueError("the scale does not fit")
        rows = [[np.float32(n) * s for n in row] for row, s in zip(matrix, scale, strict=True)]
        return first_of_each(words, rows)
    if matrix.dtype.kind != "f":
        raise ValueError("no floats")
    return first_of_each(words, matrix, matrix.dtype)


def read_token_table(path):
    """Read the vectors of the words of a tokenizer that takes whole words, as it was saved."""
    from safetensors.numpy import load

    tensors = load(Path(path).read_bytes())
    matrix = tensors["embeddings"]
    if [*tensors] != ["embeddings"] or matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise ValueError("no table, or more than that")
    tokenizer = json.loads(Path(path).with_name("tokenizer.json").read_text("utf-8"))
    model = tokenizer["model"]
    vocabulary = model.pop("vocab")
    plain = {"type": "WordLevel", "unk_token": "[UNK]"}
    others = {key: value for key, value in tokenizer.items() if key not in ("model", "version")}
    splits = others.pop("pre_tokenizer")
    if model != plain or splits != {"type": "WhitespaceSplit"} or any(others.values()):
        raise ValueError("another tokenizer")
    tokens = sorted(vocabulary.values())
    if tokens != list(range(len(tokens))) or len(tokens) > len(matrix):
        raise ValueError("tokens and rows do not fit")
    # Every word, if it is one, is the token that the tokenizer makes of it.
    pairs = sorted((n, w) for w, n in vocabulary.items() if w != "[UNK]")
    if not all(re.fullmatch(r"\w+", word) for _, word in pairs) or "[UNK]" not in vocabulary:
        raise ValueError("words with other characters")
    return first_of_each([word for _, word in pairs], [matrix[n] for n, _ in pairs])


# ---- gensim and fastText -----------------------------------------------------------------------


class _KeyedVectors:
    """Stands for gensim's class: takes the state as it is."""


class _Unpickler(pickle._Unpickler):
    """Python's own unpickler, with numpy's real classes and nothing else."""

    def find_class(self, module, name):
        if (module, name) == ("gensim.models.keyedvectors", "KeyedVectors"):
            return _KeyedVectors
        allowed = ("_frombuffer", "_reconstruct", "dtype", "ndarray", "scalar")
        if module.partition(".")[0] != "numpy" or name not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


def read_gensim(path):
    """Unpickle KeyedVectors, as gensim does."""
    loaded = _Unpickler(io.BytesIO(Path(path).read_bytes())).load()
    state = vars(loaded)
    index = state["key_to_index"]
    beside = Path(f"{path}.vectors.npy")
    matrix = _matrix(state["vectors"] if "vectors" in state else np.load(beside))
    rows = list(index.values())
    if not all(type(row) is int and 0 <= row < len(matrix) for row in rows):
        raise ValueError("rows that are not there")
    if len(set(rows)) != len(rows) or not all(isinstance(word, str) for word in index):
        raise ValueError("words that share a row, or are none")
    if len(index) < len(matrix):
        index = dict(sorted(index.items(), key=lambda item: item[1]))
    return first_of_each(list(index), [matrix[row] for row in index.values()], matrix.dtype)


def read_fasttext(path):
    """Read a .bin from front to end, and add the rows of each word one by one."""
    file = io.BytesIO(Path(path).read_bytes())

    def take(code):
        return struct.unpack(f"<{code}", file.read(struct.calcsize(f"<{code}")))

    magic, version, dim = take("3i")
    _, _, _, _, _, _, model, bucket, min_n, max_n, _ = take("11i")
    take("d")
    n_entries, n_words, n_labels, _, n_pruned = take("3i2q")
    if (magic, n_pruned) != (793712314, -1) or not (0 < version <= 12 and dim > 0):
        raise ValueError("not fastText, or pruned")
    if min(bucket, n_labels) < 0 or n_entries != n_words + n_labels or n_words < 1:
        raise ValueError("sizes that do not fit")
    words = []
    for entry in range(n_entries):
        word = bytearray()
        while (byte := file.read(1)) != b"\0":
            if not byte:
                raise EOFError
            word += byte
        _, kind = take("qb")
        if kind != (entry >= n_words):
            raise ValueError("words and labels are mixed")
        words.append(bytes(word))
    del words[n_words:]

    def matrix(n_rows):
        if take("b2q") != (0, n_rows, dim) or 4 * n_rows * dim > len(file.getbuffer()):
            raise ValueError("another matrix")
        content = file.read(4 * n_rows * dim)
        return np.frombuffer(content, "<f4").reshape(n_rows, dim)

    rows = matrix(n_words + bucket)
    matrix(n_labels if model == 3 else n_words)
    if file.read():
        raise ValueError("more behind the matrices")
    if model == 3 and version == 11:
        max_n = 0
    vectors = []
    for row, word in enumerate(words):
        total = np.zeros(dim, np.float32) + rows[row]
        n_grams = _ngrams(word, min_n, max_n) if bucket and word != b"</s>" else []
        for hashed in n_grams:
            total += rows[n_words + hashed % bucket]
        vectors.append(total * np.float32(1 / (1 + len(n_grams))))
    names = [word.decode("utf-8", "backslashreplace") for word in words]
    if len(set(names)) != len(names):
        raise ValueError("a word comes twice")
    return first_of_each(names, vectors)


def _ngrams(word, min_n, max_n):
    """Return the hashes of fastText's n-grams, as Dictionary::computeSubwords has them."""
    word = b"<" + word + b">"
    hashes = []
    for i in range(len(word)):
        if word[i] & 0xC0 == 0x80:
            continue
        j, n, hashed = i, 1, 2166136261
        while j < len(word) and n <= max_n:
            while True:
                signed = word[j] - 256 if word[j] > 127 else word[j]
                hashed = ((hashed ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
                j += 1
                if j == len(word) or word[j] & 0xC0 != 0x80:
                    break
            if n >= min_n and not (n == 1 and (i == 0 or j == len(word))):
                hashes.append(hashed)
            n += 1
    return hashes
