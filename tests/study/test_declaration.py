"""The study file: what it takes, and what it says about what it does not take."""

import copy
import json
import os
import re

import pydantic
import pytest

from wefe.datasets import load_criterion
from wefe.debias import list_debias_methods
from wefe.study import Study
from wefe.study._declaration import Declaration, check_declaration
from wefe.study._entries import MetricEntry, ModelEntry, QuerySetEntry, metric_names
from wefe.study._extras import MitigationEntry, QualityEntry, method_and_fit_params
from wefe.study._gate import _parse_increase

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
INLP = {"method": "inlp", "criterion": "gender"}
ENCODER = {"encoder": "a/b"}


def declare(**changes):
    return check_declaration({**copy.deepcopy(SMALL), **changes}, "study.toml")


def complaint(**changes):
    with pytest.raises(ValueError, match="study.toml") as caught:
        declare(**changes)
    assert not isinstance(caught.value, pydantic.ValidationError)
    return str(caught.value)


# The whole file


@pytest.mark.filterwarnings("error")
def test_what_decides_the_results_is_json_and_declares_the_same_study():
    study = declare(
        models=[{"source": "demo", "limit": 5}, {**ENCODER, "layer": 2}],
        queries=[{"set": "gender"}, {"name": "Age", "query": [AGE]}],
        metrics=[{"metric": "rnsb", "params": {"n_iterations": 3}}],
        mitigations=[{**INLP, "models": ["demo"]}],
        external=[{"name": "Q", "best": 0.5, "scores": {"demo": 1}}],
    )
    plain = json.loads(json.dumps(study.canonical()))
    again = check_declaration(plain)
    assert again.canonical() == plain
    assert again.models[0].load_options()["limit"] == 5
    # A description decides no score.
    same = declare(description="x")
    assert declare().canonical() == same.canonical() != declare(random_state=1).canonical()


def test_results_go_beside_the_study_file(tmp_path):
    study = Study(declare(), tmp_path, "my.study.toml")
    assert study.results_path == tmp_path / "my.study.db"


