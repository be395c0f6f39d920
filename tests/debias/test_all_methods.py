"""Every mitigation method, whatever it learns: one interface, and no surprises for a model."""

import inspect
from functools import cache

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from wefe import WEAT, WordEmbeddingModel, load, load_test_model
from wefe.datasets import Criterion, load_criterion
from wefe.debias import BaseDebias, RowwiseDebias, check_is_fitted, list_debias_methods

GENDER = load_criterion("gender", offline=True)
METHODS = [method for method in list_debias_methods() if method.__module__.startswith("wefe.")]
NAMES = [method.__name__ for method in METHODS]
# Where a method has such a parameter, this makes it quick on a small vocabulary.
QUICK = {"n_words": 100, "n_iterations": 3, "epochs": 30, "n_neighbours": 10}
# Optimisers end near their minimum. Adam steps along the axes of the space, besides, so its path
# is another one after a rotation.
ROTATION_TOLERANCE = {"RepulsionAttractionNeutralization": 0.05, "INLP": 1e-4}
DTYPE_TOLERANCE = {"RepulsionAttractionNeutralization": 0.05}
IGNORE = list(GENDER.specific_words)
TARGET = ["nurse", "doctor", "the", "table", "programmer", "she", "music"]

every_method = pytest.mark.parametrize("method", METHODS, ids=NAMES)


def small(method):
    known = method().get_params()
    return method(**{name: value for name, value in QUICK.items() if name in known})


@cache
def _cut(dtype):
    """Frequent words and those of the criterion, in the leading dims of the packaged vectors."""
    whole = load_test_model()
    wanted = {*list(whole)[:500], *GENDER.specific_words, *GENDER.concept_words, *TARGET}
    words = [word for word in whole if word in wanted]
    return words, whole.get_vectors(words)[:, :64].astype(dtype)


def make(dtype=np.float32, prefix=None):
    words, vectors = _cut(dtype)
    return WordEmbeddingModel(([(prefix or "") + w for w in words], vectors.copy()), "cut", prefix)


@cache
def fitted(method):
    return small(method).fit(make(), criterion=GENDER)


def joint_words(method):
    """Words that a method settles whatever target and ignore are: pairs to equalize."""
    return {*method._joint_words()} if isinstance(method, RowwiseDebias) else set()


def protected_words(method):
    return {*method._protected_words()}


def changed_words(before, after):
    return {word for word in before if before[word].tobytes() != after[word].tobytes()}


def test_there_are_methods():
    assert len(METHODS) >= 6


# One interface


@every_method
def test_signatures(method):
    made = method()
    assert isinstance(made, BaseDebias)
    assert made.get_params()["verbose"] is False
    assert made.get_params()["criterion_name"] is None
    transform = inspect.signature(method.transform).parameters
    assert [(name, p.default) for name, p in transform.items()] == [
        ("self", inspect.Parameter.empty),
        ("model", inspect.Parameter.empty),
        ("target", None),
        ("ignore", None),
        ("copy", True),
    ]
    assert list(inspect.signature(method.fit_transform).parameters) == [
        *transform, "fit_params"
    ]  # fmt: skip
    fit = inspect.signature(method.fit).parameters
    assert list(fit)[:2] == ["self", "model"]
    assert fit["criterion"].default is None
    assert fit["criterion"].kind is inspect.Parameter.KEYWORD_ONLY
    for each in (method, method.fit, method.transform):
        assert each.__doc__


@every_method
def test_conventions_of_scikit_learn(method):
    marker = object()
    names = [name for name in inspect.signature(method.__init__).parameters if name != "self"]
    assert vars(method(**dict.fromkeys(names, marker))) == dict.fromkeys(names, marker)
    model, made = make(), small(method)
    parameters = made.get_params()
    assert made.fit(model, criterion=GENDER) is made
    check_is_fitted(made)
    assert made.get_params() == parameters
    learned = {*vars(made)} - {*parameters}
    assert all(name.endswith("_") for name in learned)
    assert vars(clone(made)) == parameters
    assert repr(made).startswith(f"{method.__name__}(")
    assert changed_words(make(), model) == set()


