"""Small, good files of every format, for harnesses that damage them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import zipfile

import numpy as np

WORDS = ["she", "he", "New York", "naïve", ".", "u.s."]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(np.float32)


def text(header: bool) -> bytes:
    lines = [f"{len(WORDS)} 3"] if header else []
    lines += [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, VECTORS, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def binary() -> bytes:
    rows = zip(WORDS, VECTORS, strict=True)
    body = b"".join(w.replace(" ", "_").encode() + b" " + v.tobytes() + b"\n" for w, v in rows)
    return f"{len(WORDS)} 3\n".encode() + body


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, vectors=VECTORS, words=np.array(WORDS))
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m.txt", text(header=False))
    return buffer.getvalue()


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    names = {"float32": "F32", "uint8": "U8"}
    header, body = {}, b""
    for name, array in tensors.items():
        end = len(body) + array.nbytes
        header[name] = {
            "dtype": names[array.dtype.name],
            "shape": array.shape,
            "data_offsets": [len(body), end],
        }
        body += array.tobytes()
    start = json.dumps(header).encode()
    return struct.pack("<Q", len(start)) + start + body


def corpus() -> dict[str, bytes]:
    """Good files by name; the suffix is for people, readers look at the bytes."""
    letters = np.frombuffer("\n".join(WORDS).encode(), np.uint8)
    csv = "word,a,b,c\n" + text(header=False).decode().replace("New York", "NewYork").replace(
        " ", ","
    )
    return {
        "glove.txt": text(header=False),
        "word2vec.vec": text(header=True),
        "word2vec.bin": binary(),
        "glove.txt.gz": gzip.compress(text(header=False), mtime=0),
        "word2vec.bin.bz2": bz2.compress(binary()),
        "word2vec.vec.xz": lzma.compress(text(header=True)),
        "glove.zip": zipped(),
        "vectors.npz": npz(),
        "vectors.csv": csv.encode(),
        "vectors.tsv": csv.replace(",", "\t").encode(),
        "plain.safetensors": safetensors({"embeddings": VECTORS, "vocabulary": letters}),
        "tokens.safetensors": safetensors({"embeddings": VECTORS}),
        "gensim.kv": pickle.dumps({"vectors": VECTORS.tolist()}, protocol=4),
        "fasttext.bin": struct.pack("<ii", 793712314, 12) + bytes(100),
    }
