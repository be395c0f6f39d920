"""The study file: what it takes, and what it says about what it does not take."""

import copy
import datetime
import json
import math
import os
import tomllib

import pydantic
import pytest

from wefe import Query, load
from wefe.datasets import load_criterion
from wefe.study import Study
from wefe.study._declaration import (
    Declaration,
    check_declaration,
    read_declaration,
    study_file,
)
from wefe.study._entries import EncoderEntry, MetricEntry, QuerySetEntry, TableEntry, metric_names
from wefe.study._extras import MitigationEntry, QualityEntry, SilhouetteEntry, parse_increase

CAREER = "Male terms and Female terms wrt Career and Family"
SENTIMENT = "Male terms and Female terms wrt Positive words and Negative words"
SMALL = {
    "name": "small",
    "models": [{"source": "demo"}],
    "queries": [{"set": "gender"}],
    "metrics": [{"metric": "weat"}],
}
AGE = {
    "targets": {"Young": ["young", "child"], "Old": ["old", "adult"]},
    "attributes": {"Good": ["love", "peace"], "Bad": ["hate", "war"]},
}


def declare(**changes):
    return check_declaration({**copy.deepcopy(SMALL), **changes}, "study.toml")


def complaint(**changes):
    with pytest.raises(ValueError, match="study.toml") as caught:
        declare(**changes)
    assert not isinstance(caught.value, pydantic.ValidationError)
    return str(caught.value)


def study_text(**keys):
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(
        [
            'name = "small"',
            "[[models]]",
            'source = "demo"',
            *lines,
            "[[queries]]",
            'set = "gender"',
            "[[metrics]]",
            'metric = "weat"',
        ]
    )


# The whole file


def test_a_small_study_has_the_defaults_of_the_command_line():
    study = declare()
    assert study.lookup.preprocessors == [{}, {"lowercase": True}]
    assert (study.aggregation.function, study.aggregation.ties) == ("bias_avg", "min")
    assert (study.random_state, study.offline, study.intervals.n_bootstrap) == (0, False, 0)
    assert study.mitigations == study.silhouettes == study.external == []
    assert study.quality is None


@pytest.mark.filterwarnings("error")
def test_what_decides_the_results_is_json_and_declares_the_same_study():
    study = check_declaration(
        {
            **SMALL,
            "models": [{"source": "demo", "limit": 5}, {"encoder": "a/b", "layer": 2}],
            "queries": [{"set": "gender"}, {"name": "Age", "query": [AGE]}],
            "metrics": [{"metric": "rnsb", "params": {"n_iterations": 3}}],
            "mitigations": [{"method": "inlp", "criterion": "gender", "models": ["demo"]}],
            "external": [{"name": "Q", "best": 0.5, "scores": {"demo": 1}}],
        }
    )
    plain = json.loads(json.dumps(study.canonical()))
    again = check_declaration(plain)
    assert again.canonical() == plain
    assert again.models[0].load_options()["limit"] == 5
    assert [each.label for each in again.queries] == ["gender", "Age"]


def test_description_results_and_limits_decide_no_score():
    plain = declare().canonical()
    assert (
        plain == declare(description="x", results="x.db", limits={"max_increase": 0.5}).canonical()
    )
    assert plain != declare(random_state=1).canonical()


def test_results_go_beside_the_study_file(tmp_path):
    assert declare().results_path(tmp_path / "my.study.toml") == tmp_path / "my.study.db"
    path = declare(results="out/r.db").results_path(tmp_path / "study.toml")
    assert path == tmp_path / "out" / "r.db"


