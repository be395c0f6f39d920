"""Converting: whole or not at all, in bounded memory, from Python and from the command line."""

import os
import subprocess
import sys

import numpy as np
import pytest

from wefe import convert, load
from wefe.models import WordEmbeddingModel
from wefe.models.formats._native import FileVocabulary

WORDS = ["She", "he", "she", "New York", "naïve", "/c/en/x"]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path / "glove.6B.txt", WORDS, VECTORS)


def write_text(path, words, vectors):
    with path.open("w", encoding="utf-8") as file:
        for word, vector in zip(words, vectors, strict=True):
            file.write(f"{word} {' '.join(map(str, vector.tolist()))}\n")
    return path


def leftovers(folder, *known):
    return sorted(path.name for path in folder.iterdir() if path not in known)


# ---- what is written ---------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "width"), [("float32", 32), ("float16", 16), ("int8", 12)])
def test_the_result_is_mapped_and_holds_the_same(text, tmp_path, dtype, width):
    target = tmp_path / "v.safetensors"
    model = convert(text, target, dtype, progress=False)
    assert (model.held, model.name, model.nbytes) == ("mapped", "glove.6B", width * len(WORDS))
    assert isinstance(model.vocab, FileVocabulary)
    assert list(model.vocab) == WORDS
    tolerance = {"float32": 0, "float16": 1e-3, "int8": 0.02}[dtype]
    np.testing.assert_allclose(model.vectors, VECTORS, atol=tolerance)
    assert load(target) == model
    assert load(str(target)).name == "glove.6B"
    assert leftovers(tmp_path, text, target) == []


def test_any_source_is_converted(tmp_path):
    target = tmp_path / "v.safetensors"
    toy = WordEmbeddingModel.from_arrays(WORDS, VECTORS, "m")
    for source in (dict(zip(WORDS, VECTORS, strict=True)), (WORDS, VECTORS), toy):
        model = convert(source, target, name="mine")
        assert (model.name, list(model.vocab)) == ("mine", WORDS)
        np.testing.assert_array_equal(model.vectors, VECTORS)
    assert convert("demo", target, "int8").name == load("demo").name
    assert convert(toy, target).name == "m"
    assert convert(toy, target, name="").name == "v"


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 2},
        {"lowercase": "first"},
        {"lowercase": "mean"},
        {"keep": lambda word: word.startswith("/c/en/")},
        {"min_count": 2, "counts": {"he": 2, "naïve": 3}},
    ],
)
def test_the_vocabulary_is_cut_as_load_cuts_it(text, tmp_path, options):
    model, whole = convert(text, tmp_path / "v.safetensors", **options), load(text, **options)
    assert len(model) < len(WORDS)
    assert list(model.vocab) == list(whole.vocab)
    np.testing.assert_array_equal(model.vectors, whole.vectors)


def test_damaged_lines_are_left_out_and_counted_if_so_wished(text, tmp_path, caplog):
    text.write_bytes(text.read_bytes() + b"damaged 1 2\n")
    target = tmp_path / "v.safetensors"
    with pytest.raises(ValueError, match=r"glove.6B.txt, line 7: expected a word and 8 numbers"):
        convert(text, target)
    assert leftovers(tmp_path, text) == []
    assert list(convert(text, target, on_error="skip").vocab) == WORDS
    assert "1 damaged words were left out" in caplog.text


@pytest.mark.parametrize(
    ("path", "options", "kind", "culprit"),
    [
        ("v.bin", {}, ValueError, "path .*'.safetensors'; got str"),
        ("v.safetensors", {"dtype": "int4"}, ValueError, "dtype"),
        ("v.safetensors", {"limit": 0}, ValueError, "limit"),
        ("v.safetensors", {"keep": lambda word: False}, ValueError, "no words to write"),
        ("nowhere/v.safetensors", {}, FileNotFoundError, "folder"),
    ],
)
def test_wrong_options_are_named_and_nothing_is_written(
    text, tmp_path, path, options, kind, culprit
):
    with pytest.raises(kind, match=culprit):
        convert(text, tmp_path / path, **options)
    assert leftovers(tmp_path, text) == []


