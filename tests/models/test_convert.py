"""Converting: whole or not at all, in bounded memory, from Python and from the command line."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time

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


def test_a_second_conversion_changes_nothing(text, tmp_path):
    convert(text, tmp_path / "a.safetensors")
    convert(tmp_path / "a.safetensors", tmp_path / "b.safetensors")
    convert(tmp_path / "a.safetensors", tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_any_source_is_converted(tmp_path):
    target = tmp_path / "v.safetensors"
    sources = [
        dict(zip(WORDS, VECTORS, strict=True)),
        (WORDS, VECTORS),
        WordEmbeddingModel.from_arrays(WORDS, VECTORS, "m"),
    ]
    for source in sources:
        model = convert(source, target, name="mine")
        assert (model.name, list(model.vocab)) == ("mine", WORDS)
        np.testing.assert_array_equal(model.vectors, VECTORS)
    assert convert("demo", target, "int8").name == load("demo").name
    assert convert(sources[2], target).name == "m"
    assert convert(sources[2], target, name="").name == "v"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"limit": 2}, ["She", "he"]),
        ({"lowercase": "first"}, ["she", "he", "new york", "naïve", "/c/en/x"]),
        ({"lowercase": "mean"}, ["she", "he", "new york", "naïve", "/c/en/x"]),
        ({"keep": lambda word: word.startswith("/c/en/")}, ["/c/en/x"]),
        ({"min_count": 2, "counts": {"he": 2, "naïve": 3}}, ["he", "naïve"]),
    ],
)
def test_the_vocabulary_is_cut_as_load_cuts_it(text, tmp_path, options, expected):
    model = convert(text, tmp_path / "v.safetensors", **options)
    whole = load(text, **options)
    assert list(model.vocab) == expected == list(whole.vocab)
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
    ("path", "options", "kind", "text_of_error"),
    [
        ("v.bin", {}, ValueError, "path must end with '.safetensors'; got str"),
        ("v", {}, ValueError, "To write another format, load the model and call its save"),
        ("v.safetensors", {"dtype": "int4"}, ValueError, "dtype must be one of 'float32', 'float1"),
        ("v.safetensors", {"limit": 0}, ValueError, "limit must be an integer of at least 1"),
        ("v.safetensors", {"n_jobs": 0}, ValueError, "n_jobs must be an integer of at least 1"),
        ("v.safetensors", {"keep": lambda word: False}, ValueError, "no words to write|no word"),
        ("nowhere/v.safetensors", {}, FileNotFoundError, "no such folder to write into"),
    ],
)
def test_wrong_options_are_named_and_nothing_is_written(
    text, tmp_path, path, options, kind, text_of_error
):
    with pytest.raises(kind, match=text_of_error):
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


def test_file_names_that_are_no_text_are_no_hindrance(text, tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \xff.txt")
    try:
        os.link(text, odd)
    except OSError:
        pytest.skip("the file system takes no such names")
    model = convert(odd, tmp_path / "v.safetensors")
    assert list(model.vocab) == WORDS
    assert model.name == "caf? ?"


# ---- interrupted -------------------------------------------------------------------------------

# A job in the background is started so that it ignores Ctrl-C; what it starts does, too.
CONVERT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from wefe import convert
print("ready", flush=True)
for number in range(1000):
    convert(sys.argv[1], sys.argv[2], sys.argv[3], progress=False)
"""


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


@pytest.mark.slow
@pytest.mark.parametrize("old", [True, False])
def test_a_kill_leaves_the_old_file_or_none_and_hidden_parts_only(tmp_path, large_text, old):
    rng = random.Random(0)
    target, limited = tmp_path / "v.safetensors", tmp_path / "limited.txt"
    with large_text.open() as file:
        limited.write_text("".join(next(file) for _ in range(4000)))
    convert(limited, target, "int8")
    whole = target.read_bytes()
    target.unlink()
    # Converting takes some hundredths of a second, again and again; the kill comes at any point.
    n_parts = 0
    for _ in range(6):
        if old:
            target.write_bytes(b"old")
        process = subprocess.Popen(
            [sys.executable, "-c", CONVERT, limited, target, "int8"], stdout=subprocess.PIPE
        )
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
        if target.exists():
            assert target.read_bytes() in (b"old" if old else whole, whole)
        else:
            assert not old
        parts = leftovers(tmp_path, target, limited)
        assert all(name.startswith(".v.safetensors.") and name.endswith(".part") for name in parts)
        n_parts += len(parts)
        for name in parts:
            (tmp_path / name).unlink()
        target.unlink(missing_ok=True)
    assert n_parts


