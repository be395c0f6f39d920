"""Audits of bias directions: worked examples, theorem 6, a slow reference, every warning."""

import json
import logging
import math

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import cosine_similarity
from warned import kinds, message

from wefe import WordEmbeddingModel
from wefe.audit import audit_direction
from wefe.datasets import Criterion, fetch_debiaswe, load_criterion
from wefe.debias import HardDebias, MulticlassHardDebias
from wefe.metrics import bias_subspace

TOY_PAIRS = [["she", "he"], ["woman", "man"], ["they", "man"]]


def model_of(differences):
    """Return a model, and its pairs (a0, b0), (a1, b1) ..., with these differences."""
    halves = np.asarray(differences, dtype=float) / 2
    words = [f"{letter}{i}" for i in range(len(halves)) for letter in "ab"]
    vectors = np.stack([halves, -halves], axis=1).reshape(-1, halves.shape[1])
    pairs = [words[i : i + 2] for i in range(0, len(words), 2)]
    return WordEmbeddingModel((words, vectors), "made"), pairs


def audit_of(differences, **options):
    """Audit pairs with these differences, as long as they are."""
    model, pairs = model_of(differences)
    return audit_direction(pairs, model, normalize=False, **options)


def around(n, cosine, dim=60, axis=0):
    """Return n unit differences with this cosine to an axis, and its square to each other."""
    rows = np.zeros((n, dim))
    rows[:, axis] = cosine
    own = dim - 1 - axis - np.arange(n)
    rows[np.arange(n), own] = math.sqrt(1 - cosine**2)
    return rows


# Worked examples


def test_published_pairs_in_word2vec(word2vec):
    pairs = fetch_debiaswe(offline=True)["definitional_pairs"]
    audit = audit_direction(pairs, word2vec)
    np.testing.assert_allclose(
        audit.explained_variance_ratio[:4], [0.605292, 0.127255, 0.099281, 0.048347], atol=1e-5
    )
    np.testing.assert_allclose(
        audit.to_frame()["cosine"],
        [
            *(0.821191, 0.743048, 0.945023, 0.692064, 0.749017),
            *(0.710207, 0.352283, 0.913719, 0.948788, 0.566651),
        ],
        atol=1e-5,
    )
    assert audit.mean_correlation == pytest.approx(0.522634, abs=1e-5)
    assert audit.min_correlation == pytest.approx(0.059068, abs=1e-5)
    assert audit.outliers == ("female/male",)
    assert kinds(audit) == ["outliers"]
    rest = audit.without(audit.outliers)
    assert rest.mean_correlation > audit.mean_correlation
    assert kinds(rest) == []


def test_it_audits_the_direction_that_metrics_and_mitigation_use(packaged_model):
    gender, religion = load_criterion("gender", offline=True), load_criterion("religion")
    audit = audit_direction(gender, packaged_model)
    pairs = gender.definitional_sets
    groups = [[packaged_model[pair[i]] for pair in pairs] for i in (0, 1)]
    np.testing.assert_allclose(audit.components[:1], bias_subspace(groups).directions, atol=1e-6)
    direction = HardDebias().fit(packaged_model, pairs).bias_direction_
    np.testing.assert_allclose(audit.components[0], direction, atol=1e-12)
    audit = audit_direction(religion, packaged_model)
    subspace = MulticlassHardDebias().fit(packaged_model, criterion=religion).bias_subspace_
    np.testing.assert_allclose(audit.components[: len(subspace)], subspace, atol=1e-12)
    assert (audit.to_frame()["cosine"] >= 0).all()


def test_chance_levels_are_those_of_random_pairs():
    rng = np.random.default_rng(0)
    audits = [audit_of(rng.standard_normal((10, 200))) for _ in range(30)]
    between = np.concatenate([audit._between_sets for audit in audits])
    assert np.sqrt(np.mean(between**2)) == pytest.approx(audits[0].chance_cosine, rel=0.05)
    ratios = [audit.explained_variance_ratio[0] for audit in audits]
    assert np.mean(ratios) == pytest.approx(audits[0].chance_ratio, rel=0.1)
    assert audit_of(np.eye(3)).chance_ratio == 1


