"""Every mitigation method, whatever it learns: one interface, and no surprises for a model."""

import inspect
import itertools
from functools import cache

import joblib
import numpy as np
import pytest
from mitigation import METHODS, NAMES, changed_words, small
from sklearn.base import clone

from wefe import WEAT, WordEmbeddingModel, load, load_test_model
from wefe.datasets import Criterion, load_criterion
from wefe.debias import OSCaR, RowwiseDebias, check_is_fitted

GENDER = load_criterion("gender", offline=True)
# Optimisers end near their minimum. Adam steps along the axes of the space, besides, so its path
# is another one after a rotation.
ROTATION_TOLERANCE = {"RepulsionAttractionNeutralization": 0.05, "INLP": 1e-4}
DTYPE_TOLERANCE = {"RepulsionAttractionNeutralization": 0.05}
IGNORE = list(GENDER.specific_words)
TARGET = ["nurse", "doctor", "the", "table", "programmer", "she", "music"]

# Parameters beside `verbose` and `criterion_name`.
DEFAULTS = {
    "DoubleHardDebias": "incremental_pca=True n_components=4 n_words=1000 pca_args=None "
    "random_state=0",
    "HalfSiblingRegression": "",
    "HardDebias": "pca_args=None",
    "INLP": "min_accuracy=None n_iterations=35 n_words=7500 neutral=True random_state=0",
    "LEACE": "affine=True method=leace n_words=None shrinkage=True svd_tol=0.01",
    "LinearProjection": "direction=means n_components=None pca_args=None",
    "MulticlassHardDebias": "pca_args=None",
    "OSCaR": "concept=pca direction=means pca_args=None",
    "RepulsionAttractionNeutralization": "epochs=300 learning_rate=0.01 n_neighbours=100 "
    "pca_args=None theta=0.05 weights=(0.33, 0.33, 0.33)",
    "SoftDebias": "bias_weight=0.2 n_components=None pca_args=None scale=mean",
}

every_method = pytest.mark.parametrize("method", METHODS, ids=NAMES)


@cache
def _cut(dtype):
    """Frequent words and those of the criterion, in the leading dims of the packaged vectors."""
    whole = load_test_model()
    wanted = {*list(whole)[:500], *GENDER.words, *TARGET}
    words = [word for word in whole if word in wanted]
    return words, whole.get_vectors(words)[:, :64].astype(dtype)


def make(dtype=np.float32, prefix=""):
    words, vectors = _cut(dtype)
    return WordEmbeddingModel(([prefix + w for w in words], vectors.copy()), "cut", prefix or None)


def learned(method):
    return small(method).fit(make(), criterion=GENDER)


fitted = cache(learned)


def joint_words(done):
    """Words that a method settles whatever target and ignore are: pairs to equalize."""
    return {*itertools.chain(*getattr(done, "equalize_sets_", ()))}


# One interface


@every_method
def test_conventions_of_scikit_learn(method):
    marker = object()
    names = [name for name in inspect.signature(method.__init__).parameters if name != "self"]
    assert vars(method(**dict.fromkeys(names, marker))) == dict.fromkeys(names, marker)
    new = method()
    params = new.get_params()
    assert (params.pop("verbose"), params.pop("criterion_name")) == (False, None)
    assert " ".join(f"{n}={v}" for n, v in sorted(params.items())) == DEFAULTS[method.__name__]
    assert repr(new) == f"{method.__name__}()"
    made = small(method)
    assert len({made, clone(made)}) == 2
    parameters = made.get_params()
    assert made.fit(make(), criterion=GENDER) is made
    check_is_fitted(made)
    assert made.get_params() == parameters
    assert all(name.endswith("_") for name in {*vars(made)} - {*parameters})
    assert vars(clone(made)) == parameters


