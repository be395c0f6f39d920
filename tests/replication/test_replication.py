"""The list of papers, the comparison of printed values, and models as they may be given."""

import html
import math

import pandas as pd
import pytest

from wefe import WordEmbeddingModel, load_test_model, replicate
from wefe.replication import list_replications
from wefe.replication._replication import _printed, compared

PRINTED = pd.DataFrame(
    {
        "table": "Table 1",
        "item": ["a", "b", "c", "d", "e"],
        "score": "effect size",
        "model": ["GloVe", "GloVe", "GloVe", "GloVe", "w2v"],
        "printed": [1.5, 1.5, 1e-7, 0.3, 0.2],
        "tolerance": ["0.03", "0.03", "x10", "0.01", "0.01"],
        "reason": ["", "", "", "another list", ""],
        "source": "page 1",
    }
)


@pytest.mark.parametrize(
    ("item", "value", "verdict", "reason"),
    [
        ("a", 1.53, "agrees", ""),
        ("b", math.nan, "not comparable", "words are missing"),
        ("d", 0.32, "differs", "another list"),
        ("e", None, "not comparable", "no model called 'w2v' was given"),
        # A factor is one either way, and needs the sign.
        ("c", 9e-7, "agrees", ""),
        ("c", 1.1e-8, "agrees", ""),
        ("c", 0.9e-8, "differs", ""),
        ("c", 1.1e-6, "differs", ""),
        ("c", 0.0, "differs", ""),
        ("c", -1e-7, "differs", ""),
    ],
)
def test_printed_values_are_judged_with_their_tolerance(item, value, verdict, reason):
    found = {} if value is None else {(item, "effect size", "glove"): value}
    row = (
        compared(PRINTED, {("a", "effect size", "glove"): 1.5, **found}).set_index("item").loc[item]
    )
    assert row["verdict"] == verdict
    assert reason in row["reason"]


@pytest.mark.parametrize("name", list_replications().index)
def test_every_printed_value_has_a_model_a_tolerance_and_a_source(name):
    printed = _printed(name)
    paper = list_replications().loc[name]
    assert len(printed) > 0
    named = {name for pair in printed["model"] for name in pair.split(" and ")}
    assert named <= {"", *paper["models"]}
    assert (printed["source"] != "").all()
    assert printed["printed"].notna().all()
    # Some values are printed twice, in different places.
    assert not printed.duplicated(["item", "score", "model", "source"]).any()
    assert printed["tolerance"].str.removeprefix("x").astype(float).ge(0).all()


def test_models_are_files_open_models_or_entries(tmp_path):
    model = load_test_model()
    model.save(tmp_path / "mine.txt.gz", progress=False)
    given = {"open": model, "file": tmp_path / "mine.txt.gz", "entry": {"source": "demo"}}
    table, *_ = replicate("weat", given, folder=tmp_path / "out", progress=False).tables.values()
    for other in "file", "entry":
        assert table[f"d, {other}"].tolist() == pytest.approx(table["d, open"].tolist(), abs=1e-6)


def test_a_second_call_computes_nothing_again(tmp_path):
    first, second = (replicate("weat", folder=tmp_path, progress=False) for _ in range(2))
    assert first.results.run["n_computed"] > 0
    assert second.results.run["n_computed"] == 0
    for title, table in first.tables.items():
        pd.testing.assert_frame_equal(second.tables[title], table)


def test_what_is_given_is_checked():
    with pytest.raises(ValueError, match="'weat'"):
        replicate("nothing")


@pytest.mark.parametrize("name", ["weat", "documentation", "cosine"])
def test_each_paper_has_a_report_also_of_a_model_without_the_words(name, tmp_path, few):
    replication = replicate(name, {"<b>mine</b>": few}, progress=False)
    values = replication.comparison[replication.comparison["model"] != ""]
    assert set(values["verdict"]) == {"not comparable"}
    assert replication.write(tmp_path)[:2] == ["report.html", "comparison.csv"]
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.index('id="paper"') < text.index('id="summary"')
    assert "<b>mine</b>" not in text
    for title in [*replication.tables, *replication.figures]:
        assert html.escape(title.split(":")[0]) in text
    assert len(pd.read_csv(tmp_path / "comparison.csv")) == len(replication.comparison)


def test_a_model_that_cannot_be_opened_is_named(tmp_path):
    lost = {"table": str(tmp_path / "lost.txt"), "encoder": {"encoder": str(tmp_path / "nowhere")}}
    found = replicate("weat", {**lost, "demo": "demo"}, progress=False)
    assert any(note.startswith("table: FileNotFoundError") for note in found.notes)
    assert "table: FileNotFoundError" in found.to_html()
    assert "nowhere" in found.to_html()
    with pytest.raises(ValueError, match="table: FileNotFoundError"):
        replicate("weat", {"table": lost["table"]}, progress=False)


def test_models_with_a_prefix_give_the_same_results(tmp_path):
    model = load_test_model()
    words = [f"/c/en/{word}" for word in model.vocab]
    prefixed = WordEmbeddingModel((words, model.vectors))
    # Of a text file, only the words asked for are read.
    prefixed.save(tmp_path / "prefixed.txt", progress=False)
    entry = {"source": str(tmp_path / "prefixed.txt"), "vocab_prefix": "/c/en/"}
    found = replicate("rnsb", {"open": model, "prefixed": entry}, progress=False)
    (table,) = found.tables.values()
    assert table["prefixed"].tolist() == pytest.approx(table["open"].tolist(), abs=1e-6)
