"""Text is read as a plain reader would read it: every block, thread and short cut alike."""

import functools
import gzip
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from model_files import first_of_each

from wefe import load
from wefe.models.formats import _text
from wefe.models.formats._bytes import PackedFile
from wefe.models.formats._sniff import is_text
from wefe.models.formats._source import Reading
from wefe.models.formats._text import TextSource

NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
BOM = b"\xef\xbb\xbf"


@functools.cache
def line_of(dim):
    return re.compile(rb"(.*[^ ])((?: %s){%d})" % (NUMBER, dim), re.DOTALL)


def plainly(content, dim, first_line=1):
    """Read line by line: words and vectors, and the numbers of damaged lines."""
    words, rows, damaged = [], [], []
    for number, line in enumerate(content.split(b"\n"), start=first_line):
        line = line.rstrip(b" \r")
        if not line.strip():
            continue
        match = line_of(dim).fullmatch(line)
        try:
            if match is None:
                raise ValueError
            word = match[1].decode("utf-8")
            with np.errstate(over="ignore"):
                row = np.array([float(text) for text in match[2].split()]).astype(np.float32)
            if not np.isfinite(row).all():
                raise ValueError
        except ValueError:
            damaged.append(number)
            continue
        words.append(word)
        rows.append(row)
    return words, np.array(rows, np.float32).reshape(-1, dim), damaged


def bits(vectors):
    return np.asarray(vectors, np.float32).view(np.uint32)


def check(model, words, vectors):
    assert list(model.vocab) == words
    assert model.vectors.dtype == np.float32
    np.testing.assert_array_equal(bits(model.vectors), bits(vectors))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """One name for all examples of a property; each writes its own content."""
    return tmp_path_factory.mktemp("text") / "vectors.txt"


def source(path, lenient=False, n_jobs=1):
    return TextSource(PackedFile(path), Reading(lenient=lenient, n_jobs=n_jobs, progress=False))


def read_blocks(opened):
    words, rows = [], [np.empty((0, opened.dim), np.float32)]
    for block_words, vectors in opened.blocks():
        words += block_words
        rows.append(vectors)
    return words, np.concatenate(rows)


# ---- lines of every kind -----------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *("she", "he", "New York", ". . .", "at name@domain.com", "route 66", "a 1 2", "1.5 x"),
        *("naïve", "語", "1", "-0.5", "nan", "inf", "\u00a0", "x\u2028y", ",", '"', "a  b", " a"),
        *("\x00", "\x1c", "a\rb", "\x85", "é" * 30, "_", "1_0", "#", "e"),
    ]
)
NUMBERS = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-10, 10).map("{:.6f}".format),
    st.floats(-10, 10).map("{:.17f}".format),
    st.sampled_from(
        [
            *("0", "-0", "1", "-17", "+2", "5.", ".5", "-.5", "1e5", "1E-7", "-2.5e+3", "00.10"),
            *("1e-400", "0.1234567890123456789", "12345678901234567", "3.4028235e38", "-0.0"),
        ]
    ),
)
ENDS = st.sampled_from(["\n", "\n", " \n", "\r\n", " \r\n", "\n\n", "\n \n", "\n\t\n", "  \n"])
DAMAGE = st.sampled_from(
    [
        *(b"she 1", b"she", b"1 2", b" 1 2 3", b"she  1 2 3", b"she 1  2 3", b"she 1 2 x", b"x"),
        *(b"she\t1\t2\t3", b"she 1\t2 3", b"she 1 2 3\t", b"she 1 2 nan", b"she 1 -inf 3"),
        *(b"she 1 2 1e39", b"\xff 1 2 3", b"ab\xc3 1 2 3", b"she 1_0 2 3", b"she 1 2 3\x00"),
        *(b"she 1 2 3\x0b", b"she 1\r 2 3", b"she 1:2 2 3", b"she --1 2 3", b"she 1,5 2 3"),
        *(b"she 1 2 \xd9\xa3", b"she 0x1 2 3", b"she 1..2 2 3", b"she . 2 3", b"she - 2 3"),
        b"a long word with many spaces but no numbers at all",
    ]
)
DIM = 3


@st.composite
def contents(draw, damage=False, least=1):
    """Draw lines of three dimensions, damaged ones among them if so wished."""
    good = st.builds(
        lambda word, numbers: " ".join([word, *numbers]).encode(),
        WORDS,
        st.lists(NUMBERS, min_size=DIM, max_size=DIM),
    )
    lines = draw(st.lists(good | DAMAGE if damage else good, min_size=least, max_size=12))
    content = b"".join(line + draw(ENDS).encode() for line in lines)
    return content.removesuffix(b"\n") if draw(st.booleans()) else content


# So long that a header cannot promise more than the file can hold.
FIRST = b"first" * 20 + b" 7 8 9\n"


def with_header(content):
    n_lines = sum(1 for line in content.split(b"\n") if line.strip())
    return b"%d %d\n" % (n_lines, DIM) + content