# What it says about mistakes


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"nmae": "x"}, "key 'nmae': unknown. Did you mean 'name'? Allowed: name, description"),
        ({"models": []}, "key 'models': must have at least 1 item"),
        ({"queries": []}, "key 'queries': missing"),
        ({"models": {"source": "demo"}}, "have double brackets"),
        ({"models": [{"source": "a"}, {"sorce": "b"}]}, "number 2, key 'sorce': unknown to models"),
        ({"models": [{"source": 3}]}, "number 1, key 'source': must be a valid string; got 3"),
        (
            {"models": [{"encoder": "a", "templates": ["{} is.", "No gap."]}]},
            "key 'models', number 1, key 'templates', number 2: must have one {}",
        ),
        ({"models": [{"source": "a", "on_error": "skp"}]}, "Did you mean 'skip'?"),
        ({"models": [{"source": "FILL IN: the path"}]}, "still to be filled in (the path)"),
        ({"queries": [{"set": "gendre"}]}, "'gendre' is no published query set. Did you mean"),
        ({"queries": [{"set": "gender", "file": "x.json"}]}, "found set and file"),
        ({"queries": [{"query": [AGE]}]}, "key 'queries', number 1, key 'name': missing"),
        (
            {"queries": [{"name": "x", "query": [AGE, {**AGE, "targets": {"A": []}}]}]},
            "number 1, key 'query', number 2, key 'targets', key 'A': must have at",
        ),
        (
            {"queries": [{"name": "x", "query": [AGE, {**AGE, "attributes": {
                "Good": ["fine"], "Bad": ["awful"]}}]}]},
            "number 2: number 1 is also called 'Young and Old wrt Good and Bad'",
        ),
        (
            {"queries": [{"set": "weat"}, {"set": "gender", "weight": 0}],
             "metrics": [{"metric": "weat"}, {"metric": "rnd", "queries": ["gender"]}]},
            "key 'queries', number 2, key 'weight': is 0 for every query set of RND",
        ),
        ({"metrics": [{"metric": "wet"}]}, "key 'metric': 'wet' is no metric. Did you mean 'weat'"),
        (
            {"metrics": [{"metric": "rnd", "params": {"distanc": "cos"}}]},
            "key 'params', key 'distanc': unknown to rnd. Did you mean 'distance'?",
        ),
        (
            {"metrics": [{"metric": "weat", "params": {"return_effect_size": True}}]},
            "key 'return_effect_size': is not a parameter here; choose the metric",
        ),
        ({"metrics": [{"metric": "ceat"}]}, "key 'contexts': missing"),
        ({"metrics": [{"metric": "weat", "contexts": "x.txt"}]}, "is for ceat, and this is weat"),
        ({"lookup": [{}]}, "key 'lookup': must be"),
        ({"lookup": {"preprocessors": [{"preprocessor": "os"}]}}, "files cannot contain code"),
        ({"intervals": {"n_bootstrap": 39}}, "key 'intervals', key 'n_bootstrap': must be 0"),
        ({"audit": {"criteria": ["gender", "gender"]}}, "number 2: 'gender' occurs twice"),
        (
            {"mitigations": [{"method": "hard-debia", "criterion": "gender"}]},
            "'hard-debia' is no mitigation method. Did you mean 'hard-debias'?",
        ),
        (
            {"mitigations": [{"method": "inlp", "criterion": "gender", "params": {"n_word": 1}}]},
            "key 'n_word': unknown to inlp. Did you mean 'n_words'?",
        ),
        ({"limits": {"max": {"weat": -1}}}, "key 'max', key 'weat': must be at least 0; got -1"),
        ({"limits": {"max_increase": 10}}, "must be below 1 without '%'"),
        ({"results": ":memory:"}, "key 'results': must be a file"),
        ({"random_state": 10**4000}, "key 'random_state': must be less than 4294967296"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_what_is_allowed(changes, line):
    assert line in complaint(**changes)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"name": "a\x1b[2J"}, "key 'name'"),
        ({"models": [{"source": "a\x07.txt"}]}, "key 'models', number 1, key 'source'"),
        ({"queries": [{"file": "a\x9b.json"}]}, "key 'queries', number 1, key 'file'"),
        (
            {"queries": [{"name": "x", "query": [{**AGE, "targets": {"a\u2028": ["x"]}}]}]},
            "key 'query', number 1, key 'targets', key 'a\\u2028'",
        ),
    ],
)
def test_names_hold_nothing_that_a_terminal_would_obey(changes, key):
    text = complaint(**changes)
    assert f"{key}: must not hold the control character" in text
    assert text.isprintable()


