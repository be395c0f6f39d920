"""word2vec binary: every byte counts, wherever a block ends, and a cut file is no model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import first_of_each

from wefe import load
from wefe.models.formats import _word2vec
from wefe.models.formats._bytes import PackedFile
from wefe.models.formats._source import Reading
from wefe.models.formats._word2vec import Word2VecBinarySource

NAN, INF = np.float32(np.nan), np.float32(np.inf)


def binary(words, vectors, newline=b"", promised=None):
    vectors = np.asarray(vectors, "<f4").reshape(len(words), -1)
    body = b"".join(
        word + b" " + row.tobytes() + newline for word, row in zip(words, vectors, strict=True)
    )
    n_words = len(words) if promised is None else promised
    return b"%d %d\n" % (n_words, vectors.shape[1]) + body


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("binary") / "vectors.bin"


@pytest.fixture(params=[1, 3, 8, 1 << 20])
def size(request, monkeypatch):
    """Read a few bytes at a time, so that every boundary is met."""
    return small_blocks(monkeypatch, request.param)


def small_blocks(monkeypatch, size):
    monkeypatch.setattr(_word2vec, "READ_BYTES", size)
    if size < 1 << 20:
        monkeypatch.setattr(_word2vec, "MAX_WORD_BYTES", 8)
    return size


def source(path, lenient=False):
    return Word2VecBinarySource(PackedFile(path), Reading(lenient=lenient, progress=False))


def read_blocks(opened):
    words, rows = [], [np.empty((0, opened.dim), np.float32)]
    for block_words, vectors in opened.blocks():
        assert vectors.dtype == np.float32
        words += block_words
        rows.append(vectors)
    return words, np.concatenate(rows)


# Vectors made of what ends words and lines, of digits, and of anything that is finite.
PATTERNS = st.sampled_from([0x20202020, 0x0A0A0A0A, 0x0A20310A, 0x20310A20, 0x31203120, 0, 1 << 31])
FINITE = st.integers(0, 2**32 - 1).filter(lambda bits: bits >> 23 & 255 != 255)
WORDS = st.text(
    st.sampled_from([*"ab15\n\t", "é", "\u2028"]), min_size=1, max_size=2
) | st.sampled_from(["a\nb", "\t", "\r", "5", "語"])


@st.composite
def tables(draw):
    words = draw(st.lists(WORDS, min_size=1, max_size=8))
    # One line end before a word belongs to the vector before it.
    words = [word for word in words if word.removeprefix("\n")] or ["a"]
    dim = draw(st.integers(1, 4))
    numbers = draw(
        st.lists(PATTERNS | FINITE, min_size=len(words) * dim, max_size=len(words) * dim)
    )
    return words, np.array(numbers, np.uint32).reshape(-1, dim).view("<f4")


@settings(max_examples=300, deadline=None)
@given(
    table=tables(),
    newline=st.booleans(),
    size=st.sampled_from([1, 2, 3, 5, 8, 21, 1 << 20]),
    asked=st.frozensets(WORDS, max_size=5),
)
def test_words_and_vectors_of_any_bytes_are_read_wherever_a_block_ends(
    path, table, newline, size, asked
):
    words, vectors = table
    path.write_bytes(binary([word.encode() for word in words], vectors, b"\n" if newline else b""))
    # With line ends behind the vectors, these are taken off and no others.
    expected = words if newline else [word.removeprefix("\n") for word in words]
    expected = [words[0].removeprefix("\n"), *expected[1:]]
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, size)
        read, numbers = read_blocks(source(path))
        assert read == expected
        assert numbers.tobytes() == vectors.tobytes()
        found, numbers = source(path).select(asked)
        once, first = first_of_each(expected, vectors)
        rows = [row for row, word in enumerate(once) if word in asked]
        assert found == [once[row] for row in rows]
        assert numbers.tobytes() == first[rows].tobytes()


@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_of_a_cut_file_whole_words_are_left_and_the_others_counted(write, size, newline):
    words, vectors = [b"she", b"he", b"it", b"they"], np.full((4, 2), 0.1, np.float32)
    content = binary(words, vectors, newline)
    ends = [len(binary(words[:n], vectors[:n], newline)) - len(newline) for n in range(1, 5)]
    for cut in range(4, len(content) + 1):
        opened = source(write(content[:cut]), lenient=True)
        read, numbers = read_blocks(opened)
        n_whole = sum(cut >= end for end in ends)
        assert read == [word.decode() for word in words[:n_whole]]
        assert numbers.tobytes() == vectors[:n_whole].tobytes()
        assert opened.n_skipped == 4 - n_whole


HE = np.full((2, 2), 0.1)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"5 6", "header .*b'5 6'"),
        (b"2 2\n", "2 words of 2 dims.* 24 bytes.* 4"),
        (b"900000000 300\nshe \0\0", "900000000 words"),
        (b"2 900000000\nshe \0\0", "900000000 dims"),
        (binary([b"she", b"he"], HE, promised=1), "more after byte 16"),
        (binary([b"she"], [[1, 2]]) + b"x", "more after byte 16"),
        (binary([b"", b"he"], HE), "word 1: .*empty"),
        (binary([b"he", b"\n"], HE), "word 2: .*empty"),
        (binary([b"he", b"\xff\xfe"], HE), "word 2: .*UTF-8"),
        (binary([b"he", b"she"], [[1, 2], [3, NAN]]), "word 2: .*'she'"),
        (binary([b"he", b"she"], [[1, -INF], [3, 4]]), "word 1: .*'he'"),
        (binary([b"he", b"x" * 5000], HE), "byte 15: expected word 2 of 2"),
        (b"2 2\n\n" + b"x" * 9000, "byte 4: expected word 1 of 2"),
        (b"2 2\n\n" + b"x" * 50, "word 1 of 2, after byte 4"),
    ],
    ids=range(14),
)
def test_damage_is_named(write, content, text):
    with pytest.raises(ValueError, match=rf"vectors\.any.*{text}"):
        load(write(content))


def test_the_number_of_a_damaged_word_is_right_in_later_blocks(write, size):
    words = [b"w%d" % number for number in range(200)]
    vectors = np.full((200, 3), 0.1)
    vectors[150, 1] = np.inf
    words[20] = b"\xff"
    path = write(binary(words, vectors))
    with pytest.raises(ValueError, match="word 21: "):
        load(path)
    with pytest.raises(ValueError, match="word 151: the vector of 'w150' is not finite"):
        load(path, words=["w150"])
    assert list(load(path, words=["w149", "w199"]).vocab) == ["w149", "w199"]
    model = load(path, on_error="skip")
    assert list(model.vocab) == [f"w{number}" for number in range(200) if number not in (20, 150)]


def test_of_a_repeated_word_the_first_finite_vector_stays(write, caplog, size):
    path = write(binary([b"a", b"b", b"a", b"b"], [[1], [2], [3], [4]]))
    model = load(path)
    assert (list(model.vocab), model.vectors.ravel().tolist()) == (["a", "b"], [1, 2])
    assert "has 2 words twice" in caplog.text
    assert load(path, words=["b"])["b"] == 2
    path = write(binary([b"a", b"b", b"a", b"b"], [[NAN], [2], [3], [4]]))
    for words in (None, ["a", "b"]):
        model = load(path, words=words, on_error="skip")
        assert (model["a"], model["b"]) == (3, 2)


@pytest.mark.parametrize("asked", ["\nshe", "", "\n", "\ud800", "a b", "she\n"])
def test_words_that_cannot_be_there_are_not_found(write, asked):
    for newline in (b"", b"\n"):
        path = write(binary([b"she", b"he"], [[1, 2], [3, 4]], newline))
        model = load(path, words=[asked, "he"])
        assert list(model.vocab) == ["he"]
        assert asked not in model
    # Halves of surrogate pairs, as CESU-8 has them, are no UTF-8.
    path = write(binary([b"\xed\xa0\x80", b"he"], [[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match="word 1: .* is not UTF-8"):
        load(path, words=["\ud800"])