SIZES = st.sampled_from([3, 5, 8, 13, 31, 64, 1 << 19])


@settings(max_examples=120, deadline=None)
@given(content=contents(), size=SIZES, n_jobs=st.sampled_from([1, 2, 5]), bom=st.booleans())
def test_good_files_are_read_as_a_plain_reader_does(path, content, size, n_jobs, bom):
    words, vectors, damaged = plainly(content, DIM)
    assert not damaged
    path.write_bytes(BOM * bom + with_header(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "_PARSE_BYTES", size)
        read, numbers = read_blocks(source(path, n_jobs=n_jobs))
    assert read == words
    np.testing.assert_array_equal(bits(numbers), bits(vectors))


@settings(max_examples=120, deadline=None)
@given(content=contents(damage=True), size=SIZES, n_jobs=st.sampled_from([1, 2, 5]))
def test_the_first_damaged_line_is_named_and_lenient_reading_leaves_out_just_these(
    path, content, size, n_jobs
):
    content = FIRST + content
    words, vectors, damaged = plainly(content, DIM, first_line=2)
    path.write_bytes(with_header(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "_PARSE_BYTES", size)
        if damaged:
            with pytest.raises(ValueError, match=rf"vectors\.txt, line {damaged[0]}: "):
                read_blocks(source(path, n_jobs=n_jobs))
        opened = source(path, lenient=True, n_jobs=n_jobs)
        read, numbers = read_blocks(opened)
    assert read == words
    np.testing.assert_array_equal(bits(numbers), bits(vectors))
    assert opened.n_skipped == len(damaged)


@settings(max_examples=150, deadline=None)
@given(
    content=contents(damage=True),
    size=SIZES,
    asked=st.frozensets(WORDS | st.text(max_size=3), max_size=6),
    header=st.booleans(),
)
@example(
    content=b"she 1 2 3\n          \nhe 4 5 6\n", size=64, asked=frozenset(["he"]), header=True
)
def test_some_words_are_those_of_the_whole_file(path, content, size, asked, header):
    # What is asked for is never the first line, of which there are enough to tell the dimensions.
    content = FIRST + 5 * b"first 7 8 9\n" + content
    words, vectors, damaged = plainly(content, DIM, first_line=1 + header)
    path.write_bytes(with_header(content) if header else content)
    words, vectors = first_of_each(words, vectors)
    rows = [row for row, word in enumerate(words) if word in asked]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "_PARSE_BYTES", size)
        found, numbers = source(path, lenient=True).select(asked)
        assert found == [words[row] for row in rows]
        np.testing.assert_array_equal(bits(numbers), bits(vectors[rows]))
        # Damage is found where words are looked up, or never: the rest is right.
        try:
            strict, numbers = source(path).select(asked)
        except ValueError as error:
            refusal = str(error)
        else:
            assert strict == found
            assert numbers.tobytes() == vectors[rows].tobytes()
            return
    assert int(re.search(r"vectors\.txt, line (\d+): ", refusal)[1]) in damaged


# ---- single facts ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 1 << 19])
@pytest.mark.parametrize(
    "content",
    [
        b"she 1 2\nhe 3 4\n",
        b"she 1 2\nhe 3 4",
        b"she 1 2\r\nhe 3 4\r\n",
        b"she 1 2 \nhe 3 4 \n",
        b"she 1.0 2.0 \r\nhe 3.0 4.0",
        b"\nshe 1e0 2E+0\n\n\nhe 3.0 .4e1\n\n",
        BOM + b"she 1 2\nhe 3 4\n",
        b"2 2\nshe 1 2\nhe 3 4\n",
        b"2 2 \nshe 1 2\nhe 3 4\n",
        b"2\t2\r\nshe 1 2\r\nhe 3 4\r\n",
        BOM + b"2 2\nshe 1 2\nhe 3 4",
        b"she 1.00000000000000000 2\nhe 3 4.00000000000000000000000001\n",
    ],
)
def test_spellings_of_the_same_file(write, monkeypatch, content, size):
    monkeypatch.setattr(_text, "_PARSE_BYTES", size)
    path = write(content)
    check(load(path), ["she", "he"], [[1, 2], [3, 4]])
    check(load(path, words=["he", "they"]), ["he"], [[3, 4]])
    check(load(path, words=["she"]), ["she"], [[1, 2]])
    check(load(write(gzip.compress(content), "v.gz")), ["she", "he"], [[1, 2], [3, 4]])


HEADERS = [
    (b"3 2\nshe 1 2\nhe 3 4\n", "3 words, the file has 2"),
    (b"1 2\nshe 1 2\nhe 3 4\n", "1 words, the file has 2"),
    (b"900000000 300\nshe 1 2\nhe 3 4\n", "900000000 words"),
    (b"2 999999999\nshe 1 2\nhe 3 4\n", "999999999 dims"),
    (b"999999999999999 999999999999999\nshe 1 2\nhe 3 4\n", "99999"),
    (b"0 2\nshe 1 2\n", "0 words"),
    (b"2 0\nshe 1 2\n", "0 dims"),
    (b"2 1\nshe 1 2\nhe\n", "line 3: .*b'he'"),
    (b"2 3\nshe 1.0 2.0\nhe 3.0 4.0\n", "line 2: .* 3 numbers"),
    (b"2 2\nshe 1 2\nhe 3\n", "line 3: .*b'he 3'"),
    (b"2 2\nhe 3\nshe 1 2\n", "line 2: .*b'he 3'"),
]
# A second line of three.
LINES = [
    (b"he 3", "2 numbers"),
    (b" 3 4", "empty"),
    (b"he  3 4", "several"),
    (b"he 3  4", "several"),
    (b"he\t3\t4", "tabs"),
    (b"he 3 4\t", "tabs"),
    (b"he 3 nan", "number 2 of b'he' is nan"),
    (b"he -Infinity 4", "number 1 of b'he' is -Infinity"),
    (b"he 3 1e39", "is 1e39"),
    (b"he 3.0 1e400", "number 2 of b'he' is 1e400"),
    (b"\xff\xfe 3 4", "UTF-8"),
    (b"he 1_0 4", "2 numbers"),
]
OTHERS = [
    (b"he x y\nshe 1 2\nthey 3 4\n", "line 1: .*b'he x y'"),
    (b"she 0x1p3 0.1\nhe 0.2 0.3\n", "line 1: .* 2 numbers"),
    (b"she 0x1p3\nhe 0x1p3\n", "line 1: .* 1 numbers"),
]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        *HEADERS,
        *((b"she 1 2\n" + line + b"\nit 5 6\n", f"line 2: .*{text}") for line, text in LINES),
        *OTHERS,
    ],
    ids=range(26),
)
def test_damage_is_named(write, content, text):
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match=text) as error:
            load(write(content, "it.txt"), n_jobs=n_jobs)
        assert "it.txt" in str(error.value)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 5])
