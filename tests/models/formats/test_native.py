"""The native format gives back what was written, opens without reading, and believes no byte."""

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Mapping

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import load
from wefe.models.formats import _native
from wefe.models.formats._native import FileVocabulary, write_native

WORDS = ["she", "he", "New York", "naïve", "語", "", "a\nb", "\x00", "🙂", ". . ."]
RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(len(WORDS), 5)).astype(np.float32)
DTYPES = ["float32", "float16", "int8"]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.safetensors"


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory):
    return tmp_path_factory.mktemp("native") / "vectors.safetensors"


def write(path, words=WORDS, vectors=VECTORS, dtype="float32", block=3, **options):
    vectors = np.asarray(vectors)
    blocks = [
        (list(words[start : start + block]), vectors[start : start + block])
        for start in range(0, len(words), block)
    ]
    return write_native(
        path, blocks, None, vectors.shape[1], dtype=dtype, progress=False, **options
    )


def check_close(read, vectors, dtype):
    """Check the bounds that the documentation promises."""
    read, vectors = np.asarray(read, np.float64), np.asarray(vectors, np.float64)
    if dtype == "float32":
        np.testing.assert_array_equal(read, vectors)
    elif dtype == "float16":
        assert (np.abs(read - vectors) <= np.maximum(2.0**-11 * np.abs(vectors), 2.0**-25)).all()
    else:
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        # Half of the scale, which is itself rounded to float32.
        bound = largest / 127 / 2 * (1 + 1e-5) + 2.0**-149
        assert (np.abs(read - vectors) <= bound).all()


# ---- round trips -------------------------------------------------------------------------------

TEXTS = st.text(max_size=4) | st.sampled_from(["a", "b", "\n", "a\n", "\na", "", "\r", "é", "\x00"])
NUMBERS = st.floats(-1000, 1000, width=32) | st.sampled_from(
    [0.0, -0.0, 1.0, 127.0, 1e-45, -1e-40, 3e-38, 1e-30]
)


@settings(max_examples=80, deadline=None)
@given(
    words=st.lists(TEXTS, min_size=1, max_size=12),
    dim=st.integers(1, 3),
    dtype=st.sampled_from(DTYPES),
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
    first = {word: row for row, word in reversed(list(enumerate(words)))}
    kept = sorted(first.values())
    expected = [words[row] for row in kept]
    whole = _native._hash
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "_hash", lambda word: whole(word) & ((1 << hash_bits) - 1))
        assert write(shared_path, words, vectors, dtype, block) == len(expected)
        # Nothing of the rows that are gone is left.
        once = shared_path.with_name("once.safetensors")
        write(once, expected, vectors[kept], dtype)
        assert shared_path.read_bytes() == once.read_bytes()
        for hold in (None, "memory"):
            model = load(shared_path, hold=hold)
            assert list(model.vocab) == expected
            assert dict(model.vocab) == {word: row for row, word in enumerate(expected)}
            assert [model.vocab[word] for word in expected] == list(range(len(expected)))
            for absent in ("x" * 9, "\ud800", words[0] + "\n\n\n"):
                assert absent not in model.vocab
            check_close(model.get_vectors(expected), vectors[kept], dtype)
            check_close(model.vectors, vectors[kept], dtype)
            if dtype != "int8":
                # The sign of zero, too.
                stored = vectors[kept].astype(model.dtype)
                assert np.asarray(model.vectors).tobytes() == stored.tobytes()


@every_dtype
def test_a_file_says_how_it_is_held(path, dtype):
    assert write(path, dtype=dtype, name="mine") == len(WORDS)
    mapped, memory = load(path, hold="mapped"), load(path, hold="memory")
    assert (mapped.held, memory.held, load(path, limit=3).held) == ("mapped", "memory", "memory")
    assert (mapped.name, len(mapped), mapped.dim) == ("mine", len(WORDS), 5)
    width = {"float32": 20, "float16": 10, "int8": 5 + 4}[dtype]
    assert mapped.nbytes == width * len(WORDS)
    assert mapped == memory == load(path, words=["he"])
    with pytest.raises(ValueError, match="another vocabulary"):
        load(path, limit=3, hold="mapped")


