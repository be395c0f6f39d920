"""The scores that the documentation of WEFE prints: tables, and verdicts on its own vectors."""

import pytest

from wefe import replicate


@pytest.fixture(scope="module")
def on_word2vec(word2vec):
    return replicate("documentation", {"word2vec": word2vec}, progress=False)


def test_there_is_a_row_per_printed_score(on_word2vec):
    numbers = [title.split(":")[0] for title in on_word2vec.tables]
    of_chapters = ["Chapter 2", "Chapter 3", "Chapter 5"]
    of_sections = ["Section 6.3", "Section 6.3", "Section 13.4", "Section 15.4"]
    assert numbers == of_chapters + of_sections
    n_rows = [len(table) for table in on_word2vec.tables.values()]
    assert n_rows == on_word2vec.comparison["table"].value_counts(sort=False).tolist()
    assert len(on_word2vec.figures) == 2


def test_printed_scores_agree_but_for_known_reasons(on_word2vec):
    rows = on_word2vec.comparison
    differs = rows[rows["verdict"] == "differs"]
    assert set(differs["score"].str.split(":").str[0]) == {"p-value of WEAT", "RIPA"}
    assert (differs["reason"] != "not known").all()
    # By an independent calculation: all eight pairs, and 2,537 of the 12,870 splits.
    values = differs.drop_duplicates("score").set_index("score")["value"]
    assert values["RIPA"] == pytest.approx(0.19969232, abs=1e-6)
    assert values["p-value of WEAT"] == pytest.approx(2537 / 12870)
    lacking = rows[(rows["verdict"] == "not comparable") & (rows["model"] == "word2vec")]
    # The file lacks 'judgmental'.
    assert set(lacking["score"]) == {"MAC", "MAC with Christian biased words"}
    assert on_word2vec.verdicts()["agrees"] == 142
