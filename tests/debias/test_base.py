"""What all mitigation methods share: conventions, arguments, and methods of a user's own."""

import inspect
import json
import logging

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from wefe import WordEmbeddingModel, convert, load
from wefe.datasets import Criterion, load_criterion
from wefe.debias import (
    BaseDebias,
    HardDebias,
    RowwiseDebias,
    check_is_fitted,
    debias_file,
    get_debias_method,
    list_debias_methods,
)
from wefe.debias._base import as_criterion, flattened, in_every_case
from wefe.models._passes import forms

PAIRS = [["she", "he"], ["woman", "man"]]
DIM = 6


def random_model(dtype=np.float32, prefix=None, n_words=50):
    words = ["she", "he", "woman", "man", *(f"w{row}" for row in range(n_words - 4))]
    vectors = np.random.default_rng(0).normal(size=(n_words, DIM)).astype(dtype)
    return WordEmbeddingModel(([(prefix or "") + w for w in words], vectors), "random", prefix)


def changed_words(before, after):
    return {word for word in before if before[word].tobytes() != after[word].tobytes()}


class Doubling(RowwiseDebias):
    """A method as a user may write it: everything becomes twice as long."""

    def __init__(self, factor=2.0, verbose=False, criterion_name=None):
        self.factor = factor
        self.verbose = verbose
        self.criterion_name = criterion_name

    def fit(self, model, words=None, **fit_params):
        self._words(fit_params, None)
        self.words_ = words
        self.dim_ = model.dim
        return self

    def _map_vectors(self, vectors):
        assert np.isfinite(vectors).all()
        assert vectors.any(axis=1).all()
        assert vectors.dtype in (np.float32, np.float64)
        return vectors * vectors.dtype.type(self.factor)


class Guarded(Doubling):
    """One that also has protected words, other vectors for ignored ones, and a settled pair."""

    def _protected_words(self):
        return ["w0"]

    def _map_ignored(self, vectors):
        return -vectors

    def _joint_words(self):
        return ["she", "he"]

    def _settle_jointly(self, originals, mapped):
        assert originals["she"].dtype == mapped["she"].dtype == np.float64
        return {"she": originals["he"], "he": mapped["she"]}


# Conventions of scikit-learn


def test_constructors_only_store():
    marker = object()
    for method in (HardDebias, Doubling):
        names = [n for n in inspect.signature(method.__init__).parameters if n != "self"]
        made = method(**dict.fromkeys(names, marker))
        assert vars(made) == dict.fromkeys(names, marker)


def test_parameters_are_read_set_and_shown():
    method = HardDebias(criterion_name="gender")
    assert method.get_params() == {
        "criterion_name": "gender", "pca_args": None, "verbose": False
    }  # fmt: skip
    assert method.set_params(verbose=True, pca_args={"n_components": 2}) is method
    assert method.verbose is True
    assert "HardDebias(" in repr(method)
    assert "criterion_name='gender'" in repr(method)
    with pytest.raises(ValueError, match="colour"):
        method.set_params(colour="red")


def test_fitting_again_forgets_what_was_learned():
    model, method = random_model(), HardDebias()
    method.fit(model, PAIRS, criterion=Criterion("gender", PAIRS))
    method.fit(model, [["w1", "w2"]])
    fresh = HardDebias().fit(model, [["w1", "w2"]])
    assert method.criterion_name_ is None
    np.testing.assert_array_equal(method.bias_direction_, fresh.bias_direction_)
    assert method.equalize_pairs_ == fresh.equalize_pairs_


@pytest.mark.parametrize("method", [HardDebias, Doubling])
def test_what_is_not_fitted_transforms_nothing(method):
    model = random_model()
    with pytest.raises(NotFittedError, match=rf"{method.__name__} is not fitted; call fit with"):
        method().transform(model)
    with pytest.raises(NotFittedError, match="not fitted"):
        method().transform(model, ["w1"], ["w2"], copy=False)
    assert model == random_model()


def test_check_is_fitted_takes_attributes():
    method = HardDebias().fit(random_model(), PAIRS)
    check_is_fitted(method, ["bias_direction_", "pca_"])
    with pytest.raises(NotFittedError):
        check_is_fitted(method, ["other_"])


def test_abstract_methods_cannot_be_made():
    for base in (BaseDebias, RowwiseDebias):
        with pytest.raises(TypeError, match="abstract"):
            base()


# Criteria


