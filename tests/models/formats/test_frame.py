"""Words and vectors of DataFrames and dicts."""

import numpy as np
import pandas as pd
import pytest
from model_files import check_source

from wefe.models.formats._frames import open_dict, open_frame

# Words that pandas takes for missing values.
WORDS = ["null", "NA", "nan", "None", "new, york", "naïve"]
VECTORS = np.arange(18, dtype=np.float32).reshape(6, 3) / 7
every_width = pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])


def frame(vectors=VECTORS):
    return pd.DataFrame(vectors, index=WORDS, columns=list("012"))


@every_width
@pytest.mark.parametrize("kind", ["category", object, "string"])
def test_words_of_a_frame_are_in_its_index_or_a_column(dtype, kind):
    vectors = VECTORS.astype(dtype)
    table = frame(vectors).reset_index().astype({"index": kind})
    for opened in (table, table.set_index("index")):
        check_source(open_frame(opened), WORDS, vectors)
    check_source(open_frame(table.iloc[:, ::-1]), WORDS, vectors[:, ::-1])
    check_source(open_frame(table[table.index > 4]), WORDS[5:], vectors[5:])


@pytest.mark.parametrize(
    ("dtype", "expected"), [("int8", "float32"), ("int64", "float64"), ("Float32", "float32")]
)
def test_whole_and_missing_numbers_of_a_frame_become_floats(dtype, expected):
    numbers = np.arange(18).reshape(6, 3).astype(expected)
    table = frame(numbers).astype(dtype)
    if dtype[0].isupper():
        numbers[1, 1], table.iloc[1, 1] = np.nan, pd.NA
    check_source(open_frame(table), WORDS, numbers)


@pytest.mark.parametrize(
    ("columns", "index", "culprit"),
    [
        ({"0": []}, [], "0 rows"),
        ({"a": ["x"], "b": ["y"], "0": [1.0]}, None, "'b': 'text'"),
        ({"n": [5], "0": [1.0]}, ["she"], "'n': 'int'"),
        ({"u": [[1.0]], "v": [[1.0]]}, ["she"], "'u': 'list'"),
        ({"w": ["she", None], "0": [1.0, 2]}, None, "for (nan|None).*keep_default_na=False"),
        ({"w": ["a", "b"], "v": [[1.0], [1.0, 2]]}, None, "for 'b'"),
    ],
)
def test_other_frames_are_refused(columns, index, culprit):
    with pytest.raises(ValueError, match=f"the DataFrame.*{culprit}"):
        open_frame(pd.DataFrame(columns, index))


@every_width
def test_numbers_of_a_dict_keep_their_type_and_lists_become_float64(dtype):
    vectors = VECTORS.astype(dtype)
    check_source(open_dict(dict(zip(WORDS, vectors, strict=True))), WORDS, vectors)
    check_source(open_dict({"a": [1, 0], "b": (0.5, 1)}), ["a", "b"], np.array([[1, 0], [0.5, 1]]))


@pytest.mark.parametrize("value", [[1.0], ["x", "y"], [[1.0, 2.0]], [[1], [1, 2]], 1.0])
def test_the_first_wrong_word_of_a_dict_is_named(value):
    with pytest.raises(ValueError, match=r"the dict.*2 numbers for 'he'"):
        open_dict({"she": [1.0, 2.0], "he": value, "x": value})
    for mapping in ({}, {5: [1.0]}, {"she": []}):
        with pytest.raises(ValueError, match="the dict"):
            open_dict(mapping)
