"""`wefe init`, `wefe run` and `wefe report` as a user calls them: in a process of its own."""

import csv
import json
import os
import subprocess
import sys

import pytest

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


def wefe(*arguments, folder, expect=0):
    done = subprocess.run(
        [sys.executable, "-c", "from wefe.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        timeout=240,
    )
    assert done.returncode == expect, done.stderr + done.stdout
    return done


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_a_newcomer_comes_from_init_to_a_report(tmp_path):
    done = wefe("init", folder=tmp_path)
    assert done.stdout == "study.toml: change it as you like, then: wefe run study.toml\n"
    done = wefe("run", "study.toml", "--report", "report.html", folder=tmp_path)
    assert "ranks over all query sets (1: least bias measured)" in done.stdout
    assert "computed in" in done.stdout
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "First steps" in html
    done = wefe("report", "study.db", "--out", "summary.md", folder=tmp_path)
    assert done.stdout == "report: summary.md\n"
    assert "First steps" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    done = wefe("run", "study.toml", folder=tmp_path)
    assert " 0 computed" in done.stdout


def test_init_does_not_replace_a_file(tmp_path):
    (tmp_path / "study.toml").write_text("mine")
    done = wefe("init", folder=tmp_path, expect=2)
    assert "study.toml exists; name another file, or --force" in done.stderr
    assert (tmp_path / "study.toml").read_text() == "mine"
    wefe("init", "case.toml", "--template", "case_study", folder=tmp_path)
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
    assert "gender: 1 queries were not asked: Male terms and Female terms wrt Posi" in done.stdout


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


def test_wrong_study_files_are_explained_key_by_key(folder):
    (folder / "study.toml").write_text(STUDY.replace("limit = 9000", "limt = 9000"))
    done = wefe("run", "study.toml", folder=folder, expect=2)
    assert "key 'limt'" in done.stderr
    assert "Did you mean 'limit'?" in done.stderr
    (folder / "study.toml").write_text("name = \n[[models]]\n")
    done = wefe("run", "study.toml", folder=folder, expect=2)
    assert "study.toml is no TOML" in done.stderr
    assert "line 1" in done.stderr


def test_reports_need_results_and_a_known_ending(folder):
    done = wefe("report", "study.toml", folder=folder, expect=2)
    assert "there are no results yet. Run: wefe run study.toml" in done.stderr
    done = wefe("run", "study.toml", "--report", "report.pdf", folder=folder, expect=2)
    assert "a report is a .html or a .md file" in done.stderr
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