def test_silhouettes_of_the_same_are_refused():
    one = {"metric": "weat-es", "query_set": "gender", "query": CAREER}

    def plan(*silhouettes):
        models = [{"source": "demo"}, {"source": "demo", "name": "b"}]
        return Study(
            {**SMALL, "offline": True, "models": models, "silhouettes": [*silhouettes]}
        ).plan

    place = "WEAT-ES, gender, Male terms and Female terms wrt Career and Family, targets"
    for other in (one, {**one, "query": None}, {**one, "models": ["b"]}, {**one, "n_runs": 3}):
        with pytest.raises(ValueError, match=rf"two of \[\[silhouettes\]\] are the same: {place}"):
            plan(one, other)
    plan(
        {**one, "models": ["demo"]},
        {**one, "models": ["b"]},
        {**one, "vary": "attributes"},
        {**one, "metric": "weat"},
    )


def test_all_mistakes_are_said_at_once_each_on_a_line():
    text = complaint(
        colour="red",
        models=[{"sorce": "demo"}],
        metrics=[{"metric": "rnd", "params": {"a": 1, "reduce": 2}}],
        lookup={"strategy": "frist"},
    )
    lines = text.splitlines()
    assert len(lines) == 6
    assert all(line.startswith("study.toml: ") for line in lines)


def _places(data, where=()):
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*where, key)
            yield from _places(value, (*where, key))
    elif isinstance(data, list):
        for position, value in enumerate(data):
            yield (*where, position)
            yield from _places(value, (*where, position))


@pytest.mark.slow
def test_whatever_stands_in_a_place_the_answer_is_for_people():
    data = {
        **tomllib.loads(study_file("demo")),
        "silhouettes": [{"metric": "rnd", "query_set": "gender", "params": {"reduce": "sum"}}],
        "external": [{"name": "Q", "best": "lower", "scores": {"demo": 1}}],
        "quality": {"benchmarks": ["wordsim353"]},
        "limits": {"max": {"mac": 0.1}, "max_increase": "10%"},
    }
    data["queries"].append({"name": "Age", "query": [AGE], "leave_out": []})
    data["models"].append({"encoder": "a/b", "templates": ["{}"]})
    data["mitigations"].append(
        {"method": "inlp", "criterion": "gender", "ignore": ["x"], "models": ["demo"]}
    )
    wrong = [-1, "", True, [1], {"x": 1}, [{}], math.nan, datetime.date(2020, 1, 1)]
    refused = 0
    for place in _places(data):
        for value in wrong:
            changed = copy.deepcopy(data)
            table = changed
            for part in place[:-1]:
                table = table[part]
            table[place[-1]] = value
            try:
                check_declaration(changed, "FILE")
            except ValueError as error:
                refused += 1
                for line in str(error).splitlines():
                    assert line.startswith("FILE: "), (place, value, line)
                    for jargon in ("Input should", "pydantic", "validator", "literal[", "NoneType"):
                        assert jargon not in line, (place, value, line)
    assert refused > 400


# What must fit together


def test_two_models_query_sets_or_metrics_of_one_name_are_refused():
    text = complaint(
        models=[{"source": "a/x.txt"}, {"source": "b/x.vec.gz"}],
        queries=[{"set": "gender"}, {"name": "gender", "query": [AGE]}],
        metrics=[{"metric": "rnd"}, {"metric": "rnd", "params": {"distance": "cos"}}],
    )
    expected = [
        "key 'models', number 2, key 'name': number 1 is also called 'x'; give one of them another",
        "key 'queries', number 2, key 'name': number 1 is also called 'gender'",
        "key 'metrics', number 2, key 'label': number 1 is also called 'RND'; give one",
    ]
    assert all(line in text for line in expected)
    declare(metrics=[{"metric": "rnd"}, {"metric": "rnd", "label": "RND 2"}])


