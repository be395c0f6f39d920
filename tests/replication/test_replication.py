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


def test_printed_values_are_judged_with_their_tolerance():
    measured = {"a": 1.53, "b": math.nan, "c": 9e-7, "d": 0.32}
    table = compared(
        PRINTED, {(item, "effect size", "glove"): value for item, value in measured.items()}
    )
    assert table["verdict"].tolist() == [
        *("agrees", "not comparable", "agrees", "differs", "not comparable")
    ]
    assert table["reason"].tolist() == [
        "",
        "words are missing: the model lacks them, or they were not downloaded",
        *("", "another list"),
        "no model called 'w2v' was given",
    ]


def test_a_factor_is_a_factor_either_way():
    for value, verdict in (1.1e-8, "agrees"), (0.9e-8, "differs"), (1.1e-6, "differs"):
        table = compared(PRINTED, {("c", "effect size", "GloVe"): value})
        assert table.loc[2, "verdict"] == verdict


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
    assert second.tables.keys() == first.tables.keys()
    for title, table in first.tables.items():
        pd.testing.assert_frame_equal(second.tables[title], table)


def test_what_is_given_is_checked():
    with pytest.raises(ValueError, match="'weat'"):
        replicate("nothing")
    with pytest.raises(TypeError, match=r"models\['mine'\].*got int"):
        replicate("weat", {"mine": 3})


def test_the_report_has_the_paper_first(tmp_path):
    words = ["<script>alert(1)</script>"]
    model = WordEmbeddingModel.from_arrays(
        [*load_test_model().vocab, *words], [*load_test_model().vectors, [1.0] * 256], "x"
    )
    replication = replicate("weat", {"<b>mine</b>": model}, progress=False)
    files = replication.write(tmp_path)
    assert files[:3] == ["report.html", "comparison.csv", "table_1.csv"]
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.index('id="paper"') < text.index('id="summary"')
    assert "<b>mine</b>" not in text
    assert "test 4 (18 names)" in text
    assert len(pd.read_csv(tmp_path / "comparison.csv")) == len(replication.comparison)


@pytest.mark.parametrize("name", ["weat", "documentation", "cosine"])
def test_each_paper_has_a_report(name, tmp_path):
    replication = replicate(name, progress=False)
    assert replication.write(tmp_path)[0] == "report.html"
    text = (tmp_path / "report.html").read_text("utf-8")
    for title in [*replication.tables, *replication.figures]:
        assert html.escape(title.split(":")[0]) in text


@pytest.mark.parametrize("name", ["weat", "documentation", "cosine"])
def test_a_model_without_the_words_is_no_error(name):
    few = WordEmbeddingModel.from_arrays(["she", "he"], [[1.0, 0.0], [0.0, 1.0]])
    replication = replicate(name, {"few words": few}, progress=False)
    values = replication.comparison[replication.comparison["model"] != ""]
    assert set(values["verdict"]) == {"not comparable"}


@pytest.mark.parametrize("value", [0.0, -1e-7])
def test_a_factor_needs_the_sign(value):
    table = compared(PRINTED, {("c", "effect size", "GloVe"): value})
    assert table.loc[2, "verdict"] == "differs"


def test_a_model_that_cannot_be_opened_is_named(tmp_path):
    lost = tmp_path / "lost.txt"
    found = replicate("weat", {"lost": str(lost), "demo": "demo"}, progress=False)
    assert any(note.startswith("lost: FileNotFoundError") for note in found.notes)
    assert "lost: FileNotFoundError" in found.to_html()
    with pytest.raises(ValueError, match="lost: FileNotFoundError"):
        replicate("weat", {"lost": str(lost)}, progress=False)


def test_a_report_names_an_encoder_that_cannot_be_opened(tmp_path):
    models = {"lost": {"encoder": str(tmp_path / "nowhere")}, "demo": "demo"}
    assert "nowhere" in replicate("weat", models, progress=False).to_html()
