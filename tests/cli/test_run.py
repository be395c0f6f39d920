"""`wefe init`, `wefe run` and `wefe report` as a user calls them: in a process of its own."""

import csv
import json
import re
import signal
import subprocess
import sys
import time

import pytest
from command_line import wefe

STUDY = """
name = "Pairs"
offline = true
[[models]]
source = "demo"
[[models]]
source = "demo"
name = "frequent words"
limit = 9000
[[queries]]
set = "gender"
[[metrics]]
metric = "weat-es"
[[metrics]]
metric = "rnd"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_a_newcomer_comes_from_init_to_a_report(tmp_path):
    done = wefe("init", folder=tmp_path)
    assert done.stdout == "study.toml: edit it, then run: wefe run study.toml\n"
    done = wefe("run", "study.toml", "--report", "report.html", folder=tmp_path)
    assert "ranks over all query sets (1: least bias measured)" in done.stdout
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "First steps" in html
    computed = re.search(r"tasks, ([\d,]+) computed \((.*)\) in .* s: .*study.db", done.stdout)
    parts = re.findall(r"([^,]+) ([\d,]+)(?:, |$)", computed[2])
    kinds = {"WEAT-ES", "RND", "ECT", "MAC", "RNSB", "look-up of words", "bias directions"}
    kinds |= {"intervals", "audits of scores", "mitigations"}
    assert {kind for kind, _ in parts} == kinds
    assert sum(int(n) for _, n in parts) == int(computed[1])
    done = wefe("report", "study.db", "--out", "summary.md", folder=tmp_path)
    assert done.stdout == "report: summary.md\n"
    assert "First steps" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    done = wefe("run", "study.toml", folder=tmp_path)
    assert " 0 computed in " in done.stdout


def test_figures_are_written_as_files(folder):
    pytest.importorskip("matplotlib")
    done = wefe("run", "study.toml", "--figures", "figures", folder=folder)
    written = sorted(path.name for path in (folder / "figures").iterdir())
    assert f"{len(written)} figures: figures" in done.stdout
    assert {"ranking.png", "ranking.svg", "ranking.pdf"} <= set(written)
    again = wefe("report", "study.toml", "--figures", "again", folder=folder)
    assert f"{len(written)} figures: again" in again.stdout
    done = wefe(
        *("measure", "--model", "demo", "--queries", "gender", "--metric", "rnsb", "--offline"),
        *("--figures", "measured"),
        folder=folder,
    )
    kinds = {path.name.split("-")[0] for path in (folder / "measured").iterdir()}
    assert kinds == {"scores", "negative", "joint", "individual"}


def test_init_does_not_replace_a_file(tmp_path):
    (tmp_path / "study.toml").write_text("mine")
    done = wefe("init", folder=tmp_path, expect=2)
    assert "study.toml exists. Choose another file, or use --force" in done.stderr
    assert (tmp_path / "study.toml").read_text() == "mine"
    wefe("init", "case.toml", "--template", "wefe", folder=tmp_path)
    done = wefe("run", "case.toml", folder=tmp_path, expect=2)
    assert done.stderr.count("still to be filled in") == 7
    wefe("init", "--force", folder=tmp_path)
    assert (tmp_path / "study.toml").read_text() != "mine"


def test_ranks_and_tables_are_those_of_the_library(folder):
    done = wefe("run", "study.toml", "--export", "tables", folder=folder)
    from wefe.study import StudyResults

    results = StudyResults.from_file(folder / "study.db")
    with (folder / "tables" / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    frame = results.to_frame()
    assert [float(row["score"] or "nan") for row in rows] == pytest.approx(
        frame["score"].tolist(), rel=0, abs=0, nan_ok=True
    )
    shown = next(line for line in done.stdout.splitlines() if line.startswith("frequent words"))
    ranks = results.rankings().loc["frequent words"].astype(int).tolist()
    assert shown.split()[2:] == list(map(str, ranks))
    # What was left out is named with its reason.
    assert "gender, not asked (1): Male terms and Female terms wrt Positive" in done.stdout


def test_a_failure_is_named_and_the_exit_code_tells(folder):
    with (folder / "study.toml").open("a") as file:
        file.write('[[models]]\nsource = "lost.txt"\n')
    done = wefe("run", "study.toml", folder=folder, expect=1)
    assert "Failed:\n- lost (" in done.stdout
    assert "FileNotFoundError" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    # The other models have their scores.
    assert any(line.startswith("frequent words  ") for line in done.stdout.splitlines())
    done = wefe("report", "study.toml", "--out", "report.md", folder=folder)
    assert "lost" in (folder / "report.md").read_text()


def test_reports_need_results_and_a_known_ending(folder):
    done = wefe("report", "study.toml", folder=folder, expect=2)
    assert "there are no results yet. Run: wefe run study.toml" in done.stderr
    done = wefe("run", "study.toml", "--report", "report.pdf", folder=folder, expect=2)
    assert "expected a file that ends in .html or .md" in done.stderr
    assert not (folder / "study.db").exists()
    done = wefe("run", "study.toml", "--report", "no/folder/report.md", folder=folder, expect=2)
    assert "there is no such folder" in done.stderr
    assert not (folder / "study.db").exists()


def test_results_go_where_they_are_wanted(folder):
    wefe("run", "study.toml", "--results", "elsewhere.db", folder=folder)
    assert not (folder / "study.db").exists()
    wefe(
        *("report", "study.toml", "--results", "elsewhere.db", "--out", "a.md"),
        *("--export", "tables", "--export-format", "json"),
        folder=folder,
    )
    tables = json.loads((folder / "tables" / "results.json").read_text())
    assert len(tables) > 10


def test_what_is_new_is_said_by_metric(folder):
    wefe("run", "study.toml", folder=folder)
    # Results are told from earlier ones by the second in which they were made.
    time.sleep(1.1)
    with (folder / "study.toml").open("a") as file:
        file.write('[[metrics]]\nmetric = "mac"\n')
    done = wefe("run", "study.toml", folder=folder)
    assert "56 tasks, 12 computed (MAC 12) in " in done.stdout


def lacking(folder, *models):
    head, _, tail = STUDY.partition("[[models]]")
    tail = tail[tail.index("[[queries]]") :]
    text = "".join(f"[[models]]\nsource = 'demo'\n{model}\n" for model in models)
    (folder / "study.toml").write_text(head + text + tail)


def test_a_model_without_scores_is_named_with_a_remedy(folder):
    lacking(folder, "vocab_prefix = '/c/en/'")
    alone = wefe("run", "study.toml", folder=folder, expect=1).stdout
    assert "\n- demo: 16 of 16 scores are NaN\nIf the models write words differently" in alone
    assert "NaN: 16 scores; the report and the tables list all reasons." in alone
    assert len(re.findall(r"(?m)^- .*lost 100% of", alone)) == 3
    lacking(folder, "", "name = 'few'\nlimit = 150")
    beside = wefe("run", "study.toml", folder=folder).stdout
    assert "\n- few: 16 of 16 scores are NaN\nLeave out the models that lack words" in beside
    with (folder / "study.toml").open("a") as file:
        file.write('[aggregation]\nmissing = "models"\n')
    assert "Blank" not in wefe("run", "study.toml", folder=folder).stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "study.toml", "--scheduler", "tcp://a:1"], "--scheduler is for --engine dask"),
        (["run", "study.toml", "--engine", "dask", "--n-jobs", "2"], "--n-jobs is for --engine lo"),
        (["run", "study.toml", "--n-jobs", "0"], "--n-jobs must be a number of workers"),
        (
            ["report", "study.toml", "--name", "x"],
            "--name is for a results file; study.toml is not one",
        ),
        (
            ["report", "a.db", "--results", "b.db"],
            "--results is for a study file; a.db is not one",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder, arguments, text):
    done = wefe(*arguments, folder=folder, expect=2)
    assert text in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["study.toml"]


def test_after_ctrl_c_it_is_said_how_much_is_done(folder):
    # What a worker hands over at once is of one of the two models, 22 tasks at the most.
    code = (
        "import os, signal\n"
        "from wefe.cli import main\n"
        "from wefe.study._run import Run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "enter = Run._enter\n"
        "def enter_and_stop(self, results):\n"
        "    enter(self, results)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "Run._enter = enter_and_stop\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "study.toml"],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=240,
    )
    assert done.returncode == 128 + signal.SIGINT
    (n_done,) = re.findall(r"interrupted; (\d+) of 44 tasks are done and saved in ", done.stderr)
    assert 1 <= int(n_done) <= 22


def test_differences_read_the_same_on_a_terminal_and_in_markdown(folder):
    wefe("run", "study.toml", "--results", "a.db", folder=folder)
    (folder / "study.toml").write_text(STUDY + "[lookup]\nnormalize = true\n")
    wefe("run", "study.toml", "--results", "b.db", folder=folder)
    call = ("diff", "a.db", "b.db")
    shown = wefe(*call, folder=folder, expect=1).stdout
    markdown = wefe(*call, "--format", "markdown", folder=folder, expect=1).stdout
    share = re.compile(r"\\?[+-][\d.]+%")
    shares = [text.replace("\\", "") for text in share.findall(markdown)]
    assert shares
    assert share.findall(shown) == shares
    ranks = shown.partition("\nRanks\n")[2].partition("\n\n")[0]
    assert "." not in ranks
    done = wefe(*call, "--study", "Pairs", folder=folder, expect=1)
    assert done.stdout == shown
    done = wefe("diff", "study.toml", "study.toml", "--study", "x", folder=folder, expect=2)
    assert "--study is for results files" in done.stderr


def test_results_are_verified(folder):
    wefe("run", "study.toml", folder=folder)
    done = wefe("verify", "study.db", "-n", "3", folder=folder)
    assert done.stdout == "3 of 3 results reproduced.\n"
    assert wefe("verify", "study.toml", "-n", "1", folder=folder).stdout.startswith(
        "1 of 1 result "
    )
