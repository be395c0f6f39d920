"""Table 1 of the WEFE paper: its scores, through our ranking, give its ranks.

Badilla, Bravo-Marquez and Perez, "WEFE: The Word Embeddings Fairness Evaluation Framework", IJCAI
2020, Table 1: "rank (absolute score)" of seven models, by four metrics and three sets of queries,
then overall; in the last column the ranks of the Word Embedding Benchmark. Scores are printed with
two decimals.
"""

import itertools
from importlib import resources

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from made_results import results_of

# As they were printed; the data of the package say which two columns were exchanged.
METRICS = ["WEAT-ES", "WEAT", "RND", "RNSB"]
#: Number of queries of each set, which is its weight in the overall scores (section 4.2).
WEIGHTS = {"gender": 7, "ethnicity": 9, "religion": 9}
QUERY_SETS = [*WEIGHTS]
#: Of each model by each metric.
RANKS = {
    "gender": "2221 5432 3355 4766 6577 1113 7644",
    "ethnicity": "1121 3532 6655 7764 2277 4313 5446",
    "religion": "4122 1331 2265 7753 3676 6514 5447",
    "Overall": "2122 3331 4455 7764 5577 1213 6646",
}
_printed = pd.read_csv(resources.files("wefe.replication") / "printed/wefe.csv")
_printed = _printed[_printed["table"] == "Table 1"]
MODELS = [*_printed["model"].unique()]
WEB = dict(zip(MODELS, [1, 2, 7, 6, 4, 5, 3], strict=True))


def printed_scores(place):
    cells = _printed[_printed["item"] == place].pivot(index="model", columns="score")["printed"]
    return cells.loc[MODELS, METRICS]


def printed_ranks(place):
    cells = [[*map(float, ranks)] for ranks in RANKS[place].split()]
    return pd.DataFrame(cells, index=MODELS, columns=METRICS)


def study(tables, external=(), **aggregation):
    """Return a study of one query for each query set."""
    scores = {
        metric: {
            place: {"all queries": {model: float(table.loc[model, metric]) for model in MODELS}}
            for place, table in tables.items()
        }
        for metric in METRICS
    }
    default = {"function": "bias_avg", "missing": "queries", "ties": "min"}
    settings = {
        "aggregation": {**default, "correlation": "spearman", **aggregation},
        "external": list(external),
    }
    return results_of(scores, settings, weights=WEIGHTS)


def from_scores(**options):
    """Return the study that has the printed scores."""
    return study({name: printed_scores(name) for name in QUERY_SETS}, **options)


# Ranks


@pytest.mark.parametrize("place", QUERY_SETS)
def test_a_study_of_the_printed_scores_has_the_printed_ranks(place):
    """Scores that are equal to two decimals have one of the ranks that they share."""
    lowest, highest = (from_scores(ties=ties).rankings(place) for ties in ("min", "max"))
    ranks = printed_ranks(place)
    assert ((lowest <= ranks) & (ranks <= highest)).all(axis=None)
    n_tied = {"gender": 2, "ethnicity": 6, "religion": 4}
    assert (highest - lowest).sum(axis=None) == n_tied[place]


# Overall


def test_the_overall_scores_are_the_printed_ones_but_for_an_unweighted_mean():
    # Printed scores are rounded to 0.005, those that ours are the mean of as well.
    differences = (from_scores().aggregated() - printed_scores("Overall")).abs().stack()
    assert differences.size == 28
    odd = differences[differences > 0.005 + 1e-9]
    assert odd.to_dict() == {("lexvec", "RND"): pytest.approx(0.0256)}
    three = [printed_scores(place).loc["lexvec", "RND"] for place in QUERY_SETS]
    assert printed_scores("Overall").loc["lexvec", "RND"] == round(float(np.mean(three)), 2)


@pytest.mark.parametrize("ties", ["min", "max"])
def test_the_overall_ranks_are_exactly_the_printed_ones(ties):
    # Weighted means tell apart what two decimals do not, so there are no ties.
    pd.testing.assert_frame_equal(
        from_scores(ties=ties).rankings(), printed_ranks("Overall"), check_names=False
    )


# Correlations


@pytest.mark.parametrize(
    ("method", "expected"),
    [("spearman", scipy.stats.spearmanr), ("kendall", scipy.stats.kendalltau)],
)
def test_rankings_are_correlated_with_the_benchmark_too(method, expected):
    # The scores are the printed overall ranks, in which there are no ties.
    web = {"name": "WEB", "best": "lower", "scores": {m: float(r) for m, r in WEB.items()}}
    results = study({"gender": printed_ranks("Overall")}, [web], correlation=method)
    ranking = results.rankings()
    assert ranking.sum(axis=1).tolist() == [8, 12, 25, 30, 28, 12, 25]
    found = results.correlations()
    assert list(found) == [*METRICS, "WEB"]
    for one, other in itertools.product(found, repeat=2):
        pair = expected(ranking[one], ranking[other]).statistic
        assert found.loc[one, other] == pytest.approx(pair)
