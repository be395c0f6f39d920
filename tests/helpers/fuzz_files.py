"""Small, good files of every format, and damage to them that can be made again from a seed.

A file comes with those that belong to it: a dict from names to bytes, the one to open first.
"""

from __future__ import annotations

import ast
import bz2
import functools
import gzip
import io
import json
import lzma
import re
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from wefe import convert

Files = dict[str, bytes]

WORDS = ["she", "he", "New York", "naïve", ".", "u.s."]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(np.float32)
# Larger inputs take longer and find nothing more.
MAX_BYTES = 1 << 16
# Numbers at which something ends: of bytes, of signs, of what fits into a type.
LIMITS = [0, 1, -1, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, -(2**31), 2**32]
LIMITS += [2**53, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 10**15, 10**30]


# ---- Good files --------------------------------------------------------------------------------


def text(header: bool, end: str = "\n", sep: str = " ") -> bytes:
    lines = [f"{len(WORDS)} 3"] if header else []
    lines += [
        f"{word}{sep}{sep.join(map(str, row))}" for word, row in zip(WORDS, VECTORS, strict=True)
    ]
    return (end.join(lines) + end).encode()


def binary(end: bytes = b"\n") -> bytes:
    rows = zip(WORDS, VECTORS, strict=True)
    body = b"".join(w.replace(" ", "_").encode() + b" " + v.tobytes() + end for w, v in rows)
    return f"{len(WORDS)} 3\n".encode() + body


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(pack: Callable[..., None] = np.savez) -> bytes:
    buffer = io.BytesIO()
    pack(buffer, vectors=VECTORS, words=np.array(WORDS))
    return buffer.getvalue()


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m.txt", content)
    return buffer.getvalue()