# What it says about mistakes


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"nmae": "x"}, "key 'nmae': unknown. Did you mean 'name'? Allowed: name, description"),
        ({"name": "a\x1b[2J"}, "key 'name': must not hold the control character"),
        ({"models": []}, "key 'models': must have at least 1 item"),
        ({"queries": []}, "key 'queries': missing"),
        ({"models": {"source": "demo"}}, "have double brackets"),
        ({"models": [{"source": "a"}, {"sorce": "b"}]}, "number 2, key 'sorce': unknown. Did"),
        ({"models": [{}]}, "key 'models', number 1: expected one of 'source' and 'encoder'"),
        ({"models": [{"source": "a", "dim": 2}]}, "'dim': is no option of models with 'source'"),
        ({"models": [{"source": 3}]}, "number 1, key 'source': must be a valid string; got 3"),
        ({"models": [{"source": "a", "on_error": "skp"}]}, "must be 'raise' or 'skip'; got"),
        ({"queries": [{"set": "gendre"}]}, "got str 'gendre'. Did you mean 'gender'?"),
        ({"queries": [{"query": [AGE]}]}, "key 'queries', number 1, key 'name': missing"),
        ({"metrics": [{"metric": "wet"}]}, "got str 'wet'. Did you mean 'weat'"),
        (
            {"metrics": [{"metric": "rnd", "params": {"distanc": "cos"}}]},
            "key 'params', key 'distanc': unknown. Did you mean 'distance'?",
        ),
        ({"metrics": [{"metric": "ceat"}]}, "key 'contexts': missing"),
        ({"metrics": [{"metric": "seat"}]}, "'metric': seat measures encoders only."),
        ({"lookup": {"preprocessors": [{"preprocessor": "os"}]}}, "must be a callable"),
        ({"lookup": {"lost_vocabulary_threshold": 1.5}}, "must be less than or equal to 1"),
        (
            {"models": [{**ENCODER, "templates": ["{} is.", "No gap."]}]},
            "key 'models', number 1, key 'templates', number 2: must have one {}",
        ),
        ({"models": [{**ENCODER, "dim": 0}]}, "key 'dim': must be greater than or equal to 1"),
        ({"intervals": {"n_bootstrap": 39}}, "key 'intervals', key 'n_bootstrap': must be 0"),
        ({"explore": {"criteria": ["gendre"]}}, "unknown option 'gendre'; the"),
        ({"explore": {"criteria": ["gender"], "words": ["a", "a"]}}, "'a' occurs twice"),
        ({"models": [ENCODER], "explore": {"criteria": ["gender"]}}, "all models are encoders"),
        ({"silhouettes": [{"metric": "ceat", "query_set": "gender"}]}, "ceat has no silhouette"),
        (
            {"silhouettes": [{"metric": "seat", "query_set": "gender"}]},
            "key 'silhouettes', number 1, key 'metric': seat measures encoders only.",
        ),
        # What must fit together.
        (
            {"models": [{"source": "a/x.txt"}, {"source": "b/x.vec.gz"}]},
            "key 'models', number 2, key 'name': something else is called 'x'; choose another name",
        ),
        ({"queries": [{"set": "gender", "name": "Overall"}]}, "something else is called 'Overall'"),
        (
            {"models": [{"source": "demo"}, {"source": "x", "name": "demo (HD)"}],
             "mitigations": [{**INLP, "name": "HD"}]},
            "key 'mitigations': something else is called 'demo (HD)'",
        ),
        (
            {"models": [{"source": "demo"}, ENCODER], "mitigations": [{**INLP, "models": ["b"]}]},
            "number 1, key 'models': 'b' is no model with a source",
        ),
        ({"models": [ENCODER], "mitigations": [INLP]}, "all models are encoders"),
        ({"mitigations": [{**INLP, "models": ["dem"]}]}, "key 'models': 'dem' is no"),
        (
            {"external": [{"name": "Q", "best": "higher", "scores": {"dem": 1}}]},
            "key 'scores': 'dem' is no model. Did you mean 'demo'? Known:",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_what_is_allowed(changes, line):
    assert line in complaint(**changes)


# Keys with a default or a range: if one changes, so do studies of users.
BOUNDS = """
    Study.description = Study.random_state =0 <4294967296 >=0 Study.offline =False
    Aggregation.function =bias_avg Aggregation.missing =queries Aggregation.ties =min
    Aggregation.correlation =spearman Audit.scores =False Intervals.n_bootstrap =0 >=0
    Intervals.confidence =0.95 <1 >0 Lookup.strategy =first
    Lookup.normalize =False Lookup.lost_vocabulary_threshold =0.2 <=1 >=0 Lookup.own_words =False
    Metric.label = Mitigation.ignore =specific Model.limit >=1 Model.min_count >=1
    Model.trust_pickle =False Model.on_error =raise Model.layer =-1 Model.pooling =auto
    Model.max_length >=1 Model.dim >=1 Quality.name =Quality
    QuerySet.weight >0 Retrieval.k =10 >=1 Retrieval.n_bootstrap =1000 >=40 Silhouette.vary
    =targets Silhouette.n_runs =100 >=1 Silhouette.step >=1 Silhouette.k_min >=1 Silhouette.unequal
    =exhaust Silhouette.join =False
"""
SIGNS = {"default": "=", "minimum": ">=", "exclusiveMinimum": ">"}
SIGNS |= {"maximum": "<=", "exclusiveMaximum": "<"}


def test_defaults_and_ranges():
    found, schema = [], Declaration.model_json_schema()
    for name, table in {"Study": schema, **schema["$defs"]}.items():
        for part, value in table.get("properties", {}).items():
            every = [item for each in (value, *value.get("anyOf", ())) for item in each.items()]
            assert all(least == 1 for limit, least in every if re.match("min[A-Z]", limit))
            plain = [(key, value) for key, value in every if isinstance(value, int | float | str)]
            facts = [SIGNS[key] + str(value) for key, value in plain if key in SIGNS]
            found += [f"{name.removesuffix('Entry')}.{part}", *facts] if facts else []
    assert " ".join(found).split() == BOUNDS.split()


def test_all_mistakes_are_said_at_once_each_on_a_line():
    text = complaint(
        colour="red",
        models=[{"sorce": "demo"}],
        metrics=[{"metric": "rnd", "params": {"a": 1, "reduce": 2}}],
        lookup={"strategy": "frist"},
    )
    lines = text.splitlines()
    assert len(lines) == 5
    assert all(line.startswith("study.toml: ") for line in lines)


# Models


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("demo", "demo"),
        ("vectors/glove.6B.50d.txt.gz", "glove.6B.50d"),
        ("glove.6B.zip/glove.6B.100d.txt", "glove.6B.100d"),
        ("C:\\vectors\\wiki.vec", "wiki"),
        ("org/name@v1", "name"),
        (".vec", ".vec"),
    ],
)
def test_a_model_without_a_name_is_called_by_its_source(source, label):
    assert ModelEntry(source=source).label == label
    assert ModelEntry(source=source, name="mine").label == "mine"


