"""The audit of a query: worked examples, theorems, slow implementations, and every warning."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp, mannwhitneyu
from warned import kinds, message

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.audit import audit_query, largest_effect_size, score_warnings
from wefe.datasets import load_weat_queries
from wefe.embeddings import UnanswerableError, UnusableVectorError


def named(sets, attributes, name="m"):
    """Return a query and a model in which row i of set j is the word 'j_i'."""
    parts = [*sets, *attributes]
    words = [[f"{j}_{i}" for i in range(len(part))] for j, part in enumerate(parts)]
    model = WordEmbeddingModel(
        (list(itertools.chain(*words)), np.concatenate(parts).astype(float)), name=name
    )
    names = ["X", "Y", "Z"][: len(sets)]
    return Query(words[: len(sets)], words[len(sets) :], names, ["A", "B"]), model


def audit_of(*positions, d=1.0, **options):
    """Audit target sets whose words have these positions s / d."""
    sets = []
    for part in positions:
        along = np.array(part, dtype=float)
        across = np.sqrt(np.maximum(1 - along**2, 0))
        sets.append(np.stack([along, across, 0 * along], axis=1))
    rest = math.sqrt(1 - (d / 2) ** 2)
    attributes = [[[d / 2, 0, rest]], [[-d / 2, 0, rest]]]
    return audit_query(*named(sets, attributes), **options)


# Worked examples


def test_toy_model(toy_model, toy_query):
    audit = audit_query(toy_query, toy_model)
    female, male = audit.biases
    np.testing.assert_allclose(female, [0.884021, 0.881211], atol=1e-6)
    np.testing.assert_allclose(male, [-0.942908, -0.642947], atol=1e-6)
    assert audit.comparison.weat == pytest.approx(3.351087, abs=1e-6)
    assert audit.comparison.effect_size == pytest.approx(1.984164, abs=1e-6)
    assert audit.comparison.p_value == pytest.approx(1 / 6)
    assert audit.comparison.largest_effect_size == 2
    assert (audit.comparison.auc, audit.comparison.threshold_accuracy) == (1, 1)
    assert (audit.largest_bias, audit.most_biased_word) == (-male.min(), "he")
    sample = audit_query(toy_query, toy_model, ddof=1)
    assert sample.comparison.effect_size == pytest.approx(1.718336, abs=1e-6)
    assert sample.comparison.largest_effect_size == pytest.approx(1.732051, abs=1e-6)
    assert sample.comparison.share_of_largest == pytest.approx(audit.comparison.share_of_largest)
    assert sample.variance == pytest.approx(audit.variance * 4 / 3)


def test_theorem_3_an_effect_size_of_zero_of_biased_words():
    x, y = [[1, 0, 0], [0, 1, 0]], [[1, 0, 1], [0, 1, 1]]
    audit = audit_query(*named([x, y], [[[1, 0, 0]], [[0, 1, 0]]]))
    np.testing.assert_allclose(audit.all_biases, [1, -1, 0.707107, -0.707107], atol=1e-6)
    assert audit.comparison.effect_size == pytest.approx(0)
    assert audit.largest_bias == 1
    assert audit.n_biased == 4
    assert kinds(audit).count("cancelling-biases") == 2


def test_the_comparison_is_that_of_weat(packaged_model):
    for query in load_weat_queries():
        audit = audit_query(query, packaged_model, p_value_test_type="two-sided", ddof=1)
        result = WEAT().run_query(
            query, packaged_model, calculate_p_value=True, p_value_method="exact",
            p_value_test_type="two-sided", ddof=1,
        )  # fmt: skip
        assert audit.comparison.weat == result["weat"]
        assert audit.comparison.effect_size == result["effect_size"]
        assert audit.comparison.p_value == result["p_value"]


def test_biases_that_differ_by_rounding_are_ties():
    rng = np.random.default_rng(7)
    x, a, b = rng.normal(size=(20, 5)), rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    audit = audit_query(*named([x, x * rng.uniform(0.1, 9, size=(20, 1))], [a, b]))
    assert (audit.biases[0] != audit.biases[1]).any()
    assert (audit.comparison.auc, audit.comparison.threshold_accuracy) == (0.5, 0.5)


# Warnings

SPREAD = np.linspace(-0.05, 0.05, 8)


TINY = SPREAD / 5
HALVES, LOW = [0.9] * 4 + [-0.05] * 4, np.linspace(-0.04, 0.0, 8)
STEPS = [0.01 + 1e-4 * i for i in range(20)] + [0.9]
PAIRS = [0.4, 0.41, 0.42], [-0.4, -0.41, -0.42]
MIXED = [0.3, 0.25, -0.1, 0.28], [-0.3, 0.2, -0.05, -0.1]
FEW, OTHER = ["few-words"], ["other-direction"]
NOT_SIGNIFICANT = ["large-but-not-significant"]
# Positions of the words of each target set, options, the warnings, and what one of them says.
WARNED = [
    ([0.4 + SPREAD, -0.3 + SPREAD], {}, [], ""),
    ([[0.5, -0.5]], {}, ["cancelling-biases"], "their mean is"),
    ([[0.5, -0.5], [0.2, 0.2], [0.3, -0.3]], {}, ["cancelling-biases"] * 2, "2 of 2 words"),
    # Small biases have nothing to cancel, and of larger ones enough must be left.
    ([[0.05, 0.04, -0.05, -0.042]], {}, [], ""),
    ([[0.5, 0.4, -0.2, -0.1]], {}, [], ""),
    ([0.4 + SPREAD, 0.3 + SPREAD], {}, ["common-lean"], "lean to 'A': their mean biases are 0.4"),
    (
        [-0.4 + SPREAD, -0.3 + SPREAD],
        {"p_value_test_type": "two-sided"},
        ["common-lean"],
        "lean to 'B'",
    ),
    ([[0.01] * 24 + [0.9], [0.0] * 25], {}, ["separation-missed"], "in 100% of all pairs"),
    ([STEPS, [0.0] * 20 + [0.01005]], {}, ["separation-missed"], "in over 99% of all pairs"),
    # The same words, mixed: the effect size is as low, and there is nothing to be missed.
    ([[0.01] * 12 + [0] * 12 + [0.9], [0.01] * 12 + [0.0] * 13], {}, [], ""),
    ([HALVES, LOW], {}, ["effect-without-separation"], "only 50% of all pairs"),
    ([LOW, HALVES], {"p_value_test_type": "left-sided"}, ["effect-without-separation"], ""),
    ([[0.9] * 4 + [0.05] * 4, LOW], {}, [], ""),
    ([0.04 + TINY, -0.03 + TINY], {}, ["large-effect-tiny-biases"], "is 0.05, 5% of what is"),
    ([0.14 + TINY, -0.03 + TINY], {}, [], ""),
    # As tiny, but the effect size says so.
    ([0.04 + TINY, 0.04 + TINY], {}, [], ""),
    ([PAIRS[0][:2], PAIRS[1][:2]], {}, FEW + NOT_SIGNIFICANT, "cannot fall below 0.167"),
    (PAIRS, {}, [], ""),
    (PAIRS, {"p_value_test_type": "two-sided"}, FEW + NOT_SIGNIFICANT, ""),
    (MIXED, {}, NOT_SIGNIFICANT, ""),
    ([-0.4 + SPREAD, 0.4 + SPREAD], {}, OTHER, "a right-sided test ignores"),
    (
        [0.4 + SPREAD, -0.4 + SPREAD],
        {"p_value_test_type": "left-sided"},
        OTHER,
        "a left-sided test",
    ),
    ([0.4 + SPREAD, -0.3 + SPREAD], {"d": 0.19}, ["small-attribute-difference"], "0.19 apart"),
    ([0.4 + SPREAD, -0.3 + SPREAD], {"d": 0.21}, [], ""),
]


@pytest.mark.parametrize(("positions", "options", "expected", "text"), WARNED)
def test_warnings(positions, options, expected, text):
    audit = audit_of(*positions, **options)
    assert kinds(audit) == expected
    assert text in " ".join(warning.message for warning in audit.warnings)


def test_warnings_of_published_queries_on_real_vectors(packaged_model):
    found = [kinds(audit_query(query, packaged_model)) for query in load_weat_queries()]
    assert found == [[]] * 8 + [["common-lean"], ["large-effect-tiny-biases"]]


def test_an_undefined_effect_size():
    audit = audit_of([0.3, 0.3], [0.3, 0.3], p_value_test_type="two-sided")
    assert math.isnan(audit.comparison.effect_size)
    assert kinds(audit) == ["common-lean", "few-words", "undefined-effect-size"]
    assert "All 4 target words have the same bias, 0.3" in message(audit, "undefined-effect-size")
    assert audit.comparison.auc == 0.5
    assert "undefined-effect-size" not in kinds(audit_of([0.3, 0.3], [0.3, 0.3001]))


def test_attribute_sets_that_do_not_differ():
    x, y = np.random.default_rng(0).normal(size=(2, 4, 3))
    same = [[1.0, 2.0, 3.0]]
    audit = audit_query(*named([x, y], [same, same]))
    assert audit.attribute_difference == 0
    assert audit.n_biased == 0
    assert np.isnan(audit.positions).all()
    assert kinds(audit) == ["small-attribute-difference", "undefined-effect-size"]
    content = json.loads(audit.to_json())
    assert content["comparison"]["effect_size"] is None
    assert content["positions"][0] == [None] * 4
    assert "effect size undefined" in repr(audit)


# Theorems and slow implementations


def random_sets(seed, *sizes, dim=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, dim)) for n in sizes]


def test_theorem_1_the_extremes_are_reached_and_never_passed():
    a, b, words = random_sets(0, 3, 4, 300)

    def s(word):
        return (1 - cdist([word], a, "cosine")).mean() - (1 - cdist([word], b, "cosine")).mean()

    means = [np.mean([row / np.linalg.norm(row) for row in part], axis=0) for part in (a, b)]
    along = means[0] - means[1]
    words = np.concatenate([[3 * along, -0.1 * along], words])
    audit = audit_query(*named([words], [a, b]))
    d = np.linalg.norm(along)
    assert audit.attribute_difference == pytest.approx(d)
    np.testing.assert_allclose(audit.all_biases, list(map(s, words)))
    np.testing.assert_allclose(audit.all_biases[:2], [d, -d])
    assert np.abs(audit.all_biases[2:]).max() < d
    np.testing.assert_allclose(audit.positions[0], audit.all_biases / d)
    assert audit.variance == pytest.approx(np.var(audit.all_biases))


@pytest.mark.parametrize(
    ("sizes", "ddof", "expected"),
    [
        ((2, 4), 0, 2.121320),
        ((1, 3), 0, 2.309401),
        ((3, 3), 1, 1.825742),
        ((8, 8), 1, 1.936492),
        ((2, 4), 1, 1.936492),
        ((1, 3), 1, 2),
    ],
)
def test_theorem_4_the_largest_effect_size(sizes, ddof, expected):
    largest = largest_effect_size(*sizes, ddof=ddof)
    assert largest == pytest.approx(expected, abs=1e-6)
    reached = audit_of([0.501] * sizes[0], [0.5] * sizes[1], ddof=ddof).comparison
    assert (reached.effect_size, reached.share_of_largest) == pytest.approx((largest, 1))
    rng = np.random.default_rng(sizes)
    for _ in range(20):
        audit = audit_of(*(rng.uniform(-1, 1, size=n) for n in sizes), ddof=ddof)
        assert abs(audit.comparison.effect_size) <= largest * (1 + 1e-9)


@pytest.mark.parametrize("sizes", [(2, 4), (3, 3)])
@pytest.mark.parametrize("alternative", ["right-sided", "left-sided", "two-sided"])
def test_the_smallest_p_value_is_that_of_the_most_extreme_split(sizes, alternative):
    values = np.random.default_rng(1).uniform(-1, 1, size=sum(sizes))
    found = [
        audit_of(
            values[[*chosen]], np.delete(values, chosen), p_value_test_type=alternative
        ).comparison
        for chosen in itertools.combinations(range(sum(sizes)), sizes[0])
    ]
    assert min(each.p_value for each in found) == pytest.approx(found[0].smallest_p_value)


def test_lengths_rotations_and_swapped_sets():
    x, y, a, b = parts = random_sets(2, 5, 6, 3, 3)
    rng = np.random.default_rng(3)
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    rotated = [part @ rotation * rng.uniform(0.5, 9, size=(len(part), 1)) for part in parts]
    first, other, swapped = (
        audit_query(*named(each[:2], each[2:]), p_value_test_type="two-sided")
        for each in (parts, rotated, (y, x, a, b))
    )
    np.testing.assert_allclose(first.all_biases, other.all_biases)
    assert first.attribute_difference == pytest.approx(other.attribute_difference)
    assert first.raw_attribute_difference != pytest.approx(other.raw_attribute_difference)
    assert first.comparison.effect_size == pytest.approx(other.comparison.effect_size)
    assert swapped.comparison.effect_size == pytest.approx(-first.comparison.effect_size)
    assert swapped.comparison.auc == pytest.approx(1 - first.comparison.auc)
    for same in ("p_value", "threshold_accuracy", "separability"):
        found = getattr(swapped.comparison, same)
        assert found == pytest.approx(getattr(first.comparison, same))


values = st.lists(st.sampled_from(np.linspace(-1, 1, 9).tolist()), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(values, values)
def test_separation_is_that_of_scipy(x, y):
    found = audit_of(x, y, p_value_method="approximate", p_value_iterations=1).comparison
    assert found.auc == pytest.approx(mannwhitneyu(x, y).statistic / (len(x) * len(y)))
    # The largest difference of the distributions, as of Kolmogorov and Smirnov.
    with np.errstate(divide="ignore"):  # of its p-value for single words
        largest = ks_2samp(x, y, method="asymp").statistic
    assert found.threshold_accuracy == pytest.approx((1 + largest) / 2)


def test_the_share_of_random_directions():
    # In three dimensions the cosine is uniform; in two it is that of a uniform angle.
    for epsilon in (0, 0.1, 0.7, 1):
        space, plane = (
            audit_query(*named([x], [a, b]), epsilon=epsilon).chance_share
            for x, a, b in (random_sets(0, 5, 3, 4, dim=dim) for dim in (3, 2))
        )
        assert space == pytest.approx(1 - epsilon)
        assert plane == pytest.approx(1 - 2 / math.pi * math.asin(epsilon))
    (words,) = random_sets(0, 4000, dim=20)
    audit = audit_query(*named([words], [np.eye(20)[:1], np.eye(20)[1:2]]))
    assert audit.n_biased / 4000 == pytest.approx(audit.chance_share, abs=0.03)
    one = audit_query(*named([[[1.0], [-1.0]]], [[[1.0]], [[-1.0]]]))
    assert (one.chance_share, one.all_biases.tolist()) == (1, [2, -2])


# More warnings


def test_an_order_against_the_effect_size_is_said():
    audit = audit_of([0.95] + [-0.05] * 9, [0.0] * 10)
    assert audit.comparison.effect_size > 0
    assert audit.comparison.auc == pytest.approx(0.1)
    assert "points the other way" in message(audit, "separation-missed")
    # An effect size of -0.0005 has no direction.
    audit = audit_of([0.1] * 9 + [-0.901], [0.0] * 10)
    assert audit.comparison.auc == 0.9
    text = message(audit, "separation-missed")
    assert "points the other way" not in text
    assert "The effect size, 0.00, is 0%" in text
    assert "effect size 0.00 (0% of" in repr(audit)


def test_sets_of_different_sizes_are_named_as_weat_is_a_sum():
    words = [*"abcdefghij"]
    model = WordEmbeddingModel((words, np.random.default_rng(2).normal(size=(10, 4))), "noise")
    query = Query([[*"abc"], [*"de"]], [[*"fg"], [*"hij"]])
    text = message(audit_query(query, model), "unequal-sets")
    # What the splits have in the mean is what the message says is not of the sets.
    scores = [
        WEAT().run_query(Query([x, sorted({*"abcde"} - {*x})], query.attribute_sets), model)["weat"]
        for x in itertools.combinations("abcde", 3)
    ]
    observed = WEAT().run_query(query, model)["weat"]
    assert f"splits also produce {np.mean(scores):.3g} of its {observed:.3g}" in text
    even = Query([[*"abc"], [*"dei"]], [[*"fg"], [*"hj"]])
    assert "unequal-sets" not in kinds(audit_query(even, model))


def test_a_set_that_is_given_twice_is_named(packaged_model):
    twice = Query([["she", "her"], ["her", "she"]], [["math"], ["art"]])
    assert kinds(audit_query(twice, packaged_model))[0] == "equal-sets"
    assert score_warnings("weat", twice, packaged_model)[0].kind == "equal-sets"


# What is returned


def test_one_audit_as_table_json_and_text(toy_model, toy_query):
    audit = audit_query(toy_query, toy_model)
    table, content = audit.to_frame(), json.loads(audit.to_json())
    assert table["word"].tolist() == ["she", "woman", "he", "man"]
    assert table["target_set"].tolist() == ["Female"] * 2 + ["Male"] * 2
    np.testing.assert_allclose(table["position"] * table["largest"], table["individual_bias"])
    assert content["comparison"]["effect_size"] == pytest.approx(1.984164, abs=1e-6)
    assert content["most_biased_word"] == "he"
    assert audit.comparison.smallest_p_value == pytest.approx(1 / 6)
    assert content["biases"] == [s.tolist() for s in audit.biases]
    assert content["comparison"]["p_value"] == audit.comparison.p_value
    assert [warning["kind"] for warning in content["warnings"]] == kinds(audit)
    assert "- effect size 1.98 (99% of the attainable 2.00), p = 0.17, AUC 1.00" in repr(audit)
    without = audit_query(toy_query, toy_model, calculate_p_value=False)
    assert "few-words" not in kinds(without)
    assert "p = " not in repr(without)
    assert json.loads(without.to_json())["comparison"]["p_value"] is None
    alone = audit_of([0.1], ddof=1)
    assert json.loads(alone.to_json())["variance"] is None
    assert repr(alone).endswith("- no warnings>")


def test_lost_words_are_counted_per_set(toy_model):
    query = Query([["she", "xyzzy"], ["he"]], [["home"], ["boss", "job", "plugh"]], ["F", "M"])
    with pytest.raises(UnanswerableError, match="audited with toy: 'F' lost 50% of its words"):
        audit_query(query, toy_model)
    audit = audit_query(query, toy_model, lost_vocabulary_threshold=0.5)
    assert [use.lost for use in (*audit.targets, *audit.attributes)] == [
        *(("xyzzy",), (), (), ("plugh",))
    ]
    assert "- words lost: 2" in repr(audit)


# Errors


def test_what_cannot_be_audited(toy_model):
    three = Query([["she"], ["he"]], [["home"], ["boss"], ["job"]])
    for query in (Query([["she"]], [["home"]]), three):
        with pytest.raises(ValueError, match=r"exactly two .* has [13]. query.get_subqueries\("):
            audit_query(query, toy_model)
    zero = WordEmbeddingModel((["a", "b", "c"], np.eye(3)[[0, 1, 1]] * [[1], [1], [0]]))
    with pytest.raises(UnusableVectorError, match="'Target set 0': c"):
        audit_query(Query([["c"]], [["a"], ["b"]]), zero)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"epsilon": 1.5}, ValueError), ({"ddof": 2}, ValueError), ({"epsilom": 0.1}, TypeError)],
)
def test_wrong_options_are_named_even_where_they_do_not_matter(toy_model, options, error):
    with pytest.raises(error, match=next(iter(options))):
        audit_query(Query([["she"]], [["home"], ["boss"]]), toy_model, **options)
