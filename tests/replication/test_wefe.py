"""The WEFE case study: table 1, figures 1 and 2, and the authors' later run."""

import pytest

from wefe import replicate

CRITERIA = ["gender", "ethnicity", "religion", "Overall"]


@pytest.mark.slow
def test_word2vec_has_the_scores_of_the_later_run(word2vec):
    replication = replicate("wefe", {"word2vec": word2vec}, progress=False)
    blocks = [title for title in replication.tables if title.startswith("Table 1")]
    assert blocks == [f"Table 1, {name}: rank (score)" for name in CRITERIA]
    assert list(replication.tables[blocks[0]])[:4] == ["WEAT", "WEAT-ES", "RND", "RNSB"]
    compared = replication.comparison
    later = compared[(compared["table"] == "later run") & (compared["model"] == "word2vec")]
    of_sets = later[(later["item"] != "Overall") & (later["score"] != "RNSB")]
    agree = of_sets[of_sets["verdict"] == "agrees"]
    assert agree["item"].value_counts().to_dict() == {"gender": 3, "religion": 3}
    # The 13,013 vectors lack four Hispanic names.
    assert set(of_sets.loc[of_sets["item"] == "ethnicity", "reason"]) == {
        "the model lacks some of its words"
    }
