"""`wefe audit`: its numbers and warnings are those of the library."""

import csv
import io
import json

import pytest
from command_line import wefe

from wefe import Query
from wefe.audit import audit_direction, audit_query
from wefe.datasets import load_criterion, load_query_set

GENDER = ["audit", "--model", "demo", "--queries", "gender", "--offline"]


def test_the_tables_are_those_of_the_library(packaged_model):
    done = wefe(*GENDER, "--criterion", "gender")
    query = load_query_set("gender", offline=True)[0]
    career = audit_query(query, packaged_model, p_value_test_type="two-sided")
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


def test_tables_for_programs(packaged_model):
    words = list(csv.DictReader(io.StringIO(wefe(*GENDER, "--format", "csv").stdout)))
    assert len(words) == 6 * 40
    career = audit_query(load_query_set("gender", offline=True)[0], packaged_model)
    assert float(words[0]["individual_bias"]) == pytest.approx(career.all_biases[0])
    assert words[0]["model_name"] == "minilm-words"
    content = json.loads(wefe(*GENDER, "--format", "json").stdout)
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
