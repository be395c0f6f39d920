import importlib.util
import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from wefe.models import WordEmbeddingModel, load_test_model, load_weat_w2v
from wefe.models.formats._safetensors import read_header

SHIPPED = resources.files("wefe.models").joinpath("data", "minilm-words.safetensors")
WORD_SETS = resources.files("wefe.datasets").joinpath("data")


@pytest.fixture(scope="module")
def model():
    return load_test_model()


@pytest.fixture(scope="module")
def literal():
    path = Path(__file__).parents[1] / "oracles" / "literal_metrics.py"
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def strings_in(node):
    if isinstance(node, str):
        return {node}
    children = node.values() if isinstance(node, dict) else node
    return set().union(*map(strings_in, children))


def test_file_is_plain_numbers_behind_a_json_header():
    assert SHIPPED.stat().st_size <= 6_000_000
    tensors, metadata = read_header(SHIPPED)
    kinds = {name: (tensor.dtype, len(tensor.shape)) for name, tensor in tensors.items()}
    assert kinds == {"embeddings": ("F16", 2), "vocabulary": ("U8", 1)}
    assert metadata["licence"] == "Apache-2.0"
    assert float(metadata["explained_variance"]) == pytest.approx(0.9487, abs=1e-3)


def test_model_has_256_finite_float32_dimensions_and_all_words_of_the_packaged_sets(model):
    assert (model.vectors.shape, model.vectors.dtype) == ((len(model), 256), np.float32)
    assert np.isfinite(model.vectors).all()
    assert np.linalg.norm(model.vectors, axis=1).min() > 0.5
    files = [file for file in WORD_SETS.iterdir() if file.name.endswith(".json")]
    words = strings_in([json.loads(file.read_text("utf-8"))["word_sets"] for file in files])
    assert words <= set(model.vocab), "run scripts/build_packaged_vectors.py again"
    with pytest.warns(UserWarning, match="not the word2vec"):
        table = load_weat_w2v()
    np.testing.assert_array_equal(WordEmbeddingModel(table)["nurse"], model["nurse"])


@pytest.mark.parametrize(
    ("sets", "measured"),
    [
        (("flowers", "insects", "pleasant_5", "unpleasant_5a"), 1.22),
        (("male_names", "female_names", "career", "family"), 1.04),
        (("math", "arts", "male_terms", "female_terms"), 1.00),
    ],
)
def test_model_shows_the_published_associations(model, literal, sets, measured):
    word_sets = json.loads(WORD_SETS.joinpath("weat.json").read_text("utf-8"))["word_sets"]
    effect_size = literal.weat_effect_size(*(model.get_vectors(word_sets[name]) for name in sets))
    assert effect_size == pytest.approx(measured, abs=0.01)