def zstd(content: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(content)


PACKERS = {
    ".gz": (functools.partial(gzip.compress, mtime=0), gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
}


def safetensors(tensors: dict[str, Any]) -> bytes:
    from safetensors.numpy import save

    return save(tensors)


def native(dtype: str, words: list[str] = WORDS) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.safetensors")
        convert((words, VECTORS), path, dtype, progress=False)
        return path.read_bytes()


def _native(dtype: str) -> list[Files]:
    return [{"fuzzed.safetensors": native(dtype)}]


def _table(kind: str) -> bytes:
    """Write a Parquet file: with columns of numbers, or one of lists."""
    import pyarrow as pa
    from pyarrow import parquet

    words = pa.array([*WORDS, "she"])
    vectors = np.concatenate([VECTORS, VECTORS[:1]])
    if kind == "list":
        columns = {"word": words, "vector": pa.array(vectors.tolist(), pa.list_(pa.float32()))}
    else:
        numbers = {f"v{n}": pa.array(vectors[:, n]) for n in range(3)}
        columns = {"word": words, **numbers}
    buffer = io.BytesIO()
    packing = "none" if kind == "plain" else "snappy"
    parquet.write_table(
        pa.table(columns), buffer, compression=packing, write_page_checksum=kind == "sums"
    )
    return buffer.getvalue()


TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": None,
    "decoder": None,
    "model": {
        "type": "WordLevel",
        "vocab": {"[UNK]": 0, "she": 1, "he": 2, "naïve": 3, "job": 4, "us": 5},
        "unk_token": "[UNK]",
    },
}


def token_table(tensors: dict[str, Any]) -> Files:
    tokenizer = json.dumps(TOKENIZER, ensure_ascii=False).encode()
    return {"model.safetensors": safetensors(tensors), "tokenizer.json": tokenizer}


def _gensim(apart: bool) -> Files:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(3)
    vectors.add_vectors(WORDS, VECTORS)
    with tempfile.TemporaryDirectory() as folder:
        vectors.save(f"{folder}/fuzzed.kv", sep_limit=0 if apart else 1 << 20)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def fasttext(bucket: int = 4, model: int = 2, n_labels: int = 0, max_n: int = 4) -> bytes:
    """Write a .bin as fastText 0.9 does."""
    words = [word.replace(" ", "_") for word in WORDS] + ["</s>"]
    n_words, dim = len(words), 3
    header = struct.pack("<2i", 793712314, 12)
    header += struct.pack("<12id", dim, 5, 5, 1, 5, 1, 1, model, bucket, 2, max_n, 100, 1e-4)
    entries = n_words + n_labels
    header += struct.pack("<3i2q", entries, n_words, n_labels, 100, -1)
    for word in words:
        header += word.encode() + struct.pack("<bqb", 0, 10, 0)
    for label in range(n_labels):
        header += f"__label__{label}".encode() + struct.pack("<bqb", 0, 10, 1)
    random = np.random.default_rng(1)
    for n_rows in (n_words + bucket, n_labels if model == 3 else n_words):
        numbers = random.normal(size=(n_rows, dim)).astype("<f4")
        header += struct.pack("<b2q", 0, n_rows, dim) + numbers.tobytes()
    return header


def _csv(sep: str) -> list[Files]:
    body = text(False, sep=sep)
    quoted = re.sub(rb"(?m)^([^,\t]+)", rb'"\1"', body)
    header = sep.join(["word", "a", "b", "c"]).encode() + b"\n"
    return [{"fuzzed.csv": each} for each in (header + body, body, header + quoted)]


def _packings() -> dict[str, Callable[[], list[Files]]]:
    def packed(pack: Callable[[bytes], bytes], suffix: str) -> Callable[[], list[Files]]:
        contents = (text(False), text(True), binary())
        return lambda: [{f"fuzzed{suffix}": pack(content)} for content in contents]

    packers = {suffix: pack for suffix, (pack, _) in PACKERS.items()}
    packers |= {".zip": zipped, ".zst": zstd}
    return {suffix[1:]: packed(pack, suffix) for suffix, pack in packers.items()}


def _npy() -> list[Files]:
    lines = "\n".join(WORDS).encode() + b"\n"
    listed = json.dumps(WORDS).encode()
    return [
        {"fuzzed.npy": npy(VECTORS), "fuzzed.vocab": lines},
        {"fuzzed.npy": npy(VECTORS.astype(">f8")), "fuzzed.json": listed},
        {"fuzzed.npy": npy(np.asfortranarray(VECTORS)), "fuzzed.vocab": lines},
        {"fuzzed.npy": npy(VECTORS), "fuzzed.vocab.npy": npy(np.array(WORDS))},
    ]


def _plain() -> list[Files]:
    letters = np.frombuffer("\n".join(WORDS).encode(), np.uint8)
    both = {"embeddings": VECTORS, "vocabulary": letters}
    half = {"embeddings": VECTORS.astype(np.float16), "vocabulary": letters}
    return [{"fuzzed.safetensors": safetensors(each)} for each in (both, half)]


#: The good files of every reader, which take some time to make.
GOOD: dict[str, Callable[[], list[Files]]] = {
    "glove": lambda: [{"fuzzed.txt": text(False)}, {"fuzzed.txt": text(False, "\r\n")}],
    "word2vec": lambda: [{"fuzzed.vec": text(True)}, {"fuzzed.vec": text(True, " \n")}],
    "word2vec-binary": lambda: [{"fuzzed.bin": binary()}, {"fuzzed.bin": binary(b"")}],
    **_packings(),
    "csv": lambda: _csv(","),
    "tsv": lambda: _csv("\t"),
    "parquet": lambda: [{"fuzzed.parquet": _table(k)} for k in ("plain", "list", "sums")],
    "npy": _npy,
    "npz": lambda: [{"fuzzed.npz": npz()}, {"fuzzed.npz": npz(np.savez_compressed)}],
    **{
        f"native-{kind}": functools.partial(_native, kind)
        for kind in ("float32", "float16", "int8")
    },
    "safetensors": _plain,
    "tokens": lambda: [
        token_table({"embeddings": VECTORS}),
        token_table({"embeddings": VECTORS.astype(np.float16)}),
        token_table({"embeddings": VECTORS, "weights": np.ones(6), "mapping": np.arange(6)}),
    ],
    "gensim": lambda: [_gensim(apart=False), _gensim(apart=True)],
    "fasttext": lambda: [
        {"fuzzed.bin": fasttext()},
        {"fuzzed.bin": fasttext(bucket=0)},
        {"fuzzed.bin": fasttext(model=3, n_labels=2)},
    ],
}


@functools.cache
def good_files(reader: str) -> list[Files]:
    """Return the good files of a reader."""
    return GOOD[reader]()


# ---- Damage ------------------------------------------------------------------------------------


def make_files(reader: str, seed: int) -> Files:
    """Return the same files for the same reader and seed: good ones after some accidents."""
    random = Random(f"{reader} {seed}")
    good = good_files(reader)
    files = dict(random.choice(good))
    for _ in range(random.choice([1, 1, 1, 2, 2, 3, 5, 8])):
        name = random.choice([*files, next(iter(files))])
        if random.random() < 0.5:
            other = random.choice([*random.choice(good).values()])
            files[name] = damage(random, files[name], other)
        else:
            try:
                files[name] = damage_format(random, files[name])
            # What is damaged already cannot be taken apart.
            except Exception:
                files[name] = damage(random, files[name], files[name])
    if random.random() < 0.01 and len(files) > 1:
        del files[random.choice([*files][1:])]
    return {name: content[:MAX_BYTES] for name, content in files.items()}


def damage(random: Random, content: bytes, other: bytes) -> bytes:
    """Damage bytes of any kind."""
    if not content:
        return random.randbytes(random.randrange(9))
    place = random.randrange(len(content))
    if random.random() < 0.3:
        # Where formats keep what they say of themselves.
        place = random.choice([min(place, 64), max(place, len(content) - 64)])
    kind = random.randrange(12)
    before, after = content[:place], content[place:]
    if kind <= 1:
        return before + bytes([after[0] ^ 1 << random.randrange(8)]) + after[1:]
    if kind == 2:
        return before + bytes([random.choice(b"\0\n\r\t \"',;.-0\x7f\x80\xff")]) + after[1:]
    if kind == 3:
        return before
    if kind == 4:
        return before + random.randbytes(random.randrange(1, 9)) + after
    if kind == 5:
        return before + after[: random.choice([1, 4, 16, 100])] * random.randrange(2, 5) + after
    if kind == 6:
        return before + after[random.choice([1, 2, 4, 8, 20]) :]
    if kind == 7:
        return before + other[random.randrange(len(other) + 1) :]
    if kind == 8:
        start = random.randrange(len(other) + 1)
        piece = other[start : start + random.randrange(1, 40)]
        return before + piece + after[len(piece) * random.randrange(2) :]
    if kind == 9:
        code = random.choice(["<i", "<q", ">i", ">q", "<h", "<b"])
        number = random.choice(LIMITS) % (1 << 8 * struct.calcsize(code))
        packed = number.to_bytes(struct.calcsize(code), "little" if code[0] == "<" else "big")
        return before + packed + after[len(packed) :]
    if kind == 10:
        numbers = [np.nan, np.inf, -0.0, 3.4e38, 1e-45]
        return before + np.float32(random.choice(numbers)).tobytes() + after[4:]
    return _change_number(random, content)


def _change_number(random: Random, content: bytes) -> bytes:
    """Write another number in place of one in digits."""
    numbers = [*re.finditer(rb"[0-9]+", content)]
    if not numbers:
        return content[:-1]
    match = random.choice([*numbers, numbers[0]])
    new = random.choice([*LIMITS, int(match[0][:15]) + random.choice([-1, 1]), random.randrange(9)])
    return content[: match.start()] + str(new).encode() + content[match.end() :]


def damage_format(random: Random, content: bytes) -> bytes:
    """Damage a file in ways that its format allows for."""
    for suffix, magic in ((".gz", b"\x1f\x8b"), (".bz2", b"BZh"), (".xz", b"\xfd7zXZ")):
        if content.startswith(magic):
            pack, unpack = PACKERS[suffix]
            inner = _again(random, unpack(content))
            return pack(inner) + (pack(inner[:9]) if random.random() < 0.1 else b"")
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard

        return zstd(_again(random, zstandard.ZstdDecompressor().decompress(content)))
    if content.startswith(b"PK"):
        return _zip(random, content)
    if content.startswith(b"\x93NUMPY"):
        return _npy_header(random, content)
    if content[8:9] == b"{":
        return _safetensors_header(random, content)
    if content[:1] in b"{[":
        return json.dumps(_json(random, json.loads(content)), ensure_ascii=False).encode()
    if content.startswith(struct.pack("<i", 793712314)):
        return _fasttext_header(random, content)
    if content.startswith((b"\x80", b"PAR1")):
        return _binary_numbers(random, content)
    return _lines(random, content)


def _again(random: Random, content: bytes) -> bytes:
    return _lines(random, content) if random.random() < 0.5 else damage(random, content, content)


def _lines(random: Random, content: bytes) -> bytes:
    """Damage lines and what stands in them."""
    lines = content.split(b"\n")
    place = random.randrange(len(lines))
    line = lines[place]
    sep = next((s for s in (b"\t", b",", b" ") if s in line), b" ")
    fields = line.split(sep)
    field = random.randrange(len(fields))
    kind = random.randrange(9)
    if kind == 0:
        lines.insert(random.randrange(len(lines)), line)
    elif kind == 1:
        del lines[place]
    elif kind == 2:
        lines.insert(place, random.choice([b"", b" ", b"\r", b"\t", b"\xef\xbb\xbf", b"2 3", b"a"]))
    elif kind == 3:
        lines[0] = b"%d %d" % (random.choice([*LIMITS, 5, 6, 7]), random.choice([3, 2, 4, *LIMITS]))
    elif kind == 4:
        lines = [each + random.choice([b"", b"\r", b" "]) for each in lines]
    else:
        if kind == 5:
            del fields[field]
        elif kind == 6:
            fields.insert(field, random.choice(FIELDS))
        else:
            fields[field] = random.choice(FIELDS)
        lines[place] = random.choice([sep, sep, sep, b"\t", b"  ", b",", b";"]).join(fields)
    return b"\n".join(lines)


FIELDS = [
    *(b"nan", b"inf", b"-Infinity", b"1e999", b"1e39", b"-0.0", b"1_0", b"0x1p3", b"1e-400"),
    *(b"", b" ", b"+1", b".5", b"5.", b"--1", b"1.2.3", "١".encode(), b"1.00000000000000000001"),
    *(b"123456789012345678", b"0.1234567890123456789", b"16777217", b"1.0000000596046448", b"1d5"),
    *(b"she", b'"', b'""', b'"a"b', b'a"b', b'"a,b"', b"'", b"\xff", b"\xed\xa0\x80", b"\0"),
    *(b"3", b"count", b"word", b"index", b"\xc2\x85", "\u2028".encode(), "é".encode(), b"null"),
    *(b"\xef\xbb\xbf", b"0", b"1", b"NA", b"-nan", b"1e5", b"1E+05", b"True", b"1,5", b"7" * 40),
]


def _zip(random: Random, content: bytes) -> bytes:
    """Pack the members anew, one of them damaged, missing, twice or under another name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    place = random.randrange(len(members))
    name, inner = members[place]
    kind = random.randrange(8)
    if kind < 5:
        is_npy = inner.startswith(b"\x93NUMPY") and kind < 3
        members[place] = name, (_npy_header if is_npy else _again)(random, inner)
    elif kind == 5:
        del members[place]
    elif kind == 6:
        members.append((random.choice([name, f"x/{name}", "other.npy"]), inner))
    else:
        members[place] = random.choice([name[:-1], "vocab.npy", "W.npy", "../x", "x/", ""]), inner
    buffer = io.BytesIO()
    packing = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w", packing) as archive:
        for each in members:
            archive.writestr(*each)
    return buffer.getvalue()


def _npy_header(random: Random, content: bytes) -> bytes:
    """Say something else of an array."""
    length = int.from_bytes(content[8:10], "little")
    header = ast.literal_eval(content[10 : 10 + length].decode("latin-1"))
    kind, body = random.randrange(6), content[10 + length :]
    if kind == 0:
        header["fortran_order"] = not header["fortran_order"]
    elif kind == 1:
        codes = ["<f2", ">f4", "<f8", "<i4", "|O", "<U3", "|S4", "<c8", "<f16", "|V3", "<f4,<i4"]
        header["descr"] = random.choice([*codes, [("a", "<f4")], "<f0", "<U0", "<M8", "é"])
    elif kind < 5:
        shape = [*header["shape"]]
        shape[random.randrange(len(shape))] = random.choice([*LIMITS, 3, 6, True, 2.0, "3"])
        shapes = [tuple(shape), tuple(shape[:1]), (), (*shape, 1), (0, 3), (18,), (3, 6), (0, 0)]
        header["shape"] = random.choice([shapes[0], shapes[0], *shapes])
    else:
        body = body[: random.randrange(len(body) + 1)] * random.randrange(3)
    text = repr(header).encode("latin-1").ljust(random.choice([length - 1, 0])) + b"\n"
    version = random.choice([b"\1\0", b"\1\0", b"\2\0", b"\3\0"])
    size = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    return content[:6] + version + size + text + body


def _safetensors_header(random: Random, content: bytes) -> bytes:
    """Say something else of the tensors."""
    length = int.from_bytes(content[:8], "little")
    header = _json(random, json.loads(content[8 : 8 + length]))
    text = json.dumps(header, ensure_ascii=False).encode().ljust(min(length, 8192))
    length = random.choice(LIMITS) % 2**64 if random.random() < 0.2 else len(text)
    return (
        length.to_bytes(8, "little") + text + content[8 + int.from_bytes(content[:8], "little") :]
    )


def _json(random: Random, value: Any) -> Any:
    """Change one thing within a value of JSON."""
    if isinstance(value, dict | list) and value and random.random() < 0.9:
        value = value.copy()
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = random.choice(keys)
        kind = random.randrange(10)
        if kind == 0:
            del value[key]
        elif kind == 1 and isinstance(value, dict):
            names = ["scale", "embeddings", "weights", "mapping", "vocabulary", "[UNK]", "", "x"]
            value[random.choice([*names, *keys])] = value.pop(key)
        elif kind == 2:
            value[key] = value[random.choice(keys)]
        else:
            value[key] = _json(random, value[key])
        return value
    if isinstance(value, int) and random.random() < 0.5:
        return random.choice([value + 1, value - 1, 4 * value, value // 2, value + 4])
    texts = ["F16", "F32", "F64", "BF16", "I8", "U8", "I64", "F4", "C64", "BOOL", "she", "\n", "▁"]
    return random.choice(
        [*LIMITS, *texts, None, True, 0.5, [], {}, "", [1], [0, 12], "\0", "[UNK]"]
    )


_FASTTEXT = struct.Struct("<2i12id3i2q")


def _fasttext_header(random: Random, content: bytes) -> bytes:
    """Change a field of the header."""
    fields = [*_FASTTEXT.unpack_from(content)]
    place = random.randrange(1, len(fields))
    if place == 14:
        fields[place] = random.choice([0.0, np.nan, np.inf])
    else:
        bits = 64 if place > 17 else 32
        new = random.choice([*LIMITS, fields[place] + 1, fields[place] - 1, 2, 3, 4, 11, 64])
        fields[place] = (new + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return _FASTTEXT.pack(*fields) + content[_FASTTEXT.size :]


def _binary_numbers(random: Random, content: bytes) -> bytes:
    """Change bytes of pickles, and of the end of Parquet files, where everything is described."""
    start = 0
    if content.startswith(b"PAR1"):
        start = max(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), 0)
    place = random.randrange(start, len(content))
    new = random.choice([content[place] ^ 1, content[place] + 1, random.randrange(256), 0, 255])
    return content[:place] + bytes([new % 256]) + content[place + 1 :]
