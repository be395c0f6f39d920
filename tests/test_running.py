"""run_queries: many queries, many models, one table."""

import math
from itertools import chain

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from wefe import Query, WordEmbeddingModel, aggregate, measure, run_queries
from wefe.metrics import (
    ECT,
    MAC,
    RIPA,
    RND,
    RNSB,
    SCWEAT,
    WEAT,
    BaseMetric,
    get_metric,
    list_metrics,
)
from wefe.metrics._declaration import Scale
from wefe.metrics._registry import as_metric
from wefe.plotting import plot_queries_results, plot_ranking
from wefe.ranking import create_ranking, overall_scores
from wefe.running import adjust_p_values, generate_subqueries_from_queries_list, scores_matrix

FEMALE, MALE = ["she", "woman"], ["he", "man"]
HOME, WORK, NATURE = ["home", "kids"], ["boss", "job"], ["tree", "nurse"]


def query(*attributes, names=None, targets=(FEMALE, MALE)):
    return Query(list(targets), list(attributes), ["Female", "Male"][: len(targets)], names)


@pytest.fixture
def models(toy_model):
    """The toy model, a rotated copy (same biases) and one without 'kids' and 'tree'."""
    words, vectors = list(toy_model.vocab), toy_model.vectors
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    keep = [i for i, word in enumerate(words) if word not in ("kids", "tree")]
    return [
        toy_model,
        WordEmbeddingModel((words, vectors @ rotation), "rotated"),
        WordEmbeddingModel(([words[i] for i in keep], vectors[keep]), "gaps"),
    ]


@pytest.fixture
def queries():
    return [
        query(HOME, WORK, names=["Home", "Work"]),
        query(WORK, ["folk", "they"], names=["Work", "Folk"]),
    ]


def test_every_cell_is_what_run_query_returns(models, queries):
    table = run_queries(MAC, queries, models)
    for model in models:
        for q in queries:
            alone = MAC().run_query(q, model)["result"]
            np.testing.assert_equal(table.loc[model.name, q.query_name], alone)


def test_zero_vector_of_one_model_does_not_stop_the_others(toy_model, queries):
    vectors = toy_model.vectors.copy()
    vectors[toy_model.vocab["boss"]] = 0
    broken = WordEmbeddingModel((list(toy_model.vocab), vectors), "broken")
    scores = measure(WEAT, queries, [broken, toy_model])
    assert scores["score"].isna().tolist() == [True, True, False, False]
    assert "boss" in scores["nan_reason"][0]


def test_queries_of_one_name_stay_apart_and_those_asked_twice_are_run_once(toy_model, caplog):
    first, second = query(HOME, WORK), query(NATURE, WORK)
    renamed = query(HOME, WORK, names=["H", "W"])
    table = run_queries(WEAT, [first, second, first, renamed], [toy_model])
    assert table.columns[:2].tolist() == [first.query_name, f"{first.query_name} (2)"]
    one, other, again = table.iloc[0]
    assert one == again != other
    assert "queries are called" in caplog.text


@pytest.mark.parametrize(
    ("function", "heading", "expected"),
    [
        ("sum", "sum", lambda a, b: a + b),
        ("abs_sum", "sum of abs values", lambda a, b: abs(a) + abs(b)),
        ("avg", "average", lambda a, b: (a + b) / 2),
        ("abs_avg", "average of abs values", lambda a, b: (abs(a) + abs(b)) / 2),
        ("bias_avg", "average distance from no bias", lambda a, b: (abs(a) + abs(b)) / 2),
        (lambda scores: scores.max(axis=1), "custom aggregation", max),
    ],
)
def test_aggregated_column_is_named_and_computed_as_documented(
    toy_model, queries, function, heading, expected
):
    how = {"aggregate_results": True, "aggregation_function": function}
    table = run_queries(WEAT, queries, [toy_model], "Gender", **how)
    assert table.columns[-1] == f"WEAT: Gender {heading} score"
    assert table.iloc[0, -1] == pytest.approx(expected(*table.iloc[0, :2]))
    only = run_queries(WEAT, queries, [toy_model], "Gender", return_only_aggregation=True, **how)
    pd.testing.assert_frame_equal(only, table.iloc[:, -1:])


