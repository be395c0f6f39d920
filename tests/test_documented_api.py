"""The API that older releases documented: import paths, parameters, defaults, result keys, errors.

`tests/documentation/` runs the listings of the documentation itself, where it is at hand. This
file says the same in our own words and needs nothing.
"""

import importlib
import inspect
import math
import random
import subprocess
import sys

import numpy as np
import pytest

import wefe.debias
import wefe.metrics
from wefe import Query, WordEmbeddingModel

# Every documented import path, and the names documented under it.
PATHS = {
    "wefe": ["Query", "WordEmbeddingModel"],
    "wefe.query": ["Query"],
    "wefe.word_embedding_model": ["WordEmbeddingModel"],
    "wefe.word_embedding": ["WordEmbeddingModel"],
    "wefe.metrics": ["WEAT", "RND", "RNSB", "MAC", "ECT", "RIPA", "BaseMetric"],
    "wefe.metrics.base_metric": ["BaseMetric"],
    **{f"wefe.metrics.{name}": [name] for name in ("WEAT", "RND", "RNSB", "MAC", "ECT", "RIPA")},
    "wefe.debias": [
        "BaseDebias",
        "HardDebias",
        "MulticlassHardDebias",
        "RepulsionAttractionNeutralization",
        "DoubleHardDebias",
        "HalfSiblingRegression",
    ],
    "wefe.debias.base_debias": ["BaseDebias"],
    "wefe.debias.hard_debias": ["HardDebias"],
    "wefe.debias.multiclass_hard_debias": ["MulticlassHardDebias"],
    "wefe.debias.repulsion_attraction_neutralization": ["RepulsionAttractionNeutralization"],
    "wefe.debias.double_hard_debias": ["DoubleHardDebias"],
    "wefe.debias.half_sibling_regression": ["HalfSiblingRegression"],
    "wefe.datasets": [
        "load_weat",
        "load_bingliu",
        "fetch_eds",
        "fetch_debiaswe",
        "fetch_debias_multiclass",
    ],
    "wefe.datasets.datasets": ["load_weat", "load_bingliu", "fetch_eds"],
    "wefe.preprocessing": [
        "preprocess_word",
        "get_embeddings_from_set",
        "get_embeddings_from_sets",
        "get_embeddings_from_tuples",
        "get_embeddings_from_query",
    ],
    "wefe.utils": [
        "load_test_model",
        "load_weat_w2v",
        "run_queries",
        "generate_subqueries_from_queries_list",
        "create_ranking",
        "calculate_ranking_correlations",
        "plot_queries_results",
        "plot_ranking",
        "plot_ranking_correlations",
        "flair_to_gensim",
        "check_is_fitted",
    ],
}
STATEMENTS = [f"from {path} import {', '.join(names)}" for path, names in PATHS.items()]

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
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Import paths


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_path_is_importable_on_its_own(path):
    run_python(f"from {path} import {', '.join(PATHS[path])}" + CHECKS)


@pytest.mark.parametrize("order", ["as listed", "backwards", 1])
def test_paths_are_importable_in_every_order(order):
    statements = list(STATEMENTS)
    if order == "backwards":
        statements.reverse()
    elif order != "as listed":
        random.Random(order).shuffle(statements)
    run_python("\n".join(statements) + CHECKS)


@pytest.mark.parametrize(
    "statement",
    [
        "import wefe.metrics.WEAT",
        "import importlib; importlib.import_module('wefe.metrics.WEAT')",
        "from wefe.metrics import WEAT; from wefe.metrics.WEAT import WEAT as again",
        "from wefe.metrics.WEAT import WEAT; import wefe.metrics.WEAT; import wefe.metrics.RND",
    ],
)
def test_importing_a_metric_as_a_module_leaves_the_class(statement):
    run_python(statement + CHECKS)


def test_star_import_gives_the_classes_and_functions():
    run_python(
        "from wefe import *\n"
        "assert isinstance(WEAT, type) and isinstance(Query, type)\n"
        "assert WEAT().run_query and load_test_model and run_queries and create_ranking\n" + CHECKS
    )