def figure_3(length):
    """Return 23 differences with little in common, and two of some length that are alike."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((25, 200))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    axis = np.repeat([[1.0], [0.0]], [23, 2], axis=0) * np.eye(200)[0]
    axis[23:, 1] = 1
    shares = np.repeat([[0.15], [0.9]], [23, 2], axis=0)
    rows = np.sqrt(shares) * axis + np.sqrt(1 - shares) * noise
    rows[23:] *= length
    return rows


def test_two_outliers_make_the_direction_theirs_as_in_figure_3():
    audit = audit_of(figure_3(2))
    pair = ("a23/b23", "a24/b24")
    assert audit.outliers == pair
    assert set(audit._dominant) == set(pair)
    assert {"outliers", "dominated", "weak-first-component"} <= set(kinds(audit))
    assert "25 sets: a23/b23 and a24/b24" in message(audit, "dominated")
    first = audit.correlations["PC1"].abs()
    assert first[list(pair)].min() > 0.9
    assert np.median(first[:23]) < 0.1
    rest = audit.without(audit.outliers)
    assert rest.correlations["PC1"][:23].median() > 0.35
    assert not {"outliers", "dominated"} & set(kinds(rest))
    # As long as the others, they are outliers that do no harm.
    short = audit_of(figure_3(0.5))
    assert short.outliers == pair
    assert "dominated" not in kinds(short)


def test_criteria_names_and_files_stand_for_their_sets(packaged_model, tmp_path):
    sets = [("young", "old"), ("boy", "man"), ("girl", "woman")]
    path = tmp_path / "age.json"
    path.write_text(json.dumps({"definitional_sets": sets}), encoding="utf-8")
    expected = audit_direction(sets, packaged_model).to_json()
    for given in (Criterion("age", sets), path, str(path), [list(pair) for pair in sets]):
        assert audit_direction(given, packaged_model).to_json() == expected


def test_the_worked_example(toy_model):
    correlations, ratios = [0.992135, 0.892929, 0.854005], [0.969603, 0.028483, 0.001915]
    audit = audit_direction(TOY_PAIRS, toy_model)
    matrix = audit.correlations.to_numpy()
    np.testing.assert_allclose(matrix[[0, 0, 1], [1, 2, 2]], correlations, atol=1e-6)
    np.testing.assert_allclose(audit.explained_variance_ratio, ratios, atol=1e-6)
    assert audit.mean_correlation == pytest.approx(np.mean(correlations), abs=1e-6)
    assert audit.min_correlation == pytest.approx(min(correlations), abs=1e-6)


# The same, computed otherwise


def first_component(rows):
    return PCA(1).fit(np.vstack([rows, -np.asarray(rows)])).components_[0]


def centred(part):
    return [vector - np.mean(part, axis=0) for vector in part]


def test_a_slow_implementation_agrees():
    rng = np.random.default_rng(3)
    sizes = [2, 3, 2, 4, 2]
    words = [[f"w{i}_{j}" for j in range(size)] for i, size in enumerate(sizes)]
    sets = [
        rng.standard_normal((size, 6)) + np.outer(np.linspace(3, -3, size), np.ones(6))
        for size in sizes
    ]
    model = WordEmbeddingModel((np.concatenate(words).tolist(), np.concatenate(sets)), "random")
    audit = audit_direction(words, model)

    sets = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in sets]
    pc1 = first_component([row for part in sets for row in centred(part)])
    pc1 *= np.sign(sum((part[0] - part[1]) @ pc1 for part in sets))
    np.testing.assert_allclose(audit.components[0], pc1, atol=1e-10)
    directions = []
    for part in sets:
        own = part[0] - part[1] if len(part) == 2 else first_component(centred(part))
        own = -own if len(part) > 2 and own @ pc1 < 0 else own
        directions.append(own / np.linalg.norm(own))
    np.testing.assert_allclose(audit.directions, directions, atol=1e-10)
    np.testing.assert_allclose(
        audit.correlations.to_numpy()[:-1, :-1], cosine_similarity(directions)
    )
    along = [sum((row @ pc1) ** 2 for row in centred(part)) for part in sets]
    table = audit.to_frame()
    np.testing.assert_allclose(table["variance_share"], np.array(along) / sum(along))
    for i, own in enumerate(directions):
        others = [part for j, part in enumerate(sets) if j != i]
        without = first_component([row for part in others for row in centred(part)])
        common = first_component([row for j, row in enumerate(directions) if j != i])
        found = table["stability"].iloc[i], table["agreement"].iloc[i]
        assert found == pytest.approx((abs(pc1 @ without), abs(own @ common)))


PER_SET = ("agreement", "stability", "variance_share")


def test_rotation_lengths_and_the_order_of_a_pair_change_nothing_else(packaged_model):
    pairs = list(load_criterion("gender", offline=True).definitional_sets)
    words = [word for pair in pairs for word in pair]
    vectors = packaged_model.get_vectors(words).astype(float)
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((vectors.shape[1],) * 2))[0]
    lengths = rng.uniform(0.1, 10, size=(len(words), 1))
    scaled = WordEmbeddingModel((words, vectors @ rotation * lengths), "scaled")
    before, after = (
        audit_direction(pairs, WordEmbeddingModel((words, vectors), "same")),
        audit_direction([*pairs[:3], pairs[3][::-1], *pairs[4:]], scaled),
    )
    signs = np.ones(11)
    signs[3] = -1
    np.testing.assert_allclose(
        after.correlations, before.correlations * np.outer(signs, signs), atol=1e-10
    )
    ratios = after.explained_variance_ratio, before.explained_variance_ratio
    np.testing.assert_allclose(*ratios, atol=1e-10)
    tables = [each.to_frame()[[*PER_SET]] for each in (after, before)]
    np.testing.assert_allclose(*tables, atol=1e-10)
    raw = audit_direction(pairs, scaled, normalize=False).to_frame()["variance_share"]
    assert np.abs(raw - tables[1]["variance_share"]).max() > 0.01


# Warnings: each where it belongs, and not just beside


def opposed(along):
    """Six sets, of which one has this share along the direction of the others."""
    rows = around(6, 0.9)
    rows[2] = -rows[2] if along == 1 else -along * np.eye(60)[0] + np.eye(60)[50]
    return rows


def with_another(n, cosine, length):
    """Sets around an axis, and one across of this length."""
    return np.vstack([around(n, cosine), length * np.eye(60)[1]])


CONTRAST = np.vstack([around(6, 0.8), 3 * np.eye(60)[1], -2.9 * np.eye(60)[1]])


@pytest.mark.parametrize(
    ("kind", "with_it", "just_not", "text"),
    [
        # Squared lengths along the axes are the variances: 1 of 2.25, and 1 of 1.75.
        (
            "weak-first-component",
            np.diag([1, 0.5, 0.5, 0.5, 0.5, 0.5]),
            np.diag([1, 0.5, 0.5, 0.5]),
            "explains 44% of the variance",
        ),
        # More than half, yet the second comes near.
        (
            "weak-first-component",
            np.diag([1, 0.75, 0.2]),
            np.diag([1, 0.5, 0.2]),
            "explains 62% of the variance and the second 35%",
        ),
        ("low-correlation", around(6, 0.49, 100), around(6, 0.51, 100), "correlation of 0.24"),
        ("low-correlation", around(6, 0.49, 100), around(6, 0.51), "is 0.10 away from 0"),
        # Off the direction is not opposed to it.
        ("opposed-sets", opposed(1), opposed(0.02), "in a2/b2, the other way round"),
        # A contrast that is large in two pairs, and cancels: figure 3 with opposite signs.
        ("mean-difference", CONTRAST, around(6, 0.8), "a cosine of 0.0"),
        ("unstable", with_another(5, 0.9, 2.3), with_another(5, 0.9, 1), "It depends on a5/b5."),
        # An outlier is found whatever its length.
        ("outliers", with_another(6, 0.8, 0.1), around(6, 0.8), "the others: a6/b6"),
        ("outliers", with_another(6, 0.8, 5), around(6, 0.8), "the others: a6/b6"),
        # Nor are there outliers of three sets.
        ("outliers", with_another(6, 0.8, 1), with_another(2, 0.99, 1), "the others: a6/b6"),
        # Of unrelated pairs, the cosines without signs are 0 too.
        (
            "low-correlation",
            np.eye(60)[:4],
            around(4, 0.9),
            "and 0.00 without signs: they have little in common.",
        ),
    ],
)
def test_warnings(kind, with_it, just_not, text):
    assert text in message(audit_of(with_it), kind)
    assert kind not in kinds(audit_of(just_not))


def test_unrelated_sets_have_no_outliers():
    rng = np.random.default_rng(0)
    for n_sets in (4, 10, 25):
        assert audit_of(rng.standard_normal((n_sets, 300))).outliers == ()


def test_sets_that_carry_most_but_agree_do_not_dominate():
    rows = around(20, 0.9)
    rows[0] *= 6
    rows[1] *= 2  # 7 % of the variance, where 5 % are average
    audit = audit_of(rows)
    assert audit._dominant == ("a0/b0",)
    assert "dominated" not in kinds(audit)


def test_a_single_set_has_a_direction_and_nothing_to_compare():
    audit = audit_of([[3.0, 4.0]])
    assert kinds(audit) == ["few-sets"]
    np.testing.assert_allclose(audit.components, [[0.6, 0.8]])
    assert audit.explained_variance_ratio.tolist() == [1]
    unknown = [audit.mean_correlation, audit.min_correlation]
    assert np.isnan(unknown).all()
    assert audit.to_frame()[["stability", "agreement"]].isna().all(axis=None)
    content = json.loads(audit.to_json())
    assert content["mean_correlation"] is content["sets"][0]["stability"] is None


def test_lost_sets_are_named_and_logged(caplog):
    model, pairs = model_of(around(4, 0.9))
    with caplog.at_level(logging.WARNING):
        audit = audit_direction([*pairs, ["a0", "queen"], ["king", "queen"]], model)
    assert audit.lost == {"a0/queen": ("queen",), "king/queen": ("king", "queen")}
    assert kinds(audit) == ["lost-sets"]
    assert "king/queen lacks king, queen" in message(audit, "lost-sets")
    assert "lacks words of 2 of 6 defining sets" in caplog.text
    found = audit_direction([*pairs, ["A0", "B3"]], model, preprocessors=[{}, {"lowercase": True}])
    assert found.lost == {}


def test_sets_that_repeat_others_and_members_that_are_one_vector():
    model, pairs = model_of(around(4, 0.9))
    words = [*model.vocab, "twin", "double", "near"]
    more = [model["a0"], 2 * model["b0"], model["a0"] + 1e-6 * model["a1"]]
    model = WordEmbeddingModel((words, np.vstack([model.vectors, *more])), "twins")
    repeated = [pairs[0], pairs[1][::-1], ["twin", "double"]]
    audit = audit_direction([*pairs, *repeated], model)
    assert "a0/b0 (2), b1/a1 and twin/double" in message(audit, "repeated-sets")
    # Two sets with a word in common are two sets.
    assert "repeated-sets" not in kinds(audit_direction([*pairs, ["a0", "b1"]], model))
    for sets, found in (([*pairs, ["a0", "twin"]], ("a0/twin",)), ([*pairs, ["a0", "near"]], ())):
        audit = audit_direction(sets, model)
        assert audit.identical == found
        assert ("identical-members" in kinds(audit)) == bool(found)
    with pytest.raises(ValueError, match="the members of 1 are the same"):
        audit_direction([["b0", "double"]], model)
    # As they are, vectors of two lengths differ.
    assert audit_direction([["b0", "double"]], model, normalize=False).identical == ()


def test_pairs_in_opposite_order_have_no_difference_of_means():
    model = WordEmbeddingModel((["she", "he"], np.eye(2)))
    audit = audit_direction([["she", "he"], ["he", "she"]], model)
    assert "a cosine of nan" in message(audit, "mean-difference")
    text = message(audit, "low-correlation")
    assert "and 1.00 without signs: they share a line, but point in opposite directions" in text


# The result


def test_without_is_the_audit_of_the_rest(toy_model):
    pairs = [*TOY_PAIRS, ["home", "boss"]]
    audit = audit_direction(pairs, toy_model, normalize=False)
    expected = audit_direction([pairs[0], *pairs[2:]], toy_model, normalize=False)
    assert audit.without(["woman/man"]).to_json() == expected.to_json()
    assert audit.without([]).to_json() == audit.to_json()
    with pytest.raises(ValueError, match="Did you mean 'woman/man'"):
        audit.without(["woman-man"])
    with pytest.raises(ValueError, match="must leave at least one of she/he, .*; got all"):
        audit.without([*audit.sets])


def test_tables_json_and_repr(toy_model):
    audit = audit_direction(TOY_PAIRS, toy_model)
    table = audit.to_frame()
    assert table.index.tolist() == ["she/he", "woman/man", "they/man"]
    assert set(table.columns) == {"words", "cosine", "outlier", *PER_SET}
    assert audit.correlations.index.tolist() == [*table.index, "PC1"]
    content = json.loads(audit.to_json())
    assert content["sets"][2]["words"] == ["they", "man"]
    np.testing.assert_allclose(content["correlations"], audit.correlations)
    assert repr(audit) == (
        "<DirectionAudit of 3 sets in toy: first component 97 % of the variance, mean "
        "correlation 0.91, no outliers, no warnings>"
    )


@pytest.mark.parametrize(
    ("sets", "options", "error", "text"),
    [
        ([], {}, ValueError, "must hold sets"),
        ([["she"]], {}, ValueError, "sets of two or more words"),
        ([["she", 1]], {}, TypeError, "element 1 must be a string"),
        ({"she": "he"}, {}, TypeError, "defining_sets"),
        ([["queen", "king"]], {}, ValueError, "toy lacks words of 1"),
        ("sex", {}, ValueError, "must be one of 'gender'"),
        (TOY_PAIRS, {"normalize": 1}, TypeError, "normalize"),
    ],
)
def test_wrong_arguments_are_refused(toy_model, sets, options, error, text):
    with pytest.raises(error, match=text):
        audit_direction(sets, toy_model, **options)