@pytest.mark.parametrize("kind", ["criterion", "file", "text"])
def test_a_criterion_takes_the_place_of_word_sets(kind, tmp_path):
    content = {"name": "sex", "definitional_sets": PAIRS, "equalize_sets": [["w1", "w2"]]}
    (tmp_path / "sex.json").write_text(json.dumps(content))
    criterion = {
        "criterion": Criterion(**content),
        "file": tmp_path / "sex.json",
        "text": str(tmp_path / "sex.json"),
    }[kind]
    model = random_model()
    method = HardDebias().fit(model, criterion=criterion)
    expected = HardDebias().fit(model, PAIRS, [["w1", "w2"]])
    np.testing.assert_array_equal(method.bias_direction_, expected.bias_direction_)
    assert method.equalize_pairs_ == expected.equalize_pairs_
    assert method.transform(model).name == "random_sex_debiased"


def test_a_criterion_by_its_name(packaged_model, monkeypatch):
    from wefe.debias import _base

    asked = []
    gender = Criterion("gender", PAIRS)
    monkeypatch.setattr(_base, "load_criterion", lambda name: asked.append(name) or gender)
    method = HardDebias().fit(packaged_model, criterion="gender")
    assert asked == ["gender"]
    assert method.definitional_pairs_ == [("she", "he"), ("woman", "man")]


def test_words_that_are_given_come_before_those_of_a_criterion():
    model, criterion = random_model(), Criterion("sex", PAIRS, equalize_sets=[["w1", "w2"]])
    method = HardDebias().fit(model, [["w3", "w4"]], criterion=criterion)
    assert method.definitional_pairs_ == [("w3", "w4")]
    assert ("w1", "w2") in method.equalize_pairs_
    # An empty list is given, too.
    assert HardDebias().fit(model, None, [], criterion=criterion).equalize_pairs_ == []


@pytest.mark.parametrize(
    ("named", "criterion", "expected"),
    [
        (None, None, "random_debiased"),
        ("gender", None, "random_gender_debiased"),
        (None, Criterion("sex", PAIRS), "random_sex_debiased"),
        ("gender", Criterion("sex", PAIRS), "random_gender_debiased"),
    ],
)
def test_names_of_mitigated_models(named, criterion, expected):
    method = HardDebias(criterion_name=named).fit(random_model(), PAIRS, criterion=criterion)
    assert method.transform(random_model()).name == expected


@pytest.mark.parametrize("wrong", [3, ["gender"], PAIRS])
def test_what_is_no_criterion(wrong):
    with pytest.raises(TypeError, match="criterion must be a name, a file or a Criterion"):
        HardDebias().fit(random_model(), criterion=wrong)
    assert as_criterion(None) is None


def test_an_unknown_criterion_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'religion'"):
        HardDebias().fit(random_model(), criterion="religon")


# Arguments of fit


@pytest.mark.parametrize("how", ["fit", "fit_transform"])
def test_misspelt_word_sets_are_refused(how):
    with pytest.raises(
        TypeError,
        match=r"HardDebias.fit has no parameter 'equalise_pairs'; it has definitional_pairs, "
        r"equalize_pairs, criterion. Did you mean 'equalize_pairs'\?",
    ):
        getattr(HardDebias(), how)(
            random_model(), definitional_pairs=PAIRS, equalise_pairs=[["w1", "w2"]]
        )


@pytest.mark.parametrize("model", [None, "minilm", np.eye(3), {"she": [1.0]}])
def test_what_is_no_model(model):
    with pytest.raises(TypeError, match="model must be a WordEmbeddingModel; got"):
        HardDebias().fit(model, PAIRS)
    with pytest.raises(TypeError, match="model must be a WordEmbeddingModel; got"):
        HardDebias().fit(random_model(), PAIRS).transform(model)


@pytest.mark.parametrize(
    ("sets", "size", "message"),
    [
        ([["a", "b"], ["c"]], 2, r"kind_pairs\[1\] must have 2 words that differ; it has 1 \(c\)"),
        ([["a", "b", "c"]], 2, r"it has 3 \(a, b, c\).*definitional_sets"),
        ([["a", "b"]], 3, r"kind_sets\[0\] must have 3 words that differ; it has 2"),
        ([["a"]], None, r"kind_sets\[0\] must have two or more words that differ; it has 1"),
        ([[]], 2, r"kind_pairs\[0\] is empty"),
    ],
)
def test_sets_of_another_size(sets, size, message):
    with pytest.raises(ValueError, match=message):
        HardDebias()._check_sets_size(sets, "kind", size)