def test_files_beside_the_study_file_are_found_and_names_stay(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "vectors").mkdir(parents=True)
    for name in ("vectors/toy.txt", "demo", "archive.zip", "words.txt"):
        (home / name).write_text("she 1 0\nhe 0 1\nit 1 1\n")
    (tmp_path / "toy.txt").write_text("she 1 0\n")
    monkeypatch.chdir(tmp_path)

    def place(**keys):
        return ModelEntry(**keys).resolved(home).place

    entry = ModelEntry(source="./vectors/toy.txt", vocabulary="words.txt", limit=2).resolved(home)
    assert entry.source == str(home / "vectors" / "toy.txt")
    assert entry.load_options() == {"vocabulary": str(home / "words.txt"), "limit": 2}
    assert entry.label == "toy"
    assert place(source="archive.zip/glove.txt") == str(home / "archive.zip" / "glove.txt")
    assert place(encoder="vectors") == str(home / "vectors")
    names = ("demo", "org/name", "org/name@refs/pr/1", "glove-twitter-25")
    for name in (*names, str(home / "demo")):
        assert place(source=name) == name
    assert place(encoder="org/name") == "org/name"
    # What is missing there is not looked for elsewhere.
    for path in ("toy.txt", "../toy", "a/b/c", "vectors/toy", "toy", "a\\b", "~nosuchuser9"):
        assert place(source=path) == os.path.normpath(home / path)


