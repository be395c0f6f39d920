"""Studies: the two tables, what is left out, and going on after an interruption."""

import re
from itertools import product

import numpy as np
import pytest
from lettered import silhouette_of
from lettered import without as lacking

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import load_weat_queries
from wefe.metrics._base import BaseMetric
from wefe.plotting import plot_silhouettes
from wefe.silhouette import (
    SilhouetteStudy,
    _study,
    accuracy_score,
    bias_silhouettes,
    silhouette_study,
)

KEEP = 48


@pytest.fixture(scope="module")
def models(packaged_model):
    """Two models of the same words: the first and the last dimensions."""
    words = list(packaged_model.vocab)
    vectors = packaged_model.vectors
    return {
        "left": WordEmbeddingModel((words, vectors[:, :KEEP].copy()), "one"),
        "right": WordEmbeddingModel((words, vectors[:, -KEEP:].copy()), "other"),
    }


@pytest.fixture(scope="module")
def queries():
    weat = load_weat_queries()
    return {"career": weat[5], "math": weat[6]}


@pytest.fixture(scope="module")
def study(models, queries):
    return silhouette_study(
        ["ect", WEAT], queries, models, n_runs=6, unbiased="left", biased="right", progress=False
    )


def joined(query):
    """Return a query of one attribute set, as ECT takes it."""
    both = [word for part in query.attribute_sets for word in part]
    return Query(query.target_sets, [list(dict.fromkeys(both))], query.target_sets_names)


def flat(study):
    return {key: (one.to_json()) for key, one in study.silhouettes.items()}


def test_the_tables_hold_what_single_silhouettes_say(study, models, queries):
    robustness, accuracy, tidy = study.robustness, study.accuracy, study.to_frame()
    assert robustness.columns.names == ["bias type", "list type", "model"]
    assert len(robustness.columns) == 2 * len(accuracy.columns) == len(tidy) // 2 == 8
    for (metric, label), (bias_type, query), (vary, kind) in product(
        (("ect", "ECT"), ("weat", "WEAT-ES")),
        queries.items(),
        (("targets", "Social group"), ("attributes", "Bias concept")),
    ):
        asked = joined(query) if metric == "ect" else query
        pair = bias_silhouettes(
            metric, asked, list(models.values()), vary, n_runs=6, progress=False
        )
        score = accuracy_score(*pair)
        assert accuracy.loc[label, (bias_type, kind)] == score
        for name, single in zip(models, pair, strict=True):
            kept = study.silhouettes[label, bias_type, vary, name]
            np.testing.assert_array_equal(kept.curves, single.curves)
            assert robustness.loc[label, (bias_type, kind, name)] == single.robustness
            row = tidy.set_index(["metric", "bias_type", "list_type", "model"]).loc[
                (label, bias_type, kind, name)
            ]
            assert (row["accuracy"], row["n_words"]) == (score, single.n_words)
            assert row["robustness_of_span"] == single.robustness_of_span
            assert (row["lowest"], row["highest"]) == single.value_range
    assert len(plot_silhouettes(study).data) == 3 * 16
    panels = [note.text for note in plot_silhouettes(study, bias_type="math").layout.annotations]
    head = "right<br>WEAT-ES, math, concepts vary<br>robustness"
    score = accuracy.loc["WEAT-ES", ("math", "Bias concept")]
    assert len(panels) == 8
    assert re.fullmatch(f"{head} 0.*, accuracy {score:.2f}", panels[-1])
    with pytest.raises(ValueError, match="bias_type must be one of 'career', 'math'"):
        plot_silhouettes(study, bias_type="weat")