@every_method
def test_what_does_not_do_is_refused(method):
    model, made, done = make(), small(method), fitted(method)
    unknown = Criterion(
        *("q", [["qqq", "qqqq"]]),
        stereotyped_words={"class 0": ["qq1"], "class 1": ["qq2"]},
        representatives=["qqq", "qqqq"],
    )
    narrow = WordEmbeddingModel((list(model), model.vectors[:, :7]), "narrow")
    for call, error, culprit in (
        (lambda: made.fit(model), TypeError, f"{method.__name__}.fit needs .* or a criterion"),
        (lambda: made.fit(model, criterion=GENDER, definition=[]), ValueError, "'definition'"),
        (lambda: made.fit(model.vectors, criterion=GENDER), TypeError, "model must be a WordEmb"),
        (lambda: made.fit(model, criterion=unknown), ValueError, "cut (has|lacks|needs)"),
        (lambda: small(method).transform(model), ValueError, f"{method.__name__} is not fitted"),
        (lambda: done.transform(None), TypeError, "model must be a WordEmb"),
        (lambda: done.transform(model, "nurse"), TypeError, "target.*Put it in a list"),
        (lambda: done.transform(model, None, "nurse"), TypeError, "ignore.*Put it in a list"),
        (lambda: done.transform(model, copy="yes"), TypeError, "copy"),
        (lambda: done.transform(model, ["qq", "Nurse"], None, False), ValueError, "cut has none"),
        (lambda: done.transform(narrow), ValueError, f"of {model.dim} dims; narrow has 7"),
    ):
        with pytest.raises(error, match=culprit):
            call()
    assert model == make()
    assert model.name == "cut"


@every_method
def test_three_classes_work_or_are_refused(method, packaged_model):
    # Two means have one difference.
    made = small(method, **{"direction": "pca"} if method is OSCaR else {})
    if "definitional_pairs" in inspect.signature(method.fit).parameters:
        with pytest.raises(ValueError, match="must have 2 words that differ; it has 3"):
            made.fit(packaged_model, criterion="religion")
        return
    done = made.fit(packaged_model, criterion="religion")
    result = done.transform(packaged_model, target=["violent", "greedy", "bread"])
    assert result.name == "minilm-words_religion_debiased"
    assert np.isfinite(result.vectors).all()
    assert "violent" in changed_words(packaged_model, result)


# Which vectors change


@every_method
@pytest.mark.parametrize("ignore", [None, IGNORE], ids=["all", "ignore"])
@pytest.mark.parametrize("target", [None, TARGET], ids=["all", "target"])
def test_words_outside_target_and_ignored_ones_keep_every_bit(method, target, ignore):
    model, done = make(), fitted(method)
    result = done.transform(model, target, ignore)
    changed = changed_words(model, result)
    allowed = {*(target or model)}
    if done._map_ignored is None:
        allowed -= {*(ignore or ())}
    allowed -= {*done._protected_words()}
    allowed |= joint_words(done)
    assert changed <= allowed
    assert {"nurse", "doctor", "programmer"} <= changed
    assert model == make()
    assert model.name == "cut"
    assert not np.shares_memory(model.vectors, result.vectors)
    assert list(result.vocab.items()) == list(model.vocab.items())
    assert result.name == "cut_gender_debiased"
    assert np.isfinite(result.vectors).all()
    assert done.transform(model, target, ignore, copy=False) is model
    assert model.name == "cut_gender_debiased"
    assert model.vectors.tobytes() == result.vectors.tobytes()


@every_method
def test_in_place_refreshes_what_gensim_caches(method):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors

    def of_gensim(vectors):
        wv = keyed_vectors(vectors.shape[1])
        wv.add_vectors(list(make()), vectors.copy())
        return wv

    model = WordEmbeddingModel(of_gensim(make().vectors), "cut")
    model.wv.fill_norms()
    copied = fitted(method).transform(model, ignore=IGNORE)
    lengths = np.linalg.norm(make().vectors, axis=1)
    np.testing.assert_allclose(model.wv.norms, lengths, rtol=1e-5)
    fitted(method).transform(model, ignore=IGNORE, copy=False)
    assert changed_words(make(), model)
    fresh = of_gensim(model.vectors)
    for result in (model, copied):
        assert result.wv.most_similar("nurse") == fresh.most_similar("nurse")
        np.testing.assert_array_equal(
            result.wv.get_vector("the", norm=True), fresh.get_vector("the", norm=True)
        )


@every_method
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_stays(method, dtype):
    model, done = make(dtype), fitted(method)
    result = done.transform(model, ignore=IGNORE)
    assert result.vectors.dtype == dtype
    exact = done.transform(make(np.float64), ignore=IGNORE)
    tolerance = DTYPE_TOLERANCE.get(method.__name__, max(16 * np.finfo(dtype).eps, 1e-6))
    np.testing.assert_allclose(result.vectors, exact.vectors, atol=tolerance)
    # What is learned from narrow vectors is in float64.
    again = small(method).fit(model, criterion=GENDER)
    arrays = [value for value in vars(again).values() if isinstance(value, np.ndarray)]
    assert all(value.dtype == np.float64 for value in arrays if value.dtype.kind == "f")