def test_a_folder_of_the_name_of_what_is_built_in_changes_nothing(tmp_path, monkeypatch):
    for name in ("demo", "gender", "wordsim353"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert ModelEntry(source="demo").resolved(tmp_path).source == "demo"
    assert [*QualityEntry(benchmarks=["wordsim353"]).load(tmp_path)] == ["wordsim353"]
    assert len(QuerySetEntry(set="gender").load(tmp_path, offline=True).queries) == 6


# Query sets


def test_queries_in_a_study_file_may_take_words_that_ship():
    sets = {**AGE, "attributes": {"Flowers": "weat/flowers", "Bad": ["hate", "war"]}}
    asked = QuerySetEntry(name="Age", query=[sets]).load(".")
    flowers = asked.queries[0].attribute_sets[0]
    assert (flowers[:2], len(flowers), asked.left_out) == (["aster", "clover"], 25, ())
    assert [each.query_name for each in asked.queries] == ["Young and Old wrt Flowers and Bad"]


def test_queries_are_left_out_for_want_of_a_download(caplog):
    asked = QuerySetEntry(set="gender").load(".", offline=True)
    assert len(asked.queries) == asked.weight == 6
    assert asked.left_out == ((SENTIMENT, "its words need a download (offline)"),)
    assert "1 of 7 queries are left out" in caplog.text


def test_a_file_of_queries_lies_beside_the_study_file(tmp_path, toy_query):
    other = {**toy_query.dict(), "target_sets": [["a"], ["b"]]}
    texts = {"mine": [toy_query.dict()], "none": [], "two": [toy_query.dict(), other]}
    for stem, data in texts.items():
        (tmp_path / f"{stem}.json").write_text(json.dumps(data))
    assert QuerySetEntry(file="mine.json").label == "mine"
    assert QuerySetEntry(file="mine.json").load(tmp_path).queries == (toy_query,)
    for stem, says in (
        ("none", r"'none', key 'file': .*none.json contains no query"),
        ("two", "'two', key 'file': two queries are called 'Female and Male wrt"),
        ("bda", r"'bda', key 'file': there is no file .*bda.json"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=says):
            QuerySetEntry(file=f"{stem}.json").load(tmp_path)


def test_a_missing_file_is_asked_about_by_the_nearest_in_its_folder(tmp_path):
    for folder in (tmp_path / "data", tmp_path / "data" / "other"):
        folder.mkdir()
        (folder / "sim.tsv").write_text("cat\tdog\t3\n")
    benchmarks = ["simlex999", "data/simm.tsv"]
    contexts = {"metric": "ceat", "contexts": "data/sim.txt"}
    ceat = declare(models=[{"encoder": "org/x"}], metrics=[contexts])
    for call, says in (
        (QualityEntry(benchmarks=benchmarks).load, r"key 'benchmarks': there is no file"),
        (lambda base: Study(ceat, base).plan, r"\]\] of 'CEAT', key 'contexts': there is no file"),
    ):
        with pytest.raises(FileNotFoundError, match=says):
            call(tmp_path)
    twice = QualityEntry(benchmarks=["data/sim.tsv", "data/other/sim.tsv"])
    with pytest.raises(ValueError, match="already a benchmark called 'sim'"):
        twice.load(tmp_path)


# Metrics


@pytest.mark.parametrize("name", [name for name in metric_names() if name not in ("seat", "ceat")])
def test_every_metric_runs_with_what_a_study_asks_of_it(name, toy_model, toy_query):
    entry = MetricEntry(metric=name)
    metric = metric_names()[entry.metric]()
    for query in metric.subqueries(toy_query):
        # What is random has a seed.
        one, other = (metric.run_query(query, toy_model, **entry.run_params(3)) for _ in range(2))
        assert one["result"] == other["result"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("10%", (0.1, True)), (" 2.5 % ", (0.025, True)), ("300%", (3.0, True))),
        *(("0.05", (0.05, False)), (0, (0.0, False))),
        *((text, "share such as '10%'") for text in ("-1%", "%", "nan", True, None, 10**400)),
        *((text, "below 1; got") for text in (1, "10", "1e300")),
    ],
)
def test_an_increase_is_a_share_or_a_number_below_1(text, expected):
    if isinstance(expected, tuple):
        assert _parse_increase(text) == expected
    else:
        with pytest.raises(ValueError, match=expected):
            _parse_increase(text)


# Mitigations


@pytest.mark.parametrize("method", list_debias_methods())
def test_every_method_of_the_package_can_be_declared(method):
    entry = MitigationEntry(method=method.__name__, criterion="gender")
    assert entry.method_class is method
    assert isinstance(method_and_fit_params(method, entry.params)[0], method)


def test_parameters_go_to_the_constructor_and_to_fit_with_the_seed_of_the_study():
    pca = {"pca_args": {"n_components": 1}}
    how = [
        ("inlp", {}, {"random_state": 7}, {}),
        ("inlp", {"random_state": 3}, {"random_state": 3}, {}),
        ("hard-debias", pca, pca, {}),
        ("half-sibling-regression", {"alpha": 10}, {}, {"alpha": 10}),
    ]
    declared = [
        {**INLP, "method": method, "params": params, "name": f"{number}"}
        for number, (method, params, *_) in enumerate(how)
    ]
    study = declare(models=[ENCODER, {"source": "demo"}], random_state=7, mitigations=declared)
    for (_, entry), (*_, constructor, fit) in zip(study.mitigated(), how, strict=True):
        method, others = method_and_fit_params(entry.method_class, entry.params)
        assert (vars(method) | constructor, others) == (vars(method), fit)
    # Encoders are never mitigated.
    assert study.all_labels() == ["b", "demo", *(f"demo ({number})" for number in range(4))]


def test_a_criterion_may_be_a_file_and_have_the_words_that_ship(tmp_path, monkeypatch, caplog):
    (tmp_path / "age.json").write_text('{"definitional_sets": [["young", "old"]]}')
    entry = MitigationEntry(method="inlp", criterion="age.json")
    assert entry.label == "inlp, age"
    assert entry.load_criterion(tmp_path).definitional_sets == (("young", "old"),)

    def no_network(name, *, offline=False):
        if not offline:
            raise ConnectionError("no route to host")
        return load_criterion(name, offline=True)

    monkeypatch.setattr("wefe.datasets.load_criterion", no_network)
    found = MitigationEntry(**INLP).load_criterion(".")
    assert found == load_criterion("gender", offline=True)
    assert "no route to host" in caplog.text


