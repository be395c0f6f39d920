"""Hashes of vectors: they change with what a result is computed from, and with nothing else."""

import numpy as np

from wefe import WordEmbeddingModel
from wefe.models._fingerprints import fingerprint

WORDS = ["she", "he", "nurse"]


def hashed(words=WORDS, change=0.0, dtype=np.float32, of=None):
    vectors = np.arange(9, dtype=dtype).reshape(3, 3)
    vectors[2, 2] += change
    return fingerprint(WordEmbeddingModel((list(words), vectors), "m"), of)


def test_all_words_and_some_words_have_a_hash_of_their_own():
    some, other = {"she", "absent"}, {"he", "nurse"}
    for of in (None, some, other):
        assert hashed(of=of) == hashed(of=of)
        assert (hashed(change=1.0, of=of) == hashed(of=of)) is (of is some)
        assert hashed(dtype=np.float64, of=of) != hashed(of=of)
    every = [hashed(), hashed(["She", *WORDS[1:]]), hashed(of=some), hashed(of=other)]
    assert len({*every, hashed([*WORDS[:2], "Nurse"])}) == 5
    assert {(type(each), len(each)) for each in every} == {(str, 32)}


def test_an_encoder_has_the_hash_of_its_weights():
    class Encoder:
        encoding = "weights"

    assert fingerprint(Encoder(), ["she"]) == "weights"
