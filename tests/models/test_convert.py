"""Converting: whole or not at all, from Python and from the command line."""

import numpy as np
import pytest
from command_line import wefe
from model_files import at_most

from wefe import convert, load
from wefe.models import WordEmbeddingModel

WORDS = ["She", "he", "she", "New York", "naïve", "/c/en/x"]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "glove.6B.txt"
    WordEmbeddingModel((WORDS, VECTORS)).save(path)
    return path


@pytest.fixture
def target(tmp_path):
    return tmp_path / "v.safetensors"


@pytest.mark.parametrize(("dtype", "width"), [("float32", 32), ("float16", 16), ("int8", 12)])
def test_the_result_is_mapped_and_holds_the_same(text, target, dtype, width):
    model = convert(text, target, dtype, progress=False)
    assert (model.held, model.name, model.nbytes) == ("mapped", "glove.6B", width * len(WORDS))
    assert list(model.vocab) == WORDS
    tolerance = {"float32": 0, "float16": 1e-3, "int8": 0.02}[dtype]
    np.testing.assert_allclose(model.vectors, VECTORS, atol=tolerance)
    assert load(str(target)) == model
    assert {*target.parent.iterdir()} == {text, target}


def test_any_source_is_converted(target):
    for source in ((WORDS, VECTORS), WordEmbeddingModel((WORDS, VECTORS), "m")):
        model = convert(source, target, name="mine")
        assert (model.name, list(model.vocab)) == ("mine", WORDS)
        np.testing.assert_array_equal(model.vectors, VECTORS)
    assert convert("demo", target, "int8").name == load("demo").name


@pytest.mark.parametrize("options", [{"limit": 2}, {"lowercase": "first"}, {"lowercase": "mean"}])
def test_the_vocabulary_is_cut_as_load_cuts_it(text, target, options):
    model, whole = convert(text, target, **options), load(text, **options)
    assert len(model) < len(WORDS)
    assert list(model.vocab) == list(whole.vocab)
    np.testing.assert_array_equal(model.vectors, whole.vectors)


@pytest.mark.parametrize(
    ("path", "options", "kind", "culprit"),
    [
        ("v.bin", {}, ValueError, "path .*'.safetensors'; got str"),
        ("v.safetensors", {"dtype": "int4"}, ValueError, "dtype"),
        ("v.safetensors", {"keep": lambda word: False}, ValueError, "no words"),
        ("nowhere/v.safetensors", {}, FileNotFoundError, "folder"),
    ],
)
def test_wrong_options_are_named_and_nothing_is_written(
    text, tmp_path, path, options, kind, culprit
):
    with pytest.raises(kind, match=culprit):
        convert(text, tmp_path / path, **options)
    assert [*tmp_path.iterdir()] == [text]


def test_numbers_that_do_not_fit_are_refused_or_left_out_and_the_old_file_stays(target):
    vectors = VECTORS.copy()
    vectors[4, 4] = np.nan
    target.write_bytes(b"old")
    with pytest.raises(ValueError, match="the vector of 'naïve' has NaN or infinity"):
        convert((WORDS, vectors), target)
    assert target.read_bytes() == b"old"
    model = convert((WORDS, vectors), target, on_error="skip")
    assert list(model.vocab) == [word for word in WORDS if word != "naïve"]


def test_memory_does_not_grow_with_the_file(write, target):
    line = b" 0.125" * 200
    path = write(b"".join(b"word%d%b\n" % (number, line) for number in range(60_000)))
    # The file has 72 MB, the vectors 48; the parser takes 24 MB once.
    with at_most(40e6):
        convert(path, target, n_jobs=1)


def test_wefe_convert_says_what_it_wrote_or_what_is_wrong(text, target):
    call = ("convert", text, target)
    done = wefe(*call, "--dtype", "float16", "--limit", 4, "--lowercase")
    size = target.stat().st_size / 1e6
    assert done.stdout == f"{target}: 3 words of 8 dims, float16, {size:,.1f} MB\n"
    assert list(load(target).vocab) == ["she", "he", "new york"]
    text.write_bytes(text.read_bytes() + b"damaged\n")
    assert "line 7" in wefe(*call, expect=2).stderr
    assert "1 damaged words" in wefe(*call, "--skip-damaged").stderr
