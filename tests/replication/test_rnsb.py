"""Negative sentiment of identities: its table and figures."""

import pytest

from wefe import RNSB, load_test_model, replicate
from wefe.datasets import load_query_set


@pytest.mark.slow
def test_table_and_figures_are_those_of_the_paper(mirror):
    found = replicate("rnsb", progress=False)
    (table,) = found.tables.values()
    assert list(table.index) == ["National Origin Identity", "Religion Identity"]
    assert list(table.columns[:3]) == ["packaged", "shuffled control", "GloVe (printed)"]
    (query,) = load_query_set("rnsb_religion")
    how = {"lost_vocabulary_threshold": 1.0, "preprocessors": [{}, {"lowercase": True}]}
    own = RNSB().run_query(query, load_test_model(), n_iterations=100, random_state=0, **how)
    assert table.loc["Religion Identity", "packaged"] == pytest.approx(own["rnsb"])
    assert [title[:8] for title in found.figures] == ["Figure 1"] * 2 + ["Figure 3"] + [
        "Figure 4"
    ] * 4
    kinds = {trace.name: len(trace.x) for trace in next(iter(found.figures.values())).data}
    assert kinds == {"positive words": 614, "negative words": 793, "identity words": 15}


def test_without_a_connection_other_words_stand_in_and_nothing_is_compared(no_downloads):
    found = replicate("rnsb", {"GloVe": "demo"}, progress=False)
    assert found.tables["Table 1: RNSB of each case study"]["GloVe"].between(0, 0.01).all()
    assert found.verdicts() == {"not comparable": 24}
    assert "'rnsb_religion'" in found.notes[1]


def test_a_model_without_most_identities_is_not_compared(word2vec):
    found = replicate("rnsb", {"word2vec": word2vec}, progress=False)
    own = found.comparison[found.comparison["model"] == "Word2Vec"]
    assert own["reason"].str.startswith("words are missing").all()
    assert found.figures == {}
