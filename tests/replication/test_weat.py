"""The ten tests of Caliskan et al.: the shape of table 1, and their printed effect sizes."""

import pytest

from wefe import replicate


def test_table_1_has_ten_tests_and_variants_of_two():
    replication = replicate("weat", progress=False)
    table, *_ = replication.tables.values()
    assert list(table.index) == [
        *("test 1", "test 2", "test 3", "test 4 (18 names)", "test 4"),
        *(f"test {number}" for number in range(5, 10)),
        *("test 10 (Bill)", "test 10"),
    ]
    assert table["p_value, packaged"].between(0, 1).all()
    # The control has the same vectors, dealt out to other words.
    assert table["d, packaged"].abs().mean() > 2 * table["d, shuffled control"].abs().mean()
    assert replication.verdicts() == {"not comparable": 20}


def test_nine_of_ten_effect_sizes_of_word2vec_agree(word2vec):
    replication = replicate("weat", {"word2vec": word2vec}, progress=False)
    assert replication.verdicts() == {"not comparable": 10, "agrees": 9, "differs": 1}
    (differs,) = replication.comparison.query("verdict == 'differs'").to_dict("records")
    assert (differs["item"], round(differs["value"], 6)) == ("test 10", -0.044412)
    # The 13,013 vectors do not have Billy.
    assert differs["reason"] == "the model lacks some of its words"
    # Occupations follow census shares.
    *_, wefat = replication.tables.values()
    assert wefat.loc["word2vec", "Pearson"] == pytest.approx(0.669, abs=0.001)
    assert len(replication.figures) == 1
