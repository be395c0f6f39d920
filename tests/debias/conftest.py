"""The criterion of most tests, and the vectors and word sets of published figures."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import fetch_debiaswe, load_criterion, load_weat
from wefe.debias import HardDebias

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
_QUERIES = (
    ("male_terms", "female_terms", "career", "family"),
    ("male_names", "female_names", "pleasant_5", "unpleasant_5a"),
)


@pytest.fixture(scope="session")
def gender():
    return load_criterion("gender", offline=True)


@pytest.fixture(scope="session")
def published():
    """The vectors of Google News, the word sets of Bolukbasi et al., and two WEAT scores."""
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    if not DATA.is_dir():
        pytest.skip("needs the published vectors beside the repository")
    wv = keyed_vectors.load(str(DATA / "models" / "word2vec_subset.kv"))
    weat = load_weat()
    queries = [Query([weat[a], weat[b]], [weat[c], weat[d]]) for a, b, c, d in _QUERIES]

    def scores(model, result="weat", **options):
        return [WEAT().run_query(query, model, **options)[result] for query in queries]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFE_DATA_DIR", str(DATA))
        return SimpleNamespace(
            model=WordEmbeddingModel(wv, "word2vec"),
            words=fetch_debiaswe(),
            gender=load_criterion("gender"),
            scores=scores,
        )


@pytest.fixture(scope="session")
def debiased(packaged_model, gender):
    return HardDebias().fit_transform(
        packaged_model, criterion=gender, ignore=gender.specific_words
    )
