"""Hard Debias: the worked example, the published figures, theorems, and a slow implementation."""

import logging
from pathlib import Path

import numpy as np
import pytest

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import fetch_debiaswe, load_criterion, load_weat
from wefe.debias import HardDebias
from wefe.debias._hard import with_variants

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
GENDER = load_criterion("gender", offline=True)
PAIRS = [["she", "he"], ["woman", "man"]]
FOUR = [word for pair in PAIRS for word in pair]


def unit(vector):
    return np.asarray(vector, dtype=float) / np.linalg.norm(np.asarray(vector, dtype=float))


def random_model(dtype=np.float64, prefix=None, seed=0, scale=1.0):
    """Sixty words of nine dims, among them three pairs in two spellings, of any length."""
    words = ["she", "he", "woman", "man", "girl", "boy", "She", "He"]
    words += [f"w{row}" for row in range(52)]
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(60, 9)) * rng.uniform(0.5, 3, size=(60, 1)) * scale
    vectors[[0, 2, 4, 6]] += 2 * scale * np.eye(9)[0]
    words = [(prefix or "") + word for word in words]
    return WordEmbeddingModel((words, vectors.astype(dtype)), "random", prefix)


THREE = [["she", "he"], ["woman", "man"], ["girl", "boy"]]


def slow_hard_debias(model, pairs, equalize, ignore=(), direction=None):
    """Word by word, as the paper writes it; in float64."""
    original = {word: unit(model[word]) for word in model}
    if direction is None:
        rows = []
        for a, b in pairs:
            centre = (original[a] + original[b]) / 2
            rows += [original[a] - centre, original[b] - centre]
        direction = np.linalg.eigh(sum(np.outer(row, row) for row in rows))[1][:, -1]
    g = direction
    result = dict(original)
    for word in model:
        if word not in ignore:
            result[word] = unit(original[word] - (original[word] @ g) * g)
    for a, b in equalize:
        if a in result and b in result:
            mean = (result[a] + result[b]) / 2
            y = mean - (mean @ g) * g
            z = np.sqrt(1 - y @ y) * np.sign((original[a] - original[b]) @ g)
            result[a], result[b] = y + z * g, y - z * g
    kept = {*ignore} - {word for pair in equalize for word in pair}
    return np.array([model[word] if word in kept else result[word] for word in model])


# The worked example


def test_worked_example(toy_model, toy_query):
    method = HardDebias().fit(toy_model, PAIRS)
    np.testing.assert_allclose(method.bias_direction_, (0.997742, -0.067150, -0.001556), atol=1e-6)
    ratios = method.pca_.explained_variance_ratio_
    np.testing.assert_allclose(ratios, (0.996115, 0.003885), atol=1e-6)
    assert WEAT().run_query(toy_query, toy_model)["weat"] == pytest.approx(3.351087, abs=1e-6)

    neutral = HardDebias().fit(toy_model, PAIRS, []).transform(toy_model, ignore=FOUR)
    assert WEAT().run_query(toy_query, neutral)["weat"] == pytest.approx(-0.007364, abs=1e-6)
    for word, expected in (
        ("nurse", (0.012562, 0.163792, 0.986415)),
        ("home", (0.064418, 0.950068, 0.305323)),
    ):
        np.testing.assert_allclose(neutral[word], expected, atol=1e-6)

    result = method.transform(toy_model, ignore=FOUR)
    assert WEAT().run_query(toy_query, result)["weat"] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(result["she"], (0.970461, 0.188592, 0.150460), atol=1e-6)
    np.testing.assert_allclose(result["he"], (-0.935967, 0.316898, 0.153434), atol=1e-6)
    for word in ("she", "he"):
        assert result["nurse"] @ result[word] == pytest.approx(0.191497, abs=1e-6)
    np.testing.assert_array_equal(result["nurse"], neutral["nurse"])
    half = (result["woman"] - result["man"]) / 2
    assert half @ method.bias_direction_ == pytest.approx(0.855835, abs=1e-6)
    mean = (result["woman"] + result["man"]) / 2
    np.testing.assert_allclose(mean, (0.034427, 0.512864, -0.057722), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 3, 4, 1e25, 1e-25])
def test_lengths_do_not_matter(toy_model, length, dtype):
    # Equalizing vectors as long as they are would take the root of a negative number; and float32
    # cannot square the longest and shortest of these.
    vectors = (toy_model.vectors * length).astype(dtype)
    longer = WordEmbeddingModel((list(toy_model), vectors), "longer")
    expected = HardDebias().fit_transform(toy_model, definitional_pairs=PAIRS)
    result = HardDebias().fit_transform(longer, definitional_pairs=PAIRS)
    np.testing.assert_allclose(result.vectors, expected.vectors, atol=8 * np.finfo(dtype).eps)


