"""Text is read as a plain reader would read it: every block, thread and short cut alike."""

import gzip

import numpy as np
import pytest
from model_files import read_all

from wefe import load
from wefe.models._types import Reading
from wefe.models.formats import _text
from wefe.models.formats._source import PackedFile
from wefe.models.formats._text import TextSource

BOM = b"\xef\xbb\xbf"
# A line so long that a header cannot promise more than the file can hold, and enough of them to
# tell the dimensions.
FIRST = [b"first" * 20 + b" 7 8 9", *5 * [b"first 7 8 9"]]
SPELLED = (
    "New York 1 2 3|. . . -0 +2 5.|route 66 -.5 1E-7 -2.5e+3|a 1 2 00.10 1e-400 99999999999999999"
    "|nan 1 2 3|\u00a0 1 2 3|x\u2028y 1 2 3|\x00 1 2 3|a\rb 1.25 2 3|\x85 1 2 3|1 1 2 3|a  b 1 2 1"
)
DAMAGE = (
    b"she 1|she|1 2| 1 2 3|she  1 2 3|she 1  2 3|she 1 2 x|she\t1\t2\t3|she 1\t2 3|she 1 2 3\t"
    b"|\xff 1 2 3|ab\xc3 1 2 3|she 1_0 2 3|she 1 2 3\x00"
    b"|she 1 2 3\x0b|she 1\r 2 3|she 1:2 2 3|she --1 2 3|she 1 2 \xd9\xa3|she 0x1 2 3|she - 2 3"
)
starts = pytest.mark.parametrize("start", [b"", BOM, b"%d 3\n"])


@pytest.fixture(params=[3, 31, 1 << 19])
def opened(request, write, monkeypatch):
    """Write lines after a start, which may promise their number, and read them in small parts."""
    monkeypatch.setattr(_text, "_PARSE_BYTES", request.param)

    def opened(start, lines, end=b"\n", lenient=False, n_jobs=3):
        start = start % len(lines) if b"%" in start else start
        path = write(start + b"".join(line + end for line in lines))
        return TextSource(
            PackedFile(path),
            Reading(on_error="skip" if lenient else "raise", n_jobs=n_jobs, progress=False),
        )

    return opened


@starts
@pytest.mark.parametrize("end", [b"\n", b" \r\n", b"\n \n\n"])
def test_words_and_numbers_of_any_spelling_are_read(opened, start, end):
    lines = [*FIRST, *SPELLED.encode().split(b"|")]
    expected = [line.decode().rsplit(" ", 3) for line in lines]
    vectors = np.array([numbers for _, *numbers in expected], float).astype(np.float32)
    for n_jobs in (1, 3):
        read, rows = read_all(opened(start, lines, end, n_jobs=n_jobs))
        assert read == [word for word, *_ in expected]
        assert np.array(rows).tobytes() == vectors.tobytes()
    asked = frozenset(["a 1 2", "New York", "a  b", "first", "they"])
    read = dict.fromkeys(read_all(opened(start, lines, end), asked)[0])
    assert [*read] == ["first", "New York", "a 1 2", "a  b"]


@starts
@pytest.mark.parametrize("damage", DAMAGE.split(b"|"))
def test_a_damaged_line_is_named_or_left_out(opened, start, damage):
    lines = [*FIRST, damage, b"she 4 5 6"]
    with pytest.raises(ValueError, match=rf"vectors\.any, line {7 + (b'%' in start)}: "):
        read_all(opened(start, lines))
    source = opened(start, lines, lenient=True)
    read, _ = read_all(source)
    assert (read[1:], source.n_skipped) == (["first"] * 5 + ["she"], 1)
    words, (vector,) = read_all(opened(start, lines, lenient=True), {"she"})
    assert (words, [*vector]) == (["she"], [4, 5, 6])


@pytest.mark.parametrize(
    "content",
    [
        b"she 1 2\nhe 3 4",
        b"\nshe 1e0 2E+0\n\n\nhe 3.0 .4e1\n\n",
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
        (b"2 3\nshe 1.0 2.0\nhe 3.0 4.0\n", "line 2: .* 3 numbers.*b'she 1.0 2.0'"),
        (b"she 1 2\n 3 4\nit 5 6\n", "line 2: .*b' 3 4'"),
        (b"she 1 2\nhe 3 nan\nit 5 6\n", "'he' has NaN or infinity"),
        (b"she 1 2\nhe 3 1e39\nit 5 6\n", "'he' has NaN or infinity"),
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
