"""Rows of a file are read by position, and no others."""

import numpy as np
import pytest

from wefe.models._file_array import FileArray, OpenFile

VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def test_any_rows_are_read_and_no_others(write):
    array = FileArray(OpenFile(write(b"head" + VECTORS.tobytes())), 4, (4, 3), "<f4")
    for rows in (slice(1, 3), slice(3, 1), [2], [1, 2, 3], [3, 0, 3], np.array([], int)):
        np.testing.assert_array_equal(array[rows], VECTORS[rows])
    with pytest.raises(IndexError, match="4 rows"):
        array[[0, 4]]
