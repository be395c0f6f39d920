"""An encoder without a network: the vector of a text depends on its letters and on nothing else."""

import zlib

import numpy as np

from wefe import WordEmbeddingModel
from wefe.contextual._encoder import Context


class EveryWord(dict):
    """Knows every word but the empty one and those with a '#'; gives out rows when asked."""

    def __contains__(self, word):
        return isinstance(word, str) and bool(word) and "#" not in word

    def get(self, word, default=None):
        # dict.get does not call __missing__.
        return self[word] if word in self else default  # noqa: SIM401

    def __missing__(self, word):
        if word not in self:
            raise KeyError(word)
        return self.setdefault(word, len(self))


class FakeEncoder(WordEmbeddingModel):
    """The interface of `ContextualModel`, with as many calls as texts counted.

    Parameters
    ----------
    layer, n_layers : int
        The layer that it reads, and how many it has.
    longest : int
        A word that ends beyond this character of its text cannot be read.
    """

    def __init__(self, name="fake", dim=6, layer=-1, n_layers=4, longest=1000):
        table = (["x"], np.ones((1, dim), dtype=np.float32))
        super().__init__(table, name)
        self.wv.key_to_index = EveryWord()
        self.layer, self.n_layers = layer % n_layers, n_layers
        self.longest = longest
        self.calls = []

    def _vector(self, item, layer):
        return np.random.default_rng([layer, zlib.crc32(repr(tuple(item)).encode())]).normal(
            size=self.dim
        )

    def _encode(self, items, layer):
        contexts = [
            Context(item, 0, len(item)) if isinstance(item, str) else item for item in items
        ]
        vectors = [self._vector(context, layer) for context in contexts]
        return np.array(vectors, dtype=np.float32).reshape(-1, self.dim)

    def encode_words(self, words):
        assert all(isinstance(word, str) for word in words)
        self.calls.append(list(words))
        return self._encode(words, self.layer)

    def encode_contexts(self, contexts):
        assert all(isinstance(context, Context) for context in contexts)
        assert self.can_encode(contexts).all()
        self.calls.append(list(contexts))
        return self._encode(contexts, self.layer)

    def can_encode(self, contexts):
        return np.array([context.end <= self.longest for context in contexts], dtype=bool)

    def encode_layers(self, items, layers=None):
        self.calls.append(list(items))
        layers = range(self.n_layers) if layers is None else layers
        return np.stack([self._encode(items, layer) for layer in layers])

    def get_vectors(self, words):
        return self.encode_words(words)

    def at_layer(self, layer):
        return FakeEncoder(self.name, self.dim, layer, self.n_layers, self.longest)
