"""What tests of files of vectors share."""

import contextlib
import tracemalloc

import numpy as np


@contextlib.contextmanager
def at_most(n_bytes):
    """Check how much memory Python takes meanwhile."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


class Bomb:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def read_all(source, asked=None):
    """Return all words and vectors of a source, or of those asked for."""
    read = [pair for block in source.blocks(asked) for pair in zip(*block, strict=True)]
    read = [(word, vector) for word, vector in read if asked is None or word in asked]
    return [word for word, _ in read], [vector for _, vector in read]


def check_source(source, words, vectors, n_passes=2):
    """Check what a source reads, and that a selection is in its order, whatever is missing."""
    assert source.dim == vectors.shape[1]
    read, rows = read_all(source)
    assert read == list(words)
    np.testing.assert_array_equal(np.array(rows), vectors, strict=True)
    if n_passes == 1:
        return
    for step in (1, 2, len(words) + 1):
        asked = frozenset(["no such word", *list(words)[::-step]])
        kept = [row for row, word in enumerate(words) if word in asked]
        chosen, some = read_all(source, asked)
        assert chosen == [words[row] for row in kept]
        np.testing.assert_array_equal(np.reshape(some, (-1, source.dim)), vectors[kept])