@every_dtype
def test_the_library_of_safetensors_reads_it(path, dtype):
    safetensors = pytest.importorskip("safetensors")
    numpy_of = pytest.importorskip("safetensors.numpy")
    write(path, dtype=dtype)
    tensors = numpy_of.load_file(path)
    assert tensors["embeddings"].shape == VECTORS.shape
    vectors = tensors["embeddings"].astype(np.float32)
    if dtype == "int8":
        vectors *= tensors["scale"][:, None]
    np.testing.assert_array_equal(vectors, load(path).vectors)
    assert bytes(tensors["vocabulary"]).decode() == "\n".join(WORDS)
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata()["format"] == "wefe"


def test_a_matrix_and_a_vocabulary_alone_are_enough(path):
    numpy_of = pytest.importorskip("safetensors.numpy")
    words = ["she", "he", "naïve"]
    letters = np.frombuffer("\n".join(words).encode(), np.uint8)
    for dtype in (np.float16, np.float32, np.float64):
        tensors = {"embeddings": VECTORS[:3].astype(dtype), "vocabulary": letters}
        numpy_of.save_file(tensors, path)
        model = load(path)
        assert (model.held, model.dtype) == ("mapped", dtype)
        assert list(model.vocab) == words
        np.testing.assert_array_equal(model.vectors, VECTORS[:3].astype(dtype))


# ---- what cannot be written --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "vectors", "dtype", "text"),
    [
        ([], np.empty((0, 3)), "float32", "no words"),
        (["she", "he"], [[1, 2], [3, 70000]], "float16", "'he' .* float16"),
        (["she", "he"], [[1, 2], [3, np.nan]], "int8", "'he' .* float32"),
        (["she", "he"], [[1, np.inf], [3, 4]], "float32", "'she' .* float32"),
        (["she", "he"], [[1, 2], [3, 1e39]], "int8", "'he' .* float32"),
        (["she", "\ud800"], [[1, 2], [3, 4]], "float32", r"'\\ud800' .* UTF-8"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_does_not_fit_is_refused_and_the_old_file_stays(path, words, vectors, dtype, text):
    for old in (None, b"old"):
        if old is not None:
            path.write_bytes(old)
        with pytest.raises(ValueError, match=text):
            write(path, words, np.array(vectors, dtype=np.float64), dtype)
        assert (path.read_bytes() if path.exists() else None) == old
        assert len(list(path.parent.iterdir())) == (old is not None)


def test_a_name_is_kept_or_refused(path):
    for name in ("", "x" * 3000, 'naïve 語 " \\ \n', "\udce9"):
        write(path, name=name)
        readable = name.encode("utf-8", "replace").decode()
        assert load(path).name == (readable or "vectors")
    path.unlink()
    with pytest.raises(ValueError, match="the name 'xxx.* is too long"):
        write(path, name="x" * 5000)
    assert not path.exists()


# ---- mapped ------------------------------------------------------------------------------------


def sparse(path, dtype="F32", n_words=4_000_000, dim=500):
    """Write the header of a huge file, and leave the rest to the file system."""
    sizes = {
        "embeddings": (dtype, [n_words, dim], n_words * dim * {"F32": 4, "I8": 1}[dtype]),
        "vocabulary": ("U8", [10 * n_words - 1], 10 * n_words - 1),
        "vocabulary.starts": ("U64", [n_words + 1], 8 * n_words + 8),
        "vocabulary.hashes": ("U64", [n_words], 8 * n_words),
        "vocabulary.rows": ("U32", [n_words], 4 * n_words),
    }
    header, offset = {}, 0
    for name, (kind, shape, size) in sizes.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)


def test_opening_a_huge_file_reads_nothing_of_it(path):
    sparse(path)
    assert path.stat().st_size > 8e9
    # In a process of its own, where nothing else takes memory.
    script = """
import resource, sys
from wefe import load
load("demo")
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = used()
model = load(sys.argv[1])
assert len(model) == 4_000_000 and model.held == "mapped"
assert model.nbytes == 8_000_000_000
assert "she" not in model
assert used() - before < 30
"""
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)


# ---- damage ------------------------------------------------------------------------------------


