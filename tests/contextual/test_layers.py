"""Scores over the layers of an encoder."""

import numpy as np
import pytest
from fake_encoder import FakeEncoder

from wefe import Query, layer_scores
from wefe.contextual import load_encoder
from wefe.metrics import CEAT, SEAT, WEAT, list_metrics
from wefe.plotting import plot_layer_scores

QUERY = Query([["nurse", "clerk"], ["pilot", "judge"]], [["art", "dance"], ["math", "logic"]])
OTHER = Query([["Ann", "Eve"], ["Bob", "Max"]], [["art", "poem"], ["math", "logic"]])
CONTEXTS = {
    word: [f"{word} is number {i}" for i in range(3)]
    for query in (QUERY, OTHER)
    for part in query.target_sets + query.attribute_sets
    for word in part
}


@pytest.mark.parametrize("metric", [each for each in list_metrics() if not each.needs_vocabulary])
def test_each_layer_scores_as_the_model_at_that_layer(metric):
    query = metric().subqueries(QUERY)[0]
    params = {"random_state": 0, "holdout": False} if metric.__name__ == "RNSB" else {}
    curves = layer_scores(metric, query, FakeEncoder(), metric_params=params)
    expected = [
        metric().run_query(query, FakeEncoder(layer=layer), **params)["result"]
        for layer in range(4)
    ]
    assert curves["score"].tolist() == pytest.approx(expected, nan_ok=True)
    assert not np.isnan(expected).all()
    assert set(curves["metric"]) == {metric().scale(None, **params).label}


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        (SEAT, {"templates": ["This is {}.", "{}!"], "calculate_p_value": True}),
        (CEAT, {"contexts": CONTEXTS, "n_samples": 50}),
    ],
)
def test_metrics_that_encode_texts_do_so_once_for_all_layers(metric, params):
    encoder = FakeEncoder()
    curves = layer_scores(metric, [QUERY, OTHER], encoder, metric_params=params)
    # One call per query, of the texts that the one before did not have.
    assert len(encoder.calls) == 2
    assert not set(encoder.calls[0]) & set(encoder.calls[1])
    for score in curves.itertuples():
        query = QUERY if score.query_name == QUERY.query_name else OTHER
        direct = metric().run_query(query, FakeEncoder(layer=score.layer), **params)
        assert score.score == pytest.approx(direct["result"])
        assert score.p_value == pytest.approx(direct["p_value"], nan_ok=True)


def test_models_and_queries_keep_their_order_and_their_names():
    models = [FakeEncoder(n_layers=2), FakeEncoder("deep", n_layers=3), FakeEncoder(n_layers=2)]
    table = layer_scores(WEAT, [QUERY, OTHER], models)
    assert table["model_name"].tolist() == ["fake"] * 4 + ["deep"] * 6 + ["fake (2)"] * 4
    assert table["layer"].tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1]
    some = layer_scores(WEAT, QUERY, models[1], layers=[-1, 0])
    assert some[["layer", "depth"]].to_numpy().tolist() == [[0, 0], [2, 1]]
    assert some["score"].tolist() == table["score"][[4, 8]].tolist()


def test_undefined_scores_have_a_reason_and_the_figure_takes_the_table():
    lossy = Query([["nurse", "cl#rk"], ["pilot"]], [["art"], ["math"]])
    table = layer_scores("weat", [QUERY, lossy], FakeEncoder(), n_bootstrap=40)
    assert table["score"].isna().tolist() == [False, True] * 4
    assert table["nan_reason"][1::2].str.contains("lost 50%").all()
    assert table["score_lower"][6] < table["score"][6] < table["score_upper"][6]
    assert len(plot_layer_scores(table).data) == 3  # a band, and a curve per query


def test_several_metrics_and_query_sets_keep_their_layers():
    sets = {"a": [QUERY], "b": [OTHER]}
    table = layer_scores(["weat", "mac"], sets, [FakeEncoder(n_layers=2), FakeEncoder()])
    alone = layer_scores("mac", OTHER, FakeEncoder())
    rows = table[(table["metric"] == "MAC") & (table["query_set"] == "b")].iloc[2:]
    assert rows[["layer", "score"]].values.tolist() == alone[["layer", "score"]].values.tolist()


# --- real encoders


def test_the_last_layer_is_pooled_as_the_others_are(tiny_sentence_transformer, query):
    library = tiny_sentence_transformer
    of_pipeline = load_encoder(library, cache=False)
    assert of_pipeline.pooling == "auto"
    plain = load_encoder((library[0].auto_model, library.tokenizer), cache=False)
    ours, expected = (
        layer_scores(WEAT, query, each)["score"].tolist() for each in (of_pipeline, plain)
    )
    assert ours == pytest.approx(expected)
    assert WEAT().run_query(query, of_pipeline)["weat"] != pytest.approx(ours[-1])
