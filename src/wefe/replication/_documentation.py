"""The documentation of WEFE: every score that it prints, those of single words included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from wefe.datasets import load_weat
from wefe.metrics import MAC, RIPA, RND, RNSB, WEAT, association
from wefe.models import WordEmbeddingModel
from wefe.plotting import plot_queries_results
from wefe.query import Query
from wefe.replication._replication import Findings, Run, compared
from wefe.study import StudyResults

#: (item, score) -> value
_Scores: TypeAlias = Iterator[tuple[tuple[str, str], float]]

_TITLES = {
    "chapter 2": "Chapter 2: the first query",
    "chapter 3": "Chapter 3: bias measurement",
    "chapter 5": "Chapter 5: loading embeddings",
    "section 6.3": "Section 6.3: metrics",
    "section 6.3, words": "Section 6.3: metrics, word by word",
    "section 13.4": "Section 13.4: the same measured by other libraries",
    "section 15.4": "Section 15.4: a metric of your own",
}
_NOTES = [
    "P-values are exact and one-sided. Each is shown beside every value that the documentation "
    "prints for it.",
    "RNSB with a hold-out is random: the documentation prints single draws, and here is the mean "
    "of 100. Probabilities of single draws are left out.",
    "Scores of mitigated models are in the replication 'mitigation', those of national origins in "
    "'rnsb'.",
]


def findings(run: Run) -> Findings:
    """Return every printed score beside that of each model, chapter by chapter."""
    queries = {part.name: part.queries for part in run.results.plan.query_sets}
    weat = load_weat()
    of_example = Query([weat["flowers"], weat["weapons"]], [weat["pleasant_5"]])
    asked = [query for part in queries.values() for query in part]
    measured = dict(_scores(run.results))
    for name, model in run.open_models([*asked, of_example]).items():
        found = [*_words(model, queries), _as_written(model, queries), _example(model, of_example)]
        measured |= {(item, score, name): value for (item, score), value in found}
    figures = {
        f"Section 3.4.5: {metric} of the gender queries": plot_queries_results(
            run.results.scores(metric, "Gender queries").iloc[:, :-1]
        )
        for metric in ("WEAT", "RNSB: mean of 100")
    }
    return Findings(_tables(run, measured), figures, measured, _NOTES)


def _scores(results: StudyResults) -> Iterator[tuple[tuple[str, str, str], float]]:
    """Yield the scores of the study; a query that is alone in its set has the name of the set."""
    n_queries = {part.name: len(part.queries) for part in results.plan.query_sets}
    for row in results.to_frame().to_dict("records"):
        alone = n_queries[row["query_set"]] == 1
        item = row["query_set"] if alone else row["query_name"]
        yield (item, row["metric"], row["model_name"]), row["score"]
        if row["metric"] == "WEAT effect size":
            yield (item, "p-value of WEAT", row["model_name"]), row["p_value"]
    for name in ("Gender queries", "Ethnicity queries"):
        for metric, totals in results.totals(name).items():
            for model, score in zip(totals["model_name"], totals["score"], strict=True):
                yield (name, metric, model), score


def _words(model: WordEmbeddingModel, queries: dict[str, tuple[Query, ...]]) -> _Scores:
    """Yield what metrics return of single words."""
    (both,), (family,) = queries["Family and career"], queries["Family"]
    lookup: dict[str, Any] = {"preprocessors": [{}, {"lowercase": True}]}
    for word, value in RND().run_query(family, model, **lookup)["distance_by_word"].items():
        yield (word, "RND"), value
    for word, pairs in RIPA().run_query(family, model, **lookup)["word_values"].items():
        yield (word, "RIPA: mean of pairs"), pairs["mean"]
        yield (word, "RIPA: deviation of pairs"), pairs["std"]
    hold_outs: dict[str, dict[str, Any]] = {
        "RNSB without hold-out": {"holdout": False},
        "RNSB: mean of 100": {"n_iterations": 100, "random_state": 0},
    }
    for score, params in hold_outs.items():
        result = RNSB().run_query(both, model, **lookup, **params)
        for word, value in result["negative_sentiment_probabilities"].items():
            yield (word, score), value
    for query in (both, *queries["Ethnicity"], *queries["Religion"]):
        # One attribute set at a time: the documentation's test model lacks a word of another.
        for part in query.get_subqueries(("n", 1)):
            result = MAC().run_query(part, model, **lookup)
            for words in result["targets_eval"].values():
                for word, means in words.items():
                    for attributes, value in means.items():
                        yield (word, f"MAC with {attributes}"), value


def _as_written(
    model: WordEmbeddingModel, queries: dict[str, tuple[Query, ...]]
) -> tuple[tuple[str, str], float]:
    """Return WEAT of math and arts without words in lower case."""
    query = queries["Gender queries"][2]
    result = WEAT().run_query(query, model)
    return (query.query_name, "WEAT, words as written"), result["result"]


def _example(model: WordEmbeddingModel, query: Query) -> tuple[tuple[str, str], float]:
    """Return the metric that the guide makes up: a difference of cosine distances of means."""
    sets = [*query.target_sets, *query.attribute_sets]
    vectors = [[model[word] for word in words if word in model] for words in sets]
    value = np.nan
    if all(vectors):
        flowers, weapons, pleasant = (np.mean(rows, axis=0) for rows in vectors)
        value = association([pleasant], [weapons], [flowers])[0]
    return ("Flowers and weapons wrt pleasant", "example metric"), float(value)


def _tables(run: Run, measured: dict[tuple[str, str, str], float]) -> dict[str, pd.DataFrame]:
    """Return a table per chapter: the printed values, with the score of each model beside."""
    printed = compared(run.printed, measured).set_index("item")
    names = dict.fromkeys(model for _, _, model in measured)
    tables = {}
    for chapter, rows in printed.groupby("table", sort=False):
        keys = list(zip(rows.index, rows["score"], strict=True))
        own = {name: [measured.get((*key, name), np.nan) for key in keys] for name in names}
        shown = rows[["printed", "model", "verdict", "reason"]]
        shown = shown.rename(columns={"model": "printed for"})
        tables[_TITLES[str(chapter)]] = pd.concat(
            [rows[["score"]], pd.DataFrame(own, rows.index), shown], axis=1
        )
    return tables
