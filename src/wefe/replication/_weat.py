"""Caliskan, Bryson and Narayanan (Science, 2017): ten association tests, and WEFAT."""

from __future__ import annotations

from itertools import chain

import pandas as pd

from wefe.datasets import Criterion, fetch_occupation_shares, load_weat
from wefe.explore import correlate_with_statistic
from wefe.replication._replication import Findings, Run, why


def findings(run: Run) -> Findings:
    """Return the ten tests, and how the gender of occupations follows census shares."""
    tidy = run.results.to_frame()
    queries = tidy["query_name"].unique()
    names = {query: f"test {number}" for number, query in enumerate(queries, 1)}
    # The published list of test 4 has 18 names a side; the printed value belongs to 16.
    names |= {queries[3]: "test 4 (18 names)", queries[10]: "test 4"}
    tidy["test"] = tidy["query_name"].map(names)
    measured = {
        (str(test), "effect size", str(model)): float(score)
        for test, model, score in zip(tidy["test"], tidy["model_name"], tidy["score"], strict=True)
    }
    tables = {"Table 1: effect size d and exact p-value of each test": _table_1(run, tidy)}
    try:
        share = fetch_occupation_shares(2015)["female"]
    except ConnectionError as error:
        return Findings(tables, {}, measured, [f"No census shares, hence no WEFAT: {why(error)}."])
    terms = load_weat()
    pairs = list(zip(terms["female_terms"], terms["male_terms"], strict=True))
    gender = Criterion("gender", pairs, class_names=("female", "male"))
    found = [
        correlate_with_statistic(
            *(model, share, gender),
            measure="sc-weat",
            statistic_name="share of women, 2015",
            random_state=run.random_state,
        )
        for model in run.open_models([*share.index, *chain(*pairs)]).values()
    ]
    tables["WEFAT: gender of occupations and their share of women"] = pd.DataFrame(
        {
            "Pearson": [each.pearson.value for each in found],
            "lower": [each.pearson.lower for each in found],
            "upper": [each.pearson.upper for each in found],
            "p_value": [each.pearson.p_value for each in found],
            "occupations": [each.n for each in found],
        },
        index=pd.Index([each.model_name for each in found], name="model"),
    )
    figures = {f"Figure 1: WEFAT of occupations, {each.model_name}": each.plot() for each in found}
    return Findings(tables, figures, measured)


def _table_1(run: Run, tidy: pd.DataFrame) -> pd.DataFrame:
    """Return a row per test: what was asked, d and p of each model, and d as printed."""
    order = sorted(tidy["test"].unique(), key=lambda test: int(test.split()[1]))
    table = pd.DataFrame(index=order).rename_axis("test")
    for model, own in tidy.set_index("test").groupby("model_name", sort=False):
        table[f"d, {model}"], table[f"p_value, {model}"] = own["score"], own["p_value"]
    for model, printed in run.printed.set_index("item").groupby("model", sort=False):
        table[f"printed d, {model}"] = printed["printed"]
    return table.assign(query=tidy.groupby("test")["query_name"].first())