def test_models_are_aggregated_over_the_same_queries(models, queries, caplog):
    table = run_queries(WEAT, queries, models, aggregate_results=True)
    # "gaps" cannot answer the first query, so it counts for nobody.
    for name in table.index:
        assert table.loc[name].iloc[-1] == pytest.approx(abs(table.loc[name].iloc[1]))
    assert queries[0].query_name in caplog.text
    totals = aggregate(measure(WEAT, queries, models))
    assert totals["left_out"].tolist() == [[queries[0].query_name]] * 3
    assert totals[["n_queries", "n_scores"]].to_numpy().tolist() == [[2, 1]] * 3


class Share(BaseMetric):
    """The percentage of the first group, which is 100 / n where there is no bias."""

    metric_template = ("n", 1)
    metric_name, metric_short_name = "Share", "SHARE"
    value_range = (0.0, 100.0)
    no_bias_value = 50.0

    def scale(self, query=None, **params):
        n_groups = 2 if query is None else len(query.target_sets)
        return Scale("SHARE", self.value_range, 100 / n_groups)

    def _compute(self, targets, attributes):
        return {2: 52.0, 3: 35.0}[len(targets)] + attributes[0].vectors[0, 0]


def of_groups(n_groups, name):
    sets = [FEMALE, MALE, ["they", "folk"]][:n_groups]
    return Query(sets, [HOME], list("abc")[:n_groups], [name])


@pytest.mark.parametrize(
    ("aggregation", "expected", "best"),
    [
        ("bias_avg", (35 - 100 / 3 + 2) / 2, 0.0),
        ("sum", 87, 100 / 3 + 50),
        (lambda scores: scores.mean(axis=1), 87 / 2, (100 / 3 + 50) / 2),
    ],
)
def test_what_means_no_bias_is_that_of_each_query(toy_model, aggregation, expected, best):
    words, vectors = list(toy_model.vocab), toy_model.vectors.copy()
    vectors[words.index("home"), 0] = 3.0
    models = [toy_model, WordEmbeddingModel((words, vectors), "farther from no bias")]
    lost = Query([["zz"], ["yy"]], [HOME], list("ab"), ["lost"])  # does not count
    asked = [of_groups(3, "three"), of_groups(2, "two"), lost]
    table = run_queries(
        Share, asked, models, aggregate_results=True, aggregation_function=aggregation
    )
    shift = {"sum": 2}.get(aggregation, 1) * toy_model["home"][0]
    assert table.iloc[0, -1] == pytest.approx(expected + shift)
    scores = measure(Share, asked, models)
    assert scores["no_bias_value"][:2].tolist() == pytest.approx([100 / 3, 50.0])
    totals = aggregate(scores, aggregation)
    assert totals["score"].tolist() == table.iloc[:, -1].tolist()
    assert totals["best"].tolist() == pytest.approx([best] * 2)
    assert create_ranking(totals).iloc[:, 0].tolist() == [1, 2]
    assert plot_queries_results(table).data
    assert plot_queries_results(scores).data


@pytest.mark.parametrize(
    ("metric", "function", "warns"),
    [
        (WEAT, "abs_avg", False),
        (WEAT, "avg", True),
        (RNSB, "avg", False),
        (ECT, "avg", False),
        (ECT, "abs_avg", True),
        (MAC, "abs_avg", True),
        (MAC, "bias_avg", False),
    ],
)
def test_aggregation_against_the_order_of_a_metric_is_said(
    toy_model, metric, function, warns, caplog
):
    """In the heading, except around 0: those headings are documented, and the log says it."""
    four = [query(HOME + NATURE, [*WORK, "folk", "they"])]
    params = {"holdout": False} if metric is RNSB else {}
    how = {"metric_params": params, "generate_subqueries": True}
    aggregated = {"aggregate_results": True, "aggregation_function": function}
    table = run_queries(metric, four, [toy_model], **how, **aggregated)
    in_heading = warns and metric().no_bias_value != 0
    assert ("bias_avg" in caplog.text) is (warns and not in_heading)
    ranking = create_ranking([table])
    assert list(ranking.columns) == [table.columns[-1]]
    scores = measure(metric, {"one": four, "other": four}, [toy_model], **how)
    overall = create_ranking(overall_scores(aggregate(scores, function)))
    for text in (table.columns[-1], plot_ranking(ranking).layout.title.text, overall.columns[0]):
        assert ("may rank wrongly" in text) is in_heading


