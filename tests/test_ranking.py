"""Rankings, overall scores and correlations: the paper's printed table and worked examples."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe import (
    Query,
    WordEmbeddingModel,
    aggregate,
    calculate_ranking_correlations,
    create_ranking,
    measure,
    overall_scores,
    run_queries,
    score_column,
)
from wefe.metrics import ECT, MAC, WEAT

# WEFE paper, Table 1: printed ranks. Columns WEAT and WEAT-ES are exchanged there, which does not
# matter for correlations of the columns in printed order.
MODELS = ["conceptnet", "fasttext", "glove-twitter", "glove-wiki", "lexvec", "w2v-hd", "w2v"]
# One string per column, one digit per model.
PRINTED_RANKS = {
    "gender": ["2534617", "2437516", "2356714", "1256734"],
    "ethnicity": ["1367245", "1567234", "2356714", "1254736"],
    "religion": ["4127365", "1327654", "2365714", "2153647"],
    "overall": ["2347516", "1347526", "2356714", "2154736"],
}
WEB = [1, 2, 7, 6, 4, 5, 3]
CORRELATIONS = [
    ("spearman", "gender", [0.785714, 0.607143, 0.428571, 0.75, 0.607143, 0.892857]),
    ("spearman", "ethnicity", [0.892857, 0.321429, 0.321429, 0.357143, 0.142857, 0.75]),
    ("spearman", "religion", [0.571429, -0.25, 0.178571, 0.321429, 0.285714, 0.5]),
    ("spearman", "overall", [0.964286, 0.821429, 0.607143, 0.785714, 0.642857, 0.714286]),
    ("kendall", "gender", [0.714286, 0.523810, 0.333333, 0.619048, 0.428571, 0.809524]),
    ("kendall", "overall", [0.904762, 0.714286, 0.333333, 0.619048, 0.428571, 0.428571]),
]


def ranks_of(criterion):
    columns = [[int(rank) for rank in column] for column in PRINTED_RANKS[criterion]]
    return pd.DataFrame(dict(zip("WEDS", columns, strict=True)), index=MODELS)


def totals(scores, query_set, n_queries=1, metric="WEAT", best=0):
    """Aggregated scores of one metric and query set."""
    table = score_column(scores, metric, best)
    return table.assign(query_set=query_set, aggregation="average", n_queries=n_queries)


@pytest.mark.parametrize(("method", "criterion", "expected"), CORRELATIONS)
def test_correlations_of_the_papers_table(method, criterion, expected):
    matrix = calculate_ranking_correlations(ranks_of(criterion), method=method)
    np.testing.assert_allclose(matrix.to_numpy()[np.triu_indices(4, 1)], expected, atol=1e-6)


def test_quality_benchmark_joins_the_ranking_as_a_column():
    """WEFE paper, section 4.2: WEB is better when higher, the bias metrics when lower."""
    quality = score_column(dict(zip(MODELS, [-rank for rank in WEB], strict=True)), "WEB", "higher")
    ranks = ranks_of("overall")
    bias = [score_column(ranks[name], name, "lower") for name in ranks]
    ranking = create_ranking([*bias, quality])
    assert ranking["WEB"].tolist() == WEB
    assert ranking.sum(axis=1).tolist() == [8, 12, 25, 30, 28, 12, 25]
    correlations = calculate_ranking_correlations(ranking)["WEB"].iloc[:4]
    np.testing.assert_allclose(correlations, [0.321429, 0.464286, 0.428571, 0.428571], atol=1e-6)


M1 = {"a": 0.2, "b": 0.5, "c": 0.5, "d": 0.1}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("first", [2, 3, 4, 1]),
        ("average", [2, 3.5, 3.5, 1]),
        ("min", [2, 3, 3, 1]),
        ("dense", [2, 3, 3, 1]),
        ("max", [2, 4, 4, 1]),
    ],
)
def test_ties_are_ranked_as_asked(method, expected):
    table = score_column(M1, "m1", 0)
    ranking = create_ranking([table, table], method=method)
    assert ranking["m1"].tolist() == ranking["m1 (2)"].tolist() == expected


@pytest.fixture
def three_models(toy_model):
    """Less and less association: the toy model, with its first axis shrunk."""
    words, vectors = list(toy_model.vocab), toy_model.vectors
    shrunk = [WordEmbeddingModel((words, vectors * [s, 1, 1]), f"x{s}") for s in (0.3, 0.05)]
    return [toy_model, *shrunk]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("ECT: G average score", [1, 2]),
        ("ECT: G average distance from no bias score", [2, 1]),
        ("ECT: All weighted average distance from no bias score", [2, 1]),
        ("WEAT-ES: G average score", [2, 1]),
        ("MAC: G average of abs values score", [1, 2]),
        ("WEAT: G sum score", [2, 1]),
        ("quality", [2, 1]),
    ],
)
def test_order_is_known_from_the_heading_of_a_matrix(heading, expected, caplog):
    table = pd.DataFrame({heading: [0.9, 0.2]}, index=["a", "b"])
    assert create_ranking([table])[heading].tolist() == expected
    assert ("it is unknown what is better" in caplog.text) == (heading == "quality")


@pytest.mark.parametrize("function", ["sum", "abs_sum", "avg", "abs_avg", "bias_avg"])
@pytest.mark.parametrize("metric", [WEAT, ECT, MAC])
def test_matrices_files_and_totals_are_ranked_alike(three_models, metric, function, tmp_path):
    q = Query([["she", "woman"], ["he", "man"]], [["home", "kids"], ["boss", "job"]])
    asked = {"generate_subqueries": True}
    matrix = run_queries(
        metric, [q], three_models, aggregate_results=True, aggregation_function=function, **asked
    )
    ranking = create_ranking([matrix])
    totals = aggregate(measure(metric, [q], three_models, **asked), function)
    pd.testing.assert_frame_equal(ranking, create_ranking(totals))
    if metric is WEAT or "sum" not in function:
        matrix.to_csv(tmp_path / "t.csv")
        read = pd.read_csv(tmp_path / "t.csv", index_col=0)
        assert create_ranking([read]).to_numpy().tolist() == ranking.to_numpy().tolist()


def test_query_sets_weigh_alike_for_metrics_that_take_them_apart(packaged_model):
    """Section 4.2 of the WEFE paper: weights are the numbers of queries, not of subqueries."""
    from wefe.datasets import load_weat_queries

    queries = load_weat_queries()
    sets = {"one": queries[:2], "other": queries[5:]}
    for metric in (WEAT, ECT):
        parts = aggregate(measure(metric, sets, [packaged_model], generate_subqueries=True))
        assert parts["n_queries"].tolist() == [2, 5]
        expected = np.average(parts["score"], weights=[2, 5])
        assert overall_scores(parts)["score"].item() == pytest.approx(expected)


def test_model_without_score_has_no_rank(caplog):
    tables = [
        score_column({"a": 1.0, "b": 2.0}, "x", 0),
        score_column({"b": 1.0, "c": 0.5}, "y", 0),
    ]
    ranking = create_ranking(tables)
    np.testing.assert_array_equal(ranking.loc[["a", "c"]], [[1, np.nan], [np.nan, 1]])
    assert "no rank" in caplog.text


@pytest.mark.parametrize(
    ("scores", "best", "expected"),
    [
        # Near no bias the last digits are of the size of what was subtracted, not of the result.
        ([0.1 + 0.2 - 0.3, 0.0, (0.1 - 0.3) + 0.2], 0, [1, 1, 1]),
        ([sum([0.1] * 10), 1.0], 1, [1, 1]),
        ([sum([0.1] * 10), 1.0], "higher", [1, 1]),
        ([math.inf, math.inf], "lower", [1, 1]),
        ([0.5, 0.5 * (1 + 1e-9)], 0, [1, 2]),
        ([1.0 + 1e-9, 1.0], 1, [2, 1]),
        # RND of short vectors is small as a whole.
        ([2e-9, 1e-9, 1e-9 * (1 + 1e-5)], 0, [3, 1, 2]),
        ([math.inf, 2.0, -math.inf], "lower", [3, 2, 1]),
        ([0.3, -0.1, 0.9], 0, [2, 1, 3]),
        ([0.3, -0.1, 0.9], "higher", [2, 3, 1]),
    ],
)
def test_scores_that_differ_by_rounding_tie_and_others_do_not(scores, best, expected):
    table = score_column({f"m{i}": score for i, score in enumerate(scores)}, "x", best)
    assert create_ranking([table], method="min")["x"].tolist() == expected


def test_a_correlation_is_over_the_models_of_both_rankings():
    nan = math.nan
    ranks = pd.DataFrame({"a": [1, 2, 3, 4, nan], "b": [2, 1, 4, 3, 5], "c": [nan, nan, 1, 2, 3]})
    matrix = calculate_ranking_correlations(ranks)
    # Two points lie on a line, whatever they mean.
    assert np.isnan(matrix.loc["a", "c"])
    assert matrix.loc["a", "b"] == pytest.approx(0.6)
    assert not np.isnan(matrix.loc["b", "c"])


def test_overall_score_weighs_query_sets_by_their_queries():
    sets = {"gender": (0.2, 7), "ethnicity": (0.3, 9), "religion": (0.1, 9)}
    parts = [totals({"m": score}, name, n) for name, (score, n) in sets.items()]
    one = {**dict.fromkeys(sets, 0), "ethnicity": 1}
    for weights, expected in ((None, 0.2), (dict.fromkeys(sets, 1), 0.2), (one, 0.3)):
        found = overall_scores(parts, weights=weights)
        assert found["score"].item() == pytest.approx(expected)
    # ECT is best at 1, so a sum over 4 queries at 4 and one over 8 at 8.
    parts = [
        totals({"a": 3.0, "b": 2.0, "c": 1.0}, "one", best=4),
        totals({"a": 7.0, "b": 6.0}, "two", best=8),
    ]
    overall = overall_scores(parts)
    np.testing.assert_array_equal(create_ranking(overall).iloc[:, 0], [1, 2, np.nan])
    assert overall["best"].tolist() == [6.0] * 3


def test_overall_score_keeps_metrics_apart_and_refuses_to_mix_aggregations(toy_model, toy_query):
    scores = measure([WEAT, MAC], [toy_query], [toy_model], generate_subqueries=True)
    assert overall_scores(aggregate(scores))["metric"].tolist() == ["WEAT", "MAC"]
    with pytest.raises(ValueError, match="several ways"):
        overall_scores([aggregate(scores, "avg"), aggregate(scores, "sum")])


UNAGGREGATED = pd.DataFrame({"query_name": ["q"], "score": [1.0]})
SUM = pd.DataFrame({"ECT: G sum score": [1.8, 1.2]}, ["a", "b"])
MATRIX = pd.DataFrame({"a wrt b": [1.0], "c wrt d": [2.0]}, index=["m"]).rename_axis(columns="WEAT")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: create_ranking([{"a": 1}]), TypeError, "element 0 must be a DataFrame"),
        (lambda: create_ranking(UNAGGREGATED), ValueError, "wefe.aggregate"),
        (lambda: create_ranking([MATRIX]), ValueError, "aggregate_results=True"),
        (lambda: create_ranking([SUM]), ValueError, "a sum over an unknown number of scores"),
        (lambda: create_ranking(pd.DataFrame({"x": [1, 2]}, ["a", "a"])), ValueError, "duplicate"),
        (lambda: overall_scores([score_column(M1, "x", 0)]), TypeError, "aggregate"),
        (lambda: overall_scores(totals(M1, "x"), weights={"x": -1}), ValueError, "at least 0"),
        (lambda: overall_scores(totals(M1, "x"), weights={"y": 1}), ValueError, "for each of"),
    ],
)
def test_wrong_arguments_say_what_is_wanted(call, error, text):
    with pytest.raises(error, match=text):
        call()
