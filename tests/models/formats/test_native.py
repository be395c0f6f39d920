"""The native format gives back what was written, opens without reading, and believes no byte."""

import pickle
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import at_most
from safetensors import safe_open
from safetensors.numpy import load_file

from wefe import load
from wefe._evaluation import in_memory
from wefe.models.formats import _native
from wefe.models.formats._native import write_native
from wefe.models.formats._write import Writing

WORDS = ["she", "he", "New York", "naïve", "語", "", "a\nb", "\x00", "🙂", ". . ."]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)
WIDTHS = {"float32": 20, "float16": 10, "int8": 5 + 4}


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory):
    return tmp_path_factory.mktemp("native") / "vectors.safetensors"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.safetensors"


def write(path, words=WORDS, vectors=VECTORS, dtype="float32", block=3, name=""):
    parts = [slice(start, start + block) for start in range(0, len(words), block)]
    blocks = [(words[part], np.asarray(vectors)[part]) for part in parts]
    dim = np.shape(vectors)[1]
    write_native(path, Writing(blocks, None, dim, "native", dtype, name, False))


def check_close(read, vectors, dtype):
    """Check the bounds that the documentation promises."""
    error, vectors = np.abs(np.asarray(read, float) - vectors), np.asarray(vectors, float)
    # Half of the scale, which is itself rounded to float32.
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 127 / 2
    bounds = {
        "float32": 0,
        "float16": np.maximum(2.0**-11 * np.abs(vectors), 2.0**-25),
        "int8": scale * (1 + 1e-5) + 2.0**-149,
    }
    assert (error <= bounds[dtype]).all()


TEXTS = st.text(max_size=4) | st.sampled_from(["a", "b", "\n", "a\n", "\na", "", "\r", "\x00"])
NUMBERS = st.floats(2.0**-60, 1000, width=32) | st.sampled_from([0.0, -0.0, -127.0, -0.3])


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(TEXTS.filter(str.isprintable) | TEXTS, min_size=1, max_size=12),
    dim=st.integers(1, 3),
    dtype=st.sampled_from([*WIDTHS]),
    hash_bits=st.sampled_from([0, 1, 2, 64]),
    block=st.integers(1, 5),
    data=st.data(),
)
def test_what_was_written_is_read_whatever_the_words_and_their_hashes(
    shared_path, words, dim, dtype, hash_bits, block, data
):
    words = [word.encode("utf-8", "ignore").decode() for word in words]
    numbers = data.draw(st.lists(NUMBERS, min_size=len(words) * dim, max_size=len(words) * dim))
    vectors = np.array(numbers, np.float32).reshape(-1, dim)
    if dtype == "float16":
        vectors = vectors.clip(-1000, 1000)
    expected = list(dict.fromkeys(words))
    kept = vectors[[words.index(word) for word in expected]]
    whole = _native._hash
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "_hash", lambda word: whole(word) & ((1 << hash_bits) - 1))
        write(shared_path, words, vectors, dtype, block)
        # Nothing of the rows that are gone is left.
        once = shared_path.with_name("once.safetensors")
        write(once, expected, kept, dtype)
        assert shared_path.read_bytes() == once.read_bytes()
        for hold in ("mapped", "memory"):
            model = load(shared_path, hold=hold)
            assert model.vocab == {word: row for row, word in enumerate(expected)}
            assert [model.vocab[word] for word in expected] == list(range(len(expected)))
            for absent in ("x" * 9, "\ud800", words[0] + "\n\n\n"):
                assert absent not in model.vocab
            check_close(model.get_vectors(expected), kept, dtype)
            if dtype != "int8":
                # The sign of zero, too.
                assert np.array(model.vectors).tobytes() == kept.astype(model.dtype).tobytes()


@pytest.mark.parametrize("dtype", WIDTHS)
def test_a_file_says_how_it_is_held_and_the_library_of_safetensors_reads_it(path, dtype):
    write(path, dtype=dtype, name="m\udce9")
    mapped = load(path, hold="mapped")
    assert (mapped.held, mapped.name, mapped.dim) == ("mapped", "m?", 5)
    assert mapped.nbytes == WIDTHS[dtype] * len(WORDS)
    with pytest.raises(ValueError, match="another vocabulary"):
        load(path, limit=3, hold="mapped")
    tensors = load_file(path)
    vectors = tensors["embeddings"].astype(np.float32)
    if dtype == "int8":
        vectors *= tensors["scale"][:, None]
    np.testing.assert_array_equal(vectors, mapped.vectors)
    assert bytes(tensors["vocabulary"]).decode() == "\n".join(WORDS)
    with safe_open(path, "np") as file:
        assert file.metadata()["format"] == "wefe"
    # Another process opens it again.
    sent = pickle.loads(pickle.dumps(mapped))
    assert sent == mapped
    assert sent.vocab["語"] == 4


def test_a_worker_opens_the_file_again_if_it_is_the_same(path):
    write(path)
    sent = pickle.dumps(in_memory(load(path)))
    assert pickle.loads(sent).held == "mapped"
    write(path, vectors=2 * VECTORS)
    with pytest.raises(ValueError, match=r"vectors\.safetensors changed while it was open"):
        pickle.loads(sent)


def test_what_does_not_fit_is_refused(path):
    for dtype, number, text in (("float16", 70000, "float16"), ("int8", 1e39, "float32")):
        with pytest.raises(ValueError, match=f"'he' .* {text}"):
            write(path, ["she", "he"], [[1, 2], [3, number]], dtype)
    with pytest.raises(ValueError, match=r"ud800.*UTF-8"):
        write(path, ["\ud800"], VECTORS)
    assert not [*path.parent.iterdir()]


def test_a_name_may_be_as_long_as_there_is_room_in_the_header(path):
    write(path)
    size, header = int.from_bytes(path.read_bytes()[:8], "little"), path.read_bytes()[8:]
    longest = "x" * (size - len(header[:size].rstrip()))
    write(path, name=longest)
    assert load(path).name == longest
    with pytest.raises(ValueError, match="the name 'xxx.* is too long"):
        write(path, name=longest + "x")


def test_opening_a_large_file_reads_nothing_of_it(path):
    words = [f"word{row}" for row in range(20_000)]
    write(path, words, np.ones((20_000, 100), np.float32), block=1000)
    with at_most(200_000):
        model = load(path)
        assert (len(model), model.held, model.nbytes) == (20_000, "mapped", 8_000_000)
    # To find a word, the hashes of all are read.
    with at_most(8 * len(words) + 200_000):
        assert "she" not in model


def test_the_vocabulary_is_a_mapping(path):
    write(path)
    vocabulary = load(path).vocab
    expected = {word: row for row, word in enumerate(WORDS)}
    assert isinstance(vocabulary, Mapping)
    assert vocabulary != {**expected, "she": 3}
    for view in ("keys", "items", "values"):
        assert list(getattr(vocabulary, view)()) == list(getattr(expected, view)())
    assert (("he", 1) in vocabulary.items(), ("he", 2) in vocabulary.items()) == (True, False)
    for absent in ("x", "she\n", "She", "\ud800", "York", 3, None, b"she", ("she",)):
        assert absent not in vocabulary
        with pytest.raises(KeyError):
            vocabulary[absent]
