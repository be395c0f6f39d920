"""Wrong values for the functions of tables: each gets an error."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from misuse import ANYTHING, is_refused

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
    "a table of texts": pd.DataFrame({"a": ["b"]}),
    "a table with a column less": SCORES.drop(columns="query_name"),
}
BOOL, ZERO = {"bool"}, {"zero"}
# What stands for no options at all.
EMPTY = {"zero", "empty list", "empty dict", "nothing in nothing", "iterator"}
FLAGS = {"aggregate_results", "return_only_aggregation", "progress", "generate_subqueries"}
FLAGS |= {"warn_not_found_words", "audit", "verbose", "ascending", "warn_lost_sets"}
FLAGS |= {"discard_incomplete_sets", "name", "sets_name"}
# What is not wrong at all.
FINE = {
    "normalize": BOOL,
    **dict.fromkeys(["lost_vocabulary_threshold", "n_bootstrap"], ZERO),
    "bootstrap_random_state": {"None", "zero"},
    "random_state": {"None", "zero"},
    "metric_params": EMPTY,
    "metrics": {"empty list"},
    "measure.queries": {"empty dict"},
    "best": {"zero", "negative", "float", "huge"},
    "n_jobs": {"negative", "bool", "an array without axes"},
    # Functions are welcome.
    "aggregation_function": {"class", "function"},
    "function": {"class", "function"},
    "method": {"class", "function"},
    "weights": {"None"},
    "queries_set_name": {"text"},
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
        # Python takes any value for a flag, and any can be written as a name.
        if declared.kind is declared.VAR_KEYWORD or parameter in FLAGS:
            continue
        for wrong, value in {**ANYTHING, **TABLES}.items():
            if value is declared.default or is_fine(function, parameter, wrong):
                continue
            if not is_refused(partial(function, **{**good, parameter: value})):
                found.append(f"{function.__name__}({parameter}={wrong})")
    assert found == []