def test_references_to_what_is_not_there_name_the_nearest():
    text = complaint(
        metrics=[{"metric": "weat-es", "queries": ["gendr"]}],
        mitigations=[{"method": "inlp", "criterion": "gender", "models": ["dem"]}],
        silhouettes=[{"metric": "weat", "query_set": "gendr", "models": ["dem"]}],
        external=[{"name": "Q", "best": "higher", "scores": {"dem": 1}}],
        limits={"max": {"weat-e": 1}},
    )
    expected = [
        "key 'queries', number 1: 'gendr' is no query set. Did you mean",
        "key 'mitigations', number 1, key 'models', number 1: 'dem' is no model.",
        "key 'silhouettes', number 1, key 'models', number 1: 'dem' is no model.",
        "key 'query_set': 'gendr' is no query set. Did you mean 'gender'",
        "key 'scores', key 'dem': 'dem' is no model. Did you mean 'demo'? Known:",
        "'weat-e' is no metric of this study. Did you mean 'weat-es'?",
    ]
    assert all(line in text for line in expected)
    assert len(text.splitlines()) == len(expected)


@pytest.mark.parametrize(
    ("metric", "label", "name", "expected"),
    [
        ("weat-es", "", "weates", "weat-es"),
        ("weat-es", "", "weat_es", "weat-es"),
        ("weat-es", "E", "WEAT-ES", "weat-es"),
        ("weat-es", "E", "e", "E"),
    ],
)
def test_limits_take_the_names_that_metrics_take(metric, label, name, expected):
    study = declare(metrics=[{"metric": metric, "label": label}], limits={"max": {name: 1}})
    assert study.limits.max == {expected: 1}
    assert MetricEntry(metric=metric).metric == metric


def test_seat_and_ceat_are_for_studies_of_encoders():
    text = complaint(metrics=[{"metric": "seat"}])
    assert "key 'metrics', number 1, key 'metric': seat measures encoders only, and 'demo'" in text
    study = declare(
        models=[{"encoder": "a/b"}],
        metrics=[{"metric": "seat"}, {"metric": "ceat", "contexts": "x.txt"}],
    )
    assert [metric.label for metric in study.metrics] == ["SEAT-ES", "CEAT"]


def test_mitigations_are_for_tables_of_vectors():
    how = {"method": "hard-debias", "criterion": "gender"}
    models = [{"source": "demo"}, {"encoder": "a/b"}]
    study = declare(models=models, mitigations=[how])
    assert study.all_labels() == ["demo", "b", "demo (hard-debias, gender)"]
    text = complaint(models=models, mitigations=[{**how, "models": ["b"]}])
    assert "key 'mitigations', number 1, key 'models': 'b' is an encoder" in text
    text = complaint(models=models[1:], mitigations=[how])
    assert "key 'models': 'b' is an encoder; mitigations change only models with a source" in text


def test_a_mitigated_model_has_a_name_of_its_own():
    how = {"method": "hard-debias", "criterion": "gender", "name": "HD"}
    text = complaint(
        models=[{"source": "demo"}, {"source": "x", "name": "demo (HD)"}], mitigations=[how]
    )
    assert "key 'mitigations', number 1, key 'name': a model is called 'demo (HD)'" in text


# Models


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("demo", "demo"),
        ("vectors/glove.6B.50d.txt", "glove.6B.50d"),
        ("vectors/glove.6B.50d.txt.gz", "glove.6B.50d"),
        ("glove.6B.zip/glove.6B.100d.txt", "glove.6B.100d"),
        ("C:\\vectors\\wiki.vec", "wiki"),
        ("glove-twitter-25", "glove-twitter-25"),
        ("org/name@v1", "name"),
        ("folder/", "folder"),
        (".vec", ".vec"),
    ],
)
def test_a_model_without_a_name_is_called_by_its_source(source, label):
    assert TableEntry(source=source).label == label
    assert TableEntry(source=source, name="mine").label == "mine"


