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

from wefe import WordEmbeddingModel, convert

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
    lines = [f"{len(WORDS)} 3"] * header
    lines += [sep.join([word, *map(str, row)]) for word, row in zip(WORDS, VECTORS, strict=True)]
    return (end.join(lines) + end).encode()


def binary(end: bytes = b"\n") -> bytes:
    rows = zip(WORDS, VECTORS, strict=True)
    body = b"".join(w.replace(" ", "_").encode() + b" " + v.tobytes() + end for w, v in rows)
    return f"{len(WORDS)} 3\n".encode() + body


def written(write: Callable[..., Any], *args: Any, **options: Any) -> bytes:
    """Return what a function writes into a file of bytes."""
    buffer = io.BytesIO()
    write(buffer, *args, **options)
    return buffer.getvalue()


def zipped(content: bytes) -> bytes:
    return written(lambda file: zipfile.ZipFile(file, "w").writestr("m.txt", content))


def zstd(content: bytes, unpack: bool = False) -> bytes:
    import zstandard

    if unpack:
        return zstandard.ZstdDecompressor().decompress(content)
    return zstandard.ZstdCompressor().compress(content)


# How to pack and unpack, and how what is packed begins.
PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes], bytes]] = {
    "gz": (functools.partial(gzip.compress, mtime=0), gzip.decompress, b"\x1f\x8b"),
    "bz2": (bz2.compress, bz2.decompress, b"BZh"),
    "xz": (lzma.compress, lzma.decompress, b"\xfd7zXZ"),
    "zst": (zstd, functools.partial(zstd, unpack=True), b"\x28\xb5\x2f\xfd"),
}


def safetensors(**tensors: Any) -> bytes:
    from safetensors.numpy import save

    return save(tensors)


def saved(save: Callable[[str], Any], name: str) -> Files:
    """Return what a function saves under a name."""
    with tempfile.TemporaryDirectory() as folder:
        save(f"{folder}/{name}")
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _table(kind: str) -> bytes:
    """Write a Parquet file: with columns of numbers, or one of lists."""
    import pyarrow as pa
    from pyarrow import parquet

    vectors = np.concatenate([VECTORS, VECTORS[:1]])
    columns = {f"v{n}": pa.array(vectors[:, n]) for n in range(3)}
    if kind == "list":
        columns = {"vector": pa.array(vectors.tolist(), pa.list_(pa.float32()))}
    table = pa.table({"word": pa.array([*WORDS, "she"]), **columns})
    options = {"compression": "snappy"} if kind == "list" else {"write_page_checksum": True}
    return written(lambda file: parquet.write_table(table, file, **options))