def test_sets_are_returned_as_tuples():
    check = HardDebias()._check_sets_size
    assert check(np.array(PAIRS), "kind") == [("she", "he"), ("woman", "man")]
    assert check([["a", "b", "c"], ("d", "e")], "kind", None) == [("a", "b", "c"), ("d", "e")]
    assert check([], "kind") == []


def test_the_subspace_of_embeddings_as_authors_of_methods_get_them(caplog):
    model = random_model()
    parts = [{word: model[word] for word in pair} for pair in PAIRS]
    method = HardDebias(pca_args={"n_components": 1})
    with caplog.at_level(logging.INFO, "wefe"):
        from_dicts = method._identify_bias_subspace(parts, verbose=True)
    assert "explained variance ratios" in caplog.text
    from_arrays = method._identify_bias_subspace([np.stack(list(p.values())) for p in parts])
    assert from_dicts.components_.shape == (1, DIM)
    np.testing.assert_array_equal(from_dicts.components_, from_arrays.components_)


def test_verbose_logs_at_info(caplog):
    model = random_model()
    for verbose in (False, True):
        caplog.clear()
        with caplog.at_level(logging.INFO, "wefe"):
            HardDebias(verbose=verbose).fit_transform(model, definitional_pairs=PAIRS)
        assert ("explained variance ratios" in caplog.text) is verbose
        assert ("50 of 50 vectors changed" in caplog.text) is verbose


def test_verbose_prints_where_nobody_listens_to_the_log(capsys):
    for verbose in (False, True):
        HardDebias(verbose=verbose).fit_transform(random_model(), definitional_pairs=PAIRS)
        assert ("50 of 50 vectors changed" in capsys.readouterr().out) is verbose


# Arguments of transform


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, np.array])
def test_collections_of_words(kind):
    model, method = random_model(), Doubling().fit(random_model())
    words = kind(["w1", "w2", "w1"])
    assert changed_words(model, method.transform(model, target=words)) == {"w1", "w2"}
    kept = {*model} - {"w1", "w2"}
    assert changed_words(model, method.transform(model, ignore=words)) == kept


def test_words_of_pandas():
    pandas = pytest.importorskip("pandas")
    model, method = random_model(), Doubling().fit(random_model())
    words = pandas.Series(["w1", "w2"], index=[5, 9])
    assert changed_words(model, method.transform(model, target=words)) == {"w1", "w2"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"target": "w1"}, TypeError, r"target must be a list.*Put it in a list: \['w1'\]"),
        ({"ignore": "w1"}, TypeError, r"ignore must be a list.*Put it in a list: \['w1'\]"),
        ({"target": {"w1": 1}}, TypeError, "target must be a list"),
        ({"ignore": 3}, TypeError, "ignore must be a list"),
        ({"target": ["w1", 3]}, TypeError, "target: element 1 must be a string; got int 3"),
        ({"ignore": [None]}, TypeError, "ignore: element 0 must be a string"),
        ({"target": []}, ValueError, "target is empty, so nothing would change. For all"),
        ({"copy": 1}, TypeError, "copy must be True or False; got int 1"),
        ({"copy": "no"}, TypeError, "copy must be True or False"),
        ({"target": ["W1", "x"]}, ValueError, "random has none of the 2 words in target"),
    ],
)
@pytest.mark.parametrize("method", [HardDebias, Doubling])
def test_arguments_that_do_not_do(method, arguments, error, message):
    model = random_model()
    fitted = method().fit(model, PAIRS)
    with pytest.raises(error, match=message):
        fitted.transform(model, **{"copy": False, **arguments})
    assert model == random_model()


def test_missing_words_are_counted(caplog):
    model, method = random_model(), Doubling().fit(random_model())
    result = method.transform(model, target=["w1", "W2", "xyzzy"], ignore=["nobody", "w2"])
    assert changed_words(model, result) == {"w1"}
    assert "random lacks 2 of the 3 words in target: W2, xyzzy" in caplog.text
    # Lists of words to ignore are long, and made for other models.
    assert "nobody" not in caplog.text


def test_ignored_words_stay_also_in_target():
    model, method = random_model(), Doubling().fit(random_model())
    result = method.transform(model, target=["w1", "w2"], ignore=["w2", "w3"])
    assert changed_words(model, result) == {"w1"}
    assert changed_words(model, method.transform(model, ["w2"], ["w2"])) == set()
    assert changed_words(model, method.transform(model, ignore=[])) == {*model}