@every_method
def test_vectors_without_a_direction_stay(method, caplog):
    model = make()
    rows = [model.vocab[word] for word in ("the", "table", "music")]
    for row, value in zip(rows, (0, np.nan, np.inf), strict=True):
        model.vectors[row] = value
    before = model.copy()
    result = small(method).fit_transform(model, ignore=IGNORE, criterion=GENDER)
    assert result.vectors[rows].tobytes() == before.vectors[rows].tobytes()
    told = " 3 vectors do not change: their length is zero, NaN or infinite"
    assert told in caplog.text
    assert np.isfinite(np.delete(result.vectors, rows, axis=0)).all()


@every_method
def test_prefixed_and_mapped_models(method, tmp_path):
    make().save(tmp_path / "m.safetensors")
    bits = (tmp_path / "m.safetensors").read_bytes()
    mapped = load(tmp_path / "m.safetensors")
    plain, prefixed, of_file = (
        small(method).fit_transform(each, TARGET, ["the"], criterion=GENDER)
        for each in (make(), make(prefix="/c/en/"), mapped)
    )
    assert prefixed.vectors.tobytes() == plain.vectors.tobytes()
    assert prefixed.vocab_prefix == "/c/en/"
    assert (mapped.held, of_file.held) == ("mapped", "memory")
    np.testing.assert_allclose(of_file.vectors, plain.vectors, atol=1e-6)
    assert (tmp_path / "m.safetensors").read_bytes() == bits
    assert not changed_words(make(), mapped)


# What is learned


@every_method
def test_what_was_learned_stays_as_it_is(method):
    model = make()
    done = small(method).fit(model, criterion=GENDER)
    before = joblib.hash(vars(done))
    first = done.transform(make(), ignore=IGNORE)
    model.vectors[:] = 1
    done.transform(make(), TARGET)
    done.transform(make(), ignore=["the"], copy=False)
    assert joblib.hash(vars(done)) == before
    assert done.transform(make(), ignore=IGNORE) == first
    assert small(method).fit_transform(make(), None, IGNORE, criterion=GENDER) == first


@every_method
def test_another_model_of_the_same_space_keeps_its_own_vectors(method):
    model, done = make(), fitted(method)
    words = [word for word in list(model)[::-1] if word not in ("the", "doctor")]
    vectors = np.vstack([model.get_vectors(words), model["the"] + 1])
    other = WordEmbeddingModel(([*words, "newcomer"], vectors), "other")
    before = other.copy()
    result = done.transform(other, ignore=IGNORE)
    assert list(result.vocab) == [*words, "newcomer"]
    assert result.name == "other_gender_debiased"
    assert {"nurse", "newcomer"} <= changed_words(other, result)
    assert other == before
    if isinstance(done, RowwiseDebias):
        whole = done.transform(model, ignore=IGNORE).get_vectors(words)
        np.testing.assert_allclose(result.vectors[: len(words)], whole, atol=1e-6)


@every_method
def test_same_seed_same_result_and_the_global_generator_is_left_alone(method):
    results = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        results.append(learned(method).transform(make(), ignore=IGNORE))
        # The next number is the first one of that seed.
        assert np.random.rand() == np.random.RandomState(seed).rand()  # noqa: NPY002
    assert results[0] == results[1]


@every_method
def test_commutes_with_a_rotation(method):
    model = make(np.float64)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(model.dim, model.dim)))[0]
    rotated = WordEmbeddingModel((list(model), model.vectors @ rotation), "rotated")
    made = small(method, **{"epochs": 1000} if "epochs" in method().get_params() else {})
    plain, turned = (
        clone(made).fit_transform(each, ignore=IGNORE, criterion=GENDER).vectors
        for each in (model, rotated)
    )
    tolerance = ROTATION_TOLERANCE.get(method.__name__, 1e-8)
    np.testing.assert_allclose(turned, plain @ rotation, atol=tolerance)


@every_method
def test_less_association_is_measured(method):
    (query,) = GENDER.queries()
    done, model = fitted(method), make()
    result = done.transform(model, ignore=IGNORE)
    before, after = (WEAT().run_query(query, each) for each in (model, result))
    assert before["effect_size"] > 1
    assert abs(after["effect_size"]) < before["effect_size"]
    assert abs(after["weat"]) < before["weat"]
