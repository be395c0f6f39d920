"""Wrong values for the functions of tables: each gets a clear error of ours."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from misuse import ANYTHING, complaint

from wefe import (
    Query,
    WordEmbeddingModel,
    aggregate,
    calculate_ranking_correlations,
    compare_models,
    create_ranking,
    measure,
    overall_scores,
    run_queries,
    score_column,
    scores_matrix,
)
from wefe.embeddings import (
    embed_query,
    get_embeddings_from_query,
    get_embeddings_from_set,
    get_embeddings_from_tuples,
)
from wefe.running import generate_subqueries_from_queries_list

WORDS = [f"w{i}" for i in range(8)]
MODEL = WordEmbeddingModel((WORDS, np.random.default_rng(0).normal(size=(8, 3))), "drawn")
QUERY = Query([WORDS[:2], WORDS[2:4]], [WORDS[4:6], WORDS[6:]])
SCORES = measure("weat", [QUERY], [MODEL])
TOTALS = aggregate(SCORES)

GOOD = {
    measure: {"metrics": "weat", "queries": [QUERY], "models": [MODEL], "n_bootstrap": 40},
    run_queries: {"metric": "weat", "queries": [QUERY], "models": [MODEL]},
    compare_models: {"metric": "weat", "queries": [QUERY], "one": MODEL, "other": MODEL},
    generate_subqueries_from_queries_list: {"metric": "weat", "queries": [QUERY]},
    scores_matrix: {"scores": SCORES},
    aggregate: {"scores": SCORES},
    create_ranking: {"results_dataframes": TOTALS},
    overall_scores: {"totals": TOTALS},
    score_column: {"scores": {"a": 1.0, "b": 2.0}, "name": "x", "best": 0},
    calculate_ranking_correlations: {"rankings": create_ranking(TOTALS)},
    embed_query: {"model": MODEL, "query": QUERY},
    get_embeddings_from_query: {"model": MODEL, "query": QUERY},
    get_embeddings_from_set: {"model": MODEL, "word_set": WORDS},
    get_embeddings_from_tuples: {"model": MODEL, "sets": [WORDS[:2]]},
    Query: {"target_sets": [WORDS[:2]], "attribute_sets": [WORDS[2:4]]},
}
TABLES = {
    "a table of nothing": pd.DataFrame(),
    "a table of texts": pd.DataFrame({"a": ["b"]}),
    "a table with a column less": SCORES.drop(columns="query_name"),
}
BOOL, ZERO, TEXT, CLASS = {"bool"}, {"zero"}, {"text"}, {"class"}
# What is not wrong at all.
FINE = {
    **dict.fromkeys(["aggregate_results", "return_only_aggregation", "progress"], BOOL),
    **dict.fromkeys(["generate_subqueries", "warn_not_found_words", "audit"], BOOL),
    **dict.fromkeys(["normalize", "verbose", "ascending"], BOOL),
    **dict.fromkeys(["discard_incomplete_sets", "warn_lost_sets"], BOOL),
    **dict.fromkeys(["lost_vocabulary_threshold", "n_bootstrap"], ZERO),
    "bootstrap_random_state": {"None", "zero"},
    "random_state": {"None", "zero"},
    "metric_params": {"empty dict"},
    "best": {"zero", "negative", "float", "huge"},
    "n_jobs": {"negative"},
    # Functions are welcome.
    **dict.fromkeys(["aggregation_function", "function"], CLASS),
    "method": {"class", "function"},
    "weights": {"None"},
    **dict.fromkeys(["queries_set_name", "name", "sets_name"], TEXT),
    "word_set": {"texts"},
    "sets": {"empty list"},
    "score_column.scores": {"empty dict", "dict"},
    "generate_subqueries_from_queries_list.queries": {"empty list"},
    "Query.attribute_sets": {"empty list"},
}


def is_fine(function, parameter, wrong):
    name = f"{function.__name__}.{parameter}"
    return wrong in FINE.get(name, FINE.get(parameter, ()))


@pytest.mark.parametrize("function", GOOD, ids=lambda function: function.__name__)
def test_functions_of_tables_refuse_wrong_values(function):
    good, found = GOOD[function], []
    function(**good)
    for parameter, declared in inspect.signature(function).parameters.items():
        if declared.kind is declared.VAR_KEYWORD:
            continue
        for wrong, value in {**ANYTHING, **TABLES}.items():
            if value is declared.default or is_fine(function, parameter, wrong):
                continue
            complained = complaint(partial(function, **{**good, parameter: value}))
            if complained:
                found.append(f"{function.__name__}({parameter}={wrong}): {complained}")
    assert found == []
