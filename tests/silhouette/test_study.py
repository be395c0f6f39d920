"""Studies: the two tables, what is left out, and going on after an interruption."""

import copy
import math

import numpy as np
import pytest

from wefe import RNSB, WEAT, Query, WordEmbeddingModel
from wefe.datasets import load_weat_queries
from wefe.metrics._base import BaseMetric
from wefe.silhouette import (
    Silhouette,
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
        "left": WordEmbeddingModel.from_arrays(words, vectors[:, :KEEP].copy(), "one"),
        "right": WordEmbeddingModel.from_arrays(words, vectors[:, -KEEP:].copy(), "other"),
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
    robustness, accuracy = study.robustness, study.accuracy
    assert list(robustness.index) == list(accuracy.index) == ["ECT", "WEAT-ES"]
    assert robustness.columns.names == ["bias type", "list type", "model"]
    assert list(robustness.columns)[:3] == [
        ("career", "Social group", "left"),
        ("career", "Social group", "right"),
        ("career", "Bias concept", "left"),
    ]
    assert list(accuracy.columns) == [
        (bias_type, kind)
        for bias_type in ("career", "math")
        for kind in ("Social group", "Bias concept")
    ]
    for metric, label in (("ect", "ECT"), ("weat", "WEAT-ES")):
        for bias_type, query in queries.items():
            asked = joined(query) if metric == "ect" else query
            for vary, kind in (("targets", "Social group"), ("attributes", "Bias concept")):
                pair = bias_silhouettes(
                    metric, asked, list(models.values()), vary, n_runs=6, progress=False
                )
                for name, single in zip(models, pair, strict=True):
                    assert robustness.loc[label, (bias_type, kind, name)] == single.robustness
                    kept = study.silhouettes[label, bias_type, vary, name]
                    np.testing.assert_array_equal(kept.curves, single.curves)
                assert accuracy.loc[label, (bias_type, kind)] == accuracy_score(*pair)


def test_a_metric_of_one_attribute_set_gets_all_attribute_words_as_one_list(models):
    query = Query(
        [["mary", "anna", "susan"], ["john", "paul", "peter"]],
        [["family", "home", "kids"], ["office", "job", "home"], ["poetry", "dance"]],
        ["Women", "Men"],
        ["Home", "Work", "Arts"],
    )
    study = silhouette_study("ect", query, models, vary="attributes", n_runs=2, step=1)
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
    (note,) = [note for note in study.notes if note.startswith("nan")]
    assert note.startswith("nan: WEAT-ES, one list: it needs 2 target and 2 attribute sets")
    assert note in repr(study).replace("\n  ", " ")
    # No set of three groups is taken apart.
    targets = [*one_list.target_sets, ["table", "chair"]]
    with pytest.raises(ValueError, match="nothing could be measured: nan: WEAT-ES"):
        silhouette_study("weat", Query(targets, [["family"], ["office"]]), models, n_runs=2)


class Unbounded(BaseMetric):
    """The mean of the first target set; nobody knows its range."""

    metric_template = (2, 2)
    metric_name = "Unbounded"
    metric_short_name = "UNB"

    def _compute(self, targets, attributes):
        return float(targets[0].vectors.mean())


def test_what_cannot_be_measured_is_nan_with_its_reason(models, queries, caplog):
    study = silhouette_study(
        ["weat", Unbounded], queries["career"], models, vary="targets", n_runs=2,
        unbiased="left", biased="right",
    )  # fmt: skip
    assert study.robustness.loc["UNB"].isna().all()
    assert study.accuracy.loc["UNB"].isna().all()
    assert study.accuracy.loc["WEAT-ES"].notna().all()
    assert len(study.silhouettes) == 2
    assert sum("finite range" in note for note in study.notes) == 2
    assert "UNB" in caplog.text
    bounded = silhouette_study(
        Unbounded, queries["career"], models, vary="targets", n_runs=2,
        scales={Unbounded: {"value_range": (-1, 1), "no_bias_value": 0.5}},
    )  # fmt: skip
    (one, _) = bounded.silhouettes.values()
    assert (one.value_range, one.no_bias_value) == ((-1.0, 1.0), 0.5)
    assert bounded.robustness.notna().all(axis=None)


def test_a_model_that_lacks_many_words_of_a_set_is_compared_on_the_same_words(models, queries):
    query = queries["career"]
    lost = {word.lower() for word in query.target_sets[0][:4]}
    few = models["right"]
    words = [word for word in few.vocab if word.lower() not in lost]
    lacking = WordEmbeddingModel.from_arrays(words, few.get_vectors(words), "few")
    named = {"unbiased": models["left"], "biased": lacking}
    study = silhouette_study(["weat", "ect"], query, named, vary="targets", n_runs=2)
    assert {one.n_words for one in study.silhouettes.values()} == {12}
    assert study.accuracy.notna().all(axis=None)
    # One without any word of a set answers nothing, and takes no words from the others.
    without = [word for word in words if word not in query.target_sets[0]]
    none = WordEmbeddingModel.from_arrays(without, few.get_vectors(without), "none")
    study = silhouette_study("weat", query, [models["left"], none], vary="targets", n_runs=2)
    assert [(key[3], one.n_words) for key, one in study.silhouettes.items()] == [("one", 16)]
    assert any(note.startswith("nan: WEAT-ES") for note in study.notes)


def made(values, model="m", metric="M", vary="targets"):
    """Return a silhouette of two words with a robustness that is known."""
    curves = np.array([[values], [0.0]]).repeat(2, axis=1)
    return Silhouette(
        metric, "q", model, vary, np.array([[1], [2]]), curves, 2, 0.0, (0.0, 1.0), 0.0, 0
    )


def test_best_scores_are_marked_and_ties_at_the_printed_digits_with_them():
    # robustness = 1 - values / 2
    values = {"A": 0.5, "B": 0.5004, "C": 0.6}
    silhouettes = {(name, "b", "targets", "m"): made(v, metric=name) for name, v in values.items()}
    study = SilhouetteStudy(silhouettes, ("A", "B", "C", "D"), ("b",), ("targets",), ("m",))
    assert study.robustness.iloc[:3, 0].tolist() == pytest.approx([0.75, 0.7498, 0.7])
    assert study.best().iloc[:, 0].tolist() == [True, True, False, False]
    assert study.best(digits=4).iloc[:, 0].tolist() == [True, False, False, False]
    assert "0.75*  0.75*  0.70   nan" in repr(study)
    assert study._repr_html_().count(">0.75*<") == 2
    assert study.accuracy is None
    with pytest.raises(ValueError, match="needs two reference models"):
        study.best("accuracy")


def test_a_metric_that_uses_little_of_its_range_is_not_the_most_robust():
    # 'flat' can be told from no other word list; in a second model 'wide' uses its range.
    values = {("flat", "m"): 0.02, ("flat", "n"): 0.09, ("wide", "m"): 0.05, ("wide", "n"): 0.6}
    silhouettes = {
        (metric, "b", "targets", model): made(v, model, metric)
        for (metric, model), v in values.items()
    }
    study = SilhouetteStudy(silhouettes, ("flat", "wide"), ("b",), ("targets",), ("m", "n"))
    assert (study.robustness.loc["flat"] > study.robustness.loc["wide"]).all()
    assert study.best().to_numpy().tolist() == [[False, False], [True, True]]
    assert "0.99   0.97*" in repr(study)


def test_html_shows_names_as_they_are():
    name = "<i> & co"
    study = SilhouetteStudy(
        {("A", name, "targets", "m"): made(0.5, metric="A")}, ("A",), (name,), ("targets",), ("m",)
    )
    assert "&lt;i&gt; &amp; co" in study._repr_html_()
    assert name not in study._repr_html_()


def test_a_silhouette_that_starts_later_is_compared_from_there():
    def growing(model, sizes, scores):
        curves = np.array([scores, scores])
        return Silhouette(
            "M", "q", model, "targets", np.array(sizes)[:, None], curves, 4, 0.0, (0.0, 1.0), 0.0, 0
        )

    early = growing("low", [2, 3, 4], [0.9, 0.2, 0.2])
    late = growing("high", [3, 4], [0.8, 0.8])
    study = SilhouetteStudy(
        {("M", "b", "targets", "low"): early, ("M", "b", "targets", "high"): late},
        ("M",), ("b",), ("targets",), ("low", "high"), "low", "high",
    )  # fmt: skip
    # From 3 to 4 of 4 words, 0.8 against 0.2.
    assert study.accuracy.iloc[0, 0] == pytest.approx(0.5 + 0.5 * 0.6 / 4)


def test_tidy_table(study):
    tidy = study.to_frame()
    assert len(tidy) == 2 * 2 * 2 * 2
    row = tidy.set_index(["metric", "bias_type", "list_type", "model"]).loc[
        ("ECT", "math", "Bias concept", "right")
    ]
    one = study.silhouettes["ECT", "math", "attributes", "right"]
    assert row["robustness_of_span"] == one.robustness_of_span
    assert (row["lowest"], row["highest"], row["no_bias_value"]) == (-1.0, 1.0, 1.0)
    assert row["accuracy"] == study.accuracy.loc["ECT", ("math", "Bias concept")]


def test_models_that_are_called_so_are_the_references(models, queries):
    named = {"biased": models["left"], "unbiased": models["right"]}
    study = silhouette_study("weat", queries, named, vary="targets", n_runs=2)
    assert (study.unbiased, study.biased) == ("unbiased", "biased")
    turned = silhouette_study(
        "weat", queries, named, vary="targets", n_runs=2, unbiased="biased", biased="unbiased"
    )
    np.testing.assert_allclose(study.accuracy + turned.accuracy, 1.0)
    assert models["left"].name == "one"


def test_plot_chooses(study):
    assert len(study.plot().data) == 3 * 16
    figure = study.plot("ECT", "math", "attributes")
    assert len(figure.data) == 3 * 2
    heads = [note.text for note in figure.layout.annotations]
    score = study.accuracy.loc["ECT", ("math", "Bias concept")]
    assert f"<b>ECT, math, concepts vary: accuracy {score:.2f}</b>" in heads
    with pytest.raises(ValueError, match="metric must be one of 'ECT', 'WEAT-ES'"):
        study.plot("weat")


# Going on.


@pytest.fixture
def call(models, queries):
    def study(folder, **changes):
        options = {
            "metrics": ["weat"], "queries": {"career": queries["career"]}, "models": models,
            "vary": "targets", "n_runs": 3, "directory": folder, **changes,
        }  # fmt: skip
        asked = [options.pop(name) for name in ("metrics", "queries", "models")]
        return silhouette_study(*asked, **options)

    return study


@pytest.fixture
def computed(monkeypatch):
    """The models of the silhouettes that were computed, not read."""
    names = []

    def noted(metric, query, models, **options):
        names.append(models[0].name)
        return bias_silhouettes(metric, query, models, **options)

    monkeypatch.setattr(_study, "bias_silhouettes", noted)
    return names


def test_a_second_call_reads_what_the_first_computed(call, computed, tmp_path):
    folder = tmp_path / "new" / "folder"
    first = call(folder)
    assert computed == ["left", "right"]
    assert len(list(folder.iterdir())) == 2
    second = call(folder)
    assert computed == ["left", "right"]
    assert flat(first) == flat(second) == flat(call(None))
    assert repr(first) == repr(second)


def test_an_interrupted_study_goes_on(call, computed, tmp_path):
    call(tmp_path)
    (lost,) = [path for path in tmp_path.iterdir() if "_right_" in path.name]
    lost.unlink()
    computed.clear()
    call(tmp_path)
    assert computed == ["right"]


@pytest.mark.parametrize(
    "change",
    [
        {"n_runs": 4},
        {"random_state": 1},
        {"step": 4},
        {"vary": "attributes"},
        {"unequal": "proportional"},
        {"metric_params": {"weat": {"ddof": 1}}},
        {"metrics": ["mac"]},
        {"scales": {"weat": {"value_range": (-3, 3)}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_input_is_computed_anew(call, computed, tmp_path, change):
    call(tmp_path)
    computed.clear()
    changed = call(tmp_path, **change)
    assert computed == ["left", "right"]
    assert flat(changed) == flat(call(None, **change))
    # The earlier ones are still there.
    computed.clear()
    call(tmp_path)
    assert computed == []


def test_changed_words_and_vectors_are_computed_anew(call, computed, tmp_path, models, queries):
    call(tmp_path)
    query = queries["career"]
    targets = [query.target_sets[0][:-1], query.target_sets[1]]
    shorter = Query(
        targets, query.attribute_sets, query.target_sets_names, query.attribute_sets_names
    )
    computed.clear()
    call(tmp_path, queries={"career": shorter})
    assert computed == ["left", "right"]

    word = query.attribute_sets[0][0]
    for changed_word, anew in ((word, ["left"]), ("banana", [])):
        vectors = models["left"].vectors.copy()
        vectors[models["left"].vocab[changed_word]] *= -1
        other = WordEmbeddingModel.from_arrays(list(models["left"].vocab), vectors, "other")
        computed.clear()
        call(tmp_path, models={"left": other, "right": models["right"]})
        assert computed == anew


def test_a_model_that_lacks_a_word_changes_the_others(call, computed, tmp_path, models, queries):
    call(tmp_path)
    lost = queries["career"].target_sets[0][0].lower()
    words = [word for word in models["left"].vocab if word.lower() != lost]
    few = WordEmbeddingModel.from_arrays(words, models["left"].get_vectors(words), "few")
    computed.clear()
    study = call(tmp_path, models={**models, "few": few})
    assert computed == ["left", "right", "few"]
    assert {one.n_words for one in study.silhouettes.values()} == {15}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"value": null}'])
def test_a_damaged_file_is_named_and_computed_anew(call, computed, tmp_path, caplog, damage):
    first = call(tmp_path)
    (path,) = [path for path in tmp_path.iterdir() if "_left_" in path.name]
    whole = path.read_text()
    path.write_text(damage)
    computed.clear()
    again = call(tmp_path)
    assert computed == ["left"]
    assert str(path) in caplog.text
    assert flat(again) == flat(first)
    assert path.read_text() == whole


def test_an_instance_that_was_used_finds_what_it_computed(call, computed, tmp_path, queries):
    metric = RNSB()
    first = call(tmp_path, metrics=[metric])
    assert vars(metric), "without a cache this test tests nothing"
    again = call(tmp_path, metrics=[metric])
    call(tmp_path, metrics=[RNSB()])
    assert computed == ["left", "right"]
    assert flat(again) == flat(first)


class Scaled(BaseMetric):
    """The mean of the first target set, times a factor."""

    metric_template = (2, 2)
    metric_name = "Scaled"
    metric_short_name = "SC"
    value_range = (-1.0, 1.0)

    def __init__(self, factor):
        self._factor = factor

    def _compute(self, targets, attributes):
        return self._factor * float(targets[0].vectors.mean())


def test_what_an_instance_was_made_with_is_compared(call, computed, tmp_path):
    call(tmp_path, metrics=[Scaled(0.5)])
    call(tmp_path, metrics=[Scaled(0.5)])
    assert computed == ["left", "right"]
    call(tmp_path, metrics=[Scaled(0.25)])
    assert computed == ["left", "right"] * 2


@pytest.mark.parametrize("letter", ["偏", "a"])
def test_long_names_of_any_script_make_files(call, computed, tmp_path, models, queries, letter):
    long = letter * 300
    asked = {"queries": {long: queries["career"]}, "models": {long: models["left"]}}
    first = call(tmp_path, **asked)
    assert flat(call(tmp_path, **asked)) == flat(first)
    assert computed == [long]
    (path,) = tmp_path.iterdir()
    assert len(path.name.encode()) <= 255
    # Names that are cut alike have files of their own.
    call(tmp_path, **{**asked, "models": {f"{long}2": models["left"]}})
    assert len(list(tmp_path.iterdir())) == 2


def with_function(function):
    return {"metric_params": {"weat": {"preprocessors": [{"preprocessor": function}]}}}


def test_functions_are_told_apart_by_their_names(call, computed, tmp_path):
    for function in (str.lower, str.lower, str.casefold):
        call(tmp_path, **with_function(function))
    assert computed == ["left", "right"] * 2


def test_a_function_without_a_name_needs_no_folder(call, computed, tmp_path):
    unnamed = with_function(lambda word: word.lower())
    with pytest.raises(ValueError, match="those of WEAT-ES cannot"):
        call(tmp_path, **unnamed)
    assert computed == []
    assert len(call(None, **unnamed).silhouettes) == 2


def test_fresh_randomness_reads_nothing(call, computed, tmp_path):
    for _ in range(2):
        call(tmp_path, random_state=None)
    assert computed == ["left", "right"] * 2
    for _ in range(2):
        call(tmp_path, random_state=np.random.default_rng(5))
    assert computed == ["left", "right"] * 3


# What is refused.


def test_a_model_that_cannot_answer_is_a_note_and_hides_no_wrong_parameter(call, models, queries):
    vectors = models["left"].vectors.copy()
    vectors[models["left"].vocab[queries["career"].attribute_sets[0][0]]] = 0
    broken = WordEmbeddingModel.from_arrays(list(models["left"].vocab), vectors, "broken")
    asked = {"models": {"broken": broken, "right": models["right"]}}
    study = call(None, **asked)
    assert [key[3] for key in study.silhouettes] == ["right"]
    (note,) = study.notes
    assert note.startswith("nan: WEAT-ES, career, broken:")
    with pytest.raises(ValueError, match="ddof"):
        call(None, **asked, metric_params={"weat": {"ddof": 5}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": ["weat", WEAT(ddof=1)]}, "two are called WEAT-ES"),
        ({"queries": {}}, "queries is empty"),
        ({"models": []}, "models is empty"),
        ({"vary": ()}, "vary is empty"),
        ({"vary": "both"}, "vary must be one of 'targets', 'attributes'"),
        ({"step": {"targets": 0}}, "step must be an integer of at least 1"),
        ({"step": {"words": 1}}, "unknown option 'words'"),
        ({"unequal": "cut"}, "unequal must be one of"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"unbiased": "left"}, "biased"),
        ({"unbiased": "left", "biased": "left"}, "'left'"),
        ({"unbiased": "left", "biased": "write"}, "biased must be one of 'left', 'right'"),
        ({"metric_params": {"ect": {}}}, "metric_params must be one of 'WEAT'; got str 'ECT'"),
        ({"metrics": ["ect", "weat"], "metric_params": {"weat": {"dof": 1}}}, "dof"),
        ({"metric_params": {"weat": {"ddof": 5}}}, "ddof"),
        ({"scales": {"weat": {"range": (0, 1)}}}, "unknown option 'range'"),
        ({"scales": {"weat": {"value_range": (1, 1)}}}, "value_range of WEAT-ES"),
        ({"scales": {"weat": {"value_range": (0, 1), "no_bias_value": 2}}}, "no_bias_value"),
        ({"scales": {"weat": {"no_bias_value": "0"}}}, "no_bias_value"),
    ],
)
def test_wrong_input_is_refused_before_the_first_run(call, computed, change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(None, **change)
    assert computed == []


def test_names_must_tell_apart(call, models, queries):
    renamed = copy.copy(models["right"])
    renamed.name = "one"
    with pytest.raises(ValueError, match="two are called 'one'"):
        call(None, models=[models["left"], renamed])
    query = queries["career"]
    other = Query(
        query.attribute_sets,
        query.target_sets,
        query.target_sets_names,
        query.attribute_sets_names,
    )
    with pytest.raises(ValueError, match="queries.*two are called"):
        call(None, queries=[query, other])
    assert math.isclose(len(call(None, queries=[query, query]).bias_types), 1)


def test_silhouettes_of_neighbours_are_kept_by_the_whole_model(models, tmp_path):
    query = Query([["she", "woman"], ["he", "man"]], [["nurse", "doctor", "teacher"]])
    asked = {"k": 3, "n_runs": 2, "vary": "attributes", "step": 1, "progress": False}
    k = asked.pop("k")

    def run(model):
        return silhouette_study(
            "pmn",
            query,
            {"model": model},
            metric_params={"pmn": {"k": k}},
            directory=tmp_path,
            **asked,
        )

    one = models["left"]
    (before,) = run(one).silhouettes.values()
    words = [w for part in query.target_sets + query.attribute_sets for w in part]
    other = WordEmbeddingModel.from_arrays(list(one.vocab), one.vectors.copy())
    for row, word in enumerate(other.vocab):
        if word.lower() not in words:
            other.vectors[row] *= -1
    (after,) = run(other).silhouettes.values()
    asked = {"n_runs": 2, "step": 1, "metric_params": {"k": k}, "progress": False}
    (expected,) = bias_silhouettes("pmn", query, [other], "attributes", **asked)
    assert after.value == expected.value
    assert after.value != before.value
