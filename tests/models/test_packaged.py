import importlib.util
import json
import struct
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from wefe.models import WordEmbeddingModel, load_test_model, load_weat_w2v

SHIPPED = resources.files("wefe.models").joinpath("data", "minilm-words.safetensors")
WORD_SETS = resources.files("wefe.datasets").joinpath("data")
SCRIPT = Path(__file__).parents[2] / "scripts" / "build_packaged_vectors.py"

needs_script = pytest.mark.skipif(not SCRIPT.exists(), reason="needs the repository's scripts/")


@pytest.fixture(scope="module")
def model():
    return load_test_model()


def module_at(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return module_at(SCRIPT)


def packaged_word_sets():
    files = [file for file in WORD_SETS.iterdir() if file.name.endswith(".json")]
    return {file.name: json.loads(file.read_text("utf-8"))["word_sets"] for file in files}


def strings_in(node):
    if isinstance(node, str):
        return {node}
    children = node.values() if isinstance(node, dict) else node
    return set().union(*map(strings_in, children))


# The file


def test_file_is_plain_numbers_behind_a_json_header():
    # The safetensors layout, read by hand: nothing in it could be a pickle.
    contents = SHIPPED.read_bytes()
    assert len(contents) <= 6_000_000
    (length,) = struct.unpack("<Q", contents[:8])
    header = json.loads(contents[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {name: (tensor["dtype"], len(tensor["shape"])) for name, tensor in header.items()}
    assert tensors == {"embeddings": ("F16", 2), "vocabulary": ("U8", 1)}
    ends = [tensor["data_offsets"][1] for tensor in header.values()]
    assert max(ends) == len(contents) - 8 - length
    assert metadata["licence"] == "Apache-2.0"
    assert "all-MiniLM-L6-v2" in metadata["source_model"]
    assert float(metadata["explained_variance"]) == pytest.approx(0.9487, abs=1e-3)


# The model


def test_model_has_256_finite_float32_dimensions_and_none_is_zero(model):
    assert (type(model), model.name) == (WordEmbeddingModel, "minilm-words")
    assert (model.vectors.shape, model.vectors.dtype) == ((len(model), 256), np.float32)
    assert 10_000 < len(model) <= 11_500
    assert np.isfinite(model.vectors).all()
    assert np.linalg.norm(model.vectors, axis=1).min() > 0.5


def test_every_word_of_every_packaged_data_set_is_in_the_model(model):
    missing = {word for word in strings_in(packaged_word_sets()) if word not in model}
    assert not missing, "run scripts/build_packaged_vectors.py again"


def test_case_does_not_change_a_vector(model):
    cased = [word for word in model.vocab if word != word.lower() and word.lower() in model]
    assert "Adam" in cased
    for word in cased:
        np.testing.assert_array_equal(model[word], model[word.lower()])


def test_old_name_gives_the_same_vectors_and_says_what_they_are(model):
    with pytest.warns(UserWarning, match="not the word2vec"):
        table = load_weat_w2v()
    wrapped = WordEmbeddingModel(table, "weat_w2v", "")
    np.testing.assert_array_equal(wrapped["nurse"], model["nurse"])


# The bias


@pytest.mark.parametrize(
    ("sets", "measured"),
    [
        (("flowers", "insects", "pleasant_5", "unpleasant_5a"), 1.22),
        (("male_names", "female_names", "career", "family"), 1.04),
        (("math", "arts", "male_terms", "female_terms"), 1.00),
    ],
)
def test_model_shows_the_published_associations(model, sets, measured):
    word_sets = packaged_word_sets()["weat.json"]
    literal = module_at(Path(__file__).parents[1] / "oracles" / "literal_metrics.py")
    effect_size = literal.weat_effect_size(*(model.get_vectors(word_sets[name]) for name in sets))
    assert effect_size > 0.8
    assert effect_size == pytest.approx(measured, abs=0.01)


# The script


@needs_script
def test_script_keeps_the_leading_directions_and_fixes_their_signs(script):
    rng = np.random.default_rng(0)
    embeddings = rng.normal(size=(50, 6)) * [9, 5, 3, 1, 1, 1] + 7
    reduced, explained = script.reduce(embeddings, n_fit=40, n_dimensions=3)
    # Reference: singular value decomposition of the centred rows.
    centred = embeddings - embeddings[:40].mean(axis=0)
    _, singular, rows = np.linalg.svd(centred[:40], full_matrices=False)
    expected = centred @ rows[:3].T
    np.testing.assert_allclose(np.abs(reduced), np.abs(expected))
    assert explained == pytest.approx((singular[:3] ** 2).sum() / (singular**2).sum())
    components = np.linalg.lstsq(centred, reduced, rcond=None)[0]
    assert (components.max(axis=0) == np.abs(components).max(axis=0)).all()


@needs_script
def test_script_check_tells_a_changed_file_from_the_shipped_one(script, capsys):
    from safetensors.numpy import load

    shipped = SHIPPED.read_bytes()
    tensors = load(shipped)
    assert script.check(shipped, shipped)

    nudged = {**tensors, "embeddings": np.nextafter(tensors["embeddings"], np.float16(9))}
    assert script.check(script.to_safetensors(nudged, {}), shipped)
    moved = {**tensors, "embeddings": tensors["embeddings"] + np.float16(0.01)}
    assert not script.check(script.to_safetensors(moved, {}), shipped)

    words = tensors["vocabulary"].tobytes().replace(b"\nCatholic_priest\n", b"\nCatholic_bishop\n")
    renamed = {**tensors, "vocabulary": np.frombuffer(words, dtype=np.uint8)}
    assert not script.check(script.to_safetensors(renamed, {}), shipped)
    assert "Catholic_bishop" in capsys.readouterr().out