@pytest.mark.slow
def test_ctrl_c_leaves_the_old_file_and_no_part(tmp_path, large_text):
    target = tmp_path / "v.safetensors"
    target.write_bytes(b"old")
    process = subprocess.Popen(
        [sys.executable, "-c", CONVERT, large_text, target, "float32"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()
    deadline = time.monotonic() + 20
    while not (parts := leftovers(tmp_path, target)) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert parts
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors
    assert leftovers(tmp_path, target) == []
    assert target.read_bytes() == b"old"


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
@pytest.mark.parametrize("binary", [True, False])
def test_memory_does_not_grow_with_the_file(tmp_path, large_text, binary):
    large, small = large_text, tmp_path / "small.txt"
    with large_text.open() as file:
        small.write_text("".join(next(file) for _ in range(7000)))
    if binary:
        for name, n_words in (("large.bin", 150_000), ("small.bin", 15_000)):
            vector = np.ones(100, np.float32).tobytes()
            body = b"".join(b"word%d " % number + vector for number in range(n_words))
            (tmp_path / name).write_bytes(b"%d 100\n" % n_words + body)
        large, small = tmp_path / "large.bin", tmp_path / "small.bin"
    target = tmp_path / "v.safetensors"
    few = peak_mb(small, target, "float32")
    many = peak_mb(large, target, "float32")
    # 30 bytes per word, where the vectors would take 28 or 60 MB.
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


def test_wefe_convert_says_what_it_wrote(text, tmp_path):
    target = tmp_path / "v.safetensors"
    done = wefe("convert", text, target, "--dtype", "float16", "--limit", 4, "--lowercase")
    size = target.stat().st_size / 1e6
    assert done.stdout == f"{target}: 3 words of 8 dims, float16, {size:,.1f} MB\n"
    assert list(load(target).vocab) == ["she", "he", "new york"]
    wefe("convert", text, target, "--only-prefix", "/c/en/")
    assert list(load(target).vocab) == ["/c/en/x"]


def test_wefe_convert_names_what_is_wrong(text, tmp_path):
    target = tmp_path / "v.safetensors"
    for arguments, message in [
        ((tmp_path / "nowhere.txt", target), "there is no file"),
        ((text, tmp_path / "v.bin"), "path must end with '.safetensors'"),
        ((text, target, "--limit", 0), "limit must be an integer of at least 1"),
    ]:
        done = wefe("convert", *arguments, expect=2)
        assert message in done.stderr
        assert "Traceback" not in done.stderr
    text.write_bytes(text.read_bytes() + b"damaged\n")
    assert "line 7: expected a word" in wefe("convert", text, target, expect=2).stderr
    assert not target.exists()
    done = wefe("convert", text, target, "--skip-damaged")
    assert "1 damaged words were left out" in done.stderr
    assert "int4" in wefe("convert", text, target, "--dtype", "int4", expect=2).stderr


def test_wefe_measure_gives_the_same_of_every_format(tmp_path):
    rng = np.random.default_rng(0)
    words = ["She", "woman", "he", "man", "home", "kids", "boss", "job", "other"]
    vectors = rng.normal(size=(len(words), 20)).astype(np.float32)
    text = write_text(tmp_path / "glove.txt", words, vectors)
    packed = tmp_path / "glove.txt.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    native = tmp_path / "native.safetensors"
    convert(text, native)
    queries = tmp_path / "queries.json"
    query = {
        "target_sets": [["She", "WOMAN"], ["he", "man"]],
        "attribute_sets": [["home", "kids"], ["boss", "job"]],
    }
    queries.write_text(json.dumps([query]))
    done = wefe(
        *["measure", "--model", text, "--model", f"packed={packed}", "--model", f"native={native}"],
        *["--queries", queries, "--metric", "weat-es", "--metric", "rnsb", "--format", "json"],
    )
    results = json.loads(done.stdout)["results"]
    assert {row["model_name"] for row in results} == {"glove", "packed", "native"}
    scores = {}
    for row in results:
        assert row["words_lost"] == 0
        scores.setdefault(row["metric"], set()).add(row["score"])
    assert len(scores) == 2
    assert all(len(values) == 1 and None not in values for values in scores.values())
