"""An encoder without a network: the vector of a text depends on its letters and on nothing else."""

import zlib

import numpy as np

from wefe.contextual import Context, ContextualModel
from wefe.contextual._encoder import CachedEncoder


class FakeNetwork:
    """The interface of an encoder; it knows every text but the empty one and those with a '#'."""

    pipeline = prompt = None
    label = fingerprint = "fake"
    max_length = 1000

    def __init__(self, dim, n_layers, longest, vector):
        self.dims, self.n_layers, self.longest, self.vector = (
            [dim] * n_layers,
            n_layers,
            longest,
            vector,
        )
        self.calls = []

    def alone(self, word):
        return Context(word, 0, len(word))

    def describe(self, layer, pooling):
        return f"layer {layer}"

    def settings(self, layer, pooling):
        return str(layer).encode()

    def tokenize(self, contexts):
        return [self._why_unread(context) or context for context in contexts]

    def _why_unread(self, context):
        if context.end > self.longest:
            return "too long"
        return "unknown" if "#" in context.word or not context.word else None

    def encode(self, tokens, layers, pooling, *, sink):
        self.calls.append(list(tokens))
        rows = [[self.vector(context, layer) for context in tokens] for layer in layers]
        sink(range(len(tokens)), np.array(rows, dtype=np.float32))


class FakeEncoder(ContextualModel):
    """A model with such an encoder; `calls` has the contexts that were encoded at once.

    Parameters
    ----------
    layer, n_layers : int
        The layer that it reads, and how many it has.
    longest : int
        A word that ends beyond this character of its text cannot be read.
    """

    def __init__(self, name="fake", dim=6, layer=-1, n_layers=4, longest=1000):
        network = FakeNetwork(dim, n_layers, longest, self._vector)
        super().__init__(CachedEncoder(network, None), name, layer % n_layers, "mean", None)
        self.calls = network.calls

    def _vector(self, item, layer):
        generator = np.random.default_rng([layer, zlib.crc32(repr(tuple(item)).encode())])
        # Rounded to float32, as encoders return them.
        return generator.normal(size=self._source.encoder.dims[layer]).astype(np.float32)