@pytest.mark.parametrize("metric", [MAC, RNSB])
def test_metrics_of_any_number_of_sets_keep_their_queries(metric):
    """A published implementation drops all of them when subqueries are generated."""
    whole = query(HOME, WORK)
    assert generate_subqueries_from_queries_list(metric, [whole]) == [whole]


def test_subqueries_fit_the_metric_and_occur_once(toy_model, queries):
    # Female and Male wrt Work is a subquery of both.
    table = run_queries(RND, queries, [toy_model], generate_subqueries=True)
    assert [name.split("wrt ")[1] for name in table.columns] == ["Home", "Work", "Folk"]
    with pytest.raises(ValueError, match="generate_subqueries=True"):
        run_queries(RND, queries, [toy_model])
    small = query(HOME)
    scores = measure(WEAT, [*queries, small], [toy_model], generate_subqueries=True)
    assert scores["score"].isna().tolist() == [False, False, True]
    assert "no subquery" in scores["nan_reason"][2]


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.parametrize(
    ("metric", "params", "n_bootstrap"),
    [
        (WEAT, {"calculate_p_value": True, "p_value_iterations": 50}, 40),
        (RNSB, {"holdout": False}, 0),
    ],
)
def test_nothing_depends_on_n_jobs(models, queries, metric, params, n_bootstrap, backend, caplog):
    def run():
        caplog.clear()
        drawn = {"random_state": np.random.default_rng(3)}
        options = {"metric_params": params | drawn, "n_bootstrap": n_bootstrap}
        return measure(metric, queries, models, **options), sorted(caplog.messages)

    alone, messages = run()
    with joblib.parallel_config(backend=backend, n_jobs=2):
        together, messages_there = run()
    pd.testing.assert_frame_equal(together, alone)
    assert messages_there == messages
    assert len(messages) == 1


def test_several_metrics_and_query_sets_are_one_table(models, queries):
    sets = {"both": queries, "first": queries[:1]}
    scores = measure(["weat-es", MAC(average="words")], sets, models)
    sizes = scores.groupby(["metric", "query_set"], sort=False).size().to_dict()
    expected = {"both": 6, "first": 3}
    assert sizes == {(m, s): n for m in ("WEAT-ES", "MAC") for s, n in expected.items()}
    mac = scores[(scores["metric"] == "MAC") & (scores["query_set"] == "both")]
    alone = run_queries(MAC, queries, models, metric_params={"average": "words"})
    pd.testing.assert_frame_equal(scores_matrix(mac), alone)
    with pytest.raises(ValueError, match="one metric and one query set"):
        scores_matrix(scores)
    assert len(aggregate(scores)) == 4 * len(models)
    with pytest.raises(ValueError, match="duplicate entries"):
        aggregate(pd.concat([scores, scores]))