@pytest.mark.parametrize("method", [HardDebias, Doubling])
def test_other_numbers_of_dims(method):
    fitted = method().fit(random_model(), PAIRS)
    narrow = WordEmbeddingModel((["she", "he"], np.eye(2, 4)), "narrow")
    with pytest.raises(
        ValueError, match=f"{method.__name__} was fitted on vectors of 6 dims; narrow has 4"
    ):
        fitted.transform(narrow, copy=False)
    np.testing.assert_array_equal(narrow.vectors, np.eye(2, 4))


def test_models_that_cannot_be_written():
    model, method = random_model(), Doubling().fit(random_model())
    model.vectors.flags.writeable = False
    with pytest.raises(ValueError, match="the vectors of random are read-only; nothing changed"):
        method.transform(model, copy=False)
    assert changed_words(model, method.transform(model)) == {*model}
    assert method.transform(model).vectors.flags.writeable


def test_ignore_of_fit_transform_reaches_fits_that_take_it():
    class Listening(Doubling):
        def fit(self, model, *, ignore=None):
            super().fit(model)
            self.heard_ = ignore
            return self

    model, method = random_model(), Listening()
    method.fit_transform(model, ["w1"], ["w2"])
    assert method.heard_ == ["w2"]
    method.fit_transform(model)
    assert method.heard_ is None
    # Others are not given what they do not take.
    assert changed_words(model, Doubling().fit_transform(model, None, ["w2"])) == {*model} - {"w2"}


def test_fit_transform_is_fit_and_transform():
    model = random_model()
    method = HardDebias(criterion_name="x")
    result = method.fit_transform(model, ["w1"], ["w2"], definitional_pairs=PAIRS)
    assert result == HardDebias(criterion_name="x").fit(model, PAIRS).transform(model, ["w1"])
    assert model == random_model()
    check_is_fitted(method)
    assert method.fit_transform(model, copy=False, definitional_pairs=PAIRS) is model


# A method of one's own


@pytest.fixture(params=[1, 5 * DIM, 1 << 18])
def block_numbers(request, monkeypatch):
    monkeypatch.setattr("wefe.debias._base._BLOCK_NUMBERS", request.param)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_method_of_ones_own(dtype, block_numbers):
    model = random_model(dtype)
    before = model.vectors.copy()
    method = Doubling(criterion_name="size").fit(model)
    assert repr(method) == "Doubling(criterion_name='size')"
    result = method.transform(model)
    assert result.vectors.dtype == dtype
    np.testing.assert_array_equal(result.vectors, 2 * before)
    np.testing.assert_array_equal(model.vectors, before)
    assert (model.name, result.name) == ("random", "random_size_debiased")
    assert list(result.vocab) == list(model.vocab)
    assert method.transform(model, copy=False) is model
    np.testing.assert_array_equal(model.vectors, 2 * before)
    assert model.name == "random_size_debiased"


@pytest.mark.parametrize("n_target", [1, 12, 13, 49])
@pytest.mark.parametrize("copy", [True, False])
def test_few_and_many_words_of_ones_own(n_target, copy, block_numbers):
    # Few words are read and written one by one, many in blocks.
    model = random_model()
    target = list(model)[1 : n_target + 1]
    before = model.copy()
    result = Doubling().fit(model).transform(model, target, [target[0], "she"], copy)
    assert changed_words(before, result) == {*target[1:]}
    np.testing.assert_array_equal(
        result.get_vectors(target[1:]), 2 * before.get_vectors(target[1:])
    )
    assert changed_words(before, model) == (set() if copy else {*target[1:]})


@pytest.mark.parametrize("target", [None, ["w0", "w1", "w2", "w3"]])
@pytest.mark.parametrize("copy", [True, False])
def test_protected_ignored_and_settled_words_of_ones_own(target, copy, caplog, block_numbers):
    before = random_model()
    model = before.copy()
    method = Guarded().fit(model)
    result = method.transform(model, target, ["w1", "w9", "he"], copy)
    doubled = {*(target or before)} - {"w0", "w1", "w9", "she", "he"}
    for word in doubled:
        np.testing.assert_array_equal(result[word], 2 * before[word])
    assert np.array_equal(result["w0"], before["w0"])
    np.testing.assert_array_equal(result["w1"], -before["w1"])
    # With a target, other ignored words stay as they are.
    np.testing.assert_array_equal(result["w9"], before["w9"] * (-1 if target is None else 1))
    np.testing.assert_array_equal(result["she"], before["he"])
    np.testing.assert_array_equal(result["he"], before["she"] * (2 if target is None else 1))
    changed = doubled | {"w1", "she", "he"} | ({"w9"} if target is None else set())
    assert changed_words(before, result) == changed
    assert ("1 words in target do not change" in caplog.text) is (target is not None)
    if copy:
        assert model == before


