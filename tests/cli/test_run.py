"""`wefe init`, `run`, `report`, `verify` and `diff`: from a study file to its report."""

import csv
import json
import re
import signal
import subprocess
import sys

import pytest
from command_line import STUDY, wefe

from wefe.study import StudyResults

RND = '[[metrics]]\nmetric = "rnd"\n'
OTHER = '[[models]]\nsource = "demo"\nname = "other"\n'
LOST = '[[models]]\nsource = "lost.txt"\n'
GENDER = STUDY[: STUDY.index("[[queries]]")] + '[[queries]]\nset = "gender"\n'
GENDER += '[[metrics]]\nmetric = "weat-es"\n' + RND


def of_models(*options):
    """The study of the gender queries, with options of one packaged model each."""
    head, _, tail = GENDER.partition('[[models]]\nsource = "demo"\n')
    return head + "".join(f"[[models]]\nsource = 'demo'\n{one}\n" for one in options) + tail


@pytest.fixture
def call(folder):
    """Call a command in the folder, with this text in the study file if there is one."""

    def run(*arguments, text=None, **options):
        if text is not None:
            (folder / "study.toml").write_text(text)
        return wefe(*arguments, folder=folder, **options)

    return run


def test_a_newcomer_comes_from_init_to_a_report(call, folder):
    done = call("init", "first.toml")
    assert done.stdout == "first.toml: edit it, then run: wefe run first.toml\n"
    text = (folder / "first.toml").read_text(encoding="utf-8")
    # Fewer queries and resamples, which takes a tenth of the time.
    text = re.sub(r'\[\[queries]]\nset = "weat".*\n', "", text).replace("= 200 ", "= 40 ")
    (folder / "first.toml").write_text(text, encoding="utf-8")
    done = call("run", "first.toml", "--report", "report.md")
    assert "ranks over all query sets (1: least bias measured)" in done.stdout
    assert "First steps" in (folder / "report.md").read_text(encoding="utf-8")
    assert re.search(r"tasks, [\d,]+ computed in .* s: .*first.db", done.stdout)


def test_only_what_is_new_is_computed_and_results_are_verified(call, folder):
    call("run", "study.toml", "--results", "a.db")
    again = call("run", "study.toml", "--results", "a.db", text=STUDY + RND).stdout
    assert "4 tasks, 2 computed" in again
    assert " 0 computed in " in call("run", "study.toml", "--results", "a.db").stdout
    assert not (folder / "study.db").exists()
    assert call("verify", "a.db", "-n", "2").stdout == "2 of 2 results reproduced.\n"
    assert "1 of 1 result " in call("verify", "study.toml", "--results", "a.db", "-n", "1").stdout
    done = call("report", "study.toml", "--results", "a.db", "--export", "tables",
                "--export-format", "json")  # fmt: skip
    assert done.stdout.startswith("report: study.html\n")
    assert len(json.loads((folder / "tables" / "results.json").read_text())) == 3


@pytest.mark.slow
def test_figures_are_written_as_files(call, folder, asked, toy_query):
    pytest.importorskip("matplotlib")
    done = call("run", "study.toml", "--figures", "figures", text=STUDY + OTHER)
    written = [path.name for path in (folder / "figures").iterdir()]
    assert f"{len(written)} figures: figures" in done.stdout
    assert {"ranking.png", "ranking.svg", "ranking.pdf"} <= {*written}
    call(*asked(toy_query), "demo", "--metric", "rnsb", "--figures", "measured")
    kinds = {path.name.split("-")[0] for path in (folder / "measured").iterdir()}
    assert kinds == {"scores", "negative", "joint", "individual"}


def test_init_replaces_a_file_only_if_told_to_and_has_templates_of_papers(call, folder):
    call("init", "case.toml", "--template", "wefe")
    assert call("run", "case.toml", expect=2).stderr.count("still to be filled in") == 7
    call("init", "--force")
    assert "First steps" in (folder / "study.toml").read_text()


def test_ranks_and_tables_are_those_of_the_library(call, folder):
    text = of_models("", 'name = "frequent words"\nlimit = 9000')
    done = call("run", "study.toml", "--export", "tables", text=text)
    results = StudyResults.from_file(folder / "study.db")
    with (folder / "tables" / "results.csv").open(newline="", encoding="utf-8") as file:
        scores = [float(row["score"] or "nan") for row in csv.DictReader(file)]
    expected = results.to_frame()["score"].tolist()
    assert scores == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    shown = next(line for line in done.stdout.splitlines() if line.startswith("frequent words"))
    ranks = results.rankings().loc["frequent words"].astype(int).tolist()
    assert shown.split()[2:] == list(map(str, ranks))
    # What was left out is named with its reason.
    assert "gender, not asked (1): Male terms and Female terms wrt Positive" in done.stdout


def test_a_failure_is_named_and_the_exit_code_tells(call, folder):
    done = call("run", "study.toml", "--report", "report.md", text=STUDY + LOST, expect=1)
    assert "Failed:\n- lost (" in done.stdout
    assert "FileNotFoundError" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    # The other model has its score.
    assert any(line.startswith("demo  ") for line in done.stdout.splitlines())
    assert "lost" in (folder / "report.md").read_text()


def test_a_model_without_scores_is_named_with_a_remedy(call):
    alone = call("run", "study.toml", text=of_models("vocab_prefix = '/c/en/'"), expect=1).stderr
    assert len(re.findall(r"(?m)^WARNING: demo: \d+ queries are NaN: .*lost 100% of", alone)) == 1
    assert "set vocab_prefix" in alone
    text = of_models("", "name = 'few'\nlimit = 150")
    beside = call("run", "study.toml", text=text).stdout
    assert "Leave out the models that lack words, or set [aggregation] missing" in beside
    text += '[aggregation]\nmissing = "models"\n'
    assert "Blank" not in call("run", "study.toml", text=text).stdout


def test_after_ctrl_c_what_was_computed_is_there(folder):
    (folder / "study.toml").write_text(of_models("", "name = 'other'"))
    code = (
        "import os, signal\n"
        "from wefe.cli import main\n"
        "from wefe.study._store import Store\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "put = Store.put\n"
        "def put_and_stop(self, rows):\n"
        "    put(self, rows)\n"
        "    if rows[0][1] == 'score':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "Store.put = put_and_stop\n"
        "main()\n"
    )
    call = [sys.executable, "-c", code, "run", "study.toml"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=folder, timeout=240)
    assert done.returncode == 128 + signal.SIGINT
    assert "interrupted; run the same command again" in done.stderr
    outcomes = StudyResults.from_file(folder / "study.db").outcomes
    # What a worker hands over at once is of one of the two models.
    assert 1 <= sum(each.status == "done" for each in outcomes) <= len(outcomes) / 2


def test_differences_read_the_same_on_a_terminal_and_in_markdown(call):
    call("run", "study.toml", "--results", "a.db", text=STUDY + RND)
    text = STUDY + RND + "[lookup]\nnormalize = true\n"
    call("run", "study.toml", "--results", "b.db", text=text)
    shown = call("diff", "a.db", "b.db", expect=1).stdout
    markdown = call("diff", "a.db", "b.db", "--format", "markdown", expect=1).stdout
    assert "changed" in shown.splitlines()[0]
    assert shown.splitlines()[0] in markdown
