"""Results that were never run, and a folder of small models on which studies run."""

import pytest
from made_results import results_of
from small_studies import LACKS, QUERIES, write_model

from wefe import load_test_model


@pytest.fixture
def folder(tmp_path):
    """Three models of the words of two queries, as text files."""
    packaged = load_test_model()
    asked = {w for q in QUERIES[:2] for part in q.target_sets + q.attribute_sets for w in part}
    words = [word for word in packaged.vocab if word in asked]
    for name, lacks in LACKS.items():
        kept = [word for word in words if word not in lacks]
        size = 64 if name == "whole" else 48
        write_model(tmp_path / f"{name}.txt", kept, packaged.get_vectors(kept)[:, :size].copy())
    return tmp_path


@pytest.fixture
def two_models():
    """Two models, two query sets, two metrics, one of which is best at 1."""
    return results_of(
        {
            "WEAT-ES": {
                "gender": {"art": {"w2v": 0.6, "glove": -0.4}, "job": {"w2v": 0.2, "glove": 0.2}},
                "faith": {"mood": {"w2v": 1.0, "glove": -0.1}},
            },
            "ECT": {"gender": {"art": {"w2v": 0.9, "glove": 0.75}}},
        }
    )