def test_settled_words_that_a_model_lacks_or_that_are_zero(caplog):
    class Settling(Guarded):
        def _settle_jointly(self, originals, mapped):
            assert set(originals) == set(mapped) == {"he"}
            return {}

    model = random_model()
    model.update("she", np.zeros(DIM, np.float32))
    Settling().fit(model).transform(model)
    assert "no direction, so not equalized: she" in caplog.text
    words = [word for word in model if word != "she"]
    without = WordEmbeddingModel((words, model.get_vectors(words)), "without")
    Settling().fit(without).transform(without)


def test_a_prefix_is_put_before_the_words_of_ones_own():
    model = random_model(prefix="/c/en/")
    result = Guarded().fit(model).transform(model, ["w0", "w1", "w2"], ["w2"])
    assert changed_words(model, result) == {
        "/c/en/w1", "/c/en/w2", "/c/en/she", "/c/en/he"
    }  # fmt: skip
    assert forms(model, ["a"]) == ["/c/en/a"]


def test_lengths_at_the_ends_of_float32_and_no_direction(caplog):
    model = random_model()
    model.vectors[10] = 0
    model.vectors[11, 2] = np.nan
    model.vectors[12, 0] = -np.inf
    model.vectors[13] *= np.float32(1e25)  # its square is too large
    model.vectors[14] *= np.float32(1e-25)  # its square is zero
    before = model.vectors.copy()
    result = Doubling().fit(model).transform(model)
    assert result.vectors[10:13].tobytes() == before[10:13].tobytes()
    others = [row for row in range(50) if row not in (10, 11, 12)]
    np.testing.assert_array_equal(result.vectors[others], 2 * before[others])
    assert "3 vectors do not change: they are zero, or contain NaN or infinity" in caplog.text
    caplog.clear()
    Doubling().fit(model).transform(model, ["w0", "w6"])
    assert "1 vectors do not change" in caplog.text


def test_results_of_mapped_models_are_in_memory_and_their_files_as_they_are(tmp_path):
    path = tmp_path / "m.safetensors"
    random_model().save(path)
    bits = path.read_bytes()
    model = load(path)
    result = Doubling().fit(model).transform(model, ["w1"])
    assert (model.held, result.held) == ("mapped", "memory")
    assert changed_words(model, result) == {"w1"}
    assert Doubling().fit(model).transform(model, copy=False) is model
    np.testing.assert_array_equal(model.vectors, 2 * random_model().vectors)
    assert path.read_bytes() == bits


def test_quantised_models_keep_what_is_stored(tmp_path):
    convert(random_model(), tmp_path / "q.safetensors", dtype="int8")
    model = load(tmp_path / "q.safetensors")
    before = model.get_vectors(list(model))
    result = Doubling().fit(model).transform(model, ignore=["w1"])
    expected = 2 * before
    expected[model.vocab["w1"]] /= 2
    np.testing.assert_array_equal(result.get_vectors(list(model)), expected)
    np.testing.assert_array_equal(model.get_vectors(list(model)), before)


def test_a_file_is_mitigated_by_a_method_of_ones_own(tmp_path):
    random_model().save(tmp_path / "in.bin")
    debias_file(Doubling(), tmp_path / "in.bin", tmp_path / "out.bin", words=["she"])
    result = load(tmp_path / "out.bin", hold="memory")
    np.testing.assert_array_equal(result.vectors, 2 * random_model().vectors)


def test_room_for_words_to_come_stays_as_it_is():
    gensim = pytest.importorskip("gensim.models")
    wv = gensim.KeyedVectors(DIM, count=60)
    wv.add_vectors(list(random_model()), random_model().vectors)
    wv.vectors = np.vstack([random_model().vectors, np.ones((10, DIM), np.float32)])
    model = WordEmbeddingModel(wv, "roomy")
    result = Doubling().fit(model).transform(model)
    np.testing.assert_array_equal(result.vectors[:50], 2 * random_model().vectors)
    np.testing.assert_array_equal(result.vectors[50:], 1)


