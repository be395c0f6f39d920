"""What mitigation methods share: criteria, arguments, and methods of your own."""

import json
import logging

import numpy as np
import pandas as pd
import pytest
from mitigation import changed_words
from sklearn.exceptions import NotFittedError

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion
from wefe.debias import HardDebias, RowwiseDebias, check_is_fitted
from wefe.debias._base import flattened, in_every_case, rows_of

PAIRS = [["she", "he"], ["woman", "man"]]
DIM = 6


def random_model(dtype=np.float32, prefix=""):
    words = ["she", "he", "woman", "man", *(f"w{row}" for row in range(46))]
    vectors = np.random.default_rng(0).normal(size=(50, DIM)).astype(dtype)
    return WordEmbeddingModel(([prefix + w for w in words], vectors), "random", prefix or None)


class Doubling(RowwiseDebias):
    """A method as a user may write it: everything becomes twice as long."""

    def __init__(self, verbose=False, criterion_name=None):
        self.verbose = verbose
        self.criterion_name = criterion_name

    def fit(self, model, **fit_params):
        self._words(fit_params, None)
        self.dim_ = model.dim
        return self

    def _map_vectors(self, vectors):
        assert np.isfinite(vectors).all()
        assert vectors.any(axis=1).all()
        assert vectors.dtype in (np.float32, np.float64)
        return 2 * vectors


class Guarded(Doubling):
    """One that also has protected words, other vectors for ignored ones, and a settled pair."""

    def _protected_words(self):
        return ["w0"]

    def _map_ignored(self, vectors):
        return -vectors

    def _settled(self, model, fates):
        she, he = rows_of(model, ["she", "he"]).values()
        return {she: model.table.rows([he])[0], he: model.table.rows([she])[0] * (1 + fates[she])}


@pytest.fixture
def model():
    return random_model()


@pytest.fixture
def doubling():
    return Doubling().fit(random_model())


# Fitting


def test_fitting_again_forgets_what_was_learned(model):
    method = HardDebias().fit(model, PAIRS, criterion=Criterion("gender", PAIRS))
    method.fit(model, [["w1", "w2"]])
    fresh = HardDebias().fit(model, [["w1", "w2"]])
    assert method.criterion_name_ is None
    np.testing.assert_array_equal(method.bias_direction_, fresh.bias_direction_)
    assert method.equalize_pairs_ == fresh.equalize_pairs_
    check_is_fitted(method, ["bias_direction_", "pca_"])
    with pytest.raises(NotFittedError, match="HardDebias"):
        check_is_fitted(method, ["other_"])
    with pytest.raises(ValueError, match="none of the 1"):
        method.fit(model, [["qqq", "qqqq"]])
    with pytest.raises(NotFittedError):
        method.transform(model)


def test_a_criterion_or_its_file_takes_the_place_of_word_sets(tmp_path, model):
    content = {"name": "sex", "definitional_sets": PAIRS, "equalize_sets": [["w1", "w2"]]}
    path = tmp_path / "sex.json"
    path.write_text(json.dumps(content))
    expected = HardDebias().fit(model, PAIRS, [["w1", "w2"]])
    for criterion in (Criterion(**content), path):
        method = HardDebias().fit(model, criterion=criterion)
        np.testing.assert_array_equal(method.bias_direction_, expected.bias_direction_)
        assert method.equalize_pairs_ == expected.equalize_pairs_
    # Words that are given win; an empty list is given, too.
    method = HardDebias().fit(model, [["w3", "w4"]], [], criterion=path)
    assert (method.definitional_pairs_, method.equalize_pairs_) == ([("w3", "w4")], [])