@pytest.mark.parametrize("path", PATHS)
def test_names_are_the_same_objects_under_every_path(path):
    everywhere = {}
    for other, names in PATHS.items():
        for name in names:
            everywhere.setdefault(name, getattr(importlib.import_module(other), name))
    for name in PATHS[path]:
        assert getattr(importlib.import_module(path), name) is everywhere[name]


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_imported_path_is_an_attribute_and_has_a_specification(path):
    names = [name for name in PATHS[path] if not path.endswith(name)]
    code = f"import importlib.util, {path}; assert importlib.util.find_spec({path!r})\n"
    run_python(code + "\n".join(f"assert {path}.{name}" for name in names))


def test_unknown_name_under_an_older_path_is_an_import_error():
    with pytest.raises(ImportError):
        from wefe.utils import no_such_name  # noqa: F401


HEAVY = ("pandas", "scipy", "sklearn", "plotly", "gensim", "joblib")


@pytest.mark.parametrize(
    "statement",
    [
        "import wefe",
        "from wefe.metrics import WEAT",
        "from wefe.metrics.WEAT import WEAT",
        "from wefe import Query, WordEmbeddingModel, WEAT, RNSB, RIPA",
        "from wefe.datasets import load_weat; load_weat()",
        "from wefe.utils import load_test_model; load_test_model()",
        "from wefe.utils import check_is_fitted",
        "import wefe.debias.hard_debias",
    ],
)
def test_import_loads_nothing_that_is_not_needed(statement):
    loaded = run_python(
        f"import sys; {statement}; print(*[name for name in {HEAVY} if name in sys.modules])"
    )
    assert loaded.split() == []


# Parameters and defaults

REQUIRED = inspect.Parameter.empty
LOOKUP = {
    "lost_vocabulary_threshold": 0.2,
    "preprocessors": None,  # documented as [{}], which None stands for
    "strategy": "first",
    "normalize": False,
    "warn_not_found_words": False,
}

METRIC_PARAMETERS = {
    "WEAT": {
        "return_effect_size": False,
        "calculate_p_value": False,
        "p_value_test_type": "right-sided",
        "p_value_method": "approximate",
        "p_value_iterations": 10_000,
        "p_value_verbose": False,
    },
    "RND": {"distance": "norm"},
    "RNSB": {
        "estimator": None,  # documented as LogisticRegression, which None stands for
        "estimator_params": None,
        "n_iterations": 1,
        "random_state": None,
        "holdout": True,
        "print_model_evaluation": False,
    },
    "MAC": {},
    "ECT": {},
    "RIPA": {},
}

FUNCTION_PARAMETERS = {
    "wefe.preprocessing.preprocess_word": {
        "word": REQUIRED,
        "options": None,  # documented as {}
        "vocab_prefix": None,
    },
    "wefe.preprocessing.get_embeddings_from_set": {
        "model": REQUIRED,
        "word_set": REQUIRED,
        "preprocessors": None,
        "strategy": "first",
        "normalize": False,
        "verbose": False,
    },
    "wefe.preprocessing.get_embeddings_from_tuples": {
        "model": REQUIRED,
        "sets": REQUIRED,
        "sets_name": None,
        "preprocessors": None,
        "strategy": "first",
        "normalize": False,
        "discard_incomplete_sets": True,
        "warn_lost_sets": True,
        "verbose": False,
    },
    "wefe.preprocessing.get_embeddings_from_query": {
        "model": REQUIRED,
        "query": REQUIRED,
        **LOOKUP,
        "verbose": False,
    },
    "wefe.utils.generate_subqueries_from_queries_list": {"metric": REQUIRED, "queries": REQUIRED},
    "wefe.utils.run_queries": {
        "metric": REQUIRED,
        "queries": REQUIRED,
        "models": REQUIRED,
        "queries_set_name": "Unnamed queries set",
        "lost_vocabulary_threshold": 0.2,
        "metric_params": None,  # documented as {}
        "generate_subqueries": False,
        "aggregate_results": False,
        "aggregation_function": "abs_avg",
        "return_only_aggregation": False,
        "warn_not_found_words": False,
    },
    "wefe.utils.plot_queries_results": {"results": REQUIRED, "by": "query"},
    "wefe.utils.create_ranking": {
        "results_dataframes": REQUIRED,
        "method": "first",
        "ascending": None,  # documented as True; None is the order of each metric
    },
    "wefe.utils.plot_ranking": {"ranking": REQUIRED, "use_metric_as_facet": False},
    "wefe.utils.calculate_ranking_correlations": {"rankings": REQUIRED, "method": "spearman"},
    "wefe.utils.plot_ranking_correlations": {"correlation_matrix": REQUIRED, "title": ""},
    "wefe.utils.flair_to_gensim": {"flair_embedding": REQUIRED},
    "wefe.utils.load_test_model": {},
    "wefe.datasets.load_weat": {},
    "wefe.datasets.load_bingliu": {},
    "wefe.datasets.fetch_eds": {"occupations_year": 2015, "top_n_race_occupations": 10},
    "wefe.word_embedding_model.WordEmbeddingModel": {
        "wv": REQUIRED,
        "name": None,
        "vocab_prefix": None,
    },
    "wefe.query.Query": {
        "target_sets": REQUIRED,
        "attribute_sets": REQUIRED,
        "target_sets_names": None,
        "attribute_sets_names": None,
    },
}