def test_what_is_left_out_is_counted_and_logged(write, monkeypatch, caplog, header, n_jobs):
    monkeypatch.setattr(_text, "_PARSE_BYTES", 32)
    lines = [b"w%d 1.5 2" % number for number in range(100)]
    for number, bad in [(3, b"x 1"), (50, b"\xff 1 2"), (51, b"x 1 nan"), (99, b"w99 1")]:
        lines[number] = bad
    path = write(b"".join([b"100 2\n"] * header + [line + b"\n" for line in lines]))
    model = load(path, on_error="skip", n_jobs=n_jobs)
    assert len(model) == 96
    assert "4 damaged words were left out (on_error='skip')" in caplog.text
    caplog.clear()
    model = load(path, words=["w1", "w98"], on_error="skip")
    check(model, ["w1", "w98"], [[1.5, 2]] * 2)
    assert "4 damaged words were left out" in caplog.text


def test_with_some_words_a_file_that_was_cut_is_noticed(write):
    content = b"".join(b"word%d 0.25 1.75\n" % number for number in range(100))
    whole = load(write(content), words=["word3"])
    for cut in range(len(content) - 17, len(content)):
        path = write(content[:cut])
        try:
            model = load(path, words=["word3"])
        except ValueError as error:
            assert "line 100: " in str(error)  # noqa: PT017
        else:
            # All that can be missing is the end of the last number, or nothing but a line end.
            assert content[:cut].endswith((b"\n", b"1", b"1.", b"1.7", b"1.75"))
            assert model == whole
        path = write(b"100 2\n" + content[: cut - 17])
        with pytest.raises(ValueError, match="promises 100 words|line 100: "):
            load(path, words=["word3"])


def test_what_text_looks_like():
    for head in [
        b"she 1 2\n",
        b"she 1 2",
        BOM + b"she 1 2\n",
        b"x y\nshe 1 2\n",
        b"she 1 2\nx y\n",
        b"\nshe 1 2\n",
        b"she " + b"0.123 " * 2000,
    ]:
        assert is_text(head[:4096]), head[:20]
    for head in [
        *(b"", b"\n", b"she\nhe\n", b"a b\nc d\nshe 1 2\n", b"she 1 x\n", b"\0" * 9, b"x" * 9000),
        *(b"she,1,2\n", b"she\t1\t2\n", b"\0 1" + b" 1" * 9000),
    ]:
        assert not is_text(head[:4096]), head[:20]


def test_a_damaged_first_line_is_named_or_left_out_and_never_read_as_binary(write, caplog):
    check(load(write(b"she x y\nhe 1 2\n"), on_error="skip"), ["he"], [[1, 2]])
    caplog.clear()
    for header in (b"", b"4 2\n"):
        path = write(header + b"she 1 x\nhe 1 2\nit 3 4\nthey 5 6\n")
        with pytest.raises(ValueError, match=f"line {1 + bool(header)}: expected a word and 2"):
            load(path)
        check(load(path, on_error="skip"), ["he", "it", "they"], [[1, 2], [3, 4], [5, 6]])
        assert "1 damaged words were left out" in caplog.text
