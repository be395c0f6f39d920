"""`wefe measure`: its numbers are those of the library, and it says what it left out."""

import csv
import io
import json

import pytest
from command_line import wefe

from wefe import Query
from wefe.cli._options import split_name
from wefe.datasets import load_query_set, load_weat_queries

WEAT = ["measure", "--model", "demo", "--queries", "weat"]
LOWER = {"preprocessors": [{}, {"lowercase": True}]}


def results(*arguments, table="results", **options):
    return json.loads(wefe(*arguments, "--format", "json", **options).stdout)[table]


def write_vectors(path, model, words):
    lines = [f"{word} {' '.join(map(str, model[word]))}\n" for word in words]
    path.write_text("".join(lines))
    return path


def test_demo_prints_a_table_and_a_ranking():
    output = wefe("demo").stdout
    assert "Flowers and Insects wrt Pleasant and Unpleasant" in output
    assert "Ranks (1: least bias measured)" in output
    # A low score is less association measured; nothing is ever called free of bias.
    assert "unbiased" not in output


def test_metrics_and_queries_go_by_all_their_names_and_are_measured_once(asked, toy_query):
    call = [*asked(toy_query), "demo", "--metric", "sc-weat"]
    again = ["--metric", "WEFAT", *call[1:3]]
    assert wefe(*call, *again).stdout == wefe(*call).stdout


def test_every_format_has_the_same_numbers(asked):
    call = [*asked(*load_weat_queries()[:2]), "demo", "--model", "b=demo"]
    call += ["--metric", "weat-es", "--metric", "ect"]
    call += ["--param", 'weat-es.p_value_method="approximate"']
    lines = wefe(*call).stdout.splitlines()
    assert lines[0] == "WEAT-ES, mine (no bias: 0)"
    # Models of a query stand together.
    assert lines[2].startswith("Flowers and Insects")
    assert lines[3].split()[0] == "b"
    assert "1.2195" in lines[2]
    assert "p value of WEAT-ES: two-sided permutation test (random splits)" in "\n".join(lines)
    rows = list(csv.DictReader(io.StringIO(wefe(*call, "--format", "csv").stdout)))
    records = results(*call)
    assert len(rows) == len(records) == 2 * (2 + 4)
    for row, record in zip(rows, records, strict=True):
        assert row["query_name"] == record["query_name"]
        assert float(row["score"]) == pytest.approx(record["score"], rel=1e-15)
    assert {entry["model_name"] for entry in results(*call, table="ranking")} == {"demo", "b"}
    latex = wefe(*call, "--format", "latex").stdout
    assert " & ".join(["query", "model", "score", "p value", "p value holm"]) in latex


def test_p_values_take_the_side_asked_for_and_the_other_is_noted(asked):
    flowers = load_weat_queries()[0]
    reverse = Query(flowers.target_sets[::-1], flowers.attribute_sets, ["Insects", "Flowers"])
    call = [*asked(flowers, reverse), "demo"]
    sides = ("right-sided", "left-sided", "two-sided")
    param = "weat-es.p_value_test_type="
    right, left, both = (results(*call, "--param", param + side)[0]["p_value"] for side in sides)
    assert right + left > 1
    assert both not in (right, left)
    lines = wefe(*call, "--param", f"{param}right-sided").stdout.splitlines()
    (noted,) = [line for line in lines[1:4] if line.endswith("strong in the opposite direction")]
    assert noted.startswith("Insects")
    assert "strong" not in wefe(*call).stdout


def test_intervals_stand_beside_the_scores():
    output = wefe(*WEAT, "--bootstrap", "1000").stdout
    assert "1.2195  [0.7485, 1.6168]" in output
    assert "interval: 95 % bootstrap interval over words (1000 resamples)." in output
    first = results(*WEAT, "--bootstrap", "1000", "--confidence", "0.9")[0]
    assert 0.7485 < first["score_lower"] < first["score"] < first["score_upper"] < 1.6168


def test_pairs_are_asked_of_pairs_only():
    call = ["measure", "--model", "demo", "--offline", "--metric", "ripa", "--queries"]
    assert "are not pairs" in wefe(*call, "religion").stderr
    assert "are not pairs" not in wefe(*call, "gender").stderr


