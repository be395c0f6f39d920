"""word2vec binary: every byte counts, wherever a block ends, and a cut file is no model."""

import numpy as np
import pytest
from model_files import read_all

from wefe import load
from wefe.models._types import Reading
from wefe.models.formats import _word2vec
from wefe.models.formats._source import PackedFile
from wefe.models.formats._word2vec import BinarySource

NAN = np.nan


def binary(words, vectors, newline=b"", promised=None):
    vectors = np.asarray(vectors, "<f4").reshape(len(words), -1)
    body = b"".join(
        word + b" " + row.tobytes() + newline for word, row in zip(words, vectors, strict=True)
    )
    return b"%d %d\n" % (promised or len(words), vectors.shape[1]) + body


def source(path, lenient=False):
    return BinarySource(
        PackedFile(path), Reading(on_error="skip" if lenient else "raise", progress=False)
    )


HE = np.full((2, 2), 0.1)
MANY = [b"w%d" % number for number in range(200)]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"5 6", "header .*b'5 6'"),
        (b"900000000 300\nshe \0\0", "900000000 words"),
        (binary([b"she", b"he"], HE, promised=1), "more after byte 16"),
        # Halves of surrogate pairs, as CESU-8 has them, are no UTF-8.
        (binary([b"\xed\xa0\x80", b"he"], HE), "word 1: .*UTF-8"),
        (binary([b"he", b"she"], [[1, -np.inf], [3, 4]]), "'he' has NaN"),
        (binary(MANY, [*range(150), NAN, *range(49)]), "'w150' has NaN"),
        (binary([b"he", b"x" * 5000], HE), "byte 15: expected word 2 of 2"),
    ],
)
def test_damage_is_named(write, monkeypatch, content, text):
    monkeypatch.setattr(_word2vec, "READ_BYTES", 100)
    with pytest.raises(ValueError, match=rf"vectors\.any.*{text}"):
        load(write(content))


def test_of_a_repeated_word_the_first_finite_vector_stays(write, caplog):
    model = load(write(binary([b"a", b"b", b"a", b"b"], [1, 2, 3, 4])))
    assert (list(model.vocab), model.vectors.ravel().tolist()) == (["a", "b"], [1, 2])
    assert "has 2 words twice" in caplog.text
    path = write(binary([b"a", b"b", b"a", b"b"], [NAN, 2, 3, 4]))
    for words in (None, ["a", "b"]):
        model = load(path, words=words, on_error="skip")
        assert (model["a"], model["b"]) == (3, 2)
    # Of a file that is cut, whole words are left and the others counted.
    opened = source(write(binary([b"she", b"he", b"it"], [1, 2, 3])[:-3]), lenient=True)
    assert (read_all(opened)[0], opened.n_skipped) == (["she", "he"], 1)