# Published figures

TARGET = [
    "executive", "management", "professional", "corporation", "salary", "office", "business",
    "career", "home", "parents", "children", "family", "cousins", "marriage", "wedding",
    "relatives",
]  # fmt: skip


@pytest.fixture(scope="module")
def published():
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    if not SHARED.is_dir():
        pytest.skip("needs the published vectors")
    wv = keyed_vectors.load(str(SHARED / "data" / "models" / "word2vec_subset.kv"))
    # In float64, as float32 drifts in the sixth digit.
    exact = WordEmbeddingModel((wv.index_to_key, wv.vectors.astype(float)), "word2vec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFE_DATA_DIR", str(SHARED / "data"))
        return exact, WordEmbeddingModel(wv, "word2vec"), fetch_debiaswe()


def published_scores(model):
    weat = load_weat()
    names = ["male_terms", "female_terms", "career", "family"]
    others = ["male_names", "female_names", "pleasant_5", "unpleasant_5a"]
    return [
        WEAT().run_query(
            Query([weat[a], weat[b]], [weat[c], weat[d]]),
            model,
            normalize=True,
            preprocessors=[{}, {"lowercase": True}],
        )["weat"]
        for a, b, c, d in (names, others)
    ]


def test_published_bias_direction(published):
    model, _, words = published
    method = HardDebias().fit(model, words["definitional_pairs"])
    ratios = method.pca_.explained_variance_ratio_
    np.testing.assert_allclose(ratios[:4], (0.605292, 0.127255, 0.099281, 0.048347), atol=1e-6)
    she_he = unit(unit(model["she"]) - unit(model["he"]))
    assert method.bias_direction_ @ she_he == pytest.approx(0.945023, abs=1e-6)
    towards = [
        unit(unit(model[a]) - unit(model[b])) @ method.bias_direction_
        for a, b in words["definitional_pairs"]
    ]
    expected = [0.821191, 0.743048, 0.945023, 0.692064, 0.749017,
                0.710207, 0.352283, 0.913719, 0.948788, 0.566651]  # fmt: skip
    np.testing.assert_allclose(towards, expected, atol=1e-6)


def test_published_scores_before(published):
    for model in published[:2]:
        assert published_scores(model) == pytest.approx([0.463439, 0.073536], abs=1e-6)


@pytest.mark.parametrize(
    ("equalize", "ignores", "target", "first", "second"),
    [
        ("equalize_pairs", True, None, 0.047349, 0.055328),
        ("equalize_pairs", False, None, 0.057544, 0.055328),
        ("none", True, None, -0.142656, 0.055328),
        # 'John' and 'Mary' are equalised as they are after neutralising; from the vectors before
        # it, the second figure would be 0.054956.
        ("definitional_pairs", True, None, 0.006566, 0.056072),
        ("definitional_pairs", False, None, 0.024105, 0.056072),
        ("equalize_pairs", False, TARGET, 0.047349, 0.079940),
    ],
)
def test_published_scores(published, equalize, ignores, target, first, second):
    model, narrow, words = published
    pairs = {**words, "none": []}[equalize]
    ignore = words["gender_specific"] if ignores else None
    method = HardDebias(criterion_name="gender").fit(model, words["definitional_pairs"], pairs)
    result = method.transform(model, target, ignore)
    assert published_scores(result) == pytest.approx([first, second], abs=1e-6)
    # As the documentation prints it, from the float32 vectors of gensim.
    result = method.transform(narrow, target, ignore)
    assert published_scores(result) == pytest.approx([first, second], abs=3e-6)
    assert result.name == "word2vec_gender_debiased"


# Theorems


def test_no_neutral_word_has_a_component_along_the_direction(packaged_model):
    method = HardDebias().fit(packaged_model, criterion=GENDER)
    result = method.transform(packaged_model, ignore=GENDER.specific_words)
    equalised = {word for words in method.equalize_pairs_ for word in words}
    left = equalised | {*GENDER.specific_words}
    neutral = result.get_vectors([word for word in result if word not in left]).astype(float)
    along = neutral @ method.bias_direction_ / np.linalg.norm(neutral, axis=1)
    assert len(along) > 10_000
    assert np.abs(along).max() < 1e-6
    np.testing.assert_allclose(np.linalg.norm(neutral, axis=1), 1, atol=1e-6)
    # Before, they had one.
    before = packaged_model.get_vectors([word for word in result if word not in left])
    assert np.abs(before @ method.bias_direction_).mean() > 0.03