@pytest.mark.parametrize(
    ("words", "error", "culprit"),
    [
        ({"criterion": PAIRS}, TypeError, "criterion"),
        ({"criterion": "religon"}, ValueError, "'religion'"),
        ({"equalise_pairs": PAIRS}, ValueError, "'equalise_pairs'.*'equalize_pairs'"),
        ({"definitional_pairs": [["a", "b", "c"]]}, ValueError, r"pairs\[0\].*3 \(a, b, c\)"),
        ({"definitional_pairs": [["she", "she"]]}, ValueError, "differ.*she, she"),
        ({"definitional_pairs": [["she", 3]]}, TypeError, "element 1"),
        ({"definitional_pairs": "she"}, TypeError, "definitional_pairs"),
        ({"equalize_pairs": [["a", "b"], ["c"]]}, ValueError, r"equalize_pairs\[1\]"),
    ],
)
def test_what_cannot_be_fitted_is_named(words, error, culprit, model):
    with pytest.raises(error, match=culprit):
        HardDebias().fit_transform(model, **{"definitional_pairs": PAIRS} | words)


@pytest.mark.parametrize("verbose", [False, True])
def test_verbose_logs_and_prints_where_nobody_listens(verbose, model, caplog, capsys):
    def run():
        HardDebias(verbose=verbose).fit_transform(model, definitional_pairs=PAIRS)
        return capsys.readouterr().out

    assert ("50 of 50 vectors changed" in run()) is verbose
    with caplog.at_level(logging.INFO, "wefe"):
        assert not run()
    for said in ("explained variance ratios", "50 of 50 vectors changed"):
        assert (said in caplog.text) is verbose


def test_words_to_fit_are_found_in_every_case():
    words = HardDebias()._words_to_fit(definitional_pairs=[["she", "he"]], equalize_pairs=[])
    assert words == ["she", "She", "SHE", "he", "He", "HE"]
    criterion = Criterion("c", [["a", "b"]], equalize_sets=[["x", "y"]])
    assert {"a", "B", "x", "Y"} <= {*HardDebias()._words_to_fit(criterion=criterion)}
    given = HardDebias()._words_to_fit(criterion=criterion, equalize_pairs=[["p", "q"]])
    assert "p" in given
    assert "x" not in given
    assert in_every_case("mcDonald") == ("mcDonald", "mcdonald", "Mcdonald", "MCDONALD")
    assert flattened({"k": ["a", ("b", np.array(["c"]))], "l": "d", "m": 3}) == ["a", "b", "c", "d"]


# Arguments of transform


@pytest.mark.parametrize(
    ("arguments", "error", "culprit"),
    [
        ({"target": {"w1": 1}}, TypeError, "target"),
        ({"ignore": [None]}, TypeError, "ignore: element 0"),
        ({"target": []}, ValueError, "target is empty"),
    ],
)
def test_arguments_that_do_not_do(arguments, error, culprit, model, doubling):
    with pytest.raises(error, match=culprit):
        doubling.transform(model, **{"copy": False, **arguments})
    assert model == random_model()


def test_missing_words_in_target_are_counted_and_ignored_words_stay(model, doubling, caplog):
    for target, ignore, changed in (
        (["w1", "W2", "xyzzy"], ["nobody", "w2"], {"w1"}),
        (pd.Series(["w1", "w2"], index=[5, 9]), {"w2", "w3"}, {"w1"}),
        (np.array(["w2"]), ("w2",), set()),
        (None, [], {*model}),
    ):
        assert changed_words(model, doubling.transform(model, target, ignore)) == changed
    assert "lacks 2 of the 3 words in target: W2 and xyzzy" in caplog.text
    # Lists of words to ignore are long, and made for other models.
    assert "nobody" not in caplog.text


# A method of one's own


@pytest.fixture(params=[1, 5 * DIM, 1 << 18])
def block_numbers(request, monkeypatch):
    monkeypatch.setattr("wefe.debias._base._BLOCK_NUMBERS", request.param)


@pytest.mark.usefixtures("block_numbers")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_method_of_ones_own(dtype):
    model = random_model(dtype)
    before = model.copy()
    method = Doubling(criterion_name="size").fit(model)
    assert repr(method) == "Doubling(criterion_name='size')"
    result = method.transform(model)
    assert result.vectors.dtype == dtype
    np.testing.assert_array_equal(result.vectors, 2 * before.vectors)
    assert model == before
    assert method.transform(model, copy=False) is model
    assert model == result