# Parameters of every mitigation method but HalfSiblingRegression.
SUBSPACE = {
    "pca_args": None,  # documented as {"n_components": 10}, which None stands for
    "verbose": False,
    "criterion_name": None,
}
TRANSFORM = {
    "model": REQUIRED,
    "target": None,
    "ignore": None,  # documented as [] for two of the methods, which None stands for
    "copy": True,
}

# Word sets are documented as required. They default to None because a criterion can stand for
# them; without either, `fit` is a TypeError.
MITIGATION_PARAMETERS = {
    "HardDebias": {
        "__init__": SUBSPACE,
        "fit": {"model": REQUIRED, "definitional_pairs": None, "equalize_pairs": None},
    },
    "MulticlassHardDebias": {
        "__init__": SUBSPACE,
        "fit": {"model": REQUIRED, "definitional_sets": None, "equalize_sets": None},
    },
    "RepulsionAttractionNeutralization": {
        "__init__": {
            **SUBSPACE,
            "epochs": 300,
            "theta": 0.05,
            "n_neighbours": 100,
            "learning_rate": 0.01,
            "weights": (0.33, 0.33, 0.33),  # documented as a list
        },
        "fit": {"model": REQUIRED, "definitional_pairs": None},
    },
    "DoubleHardDebias": {
        "__init__": {
            **SUBSPACE,
            "incremental_pca": True,
            "n_words": 1000,
            "n_components": 4,
        },
        "fit": {"model": REQUIRED, "definitional_pairs": None, "bias_representation": None},
        "get_target_words": dict.fromkeys(
            ["model", "target", "ignore", "n_words", "bias_representation"], REQUIRED
        ),
    },
    "HalfSiblingRegression": {
        "__init__": {"verbose": False, "criterion_name": None},
        "fit": {"model": REQUIRED, "definitional_words": None, "alpha": 60},
    },
}


def defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


@pytest.mark.parametrize("name", FUNCTION_PARAMETERS)
def test_function_takes_the_documented_parameters_in_order(name):
    path, _, attribute = name.rpartition(".")
    documented = FUNCTION_PARAMETERS[name]
    ours = defaults(getattr(importlib.import_module(path), attribute))
    assert list(ours)[: len(documented)] == list(documented)
    assert {parameter: ours[parameter] for parameter in documented} == documented


@pytest.mark.parametrize("name", METRIC_PARAMETERS)
def test_run_query_takes_the_documented_parameters(name):
    metric, documented = getattr(wefe.metrics, name), METRIC_PARAMETERS[name]
    # What follows query and model, by position, and the defaults, which the class declares.
    assert list(inspect.signature(metric.run_query).parameters)[1:4] == ["query", "model", "args"]
    assert metric.parameters()[: len(documented)] == list(documented)
    ours = defaults(metric)
    assert {parameter: ours[parameter] for parameter in documented} == documented
    # More of them were once left out in silence.
    with pytest.raises(TypeError, match="by position"):
        metric().run_query(None, None, *[None] * (len(metric.parameters()) + 1))


