"""No bytes crash or hang a reader, or make it take memory without bound.

`scripts/fuzz_readers.py` runs the same checks without end, guided by coverage.
"""

import importlib.util
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wefe import convert, load


def _load_corpus():
    # `scripts/fuzz_readers.py` uses the module, too.
    path = Path(__file__).with_name("_corpus.py")
    specification = importlib.util.spec_from_file_location("_corpus", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


WORDS, CORPUS = _load_corpus().WORDS, _load_corpus().corpus()
# What a reader may say of a file: that it is damaged, unknown, or lacks something beside it.
ALLOWED = (ValueError, FileNotFoundError, ImportError)
MAX_SECONDS = 5
MAX_MB = 200
# Tracing memory makes everything several times slower; what is quadratic would take hours.
MAX_SECONDS_TRACED = 30


def check(path, content, max_seconds=MAX_SECONDS, **options):
    """Open bytes in both ways: a whole model comes of it, or an error with the file's name."""
    path.write_bytes(content)
    for words in (None, ["she", "New York"]):
        start, message = time.monotonic(), None
        try:
            model = load(path, words=words, progress=False, **options)
        except ALLOWED as error:
            message = str(error)
        if message is not None:
            assert path.name in message
        else:
            vectors = model.get_vectors(list(model.vocab))
            assert vectors.shape == (len(model), model.dim)
        assert time.monotonic() - start < max_seconds


@st.composite
def damaged(draw, good):
    """Return a good file after some accidents."""
    content = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        if not content:
            break
        place = draw(st.integers(0, len(content) - 1))
        kind = draw(st.sampled_from(["cut", "flip", "insert", "repeat", "delete", "number"]))
        if kind == "cut":
            del content[place:]
        elif kind == "flip":
            content[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "insert":
            content[place:place] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "repeat":
            content[place:place] = content[place : place + draw(st.integers(1, 100))]
        elif kind == "delete":
            del content[place : place + draw(st.integers(1, 20))]
        else:
            content[place : place + 1] = draw(st.sampled_from([b"9" * 5, b"-1", b"\xff" * 8, b"0"]))
    return bytes(content)


FUZZ = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_is_read_or_refused_with_a_reason(tmp_path, name):
    check(tmp_path / name, CORPUS[name])
    refused = {"tokens.safetensors", "gensim.kv", "fasttext.bin"}
    if name not in refused:
        assert len(load(tmp_path / name)) == len(WORDS)


@pytest.mark.parametrize("name", CORPUS)
@FUZZ
@given(st.data())
def test_a_damaged_file_is_refused_or_read_whole(tmp_path, name, data):
    content = data.draw(damaged(CORPUS[name]))
    check(tmp_path / name, content)
    check(tmp_path / name, content, on_error="skip")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@FUZZ
@given(st.data())
def test_a_damaged_native_file_is_refused_or_read(tmp_path, dtype, data):
    convert((WORDS, [[0.5, 1.0, -2.0]] * len(WORDS)), tmp_path / "good.safetensors", dtype)
    good = (tmp_path / "good.safetensors").read_bytes()
    path = tmp_path / "m.safetensors"
    path.write_bytes(data.draw(damaged(good)))
    # Nothing but the header is read when a native file is opened; other damage is met when used.
    try:
        model = load(path)
        for word in WORDS:
            if word in model:
                assert model[word].shape == (model.dim,)
        list(model.vocab)
    except ValueError as error:
        message = str(error)
    else:
        message = path.name
    assert path.name in message


@FUZZ
@given(st.binary(max_size=2000) | st.text(max_size=500).map(str.encode))
def test_any_bytes_are_refused_or_read(tmp_path, content):
    check(tmp_path / "any", content)
    check(tmp_path / "any", content, on_error="skip")


MEGABYTE = 1 << 20
LONG = {
    "spaces": b" " * MEGABYTE,
    "line ends": b"\n" * MEGABYTE,
    "digits": b"1" * MEGABYTE,
    "one letter": b"a" * MEGABYTE,
    "letters on lines": b"a\n" * (MEGABYTE // 2),
    "numbers on lines": b"1 1\n" * (MEGABYTE // 4),
    "words": b"a " * (MEGABYTE // 2),
    "blanks": b" \n" * (MEGABYTE // 2),
    "one good line, then letters": b"a 1 2\n" + b"a\n" * (MEGABYTE // 2),
    "one good line, then a long one": b"a 1 2\n" + b"b" * MEGABYTE,
    "one good line, then numbers": b"a 1 2\n" + b"b" + b" 1" * (MEGABYTE // 2),
    "points": b"a 1 2\n" + b". . .\n" * (MEGABYTE // 6),
    "one line": b"a" + b" 0.5" * (MEGABYTE // 4),
    "header, then letters": b"9999 2\n" + b"a" * MEGABYTE,
    "header, then spaces": b"9999 2\n" + b" " * MEGABYTE,
    "header, then zeros": b"99999 2\n" + bytes(MEGABYTE),
    "header of one huge vector": b"1 250000\na " + bytes(MEGABYTE),
    "header that lies": b"999999999999 300\na \0\0\0\0" + bytes(MEGABYTE),
    "commas": b"a,1\n" + b"," * MEGABYTE,
    "quotes": b'"a",1\n' + b'"' * MEGABYTE,
    "brackets": (8 * MEGABYTE // 10).to_bytes(8, "little") + b"{" + b"[" * MEGABYTE,
}


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("name", LONG)
def test_a_megabyte_of_the_same_takes_neither_long_nor_much_memory(tmp_path, name, on_error):
    tracemalloc.start()
    try:
        check(tmp_path / "long", LONG[name], MAX_SECONDS_TRACED, on_error=on_error)
        peak_mb = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    assert peak_mb < MAX_MB