def use(path):
    """Open a file and read all of it, as far as it goes; a ValueError must name the file."""
    try:
        model = load(path)
        words = list(model.vocab)
        assert len(words) == len(model.vocab) == len(model)
        for word in words:
            model.vocab.get(word)
        dict(model.vocab.items())
        np.asarray(model.vectors)
        model.get_vectors([word for word in words if word in model.vocab])
        load(path, hold="memory")
    except ValueError as error:
        refusal = error
    else:
        return model
    assert not isinstance(refusal, UnicodeDecodeError)
    assert str(path) in str(refusal), refusal
    return None


def fields_of(content):
    return json.loads(content[8:4096])


ODD = [None, True, -1, 0, 1, 2**31, 2**63, 2**64, 1e300, "x", "", [], {}, [0], [0, 1], [1, 0]]


def test_every_field_of_the_header_is_checked(path):
    write(path, dtype="int8")
    content = path.read_bytes()
    n_refused = 0
    for name in fields_of(content):
        for field in (None, "dtype", "shape", "data_offsets"):
            for value in [*ODD, "F16", "F32", "U8", "I8", "U64", "BF16", "F4", [10, 5], [5, 10]]:
                header = fields_of(content)
                if field is None:
                    header[name] = value
                else:
                    header[name][field] = value
                if header == fields_of(content):
                    continue
                text = json.dumps(header).encode().ljust(4088)
                path.write_bytes(content[:8] + text + content[4096:])
                n_refused += use(path) is None
        header = fields_of(content)
        del header[name]
        path.write_bytes(content[:8] + json.dumps(header).encode().ljust(4088) + content[4096:])
        use(path)
    assert n_refused > 400


def test_an_index_that_points_elsewhere_and_words_that_are_none_are_refused(path):
    write(path)
    header = fields_of(path.read_bytes())
    other = path.with_name("other.safetensors")
    for part, read in (
        ("vocabulary.starts", lambda vocabulary: "she" in vocabulary),
        ("vocabulary.rows", lambda vocabulary: "she" in vocabulary),
        ("vocabulary", list),
    ):
        content = bytearray(path.read_bytes())
        start, end = (4096 + offset for offset in header[part]["data_offsets"])
        content[start:end] = b"\xff" * (end - start)
        other.write_bytes(content)
        with pytest.raises(ValueError, match=r"other\.safetensors is damaged: its"):
            read(load(other).vocab)


# ---- the vocabulary ----------------------------------------------------------------------------


@pytest.fixture
def vocabulary(path):
    write(path)
    return load(path).vocab


def test_the_vocabulary_is_a_mapping(vocabulary):
    expected = {word: row for row, word in enumerate(WORDS)}
    assert isinstance(vocabulary, FileVocabulary)
    assert isinstance(vocabulary, Mapping)
    assert vocabulary == expected
    assert vocabulary != {**expected, "x": 3}
    assert vocabulary != {**expected, "she": 3}
    for view in ("keys", "items", "values"):
        assert list(getattr(vocabulary, view)()) == list(getattr(expected, view)())
        assert len(getattr(vocabulary, view)()) == len(WORDS)
    assert ("he", 1) in vocabulary.items()
    assert ("he", 2) not in vocabulary.items()
    assert vocabulary.keys() & {"he", "x"} == {"he"}
    assert [vocabulary[word] for word in WORDS] == list(range(len(WORDS)))
    assert (vocabulary.get("x"), vocabulary.get("x", 7), vocabulary.get("he")) == (None, 7, 1)
    for absent in ("x", "she\n", "She", "\ud800", "a", "b", "York", "New"):
        assert absent not in vocabulary
        with pytest.raises(KeyError):
            vocabulary[absent]
    for value in (3, None, b"she", ["she"], ("she",)):
        assert value not in vocabulary
    assert (5 in vocabulary.values(), 50 in vocabulary.values()) == (True, False)


def test_the_vocabulary_can_be_sent_to_other_processes(vocabulary, path):
    for copied in (
        pickle.loads(pickle.dumps(vocabulary)),
        copy.deepcopy(vocabulary),
        copy.copy(vocabulary),
    ):
        assert copied == vocabulary
        assert copied["語"] == 4
    rows = joblib.Parallel(n_jobs=2)(joblib.delayed(vocabulary.__getitem__)(word) for word in WORDS)
    assert rows == list(range(len(WORDS)))
    for dtype in DTYPES:
        write(path, dtype=dtype)
        model = load(path)
        assert pickle.loads(pickle.dumps(model)) == model
        assert copy.deepcopy(model) == model