def token_table(**tensors: Any) -> Files:
    vocabulary = {"[UNK]": 0, "she": 1, "he": 2, "naïve": 3, "job": 4, "us": 5}
    tokenizer = {
        **dict.fromkeys(["truncation", "padding", "normalizer", "post_processor", "decoder"]),
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    text = json.dumps(tokenizer, ensure_ascii=False).encode()
    return {"model.safetensors": safetensors(**tensors), "tokenizer.json": text}


def _gensim(apart: bool) -> Files:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(3)
    vectors.add_vectors(WORDS, VECTORS)
    return saved(lambda path: vectors.save(path, sep_limit=0 if apart else 1 << 20), "fuzzed.kv")


def fasttext(bucket: int = 4, model: int = 2, n_labels: int = 0) -> bytes:
    """Write a .bin as fastText 0.9 does."""
    words = [word.replace(" ", "_") for word in WORDS] + ["</s>"]
    entries = [(word, 0) for word in words] + [(f"__label__{n}", 1) for n in range(n_labels)]
    content = struct.pack("<2i", 793712314, 12)
    content += struct.pack("<12id", 3, 5, 5, 1, 5, 1, 1, model, bucket, 2, 4, 100, 1e-4)
    content += struct.pack("<3i2q", len(entries), len(words), n_labels, 100, -1)
    for word, kind in entries:
        content += word.encode() + struct.pack("<bqb", 0, 10, kind)
    random = np.random.default_rng(1)
    for n_rows in (len(words) + bucket, n_labels if model == 3 else len(words)):
        numbers = random.normal(size=(n_rows, 3)).astype("<f4")
        content += struct.pack("<b2q", 0, n_rows, 3) + numbers.tobytes()
    return content


def _csv(sep: str) -> list[Files]:
    body = text(False, sep=sep)
    quoted = re.sub(rb"(?m)^([^,\t]+)", rb'"\1"', body)
    header = sep.join(["word", "a", "b", "c"]).encode() + b"\n"
    return [{"fuzzed.csv": each} for each in (header + body, body, header + quoted)]


def _packed(pack: Callable[[bytes], bytes], suffix: str) -> list[Files]:
    return [{f"fuzzed.{suffix}": pack(each)} for each in (text(False), text(True), binary())]


def _npy() -> list[Files]:
    lines = "\n".join(WORDS).encode() + b"\n"
    return [
        {"fuzzed.npy": written(np.save, each), "fuzzed.txt": lines}
        for each in (VECTORS, VECTORS.astype(">f8"), np.asfortranarray(VECTORS))
    ]


def _npz() -> list[Files]:
    arrays = {"vectors": VECTORS, "words": np.array(WORDS)}
    return [{"fuzzed.npz": written(pack, **arrays)} for pack in (np.savez, np.savez_compressed)]


def _plain() -> list[Files]:
    letters = np.frombuffer("\n".join(WORDS).encode(), np.uint8)
    both = (safetensors(embeddings=VECTORS.astype(t), vocabulary=letters) for t in ("f4", "f2"))
    return [{"fuzzed.safetensors": each} for each in both]


def _native(dtype: str) -> list[Files]:
    model = WordEmbeddingModel((WORDS, VECTORS), "fuzzed")
    return [saved(lambda path: convert(model, path, dtype), "fuzzed.safetensors")]  # type: ignore[arg-type]


#: The good files of every reader, which take some time to make.
GOOD: dict[str, Callable[[], list[Files]]] = {
    "glove": lambda: [{"fuzzed.txt": text(False)}, {"fuzzed.txt": text(False, "\r\n")}],
    "word2vec": lambda: [{"fuzzed.vec": text(True)}, {"fuzzed.vec": text(True, " \n")}],
    "word2vec-binary": lambda: [{"fuzzed.bin": binary()}, {"fuzzed.bin": binary(b"")}],
    **{suffix: functools.partial(_packed, PACKERS[suffix][0], suffix) for suffix in PACKERS},
    "zip": lambda: _packed(zipped, "zip"),
    "csv": lambda: _csv(","),
    "tsv": lambda: _csv("\t"),
    "parquet": lambda: [{"fuzzed.parquet": _table(kind)} for kind in ("list", "columns")],
    "npy": _npy,
    "npz": _npz,
    **{f"native-{kind}": functools.partial(_native, kind) for kind in ("float32", "int8")},
    "safetensors": _plain,
    "tokens": lambda: [
        token_table(embeddings=VECTORS.astype(np.float16)),
        token_table(embeddings=VECTORS, weights=np.ones(6), mapping=np.arange(6)),
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
        other = random.choice([*random.choice(good).values()])
        try:
            way = damage_format if random.random() < 0.5 else damage
            files[name] = way(random, files[name], other)
        # What is damaged already cannot be taken apart.
        except Exception:
            files[name] = damage(random, files[name], other)
    if random.random() < 0.01 and len(files) > 1:
        del files[random.choice([*files][1:])]
    return {name: content[:MAX_BYTES] for name, content in files.items()}


def damage(random: Random, content: bytes, other: bytes) -> bytes:
    """Damage bytes of any kind."""
    place = random.randrange(len(content) + 1)
    if random.random() < 0.3:
        # Where formats keep what they say of themselves.
        place = random.choice([min(place, 64), max(place, len(content) - 64)])
    before, after = content[:place], content[place:]
    start = random.randrange(len(other) + 1)
    piece = other[start : start + random.randrange(1, 40)]
    code = random.choice("bhiq")
    size = struct.calcsize(code)
    number = random.choice(LIMITS) % (1 << 8 * size)
    float32 = np.float32(random.choice([np.nan, np.inf, -0.0, 3.4e38, 1e-45]))
    return random.choice(
        [
            before,
            before + bytes([(after or b"\0")[0] ^ 1 << random.randrange(8)]) + after[1:],
            before + bytes([random.choice(b"\0\n\r\t \"',;.-0\x7f\x80\xff")]) + after[1:],
            before + random.randbytes(random.randrange(1, 9)) + after,
            before + after[: random.choice([1, 4, 16, 100])] * random.randrange(2, 5) + after,
            before + after[random.choice([1, 2, 4, 8, 20]) :],
            before + other[start:],
            before + piece + after[len(piece) * random.randrange(2) :],
            before + number.to_bytes(size, random.choice(["little", "big"])) + after[size:],  # type: ignore[arg-type]
            before + float32.tobytes() + after[4:],
            _change_number(random, content),
        ]
    )


def _change_number(random: Random, content: bytes) -> bytes:
    """Write another number in place of one in digits."""
    numbers = [*re.finditer(rb"[0-9]+", content)]
    if not numbers:
        return content[:-1]
    match = random.choice([*numbers, numbers[0]])
    new = random.choice([*LIMITS, int(match[0][:15]) + random.choice([-1, 1]), random.randrange(9)])
    return content[: match.start()] + str(new).encode() + content[match.end() :]


def damage_format(random: Random, content: bytes, other: bytes) -> bytes:
    """Damage a file in ways that its format allows for."""
    for pack, unpack, magic in PACKERS.values():
        if content.startswith(magic):
            inner = damage_format(random, unpack(content), unpack(other))
            return pack(inner) + pack(inner[:9]) * (random.random() < 0.1)
    if content.startswith(b"PK"):
        return _zip(random, content)
    if content.startswith(b"\x93NUMPY"):
        return _npy_header(random, content)
    if content[8:9] == b"{":
        return _safetensors_header(random, content)
    if content[:1] in b"{[":
        return json.dumps(_json(random, json.loads(content)), ensure_ascii=False).encode()
    if b"\0" in content:
        return damage(random, content, other)
    return _lines(random, content)


def _lines(random: Random, content: bytes) -> bytes:
    """Damage lines and what stands in them."""
    lines = content.split(b"\n")
    place = random.randrange(len(lines))
    line = lines[place]
    sep = next((s for s in (b"\t", b",", b" ") if s in line), b" ")
    fields = line.split(sep)
    field = random.randrange(len(fields))
    kind = random.randrange(8)
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
        fields[field : field + (kind > 5)] = [random.choice(FIELDS)] * (kind < 7)
        lines[place] = random.choice([sep, sep, sep, b"\t", b"  ", b",", b";"]).join(fields)
    return b"\n".join(lines)


_FIELDS = """nan|inf|-Infinity|1e999|1e39|-0.0|1_0|0x1p3|1e-400|| |+1|.5|5.|--1|1.2.3|١|1d5|16777217
1.00000000000000000001|123456789012345678|1.0000000596046448|she|"|""|"a"b|a"b|"a,b"|'|\0|3|count
word|index|\u0085|\u2028|é|null|\ufeff|0|1|NA|-nan|1E+05|True|1,5|7777777777777777777777777777777"""
FIELDS = [*re.split(rb"[|\n]", _FIELDS.encode()), b"\xff", b"\xed\xa0\x80"]


def _zip(random: Random, content: bytes) -> bytes:
    """Pack the members anew, one of them damaged, missing, twice or under another name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    place = random.randrange(len(members))
    name, inner = members[place]
    new = random.choice([name, name[:-1], "vocab.npy", "W.npy", "../x", "x/", ""])
    members[place : place + random.randrange(2)] = random.choice(
        [[], [(new, inner)], *[[(name, damage_format(random, inner, inner))]] * 4]
    )
    packing = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w", packing) as archive:
        for each in members:
            archive.writestr(*each)
    return buffer.getvalue()


def _npy_header(random: Random, content: bytes) -> bytes:
    """Say something else of an array."""
    length = int.from_bytes(content[8:10], "little")
    header = ast.literal_eval(content[10 : 10 + length].decode("latin-1"))
    header = _json(random, {**header, "shape": [*header["shape"]]})
    if isinstance(header, dict) and isinstance(header.get("shape"), list):
        header["shape"] = tuple(header["shape"])
    text = repr(header).encode("latin-1", "replace").ljust(random.choice([length - 1, 0])) + b"\n"
    version = random.choice([b"\1\0", b"\1\0", b"\2\0", b"\3\0"])
    size = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    return content[:6] + version + size + text + content[10 + length :]


def _safetensors_header(random: Random, content: bytes) -> bytes:
    """Say something else of the tensors."""
    length = int.from_bytes(content[:8], "little")
    header = _json(random, json.loads(content[8 : 8 + length]))
    text = json.dumps(header, ensure_ascii=False).encode().ljust(min(length, 8192))
    said = random.choice(LIMITS) % 2**64 if random.random() < 0.2 else len(text)
    return said.to_bytes(8, "little") + text + content[8 + length :]


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
    texts += ["<f2", ">f4", "<f8", "|O", "<U3", "<c8", "<f16", "<f4,<i4", "<f0", "<U0", "<M8"]
    others = [None, True, 0.5, [], {}, "", [1], [0, 12], "\0", "[UNK]"]
    return random.choice([*LIMITS, *texts, *others])
