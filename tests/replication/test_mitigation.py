"""Documented mitigations: scores before and after, costs, and what is left."""

import pytest

from wefe import replicate

NAMES = ("word2vec", "word2vec (printed)")


@pytest.fixture(scope="module")
def on_word2vec(word2vec):
    return replicate("mitigation", {"word2vec": word2vec}, progress=False)


@pytest.mark.slow
def test_tables_have_every_mitigation(on_word2vec):
    scores, costs = on_word2vec.tables.values()
    assert len(scores) == 7 * 3
    heads = [f"{name}, {when}" for name in NAMES for when in ("before", "after")]
    assert list(scores.columns[:4]) == heads
    mitigations = [item.split(": ")[0] for item in scores.index[:7]]
    assert list(costs.columns) == ["before", *mitigations, "best"]
    left = costs.loc["linear classification accuracy: gender"]
    # Below what it was, and far above chance.
    assert left["best"] == 0.5
    assert 0.8 < left["HardDebias"] < 0.95 < left["before"]


@pytest.mark.slow
def test_printed_scores_agree_but_for_the_example_with_stale_variables(on_word2vec):
    rows = on_word2vec.comparison.set_index(["item", "score"])
    assert on_word2vec.verdicts() == {"agrees": 8, "differs": 2, "not comparable": 6}
    differs = rows[rows["verdict"] == "differs"]
    assert differs["value"].to_list() == pytest.approx([0.120657, -0.015584], abs=1e-5)
    # As recomputed in float64; see tests/debias/test_hard.py.
    second = rows.loc["HardDebias: Pleasant and unpleasant", "after"]["value"]
    assert second == pytest.approx(0.055328, abs=1e-5)


def test_a_model_that_lacks_the_words_has_no_costs(few):
    replication = replicate("mitigation", {"few words": few}, progress=False)
    assert len(replication.tables) == 1
    assert any("few words" in note for note in replication.notes)
    assert replication.verdicts() == {"not comparable": 16}
