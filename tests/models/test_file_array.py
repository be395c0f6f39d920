"""Files that are read while they are open give the old vectors, or an error that names them."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel, load
from wefe.models._file_array import FileArray, OpenFile

WORDS = ["she", "he", "home", "work"]
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


@pytest.fixture
def mapped(tmp_path):
    WordEmbeddingModel((WORDS, VECTORS), "toy").save(tmp_path / "toy.safetensors")
    return load(tmp_path / "toy.safetensors")


@pytest.mark.parametrize("fate", ["gone", "shorter", "replaced"])
def test_a_model_keeps_its_file_when_another_takes_its_name(mapped, fate, tmp_path):
    path = tmp_path / "toy.safetensors"
    content = path.read_bytes()
    path.unlink()
    if fate != "gone":
        path.write_bytes(content[:-5] if fate == "shorter" else content[:-48] + bytes(48))
    np.testing.assert_array_equal(mapped.copy().vectors, VECTORS)


@pytest.mark.parametrize("fate", ["shorter", "changed"])
def test_a_file_that_changes_while_it_is_open_is_an_error_that_names_it(mapped, fate, tmp_path):
    np.testing.assert_array_equal(mapped["she"], VECTORS[0])
    with (tmp_path / "toy.safetensors").open("r+b") as file:
        if fate == "shorter":
            file.truncate(4100)
        else:
            file.seek(4096)
            file.write(bytes(4))
    for read in (
        lambda: mapped["she"],
        lambda: mapped.get_vectors(["he", "home"]),
        lambda: mapped.rows(slice(None)),
        lambda: mapped.vectors,
        lambda: mapped.vocab["work"],
    ):
        with pytest.raises(ValueError, match=r"toy\.safetensors"):
            read()


def test_any_rows_are_read_and_no_others(write):
    array = FileArray(OpenFile(write(b"head" + VECTORS.tobytes())), 4, (4, 3), "<f4")
    for rows in (slice(1, 3), slice(3, 1), [2], [1, 2, 3], [3, 0, 3], []):
        picked = VECTORS[rows] if len(np.atleast_1d(rows)) else VECTORS[:0]
        np.testing.assert_array_equal(array[rows], picked)
    for rows in ([0, 4], [-1, 2]):
        with pytest.raises(IndexError, match="4 rows"):
            array[rows]
    with pytest.raises(ValueError, match=r"vectors\.any .* \(5, 3\)"):
        FileArray(array.file, 4, (5, 3), "<f4")