@every_method
def test_what_does_not_do_is_refused(method):
    model = make()
    with pytest.raises(TypeError, match=f"{method.__name__}.fit needs .* or a criterion"):
        small(method).fit(model)
    with pytest.raises(TypeError, match="has no parameter 'definition'"):
        small(method).fit(model, criterion=GENDER, definition=[["she", "he"]])
    with pytest.raises(TypeError, match="model must be a WordEmbeddingModel"):
        small(method).fit(model.vectors, criterion=GENDER)
    with pytest.raises(ValueError, match="cut (has|lacks|needs)"):
        small(method).fit(
            model,
            criterion=Criterion(
                "q",
                [["qqq", "qqqq"]],
                stereotyped_words={"class 0": ["qq1"], "class 1": ["qq2"]},
                representatives=["qqq", "qqqq"],
            ),
        )
    with pytest.raises(ValueError, match="not fitted"):
        small(method).transform(model)
    done = fitted(method)
    with pytest.raises(TypeError, match="Put it in a list"):
        done.transform(model, target="nurse")
    with pytest.raises(TypeError, match="Put it in a list"):
        done.transform(model, ignore="nurse")
    with pytest.raises(TypeError, match="copy must be True or False"):
        done.transform(model, copy="yes")
    with pytest.raises(ValueError, match="target is empty"):
        done.transform(model, target=[])
    with pytest.raises(ValueError, match="cut has none of the 2 words in target"):
        done.transform(model, target=["qqq", "Nurse"], copy=False)
    narrow = WordEmbeddingModel((list(model), model.vectors[:, :7]), "narrow")
    with pytest.raises(ValueError, match=f"fitted on vectors of {model.dim} dims; narrow has 7"):
        done.transform(narrow)
    assert changed_words(make(), model) == set()
    assert model.name == "cut"


@every_method
def test_three_classes_work_or_are_refused(method, packaged_model):
    made = small(method)
    if "definitional_pairs" in inspect.signature(method.fit).parameters:
        with pytest.raises(ValueError, match="must have 2 words that differ; it has 3"):
            made.fit(packaged_model, criterion="religion")
        return
    if getattr(made, "direction", None) == "means":
        # Two means have one difference.
        made.set_params(direction="pca")
    result = made.fit(packaged_model, criterion="religion").transform(
        packaged_model, target=["violent", "greedy", "bread"]
    )
    assert result.name == "minilm-words_religion_debiased"
    assert np.isfinite(result.vectors).all()
    assert "violent" in changed_words(packaged_model, result)


# Which vectors change


@every_method
@pytest.mark.parametrize("ignore", [None, IGNORE])
@pytest.mark.parametrize("target", [None, TARGET])
def test_words_outside_target_and_ignored_ones_keep_every_bit(method, target, ignore):
    model, done = make(), fitted(method)
    result = done.transform(model, target, ignore)
    changed = changed_words(model, result)
    allowed = {*(target or model)}
    if done._map_ignored is None:
        allowed -= {*(ignore or ())}
    allowed -= protected_words(done)
    allowed |= joint_words(done)
    assert changed <= allowed
    assert {"nurse", "doctor", "programmer"} <= changed
    assert changed_words(make(), model) == set()
    assert model.name == "cut"
    assert not np.shares_memory(model.vectors, result.vectors)
    assert list(result.vocab.items()) == list(model.vocab.items())
    assert result.name == "cut_gender_debiased"
    assert np.isfinite(result.vectors).all()


@every_method
def test_target_words_that_a_model_lacks_are_counted(method, caplog):
    model = make()
    result = fitted(method).transform(model, target=["qqq", "nurse", "Nurse"], ignore=["qqqq"])
    changed = changed_words(model, result)
    assert {"nurse"} <= changed <= {"nurse"} | joint_words(fitted(method))
    assert "cut lacks 2 of the 3 words in target: qqq, Nurse" in caplog.text


@every_method
@pytest.mark.parametrize("target", [None, TARGET])
def test_in_place_is_the_same_as_in_a_copy(method, target):
    model, done = make(), fitted(method)
    expected = done.transform(model, target, IGNORE)
    result = done.transform(model, target, IGNORE, copy=False)
    assert result is model
    assert model.name == "cut_gender_debiased"
    assert model.vectors.tobytes() == expected.vectors.tobytes()