def test_neutral_words_are_equally_near_to_both_words_of_a_pair(packaged_model):
    method = HardDebias().fit(packaged_model, criterion=GENDER)
    exact = WordEmbeddingModel((list(packaged_model), packaged_model.vectors.astype(float)), "m")
    result = method.transform(exact, ignore=GENDER.specific_words)
    # 'maid' is both a stereotype and a word to ignore.
    neutral = result.get_vectors(sorted({*GENDER.concept_words} - {*GENDER.specific_words}))
    found = 0
    for a, b in GENDER.equalize_sets:
        if a in result and b in result:
            pair = result.get_vectors([a, b])
            np.testing.assert_allclose(neutral @ pair[0], neutral @ pair[1], atol=1e-12)
            np.testing.assert_allclose(np.linalg.norm(pair, axis=1), 1)
            # Mirror images: the sum is at right angles to the direction, the difference along it.
            g = method.bias_direction_
            assert (pair[0] + pair[1]) @ g == pytest.approx(0, abs=1e-12)
            np.testing.assert_allclose(pair[0] - pair[1], (pair[0] - pair[1]) @ g * g, atol=1e-12)
            found += 1
    assert found > 30


def test_a_normalised_model_stays_normalised():
    model = random_model()
    model.normalize()
    result = HardDebias().fit_transform(model, ignore=["w1", "w2"], definitional_pairs=THREE)
    np.testing.assert_allclose(np.linalg.norm(result.vectors, axis=1), 1, atol=1e-12)


def test_the_order_of_the_classes_does_not_matter():
    model = random_model()
    back = [pair[::-1] for pair in THREE]
    forth_method, back_method = HardDebias().fit(model, THREE), HardDebias().fit(model, back)
    np.testing.assert_allclose(back_method.bias_direction_, -forth_method.bias_direction_)
    assert forth_method.bias_direction_ @ (unit(model["she"]) - unit(model["he"])) > 0
    np.testing.assert_allclose(
        back_method.transform(model).vectors, forth_method.transform(model).vectors, atol=1e-12
    )


def test_neutral_words_stay_as_they_are_the_second_time():
    model = random_model()
    method = HardDebias().fit(model, THREE)
    once = method.transform(model)
    twice = method.transform(once)
    rows = [model.vocab[f"w{i}"] for i in range(52)]
    np.testing.assert_allclose(twice.vectors[rows], once.vectors[rows], atol=1e-12)


# The slow implementation


@pytest.mark.parametrize("ignore", [(), ("w1", "w2", "she", "man")])
@pytest.mark.parametrize("equalize", [[], THREE, [["w3", "w4"], ["she", "he"], ["girl", "w9"]]])
def test_every_word_is_that_of_a_slow_implementation(equalize, ignore):
    model = random_model()
    method = HardDebias().fit(model, THREE, equalize)
    expected = slow_hard_debias(model, THREE, with_variants(equalize), ignore)
    result = method.transform(model, ignore=list(ignore))
    np.testing.assert_allclose(result.vectors, expected, atol=1e-12)


def test_a_word_in_two_pairs_is_settled_by_the_last_one():
    model = random_model()
    equalize = [["she", "he"], ["she", "boy"], ["w1", "boy"]]
    method = HardDebias().fit(model, THREE, equalize)
    result = method.transform(model, ignore=FOUR)
    neutral = result.get_vectors(["w2", "w3", "girl"])
    np.testing.assert_allclose(neutral @ result["w1"], neutral @ result["boy"], atol=1e-12)
    assert not np.allclose(neutral @ result["she"], neutral @ result["boy"])
    lengths = np.linalg.norm(result.get_vectors(["she", "he", "boy", "w1"]), axis=1)
    np.testing.assert_allclose(lengths, 1)


def test_the_vectors_equalised_are_those_of_the_model_transformed():
    model, other = random_model(), random_model(seed=9)
    method = HardDebias().fit(model, THREE)
    expected = slow_hard_debias(
        other, THREE, with_variants(THREE), FOUR, direction=method.bias_direction_
    )
    result = method.transform(other, ignore=FOUR)
    np.testing.assert_allclose(result.vectors, expected, atol=1e-12)
    # Nor does it matter what became of the model fitted.
    model.batch_update(FOUR, np.ones((4, 9)))
    np.testing.assert_allclose(method.transform(other, ignore=FOUR).vectors, expected, atol=1e-12)


def test_neutralised_pairs_keep_their_sides():
    # After neutralising, only rounding noise would tell on which side a word was.
    model = random_model()
    method = HardDebias().fit(model, THREE)
    result = method.transform(model)
    for a, b in THREE:
        assert result[a] @ method.bias_direction_ > 0.1
        assert result[b] @ method.bias_direction_ < -0.1


