"""The API that older releases documented: import paths, parameters, defaults, result keys, errors.

`tests/documentation/` runs the listings of the documentation itself, where it is at hand. This
file says the same in our own words and needs nothing.
"""

import importlib
import inspect
import math
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from wefe.utils import check_is_fitted

import wefe.debias
import wefe.metrics
from wefe import Query, WordEmbeddingModel

METRICS = ["WEAT", "RND", "RNSB", "MAC", "ECT", "RIPA"]
# Every documented import path, and the names documented under it.
PATHS = {
    path: names.split()
    for path, names in {
        "wefe": "Query WordEmbeddingModel",
        "wefe.query": "Query",
        "wefe.word_embedding_model": "WordEmbeddingModel",
        "wefe.word_embedding": "WordEmbeddingModel",
        "wefe.metrics": "WEAT RND RNSB MAC ECT RIPA BaseMetric",
        "wefe.metrics.base_metric": "BaseMetric",
        **{f"wefe.metrics.{name}": name for name in METRICS},
        "wefe.debias": "BaseDebias HardDebias MulticlassHardDebias DoubleHardDebias "
        "RepulsionAttractionNeutralization HalfSiblingRegression",
        "wefe.debias.base_debias": "BaseDebias",
        "wefe.debias.hard_debias": "HardDebias",
        "wefe.debias.multiclass_hard_debias": "MulticlassHardDebias",
        "wefe.debias.repulsion_attraction_neutralization": "RepulsionAttractionNeutralization",
        "wefe.debias.double_hard_debias": "DoubleHardDebias",
        "wefe.debias.half_sibling_regression": "HalfSiblingRegression",
        "wefe.datasets": "load_weat load_bingliu fetch_eds fetch_debiaswe fetch_debias_multiclass",
        "wefe.datasets.datasets": "load_weat load_bingliu fetch_eds",
        "wefe.preprocessing": "preprocess_word get_embeddings_from_set get_embeddings_from_sets "
        "get_embeddings_from_tuples get_embeddings_from_query",
        "wefe.utils": "load_test_model load_weat_w2v run_queries create_ranking plot_ranking "
        "generate_subqueries_from_queries_list calculate_ranking_correlations check_is_fitted "
        "plot_queries_results plot_ranking_correlations flair_to_gensim",
    }.items()
}
STATEMENTS = [f"from {path} import {', '.join(names)}" for path, names in PATHS.items()]
MORE_STATEMENTS = [
    *STATEMENTS,
    "import wefe.metrics.WEAT",
    "from wefe.metrics.WEAT import WEAT; import wefe.metrics.WEAT; import wefe.metrics.RND",
    "from wefe import *; assert WEAT().run_query and load_test_model and create_ranking",
    "import importlib.util, wefe.utils; assert importlib.util.find_spec('wefe.utils')",
]

# Beyond what every import of a class needs: the metric paths lead to classes, never to modules.
CHECKS = """
import sys, types, wefe, wefe.metrics
for name in ("WEAT", "RND", "RNSB", "MAC", "ECT", "RIPA"):
    assert isinstance(getattr(wefe.metrics, name), type), name
    assert getattr(sys.modules["wefe.metrics." + name], name) is getattr(wefe.metrics, name), name
assert wefe.utils.load_test_model is wefe.load_test_model
assert wefe.word_embedding_model.WordEmbeddingModel is wefe.WordEmbeddingModel
assert wefe.query.Query is wefe.Query
"""