@every_method
def test_in_place_refreshes_what_gensim_caches(method):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    plain = make()

    def of_gensim(vectors):
        wv = keyed_vectors(plain.dim)
        wv.add_vectors(list(plain), vectors.copy())
        return wv

    model = WordEmbeddingModel(of_gensim(plain.vectors), "cut")
    model.wv.fill_norms()
    copied = fitted(method).transform(model, ignore=IGNORE)
    np.testing.assert_allclose(model.wv.norms, np.linalg.norm(plain.vectors, axis=1), rtol=1e-5)
    fitted(method).transform(model, ignore=IGNORE, copy=False)
    assert not np.array_equal(model.vectors, plain.vectors)
    fresh = of_gensim(model.vectors)
    for result in (model, copied):
        assert result.wv.most_similar("nurse") == fresh.most_similar("nurse")
        np.testing.assert_array_equal(
            result.wv.get_vector("the", norm=True), fresh.get_vector("the", norm=True)
        )
    result = fitted(method).transform(plain, ignore=IGNORE)
    np.testing.assert_array_equal(copied.vectors, result.vectors)


@every_method
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_stays(method, dtype):
    model = make(dtype)
    done = fitted(method)
    result = done.transform(model, ignore=IGNORE)
    assert result.vectors.dtype == dtype
    exact = done.transform(make(np.float64), ignore=IGNORE)
    tolerance = DTYPE_TOLERANCE.get(method.__name__, max(16 * np.finfo(dtype).eps, 1e-6))
    np.testing.assert_allclose(result.vectors, exact.vectors, atol=tolerance)
    # What is learned from narrow vectors is nearly the same, and in float64.
    again = small(method).fit(model, criterion=GENDER)
    learned = [value for value in vars(again).values() if isinstance(value, np.ndarray)]
    assert all(value.dtype == np.float64 for value in learned if value.dtype.kind == "f")


@every_method
def test_vectors_without_a_direction_stay(method, caplog):
    model = make()
    rows = [model.vocab[word] for word in ("the", "table", "music")]
    model.vectors[rows[0]] = 0
    model.vectors[rows[1], 3] = np.nan
    model.vectors[rows[2], 0] = np.inf
    before = model.copy()
    result = small(method).fit_transform(model, ignore=IGNORE, criterion=GENDER)
    assert result.vectors[rows].tobytes() == before.vectors[rows].tobytes()
    assert "3 vectors do not change: they are zero, or contain NaN or infinity" in caplog.text
    others = np.delete(result.vectors, rows, axis=0)
    assert np.isfinite(others).all()
    assert "nurse" in changed_words(before, result)


@every_method
def test_words_behind_a_prefix(method):
    plain, named = make(), make(prefix="/c/en/")
    results = [
        small(method).fit_transform(each, TARGET, ["the"], criterion=GENDER)
        for each in (plain, named)
    ]
    assert results[0].vectors.tobytes() == results[1].vectors.tobytes()
    assert results[1].vocab_prefix == "/c/en/"
    assert "/c/en/nurse" in changed_words(named, results[1])


@every_method
def test_mapped_models(method, tmp_path):
    make().save(tmp_path / "m.safetensors")
    bits = (tmp_path / "m.safetensors").read_bytes()
    model = load(tmp_path / "m.safetensors")
    done = small(method).fit(model, criterion=GENDER)
    result = done.transform(model, TARGET, ["the"])
    assert (model.held, result.held) == ("mapped", "memory")
    expected = small(method).fit(make(), criterion=GENDER).transform(make(), TARGET, ["the"])
    np.testing.assert_allclose(result.vectors, expected.vectors, atol=1e-6)
    assert (tmp_path / "m.safetensors").read_bytes() == bits
    assert changed_words(make(), model) == set()


# What is learned


@every_method
def test_transform_never_changes_what_was_learned(method):
    done = small(method).fit(make(), criterion=GENDER)
    before = joblib.hash(vars(done))
    first = done.transform(make(), ignore=IGNORE)
    done.transform(make(), TARGET)
    done.transform(make(), ignore=["the"], copy=False)
    assert joblib.hash(vars(done)) == before
    assert done.transform(make(), ignore=IGNORE).vectors.tobytes() == first.vectors.tobytes()