@pytest.mark.parametrize("name", MITIGATION_PARAMETERS)
def test_mitigation_method_takes_the_documented_parameters_in_order(name):
    for method, documented in {"transform": TRANSFORM, **MITIGATION_PARAMETERS[name]}.items():
        ours = defaults(getattr(getattr(wefe.debias, name), method))
        assert list(ours)[1 : len(documented) + 1] == list(documented), method
        assert {parameter: ours[parameter] for parameter in documented} == documented, method


def test_lookup_options_have_the_documented_names_and_defaults():
    from wefe.embeddings import Lookup, get_embeddings_from_query

    ours = defaults(get_embeddings_from_query)
    assert list(Lookup.__annotations__) == list(LOOKUP)
    assert {parameter: ours[parameter] for parameter in LOOKUP} == LOOKUP


@pytest.mark.parametrize("n_words", [4, 5])
def test_a_query_is_looked_up_as_documented_unless_told_otherwise(n_words, caplog):
    from wefe.embeddings import embed_query

    words = [f"w{i}" for i in range(n_words - 1)]
    vectors = np.arange(2.0, 2 * n_words).reshape(-1, 2)
    model = WordEmbeddingModel.from_arrays(words, vectors)
    # One word of four is more than the threshold allows, one of five is not.
    query = Query([[*words, "W0"]], [words])
    silent, told = embed_query(model, query), embed_query(model, query, **LOOKUP)
    assert silent.nan_reason == told.nan_reason
    assert (silent.nan_reason is None) == (n_words == 5)
    for one, other in zip(silent.sets, told.sets, strict=True):
        assert (one.words, one.lost) == (other.words, other.lost)
        np.testing.assert_array_equal(one.vectors, other.vectors)
    assert "lacks" not in caplog.text


# Results

# Of a query of two target sets and one or two attribute sets, in the documented order.
KEYS = {
    "WEAT": ["result", "weat", "effect_size", "p_value"],
    "RND": ["result", "rnd", "distance_by_word"],
    "RNSB": [
        "result",
        "rnsb",
        "negative_sentiment_probabilities",
        "negative_sentiment_distribution",
    ],
    "MAC": ["result", "mac", "targets_eval"],
    "ECT": ["result", "ect"],
    "RIPA": ["result", "ripa", "word_values"],
}
WORDS = [f"{kind}{i}" for kind in "tuab" for i in range(8)]


@pytest.fixture
def model():
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)
    return WordEmbeddingModel.from_arrays(WORDS, vectors, name="random")


def query_for(metric, lost=()):
    sets = [[word for word in WORDS if word[0] == kind] for kind in "tuab"]
    n_attributes = metric.metric_template[1]
    attributes = sets[2:] if n_attributes == "n" else sets[2:][:n_attributes]
    return Query([*sets[:1], [*sets[1], *lost]], attributes)


@pytest.fixture(params=KEYS)
def metric(request):
    return getattr(wefe.metrics, request.param)


def test_result_has_the_documented_keys_in_order(metric, model):
    query = query_for(metric)
    result = metric().run_query(query, model)
    assert isinstance(result, dict)
    assert list(result) == ["query_name", *KEYS[metric.__name__]]
    assert result["query_name"] == query.query_name
    assert result["result"] == result[metric.metric_short_name.lower()]


def test_result_of_lost_words_has_the_same_keys(metric, model):
    result = metric().run_query(query_for(metric, lost=["x", "y", "z"]), model)
    assert list(result) == ["query_name", *KEYS[metric.__name__]]
    assert math.isnan(result["result"])
    assert math.isnan(result[metric.metric_short_name.lower()])


def test_every_metric_takes_every_lookup_option(metric, model):
    result = metric().run_query(
        query_for(metric),
        model,
        lost_vocabulary_threshold=0,
        preprocessors=[{}, {"uppercase": True}],
        strategy="all",
        normalize=True,
        warn_not_found_words=True,
    )
    assert math.isfinite(result["result"])