def test_encoders_that_are_read_in_two_ways_have_two_names():
    labels = [
        EncoderEntry(encoder="org/bert", **more).label
        for more in (
            *({}, {"layer": 3}, {"pooling": "cls"}, {"templates": ["{}."]}),
            *({"dim": 64}, {"prompt": "Find:\nquery: "}, {"prompt": ""}),
        )
    ]
    assert labels == [
        *("bert", "bert, layer 3", "bert, cls", "bert, in templates"),
        *("bert, 64 dimensions", "bert, after 'Find: query:'", "bert, after ''"),
    ]


def test_files_beside_the_study_file_are_found_and_names_stay(tmp_path, monkeypatch):
    (tmp_path / "vectors").mkdir()
    for name in ("vectors/toy.txt", "demo", "archive.zip", "counts.txt"):
        (tmp_path / name).write_text("she 1 0\nhe 0 1\nit 1 1\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    def resolved(**keys):
        return (EncoderEntry if "encoder" in keys else TableEntry)(**keys).resolved(tmp_path)

    entry = resolved(source="./vectors/toy.txt", counts="counts.txt", limit=2)
    assert entry.source == str(tmp_path / "vectors" / "toy.txt")
    assert entry.load_options() == {"counts": str(tmp_path / "counts.txt"), "limit": 2}
    model = load(entry.source, entry.label, limit=2)
    assert (model.name, len(model)) == ("toy", 2)
    inner = "archive.zip/glove.txt"
    assert resolved(source=inner).source == str(tmp_path / inner)
    assert resolved(encoder="vectors").encoder == str(tmp_path / "vectors")
    names = ("demo", "org/name", "org/name@refs/pr/1", "hf://org/name", "glove-twitter-25")
    for name in (*names, str(tmp_path / "demo")):
        assert resolved(source=name).source == name
    assert resolved(encoder="org/name").encoder == "org/name"


def test_what_is_missing_beside_the_study_file_is_not_looked_for_elsewhere(tmp_path, monkeypatch):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    (home / "vectors").mkdir(parents=True)
    paths = [
        *("toy.txt", "toy.vec.gz", "./toy", "../toy", "a/b/c", "vectors/toy", "toy", "a\\b"),
        *("~nosuchuser9", "org/toy.txt"),
    ]
    (elsewhere / "vectors").mkdir(parents=True)
    (elsewhere / "toy.txt").write_text("she 1 0\n")
    monkeypatch.chdir(elsewhere)
    for path in paths:
        for entry in (TableEntry(source=path), TableEntry(source="demo", counts=path)):
            resolved = entry.resolved(home)
            found = resolved.counts or resolved.source
            assert found == os.path.normpath(home / path), path
    with pytest.raises(FileNotFoundError, match="home"):
        load(TableEntry(source="toy.txt").resolved(home).source)


def test_a_folder_of_the_name_of_what_is_built_in_changes_nothing(tmp_path, monkeypatch):
    for name in ("demo", "gender", "wordsim353"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert TableEntry(source="demo").resolved(tmp_path).source == "demo"
    assert [*QualityEntry(benchmarks=["wordsim353"]).load(tmp_path)] == ["wordsim353"]
    criterion = MitigationEntry(method="inlp", criterion="gender").load_criterion(tmp_path, True)
    assert criterion == load_criterion("gender", offline=True)
    assert len(QuerySetEntry(set="gender").load(tmp_path, offline=True)[0]) == 6


# Query sets


def test_inline_queries_are_queries():
    queries, left_out = QuerySetEntry(name="Age", query=[AGE]).load(".")
    assert queries == [
        Query(
            [["young", "child"], ["old", "adult"]],
            [["love", "peace"], ["hate", "war"]],
            ["Young", "Old"],
            ["Good", "Bad"],
        )
    ]
    assert left_out == []


def test_offline_leaves_out_what_is_a_download_and_says_so(caplog):
    queries, left_out = QuerySetEntry(set="gender").load(".", offline=True)
    assert len(queries) == 6
    assert left_out == [(SENTIMENT, "its words are a download (offline)")]
    assert "1 of 7 queries are left out" in caplog.text


def test_words_of_a_query_may_be_a_set_that_ships():
    sets = {"targets": {"A": "weat/flowers"}, "attributes": {"B": ["good"]}}
    (query,), _ = QuerySetEntry(name="mine", query=[sets]).load(".")
    assert query.target_sets[0][:2] == ["aster", "clover"]
    assert len(query.target_sets[0]) == 25
    with pytest.raises(
        ValueError, match="'weat/flower' is not a word set that ships. Did you mean"
    ):
        QuerySetEntry(name="mine", query=[{**sets, "targets": {"A": "weat/flower"}}])


def test_queries_are_left_out_as_the_study_says():
    entry = QuerySetEntry(set="gender", leave_out=[CAREER, SENTIMENT])
    queries, left_out = entry.load(".", offline=True)
    assert [query.query_name for query in queries].count(CAREER) == 0
    assert len(queries) == 5
    assert left_out == [
        (SENTIMENT, "the study leaves it out"),
        (CAREER, "the study leaves it out"),
    ]


def test_a_file_of_queries_lies_beside_the_study_file(tmp_path, toy_query):
    (tmp_path / "mine.json").write_text(json.dumps([toy_query.dict()]))
    entry = QuerySetEntry(file="mine.json")
    assert entry.label == "mine"
    assert entry.load(tmp_path) == ([toy_query], [])
    with pytest.raises(
        ValueError, match=r"^\[\[queries\]\] of 'mine', key 'leave_out': 'x' is no query"
    ):
        QuerySetEntry(file="mine.json", leave_out=["x"]).load(tmp_path)
    with pytest.raises(ValueError, match="every query is left out"):
        QuerySetEntry(file="mine.json", leave_out=[toy_query.query_name]).load(tmp_path)


def test_damaged_and_missing_files_of_queries_are_named(tmp_path, toy_query):
    place = r"^\[\[queries\]\] of 'bad', key 'file': "
    other = {**toy_query.dict(), "target_sets": [["a"], ["b"]]}
    for text, reason in (
        ("{", ".*bad.json: expected a JSON file"),
        ("[]", ".*bad.json contains no query"),
        (json.dumps([toy_query.dict(), other]), "two queries are called 'Female and Male wrt"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match=place + reason):
            QuerySetEntry(file="bad.json").load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"'bda', key 'file': there is no file .*bda.json"):
        QuerySetEntry(file="bda.json").load(tmp_path)


def test_a_missing_file_is_asked_about_by_the_nearest_in_its_folder(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sim.tsv").write_text("cat\tdog\t3\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "simm.tsv").write_text("cat\tdog\t3\n")
    monkeypatch.chdir(elsewhere)

    def complaint_about(call):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path)
        return str(caught.value)

    text = complaint_about(QualityEntry(benchmarks=["simlex999", "data/simm.tsv"]).load)
    where = tmp_path / "data" / "simm.tsv"
    assert text.startswith(f"[quality], key 'benchmarks', element 2: there is no file {where}.")
    assert "Did you mean 'data/sim.tsv'? Known by name: 'wordsim353'" in text
    text = complaint_about(QualityEntry(benchmarks=["wordsim354"]).load)
    assert "Did you mean 'wordsim353'?" in text
    text = complaint_about(MetricEntry(metric="ceat", contexts="data/sim.txt").contexts_path)
    assert text.startswith("[[metrics]] of 'CEAT', key 'contexts': there is no file")
    assert text.endswith("Did you mean 'data/sim.tsv'?")
    text = complaint_about(MitigationEntry(method="inlp", criterion="a.json").load_criterion)
    assert text.startswith("[[mitigations]] of 'inlp, a', key 'criterion': there is no file")


# Metrics


@pytest.mark.parametrize("name", [name for name in metric_names() if name not in ("seat", "ceat")])
def test_every_metric_runs_with_what_a_study_asks_of_it(name, toy_model, toy_query):
    entry = MetricEntry(metric=name)
    metric = entry.metric_class()
    scores = [
        metric.run_query(query, toy_model, **entry.run_params(3))["result"]
        for query in metric.subqueries(toy_query)
        for _ in range(2)
    ]
    assert scores
    # What is random has a seed.
    assert scores[::2] == scores[1::2]


# Mitigations


def test_every_method_of_the_package_can_be_declared():
    from wefe.debias import list_debias_methods

    for method in list_debias_methods():
        entry = MitigationEntry(method=method.__name__, criterion="gender")
        assert entry.method_class is method
        method(**entry.constructor_params())


def test_parameters_go_to_the_constructor_and_to_fit():
    entry = MitigationEntry(
        method="half-sibling-regression", criterion="gender", params={"alpha": 10}
    )
    assert (entry.constructor_params(), entry.fit_params()) == ({}, {"alpha": 10})
    params = {"pca_args": {"n_components": 1}}
    entry = MitigationEntry(method="hard-debias", criterion="gender", params=params)
    assert (entry.constructor_params(), entry.fit_params()) == (params, {})


def test_mitigations_that_draw_at_random_have_the_seed_of_the_study():
    how = [
        {"method": "inlp", "criterion": "gender"},
        {"method": "double-hard-debias", "criterion": "gender"},
        {"method": "inlp", "criterion": "gender", "name": "own", "params": {"random_state": 3}},
        {"method": "hard-debias", "criterion": "gender"},
    ]
    study = declare(random_state=7, mitigations=how)
    seeds = [entry.constructor_params().get("random_state") for _, entry in study.mitigated()]
    assert seeds == [7, 7, 3, None]
    assert [entry.params for entry in study.mitigations] == [each.get("params", {}) for each in how]


def test_a_criterion_may_be_a_file_beside_the_study_file(tmp_path):
    (tmp_path / "age.json").write_text('{"definitional_sets": [["young", "old"]]}')
    entry = MitigationEntry(method="inlp", criterion="age.json")
    assert entry.label == "inlp, age"
    assert entry.load_criterion(tmp_path).class_names == ("class 0", "class 1")


def test_without_a_connection_a_criterion_has_the_words_that_ship(monkeypatch, caplog):
    from wefe import datasets

    real = datasets.load_criterion

    def no_network(name, *, offline=False):
        if not offline:
            raise ConnectionError("no route to host")
        return real(name, offline=True)

    monkeypatch.setattr(datasets, "load_criterion", no_network)
    entry = MitigationEntry(method="inlp", criterion="gender")
    assert entry.load_criterion(".") == real("gender", offline=True)
    assert "no route to host" in caplog.text


# Silhouettes, limits


def test_a_silhouette_is_of_a_query_a_subquery_or_all(toy_query):
    def picked(metric, query=None):
        entry = SilhouetteEntry(metric=metric, query_set="x", query=query)
        return [query.query_name for query in entry.pick([toy_query])]

    name, subqueries = (
        toy_query.query_name,
        [
            "Female and Male wrt Home",
            "Female and Male wrt Work",
        ],
    )
    assert picked("weat-es") == picked("weat-es", name) == [name]
    assert picked("ect") == picked("ect", name) == subqueries
    assert picked("ect", subqueries[1]) == subqueries[1:]
    place = r"^\[\[silhouettes\]\] of 'weat-es', key 'query': "
    with pytest.raises(ValueError, match=f"{place}.* of 'x' that weat-es takes. Did you mean"):
        picked("weat-es", subqueries[0])


def test_silhouettes_have_the_parameters_of_their_metric():
    entry = SilhouetteEntry(metric="weat-es", query_set="x", params={"ddof": 1})
    assert entry.run_params() == {"return_effect_size": True, "ddof": 1}
    entry = SilhouetteEntry(metric="rnsb", query_set="x")
    assert entry.run_params(4) == {"holdout": False, "random_state": 4}
    with pytest.raises(pydantic.ValidationError, match="ceat has no silhouette"):
        SilhouetteEntry(metric="ceat", query_set="x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%", (0.1, True)),
        (" 2.5 % ", (0.025, True)),
        ("0.05", (0.05, False)),
        (0.05, (0.05, False)),
        (0, (0.0, False)),
        ("0.99", (0.99, False)),
        ("300%", (3.0, True)),
    ],
)
def test_an_increase_is_a_share_or_a_number(text, expected):
    assert parse_increase(text) == expected


