"""The audit of a query: worked examples, theorems, slow implementations, and every warning."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.audit import QueryAudit, audit_query, largest_effect_size, score_warnings
from wefe.datasets import load_weat_queries
from wefe.embeddings import UnanswerableError, UnusableVectorError


def named(sets, attributes, name="m"):
    """Return a query and a model in which row i of set j is the word 'j_i'."""
    parts = [*sets, *attributes]
    words = [[f"{j}_{i}" for i in range(len(part))] for j, part in enumerate(parts)]
    model = WordEmbeddingModel.from_arrays(
        list(itertools.chain(*words)), np.concatenate(parts).astype(float), name=name
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


def kinds(audit):
    return [warning.kind for warning in audit.warnings]


def message(audit, kind):
    (text,) = [warning.message for warning in audit.warnings if warning.kind == kind]
    return text


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
    assert not audit.comparison.ranges_overlap
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
    assert audit.share_biased == 1
    assert kinds(audit).count("cancelling-biases") == 2


def test_the_comparison_is_that_of_weat(packaged_model):
    for query in load_weat_queries():
        audit = audit_query(query, packaged_model, alternative="two-sided", ddof=1)
        result = WEAT().run_query(
            query, packaged_model, calculate_p_value=True, p_value_method="exact",
            p_value_test_type="two-sided", ddof=1,
        )  # fmt: skip
        assert audit.comparison.weat == result["weat"]
        assert audit.comparison.effect_size == result["effect_size"]
        assert audit.comparison.p_value == result["p_value"]


# Theorems


def random_audit(rng, n_targets=(5, 7), n_attributes=(3, 4), dim=6, **options):
    parts = [rng.normal(size=(n, dim)) for n in (*n_targets, *n_attributes)]
    return audit_query(*named(parts[: len(n_targets)], parts[len(n_targets) :]), **options)


def test_theorem_1_the_extremes_are_reached_and_never_passed():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    means = [np.mean([row / np.linalg.norm(row) for row in part], axis=0) for part in (a, b)]
    along = means[0] - means[1]
    words = np.concatenate([[3 * along, -0.1 * along], rng.normal(size=(300, 5))])
    audit = audit_query(*named([words], [a, b]))
    d = np.linalg.norm(along)
    assert audit.attribute_difference == pytest.approx(d)
    np.testing.assert_allclose(audit.all_biases[:2], [d, -d])
    np.testing.assert_allclose(audit.positions[0][:2], [1, -1])
    assert np.abs(audit.all_biases[2:]).max() < d
    np.testing.assert_allclose(audit.positions[0], audit.all_biases / d)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (2, 4), (5, 3), (1, 9)])
@pytest.mark.parametrize("ddof", [0, 1])
def test_theorem_4_the_largest_effect_size(sizes, ddof):
    largest = largest_effect_size(*sizes, ddof=ddof)
    rng = np.random.default_rng(sizes)
    reached = audit_of([0.501] * sizes[0], [0.5] * sizes[1], ddof=ddof)
    assert reached.comparison.effect_size == pytest.approx(largest)
    assert reached.comparison.share_of_largest == pytest.approx(1)
    for _ in range(20):
        audit = audit_of(*(rng.uniform(-1, 1, size=n) for n in sizes), ddof=ddof)
        assert abs(audit.comparison.effect_size) <= largest * (1 + 1e-9)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 4), (3, 3), (4, 1)])
@pytest.mark.parametrize("alternative", ["right-sided", "left-sided", "two-sided"])
def test_the_smallest_p_value_is_that_of_the_most_extreme_split(sizes, alternative):
    rng = np.random.default_rng(1)
    values = rng.uniform(-1, 1, size=sum(sizes))
    p_values = []
    for chosen in itertools.combinations(range(sum(sizes)), sizes[0]):
        rest = np.delete(values, chosen)
        audit = audit_of(values[list(chosen)], rest, alternative=alternative)
        p_values.append(audit.comparison.p_value)
    assert min(p_values) == pytest.approx(audit.comparison.smallest_p_value)


def test_lengths_and_rotations_do_not_matter_except_to_raw_vectors():
    rng = np.random.default_rng(2)
    parts = [rng.normal(size=(n, 4)) for n in (5, 6, 3, 3)]
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    other = [part @ rotation * rng.uniform(0.5, 9, size=(len(part), 1)) for part in parts]
    first, second = (audit_query(*named(each[:2], each[2:])) for each in (parts, other))
    np.testing.assert_allclose(first.all_biases, second.all_biases)
    assert first.attribute_difference == pytest.approx(second.attribute_difference)
    assert first.raw_attribute_difference != pytest.approx(second.raw_attribute_difference)
    assert first.comparison.effect_size == pytest.approx(second.comparison.effect_size)


def test_swapped_sets():
    rng = np.random.default_rng(3)
    x, y, a, b = (rng.normal(size=(n, 4)) for n in (5, 6, 3, 3))
    audit, targets, attributes = (
        audit_query(*named(*sets), alternative="two-sided")
        for sets in (([x, y], [a, b]), ([y, x], [a, b]), ([x, y], [b, a]))
    )
    for swapped in (targets, attributes):
        assert swapped.attribute_difference == pytest.approx(audit.attribute_difference)
        assert swapped.comparison.effect_size == pytest.approx(-audit.comparison.effect_size)
        assert swapped.comparison.auc == pytest.approx(1 - audit.comparison.auc)
        for same in ("p_value", "threshold_accuracy", "separability", "ranges_overlap"):
            found = getattr(swapped.comparison, same)
            assert found == pytest.approx(getattr(audit.comparison, same))
    np.testing.assert_allclose(attributes.all_biases, -audit.all_biases)


# Slow implementations

values = st.lists(st.sampled_from(np.linspace(-1, 1, 9).tolist()), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(values, values)
def test_separation_counted_pair_by_pair(x, y):
    found = audit_of(x, y, p_value_method="approximate", p_value_iterations=1).comparison
    auc = sum((i > j) + (i == j) / 2 for i in x for j in y) / (len(x) * len(y))
    assert found.auc == pytest.approx(auc)
    best = 0.5
    for cut in [-2.0, *x, *y]:
        above = [sum(i > cut for i in part) / len(part) for part in (x, y)]
        best = max(best, (1 + abs(above[0] - above[1])) / 2)
    assert found.threshold_accuracy == pytest.approx(best)
    below = max(x) < min(y) or max(y) < min(x)
    assert found.ranges_overlap == (not below)


def test_biases_that_differ_by_rounding_are_ties():
    rng = np.random.default_rng(7)
    x, a, b = rng.normal(size=(20, 5)), rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    audit = audit_query(*named([x, x * rng.uniform(0.1, 9, size=(20, 1))], [a, b]))
    assert (audit.biases[0] != audit.biases[1]).any()
    assert (audit.comparison.auc, audit.comparison.threshold_accuracy) == (0.5, 0.5)


def test_individual_biases_cosine_by_cosine():
    rng = np.random.default_rng(4)
    x, a, b = (rng.normal(size=(n, 3)) for n in (4, 2, 3))
    audit = audit_query(*named([x], [a, b]))

    def cos(u, v):
        return u @ v / math.sqrt((u @ u) * (v @ v))

    slow = [np.mean([cos(w, v) for v in a]) - np.mean([cos(w, v) for v in b]) for w in x]
    np.testing.assert_allclose(audit.all_biases, slow)
    assert audit.variance == pytest.approx(np.var(slow))
    assert audit.means == {"X": pytest.approx(np.mean(slow))}


def test_the_share_of_random_directions():
    # In three dimensions the cosine is uniform; in two it is that of a uniform angle.
    for epsilon in (0, 0.1, 0.7, 1):
        space = random_audit(np.random.default_rng(0), dim=3, epsilon=epsilon)
        plane = random_audit(np.random.default_rng(0), dim=2, epsilon=epsilon)
        assert space.chance_share == pytest.approx(1 - epsilon)
        assert plane.chance_share == pytest.approx(1 - 2 / math.pi * math.asin(epsilon))
    words = np.random.default_rng(0).normal(size=(4000, 20))
    a, b = np.eye(20)[:1], np.eye(20)[1:2]
    audit = audit_query(*named([words], [a, b]))
    assert audit.share_biased == pytest.approx(audit.chance_share, abs=0.03)


def test_one_dimension():
    audit = audit_query(*named([[[1.0], [-1.0]]], [[[1.0]], [[-1.0]]]))
    assert audit.chance_share == 1
    assert audit.all_biases.tolist() == [2, -2]


def test_words_beyond_epsilon():
    audit = audit_of([0.05, 0.2, -0.3], [0.3, -0.2], epsilon=0.25, d=0.5)
    assert [flags.tolist() for flags in audit.biased] == [[False, False, True], [True, False]]
    assert (audit.n_biased, audit.share_biased) == (2, 0.4)
    assert audit.largest_bias == pytest.approx(0.15)


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
    ([-0.4 + SPREAD, -0.3 + SPREAD], {"alternative": "two-sided"}, ["common-lean"], "lean to 'B'"),
    ([0.4 + SPREAD, 0.04 + SPREAD], {}, [], ""),
    ([[0.11] * 12 + [0.9], [-0.11] * 12 + [-0.9]], {}, [], ""),
    ([[0.01] * 24 + [0.9], [0.0] * 25], {}, ["separation-missed"], "in 100% of all pairs"),
    ([[0.01] * 20 + [0.9], [0.0] * 20 + [0.0101]], {}, ["separation-missed"], "in 95% of all"),
    ([STEPS, [0.0] * 20 + [0.01005]], {}, ["separation-missed"], "in over 99% of all pairs"),
    # The same words, mixed: the effect size is as low, and there is nothing to be missed.
    ([[0.01] * 12 + [0] * 12 + [0.9], [0.01] * 12 + [0.0] * 13], {}, [], ""),
    ([HALVES, LOW], {}, ["effect-without-separation"], "only 50% of all pairs"),
    ([LOW, HALVES], {"alternative": "left-sided"}, ["effect-without-separation"], ""),
    ([[0.9] * 4 + [0.05] * 4, LOW], {}, [], ""),
    ([0.04 + TINY, -0.03 + TINY], {}, ["large-effect-tiny-biases"], "is 0.05, 5% of what is"),
    ([0.14 + TINY, -0.03 + TINY], {}, [], ""),
    # As tiny, but the effect size says so.
    ([0.04 + TINY, 0.04 + TINY], {}, [], ""),
    # Beyond epsilon, but in cosines still tiny.
    ([0.04 + TINY, -0.03 + TINY], {"d": 0.3, "epsilon": 0.01}, ["large-effect-tiny-biases"], ""),
    ([PAIRS[0][:2], PAIRS[1][:2]], {}, FEW + NOT_SIGNIFICANT, "cannot fall below 0.167"),
    (PAIRS, {}, [], ""),
    (PAIRS, {"alternative": "two-sided"}, FEW + NOT_SIGNIFICANT, ""),
    ([0.4 + SPREAD, -0.4 + SPREAD], {"significance": 1e-5}, FEW + NOT_SIGNIFICANT, ""),
    (MIXED, {}, NOT_SIGNIFICANT, ""),
    (MIXED, {"significance": 0.1}, [], ""),
    ([MIXED[0] * 2, MIXED[1] * 2], {}, [], ""),
    ([-0.4 + SPREAD, 0.4 + SPREAD], {}, OTHER, "a right-sided test ignores"),
    ([0.4 + SPREAD, -0.4 + SPREAD], {"alternative": "left-sided"}, OTHER, "a left-sided test"),
    ([-0.4 + SPREAD, 0.4 + SPREAD], {"alternative": "left-sided"}, [], ""),
    ([-0.4 + SPREAD, 0.4 + SPREAD], {"alternative": "two-sided"}, [], ""),
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
    audit = audit_of([0.3, 0.3], [0.3, 0.3], alternative="two-sided", significance=0.4)
    assert math.isnan(audit.comparison.effect_size)
    assert kinds(audit) == ["common-lean", "undefined-effect-size"]
    assert "All 4 target words have the same bias, 0.3" in message(audit, "undefined-effect-size")
    assert audit.comparison.auc == 0.5
    assert audit.comparison.ranges_overlap
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


# What is returned


def test_one_audit_as_table_summary_json_and_text(toy_model, toy_query):
    audit = audit_query(toy_query, toy_model)
    table, summary, content = audit.to_frame(), audit.summary(), json.loads(audit.to_json())
    assert table["word"].tolist() == ["she", "woman", "he", "man"]
    assert table["target_set"].tolist() == ["Female"] * 2 + ["Male"] * 2
    assert (table["largest"] == audit.attribute_difference).all()
    assert (table["smallest"] == -audit.attribute_difference).all()
    np.testing.assert_allclose(table["position"] * table["largest"], table["individual_bias"])
    assert summary["effect size"] == pytest.approx(1.984164, abs=1e-6)
    assert summary["mean s of Female"] == pytest.approx((0.884021 + 0.881211) / 2, abs=1e-6)
    assert summary["word of the largest |s|"] == "he"
    assert not [name for name in summary.index if "lost" in name]
    assert (summary["p value"], summary["smallest p value"]) == ("0.17", "0.17")
    assert content["targets"][0]["used"] == ["she", "woman"]
    assert content["biases"] == [s.tolist() for s in audit.biases]
    assert content["comparison"]["p_value"] == audit.comparison.p_value
    assert [warning["kind"] for warning in content["warnings"]] == kinds(audit)
    assert json.loads(audit_of([0.1], ddof=1).to_json())["variance"] is None
    lines = repr(audit).splitlines()
    assert lines[0] == "<QueryAudit of 'Female and Male wrt Home and Work' on 'toy'"
    assert "at most 0.943 ('he') of the attainable " in lines[1]
    assert lines[1].endswith("; 4 of 4 words beyond 10% of that")
    assert lines[2] == "- effect size 1.98 (99% of the attainable 2.00), p = 0.17, AUC 1.00"
    assert lines[3].startswith("- few-words: ")
    assert repr(audit_of([0.3])).endswith("- no warnings>")
    without = audit_query(toy_query, toy_model, calculate_p_value=False)
    assert "few-words" in kinds(audit)
    assert "few-words" not in kinds(without)
    assert "p = " not in repr(without)
    assert without.comparison.p_value_method is None
    assert without.comparison.effect_size == audit.comparison.effect_size
    assert json.loads(without.to_json())["comparison"]["p_value"] is None


def test_lost_words_are_counted_per_set(toy_model):
    query = Query(
        [["she", "woman", "xyzzy"], ["he", "man"]],
        [["home", "kids"], ["boss", "job", "plugh"]],
        ["F", "M"],
        ["H", "W"],
    )
    audit = audit_query(query, toy_model, lost_vocabulary_threshold=0.5)
    assert [use.lost for use in audit.targets] == [("xyzzy",), ()]
    assert [use.lost for use in audit.attributes] == [(), ("plugh",)]
    assert audit.summary()["words lost of F"] == 1
    assert "- words lost: 2" in repr(audit)
    assert audit.comparison.effect_size == pytest.approx(1.984164, abs=1e-6)


# Errors


def test_other_numbers_of_attribute_sets(toy_model):
    for attributes in ([["home"]], [["home"], ["boss"], ["job"]]):
        query = Query([["she"], ["he"]], attributes)
        with pytest.raises(ValueError, match=r"exactly two .* has [13]. query.get_subqueries\("):
            audit_query(query, toy_model)
    assert len(query.get_subqueries(("n", 2))) == 3
    assert isinstance(audit_query(query.get_subqueries(("n", 2))[0], toy_model), QueryAudit)


def test_what_cannot_be_answered_says_why(toy_model):
    query = Query([["she", "xyzzy"], ["he"]], [["home"], ["boss"]], ["F", "M"])
    with pytest.raises(UnanswerableError, match="audited with toy: 'F' lost 50% of its words"):
        audit_query(query, toy_model)
    zero = WordEmbeddingModel.from_arrays(["a", "b", "c"], np.eye(3)[[0, 1, 1]] * [[1], [1], [0]])
    with pytest.raises(UnusableVectorError, match=r"zero for \['c'\]"):
        audit_query(Query([["c"]], [["a"], ["b"]]), zero)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"epsilon": 1.5}, ValueError),
        ({"epsilon": "0.1"}, TypeError),
        ({"ddof": 2}, ValueError),
        ({"alternative": "greater"}, ValueError),
        ({"p_value_method": "bounds"}, ValueError),
        ({"p_value_iterations": 0}, ValueError),
        ({"significance": -1}, ValueError),
        ({"random_state": "x"}, TypeError),
        ({"epsilom": 0.1}, TypeError),
    ],
)
def test_wrong_options_are_named(toy_model, toy_query, options, error):
    with pytest.raises(error, match=next(iter(options))):
        audit_query(toy_query, toy_model, **options)
    # Even of a query to which they do not matter.
    with pytest.raises(error, match=next(iter(options))):
        audit_query(Query([["she"]], [["home"], ["boss"]]), toy_model, **options)


def test_an_order_against_the_effect_size_is_said():
    positions = np.r_[1, -1, [0.95], np.full(9, -0.05), np.zeros(10)]
    vectors = np.column_stack([positions, np.sqrt(1 - positions**2)])
    words = ["a", "b", *[f"x{i}" for i in range(10)], *[f"y{i}" for i in range(10)]]
    query = Query([words[2:12], words[12:]], [["a"], ["b"]])
    audit = audit_query(query, WordEmbeddingModel((words, vectors)))
    assert audit.comparison.effect_size > 0
    assert audit.comparison.auc == pytest.approx(0.1)
    (warning,) = [each for each in audit.warnings if each.kind == "separation-missed"]
    assert "points the other way" in warning.message


def test_an_effect_size_of_zero_has_no_direction():
    for rest in (-0.9, -0.901):  # the latter leaves an effect size of -0.0005
        audit = audit_of([0.1] * 9 + [rest], [0.0] * 10)
        assert audit.comparison.auc == 0.9
        assert "points the other way" not in message(audit, "separation-missed")
        assert "The effect size, 0.00, is 0%" in message(audit, "separation-missed")
        assert "effect size 0.00 (0% of" in repr(audit)
        assert [note.text for note in audit.plot().layout.annotations if "size 0.00" in note.text]


def test_sets_of_different_sizes_are_named_as_weat_is_a_sum():
    words = [*"abcdefghij"]
    model = WordEmbeddingModel((words, np.random.default_rng(2).normal(size=(10, 4))), "noise")
    query = Query([[*"abc"], [*"de"]], [[*"fg"], [*"hij"]])
    found = audit_query(query, model)
    (warning,) = [each for each in found.warnings if each.kind == "unequal-sets"]
    # What the splits have in the mean is what the message says is not of the sets.
    test = WEAT().run_query(query, model, calculate_p_value=True, p_value_method="exact")
    scores = [
        WEAT().run_query(Query([x, sorted({*"abcde"} - {*x})], query.attribute_sets), model)["weat"]
        for x in itertools.combinations("abcde", 3)
    ]
    assert f"splits also produce {np.mean(scores):.3g} of its {test['weat']:.3g}" in warning.message
    kinds = [[w.kind for w in score_warnings(m, query, model)] for m in ("weat", "weat-es")]
    assert ("unequal-sets" in kinds[0], "unequal-sets" in kinds[1]) == (True, False)
    even = Query([[*"abc"], [*"dei"]], [[*"fg"], [*"hj"]])
    assert "unequal-sets" not in [each.kind for each in audit_query(even, model).warnings]


def test_largest_effect_sizes_as_worked_out():
    known = [(2, 4, 0, 2.121320), (1, 3, 0, 2.309401), (3, 3, 1, 1.825742), (8, 8, 1, 1.936492),
             (2, 4, 1, 1.936492), (1, 3, 1, 2)]  # fmt: skip
    for n_1, n_2, ddof, value in known:
        assert largest_effect_size(n_1, n_2, ddof) == pytest.approx(value, abs=1e-6)
