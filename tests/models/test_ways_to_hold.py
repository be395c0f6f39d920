"""The three ways to hold a model, and the choice of its vocabulary."""

import copy
import gzip
import logging
import pickle

import numpy as np
import pytest

from wefe import MAC, RNSB, WEAT, Query, WordEmbeddingModel, convert, load, run_queries
from wefe._answers import for_worker
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
def test_without_words_a_parsed_file_is_held_in_memory(files, name, caplog):
    caplog.set_level(logging.INFO, "wefe")
    model = load(files[name])
    assert (model.held, model.nbytes) == ("memory", VECTORS.nbytes)
    assert repr(model).endswith("9 word embeddings of 5 dims>")
    assert "9 word embeddings of 5 dims> (0.0 MB)" in caplog.text
    np.testing.assert_array_equal(model.vectors, VECTORS)


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


def test_a_native_file_is_mapped_and_needs_no_selection(files):
    model = load(files["m.safetensors"], words=["she"])
    assert (model.held, model.nbytes) == ("mapped", VECTORS.nbytes)
    assert repr(model).endswith("of 5 dims, mapped>")
    assert "he" in model
    assert load(files["m.safetensors"], words=["she"], hold="selected").held == "selected"
    assert load(files["m.safetensors"], hold="memory").held == "memory"


def test_changes_of_a_mapped_model_stay_in_memory(files):
    before = files["m.safetensors"].read_bytes()
    model = load(files["m.safetensors"])
    model.normalize()
    model.update("he", np.zeros(5, np.float32))
    assert not model["he"].any()
    assert files["m.safetensors"].read_bytes() == before
    np.testing.assert_array_equal(load(files["m.safetensors"])["he"], VECTORS[1])


def test_what_a_format_cannot_do_says_what_can(files):
    with pytest.raises(ValueError, match=r"m.txt cannot be mapped as it is; convert it once"):
        load(files["m.txt"], hold="mapped")
    with pytest.raises(ValueError, match="cannot be mapped with another vocabulary"):
        load(files["m.safetensors"], hold="mapped", limit=2)
    with pytest.raises(ValueError, match="hold='selected' needs the words"):
        load(files["m.txt"], hold="selected")
    with pytest.raises(ValueError, match="hold must be one of 'selected', 'mapped', 'memory'"):
        load(files["m.txt"], hold="disk")


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


def test_a_query_stands_for_every_form_that_a_preprocessor_can_make(files):
    query = Query([["José"], ["sHe"]], [["poetry"], ["math"]])
    model = load(files["m.txt"], words=query)
    every = [{case: True} for case in ("lowercase", "uppercase", "titlecase")]
    every += [{**case, "strip_accents": how} for case in [{}, *every] for how in (True, "ascii")]
    whole = load(files["m.txt"])
    for options in [{}, *every]:
        lookup = {"preprocessors": [options], "lost_vocabulary_threshold": 1}
        assert str(WEAT().run_query(query, model, **lookup)) == str(
            WEAT().run_query(query, whole, **lookup)
        )


def test_a_query_is_looked_up_with_the_prefix_and_a_string_as_it_is(files):
    model = load(files["m.txt"], vocab_prefix="/c/en/", words=[QUERY, "rare"])
    assert list(model.vocab) == ["/c/en/she", "rare"]
    assert words_of(["a"], "/c/en/") == {"a"}
    assert words_of(QUERY, None, [{}]) == {"she", "he", "poetry", "math"}


@pytest.mark.parametrize(
    ("words", "text"),
    [("she", "iterable of strings or queries; got str"), ([3], "strings or queries; got int 3")],
)
def test_words_of_another_type_are_refused(files, words, text):
    with pytest.raises(TypeError, match=text):
        load(files["m.txt"], words=words)


def test_a_selected_model_survives_pickling_and_copying_with_its_errors(files):
    model = load(files["m.txt"], words=["she"])
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again == model
        with pytest.raises(UnreadWordError):
            again["he"]


def test_workers_get_mapped_and_selected_models(files):
    models = [load(files["m.safetensors"], "mapped"), load(files["m.txt"], "selected", words=QUERY)]
    table = run_queries(WEAT, [QUERY], models, n_jobs=2)
    assert table.iloc[0, 0] == pytest.approx(table.iloc[1, 0], abs=1e-12)


@pytest.mark.parametrize("name", [*PARSED, "m.safetensors"])
def test_limit_keeps_the_first_rows(files, name):
    model = load(files[name], limit=3)
    assert list(model.vocab) == WORDS[:3]
    np.testing.assert_array_equal(model.vectors, VECTORS[:3])
    assert len(load(files[name], limit=99)) == len(WORDS)