def test_a_metric_of_one_attribute_set_gets_all_attribute_words_as_one_list(models):
    query = Query(
        [["mary", "anna", "susan"], ["john", "paul", "peter"]],
        [["family", "home", "kids"], ["office", "job", "home"], ["poetry", "dance"]],
        ["Women", "Men"],
        ["Home", "Work", "Arts"],
    )
    study = silhouette_study("ect", {"q": query}, models, vary="attributes", n_runs=2, step=1)
    (one, _) = study.silhouettes.values()
    assert one.n_words == 7  # 'home' counts once
    assert one.k.tolist() == [2, 3, 4, 5, 6, 7]  # one word makes no rank correlation
    assert one.query_name == query.query_name == "Women and Men wrt Home, Work and Arts"
    assert study.notes == ("ECT: all attribute sets of a query as one list.",)


def test_a_query_of_another_shape_is_left_out_with_a_note(models, queries):
    one_list = joined(queries["career"])
    asked = {"two lists": queries["career"], "one list": one_list}
    study = silhouette_study(["weat", "ect"], asked, models, vary="targets", n_runs=2)
    assert study.robustness.loc["WEAT-ES", "one list"].isna().all()
    assert study.robustness.loc["ECT", "one list"].notna().all()
    note, _ = [note for note in study.notes if note.startswith("nan")]
    assert note.startswith("nan: WEAT-ES, one list, left: Word Embedding Association Test needs 2")
    assert note in repr(study).replace("\n  ", " ")
    # No set of three groups is taken apart.
    targets = [*one_list.target_sets, ["table", "chair"]]
    asked = {"three": Query(targets, [["family"], ["office"]])}
    with pytest.raises(ValueError, match="nothing could be measured: nan: WEAT-ES"):
        silhouette_study("weat", asked, models, n_runs=2)


class Scaled(BaseMetric):
    """The mean of the first target set, times a factor; nobody knows its range."""

    metric_template = (2, 2)
    metric_name = "Scaled"
    metric_short_name = "SC"

    def __init__(self, factor=1.0):
        self._factor = factor

    def _compute(self, targets, attributes):
        return self._factor * float(targets[0].vectors.mean())


def test_what_cannot_be_measured_is_nan_with_its_reason(models, queries, caplog):
    study = silhouette_study(
        ["weat", Scaled], queries, models, vary="targets", n_runs=2,
        unbiased="left", biased="right",
    )  # fmt: skip
    assert study.robustness.loc["SC"].isna().all()
    assert study.accuracy.loc["SC"].isna().all()
    assert study.accuracy.loc["WEAT-ES"].notna().all()
    assert sum("finite range" in note for note in study.notes) == 4
    assert "SC" in caplog.text
    bounded = silhouette_study(
        {Scaled: {"value_range": (-1, 1), "no_bias_value": 0.5}},
        {"career": queries["career"]}, models, vary="targets", n_runs=2,
    )  # fmt: skip
    (one, _) = bounded.silhouettes.values()
    assert (one.value_range, one.no_bias_value) == ((-1.0, 1.0), 0.5)
    assert bounded.robustness.notna().all(axis=None)


def test_a_model_that_lacks_words_is_compared_on_the_same_words(models, queries):
    query, few = queries["career"], models["right"]
    for word in query.target_sets[0][:4]:
        few = lacking(few, word)
    # Models that are called so are the references.
    named = {"unbiased": models["left"], "biased": few}
    asked = {"career": query}
    study = silhouette_study(["weat", "ect"], asked, named, vary="targets", n_runs=2)
    assert {one.n_words for one in study.silhouettes.values()} == {12}
    assert study.accuracy.notna().all(axis=None)
    # One without any word of a set answers nothing, and takes no words from the others.
    for word in query.target_sets[0]:
        few = lacking(few, word)
    named["biased"] = few
    study = silhouette_study("weat", asked, named, vary="targets", n_runs=2)
    assert [(key[3], one.n_words) for key, one in study.silhouettes.items()] == [("unbiased", 16)]
    assert any(note.startswith("nan: WEAT-ES") for note in study.notes)


def made(value, metric="M", model="m"):
    """Return a silhouette of two words, of which half the value is missing to robustness 1."""
    return silhouette_of([[value] * 2, [0.0] * 2], (1, 2), (0.0, 1.0), metric=metric)