# Which words change


def changed_words(before, after):
    return {word for word in before if before[word].tobytes() != after[word].tobytes()}


def test_target_ignore_and_pairs():
    model = random_model()
    method, neutral = HardDebias().fit(model, THREE), HardDebias().fit(model, THREE, [])
    target, ignore = ["w1", "w2", "w3"], ["w3", "w4", "she"]
    assert changed_words(model, neutral.transform(model, target, ignore)) == {"w1", "w2"}
    # Pairs to equalize change even so, as published.
    pairs = {word for pair in with_variants(THREE) for word in pair if word in model}
    assert changed_words(model, method.transform(model, target, ignore)) == {"w1", "w2"} | pairs
    assert changed_words(model, method.transform(model, ["w1"])) == {"w1"} | pairs
    assert changed_words(model, neutral.transform(model, ignore=ignore)) == {*model} - {*ignore}


def test_equalizing_ends_pairs_outside_of_target_as_they_were_not_neutralised():
    model = random_model()
    method = HardDebias().fit(model, THREE)
    result = method.transform(model, ["w1"])
    expected = slow_hard_debias(model, THREE, with_variants(THREE), {*model} - {"w1"})
    np.testing.assert_allclose(result.vectors, expected, atol=1e-12)


def test_pairs_are_equalised_in_every_case():
    model = random_model()
    result = HardDebias().fit_transform(model, ignore=["She", "He"], definitional_pairs=THREE)
    assert np.linalg.norm(result["She"]) == pytest.approx(1)
    assert result["w1"] @ result["She"] == pytest.approx(result["w1"] @ result["He"])
    assert with_variants([["Mary", "mcDonald"]]) == [
        ("Mary", "mcDonald"), ("mary", "mcdonald"), ("Mary", "Mcdonald"), ("MARY", "MCDONALD")
    ]  # fmt: skip
    # Each once.
    assert with_variants([["a", "b"], ["A", "B"]]) == [("a", "b"), ("A", "B")]


def test_no_pairs_to_equalize():
    model = random_model()
    method = HardDebias().fit(model, THREE, [])
    assert method.equalize_pairs_ == []
    result = method.transform(model)
    np.testing.assert_allclose(result.vectors @ method.bias_direction_, 0, atol=1e-12)


def test_by_default_definitional_pairs_are_equalised():
    model = random_model()
    default, given = HardDebias().fit(model, THREE), HardDebias().fit(model, THREE, THREE)
    assert default.equalize_pairs_ == given.equalize_pairs_ == with_variants(THREE)
    assert default.transform(model) == given.transform(model)


def test_zero_vectors_and_such_that_are_not_finite_stay(caplog):
    model = random_model()
    model.vectors[[20, 21]] = 0
    model.vectors[22, 3] = np.nan
    model.vectors[23, 0] = np.inf
    model.vectors[7] = 0  # 'He', which would be equalised with 'She'
    result = HardDebias().fit_transform(model, definitional_pairs=THREE)
    assert result.vectors[20:24].tobytes() == model.vectors[20:24].tobytes()
    assert not result["He"].any()
    assert np.isfinite(result.vectors[:20]).all()
    assert "5 vectors do not change: they are zero" in caplog.text
    assert "no direction, so not equalized: He" in caplog.text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_word_that_is_nothing_but_bias_becomes_zero_not_noise(dtype):
    model = random_model(dtype)
    method = HardDebias().fit(model, THREE, [])
    model.update("w5", (7 * method.bias_direction_).astype(dtype))
    result = method.transform(model)
    assert not result["w5"].any()
    assert np.linalg.norm(result["w6"]) == pytest.approx(1, abs=1e-6)


def test_a_pair_that_is_nothing_but_bias():
    vectors = np.array([[2.0, 0, 0], [-1, 0, 0], [1, 1, 1]])
    model = WordEmbeddingModel((["she", "he", "home"], vectors), "bias")
    result = HardDebias().fit_transform(model, definitional_pairs=[["she", "he"]])
    expected = [[1, 0, 0], [-1, 0, 0], [0, 0.5**0.5, 0.5**0.5]]
    np.testing.assert_allclose(result.vectors, expected, atol=1e-15)


# What is fitted


