"""What the tests of mitigation share."""

import numpy as np

from wefe.debias import list_debias_methods

#: The methods of the package; tests define others.
METHODS = [method for method in list_debias_methods() if method.__module__.startswith("wefe.")]
NAMES = [method.__name__ for method in METHODS]
_QUICK = {"n_words": 100, "n_iterations": 3, "epochs": 30, "n_neighbours": 10}


def small(method, **params):
    """Make a method that is quick on a small vocabulary."""
    known = method().get_params()
    quick = {name: value for name, value in _QUICK.items() if name in known}
    return method(**quick | params)


def changed_words(before, after):
    return {word for word in before if before[word].tobytes() != after[word].tobytes()}


def unit(vectors):
    wide = np.asarray(vectors, dtype=float)
    return wide / np.linalg.norm(wide, axis=-1, keepdims=True)
