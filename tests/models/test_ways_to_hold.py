"""The three ways to hold a model, and the choice of its vocabulary."""

import logging

import numpy as np
import pytest

from wefe import MAC, RNSB, WEAT, Query, WordEmbeddingModel, convert, load, run_queries
from wefe.embeddings import get_embeddings_from_query
from wefe.models import UnreadWordError
from wefe.models._load import words_of

WORDS = ["she", "he", "She", "poetry", "math", "José", "jose", "/c/en/she", "rare"]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)
QUERY = Query([["she"], ["he"]], [["poetry"], ["math"]])


@pytest.fixture
def files(tmp_path):
    """The same vectors in a file that is parsed, a packed one, and one that is mapped."""
    model = WordEmbeddingModel((WORDS, VECTORS), "toy")
    for name in ("m.txt", "m.vec", "m.bin", "m.vec.gz", "m.safetensors"):
        model.save(tmp_path / name)
    return {path.name: path for path in tmp_path.iterdir()}


PARSED = ["m.txt", "m.vec", "m.bin", "m.vec.gz"]


@pytest.mark.parametrize("name", PARSED)
def test_with_words_only_these_are_held(files, name, caplog):
    caplog.set_level(logging.INFO, "wefe")
    model = load(files[name], words=["math", "she", "xyzzy"])
    assert model.held == "selected"
    assert list(model.vocab) == ["she", "math"]
    assert model.nbytes == 2 * 5 * 4
    assert repr(model).endswith("2 word embeddings of 5 dims, selected of 3 words asked for>")
    assert "2 word embeddings of 5 dims, selected of 3 words asked for>" in caplog.text
    np.testing.assert_array_equal(model["math"], VECTORS[4])
    assert "xyzzy" not in model  # asked for, and not there


def test_a_word_that_was_not_asked_for_is_an_error_not_missing(files):
    model = load(files["m.txt"], words=["she"])
    for look_up in (
        lambda: model["he"],
        lambda: "he" in model,
        lambda: model.get_vectors(["she", "he"]),
        lambda: model.vocab["he"],
        lambda: model.vocab.get("he"),
        lambda: model.update("he", VECTORS[0]),
        lambda: WEAT().run_query(QUERY, model),
        lambda: get_embeddings_from_query(model, QUERY),
        lambda: run_queries(WEAT, [QUERY], [model]),
    ):
        with pytest.raises(
            UnreadWordError, match=r"'\w+' was not among the 1 words for which .*m.txt"
        ):
            look_up()


def test_a_lost_word_of_a_selected_model_gives_nan_with_its_reason(files):
    query = Query([["she"], ["Xyzzy"]], [["poetry"], ["math"]])
    model = load(
        files["m.txt"],
        words=[word for part in query.target_sets for word in part] + ["poetry", "math"],
    )
    result = WEAT().run_query(query, model)
    assert np.isnan(result["weat"])
    assert "Xyzzy" in result.nan_reason


@pytest.mark.parametrize("name", PARSED)
@pytest.mark.parametrize("metric", [WEAT, MAC, RNSB])
def test_scores_are_those_of_the_whole_model(files, name, metric):
    options = {"random_state": 0, "holdout": False} if metric is RNSB else {}
    whole, selected = load(files[name]), load(files[name], words=QUERY)
    expected = metric().run_query(QUERY, whole, **options)
    assert metric().run_query(QUERY, selected, **options) == expected


def test_a_query_is_looked_up_with_the_prefix_and_a_string_as_it_is(files):
    model = load(files["m.txt"], vocab_prefix="/c/en/", words=[QUERY, "rare"])
    assert list(model.vocab) == ["/c/en/she", "rare"]
    assert words_of(["a"], "/c/en/") == {"a"}
    assert words_of(QUERY, None, [{}]) == {"she", "he", "poetry", "math"}


def test_workers_get_mapped_and_selected_models(files):
    models = [load(files["m.safetensors"], "mapped"), load(files["m.txt"], "selected", words=QUERY)]
    table = run_queries(WEAT, [QUERY], models, n_jobs=2)
    assert table.iloc[0, 0] == pytest.approx(table.iloc[1, 0], abs=1e-12)


def test_a_cut_vocabulary_keeps_the_type_of_the_numbers(tmp_path):
    convert((WORDS, VECTORS), tmp_path / "half.safetensors", "float16")
    assert load(tmp_path / "half.safetensors", limit=2).dtype == np.float16
    assert load((WORDS, VECTORS.astype(np.float64)), limit=2).dtype == np.float64


def test_workers_see_what_was_changed_in_a_mapped_model(files):
    model = load(files["m.safetensors"])
    before = run_queries(WEAT, [QUERY], [model])
    model.update("she", np.ones(5, np.float32))
    model.vectors[model.vocab["he"]] *= -2
    changed = run_queries(WEAT, [QUERY], [model])
    assert changed.iloc[0, 0] != before.iloc[0, 0]
    assert run_queries(WEAT, [QUERY], [model], n_jobs=2).iloc[0, 0] == changed.iloc[0, 0]


def test_workers_are_not_fooled_by_another_file_of_the_same_name(files):
    model = load(files["m.safetensors"])
    expected = run_queries(WEAT, [QUERY], [model])
    convert((WORDS, -VECTORS[::-1]), files["m.safetensors"])
    assert run_queries(WEAT, [QUERY], [model], n_jobs=2).equals(expected)