# Silhouettes


def test_silhouettes_of_the_same_are_refused():
    one = {"metric": "weat-es", "query_set": "gender"}

    def plan(*silhouettes):
        models = [{"source": "demo"}, {"source": "demo", "name": "b"}]
        more = {"offline": True, "models": models, "silhouettes": [*silhouettes]}
        return Study({**SMALL, **more}).plan

    for other in (one, {**one, "models": ["b"], "n_runs": 3}):
        with pytest.raises(ValueError, match=rf"same: WEAT-ES, gender, {CAREER}, targets"):
            plan(one, other)
    models = {**one, "models": ["demo"]}, {**one, "models": ["b"]}
    attributes = {**one, "vary": "attributes"}
    plan(*models, attributes, {**one, "metric": "weat"})
    assert plan({**one, "vary": "both"}).tasks == plan(one, attributes).tasks
    with pytest.raises(ValueError, match=rf"same: WEAT-ES, gender, {CAREER}, attributes"):
        plan({**one, "vary": "both"}, attributes)


# Word sets


def test_named_word_sets_stand_for_their_words():
    def declared(terms, **more):
        query = {"targets": {"a": terms}, "attributes": {"b": "weat/arts"}}
        mitigation = {"method": "hard-debias", "criterion": "gender", "target": terms}
        return declare(queries=[{"name": "q", "query": [query]}], mitigations=[mitigation], **more)

    words = ["she", "her"]
    named = declared("my terms", word_sets={"my terms": words}).canonical()
    assert named == declared(words).canonical()
    with pytest.raises(ValueError, match="'my trems' is not a word set.*mean 'my terms'"):
        declared("my trems", word_sets={"my terms": words})
    with pytest.raises(ValueError, match="key 'word_sets': must be a valid dict"):
        declared(words, word_sets=3)


# Encoders


def test_encoders_have_metrics_of_their_own_and_are_not_explored():
    contexts = {"metric": "ceat", "contexts": "x.txt"}
    study = declare(models=[ENCODER], metrics=[{"metric": "seat"}, contexts])
    assert [metric.label for metric in study.metrics] == ["SEAT-ES", "CEAT"]
    models = [ENCODER, {"source": "demo"}]
    tasks = Study(declare(models=models, explore={"criteria": ["gender"]}, offline=True)).plan.tasks
    assert {task.model for task in tasks} == {"b", "demo"}
    assert {task.model for task in tasks if task.kind == "explore"} == {"demo"}


# Reading

TEXT = b"""
name = "small"
models = [{source = "demo", limit = 100}]
queries = [{set = "gender"}]
metrics = [{metric = "weat"}]
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "study.toml").write_bytes(text)
        return Study.from_file(tmp_path / "study.toml").declaration

    return read


def test_a_study_file_is_read_and_trust_in_pickles_is_logged(read, caplog, tmp_path):
    study = read(TEXT)
    assert study.models[0].limit == 100
    assert study == read(b"\xef\xbb\xbf" + TEXT)
    assert "pickle" not in caplog.text
    read(TEXT.replace(b"limit = 100", b"trust_pickle = true"))
    assert "study.toml sets trust_pickle for demo: a pickle can run any code" in caplog.text
    with pytest.raises(FileNotFoundError, match=r"none\.toml"):
        Study.from_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'name = "x"\nmodels = \n', r"is not TOML: .* \(at line 2, column 10\)"),
        (b"name = '\xff'", "utf-8"),
        (TEXT.replace(b"limit", b"limt"), "^study.toml: key 'models', number 1, key 'limt'"),
        pytest.param(b"a = " + b"[" * 20000, "recursion|nested", id="nested"),
        pytest.param(b"a.b" * 5000 + b" = 1", "recursion|nested", id="keys"),
    ],
)
def test_what_is_no_study_file_is_refused_in_a_line(read, text, says):
    with pytest.raises(ValueError, match=says) as caught:
        read(text)
    assert "study.toml" in str(caught.value)