def test_results_by_word_are_nested_as_documented(model):
    def run(name):
        metric = getattr(wefe.metrics, name)
        return metric().run_query(query_for(metric), model)

    targets = [word for word in WORDS if word[0] in "tu"]
    attributes = [word for word in WORDS if word[0] == "a"]
    assert sorted(run("RND")["distance_by_word"]) == attributes
    assert list(run("RNSB")["negative_sentiment_probabilities"]) == targets
    assert list(run("RNSB")["negative_sentiment_distribution"]) == targets
    by_set = run("MAC")["targets_eval"]
    assert list(by_set) == ["Target set 0", "Target set 1"]
    assert [word for words in by_set.values() for word in words] == targets
    assert list(by_set["Target set 0"]["t0"]) == ["Attribute set 0", "Attribute set 1"]
    by_word = run("RIPA")["word_values"]
    assert list(by_word) == attributes
    assert list(by_word["a0"]) == ["mean", "std"]


def test_effect_size_becomes_the_result_on_request(model):
    weat = wefe.metrics.WEAT()
    result = weat.run_query(query_for(wefe.metrics.WEAT), model, return_effect_size=True)
    assert result["result"] == result["effect_size"] != result["weat"]


def test_template_of_each_metric_is_the_documented_one():
    templates = {name: getattr(wefe.metrics, name).metric_template for name in KEYS}
    assert templates == {
        "WEAT": (2, 2),
        "RND": (2, 1),
        "RNSB": ("n", 2),
        "MAC": ("n", "n"),
        "ECT": (2, 1),
        "RIPA": (2, 1),
    }


# WordEmbeddingModel and Query


def test_model_has_the_documented_attributes(model):
    prefixed = WordEmbeddingModel(model.wv, "named", vocab_prefix="/en/")
    assert (prefixed.name, prefixed.model_name, prefixed.vocab_prefix) == ("named", "named", "/en/")
    assert list(prefixed.vocab) == WORDS
    assert prefixed.wv is model.wv


def test_model_is_updated_in_place(model):
    zeros = np.zeros(5, dtype=np.float32)
    model.update("t0", zeros)
    model.batch_update(["t1", "t2"], [zeros, zeros])
    model.batch_update(("t3",), zeros[None])
    assert not model.vectors[:4].any()
    model.normalize()
    assert np.linalg.norm(model.vectors[4:], axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("error", "word", "embedding"),
    [
        (TypeError, 1, np.zeros(5, dtype=np.float32)),
        (TypeError, "t0", [0.0] * 5),
        (ValueError, "unknown", np.zeros(5, dtype=np.float32)),
        (ValueError, "t0", np.zeros(4, dtype=np.float32)),
        (ValueError, "t0", np.zeros(5, dtype=np.float64)),
    ],
)
def test_wrong_update_is_refused_as_documented(model, error, word, embedding):
    with pytest.raises(error):
        model.update(word, embedding)


def test_wrong_batch_update_is_refused_as_documented(model):
    zeros = np.zeros((2, 5), dtype=np.float32)
    with pytest.raises(TypeError):
        model.batch_update("t0", zeros)
    with pytest.raises(TypeError):
        model.batch_update(["t0"], "zeros")
    with pytest.raises(ValueError, match="same length"):
        model.batch_update(["t0"], zeros)


@pytest.mark.parametrize(
    "arguments", [({},), (["t0"],), (None, "name"), ({"wv": 1}, 3), ("path/to/file",)]
)
def test_model_of_anything_but_vectors_is_a_type_error(arguments):
    with pytest.raises(TypeError):
        WordEmbeddingModel(*arguments)


def test_name_and_prefix_must_be_strings(model):
    with pytest.raises(TypeError):
        WordEmbeddingModel(model.wv, 3)
    with pytest.raises(TypeError):
        WordEmbeddingModel(model.wv, "name", vocab_prefix=3)


