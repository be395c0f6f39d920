"""The first bytes of a file tell text from binary, also at the edges."""

import numpy as np
import pytest

from wefe.models.formats._registry import HEAD_BYTES, is_spaced, is_text, is_word2vec_binary

ONES = np.ones(2, "<f4").tobytes()


@pytest.mark.parametrize(
    ("head", "text", "spaced"),
    [
        (b"a 1\nb 2\n", True, True),
        (b"a b 1\nc d 2\n", True, False),
        (b"2 2\nna\xefve 1 2\nhe 3 4\n", True, True),
        (b"2 2\nshe " + ONES + b"he " + ONES, False, True),
        # A line end before a word is binary, whatever follows.
        (b"2 2\n\nshe " + ONES + b"\nhe 1 2\nit 3 4\n", False, True),
        # A long line is cut within a number.
        ((b"ab" + b" -1" * HEAD_BYTES)[:HEAD_BYTES], True, True),
    ],
)
def test_text_is_told_from_binary(head, text, spaced):
    assert (is_text(head), is_spaced(head)) == (text, spaced)
    assert is_word2vec_binary(head) == (not text)