@every_method
def test_a_model_changed_later_does_not_change_what_was_learned(method):
    model = make()
    done = small(method).fit(model, criterion=GENDER)
    model.vectors[:] = 1
    expected = fitted(method).transform(make(), ignore=IGNORE)
    assert done.transform(make(), ignore=IGNORE).vectors.tobytes() == expected.vectors.tobytes()


@every_method
def test_another_model_of_the_same_space_keeps_its_own_vectors(method):
    model, done = make(), fitted(method)
    words = [word for word in list(model)[::-1] if word not in ("the", "doctor")]
    other = WordEmbeddingModel(
        ([*words, "newcomer"], np.vstack([model.get_vectors(words), model["the"] + 1])), "other"
    )
    before = other.copy()
    result = done.transform(other, ignore=IGNORE)
    assert list(result.vocab) == [*words, "newcomer"]
    assert result.name == "other_gender_debiased"
    assert {"nurse", "newcomer"} <= changed_words(other, result)
    assert other == before
    if isinstance(done, RowwiseDebias):
        whole = done.transform(model, ignore=IGNORE)
        np.testing.assert_allclose(
            result.vectors[: len(words)], whole.get_vectors(words), atol=1e-6
        )


@every_method
def test_fit_transform_with_default_arguments(method):
    model = make()
    result = small(method).fit_transform(model, criterion=GENDER)
    assert result is not model
    assert "nurse" in changed_words(model, result)
    assert changed_words(make(), model) == set()
    in_place = small(method).fit_transform(model, copy=False, criterion=GENDER)
    assert in_place is model
    assert model.vectors.tobytes() == result.vectors.tobytes()


@every_method
def test_same_seed_same_result_and_the_global_generator_is_left_alone(method):
    results = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        done = small(method).fit(make(), criterion=GENDER)
        results.append(done.transform(make(), ignore=IGNORE).vectors.tobytes())
        # The next number is the first one of that seed.
        assert np.random.rand() == np.random.RandomState(seed).rand()  # noqa: NPY002
    assert results[0] == results[1]


@every_method
def test_commutes_with_a_rotation(method):
    model = make(np.float64)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(model.dim, model.dim)))[0]
    rotated = WordEmbeddingModel((list(model), model.vectors @ rotation), "rotated")
    made = small(method)
    if "epochs" in made.get_params():
        made.set_params(epochs=1000)
    plain, turned = (
        clone(made).fit_transform(each, ignore=IGNORE, criterion=GENDER).vectors
        for each in (model, rotated)
    )
    tolerance = ROTATION_TOLERANCE.get(method.__name__, 1e-8)
    np.testing.assert_allclose(turned, plain @ rotation, atol=tolerance)


# Less association is measured afterwards


@every_method
def test_less_association_is_measured(method):
    (query,) = GENDER.queries()
    done = fitted(method)
    model = make()
    result = done.transform(model, ignore=IGNORE)
    before, after = (WEAT().run_query(query, each) for each in (model, result))
    assert before["effect_size"] > 1
    assert abs(after["effect_size"]) < before["effect_size"]
    assert abs(after["weat"]) < before["weat"]
    # Of the words that changed, the share along the directions that the method removes or shrinks.
    words = sorted({*GENDER.concept_words} - {*GENDER.specific_words})
    directions = own_directions(done)
    if directions is not None:
        shares = [
            np.linalg.norm(each.get_vectors(words).astype(float) @ directions.T, axis=1)
            / np.linalg.norm(each.get_vectors(words).astype(float), axis=1)
            for each in (model, result)
        ]
        assert shares[1].mean() < 0.9 * shares[0].mean()


def own_directions(done):
    """The directions that a method reduces; None if it does not work with such."""
    for name in ("bias_subspace_", "bias_direction_", "directions_"):
        # OSCaR has a bias direction in order to keep it.
        if hasattr(done, name) and not hasattr(done, "concept_direction_"):
            return np.atleast_2d(getattr(done, name))
    return None