def test_p_values_are_adjusted_for_the_tests_of_a_call(models, queries):
    """Holm by hand: the least p-value times n, the next times n - 1, and never less than before.

    Benjamini and Hochberg by hand: the least p * n / rank of this and all larger p-values.
    """
    more = [*queries, query(HOME, NATURE, names=["Home", "Nature"])]
    scores = measure(WEAT(calculate_p_value=True, p_value_method="exact"), more, models)
    known = scores.dropna(subset="p_value").sort_values("p_value")
    p_values = known["p_value"].to_numpy()
    assert 3 < len(known) < len(scores)
    holm = np.maximum.accumulate(p_values * np.arange(len(p_values), 0, -1)).clip(max=1)
    ties = known.assign(holm=holm).groupby("p_value")["holm"].transform("first")
    np.testing.assert_allclose(known["p_value_holm"], ties)
    shares = [p * len(p_values) / (p_values <= p).sum() for p in p_values]
    bh = [min(1, *shares[i:]) for i in range(len(p_values))]
    np.testing.assert_allclose(known["p_value_bh"], bh)
    assert (scores["p_value_holm"].isna() == scores["p_value"].isna()).all()
    # Another family: that of one model.
    part = scores[scores["model_name"] == models[0].name]
    assert adjust_p_values(part)["p_value_holm"].min() == pytest.approx(
        part["p_value"].min() * part["p_value"].notna().sum()
    )


def test_query_that_a_metric_cannot_answer_does_not_stop_the_others(toy_model):
    unequal = Query([["she"], ["he", "man"]], [HOME], ["F", "M"], ["Home"])
    good = Query([["she", "woman"], ["he", "man"]], [HOME], ["F", "M"], ["Work"])
    table = run_queries(RIPA, [unequal, good], [toy_model])
    assert table.isna().to_numpy().tolist() == [[True, False]]
    scores = measure(RIPA, [unequal], [toy_model])
    assert "paired by position" in scores["nan_reason"][0]


def test_warnings_and_reasons_are_logged_once(toy_model, queries, caplog):
    def logged():
        messages = caplog.messages[:]
        caplog.clear()
        return messages

    params = {"calculate_p_value": True}
    run_queries(MAC, queries, [toy_model], metric_params=params)
    (message,) = logged()
    assert message.startswith("2 of 2 scores: MAC has no p-value")
    scores = measure(MAC, queries, [toy_model], metric_params=params)
    assert not logged()
    assert scores["warnings"].str.contains("has no p-value").all()
    result = MAC().run_query(queries[0], toy_model, **params)
    (message,) = logged()
    assert result.warnings[0] in message
    lost = Query([["she", "xyzzy", "woman"], ["he", "man", "plugh"]], [HOME])
    run_queries(RIPA, [lost], [toy_model], lost_vocabulary_threshold=0.5)
    (message,) = logged()
    assert "2 of 3 pairs" in message


def test_intervals_are_those_of_the_scores_shown(toy_model, queries):
    """Of the WEAT statistic, not of the effect size; by rows drawn as documented."""

    def weat(sets):
        return WEAT().run_vectors(sets[:2], sets[2:])["weat"]

    tidy = measure(WEAT, queries, [toy_model], n_bootstrap=40, bootstrap_random_state=3)
    pd.testing.assert_frame_equal(scores_matrix(tidy), run_queries(WEAT, queries, [toy_model]))
    for asked, row in zip(queries, tidy.to_dict("records"), strict=True):
        sets = [toy_model.get_vectors(words) for words in asked.target_sets + asked.attribute_sets]
        rows = [np.random.default_rng([3, i]).integers(2, size=(40, 2)) for i in range(4)]
        samples = [
            weat([part[own[case]] for part, own in zip(sets, rows, strict=True)])
            for case in range(40)
        ]
        assert row["score"] == pytest.approx(weat(sets))
        bounds = row["score_lower"], row["score_upper"]
        assert bounds == pytest.approx(expanded(samples, row["score"], smallest=2))
        assert row["score_se"] == pytest.approx(np.std(samples, ddof=1))
        assert row["interval_nan_reason"] is None


def expanded(samples, score, smallest):
    """Bounds for few words, written out (scipy's distributions instead of its functions)."""
    samples = np.array(samples)
    wide = math.sqrt(smallest / (smallest - 1)) * stats.t(smallest - 1).ppf(0.975)
    below = ((samples < score).mean() + (samples <= score).mean()) / 2
    shift = stats.norm.ppf(below)
    return tuple(np.quantile(samples, stats.norm.cdf([2 * shift - wide, 2 * shift + wide])))