@pytest.mark.parametrize("n_pairs", [1, 2, 3])
def test_fewer_pairs_than_components_asked_for(n_pairs):
    model = random_model()
    method = HardDebias(pca_args={"n_components": 10}).fit(model, THREE[:n_pairs])
    assert method.pca_.n_components_ == n_pairs
    if n_pairs == 1:
        she_he = unit(unit(model["she"]) - unit(model["he"]))
        np.testing.assert_allclose(method.bias_direction_, she_he, atol=1e-12)
    assert np.linalg.norm(method.bias_direction_) == pytest.approx(1)
    same = HardDebias(pca_args={"n_components": 1}).fit(model, THREE[:n_pairs])
    np.testing.assert_allclose(same.bias_direction_, method.bias_direction_, atol=1e-12)


def test_what_fit_leaves():
    model = random_model()
    method = HardDebias().fit(model, [*THREE, ["queen", "king"]], [["she", "he"]])
    assert method.dim_ == 9
    assert method.definitional_pairs_ == [tuple(pair) for pair in [*THREE, ["queen", "king"]]]
    assert method.equalize_pairs_ == [("she", "he"), ("She", "He"), ("SHE", "HE")]
    assert [tuple(pair) for pair in method.definitional_pairs_embeddings_] == [
        tuple(pair) for pair in THREE
    ]
    np.testing.assert_allclose(
        method.definitional_pairs_embeddings_[0]["he"], unit(model["he"]), atol=1e-12
    )


def test_a_pair_that_the_model_lacks_is_left_out_and_counted(caplog):
    model = random_model()
    method = HardDebias().fit(model, [*THREE, ["queen", "king"], ["mother", "man"]], THREE)
    assert "2 of 5 definitional_pairs lost a word" in caplog.text
    expected = HardDebias().fit(model, THREE).bias_direction_
    np.testing.assert_array_equal(method.bias_direction_, expected)


def test_no_complete_pair_is_an_error():
    model = random_model(prefix="/c/")
    with pytest.raises(ValueError, match="none of the 2 definitional_pairs complete; at least 1"):
        HardDebias().fit(model, [["queen", "king"], ["she", "king"]])
    with pytest.raises(ValueError, match="behind the prefix '/c/'"):
        HardDebias().fit(model, [["/c/she", "/c/he"]])


def test_pairs_that_cannot_be_equalised_are_counted(caplog):
    caplog.set_level(logging.INFO, "wefe")
    model = random_model()
    method = HardDebias().fit(model, THREE, [["she", "he"], ["queen", "king"], ["girl", "king"]])
    method.transform(model)
    # Three spellings of each; 'she' and 'he' are there in two.
    assert "7 of 9 sets (with their variants in case) were not equalized" in caplog.text


def test_nothing_ignored_is_said(caplog):
    model = random_model()
    method = HardDebias().fit(model, THREE)
    for options in ({}, {"ignore": []}):
        caplog.clear()
        method.transform(model, **options)
        assert "nothing is ignored" in caplog.text
        assert "boy, girl, he, man" in caplog.text
    caplog.clear()
    method.transform(model, ignore=["she"])
    method.transform(model, target=["w1"])
    assert "nothing is ignored" not in caplog.text


@pytest.mark.parametrize(
    ("pairs", "equalize", "error", "message"),
    [
        ([["she", "he", "they"]], None, ValueError,
         r"definitional_pairs\[0\] must have 2 words that differ; it has 3 \(she, he, they\)"),
        ([["she", "he"], ["man"]], None, ValueError, r"definitional_pairs\[1\] must have 2 words"),
        (THREE, [["a", "b"], ["c"]], ValueError, r"equalize_pairs\[1\] must have 2 words"),
        ([["she", 3]], None, TypeError, "element 1 must be a string"),
        (["she", "he"], None, TypeError, r"definitional_pairs\[0\] must be a list"),
        ("she", None, TypeError, "definitional_pairs must be a list"),
        (THREE, "she", TypeError, "equalize_pairs must be a list"),
        (None, THREE, TypeError, "needs definitional_pairs, or a criterion"),
        ([["she", "she"]], None, ValueError, r"definitional_pairs\[0\].* that differ"),
        ([], None, ValueError, "none of the 0 definitional_pairs complete; at least 1"),
    ],
)  # fmt: skip
def test_words_that_do_not_do(pairs, equalize, error, message):
    with pytest.raises(error, match=message):
        HardDebias().fit(random_model(), pairs, equalize)


def test_more_than_two_classes_are_pointed_to_another_method():
    with pytest.raises(ValueError, match="definitional_sets"):
        HardDebias().fit(random_model(), criterion="religion")


def test_zero_vectors_of_definitional_words_are_no_direction():
    model = random_model()
    model.update("she", np.zeros(9))
    with pytest.raises(ValueError, match="she"):
        HardDebias().fit(model, THREE)