def test_files_of_vectors_and_queries_and_what_they_lack(tmp_path, toy_model, toy_query, asked):
    vectors = write_vectors(tmp_path / "toy=1.txt", toy_model, toy_model.vocab)
    lost = Query([["she"], ["he"]], [["home"], ["nowhere"]], ["F", "M"], ["H", "N"])
    first, second = results(*asked(toy_query, lost), vectors, "--metric", "weat")
    assert first["score"] == pytest.approx(3.3510866, abs=1e-6)
    assert first["p_value"] == pytest.approx(1 / 3)
    assert (first["model_name"], first["queries"]) == ("toy=1", "mine")
    assert second["score"] is None
    assert "nowhere" in second["nan_reason"]
    done = wefe(*asked(lost), vectors, expect=1)
    assert "is NaN: 'N' lost 100%" in done.stderr
    assert "--lost-vocabulary-threshold" in done.stderr


def test_models_are_compared_on_the_words_that_all_of_them_have(
    tmp_path, toy_model, toy_query, asked
):
    left_out, words = toy_query.attribute_sets[0][0], list(toy_model.vocab)
    few = [word for word in words if word != left_out]
    whole, few = (
        write_vectors(tmp_path / name, toy_model, own)
        for name, own in {"whole.txt": words, "few.txt": few}.items()
    )
    call = [*asked(toy_query), whole, "--model", few, "--lost-vocabulary-threshold", "0.6"]
    same, own = results(*call), results(*call, "--own-words")
    assert [row["lost_words"] for row in same] == [left_out] * 2
    assert [row["lost_words"] for row in own] == [None, left_out]
    # The vectors are the same, so on the same words the scores are, too.
    assert (len({row["score"] for row in same}), len({row["score"] for row in own})) == (1, 2)
    assert "needs two queries" in wefe(*call, "--compare").stderr


def test_a_model_that_lacks_words_takes_a_line_and_no_ranking_of_others(tmp_path, packaged_model):
    write_vectors(tmp_path / "few.txt", packaged_model, list(packaged_model.vocab)[:500])
    call = ["measure", "--model", "demo", "--model", "b=demo", "--model", tmp_path / "few.txt"]
    call += ["--queries", "gender", "--offline"]
    done = wefe(*call)
    assert "or use --missing models" in done.stdout
    assert done.stderr.count("few: 6 queries are NaN") == 1
    assert max(map(len, done.stderr.splitlines())) < 250
    ranked = wefe(*call, "--missing", "models").stdout
    assert "Blank" not in ranked
    assert "demo, b: least bias measured in 1 of 1 rankings." in ranked


def test_a_model_that_cannot_be_opened_does_not_stop_the_others(asked, toy_query):
    call = [*asked(toy_query), "lost=lost.txt", "--model", "demo", "--format", "json"]
    done = wefe(*call, expect=1)
    assert "there is no file" in done.stderr
    lost, other = json.loads(done.stdout)["results"]
    assert (lost["model_name"], lost["score"]) == ("lost", None)
    assert "there is no file" in lost["nan_reason"]
    assert other["score"] is not None


def test_warnings_of_audits_are_shown_if_asked():
    call = ["measure", "--model", "demo", "--queries", "gender", "--offline"]
    assert "- common-lean: 'Male terms'" in wefe(*call, "--audit").stdout
    assert "Warnings" not in wefe(*call).stdout


def test_encoders_are_measured_alone_and_beside_tables(asked, encoder):
    query = load_query_set("gender", offline=True)[-1]
    (_, *queries, _) = asked(query)
    call = ["measure", *queries, "--metric", "weat-es"]
    rows = results(*call, "--encoder", f"encoder={encoder}", "--metric", "seat")
    assert [row["metric"] for row in rows] == ["WEAT-ES", "SEAT-ES"]
    assert all(row["score"] > 1 and row["p_value"] < 0.001 for row in rows)
    how = ["--layer", "0", "--pooling", "first", "--template", "This is {}."]
    both = results(*call, "--encoder", encoder, *how, "--model", "demo")
    assert [row["model_name"] for row in both] == ["demo", "model"]
    assert both[1]["score"] != rows[0]["score"]


def test_ceat_finds_words_in_a_text(asked, encoder, tmp_path):
    query = load_query_set("gender", offline=True)[-1]
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    text = "".join(f"I know the {word}.\nWe saw some {word} there.\n" for word in words)
    (tmp_path / "text.txt").write_text(text)
    call = [*asked(query)[:-1], "--encoder", encoder, "--metric", "ceat"]
    call += ["--param", "ceat.n_samples=50", "--contexts", tmp_path / "text.txt"]
    (row,) = results(*call)
    assert row["score"] > 0.5
    assert row["words_lost"] == 0


def test_a_name_ends_where_something_follows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=0.1").mkdir()
    (tmp_path / "lr=0.1" / "m.zip").write_bytes(b"")
    assert split_name("lr=0.1/m.zip/m.txt") == (None, "lr=0.1/m.zip/m.txt")
    assert split_name("a=lr=0.1/m.zip") == ("a", "lr=0.1/m.zip")