def run_python(code):
    """Run code in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


# Import paths


@pytest.mark.slow
@pytest.mark.parametrize("statement", MORE_STATEMENTS)
def test_path_is_importable_on_its_own(statement):
    run_python(f"{statement}\n{CHECKS}")


@pytest.mark.parametrize("order", [1, -1])
def test_paths_are_importable_in_every_order(order):
    run_python("\n".join([*STATEMENTS[::order], CHECKS]))


def test_names_are_the_same_objects_under_every_path():
    everywhere = {}
    for path, names in PATHS.items():
        for name in names:
            found = getattr(importlib.import_module(path), name)
            assert everywhere.setdefault(name, found) is found
    with pytest.raises(ImportError):
        from wefe.utils import no_such_name  # noqa: F401


HEAVY = {"pandas", "scipy", "sklearn", "plotly", "gensim", "joblib"}


@pytest.mark.parametrize(
    "statement",
    [
        "import wefe; from wefe import Query, WordEmbeddingModel, WEAT, RNSB, RIPA",
        "from wefe.metrics.WEAT import WEAT",
        "from wefe.datasets import load_weat; load_weat()",
        "from wefe.utils import load_test_model, check_is_fitted; load_test_model()",
        "import wefe.debias.hard_debias",
    ],
)
def test_import_loads_nothing_that_is_not_needed(statement):
    run_python(f"import sys; {statement}; assert not {HEAVY} & {{*sys.modules}}")


# Parameters and defaults

# None stands for the documented default where that is a list, a dict or a class.
LOOKUP = (
    "lost_vocabulary_threshold=0.2, preprocessors=None, strategy='first', normalize=False, "
    "warn_not_found_words=False"
)
METRIC_PARAMETERS = {
    "WEAT": "return_effect_size=False, calculate_p_value=False, p_value_test_type='right-sided', "
    "p_value_method='approximate', p_value_iterations=10000, p_value_verbose=False",
    "RND": "distance='norm'",
    "RNSB": "estimator=None, estimator_params=None, n_iterations=1, random_state=None, "
    "holdout=True, print_model_evaluation=False",
    "MAC": "",
    "ECT": "",
    "RIPA": "",
}
SUBSPACE = "self, pca_args=None, verbose=False, criterion_name=None"
# Word sets are documented as required. They default to None because a criterion can stand for
# them; without either, `fit` is a TypeError.
PARAMETERS = {
    "preprocessing.preprocess_word": "word, options=None, vocab_prefix=None",
    "preprocessing.get_embeddings_from_set": "model, word_set, preprocessors=None, "
    "strategy='first', normalize=False, verbose=False",
    "preprocessing.get_embeddings_from_tuples": "model, sets, sets_name=None, preprocessors=None, "
    "strategy='first', normalize=False, discard_incomplete_sets=True, warn_lost_sets=True, "
    "verbose=False",
    "preprocessing.get_embeddings_from_query": f"model, query, {LOOKUP}, verbose=False",
    "utils.generate_subqueries_from_queries_list": "metric, queries",
    "utils.run_queries": "metric, queries, models, queries_set_name='Unnamed queries set', "
    "lost_vocabulary_threshold=0.2, metric_params=None, generate_subqueries=False, "
    "aggregate_results=False, aggregation_function='abs_avg', return_only_aggregation=False, "
    "warn_not_found_words=False",
    "utils.plot_queries_results": "results, by='query'",
    # Documented as ascending=True; None is the order of each metric.
    "utils.create_ranking": "results_dataframes, method='first', ascending=None",
    "utils.plot_ranking": "ranking, use_metric_as_facet=False",
    "utils.calculate_ranking_correlations": "rankings, method='spearman'",
    "utils.plot_ranking_correlations": "correlation_matrix, title=''",
    "utils.flair_to_gensim": "flair_embedding",
    "datasets.fetch_eds": "occupations_year=2015, top_n_race_occupations=10",
    "word_embedding_model.WordEmbeddingModel": "wv, name=None, vocab_prefix=None",
    "query.Query": "target_sets, attribute_sets, target_sets_names=None, attribute_sets_names=None",
    "debias.HardDebias.__init__": SUBSPACE,
    "debias.HardDebias.fit": "self, model, definitional_pairs=None, equalize_pairs=None",
    "debias.MulticlassHardDebias.__init__": SUBSPACE,
    "debias.MulticlassHardDebias.fit": "self, model, definitional_sets=None, equalize_sets=None",
    "debias.RepulsionAttractionNeutralization.__init__": f"{SUBSPACE}, epochs=300, theta=0.05, "
    "n_neighbours=100, learning_rate=0.01, weights=(0.33, 0.33, 0.33)",
    "debias.RepulsionAttractionNeutralization.fit": "self, model, definitional_pairs=None",
    "debias.DoubleHardDebias.__init__": f"{SUBSPACE}, incremental_pca=True, n_words=1000, "
    "n_components=4",
    "debias.DoubleHardDebias.fit": "self, model, definitional_pairs=None, bias_representation=None",
    "debias.DoubleHardDebias.get_target_words": "self, model, target, ignore, n_words, "
    "bias_representation",
    "debias.HalfSiblingRegression.__init__": "self, verbose=False, criterion_name=None",
    "debias.HalfSiblingRegression.fit": "self, model, definitional_words=None, alpha=60",
}


def defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def documented(text):
    return defaults(eval(f"lambda {text}: None"))


@pytest.mark.parametrize("name", PARAMETERS)
def test_functions_and_methods_take_the_documented_parameters_in_order(name):
    importlib.import_module(f"wefe.{name.split('.')[0]}")
    ours, theirs = defaults(pkgutil.resolve_name(f"wefe.{name}")), documented(PARAMETERS[name])
    assert [*ours.items()][: len(theirs)] == [*theirs.items()]


@pytest.mark.parametrize("name", METRIC_PARAMETERS)
def test_run_query_takes_the_documented_parameters(name):
    metric, theirs = getattr(wefe.metrics, name), documented(METRIC_PARAMETERS[name])
    # What follows query and model, by position, and the defaults, which the class declares.
    assert list(inspect.signature(metric.run_query).parameters)[1:4] == ["query", "model", "args"]
    assert metric.parameters()[: len(theirs)] == list(theirs)
    assert theirs.items() <= defaults(metric).items()
    # More of them were once left out in silence.
    with pytest.raises(TypeError, match="by position"):
        metric().run_query(None, None, *[None] * (len(metric.parameters()) + 1))


# Results

# Of a query of two target sets and one or two attribute sets, in the documented order.
KEYS = {
    "WEAT": "weat effect_size p_value",
    "RND": "rnd distance_by_word",
    "RNSB": "rnsb negative_sentiment_probabilities negative_sentiment_distribution",
    "MAC": "mac targets_eval",
    "ECT": "ect",
    "RIPA": "ripa word_values",
}
WORDS = [f"{kind}{i}" for kind in "tuab" for i in range(8)]


@pytest.fixture
def model():
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)
    return WordEmbeddingModel((WORDS, vectors), name="random")


def run(name, model, lost=()):
    metric = getattr(wefe.metrics, name)
    sets = [[word for word in WORDS if word[0] == kind] for kind in "tuab"]
    n_attributes = {"n": 2}.get(metric.metric_template[1], metric.metric_template[1])
    query = Query([sets[0], [*sets[1], *lost]], sets[2 : 2 + n_attributes])
    return metric().run_query(query, model), query.query_name


@pytest.mark.parametrize("lost", [(), ("x", "y", "z")])
@pytest.mark.parametrize("name", KEYS)
def test_result_has_the_documented_keys_in_order(name, lost, model):
    result, query_name = run(name, model, lost)
    assert isinstance(result, dict)
    assert list(result) == ["query_name", "result", *KEYS[name].split()]
    assert result["query_name"] == query_name
    np.testing.assert_equal(result["result"], result[name.lower()])
    assert math.isnan(result["result"]) == bool(lost)


# Mitigation


def test_fitted_hard_debias_has_the_documented_attributes(model):
    pairs = [["t0", "u0"], ["t1", "u1"], ["t2", "u2"]]
    method = wefe.debias.HardDebias().fit(model, pairs, [["a0", "b0"]])
    named = "definitional_pairs_ definitional_pairs_embeddings_ pca_ bias_direction_"
    check_is_fitted(method, named.split())
    assert np.array_equal(method.bias_direction_, method.pca_.components_[0])
    assert [list(pair) for pair in method.definitional_pairs_embeddings_] == pairs