def test_tables_say_which_intervals_cannot_tell_bias_from_chance(toy_model):
    rows = measure(["same", "rnd"], [query(HOME), query(["lost"])], [toy_model], n_bootstrap=40)
    same, lost, *rnd = rows["interval_note"]
    assert same.startswith("0, which means no bias, is the end of the range")
    assert pd.isna([lost, *rnd]).all()


def test_score_without_an_interval_says_why(toy_model):
    class Counting(BaseMetric):
        metric_template = (2, 1)
        metric_name = metric_short_name = "N"
        asked = 0

        def _compute(self, targets, attributes):
            self.asked += 1
            return float(self.asked)

    class Own(Counting):
        def run_query(self, query, model, **lookup):
            return {"query_name": query.query_name, "result": 1.0}

    lost = query(["lost", "gone"], names=["Lost"])
    for metric, reason in (
        (Own, "its own run_query"),
        (Counting, "gives another score (1, then 1 and 2)"),
    ):
        (row,) = measure(metric(), [query(HOME)], [toy_model], n_bootstrap=40).to_dict("records")
        assert (row["score"], row["nan_reason"]) == (1.0, None)
        assert np.isnan(row["score_lower"])
        assert reason in row["interval_nan_reason"]
    # Of a query without a score, that reason is the reason.
    (row,) = measure(ECT, [lost], [toy_model], n_bootstrap=40).to_dict("records")
    assert "lost 100%" in row["nan_reason"]
    assert row["interval_nan_reason"] is None


def test_wefat_is_another_name_of_sc_weat_and_listed_nowhere():
    assert get_metric("wefat") is get_metric("sc-weat") is SCWEAT
    assert "wefat" not in [metric.metric_short_name.lower() for metric in list_metrics()]
    with pytest.raises(ValueError, match="metric must be one of") as refused:
        get_metric("wefatt")
    assert "'wefat'" not in str(refused.value)


@pytest.mark.parametrize("metric", ["weat", "weat-es", "rnd", "mac", "ect"])
@pytest.mark.parametrize("params", [{}, {"normalize": True}, {"strategy": "all"}])
def test_models_scored_at_once_are_scored_as_one_by_one(metric, params):
    words = [*"abcdefgh", "A", "zero"]
    vectors = np.random.default_rng(0).normal(size=(40, len(words), 7))
    vectors[:, -1] = 0
    models = [WordEmbeddingModel((words, own), f"{i}") for i, own in enumerate(vectors)]
    # Other words, other dimensions, and words that are lost.
    models.append(WordEmbeddingModel((words[2:], vectors[0, 2:]), "few"))
    models.append(WordEmbeddingModel((words, vectors[0, :, :4]), "narrow"))
    query = Query([["A", "b", "c"], ["d", "e", "x"]], [["f", "g", "h"], ["a", "c"]])
    params = params | {"preprocessors": [{}, {"lowercase": True}], "lost_vocabulary_threshold": 0.4}
    parts = as_metric(metric).subqueries(query)
    scores = measure(metric, parts, models, metric_params=params)
    results = [
        as_metric(metric).run_query(part, each, **params) for each in models for part in parts
    ]
    expected = [result["result"] for result in results]
    assert scores["score"].tolist() == pytest.approx(expected, rel=1e-13, nan_ok=True)
    assert scores["nan_reason"].fillna("").tolist() == [r.nan_reason or "" for r in results]
    lost = [", ".join(chain(*result.lost_words.values())) for result in results]
    assert scores["lost_words"].fillna("").tolist() == lost


def test_a_metric_that_inherits_a_formula_is_asked_for_its_own(models, queries):
    class Doubled(WEAT):
        metric_short_name = "DOUBLED"

        def _compute(self, targets, attributes):
            return 2 * super()._compute(targets, attributes).values["result"]

    single = measure("weat", queries, models)["score"]
    np.testing.assert_allclose(measure(Doubled, queries, models)["score"], 2 * single)
