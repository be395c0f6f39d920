"""Encoders in what was made for tables of vectors: runs, workers, audits, mitigation."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from wefe import Query, measure, run_queries
from wefe.contextual import load_encoder
from wefe.metrics import SEAT, list_metrics

WORDS = [["she", "woman", "her"], ["he", "man", "his"], ["home", "kids", "nurse"], ["boss", "job"]]
QUERY = Query(WORDS[:2], WORDS[2:])
PAIRS = list(zip(*WORDS[:2], strict=True))
FORMS = [{}, {"lowercase": True}]


@pytest.fixture
def encoder(tiny_bert):
    return load_encoder(tiny_bert, "tiny", cache=False, progress=False)


@pytest.mark.parametrize("metric", [each for each in list_metrics() if each.needs_vocabulary])
def test_metrics_of_whole_vocabularies_say_that_an_encoder_has_none(encoder, metric):
    query = next(each for each in (QUERY, Query(WORDS[:2], WORDS[2:3])) if metric().accepts(each))
    reason = "the metric needs the whole vocabulary, but tiny was opened for 9 words only"
    assert metric().run_query(query, encoder).nan_reason == reason
    table = measure(metric, [query], [encoder], progress=False, n_bootstrap=40)
    assert table["nan_reason"].tolist() == [reason]
    # Words that somebody chose are a vocabulary.
    chosen = encoder.snapshot([*encoder, "tree"])
    assert np.isfinite(metric().run_query(query, chosen, k=2)["result"])


def test_words_are_encoded_in_the_form_that_counts_and_all_at_once(encoder, n_runs):
    capitals = Query([["She", "WOMAN"], ["He"]], WORDS[2:])
    options = {"metric_params": {"preprocessors": FORMS}, "progress": False}
    run_queries("weat", [capitals, Query(WORDS[2:], [["tree"], ["the"]])], [encoder], **options)
    assert list(encoder) == ["She", "WOMAN", "He", *WORDS[2], *WORDS[3], "tree", "the"]
    assert n_runs == [10]


def test_workers_score_as_one_process_does(encoder):
    capitals = Query([["She", "Woman"], ["He", "xyzzy☃"]], WORDS[2:])
    options = {
        "metric_params": {"preprocessors": FORMS, "strategy": "all"},
        "lost_vocabulary_threshold": 0.5,
        "progress": False,
    }
    alone = run_queries("weat", [QUERY, capitals], [encoder], **options)
    together = run_queries("weat", [QUERY, capitals], [encoder.at_layer(-1)], n_jobs=2, **options)
    np.testing.assert_array_equal(together, alone)
    assert np.isfinite(alone.to_numpy()).all()


def test_metrics_of_sentences_stay_where_the_encoder_is(encoder):
    alone, together = (
        run_queries(SEAT, [QUERY], [encoder], n_jobs=n, progress=False) for n in (1, 2)
    )
    np.testing.assert_array_equal(together, alone)
    assert not list(encoder)  # no word alone was encoded