@pytest.mark.parametrize("name", [*PARSED, "m.safetensors"])
def test_case_is_lowered_and_the_first_of_equal_words_kept_or_all_averaged(files, name, caplog):
    first = load(files[name], lowercase="first")
    assert list(first.vocab) == ["she", "he", "poetry", "math", "josé", "jose", "/c/en/she", "rare"]
    np.testing.assert_array_equal(first["she"], VECTORS[0])
    assert "has 1 words twice" in caplog.text
    mean = load(files[name], lowercase="mean")
    np.testing.assert_allclose(mean["she"], (VECTORS[0] + VECTORS[2]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(mean["he"], VECTORS[1])


def test_keep_and_counts_choose_words(files, tmp_path):
    model = load(files["m.txt"], keep=lambda word: word.startswith("/c/"))
    assert list(model.vocab) == ["/c/en/she"]
    counts = tmp_path / "counts.txt"
    counts.write_text("she 100\nhe 90\nrare 1\n")
    assert list(load(files["m.txt"], counts=counts, min_count=90).vocab) == ["she", "he"]
    assert list(load(files["m.txt"], counts={"math": 5}, min_count=5).vocab) == ["math"]
    with pytest.raises(ValueError, match="min_count needs to know how often each word occurred"):
        load(files["m.txt"], min_count=5)
    counts.write_text("she 100\nhe many\n")
    with pytest.raises(ValueError, match=r"counts.txt, line 2: expected a word and its count"):
        load(files["m.txt"], counts=counts, min_count=1)
    with pytest.raises(ValueError, match="no word is left"):
        load(files["m.txt"], keep=lambda word: False)


def test_a_selection_of_a_cut_vocabulary_obeys_both(files):
    model = load(files["m.txt"], words=["she", "he", "rare"], limit=3, lowercase="mean")
    assert list(model.vocab) == ["she", "he"]
    np.testing.assert_allclose(model["she"], (VECTORS[0] + VECTORS[2]) / 2, rtol=1e-6)


def test_a_cut_vocabulary_keeps_the_type_of_the_numbers(tmp_path):
    convert((WORDS, VECTORS), tmp_path / "half.safetensors", "float16")
    assert load(tmp_path / "half.safetensors", limit=2).dtype == np.float16
    assert load((WORDS, VECTORS.astype(np.float64)), limit=2).dtype == np.float64


@pytest.mark.parametrize("hold", [None, "memory"])
def test_nan_in_a_file_is_refused_or_left_out_and_counted(tmp_path, hold, caplog):
    vectors = VECTORS.copy()
    vectors[1, 2] = np.nan
    np.save(tmp_path / "m.npy", vectors)
    (tmp_path / "m.vocab").write_text("\n".join(WORDS))
    options = {"hold": hold} if hold else {"limit": 5}
    with pytest.raises(ValueError, match=r"m.npy: the vector of 'he' has NaN or infinity"):
        load(tmp_path / "m.npy", **options)
    model = load(tmp_path / "m.npy", on_error="skip", **options)
    assert "he" not in model
    assert "1 damaged words were left out" in caplog.text


def test_the_number_of_threads_changes_nothing(tmp_path):
    words = [f"w{i}" for i in range(3000)]
    vectors = np.random.default_rng(1).normal(size=(3000, 60))
    vectors[::7] *= 1e-6  # with exponents
    WordEmbeddingModel((words, vectors.astype(np.float32)), "m").save(tmp_path / "m.txt")
    expected = load(tmp_path / "m.txt", n_jobs=1)
    assert expected == load(tmp_path / "m.txt", n_jobs=3)
    np.testing.assert_array_equal(expected.vectors, vectors.astype(np.float32))


def test_names_are_those_of_the_files_without_packing(files, tmp_path):
    packed = tmp_path / "glove.6B.txt.gz"
    packed.write_bytes(gzip.compress(files["m.txt"].read_bytes()))
    assert load(packed).name == "glove.6B"
    # The name that the model had when it was saved.
    assert load(files["m.safetensors"]).name == "toy"
    assert load(files["m.txt"], "other").name == "other"


class OwnMetric(MAC):
    """A metric of another package, which may look up whatever it likes."""


def test_workers_see_what_was_changed_in_a_mapped_model(files):
    model = load(files["m.safetensors"])
    before = run_queries(WEAT, [QUERY], [model])
    model.update("she", np.ones(5, np.float32))
    model.vectors[model.vocab["he"]] *= -2
    changed = run_queries(WEAT, [QUERY], [model])
    assert changed.iloc[0, 0] != before.iloc[0, 0]
    assert run_queries(WEAT, [QUERY], [model], n_jobs=2).iloc[0, 0] == changed.iloc[0, 0]


def test_a_metric_of_another_package_gets_all_words_in_its_worker(files):
    model = load(files["m.safetensors"])
    sent = for_worker([OwnMetric()], [QUERY], model, {})
    assert (sent.held, model.held) == ("memory", "mapped")
    assert "rare" in sent
    np.testing.assert_array_equal(sent.vectors, VECTORS)


def test_workers_are_not_fooled_by_another_file_of_the_same_name(files):
    model = load(files["m.safetensors"])
    expected = run_queries(WEAT, [QUERY], [model])
    convert((WORDS, -VECTORS[::-1]), files["m.safetensors"])
    assert run_queries(WEAT, [QUERY], [model], n_jobs=2).equals(expected)
