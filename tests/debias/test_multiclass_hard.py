"""Multiclass Hard Debias: the worked example, recomputed figures, and what equalizing promises."""

import logging
from pathlib import Path

import numpy as np
import pytest

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import fetch_debias_multiclass, load_criterion
from wefe.debias import HardDebias, MulticlassHardDebias

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
SETS = [["she", "he", "they"], ["woman", "man", "folk"]]
MEMBERS = [word for words in SETS for word in words]


def fitted(model, n_components, sets=SETS, equalize=None):
    method = MulticlassHardDebias(pca_args={"n_components": n_components})
    return method.fit(model, sets, equalize)


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("n_components", "expected"),
    [
        (
            1,
            {
                "nurse": (0.020253, 0.164816, 0.986116),
                "she": (0.909356, 0.414976, -0.029432),
                "he": (-0.841800, 0.539600, -0.014295),
                "they": (0.909356, 0.414976, -0.029432),
            },
        ),
        (
            2,
            {
                "nurse": (0.041219, 0.472246, 0.880503),
                "she": (0.937441, -0.188312, 0.292819),
                "he": (-0.937292, -0.100806, 0.333648),
                "they": (0.094934, 0.955016, -0.280949),
            },
        ),
    ],
)
def test_worked_example(toy_model, n_components, expected):
    method = fitted(toy_model, n_components)
    result = method.transform(toy_model, ignore=MEMBERS)
    for word, vector in expected.items():
        np.testing.assert_allclose(result[word], vector, atol=1e-6)


def test_the_subspace_of_the_worked_example(toy_model):
    method = fitted(toy_model, 10)
    np.testing.assert_allclose(
        method.pca_.explained_variance_ratio_, [0.826407, 0.132779, 0.040814], atol=1e-6
    )
    np.testing.assert_allclose(
        np.abs(method.bias_subspace_[:2]),
        np.abs([(0.997440, -0.070984, -0.008622), (0.058430, 0.878604, -0.473963)]),
        atol=1e-6,
    )
    nurse = fitted(toy_model, 2).transform(toy_model, ignore=MEMBERS)
    for word in SETS[0]:
        assert nurse[word] @ nurse["nurse"] == pytest.approx(0.207538, abs=1e-6)


def test_one_component_lets_three_classes_fall_together_which_is_said(toy_model, caplog):
    with caplog.at_level(logging.WARNING):
        method = fitted(toy_model, 1)
    assert "1 components cannot separate 3 classes" in caplog.text
    result = method.transform(toy_model, ignore=MEMBERS)
    np.testing.assert_allclose(result["they"], result["she"], atol=1e-12)
    caplog.clear()
    fitted(toy_model, 2)
    assert not caplog.text


def test_every_member_is_equally_near_to_every_neutral_word(packaged_model):
    criterion = load_criterion("religion")
    method = MulticlassHardDebias(pca_args={"n_components": 5}).fit(
        packaged_model, criterion=criterion
    )
    result = method.transform(packaged_model, ignore=criterion.specific_words)
    ignored = set(criterion.specific_words)
    neutral = [word for word in packaged_model.vocab if word not in ignored]
    vectors = result.get_vectors(neutral).astype(float)
    assert np.abs(vectors @ method.bias_subspace_.T).max() < 1e-6
    for members in criterion.equalize_sets[-2:]:
        known = [word for word in members if word in packaged_model.vocab]
        cosines = vectors @ result.get_vectors(known).astype(float).T
        assert np.ptp(cosines, axis=1).max() < 1e-6
        np.testing.assert_allclose(np.linalg.norm(result.get_vectors(known), axis=1), 1, atol=1e-6)


def test_the_subspace_never_exceeds_what_the_sets_span(packaged_model):
    criterion = load_criterion("ethnicity")
    method = MulticlassHardDebias().fit(packaged_model, criterion=criterion)
    rows = [
        packaged_model.get_vectors(words).astype(float) for words in criterion.definitional_sets
    ]
    units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in rows]
    centred = np.concatenate([part - part.mean(axis=0) for part in units])
    assert len(centred) == 18
    assert len(method.bias_subspace_) == np.linalg.matrix_rank(centred, tol=1e-6) == 8