@pytest.mark.parametrize("text", [1, 10, "10", 1.0, "1e300"])
def test_an_increase_by_more_than_scores_grow_needs_a_percent_sign(text):
    with pytest.raises(ValueError, match="must be below 1 without '%': .* did you mean '.*%'"):
        parse_increase(text)


@pytest.mark.parametrize("text", ["-1%", "x", "%", "nan", "inf%", True, None, -0.1, [1], 10**400])
def test_other_increases_are_refused(text):
    with pytest.raises(ValueError, match="must be a share such as '10%'"):
        parse_increase(text)


# Reading


def read(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_declaration(path)


def test_a_study_file_is_read(tmp_path):
    study = read(tmp_path, study_text(limit=100))
    assert isinstance(study, Declaration)
    assert study.models[0].limit == 100
    assert study == read(tmp_path, b"\xef\xbb\xbf" + study_text(limit=100).encode())


def test_what_is_no_toml_is_refused_with_file_and_line(tmp_path):
    with pytest.raises(ValueError, match=r"study.toml is not TOML: .* \(at line 2, column 10\)"):
        read(tmp_path, 'name = "x"\nmodels = \n')
    with pytest.raises(ValueError, match="study.toml is not UTF-8 text"):
        read(tmp_path, b"name = '\xff'")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 20000, "a = " + "{a=" * 20000, ".".join("a" * 20000) + " = 1"],
)
def test_what_is_nested_without_end_is_refused_in_a_line(tmp_path, text):
    with pytest.raises(ValueError, match=r"study.toml: lists or tables are nested too deeply\.?$"):
        read(tmp_path, text)


