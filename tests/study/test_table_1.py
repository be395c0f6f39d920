"""Table 1 of the WEFE paper: its scores, through our ranking, give its ranks.

Badilla, Bravo-Marquez and Perez, "WEFE: The Word Embeddings Fairness Evaluation Framework", IJCAI
2020, Table 1: "rank (absolute score)" of seven models, by four metrics and three sets of queries,
then overall; in the last column the ranks of the Word Embedding Benchmark. Scores are printed with
two decimals.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from made_results import results_of

from wefe import (
    calculate_ranking_correlations,
    create_ranking,
    score_column,
)

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

#: Printed scores that are equal to two decimals although their ranks differ.
TIES = {
    ("gender", "RNSB", "conceptnet", "fasttext"),
    ("ethnicity", "WEAT-ES", "w2v-hd", "w2v"),
    ("ethnicity", "RND", "conceptnet", "w2v-hd"),
    ("ethnicity", "RNSB", "glove-twitter", "glove-wiki"),
    ("religion", "WEAT", "fasttext", "glove-twitter"),
    ("religion", "WEAT-ES", "w2v-hd", "w2v"),
    ("overall", "WEAT", "conceptnet", "w2v-hd"),
}


def cells(place):
    return [
        line.replace("(", "").replace(")", "").split() for line in PRINTED[place].split("\n")[1:]
    ]


def printed_scores(place):
    rows = [[float(text) for text in row[1::2]] for row in cells(place)]
    return pd.DataFrame(rows, index=MODELS, columns=METRICS)


def printed_ranks(place):
    rows = [[int(text) for text in row[::2]] for row in cells(place)]
    return pd.DataFrame(rows, index=MODELS, columns=METRICS)


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


def ranked_by_library(place, ties):
    tables = [score_column(printed_scores(place)[metric], metric, best=0) for metric in METRICS]
    return create_ranking(tables, method=ties)


# Ranks


def test_the_ties_of_printed_scores_are_these_and_no_others():
    found = {
        (place, metric, one, other)
        for place, metric in itertools.product(PRINTED, METRICS)
        for one, other in itertools.combinations(MODELS, 2)
        if printed_scores(place).loc[one, metric] == printed_scores(place).loc[other, metric]
    }
    assert found == TIES


def check_ranks(place, lowest, highest):
    """Exactly the printed ranks; tied scores have one of the ranks that they share."""
    printed = printed_ranks(place)
    for metric in METRICS:
        tied = {model for tie in TIES if tie[:2] == (place, metric) for model in tie[2:]}
        for model in MODELS:
            low, high = lowest.loc[model, metric], highest.loc[model, metric]
            assert low <= printed.loc[model, metric] <= high
            assert high - low == (1 if model in tied else 0)


@pytest.mark.parametrize("place", QUERY_SETS)
def test_a_study_of_the_printed_scores_has_the_printed_ranks(place):
    check_ranks(place, *(from_scores(ties=ties).rankings(place) for ties in ("min", "max")))


@pytest.mark.parametrize("place", PRINTED)
def test_the_library_gives_the_printed_ranks(place):
    check_ranks(place, *(ranked_by_library(place, ties) for ties in ("min", "max")))


# Overall


def test_the_overall_scores_are_the_printed_ones_but_for_an_unweighted_mean():
    # Printed scores are rounded to 0.005, those that ours are the mean of as well.
    differences = (from_scores().aggregated() - printed_scores("overall")).abs().stack()
    assert differences.size == 28
    odd = differences[differences > 0.005 + 1e-9]
    assert odd.to_dict() == {("lexvec", "RND"): pytest.approx(0.0256)}
    three = [printed_scores(place).loc["lexvec", "RND"] for place in QUERY_SETS]
    assert printed_scores("overall").loc["lexvec", "RND"] == round(float(np.mean(three)), 2)
    assert np.average(three, weights=list(WEIGHTS.values())) == pytest.approx(0.6756)


@pytest.mark.parametrize("ties", ["min", "max"])
def test_the_overall_ranks_are_exactly_the_printed_ones(ties):
    # Weighted means tell apart what two decimals do not, so there are no ties.
    pd.testing.assert_frame_equal(
        from_scores(ties=ties).rankings(), printed_ranks("overall").astype(float), check_names=False
    )


# The erratum

# The scores of a later run by the authors, with the columns in the right order, in the notebook of
# their library: WEAT, then its effect size.
LATER = {
    "gender": """.202 .366 .468 .709 .411 .504 .845 .656 .712 .791 .086 .180 .830 .941""",
    "ethnicity": """.137 .461 .203 .486 .417 .746 .580 .996 .153 .467 .187 .518 .191 .529""",
    "religion": """.102 .978 .152 .838 .148 .824 .261 1.195 .198 .935 .176 1.051 .176 1.051""",
}


@pytest.mark.parametrize("place", QUERY_SETS)
def test_the_first_printed_column_is_the_effect_size_of_weat(place):
    """The columns WEAT and WEAT-ES are exchanged in print, as the authors say in their notebook."""
    later = np.array(LATER[place].split(), dtype=float).reshape(7, 2)
    weat, effect_size = later.T
    printed = printed_scores(place)
    assert np.abs(printed["WEAT"] - effect_size).max() < 0.05
    assert np.abs(printed["WEAT-ES"] - weat).max() < 0.05
    assert np.abs(printed["WEAT"] - weat).max() > 0.1


# Correlations


def from_ranks(place, correlation):
    """Return a study whose scores are the printed ranks, in which there are no ties."""
    web = {"name": "WEB", "best": "lower", "scores": {m: float(r) for m, r in WEB.items()}}
    external = [web] if place == "overall" else []
    return study({place: printed_ranks(place)}, external, correlation=correlation)


# Pairs in the order WEAT with WEAT-ES, RND, RNSB; WEAT-ES with RND, RNSB; RND with RNSB. Computed
# from the printed ranks by the definitions.
SPEARMAN = {
    "gender": [0.785714, 0.607143, 0.428571, 0.75, 0.607143, 0.892857],
    "ethnicity": [0.892857, 0.321429, 0.321429, 0.357143, 0.142857, 0.75],
    "religion": [0.571429, -0.25, 0.178571, 0.321429, 0.285714, 0.5],
    "overall": [0.964286, 0.821429, 0.607143, 0.785714, 0.642857, 0.714286],
}
KENDALL = {
    "gender": [0.714286, 0.523810, 0.333333, 0.619048, 0.428571, 0.809524],
    "overall": [0.904762, 0.714286, 0.333333, 0.619048, 0.428571, 0.428571],
}
WITH_WEB = {
    "spearman": [0.321429, 0.464286, 0.428571, 0.428571],
    "kendall": [0.238095, 0.333333, 0.333333, 0.333333],
}


@pytest.mark.parametrize(
    ("method", "place"), [*(("spearman", p) for p in SPEARMAN), *(("kendall", p) for p in KENDALL)]
)
def test_correlations_of_the_printed_ranks_are_those_of_the_definitions(method, place):
    results = from_ranks(place, method)
    # 'overall' is here one query set; with the external column it is the final matrix.
    found = results.correlations(None if place == "overall" else place)
    expected = {"spearman": SPEARMAN, "kendall": KENDALL}[method][place]
    pairs = [found.loc[pair] for pair in itertools.combinations(METRICS, 2)]
    assert pairs == pytest.approx(expected, abs=1e-6)
    assert np.diag(found) == pytest.approx(1)
    np.testing.assert_array_equal(found, found.T)
    if place == "overall":
        assert found.loc["WEB", METRICS].tolist() == pytest.approx(WITH_WEB[method], abs=1e-6)
    library = calculate_ranking_correlations(printed_ranks(place), method)
    pd.testing.assert_frame_equal(found.loc[METRICS, METRICS], library, check_names=False)


def test_the_sums_of_the_overall_ranks_with_the_benchmark_are_these():
    ranking = from_ranks("overall", "spearman").rankings()
    assert list(ranking) == [*METRICS, "WEB"]
    pd.testing.assert_frame_equal(
        ranking[METRICS], printed_ranks("overall").astype(float), check_names=False
    )
    assert ranking["WEB"].to_dict() == WEB
    assert ranking.sum(axis=1).tolist() == [8, 12, 25, 30, 28, 12, 25]
