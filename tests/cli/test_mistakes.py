"""Wrong calls of any command: exit code 2, a message that names the culprit, nothing written."""

import pickle
import shlex
import subprocess
import sys

import pytest
from command_line import STUDY, wefe

from wefe.cli import _as_options

FILES = {
    "latin.txt": b"caf\xe9\n",
    "empty.txt": b"\n",
    "small.txt": b"she 1 0\nhe 0 1\nwoman 1 0.5\nman 0 1.5\n",
    "deep.json": b"[" * 100_000,
    "one.json": b'{"target_sets": [["she"]], "attribute_sets": [["math"]]}',
    "texts.txt": b"A nurse.",
    "m.kv": pickle.dumps([]),
    "study.toml": STUDY.encode(),
}
DEMO = "--model demo"
MEASURE = f"measure {DEMO} --queries weat"
DEBIAS = "debias --out x.vec"
SILHOUETTE = f"silhouette {DEMO} --queries weat --runs 2 --out out"
RETRIEVAL = "retrieval --encoder lost --queries texts.txt --documents texts.txt --out out"
CALLS = [
    ("measure --queries weat", "there is no model"),
    ("measure --model 'a\x1b[2J.txt' --queries weat", "must not hold the control character"),
    (f"measure {DEMO} --queries gendr", "Did you mean 'gender'?"),
    (f"measure {DEMO} --queries no.json", "no.json"),
    (f"{MEASURE} --metric seat", "seat measures encoders only"),
    (f"{MEASURE} --metric ceat", "--contexts: missing. ceat needs a file"),
    (f"{MEASURE} --param x", "METRIC.NAME=VALUE"),
    (f"{MEASURE} --param rnd.x=1", "a metric that is measured (--metric): weat-es"),
    (f"{MEASURE} --param weat-es=1", "expected METRIC.NAME=VALUE"),
    (f"{MEASURE} --lost-vocabulary-threshold 2", "--lost-vocabulary-threshold: must be"),
    (f"{MEASURE} --bootstrap 7", "--bootstrap: must be 0 (no intervals), or at least 40"),
    (f"{MEASURE} --compare", "--compare is for two models"),
    (f"{MEASURE} --layer 2", "--layer is for --encoder"),
    ("measure --encoder e --queries weat --trust-pickle", "--trust-pickle is for --model"),
    ("convert m.kv m.safetensors", "--trust-pickle opens it"),
    ("check study.toml --max 0.3", "--max 0.3: expected METRIC=VALUE"),
    ("check study.toml --max-increase 10%", "--max-increase needs a baseline"),
    ("check study.toml --max-gap 0.1", "--max-gap are for audits of rankings"),
    (DEBIAS, "--model FILE or --encoder FOLDER"),
    (f"{DEBIAS} --encoder lost --ignore lost.txt", "--ignore is for --model"),
    (f"{DEBIAS} {DEMO} --method hard-debais", "Did you mean 'hard-debias'"),
    (f"{DEBIAS} {DEMO} --param x", "expected NAME=VALUE"),
    (f"{DEBIAS} {DEMO} --param n_wrods=3", "unknown option 'n_wrods'"),
    (f"debias {DEMO} --out nowhere/out.bin", "there is no such folder to write into"),
    ("explore", "Missing option '--model'"),
    (f"explore {DEMO} --with doctor", "--with is for pages of words"),
    (f"explore {DEMO} --criterion deep.json", "deep.json is damaged, or not the JSON"),
    (f"explore nursse {DEMO}", "Did you mean 'nurse'?"),
    (f"explore {DEMO} --words jobs.txt", "there is no such file"),
    (f"explore {DEMO} --words latin.txt", "latin.txt is not text in UTF-8"),
    (f"explore {DEMO} --words empty.txt", "words['empty'] is empty"),
    (f"explore {DEMO} --words =he,she", "expected a name before '='"),
    (f"explore he {DEMO} --out page.csv", "for example page.html."),
    ("audit", "there is nothing to audit"),
    ("audit --queries gender", "there is no model"),
    (f"audit {DEMO} --criterion gender --format csv", "use it with --queries only"),
    (f"audit {DEMO} --queries one.json", "needs a query with two"),
    (f"{MEASURE} --metric wet", "Did you mean 'weat'?"),
    (f"{SILHOUETTE} --metric seat", "seat measures encoders only"),
    (f"{SILHOUETTE} --n-jobs 0", "--n-jobs must be a number of workers"),
    (f"{SILHOUETTE} --model a=demo --model a=small.txt", "something else is called 'a'"),
    (f"{RETRIEVAL} --names empty.txt", "--names: empty.txt cannot be read"),
    ("run study.toml --scheduler tcp://a:1", "--scheduler tcp://a:1 is for --engine dask"),
    ("run study.toml --engine dask --n-jobs 2", "--n-jobs is for --engine lo"),
    ("run study.toml --n-jobs 0", "--n-jobs must be a number of workers"),
    ("run study.toml --report report.pdf", "ends in .html or .md, for example report.html"),
    ("run study.toml --report no/folder/report.md", "there is no such folder"),
    ("report study.toml", "there are no results yet. Run: wefe run study.toml"),
    ("init", "study.toml exists. Choose another file, or use --force"),
]


@pytest.mark.parametrize(("command", "says"), CALLS)
def test_wrong_calls_end_with_a_message_before_anything_is_done(folder, no_network, command, says):
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = wefe(*shlex.split(command), expect=2, folder=folder, environment=no_network)
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert done.stdout == ""
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("command", "message", "printed"),
    [
        ("measure", "then trust_pickle=True opens it.", "then --trust-pickle opens it."),
        ("run", "then trust_pickle=True opens it.", "then trust_pickle=True opens it."),
        ("measure", "subwords='mean': no subwords.", "--subwords mean: no subwords."),
        ("measure", "needs n_bootstrap=40 or more", "needs --bootstrap 40 or more"),
        ("measure", "lowercase=False.", "--no-lowercase."),
        ("audit", "vocab_prefix must be a string", "--vocab-prefix must be a string"),
        ("measure", "metric, layer and words of a model", "metric, layer and words of a model"),
        ("measure", "no file 'n_jobs', x/n_jobs", "no file 'n_jobs', x/n_jobs"),
    ],
)
def test_errors_name_options_as_the_command_does(command, message, printed, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["wefe", command])
    assert _as_options(message) == printed


def test_a_database_that_fails_ends_with_a_message(folder):
    code = (
        "import sqlite3\nfrom wefe.cli import main\nfrom wefe.study import Study\n"
        "def fail(*args, **options): raise sqlite3.OperationalError('database or disk is full')\n"
        "Study.run = fail\nmain()"
    )
    call = [sys.executable, "-c", code, "run", folder / "study.toml"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "database or disk is full. Finished results are kept" in done.stderr
    assert "Traceback" not in done.stderr