def test_query_has_the_documented_attributes():
    query = Query([["a"], ["b"]], [["c"]], ["A", "B"], ["C"])
    assert query.target_sets == [["a"], ["b"]]
    assert query.attribute_sets == [["c"]]
    assert query.target_sets_names == ["A", "B"]
    assert query.attribute_sets_names == ["C"]
    assert query.template == (2, 1)
    assert query.query_name == "A and B wrt C"
    assert set(query.dict()) == {
        "target_sets",
        "attribute_sets",
        "target_sets_names",
        "attribute_sets_names",
        "query_name",
        "template",
    }
    assert [part.template for part in query.get_subqueries((1, 1))] == [(1, 1), (1, 1)]


def test_unnamed_sets_get_the_documented_names():
    query = Query([["a"], ["b"], ["c"]], [["d"]])
    assert query.query_name == "Target set 0, Target set 1 and Target set 2 wrt Attribute set 0"


@pytest.mark.parametrize(
    ("error", "targets", "attributes"),
    [
        (TypeError, "ab", [["c"]]),
        (TypeError, [["a"]], "c"),
        (ValueError, [], [["c"]]),
        (TypeError, ["a"], [["c"]]),
        (TypeError, [["a", 1]], [["c"]]),
        (TypeError, [["a"]], ["c"]),
        (TypeError, [["a"]], [["c", None]]),
    ],
)
def test_wrong_query_is_refused_as_documented(error, targets, attributes):
    with pytest.raises(error):
        Query(targets, attributes)


# Word sets


def test_weat_word_sets_have_the_documented_names():
    from wefe.datasets import load_weat

    assert set(load_weat()) >= {
        "male_terms",
        "female_terms",
        "career",
        "family",
        "science",
        "arts",
        "math",
        "arts_2",
        "flowers",
        "weapons",
        "european_american_names_5",
        "african_american_names_5",
        "european_american_names_7",
        "african_american_names_7",
        "pleasant_5",
        "unpleasant_5",
        "pleasant_9",
        "unpleasant_9",
    }


# Tables, rankings, figures


@pytest.fixture
def tables(model):
    from wefe.utils import run_queries

    query = query_for(wefe.metrics.WEAT)
    other = Query(query.target_sets[::-1], query.attribute_sets, ["U", "T"])
    second = WordEmbeddingModel.from_arrays(WORDS, model.vectors[::-1].copy(), name="other")
    return [
        run_queries(
            wefe.metrics.WEAT,
            [query, other],
            [model, second],
            queries_set_name="Sets",
            metric_params={"return_effect_size": effect_size},
            aggregate_results=True,
            aggregation_function="abs_avg",
            return_only_aggregation=only,
        )
        for effect_size, only in ((False, False), (True, True))
    ]


def test_table_has_models_as_rows_and_queries_as_columns(tables):
    table, only = tables
    assert list(table.index) == ["random", "other"]
    assert table.index.name == "model_name"
    assert table.shape == (2, 3)
    assert table.columns[-1] == "WEAT: Sets average of abs values score"
    assert only.shape == (2, 1)


def test_ranking_and_correlation_have_the_documented_shape(tables):
    from wefe.utils import calculate_ranking_correlations, create_ranking

    ranking = create_ranking(tables)
    assert ranking.shape == (2, 2)
    assert all(sorted(ranking[column]) == [1, 2] for column in ranking)
    for method in ("pearson", "spearman", "kendall"):
        correlations = calculate_ranking_correlations(ranking, method=method)
        assert list(correlations.index) == list(correlations.columns) == list(ranking.columns)


def test_plot_functions_return_figures(tables):
    import plotly.graph_objects as go
    from wefe.utils import (
        calculate_ranking_correlations,
        create_ranking,
        plot_queries_results,
        plot_ranking,
        plot_ranking_correlations,
    )

    ranking = create_ranking(tables)
    figures = [
        plot_queries_results(tables[0]),
        plot_queries_results(tables[0], by="model"),
        plot_ranking(ranking),
        plot_ranking(ranking, use_metric_as_facet=True),
        plot_ranking_correlations(calculate_ranking_correlations(ranking)),
        plot_ranking_correlations(calculate_ranking_correlations(ranking), title="Agreement"),
    ]
    assert all(isinstance(figure, go.Figure) for figure in figures)
    assert all(figure.data for figure in figures)


