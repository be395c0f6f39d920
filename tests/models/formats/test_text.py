"""Text is read as a plain reader would read it: every block, thread and short cut alike."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from model_files import first_of_each, read_all

from wefe import load
from wefe.models.formats import _text
from wefe.models.formats._bytes import PackedFile
from wefe.models.formats._source import Reading
from wefe.models.formats._text import TextSource

BOM = b"\xef\xbb\xbf"
DIM = 3
LINE = re.compile(rb"(.*[^ ])((?: [-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?){3})", re.DOTALL)


def plainly(content, first_line):
    """Read line by line: words and vectors, and the numbers of damaged lines."""
    words, rows, damaged = [], [], []
    for number, line in enumerate(content.split(b"\n"), start=first_line):
        try:
            if line.strip():
                word, numbers = LINE.fullmatch(line.rstrip(b" \r")).groups()
                with np.errstate(over="ignore"):
                    row = np.array(numbers.split(), dtype=float).astype(np.float32)
                if not np.isfinite(row).all():
                    raise ValueError
                words.append(word.decode())
                rows.append(row)
        except (ValueError, AttributeError):
            damaged.append(number)
    return words, np.array(rows, np.float32).reshape(-1, DIM), damaged


WORDS = st.sampled_from(["she", "New York", ". . .", "route 66", "a 1 2", "naïve", "1", "a  b"])
WORDS |= st.sampled_from(["nan", "\u00a0", "x\u2028y", "\x00", "\x1c", "a\rb", "\x85", "é" * 30])
NUMBERS = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-10, 10).map("{:.17f}".format),
    st.sampled_from(["-0", "+2", "5.", "-.5", "1E-7", "-2.5e+3", "00.10", "1e-400", "9" * 17]),
)
ENDS = st.sampled_from([b"\n", b" \n", b"\r\n", b" \r\n", b"\n\n", b"\n \n", b"\n\t\n"])
DAMAGE = (
    b"she 1|she|1 2| 1 2 3|she  1 2 3|she 1  2 3|she 1 2 x|she\t1\t2\t3|she 1\t2 3|she 1 2 3\t"
    b"|she 1 2 nan|she 1 -inf 3|she 1 2 1e39|\xff 1 2 3|ab\xc3 1 2 3|she 1_0 2 3|she 1 2 3\x00"
    b"|she 1 2 3\x0b|she 1\r 2 3|she 1:2 2 3|she --1 2 3|she 1 2 \xd9\xa3|she 0x1 2 3|she - 2 3"
)
GOOD = st.builds(
    lambda word, numbers: " ".join([word, *numbers]).encode(),
    WORDS,
    st.lists(NUMBERS, min_size=DIM, max_size=DIM),
)
# A line so long that a header cannot promise more than the file can hold, and enough of them to
# tell the dimensions. It is never asked for.
FIRST = b"first" * 20 + b" 7 8 9\n" + 5 * b"first 7 8 9\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """One name for all examples of a property; each writes its own content."""
    return tmp_path_factory.mktemp("text") / "vectors.txt"


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(
        st.tuples(GOOD | st.sampled_from(DAMAGE.split(b"|")), ENDS).map(b"".join),
        min_size=1,
        max_size=12,
    ),
    size=st.sampled_from([3, 8, 31, 1 << 19]),
    n_jobs=st.sampled_from([1, 3]),
    asked=st.frozensets(WORDS | st.text(max_size=3), max_size=6),
    start=st.sampled_from([b"", BOM, b"%d 3\n"]),
)
@example([b"she 1 2\n          \nhe 4 5 6\n"], 64, 1, frozenset(["he"]), b"%d 3\n")
def test_text_is_read_as_a_plain_reader_does(path, lines, size, n_jobs, asked, start):
    content = FIRST + b"".join(lines)
    header = start.endswith(b"\n")
    if header:
        start %= sum(1 for line in content.split(b"\n") if line.strip())
    words, vectors, damaged = plainly(content, 1 + header)
    path.write_bytes(start + content)

    def opened(lenient):
        return TextSource(PackedFile(path), Reading(lenient, n_jobs=n_jobs, progress=False))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "_PARSE_BYTES", size)
        source = opened(lenient=True)
        read, rows = read_all(source)
        assert (read, source.n_skipped) == (words, len(damaged))
        assert np.array(rows).tobytes() == vectors.tobytes()
        if damaged:
            with pytest.raises(ValueError, match=rf"vectors\.txt, line {damaged[0]}: "):
                read_all(opened(lenient=False))
        words, vectors = first_of_each(words, vectors)
        rows = [row for row, word in enumerate(words) if word in asked]
        # Damage is found where words are looked up, or never: the rest is right.
        for lenient in (True, False):
            try:
                found, numbers = opened(lenient).select(asked)
            except ValueError as error:
                refused = re.search(r"vectors\.txt, line (\d+): ", str(error))
                assert not lenient
                assert int(refused[1]) in damaged
            else:
                assert found == [words[row] for row in rows]
                assert numbers.tobytes() == vectors[rows].tobytes()


@pytest.mark.parametrize(
    "content",
    [
        b"she 1 2\nhe 3 4",
        b"\nshe 1e0 2E+0\n\n\nhe 3.0 .4e1\n\n",
        b"2 2 \nshe 1 2\nhe 3 4\n",
        BOM + b"2 2\nshe 1 2\nhe 3 4",
        b"she 1.00000000000000000 2\nhe 3 4.00000000000000000000000001\n",
    ],
)
def test_spellings_of_the_same_file(write, content):
    for path in (write(content), write(gzip.compress(content), "v.gz")):
        model = load(path)
        assert (list(model.vocab), model.vectors.tolist()) == (["she", "he"], [[1, 2], [3, 4]])
    assert list(load(path, words=["he", "they"]).vocab) == ["he"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"3 2\nshe 1 2\nhe 3 4\n", "3 words, the file has 2"),
        (b"900000000 300\nshe 1 2\nhe 3 4\n", "900000000 words"),
        (b"0 2\nshe 1 2\n", "0 words"),
        (b"2 3\nshe 1.0 2.0\nhe 3.0 4.0\n", "line 2: .* 3 numbers"),
        (b"she 1 2\n 3 4\nit 5 6\n", "line 2: .*empty"),
        (b"she 1 2\nhe\t3\t4\nit 5 6\n", "line 2: .*tabs"),
        (b"she 1 2\nhe 3 nan\nit 5 6\n", "number 2 of b'he' is nan"),
        (b"she 1 2\n\xff\xfe 3 4\nit 5 6\n", "line 2: .*UTF-8"),
        (b"4 2\nshe 1 x\nhe 1 2\nit 3 4\nthey 5 6\n", "line 2: expected a word and 2"),
    ],
)
def test_damage_is_named(write, content, text):
    with pytest.raises(ValueError, match=rf"it\.txt.*{text}"):
        load(write(content, "it.txt"))


@pytest.mark.parametrize("n_bytes", [2, 5, 10, 15])
def test_with_some_words_a_file_that_was_cut_is_noticed(write, n_bytes):
    content = b"".join(b"word%d 0.25 1.75\n" % number for number in range(100))[:-n_bytes]
    # All that can be missing is the end of the last number.
    if n_bytes == 2:
        assert "word3" in load(write(content), words=["word3"])
    else:
        with pytest.raises(ValueError, match="line 100: "):
            load(write(content), words=["word3"])
    with pytest.raises(ValueError, match="promises 101 words|line 101: "):
        load(write(b"101 2\n" + content), words=["word3"])