def test_tables_of_which_there_are_several_have_double_brackets(tmp_path):
    with pytest.raises(ValueError, match=r"is not TOML: .* have double brackets: \[\[models\]\]"):
        read(tmp_path, "[metrics]\nmetric='a'\n[metrics]\nmetric='b'")


def test_mistakes_in_a_file_are_one_error_of_plain_text(tmp_path):
    with pytest.raises(ValueError, match=r"^study.toml: key 'models', number 1, key 'limt'") as e:
        read(tmp_path, study_text(limt=100))
    assert e.value.__cause__ is None
    assert e.value.__context__ is None


def test_trust_in_pickles_must_be_written_and_is_logged(tmp_path, caplog):
    read(tmp_path, study_text())
    assert "pickle" not in caplog.text
    read(tmp_path, study_text(trust_pickle=True))
    assert "study.toml sets trust_pickle for demo: a pickle can run any code" in caplog.text


def test_weat_comes_with_an_exact_p_value_unless_the_study_says_otherwise(toy_model, toy_query):
    entry = MetricEntry(metric="weat-es")
    result = entry.metric_class().run_query(toy_query, toy_model, **entry.run_params())
    assert result["p_value"] == pytest.approx(1 / 3)
    assert result["result"] == pytest.approx(1.984164, abs=1e-6)
    entry = MetricEntry(metric="weat", params={"calculate_p_value": False})
    result = entry.metric_class().run_query(toy_query, toy_model, **entry.run_params())
    assert result["p_value"] is None or math.isnan(result["p_value"])
    assert result["result"] == pytest.approx(3.351087, abs=1e-6)
