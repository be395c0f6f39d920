"""Bias Silhouette Analysis: its tables, on few runs."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel, load_test_model, replicate
from wefe.datasets import load_query_set
from wefe.replication import _bsa
from wefe.silhouette import bias_silhouettes

PROFESSIONS = "engineer lawyer physician pilot nurse librarian dancer teacher clerk artist baker"
ITEM = "gender, Social group"


@pytest.fixture(scope="module")
def models():
    packaged = load_test_model()
    queries = _bsa.STAND_INS["bsa"]()
    words = {w for q in queries for part in q.target_sets + q.attribute_sets for w in part}
    words |= {w.lower() for w in words} | {*PROFESSIONS.split()}
    words = sorted(word for word in words if word in packaged)
    vectors = np.stack([packaged[word] for word in words])
    control = np.random.default_rng(0).permutation(vectors)
    return {
        "GloVe": WordEmbeddingModel((words, vectors)),
        "NBatch": WordEmbeddingModel((words, control)),
    }


@pytest.fixture
def replicated(models, monkeypatch):
    monkeypatch.setattr(_bsa, "_N_RUNS", (5, 10))
    return lambda given=models: replicate("bsa", given, progress=False)


def test_robustness_and_accuracy_follow_the_formulas_of_the_paper(models, replicated, no_downloads):
    found = replicated()
    robustness, accuracy, released, pilot = found.tables.values()
    query = load_query_set("gender", offline=True)[0]
    glove, nbatch = bias_silhouettes("weat", query, list(models.values()), n_runs=10)
    band = np.trapezoid(glove.curves.max(0) - glove.curves.min(0), glove.k)
    assert robustness.loc[(ITEM, "GloVe"), "WEAT"] == pytest.approx(1 - band / (4 * glove.k[-1]))
    assert pilot.loc[(f"{ITEM}, WEAT", "GloVe"), "10 runs"] == pytest.approx(
        band / (4 * glove.k[-1])
    )
    apart = np.abs(glove.curves.mean(0)) - np.abs(nbatch.curves.mean(0))
    share = np.trapezoid(apart, glove.k) / (2 * glove.k[-1])
    pair = ITEM, "GloVe and NBatch"
    assert accuracy.loc[pair, "WEAT"] == pytest.approx(0.5 + share / 2)
    assert released.loc[pair, "WEAT"] == pytest.approx(0.5 + share / 4)
    assert list(accuracy.columns) == ["ECT", "RNSB", "WEAT"]
    assert len(robustness) == 6 * 4
    assert len(found.figures) == 3
    # Printed values belong to other words.
    assert found.verdicts() == {"not comparable": 270}


@pytest.mark.slow
def test_the_lists_of_the_paper_are_compared_with_what_it_prints(replicated, mirror, monkeypatch):
    monkeypatch.setattr(_bsa, "_N_RUNS", (2, 5))
    found = replicated()
    compared = found.comparison[found.comparison["verdict"] != "not comparable"]
    # Both tables, and of the pilot study the runs that there were.
    assert compared["table"].value_counts().to_dict() == {
        "Supplement": 18 * 2,
        "Table 1": 36,
        "Table 2": 18,
    }
    assert set(compared["item"]) >= {ITEM, f"{ITEM}, ECT"}


def test_one_model_has_no_accuracy(models, replicated, no_downloads):
    found = replicated({"mine": models["GloVe"]})
    assert not any("Table 2: accuracy, by the formula" in title for title in found.tables)
    assert "mine" in found.tables["Table 1: robustness"].index.get_level_values("model")
