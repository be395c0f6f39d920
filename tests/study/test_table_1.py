"""Table 1 of the WEFE paper: its scores, through our ranking, give its ranks.

Badilla, Bravo-Marquez and Perez, "WEFE: The Word Embeddings Fairness Evaluation Framework", IJCAI
2020, Table 1: "rank (absolute score)" of seven models, by four metrics and three sets of queries,
then overall; in the last column the ranks of the Word Embedding Benchmark. Scores are printed with
two decimals.
"""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from made_results import results_of

MODELS = ["conceptnet", "fasttext", "glove-twitter", "glove-wiki", "lexvec", "w2v-hd", "w2v"]
METRICS = ["WEAT", "WEAT-ES", "RND", "RNSB"]
QUERY_SETS = ["gender", "ethnicity", "religion"]
#: Number of queries of each set, which is its weight in the overall scores (section 4.2).
WEIGHTS = {"gender": 7, "ethnicity": 9, "religion": 9}

PRINTED = {
    "gender": """
        2 (0.37) 2 (0.20) 2 (0.01) 1 (0.02)
        5 (0.71) 4 (0.47) 3 (0.02) 2 (0.02)
        3 (0.50) 3 (0.41) 5 (0.13) 5 (0.23)
        4 (0.66) 7 (0.84) 6 (0.18) 6 (0.29)
        6 (0.79) 5 (0.71) 7 (0.33) 7 (0.32)
        1 (0.16) 1 (0.08) 1 (0.00) 3 (0.03)
        7 (0.90) 6 (0.82) 4 (0.08) 4 (0.14)""",
    "ethnicity": """
        1 (0.46) 1 (0.14) 2 (0.03) 1 (0.03)
        3 (0.49) 5 (0.20) 3 (0.06) 2 (0.04)
        6 (0.75) 6 (0.42) 5 (0.16) 5 (0.07)
        7 (1.00) 7 (0.58) 6 (0.26) 4 (0.07)
        2 (0.47) 2 (0.15) 7 (0.73) 7 (0.17)
        4 (0.52) 3 (0.19) 1 (0.03) 3 (0.05)
        5 (0.53) 4 (0.19) 4 (0.15) 6 (0.12)""",
    "religion": """
        4 (0.96) 1 (0.11) 2 (0.05) 2 (0.07)
        1 (0.84) 3 (0.16) 3 (0.13) 1 (0.04)
        2 (0.84) 2 (0.15) 6 (0.44) 5 (0.18)
        7 (1.18) 7 (0.27) 5 (0.33) 3 (0.10)
        3 (0.94) 6 (0.21) 7 (0.89) 6 (0.22)
        6 (1.05) 5 (0.19) 1 (0.03) 4 (0.17)
        5 (1.04) 4 (0.19) 4 (0.20) 7 (0.31)""",
    "overall": """
        2 (0.61) 1 (0.15) 2 (0.03) 2 (0.04)
        3 (0.68) 3 (0.26) 3 (0.07) 1 (0.03)
        4 (0.71) 4 (0.32) 5 (0.25) 5 (0.15)
        7 (0.97) 7 (0.54) 6 (0.26) 4 (0.14)
        5 (0.73) 5 (0.33) 7 (0.65) 7 (0.23)
        1 (0.61) 2 (0.16) 1 (0.02) 3 (0.09)
        6 (0.82) 6 (0.37) 4 (0.15) 6 (0.19)""",
}
WEB = dict(zip(MODELS, [1, 2, 7, 6, 4, 5, 3], strict=True))


def printed(place, pattern):
    """Return the ranks or the scores of a block."""
    cells = np.reshape(re.findall(pattern, PRINTED[place]), (7, 4)).astype(float)
    return pd.DataFrame(cells, index=MODELS, columns=METRICS)


def printed_scores(place):
    return printed(place, r"\((.*?)\)")


def printed_ranks(place):
    return printed(place, r"(\d) \(")


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
    differences = (from_scores().aggregated() - printed_scores("overall")).abs().stack()
    assert differences.size == 28
    odd = differences[differences > 0.005 + 1e-9]
    assert odd.to_dict() == {("lexvec", "RND"): pytest.approx(0.0256)}
    three = [printed_scores(place).loc["lexvec", "RND"] for place in QUERY_SETS]
    assert printed_scores("overall").loc["lexvec", "RND"] == round(float(np.mean(three)), 2)


@pytest.mark.parametrize("ties", ["min", "max"])
def test_the_overall_ranks_are_exactly_the_printed_ones(ties):
    # Weighted means tell apart what two decimals do not, so there are no ties.
    pd.testing.assert_frame_equal(
        from_scores(ties=ties).rankings(), printed_ranks("overall").astype(float), check_names=False
    )


# Correlations


@pytest.mark.parametrize(
    ("method", "expected"),
    [("spearman", scipy.stats.spearmanr), ("kendall", scipy.stats.kendalltau)],
)
def test_rankings_are_correlated_with_the_benchmark_too(method, expected):
    # The scores are the printed overall ranks, in which there are no ties.
    web = {"name": "WEB", "best": "lower", "scores": {m: float(r) for m, r in WEB.items()}}
    results = study({"overall": printed_ranks("overall")}, [web], correlation=method)
    ranking = results.rankings()
    assert ranking.sum(axis=1).tolist() == [8, 12, 25, 30, 28, 12, 25]
    found = results.correlations()
    assert list(found) == [*METRICS, "WEB"]
    for one, other in itertools.product(found, repeat=2):
        pair = expected(ranking[one], ranking[other]).statistic
        assert found.loc[one, other] == pytest.approx(pair)
