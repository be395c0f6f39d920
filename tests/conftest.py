"""Fixtures for all tests: the toy model of the worked examples, and the real subset for checks."""

import os
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # As many workers as cores: with as many threads each, they take half as long again. What they
    # start inherits this.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel, load_test_model

# Beside the checkout, where it is present; never part of the package.
SHARED = Path(__file__).resolve().parents[1].parent / "shared"

TOY_VECTORS = {
    "she": (1.0, 0.2, 0.1), "woman": (0.8, 0.4, 0.0), "he": (-0.9, 0.3, 0.2),
    "man": (-0.7, 0.5, -0.1), "home": (0.6, 0.9, 0.3), "kids": (0.4, 0.7, -0.2),
    "boss": (-0.3, 0.8, 0.6), "job": (-0.5, 0.6, 0.4), "nurse": (0.5, 0.1, 0.8),
    "pilot": (-0.4, 0.2, 0.7), "tree": (0.1, -0.3, 0.9), "they": (0.1, 1.0, -0.4),
    "folk": (0.0, 0.9, 0.2),
}  # fmt: skip


@pytest.fixture
def toy_model():
    """The 3-dimensional model behind the worked examples; a fresh one for every test."""
    return WordEmbeddingModel((list(TOY_VECTORS), np.array(list(TOY_VECTORS.values()))), name="toy")


@pytest.fixture
def toy_query():
    return Query(
        [["she", "woman"], ["he", "man"]],
        [["home", "kids"], ["boss", "job"]],
        ["Female", "Male"],
        ["Home", "Work"],
    )


@pytest.fixture(scope="session")
def packaged_model():
    """The packaged vectors; not to be changed by a test."""
    return load_test_model()