def test_what_is_no_table_is_refused_as_documented(tables):
    from wefe.utils import create_ranking, plot_queries_results

    with pytest.raises(TypeError):
        plot_queries_results([[1.0]])
    with pytest.raises(TypeError):
        create_ranking([tables[0], "table"])
    plain = tables[0].iloc[:, :2]
    with pytest.raises(ValueError, match="aggregat"):
        create_ranking([plain])


# A metric of one's own


def test_own_metric_is_written_as_documented(model):
    from wefe.metrics.base_metric import BaseMetric
    from wefe.preprocessing import get_embeddings_from_query
    from wefe.utils import run_queries

    class Spread(BaseMetric):
        metric_template = (2, 1)
        metric_name = "Spread"
        metric_short_name = "S"

        def run_query(self, query, model, scale=1.0, **lookup):
            self._check_input(query, model)
            embeddings = get_embeddings_from_query(model=model, query=query, **lookup)
            if embeddings is None:
                return {"query_name": query.query_name, "result": np.nan}
            targets, attributes = embeddings
            first, second = (np.mean(list(part.values()), axis=0) for part in targets.values())
            assert list(attributes) == query.attribute_sets_names
            return {
                "query_name": query.query_name,
                "result": scale * float(np.abs(first - second).sum()),
            }

    query = query_for(Spread)
    once = Spread().run_query(query, model)["result"]
    table = run_queries(Spread, [query], [model], metric_params={"scale": 2.0})
    assert table.iloc[0, 0] == pytest.approx(2 * once)
    with pytest.raises(ValueError, match="2 target and 1 attribute"):
        Spread().run_query(query_for(wefe.metrics.WEAT), model)
    lost = run_queries(Spread, [query_for(Spread, lost=["x", "y", "z"])], [model])
    assert math.isnan(lost.iloc[0, 0])


# Mitigation

PAIRS = [["t0", "u0"], ["t1", "u1"], ["t2", "u2"]]
WORD_SETS = {
    "HardDebias": {"definitional_pairs": PAIRS, "equalize_pairs": [["a0", "b0"]]},
    "MulticlassHardDebias": {
        "definitional_sets": [["t0", "u0", "a0"], ["t1", "u1", "a1"]],
        "equalize_sets": [["t3", "u3", "a3"]],
    },
    "RepulsionAttractionNeutralization": {"definitional_pairs": PAIRS},
    "DoubleHardDebias": {"definitional_pairs": PAIRS, "bias_representation": ["t0", "u0"]},
    "HalfSiblingRegression": {"definitional_words": ["t0", "u0"]},
}


@pytest.fixture(params=WORD_SETS)
def mitigation(request):
    sizes = {"DoubleHardDebias": {"n_words": 4}}
    return getattr(wefe.debias, request.param)(
        criterion_name="class", **sizes.get(request.param, {})
    )


def fitted(mitigation, model):
    return mitigation.fit(model, **WORD_SETS[type(mitigation).__name__])


def changed(before, after):
    return [word for word in WORDS if not np.array_equal(before[word], after[word])]


def test_method_is_fitted_before_it_transforms(mitigation, model):
    from sklearn.exceptions import NotFittedError
    from wefe.utils import check_is_fitted

    with pytest.raises(NotFittedError):
        check_is_fitted(mitigation)
    with pytest.raises(NotFittedError):
        mitigation.transform(model)
    assert fitted(mitigation, model) is mitigation
    check_is_fitted(mitigation)


def test_word_sets_are_needed(mitigation, model):
    with pytest.raises(TypeError, match="definitional"):
        mitigation.fit(model)


def test_fitted_hard_debias_has_the_documented_attributes(model):
    from wefe.utils import check_is_fitted

    method = fitted(wefe.debias.HardDebias(), model)
    check_is_fitted(
        method,
        ["definitional_pairs_", "definitional_pairs_embeddings_", "pca_", "bias_direction_"],
    )
    assert np.array_equal(method.bias_direction_, method.pca_.components_[0])
    assert [list(pair) for pair in method.definitional_pairs_embeddings_] == PAIRS


