"""The table of evidence: bias, cost, and what remains."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from wefe import Query, WordEmbeddingModel, load
from wefe.debias import Comparison, compare
from wefe.metrics import GIPE, MAC, RND, WEAT
from wefe.plotting import plot_comparison

NAMES = Query(
    [["mary", "anna", "susan", "julia"], ["john", "paul", "peter", "james"]],
    [["nurse", "dancer", "housekeeper"], ["boss", "captain", "engineer"]],
    ["Women", "Men"],
    ["Care", "Rule"],
)


@pytest.fixture(scope="module")
def evidence(packaged_model, debiased, gender):
    return compare(packaged_model, debiased, [*gender.queries(), NAMES], criterion=gender)


@pytest.fixture(scope="module")
def models(packaged_model, debiased):
    """Both models with a few words, for tests of the rows of bias."""
    words = [w for part in (*NAMES.target_sets, *NAMES.attribute_sets) for w in part]
    words = list(dict.fromkeys([*words, *list(packaged_model)[:300]]))
    return [
        WordEmbeddingModel((words, model.get_vectors(words)), model.name)
        for model in (packaged_model, debiased)
    ]


def bias_of(models, queries=(NAMES,), metrics=("weat",), **options):
    before, *after = models
    options = {"quality": None, "n_sample": 5} | options
    table = compare(before, after, list(queries), metrics, **options).table
    return table[table.aspect == "bias"].reset_index(drop=True)


def without(model, *words):
    kept = [word for word in model if word not in words]
    return WordEmbeddingModel((kept, model.get_vectors(kept)), "less")


# The table


def test_one_row_per_measure_query_and_model(evidence, packaged_model, debiased):
    table = evidence.table
    assert not table.duplicated(["measure", "subject", "model"]).any()
    assert set(table.model) == {debiased.name}
    assert table.aspect.drop_duplicates().tolist() == ["bias", "cost", "residual"]
    bias = table[table.aspect == "bias"].groupby("measure").size().to_dict()
    assert bias == {"WEAT": 2, "RND": 4, "MAC": 2, "ECT": 4}
    better = table[table.aspect != "bias"].set_index("measure").better
    assert [*better.items()] == [
        ("word similarity", "higher"),
        ("word similarity", "higher"),
        ("analogy accuracy", "higher"),
        ("share of vectors changed", "lower"),
        ("mean cosine displacement", "lower"),
        ("mean vector displacement", "lower"),
        ("neighbourhood overlap", "higher"),
        ("cluster alignment", "nearer to 0.513"),
        ("classification accuracy", "nearer to 0.5"),
        ("linear classification accuracy", "nearer to 0.5"),
        ("neighbour correlation", "nearer to 0"),
        ("projection correlation", "nearer to 0"),
    ]
    for measure, best in (("WEAT", "0"), ("RND", "0"), ("MAC", "1"), ("ECT", "1")):
        assert set(table[table.measure == measure].better) == {f"nearer to {best}"}
    np.testing.assert_allclose(table.change, table.after - table.before)
    assert (evidence.before, evidence.criterion) == (packaged_model.name, "gender")
    notes = table.set_index("subject")["note"]
    assert "a sample of 1000 of them was asked" in notes["google-analogies"]
    assert "sample" not in notes["wordsim353"]
    numbers = ["before", "after", "change", "before_se", "after_se", "change_se"]
    lacking = table[table[numbers].isna().any(axis=1)]
    assert len(lacking) >= 4
    assert (lacking.note != "").all()
    for column in table.columns:
        assert f"'{column}'" in Comparison.__doc__


# Bias


@pytest.mark.parametrize("metric", [WEAT, MAC])
def test_scores_are_those_of_the_metric_and_errors_those_of_leaving_each_word_out(metric, models):
    (row,) = bias_of(models, metrics=[metric]).itertuples()
    assert row.subject == NAMES.query_name
    scores = [metric().run_query(NAMES, each)["result"] for each in models]
    assert [row.before, row.after] == pytest.approx(scores, rel=1e-14)
    sets = [*NAMES.target_sets, *NAMES.attribute_sets]
    variances = np.zeros(3)
    for position, words in enumerate(sets):
        scores = []
        for word in words:
            left = [list(part) for part in sets]
            left[position].remove(word)
            query = Query(left[:2], left[2:])
            before, after = (metric().run_query(query, model)["result"] for model in models)
            scores.append((before, after, after - before))
        variances += (len(words) - 1) * np.var(scores, axis=0)
    assert np.sqrt(variances) == pytest.approx([row.before_se, row.after_se, row.change_se])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_words_that_one_model_lacks_are_left_out_of_all_and_counted(models, place, caplog):
    targets = [["mary", "anna", "susan"], NAMES.target_sets[1]]
    (expected,) = bias_of(models, queries=[Query(targets, NAMES.attribute_sets)]).itertuples()
    given = [*models]
    given.insert(place, without(models[min(place, 1)], "julia"))
    rows = bias_of(given, lost_vocabulary_threshold=0.25)
    assert "not all models have them: julia" in caplog.text
    assert set(rows.n) == {13}
    assert set(rows.note) == {"words left out because a model lacks them: 1"}
    last = rows.iloc[-1] if place < 2 else rows.iloc[0]
    numbers = ["before", "after", "before_se", "after_se"]
    assert [*last[numbers]] == pytest.approx([getattr(expected, name) for name in numbers])


@pytest.mark.parametrize(
    ("query", "lost", "note"),
    [
        (NAMES, ["julia"], r"before: 'Women' lost 25% .*\(julia\).*after: 'Women' lost"),
        (Query([["she", "her"]], [["boss", "captain"]]), [], "it has no subquery of"),
        (Query([["she"], ["he"]], NAMES.attribute_sets), [], "too few words of 'Target set"),
    ],
)
def test_what_cannot_be_measured_is_nan_with_the_reason(models, query, lost, note):
    (row,) = bias_of([models[0], without(models[1], *lost)], queries=[query]).itertuples()
    assert re.search(note, row.note)
    assert math.isnan(row.change_se)
    single = len(query.target_sets) == 2 and not lost
    assert (math.isnan(row.before), math.isnan(row.after)) == (not single, not single)


def test_models_of_one_name_are_numbered(models, caplog):
    name = models[1].name
    assert bias_of([*models, models[1]]).model.tolist() == [name, f"{name} (2)"]
    assert f"two models are called '{name}'" in caplog.text


def test_rows_are_in_the_order_of_the_queries(models):
    other = Query(NAMES.target_sets[::-1], NAMES.attribute_sets)
    subjects = bias_of(models, queries=[other, NAMES]).subject
    assert subjects.tolist() == [other.query_name, NAMES.query_name]


def test_metrics_may_have_parameters_of_their_own(models):
    metrics = ["gipe", GIPE(k=20), RND(distance="cos")]
    query = Query(NAMES.target_sets, [["nurse", "boss", "captain", "dancer"]])
    table = bias_of(models, queries=[query], metrics=metrics)
    assert table.measure.tolist() == ["GIPE", "GIPE (k=20)", "RND"]
    wide, close, cosines = table.itertuples()
    assert wide.before == GIPE().run_query(query, models[0])["result"] != close.before
    assert close.before == GIPE().run_query(query, models[0], k=20)["result"]
    after = GIPE().run_query(query, models[1], k=20, original=models[0])
    assert close.after == after["result"]
    expected = RND().run_query(query, models[0], distance="cos")["result"]
    assert cosines.before == pytest.approx(expected, rel=1e-14)


# Invariances


# Several models


def test_several_models_stand_side_by_side(packaged_model, debiased, gender):
    halved = WordEmbeddingModel((list(packaged_model), packaged_model.vectors / 2), "h")
    options = {"quality": None, "criterion": gender, "n_words": 60}
    both, alone, listed = (
        compare(packaged_model, after, [NAMES], ["weat"], **options)
        for after in ({"hard": debiased, "halved": halved}, {"hard": debiased}, [halved, debiased])
    )
    table = both.table
    assert table.model.tolist() == ["hard", "halved"] * (len(table) // 2)
    of_hard = table[table.model == "hard"].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_hard, alone.table, check_index_type=False)
    cost = table[table.model == "halved"].set_index("measure").after
    assert cost["mean vector displacement"] == pytest.approx(0.5)
    assert listed.table.model.drop_duplicates().tolist() == ["h", debiased.name]
    assert sum("hard" in line for line in str(both).splitlines()) > len(table) / 2


# What is refused or left out


@pytest.mark.parametrize(
    ("given", "error", "culprit"),
    [
        ({"metrics": [("gipe", 20)]}, TypeError, "tuple"),
        ({"normalise": True}, ValueError, "'normalise'.*Did you mean 'normalize'"),
        ({"n_words": 0}, ValueError, "n_words"),
        ({"queries": NAMES}, TypeError, "queries must be a list"),
        ({"criterion": "gendr"}, ValueError, "criterion"),
        ({"after": {"hard": "model"}}, TypeError, "WordEmbeddingModel"),
    ],
)
def test_wrong_arguments_are_refused(models, given, error, culprit):
    with pytest.raises(error, match=culprit):
        compare(models[0], **{"after": models[1], "queries": [NAMES]} | given)
    with pytest.raises(ValueError, match="same object as before"):
        compare(models[0], models[0], [])


def test_parts_that_are_left_out(models, caplog):
    found = compare(*models, [NAMES], ["weat"], quality=None, n_sample=20)
    assert set(found.table.aspect) == {"bias", "cost"}
    assert found.criterion is None
    words = [w for part in NAMES.target_sets + NAMES.attribute_sets for w in part]
    few = [load(each, words=words, hold="selected") for each in models]
    pd.testing.assert_frame_equal(compare(*few, [NAMES], ["weat"]).table, bias_of(models))
    assert "was opened for some words only" in caplog.text


# The result


def test_it_prints_and_plots_as_a_table(evidence, debiased):
    lines = str(evidence).splitlines()
    assert lines[0] == f"Comparison of minilm-words (before) with {debiased.name}"
    assert lines[1].split() == ["before", "after", "change", "SE", "better"]
    (row,) = [line for line in lines if "WEAT: Women and Men" in line]
    assert row.split()[-7:] == ["1.017", "0.481", "-0.536", "0.113", "nearer", "to", "0"]
    assert any(line.startswith("nan: projection correlation: gender") for line in lines)
    n_lacking = evidence.table["change"].isna().sum()
    assert sum(line.startswith("nan: ") for line in lines) == n_lacking
    assert max(len(line) for line in lines if not line.startswith("nan: ")) <= 130
    assert "<table" in evidence._repr_html_()
    titles = {note.text for note in plot_comparison(evidence.table).layout.annotations}
    assert {"WEAT", "Cost", "What remains"} <= titles
