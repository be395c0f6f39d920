"""The map of the most biased words: their groups, and clusters as the test of them has it."""

import numpy as np
import pytest

from wefe.datasets import load_criterion
from wefe.debias import HardDebias
from wefe.explore import cluster_map, recovery_tests
from wefe.metrics import cluster_alignment


@pytest.mark.parametrize("criterion", ["gender", "religion"])
def test_clusters_agree_with_groups_as_often_as_the_alignment_says(packaged_model, criterion):
    table = cluster_map(packaged_model, criterion, n_words=60, method="pca")
    vectors = [
        packaged_model.get_vectors(part["word"].tolist())
        for _, part in table.groupby("group", sort=False)
    ]
    share = (table["group"] == table["cluster"]).mean()
    assert share == pytest.approx(cluster_alignment(*vectors, random_state=0))
    assert table["group"].value_counts().eq(60).all()


def test_words_are_those_of_the_test_of_recovery(packaged_model):
    words = load_criterion("gender", offline=True)
    method = HardDebias().fit(packaged_model, criterion=words)
    debiased = method.transform(packaged_model, ignore=words.specific_words)
    table = cluster_map(debiased, words, original=packaged_model, n_words=50, method="pca")
    tests = recovery_tests(debiased, words, original=packaged_model, n_words=50, k=5)
    share = (table["group"] == table["cluster"]).mean()
    assert share == pytest.approx(tests.set_index("test").loc["clusters", "value"])
    # In another model the same words are looked at.
    before = cluster_map(packaged_model, words, n_words=50, method="pca")
    assert set(table["word"]) == set(before["word"])
    assert not np.allclose(table[["x", "y"]], before[["x", "y"]])