def test_subwords_are_said_to_be_left(caplog):
    fasttext = pytest.importorskip("gensim.models.fasttext")
    model = random_model()
    wv = fasttext.FastTextKeyedVectors(DIM, 2, 3, 20)
    wv.add_vectors(list(model), model.vectors)
    wv.vectors_ngrams = np.ones((20, DIM), np.float32)
    wv.vectors_vocab = model.vectors.copy()
    wv.recalc_char_ngram_buckets()
    wv.adjust_vectors()
    whole = WordEmbeddingModel(wv, "fast", use_subwords=True)
    built = whole["shex"].copy()
    result = Doubling().fit(whole).transform(whole)
    assert "builds vectors of unseen words from subwords; those were not mitigated" in caplog.text
    np.testing.assert_array_equal(result["shex"], built)
    np.testing.assert_allclose(result["w1"], 2 * whole["w1"])
    # gensim makes its vectors again from their parts when it loads a model.
    again = result.vectors.copy()
    result.wv.adjust_vectors()
    np.testing.assert_allclose(result.vectors, again, atol=1e-5)


# Names of methods, and helpers


def test_methods_by_name():
    methods = list_debias_methods()
    assert [method.__name__ for method in methods] == sorted(m.__name__ for m in methods)
    assert HardDebias in methods
    assert BaseDebias not in methods
    assert RowwiseDebias not in methods
    for name in ("HardDebias", "hard-debias", "hard_debias", "Hard Debias", "HARDDEBIAS"):
        assert get_debias_method(name) is HardDebias
    with pytest.raises(ValueError, match=r"method must be one of.*Did you mean 'hard-debias'"):
        get_debias_method("hard-debais")


def test_words_to_fit_are_found_in_every_case():
    words = HardDebias()._words_to_fit(definitional_pairs=[["she", "he"]], equalize_pairs=[])
    assert words == ["she", "She", "SHE", "he", "He", "HE"]
    criterion = Criterion("c", [["a", "b"]], equalize_sets=[["x", "y"]])
    found = HardDebias()._words_to_fit(criterion=criterion)
    assert {"a", "B", "x", "Y"} <= {*found}
    given = HardDebias()._words_to_fit(criterion=criterion, equalize_pairs=[["p", "q"]])
    assert "p" in given
    assert "x" not in given
    assert in_every_case("mcDonald") == ("mcDonald", "mcdonald", "Mcdonald", "MCDONALD")
    assert flattened({"k": ["a", ("b", np.array(["c"]))], "l": "d", "m": 3}) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"criterion_name": 5}, "criterion_name must be a string; got int 5"),
        ({"pca_args": 3}, "pca_args must be a dict"),
        ({"verbose": "maybe"}, "verbose must be True or False"),
    ],
)
def test_parameters_of_other_types_are_named(packaged_model, arguments, message):
    with pytest.raises(TypeError, match=message):
        HardDebias(**arguments).fit(packaged_model, [["she", "he"]])


def test_a_fit_that_fails_leaves_an_unfitted_method(packaged_model):
    method = HardDebias().fit(packaged_model, [["she", "he"]])
    with pytest.raises(ValueError, match="none of the 1"):
        method.fit(packaged_model, [["qqq", "qqqq"]])
    with pytest.raises(NotFittedError):
        method.transform(packaged_model)


def test_words_of_a_set_must_differ(packaged_model):
    with pytest.raises(
        ValueError, match=r"definitional_pairs\[0\] must have 2 words that differ.*she, she"
    ):
        HardDebias().fit(packaged_model, [["she", "she"]])
    with pytest.raises(ValueError, match="repeats a word"):
        Criterion("c", [["she", "she"]])


def test_a_model_opened_for_the_words_of_a_criterion_is_enough(packaged_model, tmp_path):
    criterion = load_criterion("gender", offline=True)
    packaged_model.save(tmp_path / "v.bin")
    few = load(tmp_path / "v.bin", words=[*criterion.specific_words, *criterion.concept_words])
    debiased = HardDebias().fit_transform(few, criterion=criterion)
    whole = HardDebias().fit_transform(packaged_model, criterion=criterion)
    np.testing.assert_allclose(debiased["nurse"], whole["nurse"], atol=1e-6)
    np.testing.assert_allclose(debiased["she"], whole["she"], atol=1e-6)
