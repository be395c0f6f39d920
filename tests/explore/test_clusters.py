"""The map of the most biased words: their groups, and clusters as the test of recovery has it."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.explore import cluster_map, recovery_tests


@pytest.mark.parametrize("criterion", ["gender", "religion"])
def test_words_and_clusters_are_those_of_the_test_of_recovery(packaged_model, criterion):
    noise = np.random.default_rng(0).normal(scale=0.03, size=packaged_model.vectors.shape)
    other = WordEmbeddingModel((list(packaged_model), packaged_model.vectors + noise), "other")
    options = {"original": packaged_model, "n_words": 50}
    table = cluster_map(other, criterion, method="pca", **options)
    tests = recovery_tests(other, criterion, k=5, **options)
    share = (table["group"] == table["cluster"]).mean()
    assert share == pytest.approx(tests.set_index("test").loc["clusters", "value"])
    assert table["group"].value_counts().eq(50).all()
    # In another model the same words are looked at.
    before = cluster_map(packaged_model, criterion, n_words=50, method="pca")
    assert before.attrs["method"] == "PCA"
    assert set(table["word"]) == set(before["word"])
    assert not np.allclose(table[["x", "y"]], before[["x", "y"]])


def test_a_map_of_few_words_is_of_pca_and_says_so(packaged_model):
    assert cluster_map(packaged_model, n_words=3).attrs["method"] == "PCA"