def test_numbers_that_do_not_fit_are_refused_and_the_old_file_stays(tmp_path):
    target = tmp_path / "v.safetensors"
    convert((WORDS, VECTORS), target)
    before = target.read_bytes()
    large, nan = VECTORS.copy(), VECTORS.copy()
    large[3, 3], nan[4, 4] = 1e6, np.nan
    with pytest.raises(ValueError, match="'New York' has numbers that float16 cannot hold"):
        convert((WORDS, large), target, "float16")
    for dtype in ("float32", "float16", "int8"):
        with pytest.raises(ValueError, match="the vector of 'naïve' has NaN or infinity"):
            convert((WORDS, nan), target, dtype)
    assert target.read_bytes() == before
    assert leftovers(tmp_path, target) == []
    model = convert((WORDS, nan), target, on_error="skip")
    assert list(model.vocab) == [word for word in WORDS if word != "naïve"]


# ---- interrupted -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large_text(tmp_path_factory):
    """Some 60 MB of text."""
    path = tmp_path_factory.mktemp("large") / "large.txt"
    line = " ".join(f"{number:.5f}" for number in np.random.default_rng(0).normal(size=100))
    with path.open("w") as file:
        for start in range(0, 70_000, 1000):
            file.write("".join(f"word{number} {line}\n" for number in range(start, start + 1000)))
    assert 50e6 < path.stat().st_size < 70e6
    return path


# A job in the background is started so that it ignores Ctrl-C; what it starts does, too.
CONVERT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from wefe import convert
convert(sys.argv[1], sys.argv[2], progress=False)
"""


# ---- memory ------------------------------------------------------------------------------------

PEAK = """
import resource, sys
from wefe import convert
convert(sys.argv[1], sys.argv[2], sys.argv[3], n_jobs=2, progress=False)
# The parser keeps what it uses once; whatever the size of the file.
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak_mb(source, target, dtype):
    done = subprocess.run(
        [sys.executable, "-c", PEAK, source, target, dtype],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss differs")
def test_memory_does_not_grow_with_the_file(tmp_path, large_text):
    small, target = tmp_path / "small.txt", tmp_path / "v.safetensors"
    with large_text.open() as file:
        small.write_text("".join(next(file) for _ in range(7000)))
    few, many = peak_mb(small, target, "float32"), peak_mb(large_text, target, "float32")
    # 30 bytes per word, where the vectors would take 28 MB.
    assert many - few < 16, (few, many)


# ---- the command line --------------------------------------------------------------------------


def wefe(*arguments, expect=0):
    done = subprocess.run(
        [sys.executable, "-c", "from wefe.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100"},
        timeout=120,
    )
    assert done.returncode == expect, done.stderr + done.stdout
    return done


def test_wefe_convert_says_what_it_wrote_or_what_is_wrong(text, tmp_path):
    target = tmp_path / "v.safetensors"
    done = wefe("convert", text, target, "--dtype", "float16", "--limit", 4, "--lowercase")
    size = target.stat().st_size / 1e6
    assert done.stdout == f"{target}: 3 words of 8 dims, float16, {size:,.1f} MB\n"
    assert list(load(target).vocab) == ["she", "he", "new york"]
    wefe("convert", text, target, "--only-prefix", "/c/en/")
    assert list(load(target).vocab) == ["/c/en/x"]
    target.unlink()
    text.write_bytes(text.read_bytes() + b"damaged\n")
    done = wefe("convert", text, target, expect=2)
    assert "line 7" in done.stderr
    assert "Traceback" not in done.stderr
    assert not target.exists()
    assert "1 damaged words" in wefe("convert", text, target, "--skip-damaged").stderr