def study_of(silhouettes, **more):
    """Return the study of silhouettes by metric and model."""
    keyed = {(metric, "b", "targets", model): s for (metric, model), s in silhouettes.items()}
    return SilhouetteStudy(keyed, **more)


def test_best_scores_are_marked_and_ties_at_the_printed_digits_with_them():
    values = {"A": 0.5, "B": 0.5004, "C": 0.6, "D": 0.7}
    study = study_of({(name, "m"): made(value, name) for name, value in values.items()})
    assert study.robustness.iloc[:, 0].tolist() == pytest.approx([0.75, 0.7498, 0.7, 0.65])
    assert study.best().iloc[:, 0].tolist() == [True, True, False, False]
    assert "0.75*  0.75*" in repr(study)
    with pytest.raises(ValueError, match="needs two reference models"):
        study.best("accuracy")


def test_a_metric_that_uses_little_of_its_range_is_not_the_most_robust():
    # 'flat' can be told from no other word list; in a second model 'wide' uses its range.
    values = {("flat", "m"): 0.02, ("flat", "n"): 0.09, ("wide", "m"): 0.05, ("wide", "n"): 0.6}
    study = study_of({(metric, model): made(v, metric) for (metric, model), v in values.items()})
    assert (study.robustness.loc["flat"] > study.robustness.loc["wide"]).all()
    assert study.best().to_numpy().tolist() == [[False, False], [True, True]]


def test_a_silhouette_that_starts_later_is_compared_from_there():
    curves = {"low": [0.9, 0.2, 0.2], "high": [0.8, 0.8]}
    silhouettes = {
        ("M", name): silhouette_of([scores] * 2, (2, 3, 4)[-len(scores) :], (0.0, 1.0))
        for name, scores in curves.items()
    }
    study = study_of(silhouettes, unbiased="low", biased="high")
    # From 3 to 4 of 4 words, 0.8 against 0.2.
    assert study.accuracy.iloc[0, 0] == pytest.approx(0.5 + 0.5 * 0.6 / 4)


@pytest.fixture
def call(models, queries):
    def study(**changes):
        options = {
            "metrics": ["weat"], "queries": {"career": queries["career"]}, "models": models,
            "vary": "targets", "n_runs": 3, **changes,
        }  # fmt: skip
        asked = [options.pop(name) for name in ("metrics", "queries", "models")]
        return silhouette_study(*asked, **options)

    return study


@pytest.fixture
def computed(monkeypatch):
    """The models of the silhouettes that were computed."""
    names = []

    def noted(metric, query, models, *args, **options):
        names.append(models[0].name)
        return bias_silhouettes(metric, query, models, *args, **options)

    monkeypatch.setattr(_study, "bias_silhouettes", noted)
    return names


# What is refused.


def test_a_model_that_cannot_answer_is_a_note_and_hides_no_wrong_parameter(call, models, queries):
    vectors = models["left"].vectors.copy()
    vectors[models["left"].vocab[queries["career"].attribute_sets[0][0]]] = 0
    broken = WordEmbeddingModel((list(models["left"].vocab), vectors), "broken")
    asked = {"models": {"broken": broken, "right": models["right"]}}
    study = call(**asked)
    assert [key[3] for key in study.silhouettes] == ["right"]
    (note,) = study.notes
    assert note.startswith("nan: WEAT-ES, career, broken:")
    with pytest.raises(ValueError, match="ddof"):
        call(**asked, metrics={"weat": {"metric_params": {"ddof": 5}}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": ["weat", WEAT(ddof=1)]}, "two are called WEAT-ES"),
        ({"vary": "both"}, "vary must be one of"),
        ({"unbiased": "left"}, "biased"),
        ({"unbiased": "left", "biased": "write"}, "biased must be one of"),
        ({"metrics": {"weat": {"metric_params": {"dof": 1}}}}, "dof"),
        ({"metrics": 3}, "metrics must be a list"),
    ],
)
def test_wrong_input_is_refused_before_the_first_run(call, computed, change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(**change)
    assert computed == []
