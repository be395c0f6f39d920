"""Caliskan, Bryson and Narayanan (Science, 2017): ten association tests, and WEFAT."""

from __future__ import annotations

import pandas as pd

from wefe.datasets import Criterion, fetch_occupation_shares, load_weat
from wefe.explore import correlate_with_statistic
from wefe.plotting import plot_statistic
from wefe.query import Query
from wefe.replication._replication import Findings, Run, beside_printed, found_in, why

# The packaged lists have 18 names per set in test 4, and Bill in test 10. The paper leaves out four
# names, and has Billy.
_SHIPPED = {"test 4": "test 4 (18 names)", "test 10": "test 10 (Bill)"}
_NUMBERED = [f"test {number}" for number in range(1, 11)]
_TESTS = [*(_SHIPPED.get(test, test) for test in _NUMBERED), *_SHIPPED]


def findings(run: Run) -> Findings:
    """Return the ten tests, and the correlation of occupation gender with census shares."""
    tidy = run.results.to_frame()
    queries = pd.Series(tidy["query_name"].unique(), _TESTS, name="query")
    tests = tidy["query_name"].map({query: test for test, query in queries.items()})
    values = tidy.assign(item=tests).rename(columns={"score": "effect size"})
    values = values.melt(["item", "model_name"], ["effect size", "p_value"], "score", "value")
    measured = values.set_index(["item", "score", "model_name"])["value"].to_dict()
    table = beside_printed(measured, run.printed, ["item"], ["score", "model"])
    table = table.loc[sorted(_TESTS, key=lambda test: int(test.split()[1]))]
    table = table.rename(columns=lambda head: head.replace("effect size", "d")).join(queries)
    tables = {"Table 1: effect size d and exact p-value of each test": table.rename_axis("test")}
    lacking = tidy["words_lost"] > 0
    incomplete = set(zip(tests[lacking], tidy["model_name"][lacking], strict=True))
    try:
        share = fetch_occupation_shares(2015)["female"]
    except ConnectionError as error:
        notes = [f"WEFAT is left out, because census shares cannot be downloaded: {why(error)}."]
        return Findings(tables, {}, measured, notes, incomplete)
    terms = load_weat()
    pairs = list(zip(terms["female_terms"], terms["male_terms"], strict=True))
    gender = Criterion("gender", pairs, class_names=("female", "male"))
    words = Query([terms["female_terms"], terms["male_terms"]], [list(share.index)])
    wefat, notes = found_in(
        run.open_models([words]),
        lambda model: correlate_with_statistic(
            *(model, share, gender),
            measure="sc-weat",
            statistic_name="share of women, 2015",
            random_state=run.random_state,
        ),
    )
    if wefat:
        rows = {name: {**vars(each.pearson), "occupations": each.n} for name, each in wefat.items()}
        correlations = pd.DataFrame.from_dict(rows, "index").rename(columns={"value": "Pearson"})
        title = "WEFAT: gender of occupations and their share of women"
        tables[title] = correlations.rename_axis("model")
    figures = {
        f"Figure 1: WEFAT of occupations, {name}": plot_statistic(each)
        for name, each in wefat.items()
    }
    return Findings(tables, figures, measured, notes, incomplete)
