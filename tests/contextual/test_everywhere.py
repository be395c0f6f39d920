"""Encoders in what was made for tables of vectors: runs, workers, audits, mitigation."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from wefe import WEAT, Query, load, measure, run_queries
from wefe.contextual import SEAT, layer_scores, load_encoder
from wefe.metrics import list_metrics

WORDS = [["she", "woman", "her"], ["he", "man", "his"], ["home", "kids", "nurse"], ["boss", "job"]]
QUERY = Query(WORDS[:2], WORDS[2:])
PAIRS = list(zip(*WORDS[:2], strict=True))
FORMS = [{}, {"lowercase": True}]


@pytest.fixture
def encoder(tiny_bert):
    return load_encoder(tiny_bert, "tiny", cache=False, progress=False)


def fitting(metric):
    queries = QUERY, Query(WORDS[:2], WORDS[2:3]), Query(WORDS[2:3], WORDS[:2])
    return next(query for query in queries if metric().accepts(query))


@pytest.mark.parametrize("metric", [each for each in list_metrics() if each.needs_vocabulary])
def test_metrics_of_whole_vocabularies_say_that_an_encoder_has_none(encoder, metric):
    query = fitting(metric)
    reason = "the metric needs the whole vocabulary, but tiny was opened for 9 words only"
    assert metric().run_query(query, encoder).nan_reason == reason
    table = measure(metric, [query], [encoder], progress=False, n_bootstrap=40)
    assert table["nan_reason"].tolist() == [reason]
    curves = layer_scores(metric, query, encoder, layers=[-1])
    assert "words only" in curves.scores[0].nan_reason
    # Words that somebody chose are a vocabulary, and so are those of the input embeddings.
    for chosen in (encoder.snapshot([*encoder, "tree"]), encoder.input_embeddings()):
        assert np.isfinite(metric().run_query(query, chosen, k=2)["result"])


@pytest.mark.parametrize("metric", [each for each in list_metrics() if not each.needs_vocabulary])
def test_every_metric_scores_it_as_its_snapshot(encoder, metric):
    query = fitting(metric)
    params = {"holdout": False} if metric.__name__ == "RNSB" else {}
    of_encoder = metric().run_query(query, encoder, **params)["result"]
    assert np.isfinite(of_encoder)
    assert metric().run_query(query, encoder.snapshot(query), **params)["result"] == of_encoder


def test_the_words_of_all_queries_are_one_batch(encoder, n_runs):
    other = Query(WORDS[2:], [["tree", "the"], ["doctor"]])
    run_queries("weat", [QUERY, other], [encoder], progress=False)
    assert n_runs == [11 + 3]


def test_words_are_encoded_in_the_form_that_counts(encoder, n_runs):
    capitals = Query([["She", "WOMAN"], ["He"]], WORDS[2:])
    run_queries("weat", [capitals], [encoder], metric_params={"preprocessors": FORMS})
    assert list(encoder) == ["She", "WOMAN", "He", *WORDS[2], *WORDS[3]]
    assert n_runs == [8]


@pytest.mark.parametrize("strategy", ["first", "all"])
def test_workers_score_as_one_process_does(encoder, strategy):
    capitals = Query([["She", "Woman"], ["He", "xyzzy☃"]], WORDS[2:])
    options = {
        "metric_params": {"preprocessors": FORMS, "strategy": strategy},
        "lost_vocabulary_threshold": 0.5,
        "progress": False,
    }
    alone = run_queries("weat", [QUERY, capitals], [encoder], **options)
    together = run_queries("weat", [QUERY, capitals], [encoder.at_layer(-1)], n_jobs=2, **options)
    np.testing.assert_array_equal(together, alone)
    assert np.isfinite(alone.to_numpy()).all()


def test_metrics_of_sentences_stay_where_the_encoder_is(encoder):
    queries = [QUERY, Query(WORDS[2:], WORDS[:2])]
    alone = run_queries(SEAT, queries, [encoder], progress=False)
    together = run_queries(SEAT, queries, [encoder], n_jobs=2, progress=False)
    np.testing.assert_array_equal(together, alone)
    assert not list(encoder)  # no word alone was encoded


@pytest.mark.parametrize("subwords", ["refuse", "mean", "first"])
def test_input_embeddings_are_what_load_makes_of_the_files(tiny_folder, subwords):
    of_encoder = load_encoder(tiny_folder, cache=False).input_embeddings(subwords)
    of_files = load(tiny_folder, subwords=subwords)
    assert list(of_encoder) == list(of_files)
    np.testing.assert_array_equal(of_encoder.vectors, of_files.vectors)
    assert ("shes" in of_encoder) == ("shes" in of_files) == (subwords != "refuse")
    query = Query([["she", "shes"], ["he"]], WORDS[2:])
    options = {"lost_vocabulary_threshold": 0.5}
    scores = [WEAT().run_query(query, m, **options)["weat"] for m in (of_encoder, of_files)]
    assert scores[0] == scores[1]
    assert of_encoder.name == "tiny-bert, input embeddings"