def test_copy_leaves_the_model_and_no_copy_changes_it(mitigation, model):
    before = model.vectors.copy()
    debiased = fitted(mitigation, model).transform(model)
    assert isinstance(debiased, WordEmbeddingModel)
    assert debiased is not model
    assert debiased.name == "random_class_debiased"
    assert (model.name, list(debiased.vocab)) == ("random", WORDS)
    assert np.array_equal(model.vectors, before)
    assert not np.array_equal(debiased.vectors, before)
    assert mitigation.transform(model, copy=False) is model
    assert np.array_equal(model.vectors, debiased.vectors)


def test_words_that_are_no_target_keep_their_vectors(mitigation, model):
    words = WORD_SETS[type(mitigation).__name__]
    # Equalized words change in any case, as documented.
    sets = words.get("equalize_pairs", words.get("equalize_sets", []))
    equalized = {word for part in sets for word in part}
    target = ["t4", "b5"]
    touched = changed(model, fitted(mitigation, model).transform(model, target=target))
    assert set(touched) == {*target, *equalized}


def test_ignored_words_keep_their_vectors(mitigation, model):
    ignored = ["t4", "b5"]
    debiased = fitted(mitigation, model).transform(model, ignore=ignored)
    old, new = (np.stack([each[word] for word in ignored]) for each in (model, debiased))
    if isinstance(mitigation, wefe.debias.DoubleHardDebias):
        # They keep what they have along the bias direction, but are centred as all others are.
        direction = mitigation.bias_direction_
        assert new @ direction == pytest.approx((old - mitigation.mean_) @ direction, abs=1e-6)
    else:
        assert np.array_equal(new, old)
    assert not set(changed(model, debiased)) <= set(ignored)


@pytest.mark.parametrize(
    "arguments", [{"target": "t0"}, {"target": [1]}, {"ignore": "t0"}, {"copy": "yes"}]
)
def test_wrong_argument_of_transform_is_refused_as_documented(arguments, mitigation, model):
    fitted(mitigation, model)
    with pytest.raises(TypeError):
        mitigation.transform(model, **arguments)


def test_own_mitigation_method_is_written_as_documented(model):
    from copy import deepcopy

    from wefe.debias.base_debias import BaseDebias
    from wefe.preprocessing import get_embeddings_from_tuples
    from wefe.utils import check_is_fitted

    class Shift(BaseDebias):
        def fit(self, model, definitional_pairs, **fit_params):
            self._check_sets_size(definitional_pairs, "definitional")
            self.embeddings_ = get_embeddings_from_tuples(
                model=model, sets=definitional_pairs, sets_name="definitional", normalize=True
            )
            self.pca_ = self._identify_bias_subspace(self.embeddings_, self.verbose)
            return self

        def transform(self, model, target=None, ignore=None, copy=True):
            self._check_transform_args(model=model, target=target, ignore=ignore, copy=copy)
            check_is_fitted(self, ["embeddings_", "pca_"])
            if copy:
                model = deepcopy(model)
            words = [word for word in target or model.vocab if word not in (ignore or ())]
            direction = self.pca_.components_[0]
            old = np.stack([model[word] for word in words])
            new = old - np.outer(old @ direction, direction)
            model.batch_update(words, new.astype(old.dtype))
            return model

    method = Shift(verbose=True, criterion_name="class")
    debiased = method.fit_transform(model, definitional_pairs=PAIRS, ignore=["t0", "u0"])
    assert changed(model, debiased) == [word for word in WORDS if word not in ("t0", "u0")]
    projections = debiased.vectors @ method.pca_.components_[0]
    neutral = [word not in ("t0", "u0") for word in WORDS]
    assert np.abs(projections[neutral]).max() < 1e-6
    with pytest.raises(ValueError, match="2 words"):
        Shift().fit(model, [["t0", "u0", "a0"]])
    with pytest.raises(TypeError):
        BaseDebias()
