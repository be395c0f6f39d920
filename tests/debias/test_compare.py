"""The table of evidence: bias, cost, and what remains."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.datasets import load_criterion, load_weat_queries
from wefe.debias import Comparison, HardDebias, compare
from wefe.metrics import ECT, GIPE, MAC, RND, RNSB, WEAT, BaseMetric
from wefe.models._tables import ArrayVectors

GENDER = load_criterion("gender", offline=True)
NAMES = Query(
    [["mary", "anna", "susan", "julia"], ["john", "paul", "peter", "james"]],
    [["nurse", "dancer", "housekeeper"], ["boss", "captain", "engineer"]],
    ["Women", "Men"],
    ["Care", "Rule"],
)


@pytest.fixture(scope="module")
def debiased(packaged_model):
    return HardDebias().fit_transform(
        packaged_model, criterion=GENDER, ignore=GENDER.specific_words
    )


@pytest.fixture(scope="module")
def evidence(packaged_model, debiased):
    return compare(packaged_model, debiased, [*GENDER.queries(), NAMES], criterion=GENDER)


def bias_of(*models, queries=(NAMES,), metrics=("weat",), **options):
    found = compare(models[0], list(models[1:]), list(queries), metrics, quality=None, **options)
    return found.table[found.table.aspect == "bias"].reset_index(drop=True)


def without(model, *words, name="less"):
    kept = [word for word in model.vocab if word not in words]
    return WordEmbeddingModel.from_arrays(kept, model.get_vectors(kept), name)


# The table


def test_one_row_per_measure_query_and_model(evidence, packaged_model, debiased):
    table = evidence.table
    assert isinstance(evidence, Comparison)
    assert not table.duplicated(["measure", "subject", "model"]).any()
    assert set(table.model) == {debiased.name}
    assert table.aspect.drop_duplicates().tolist() == ["bias", "cost", "residual"]
    assert table[table.aspect == "bias"].groupby("measure").size().to_dict() == {
        "WEAT": 2, "RND": 4, "MAC": 2, "ECT": 4
    }  # fmt: skip
    assert table[table.aspect == "cost"].measure.tolist() == [
        "word similarity",
        "word similarity",
        "analogy accuracy",
        "share of vectors changed",
        "mean cosine displacement",
        "mean vector displacement",
        "neighbourhood overlap",
    ]
    assert table[table.aspect == "residual"].measure.tolist() == [
        "cluster alignment",
        "classification accuracy",
        "linear classification accuracy",
        "neighbour correlation",
        "projection correlation",
    ]
    np.testing.assert_allclose(table.change, table.after - table.before)
    assert (evidence.before, evidence.criterion) == (packaged_model.name, "gender")


def test_every_nan_carries_its_reason(evidence):
    table = evidence.table
    numbers = ["before", "after", "change", "before_se", "after_se", "change_se"]
    lacking = table[table[numbers].isna().any(axis=1)]
    assert len(lacking) >= 4
    assert (lacking.note != "").all()


def test_the_table_says_which_way_is_better(evidence):
    better = evidence.table.set_index("measure").better
    assert set(better["WEAT"]) == {"nearer to 0"}
    assert set(better["ECT"]) == set(better["MAC"]) == {"nearer to 1"}
    assert set(better["word similarity"]) == {"higher"}
    assert better["neighbourhood overlap"] == "higher"
    assert better["mean vector displacement"] == "lower"
    assert better["classification accuracy"] == "nearer to 0.5"
    assert better["cluster alignment"] == "nearer to 0.513"


def test_hard_debias_lowers_weat_at_little_cost_and_leaves_the_class_recoverable(evidence):
    """Measured: WEAT 1.08 -> 0.36, similarity as before, accuracy 1.00 -> 0.89."""
    rows = evidence.table.set_index(["measure", "subject"])
    weat = rows.loc["WEAT"]
    assert (weat.after.abs() < 0.6 * weat.before.abs()).all()
    assert (weat.change < -2 * weat.change_se).all()
    assert rows.loc[("classification accuracy", "gender"), "after"] > 0.5 + 0.3
    assert rows.loc[("cluster alignment", "gender"), "after"] > 0.513 + 0.2
    assert rows.loc["neighbourhood overlap"].after.item() > 0.95
    assert rows.loc["mean cosine displacement"].after.item() < 0.01


@pytest.mark.filterwarnings("ignore")
def test_quality_hardly_changes(evidence):
    pytest.importorskip("gensim")
    similarity = evidence.table[evidence.table.measure == "word similarity"]
    assert (similarity.change.abs() < 0.01).all()
    assert similarity.n.tolist() == [279, 856]


# Bias


@pytest.mark.parametrize("metric", [WEAT, RND, MAC, ECT])
def test_scores_are_those_of_the_metric(metric, packaged_model, debiased):
    table = bias_of(packaged_model, debiased, metrics=[metric])
    for row, query in zip(table.itertuples(), metric().subqueries(NAMES), strict=True):
        assert row.subject == query.query_name
        scores = [metric().run_query(query, each)["result"] for each in (packaged_model, debiased)]
        assert [row.before, row.after] == pytest.approx(scores, rel=1e-14)


@pytest.mark.parametrize("metric", [WEAT, MAC])
def test_errors_are_those_of_leaving_each_word_out(metric, packaged_model, debiased):
    (row,) = bias_of(packaged_model, debiased, metrics=[metric]).itertuples()
    sets = [*NAMES.target_sets, *NAMES.attribute_sets]
    variances = np.zeros(3)
    for position, words in enumerate(sets):
        scores = []
        for word in words:
            left = [list(part) for part in sets]
            left[position].remove(word)
            query = Query(left[:2], left[2:])
            before, after = (
                metric().run_query(query, model)["result"] for model in (packaged_model, debiased)
            )
            scores.append((before, after, after - before))
        deviations = np.array(scores) - np.mean(scores, axis=0)
        variances += (len(words) - 1) / len(words) * (deviations**2).sum(axis=0)
    assert np.sqrt(variances) == pytest.approx([row.before_se, row.after_se, row.change_se])


def test_words_that_one_model_lacks_are_left_out_of_both_and_counted(
    packaged_model, debiased, caplog
):
    shorter = Query(
        [["mary", "anna", "susan"], ["john", "paul", "peter", "james"]], NAMES.attribute_sets
    )
    (expected,) = bias_of(packaged_model, debiased, queries=[shorter]).itertuples()
    less = without(debiased, "julia")
    for models in (
        (packaged_model, less),
        (less, packaged_model),
        (packaged_model, debiased, less),
    ):
        with caplog.at_level("WARNING", "wefe"):
            rows = bias_of(*models, queries=[NAMES], lost_vocabulary_threshold=0.25)
        assert "not all models have them: julia" in caplog.text
        for row in rows.itertuples():
            assert row.n == 13
            assert row.note == "words left out because a model lacks them: 1"
        first = rows.iloc[0]
        scores = (first.before, first.after)
        if models[0] is less:
            scores = scores[::-1]
        assert scores == pytest.approx((expected.before, expected.after))
        errors = sorted([first.before_se, first.after_se])
        assert errors == pytest.approx(sorted([expected.before_se, expected.after_se]))


def test_more_lost_words_than_allowed_are_nan_for_both_with_the_reason(packaged_model, debiased):
    (row,) = bias_of(packaged_model, without(debiased, "julia")).itertuples()
    assert math.isnan(row.before)
    assert math.isnan(row.after)
    assert "before: 'Women' lost 25% of its words (julia)" in row.note
    assert "after: 'Women' lost 25% of its words (julia)" in row.note


def test_a_query_that_a_metric_does_not_take_is_nan_with_the_reason(packaged_model, debiased):
    query = Query([["she", "her"]], [["nurse", "doctor"]])
    (row,) = bias_of(packaged_model, debiased, queries=[query]).itertuples()
    assert math.isnan(row.after)
    assert "it has no subquery of" in row.note


def test_a_set_of_one_word_has_no_error_and_says_so(packaged_model, debiased):
    query = Query([["she"], ["he"]], [["nurse", "dancer"], ["boss", "captain"]])
    (row,) = bias_of(packaged_model, debiased, queries=[query]).itertuples()
    assert not math.isnan(row.change)
    assert math.isnan(row.change_se)
    assert "too few words of 'Target set 0' to leave one out" in row.note.replace("1'", "0'")


def test_options_reach_the_look_up_and_the_metrics_that_have_them(packaged_model, debiased):
    table = bias_of(
        packaged_model,
        debiased,
        queries=[Query([["MARY", "ANNA"], ["JOHN", "PAUL"]], NAMES.attribute_sets)],
        metrics=["weat", "mac"],
        preprocessors=[{"lowercase": True}],
        return_effect_size=True,
    )
    assert table.measure.tolist() == ["WEAT-ES", "MAC"]
    assert (table.n == 10).all()


def test_metrics_may_have_parameters_of_their_own(packaged_model, debiased):
    near = {"k": 20}
    metrics = ["gipe", ("gipe", near), (RND, {"distance": "cos"}), ("gipe", {"k": 20}), "gipe"]
    query = Query(NAMES.target_sets, [["nurse", "boss", "captain", "dancer"]])
    table = bias_of(packaged_model, debiased, queries=[query], metrics=metrics)
    assert table.measure.tolist() == ["GIPE", "GIPE (k=20)", "RND"]
    wide, close, cosines = table.itertuples()
    assert wide.before == GIPE().run_query(query, packaged_model)["result"]
    assert close.before == GIPE().run_query(query, packaged_model, k=20)["result"]
    after = GIPE().run_query(query, debiased, k=20, original=packaged_model)
    assert close.after == after["result"]
    assert close.before != wide.before
    expected = RND().run_query(query, packaged_model, distance="cos")["result"]
    assert cosines.before == pytest.approx(expected, rel=1e-14)
    # What holds for all is overridden, too.
    (own,) = bias_of(
        *(packaged_model, debiased), queries=[query], metrics=[("gipe", near)], k=5
    ).itertuples()
    assert (own.measure, own.before) == ("GIPE", close.before)


def test_metrics_that_draw_are_seeded(packaged_model, debiased):
    def scores(seed):
        table = bias_of(
            packaged_model, debiased, metrics=[RNSB], random_state=seed,
            n_iterations=1,
        )  # fmt: skip
        return table[["before", "after", "change_se"]].to_numpy()

    np.testing.assert_array_equal(scores(3), scores(3))
    assert not np.array_equal(scores(3), scores(4))


def test_workers_give_the_same_numbers(packaged_model, debiased):
    alone = bias_of(packaged_model, debiased, metrics=["weat", "mac"])
    pd.testing.assert_frame_equal(
        bias_of(packaged_model, debiased, metrics=["weat", "mac"], n_jobs=2), alone
    )


def test_a_metric_of_ones_own_is_taken(packaged_model, debiased):
    class Length(BaseMetric):
        metric_template = (1, 0)
        metric_name = "Length"
        metric_short_name = "LEN"
        no_bias_value = 0.0

        def _compute(self, targets, attributes):
            return float(np.linalg.norm(targets[0].vectors.mean(axis=0)))

    query = Query([["nurse", "doctor"]], [])
    (row,) = bias_of(packaged_model, debiased, queries=[query], metrics=[Length]).itertuples()
    mean = packaged_model.get_vectors(["nurse", "doctor"]).mean(axis=0)
    assert row.before == pytest.approx(float(np.linalg.norm(mean)))


# Invariance


def test_a_model_and_its_copy_do_not_differ(packaged_model):
    table = compare(
        packaged_model, packaged_model.copy("same"), [NAMES], criterion=GENDER, n_words=100
    ).table
    assert (table.change.dropna() == 0).all()
    assert (table.change_se.dropna() == 0).all()
    after = table.set_index("measure").after
    assert after["neighbourhood overlap"] == 1
    assert after["mean cosine displacement"] == after["mean vector displacement"] == 0
    assert after["projection correlation"] == pytest.approx(1)


def test_a_rotation_changes_nothing_but_the_displacement(packaged_model):
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(packaged_model.dim,) * 2))
    turned = WordEmbeddingModel.from_arrays(
        list(packaged_model.vocab), packaged_model.vectors @ rotation, "turned"
    )
    table = compare(packaged_model, turned, [NAMES], criterion=GENDER, quality=["simlex999"]).table
    moved = table.measure.str.contains("displacement|changed")
    assert table[~moved].change.abs().max() < 2e-3
    # Two random unit vectors are at right angles, about sqrt(2) from each other.
    after = table.set_index("measure").after
    assert after["mean cosine displacement"] == pytest.approx(1, abs=0.1)
    assert after["mean vector displacement"] == pytest.approx(math.sqrt(2), abs=0.1)
    assert after["neighbourhood overlap"] > 0.999


def test_models_and_the_global_generator_stay_as_they_were(packaged_model, debiased):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    vectors = [np.array(model.vectors) for model in (packaged_model, debiased)]
    name = debiased.name
    compare(packaged_model, {"hard": debiased}, [NAMES], criterion=GENDER, quality=None, n_words=50)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    for model, before in zip((packaged_model, debiased), vectors, strict=True):
        assert np.array_equal(model.vectors, before)
    assert debiased.name == name


def test_the_same_seed_gives_the_same_table(packaged_model, debiased):
    def table(seed):
        return compare(
            packaged_model, debiased, [], criterion=GENDER, quality=None, n_words=60, n_sample=50,
            random_state=seed,
        ).table  # fmt: skip

    first = table(0)
    pd.testing.assert_frame_equal(first, table(0))
    assert (first.after != table(1).after).any()
    generator = table(np.random.default_rng(5))
    pd.testing.assert_frame_equal(generator, table(np.random.default_rng(5)))


# Several models


def test_several_models_stand_side_by_side(packaged_model, debiased):
    halved = WordEmbeddingModel.from_arrays(
        list(packaged_model.vocab), packaged_model.vectors / 2, "halved"
    )
    both = compare(
        packaged_model, {"hard": debiased, "halved": halved}, [NAMES], criterion=GENDER,
        quality=None, n_words=60,
    ).table  # fmt: skip
    assert both.model.tolist() == ["hard", "halved"] * (len(both) // 2)
    alone = compare(
        packaged_model, {"hard": debiased}, [NAMES], criterion=GENDER, quality=None, n_words=60
    ).table
    pd.testing.assert_frame_equal(
        both[both.model == "hard"].reset_index(drop=True), alone, check_index_type=False
    )
    wide = both[both.aspect == "cost"].pivot(index="model", columns="measure", values="after")
    assert wide.loc["halved", "mean vector displacement"] == pytest.approx(0.5)


def test_a_list_of_models_is_named_after_them(packaged_model, debiased):
    other = debiased.copy("other")
    table = compare(packaged_model, [debiased, other], [], quality=None, n_sample=20).table
    assert table.model.drop_duplicates().tolist() == [debiased.name, "other"]


# What is refused or left out


def test_wrong_arguments_are_refused(packaged_model, debiased):
    with pytest.raises(ValueError, match="after is the same object as before"):
        compare(packaged_model, packaged_model, [])
    with pytest.raises(ValueError, match="different names"):
        compare(packaged_model, [debiased, debiased.copy()], [])
    with pytest.raises(TypeError, match="expected a pair of a metric .* Got int 20"):
        compare(packaged_model, debiased, [NAMES], [("gipe", 20)])
    with pytest.raises(TypeError, match="Pass preprocessors to compare"):
        compare(packaged_model, debiased, [NAMES], [("weat", {"preprocessors": [{}]})])
    with pytest.raises(TypeError, match="has no parameter 'kk'"):
        compare(packaged_model, debiased, [NAMES], [("weat", {"kk": 20})])
    with pytest.raises(ValueError, match="after needs one model or more"):
        compare(packaged_model, [], [])
    with pytest.raises(TypeError, match="after must be a list"):
        compare(packaged_model, "model", [])
    with pytest.raises(TypeError, match="WordEmbeddingModel"):
        compare(packaged_model, {"hard": "model"}, [])
    with pytest.raises(TypeError, match="no parameter 'normalise'.*Did you mean 'normalize'"):
        compare(packaged_model, debiased, [], normalise=True)
    with pytest.raises(ValueError, match="n_words must be an integer of at least 1"):
        compare(packaged_model, debiased, [], n_words=0)
    with pytest.raises(TypeError, match="queries must be a list"):
        compare(packaged_model, debiased, NAMES)
    with pytest.raises(ValueError, match="criterion must be one of"):
        compare(packaged_model, debiased, [], criterion="gendr")


def test_models_without_a_common_word_are_refused():
    first, second = (WordEmbeddingModel.from_arrays([w], np.eye(1), w) for w in "ab")
    with pytest.raises(ValueError, match="a, b share no word"):
        compare(first, second, [], quality=None)


def test_without_a_criterion_there_is_nothing_residual(packaged_model, debiased):
    found = compare(packaged_model, debiased, [NAMES], ["weat"], quality=None, n_sample=20)
    assert set(found.table.aspect) == {"bias", "cost"}
    assert found.criterion is None


def test_models_with_some_words_have_bias_only(packaged_model, debiased, caplog):
    words = sorted({w for part in NAMES.target_sets + NAMES.attribute_sets for w in part})
    few = [
        WordEmbeddingModel(
            ArrayVectors(words, model.get_vectors(words), words, model.name), model.name
        )
        for model in (packaged_model, debiased)
    ]
    with caplog.at_level("WARNING", "wefe"):
        found = compare(few[0], few[1], [NAMES], ["weat"])
    assert set(found.table.aspect) == {"bias"}
    assert "was opened for some words only" in caplog.text
    expected = bias_of(packaged_model, debiased)
    pd.testing.assert_frame_equal(found.table, expected)


def test_criteria_of_more_classes_have_rows_for_each(packaged_model, debiased):
    table = compare(
        packaged_model, debiased, [], criterion="religion", quality=None, n_words=50, n_sample=20
    ).table
    assert table[table.aspect == "residual"].subject.nunique() == 3


# The result


def test_it_prints_as_a_table(evidence, debiased):
    lines = str(evidence).splitlines()
    assert lines[0] == f"Comparison of minilm-words (before) with {debiased.name}"
    assert lines[1].split() == ["before", "after", "change", "SE", "better"]
    (row,) = [line for line in lines if line.startswith("  WEAT: Women and Men")]
    assert row.split()[-7:] == ["1.017", "0.481", "-0.536", "0.113", "nearer", "to", "0"]
    assert lines[-2].startswith(f"nan: projection correlation, {debiased.name}: ")
    assert max(map(len, lines)) <= 120


def test_several_models_share_the_score_before(packaged_model, debiased):
    text = str(
        compare(
            packaged_model,
            {"one": debiased, "two": debiased},
            [NAMES],
            ["weat"],
            quality=None,
            n_sample=20,
        )
    ).splitlines()
    first = next(i for i, line in enumerate(text) if "WEAT" in line)
    assert text[first].split()[-1] == "1.017"
    assert [text[first + i].split()[:2] for i in (1, 2)] == [["one", "0.481"], ["two", "0.481"]]


def test_frames_are_copies(evidence):
    frame = evidence.to_frame()
    frame.loc[:, "before"] = 0
    assert (evidence.table.before != 0).any()


def test_it_can_be_pickled_and_shown(evidence):
    again = pickle.loads(pickle.dumps(evidence))
    pd.testing.assert_frame_equal(again.table, evidence.table)
    assert again.table.attrs == {"before": "minilm-words", "criterion": "gender"}
    assert "<table" in evidence._repr_html_()


def test_it_can_be_plotted(evidence):
    figure = evidence.plot()
    titles = [note.text for note in figure.layout.annotations]
    for title in ("WEAT", "Cost", "What remains"):
        assert title in titles


def test_the_documented_columns_are_there(evidence):
    documented = Comparison.__doc__
    for column in evidence.table.columns:
        assert f"'{column}'" in documented


def test_queries_of_the_literature_are_compared(packaged_model, debiased):
    queries = load_weat_queries()
    table = bias_of(packaged_model, debiased, queries=queries, metrics=["weat"])
    assert len(table) == len(queries)
    gendered = table.subject.str.contains("ale names|ale terms")
    shrunk = table.after.abs() < table.before.abs()
    assert shrunk[gendered].all()
    # What has nothing to do with gender changes little.
    assert table[~gendered].change.abs().max() < 0.1
    assert all(isinstance(n, int | np.integer) for n in itertools.chain(table.n))


@pytest.mark.parametrize("metric", ["direct-bias", "ripa", "pmn", "eqt", "sc-weat"])
def test_metrics_of_pairs_and_neighbours_are_compared(packaged_model, metric):
    other = packaged_model.copy("other")
    query = Query([["she", "her"], ["he", "him"]], [["nurse", "pilot"], ["home", "office"]])
    table = compare(
        packaged_model, other, [query], [metric], quality=None, n_words=20, progress=False
    ).to_frame()
    bias = table[table["aspect"] == "bias"]
    assert bias["before"].notna().all()
    np.testing.assert_allclose(bias["before"], bias["after"], rtol=1e-9)
