"""Analogies along a bias direction."""

import itertools

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.explore import _analogies, bias_directions
from wefe.explore._analogies import generate_analogies


def random_model(n_words=60, dim=6, seed=0):
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(n_words, dim)) * generator.uniform(0.1, 9, (n_words, 1))
    return WordEmbeddingModel(([f"w{i}" for i in range(n_words)], vectors), name="random")


def slow_pairs(model, g, threshold):
    """Every pair by falling score, by loops over words."""
    words = list(model.vocab)
    units = {word: model[word] / np.linalg.norm(model[word]) for word in words}
    pairs = []
    for x, y in itertools.permutations(words, 2):
        between = units[x].astype(float) - units[y]
        distance = float(np.sqrt((between**2).sum()))
        score = float(between @ g) / distance
        if distance <= threshold and score > 0:
            pairs.append((score, x, y, distance))
    return sorted(pairs, key=lambda pair: -pair[0])


def once(pairs):
    """The pairs that are left if each word is taken once on each side."""
    left, right, kept = set(), set(), []
    for pair in pairs:
        if pair[1] not in left and pair[2] not in right:
            left.add(pair[1])
            right.add(pair[2])
            kept.append(pair)
    return kept


def assert_are(frame, pairs):
    assert list(zip(frame["first"], frame["second"], strict=True)) == [pair[1:3] for pair in pairs]
    assert frame["score"].tolist() == pytest.approx([pair[0] for pair in pairs], abs=1e-12)
    assert frame["distance"].tolist() == pytest.approx([pair[3] for pair in pairs], abs=1e-12)


@pytest.mark.parametrize("threshold", [0.5, 1.3, 2.0])
@pytest.mark.parametrize("n", [1, 7, 10_000])
def test_the_pairs_are_those_of_a_double_loop(monkeypatch, threshold, n):
    monkeypatch.setattr(_analogies, "_BLOCK_NUMBERS", 500)
    model = random_model()
    pairs = [("w3", "w7"), ("w11", "w20")]
    (g, _) = bias_directions(model, pairs).towards
    expected = slow_pairs(model, g, threshold)
    options = {"n": n, "threshold": threshold}
    assert_are(generate_analogies(model, pairs, **options), once(expected)[:n])


# With these seeds, fewer than 2 n pairs without a common word, or those alone, are too few to keep.
@pytest.mark.parametrize("seed", [57, 106, 918])
def test_pairs_pushed_out_late_are_replaced_as_if_all_had_been_sorted(monkeypatch, seed):
    monkeypatch.setattr(_analogies, "_BLOCK_NUMBERS", 16)
    model = random_model(n_words=16, dim=2, seed=seed)
    g = bias_directions(model, [("w0", "w1")]).towards[0]
    expected = once(slow_pairs(model, g, 2.0))[:3]
    assert_are(generate_analogies(model, [("w0", "w1")], 3, threshold=2), expected)


def test_of_three_groups_each_two_are_compared_along_the_difference_of_their_directions():
    model = random_model()
    triples = [("w0", "w1", "w2"), ("w3", "w4", "w5")]
    towards = bias_directions(model, triples).towards
    frame = generate_analogies(model, triples, 5, threshold=2)
    parts = frame.groupby(["first_group", "second_group"], sort=False)
    assert [groups for groups, _ in parts] == [("w0", "w1"), ("w0", "w2"), ("w1", "w2")]
    for (first, second), lines in parts:
        g = towards[int(first[1])] - towards[int(second[1])]
        assert_are(lines, once(slow_pairs(model, g / np.linalg.norm(g), 2))[:5])
