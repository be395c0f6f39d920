"""`wefe retrieval`: its tables and report are those of the library."""

import json

import command_line
import numpy as np
import pandas as pd
import pytest

from wefe.retrieval import audit_ranking, load_resume_names
from wefe.study import StudyResults

QUERIES = ["Wanted: a nurse for a hospital", "We are looking for a software engineer"]
TEMPLATES = ["{} is a nurse.", "{} writes software.", "{} is a teacher."]


@pytest.fixture
def wefe(folder, encoder):
    """Audit a ranking in a folder with texts."""
    (folder / "jobs.txt").write_text("\n".join(QUERIES))
    (folder / "cvs.txt").write_text("\n".join(TEMPLATES))
    call = ["retrieval", "--encoder", f"minilm={encoder}", "--queries", "jobs.txt", "--documents"]
    call += ["cvs.txt", "--bootstrap", "40", "--out", "audit"]
    return lambda *options, **how: command_line.wefe(*call, *options, folder=folder, **how)


def test_tables_and_report_are_those_of_the_library(wefe, folder, encoder):
    from wefe.contextual import load_encoder

    (folder / "relevance.csv").write_text("1, 0, 0\n0,1,0\n")
    options = ["--relevance", "relevance.csv", "--neutral", "The applicant", "--dim", "128"]
    done = wefe(*options, "-k", "9")
    assert "minilm: Selected in the top 9, by group" in done.stdout
    assert "female, African American" in done.stdout
    assert "leaked" not in done.stderr
    names = load_resume_names()
    how = {"k": 9, "relevance": [[1, 0, 0], [0, 1, 0]], "neutral": ["The applicant"]}
    scorer = load_encoder(encoder, dim=128)
    expected = audit_ranking(scorer, QUERIES, TEMPLATES, names, n_bootstrap=40, **how)
    tables = {name: each for name, each in vars(expected).items() if isinstance(each, pd.DataFrame)}
    for name, table in tables.items():
        written = pd.read_csv(folder / "audit" / f"retrieval_{name}.csv")
        assert list(written) == ["audit", "model_name", *table]
        # The command looks frequencies up where wordfreq is installed.
        numbers = table.select_dtypes("number").drop(columns="frequency", errors="ignore")
        np.testing.assert_allclose(written[list(numbers)], numbers, rtol=1e-5, atol=1e-6)
    report = (folder / "audit" / "report.html").read_text()
    assert f"(nDCG, best 1): {expected.ndcg:.3f}" in report
    assert "Who is ranked first" in report


def test_the_folder_is_resumed_and_checked(wefe, folder):
    names = {"women": ["Mary", "Anna", "Julia"], "men": ["Peter", "Paul", "Tom"]}
    (folder / "names.json").write_text(json.dumps(names))
    own = ["--names", "names.json", "--format", "json"]
    groups = json.loads(wefe(*own).stdout)["groups"]
    assert [(row["group"], row["n_names"]) for row in groups] == [("women", 3), ("men", 3)]
    wefe(*own)
    assert StudyResults.from_file(folder / "audit" / "results.db").run["n_computed"] == 0
    limits = ["check", "audit/results.db", "--min-impact-ratio", "1"]
    failed = command_line.wefe(*limits, folder=folder, expect=1)
    assert "1 - impact ratio, cvs, minilm, " in failed.stdout
    command_line.wefe(*limits[:2], "--max-gap", "1", folder=folder)


def test_documents_need_a_gap_for_the_name(wefe, folder):
    (folder / "cvs.txt").write_text("A nurse.")
    assert "one '{}'" in wefe(expect=2).stderr
