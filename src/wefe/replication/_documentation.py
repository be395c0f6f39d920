"""The documentation of WEFE: every score that it prints, also those of single words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from wefe.datasets import load_weat
from wefe.embeddings import embed_query
from wefe.metrics import MAC, RIPA, RND, RNSB, WEAT, association
from wefe.models import WordEmbeddingModel
from wefe.plotting import plot_queries_results
from wefe.query import Query
from wefe.replication._replication import LOOKUP, Findings, Run, Values, aggregates, compared
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
    "P-values are exact and one-sided. The documentation prints several values for some of them; "
    "each is compared.",
    "RNSB with a hold-out is random. The documentation prints single runs; this table has the mean "
    "of 100 runs. Probabilities of single runs are left out.",
    "For scores of mitigated models, see the replication 'mitigation'; for national origins, see "
    "'rnsb'.",
]


def findings(run: Run) -> Findings:
    """Return all printed scores next to those of each model, by chapter."""
    queries = {part.name: part.queries for part in run.results.plan.query_sets}
    weat = load_weat()
    of_example = Query([weat["flowers"], weat["weapons"]], [weat["pleasant_5"]])
    measured = _scores(run.results)
    for name, model in run.open_models([*chain(*queries.values()), of_example]).items():
        found = [
            *_words(model, queries),
            *_rnsb(model, queries["Family and career"][0], run.random_state),
            _example(model, of_example),
        ]
        measured |= {(*key, name): value for key, value in found}
    figures = {}
    for metric in ("WEAT", "RNSB: mean of 100"):
        scores = run.results.scores(metric, "Gender queries").iloc[:, :-1]
        figures[f"Section 3.4.5: {metric} of the gender queries"] = plot_queries_results(scores)
    return Findings(_tables(run, measured), figures, measured, _NOTES)


def _scores(results: StudyResults) -> Values:
    """Return the scores of the study; a single query is named after its set."""
    alone = [part.name for part in results.plan.query_sets if len(part.queries) == 1]
    tidy = results.to_frame()
    tidy["item"] = tidy["query_name"].mask(tidy["query_set"].isin(alone), tidy["query_set"])
    key = ["item", "metric", "model_name"]
    tested = tidy[tidy["metric"] == "WEAT effect size"].assign(metric="p-value of WEAT")
    scores = [tidy.set_index(key)["score"], tested.set_index(key)["p_value"]]
    of_queries: Values = pd.concat(scores).to_dict()
    return of_queries | aggregates(results, ["Gender queries", "Ethnicity queries"])


def _words(model: WordEmbeddingModel, queries: Mapping[str, Sequence[Query]]) -> _Scores:
    (family,) = queries["Family"]
    for word, value in RND().run_query(family, model, **LOOKUP)["distance_by_word"].items():
        yield (word, "RND"), value
    for word, pairs in RIPA().run_query(family, model, **LOOKUP)["word_values"].items():
        yield (word, "RIPA: mean of pairs"), pairs["mean"]
        yield (word, "RIPA: deviation of pairs"), pairs["std"]
    math = queries["Gender queries"][2]
    # Without lower case.
    yield (math.query_name, "WEAT, words as written"), WEAT().run_query(math, model)["result"]
    for name in ("Family and career", "Ethnicity", "Religion"):
        # One attribute set at a time, because the test model of WEFE lacks words of some sets.
        for part in queries[name][0].get_subqueries(("n", 1)):
            of_sets = MAC().run_query(part, model, **LOOKUP)["targets_eval"].values()
            for word, means in chain(*(words.items() for words in of_sets)):
                for attributes, value in means.items():
                    yield (word, f"MAC with {attributes}"), value


def _rnsb(model: WordEmbeddingModel, query: Query, random_state: int) -> _Scores:
    """Yield the probabilities that RNSB assigns to single words."""
    hold_outs: dict[str, dict[str, Any]] = {
        "RNSB without hold-out": {"holdout": False},
        "RNSB: mean of 100": {"n_iterations": 100, "random_state": random_state},
    }
    for score, params in hold_outs.items():
        result = RNSB().run_query(query, model, **LOOKUP, **params)
        for word, value in result["negative_sentiment_probabilities"].items():
            yield (word, score), value


def _example(model: WordEmbeddingModel, query: Query) -> tuple[tuple[str, str], float]:
    """Return the example metric of the guide: a difference of cosine distances of means."""
    sets = embed_query(model, query, 1.0).sets
    value = np.nan
    if all(part.words for part in sets):
        flowers, weapons, pleasant = (part.vectors.mean(axis=0) for part in sets)
        value = association([pleasant], [weapons], [flowers])[0]
    return ("Flowers and weapons wrt pleasant", "example metric"), float(value)


def _tables(run: Run, measured: Values) -> dict[str, pd.DataFrame]:
    """Return one table per chapter: printed values and the scores of each model."""
    own = pd.Series(measured).unstack(sort=False)
    table = compared(run.printed, measured).rename(columns={"model": "printed for"})
    table = table.drop(columns="value").join(own, on=["item", "score"]).set_index("item")
    columns = ["score", *own, "printed", "printed for", "verdict", "reason"]
    return {
        title: table.loc[(table["table"] == chapter).to_numpy(), columns]
        for chapter, title in _TITLES.items()
    }
