"""Tables and results to be plotted, and ways to look at a figure."""

import json

import pandas as pd
import pytest

from wefe import Query, WordEmbeddingModel, load_test_model
from wefe.datasets import load_rnsb_identity_terms, load_weat, load_weat_queries
from wefe.metrics import RNSB
from wefe.running import run_queries


@pytest.fixture(scope="session")
def models():
    model = load_test_model()
    words = list(model.vocab)
    return [
        WordEmbeddingModel((words, model.vectors[:, :dim].copy()), f"minilm {dim}d")
        for dim in (64, 16, 4)
    ]


@pytest.fixture(scope="session")
def ect_results(models):
    queries = [Query(q.target_sets, q.attribute_sets[:1]) for q in load_weat_queries()[:2]]
    return run_queries(
        "ect", queries, models, aggregate_results=True, aggregation_function="bias_avg"
    )


@pytest.fixture(scope="session")
def rnsb_results(models):
    weat = load_weat()
    query = Query(
        [[term] for term in load_rnsb_identity_terms()["national_origin_terms"][:6]],
        [weat["pleasant_5"], weat["unpleasant_5"]],
        attribute_sets_names=["Pleasant", "Unpleasant"],
    )
    return [RNSB().run_query(query, model, n_iterations=4, random_state=0) for model in models]


@pytest.fixture
def ranking():
    metrics = {"WEAT": [3.0, 1.0, 2.0], "RND": [3.0, 2.0, 1.0], "RNSB": [2.0, 1.0, 3.0]}
    table = pd.DataFrame(metrics, index=["w2v", "glove", "fasttext"])
    return table.add_suffix(": Gender Queries average of abs values score")


@pytest.fixture(scope="session")
def drawn():
    """Function from a figure to what the browser gets."""
    return lambda figure: json.loads(figure.to_json())


@pytest.fixture(scope="session")
def said():
    """Function from a figure and a text to the annotations that start with the text."""
    return lambda figure, text="": [
        note for note in figure.layout.annotations if note.text.startswith(text)
    ]


@pytest.fixture(scope="session")
def heading():
    """Function from a figure to its title and notes, in one line."""
    return lambda figure: figure.layout.title.text.replace("<br>", " ")
