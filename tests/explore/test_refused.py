"""What cannot be asked of the functions of this package is refused, and the culprit is named."""

import pandas as pd
import pytest

from wefe.datasets import Criterion
from wefe.explore import (
    bias_directions,
    correlate_with_statistic,
    extreme_words,
    model_page,
    project,
    word_page,
)
from wefe.explore._analogies import generate_analogies, learn_specific_words

PAIRS = [("she", "he"), ("woman", "man")]
GENDER = Criterion("gender", [("she", "he"), ("woman", "man")], class_names=("female", "male"))
SHARES = {"home": 0.9, "kids": 0.8, "boss": 0.1, "job": 0.3}
DEFAULTS = {
    bias_directions: {},
    correlate_with_statistic: {"statistic": SHARES, "criterion": GENDER},
    extreme_words: {"criterion": PAIRS},
    generate_analogies: {"criterion": PAIRS},
    learn_specific_words: {"seed_words": ["she", "he", "woman"]},
    model_page: {"criterion": PAIRS},
    project: {"criterion": PAIRS},
    word_page: {"word": "nurse", "criterion": PAIRS},
}


@pytest.mark.parametrize(
    ("function", "options", "culprit"),
    [
        (bias_directions, {"criterion": None}, "criterion"),
        (bias_directions, {"criterion": [["she", "woman"], ["he"]]}, "one word per class"),
        (correlate_with_statistic, {"statistic": ["home", "kids"]}, "mapping"),
        (correlate_with_statistic, {"statistic": pd.DataFrame({"a": [1.0]})}, "Select a column"),
        (correlate_with_statistic, {"statistic": pd.Series([1, 2], index=["job"] * 2)}, "job"),
        (correlate_with_statistic, {"statistic": {"home": 1, "job": 2, "xyz": 3}}, "at least 3"),
        (correlate_with_statistic, {"measure": "weat"}, "measure"),
        (extreme_words, {"ignore": "she"}, "ignore"),
        (generate_analogies, {"among": ["nurse"]}, "among"),
        (learn_specific_words, {"n_folds": 4}, "toy has 3 and 10"),
        (model_page, {"words": {"vocabulary": ["nurse"]}}, "'vocabulary'"),
        (project, {"words": ["astronaut"]}, "has none of the words"),
        (word_page, {"others": "pilot"}, "others"),
        (word_page, {"map_method": "tsn"}, "t-sne"),
    ],
)
def test_the_culprit_is_named(toy_model, function, options, culprit):
    with pytest.raises((TypeError, ValueError), match=culprit):
        function(toy_model, **DEFAULTS[function] | options)