def test_pairs_give_what_hard_debias_gives(packaged_model):
    criterion = load_criterion("gender", offline=True)
    several = MulticlassHardDebias(pca_args={"n_components": 1}).fit_transform(
        packaged_model, criterion=criterion, ignore=criterion.specific_words
    )
    binary = HardDebias().fit_transform(
        packaged_model, criterion=criterion, ignore=criterion.specific_words
    )
    np.testing.assert_allclose(several.vectors, binary.vectors, atol=1e-6)


def test_a_set_is_equalized_with_the_words_that_are_there(toy_model, caplog):
    method = fitted(
        toy_model, 2, equalize=[["she", "he", "alien"], ["woman", "martian", "venusian"]]
    )
    with caplog.at_level(logging.INFO):
        result = method.transform(toy_model, ignore=MEMBERS)
    assert result["she"] @ result["nurse"] == pytest.approx(result["he"] @ result["nurse"])
    assert np.array_equal(result["woman"], toy_model["woman"])
    # Each of the two in lower, title and upper case; of those only the first has two words.
    assert "5 of 6 sets" in caplog.text


def test_of_two_sets_with_a_word_the_last_one_counts(toy_model):
    both = [["she", "he"], ["she", "they"]]
    result = fitted(toy_model, 2, equalize=both).transform(toy_model, ignore=MEMBERS)
    last = fitted(toy_model, 2, equalize=both[1:]).transform(toy_model, ignore=MEMBERS)
    assert np.array_equal(result["she"], last["she"])
    assert np.array_equal(result["they"], last["they"])


def test_a_word_without_a_side_becomes_the_mean_at_unit_length():
    # Within the subspace, c lies in the middle of a and b.
    words = {"a": (1.0, 0, 1), "b": (-1.0, 0, 1), "c": (0, 0, 2.0), "n": (0.3, 1, 1)}
    model = WordEmbeddingModel((list(words), np.array(list(words.values()))), "middle")
    result = fitted(model, 1, [["a", "b"]], [["a", "b", "c"]]).transform(model, ignore=["a", "b"])
    assert np.isfinite(result.vectors).all()
    np.testing.assert_allclose(result["c"], (0, 0, 1), atol=1e-12)


def test_wrong_sets(toy_model):
    with pytest.raises(ValueError, match="two or more words"):
        fitted(toy_model, 1, [["she"]])
    with pytest.raises(ValueError, match="none of the 1 definitional_sets complete"):
        fitted(toy_model, 1, [["she", "alien"]])
    with pytest.raises(TypeError, match="needs definitional_sets, or a criterion"):
        MulticlassHardDebias().fit(toy_model)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the word2vec subset")
def test_recomputed_figures():
    gensim = pytest.importorskip("gensim.models")
    model = WordEmbeddingModel(
        gensim.KeyedVectors.load(str(SHARED / "data/models/word2vec_subset.kv")), "w2v"
    )
    words = fetch_debias_multiclass()
    sets = words["ethnicity_definitional_sets"]
    query = Query(
        [words["white_terms"], words["black_terms"]],
        [words["white_biased_words"], words["black_biased_words"]],
    )

    def weat(measured):
        answer = WEAT().run_query(
            query,
            measured,
            normalize=True,
            preprocessors=[{}, {"lowercase": True}],
            lost_vocabulary_threshold=1,
        )
        return answer["weat"]

    assert weat(model) == pytest.approx(0.120657, abs=1e-5)
    ratios = fitted(model, 10, sets).pca_.explained_variance_ratio_
    expected = [0.29413, 0.20502, 0.15957, 0.13129, 0.08840, 0.05446, 0.03710, 0.03003]
    np.testing.assert_allclose(ratios, expected, atol=1e-5)
    ignore = sorted({word for part in sets for word in part})
    for n_components, neutralised, equalised in [
        (1, 0.117277, -0.013798),
        (2, 0.107294, -0.011716),
        (3, 0.074089, -0.009654),
        (5, 0.034784, None),
    ]:
        got = [
            weat(fitted(model, n_components, sets, equalize).transform(model, ignore=ignore))
            for equalize in ([], sets)
        ]
        assert got[0] == pytest.approx(neutralised, abs=1e-5)
        if equalised is not None:
            assert got[1] == pytest.approx(equalised, abs=1e-5)
    # To equalize stereotyped words with each other turns the bias around.
    templates = list(words["ethnicity_analogy_templates"].values())
    assert weat(fitted(model, 2, sets, templates).transform(model, ignore=ignore)) < -0.16