@pytest.mark.usefixtures("block_numbers")
@pytest.mark.parametrize("target", [None, ["w0", "w1", "w2", "w3"]])
@pytest.mark.parametrize("copy", [True, False])
def test_protected_ignored_and_settled_words_of_ones_own(target, copy, model):
    before = model.copy()
    result = Guarded().fit(model).transform(model, target, ["w1", "w9", "he"], copy)
    expected = {word: (2 if word in (target or before) else 1) * before[word] for word in before}
    expected["w0"] = before["w0"]
    expected["w1"] = -before["w1"]
    # With a target, other ignored words stay as they are.
    expected["w9"] = before["w9"] * (-1 if target is None else 1)
    expected |= {"she": before["he"], "he": expected["she"]}
    for word in before:
        np.testing.assert_array_equal(result[word], expected[word])
    assert (model == before) is copy


def test_words_to_equalize_that_a_model_lacks_or_that_are_zero(model, caplog):
    method = HardDebias().fit(model, PAIRS)
    model.update("she", np.zeros(DIM, np.float32))
    result = method.transform(model)
    assert "directions of words to equalize: she" in caplog.text
    assert not result["she"].any()
    # Without a partner, a word is neutralised like others.
    assert abs(result["he"] @ method.bias_direction_) < 1e-6
    words = [word for word in model if word != "she"]
    few = method.transform(WordEmbeddingModel((words, model.get_vectors(words)), "without"))
    np.testing.assert_array_equal(few["he"], result["he"])


def test_vectors_without_a_usable_length_stay(model, doubling, caplog):
    model.vectors[10] = 0
    model.vectors[11, 2] = np.nan
    model.vectors[12, 0] = -np.inf
    model.vectors[13] *= np.float32(1e25)  # its square is too large
    model.vectors[14] *= np.float32(1e-25)  # its square is zero
    expected = 2 * model.vectors
    expected[10:15] = model.vectors[10:15]
    result = doubling.transform(model)
    assert result.vectors.tobytes() == expected.tobytes()
    assert "5 vectors do not change" in caplog.text
    doubling.transform(model, ["w0", "w6"])
    assert "1 vectors do not change" in caplog.text


def test_room_for_words_to_come_stays_as_it_is(model, doubling):
    gensim = pytest.importorskip("gensim.models")
    wv = gensim.KeyedVectors(DIM, count=60)
    wv.add_vectors(list(model), model.vectors)
    wv.vectors = np.vstack([model.vectors, np.ones((10, DIM), np.float32)])
    result = doubling.transform(WordEmbeddingModel(wv, "roomy"))
    np.testing.assert_array_equal(result.vectors[:50], 2 * model.vectors)
    np.testing.assert_array_equal(result.vectors[50:], 1)


def test_subwords_are_said_to_be_left(model, doubling, caplog):
    fasttext = pytest.importorskip("gensim.models.fasttext")
    wv = fasttext.FastTextKeyedVectors(DIM, 2, 3, 20)
    wv.add_vectors(list(model), model.vectors)
    wv.vectors_ngrams = np.ones((20, DIM), np.float32)
    wv.vectors_vocab = model.vectors.copy()
    wv.recalc_char_ngram_buckets()
    wv.adjust_vectors()
    whole = WordEmbeddingModel(wv, "fast", use_subwords=True)
    built = whole["shex"].copy()
    result = doubling.transform(whole)
    assert "subwords; those were not mitigated" in caplog.text
    np.testing.assert_array_equal(result["shex"], built)
    np.testing.assert_allclose(result["w1"], 2 * whole["w1"])
    # gensim makes its vectors again from their parts when it loads a model.
    again = result.vectors.copy()
    result.wv.adjust_vectors()
    np.testing.assert_allclose(result.vectors, again, atol=1e-5)
