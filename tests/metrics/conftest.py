"""The published test model and queries, and slow second versions of the metrics."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.datasets import fetch_debiaswe, load_weat
from wefe.metrics import list_metrics
from wefe.metrics._registry import _registry

TESTS = Path(__file__).parents[1]
SHARED_DATA = TESTS.parents[1] / "shared" / "data"


@pytest.fixture(scope="session")
def literal():
    """The module with the slow, literal versions of the metrics."""
    path = TESTS / "oracles" / "literal_metrics.py"
    specification = importlib.util.spec_from_file_location("literal_metrics", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def vectors(toy_model):
    """Function from words of the toy model, separated by spaces, to their vectors."""
    return lambda words: toy_model.get_vectors(words.split())


@pytest.fixture(scope="session")
def query_of():
    """Function from target sets and attribute sets, each a string of words, to a query."""

    def make(targets, attributes, *names):
        return Query(
            [words.split() for words in targets], [words.split() for words in attributes], *names
        )

    return make


@pytest.fixture
def toy(query_of, toy_model):
    """Function from a metric, target and attribute sets and options to its toy result."""
    return lambda metric, targets, attributes, **options: metric().run_query(
        query_of(targets, attributes), toy_model, **options
    )


@pytest.fixture(scope="session")
def named():
    """Function from arrays of target words and of attribute words to a query and its model."""

    def name(targets, attributes):
        words = [
            [[f"{kind}{i}_{row}" for row in range(len(part))] for i, part in enumerate(parts)]
            for kind, parts in (("t", targets), ("a", attributes))
        ]
        vocabulary = [word for parts in words for part in parts for word in part]
        vectors = np.concatenate([*targets, *attributes]).astype(np.float64)
        return Query(*words), WordEmbeddingModel((vocabulary, vectors), "named")

    return name


@pytest.fixture(scope="session")
def word2vec():
    """The 13,013 Google News vectors on which the published figures rest."""
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    path = SHARED_DATA / "models" / "word2vec_subset.kv"
    if not path.exists():
        pytest.skip("the vectors word2vec_subset.kv are not beside the repository")
    return WordEmbeddingModel(keyed_vectors.load(str(path)), "word2vec")


@pytest.fixture(scope="session")
def weat_sets():
    return load_weat()


@pytest.fixture(scope="session")
def shared_data():
    """The mirror of bulk files."""
    mirror = Path(os.environ.get("WEFE_DATA_DIR", SHARED_DATA))
    if not all((mirror / name).is_dir() for name in ("debiaswe", "gn_glove")):
        pytest.skip("no local mirror of the bulk files (set WEFE_DATA_DIR)")
    return mirror


@pytest.fixture(scope="session")
def debiaswe_sets(shared_data):
    """The word sets of Bolukbasi et al., with the bulk lists from the mirror of the data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFE_DATA_DIR", str(shared_data))
        return fetch_debiaswe()


@pytest.fixture(scope="session")
def gender_family_career(weat_sets):
    """The query of most published examples: female and male terms wrt family and career."""
    return Query(
        [weat_sets["female_terms"], weat_sets["male_terms"]],
        [weat_sets["family"], weat_sets["career"]],
        ["Female terms", "Male terms"],
        ["Family", "Careers"],
    )


@pytest.fixture(scope="session")
def gender_family(weat_sets):
    """Female and male terms wrt family."""
    return Query(
        [weat_sets["female_terms"], weat_sets["male_terms"]],
        [weat_sets["family"]],
        ["Female terms", "Male terms"],
        ["Family"],
    )


@pytest.fixture
def registry():
    """The registry of metrics, which stays as it was before the test."""
    list_metrics()
    before = dict(_registry)
    yield _registry
    _registry.clear()
    _registry.update(before)
