"""Tables in files: the same numbers to the last bit, under names that are safe."""

import json
import sys
import unicodedata

import numpy as np
import pandas as pd
import pytest
from made_results import results_of

from wefe._visible import as_csv
from wefe.study import Outcome

ANY = {"RND": {"s": {"q": {"m": 0.5}}}}


def read(path):
    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".json":
        return pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    return pd.read_parquet(path)


def table(folder, **about):
    """Read the table that provenance.json says to be about this."""
    files = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["files"]
    (name,) = [name for name, entry in files.items() if entry == about]
    return read(folder / name)


def same(found, matrix):
    assert found.iloc[:, 0].tolist() == matrix.index.tolist()
    assert list(found)[1:] == list(matrix)
    np.testing.assert_array_equal(found.iloc[:, 1:].to_numpy(float), matrix)


@pytest.fixture
def odd():
    """Numbers that few digits do not tell apart, NaN, a failure."""
    third = 1 / 3
    art = {"a": third, "b": float(np.nextafter(third, 1))}
    job = {"a": 1e-300, "b": -1.2345678901234567e-7}
    return results_of(
        {
            "WEAT-ES": {
                "gender": {"art": art, "job": job},
                "faith": {"mood": {"a": "too many words lost", "b": 0.1}},
            },
            "ECT": {
                "gender": {"art": {"a": Outcome("failed", failure="broken, 'file'"), "b": 0.9}}
            },
        },
        settings={"external": [{"name": "WEB", "best": "higher", "scores": {"a": 0.1, "b": 0.2}}]},
    )


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_what_is_read_is_what_was_computed_to_the_last_bit(odd, tmp_path, kind):
    tmp_path = tmp_path / "new" / "folder"
    names = odd.export(tmp_path, kind)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)

    tidy = odd.to_frame()
    found = table(tmp_path, table="results")
    assert list(found) == list(tidy)
    for column in ("score", "no_bias_value", "seconds"):
        np.testing.assert_array_equal(found[column].to_numpy(float), tidy[column])
    for column in ("metric", "query_name", "model_name", "nan_reason", "status", "failure"):
        assert found[column].fillna("").tolist() == tidy[column].fillna("").tolist()
    failures = table(tmp_path, table="failures")
    assert failures.to_dict("records") == odd.failures().to_dict("records")
    for name in ("aggregated", "rankings", "correlations"):
        for place in ("Overall", "gender", "faith"):
            found = table(tmp_path, table=name, query_set=place)
            same(found, getattr(odd, name)(place))
    found = table(tmp_path, table="scores", metric="WEAT-ES", query_set="gender")
    same(found, odd.scores("WEAT-ES", "gender"))


def test_provenance_says_what_was_computed_and_from_what(odd, tmp_path):
    names = odd.export(tmp_path)
    first = ["results.csv", "failures.csv", "aggregated-overall.csv", "rankings-overall.csv"]
    assert names[:4] == first
    assert names[-2:] == ["scores-ect-gender.csv", "provenance.json"]
    text = (tmp_path / "provenance.json").read_text(encoding="utf-8")
    data = json.loads(text, parse_constant=pytest.fail)
    assert (data["study"], data["exported_by"].split()[0]) == ("By hand", "wefe")
    assert data["tasks"] == {"done": 7, "failed": 1, "missing": 0}
    words = [query["target_sets"] for query in data["plan"]["queries"].values()]
    assert words == [query.target_sets for query in odd.plan.queries.values()]
    about = {"table": "scores", "metric": "ECT", "query_set": "gender"}
    assert data["files"]["scores-ect-gender.csv"] == about


EVIL = [
    *("../../outside", "/etc/passwd", "..", ".", "", "   ", "a/b", "a\\b", "A/B", "a b", "a-b"),
    *("x" * 300, "x" * 301, "gender", "Gender", "gender-2", "overall", "💣", "道" * 300, "Ω"),
    *("CON", "nul\x00", "a\nb", "é", "e\u0301", "ﬁ", "fi", "?*:|<>"),
]


def test_no_name_of_a_query_set_leaves_the_folder_or_meets_another(tmp_path):
    target = tmp_path / "out" / "tables"
    sets = {name: {"q": {"m": float(i)}} for i, name in enumerate(EVIL)}
    names = results_of({"RND": sets, "RND-a": {"b": {"q": {"m": -1.0}}}}).export(target)
    assert len(names) == 2 + 3 * (len(EVIL) + 2) + len(EVIL) + 2
    # Disks may not tell case, nor ways to write an accent.
    assert len({unicodedata.normalize("NFD", name).casefold() for name in names}) == len(names)
    assert len([*tmp_path.rglob("*")]) == len(names) + 2
    assert {path.name for path in target.iterdir()} == set(names)
    assert all(len(name.encode()) < 255 for name in names)
    for i, name in enumerate(EVIL):
        found = table(target, table="scores", metric="RND", query_set=name)
        assert found.iloc[0, 1] == i


def test_what_cannot_be_written_is_refused_before_a_folder_is_made(odd, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for kind, error, says in (("xlsx", ValueError, "format"), ("parquet", ImportError, "parquet")):
        with pytest.raises(error, match=says):
            odd.export(tmp_path / "out", kind)
    assert not (tmp_path / "out").exists()


def test_parquet_has_one_type_for_a_column_and_no_data_in_its_header(odd, tmp_path):
    import pyarrow.parquet as pq

    names = odd.export(tmp_path / "odd", "parquet")
    results_of(ANY).export(tmp_path / "plain", "parquet")
    one, other = (pq.read_schema(tmp_path / kind / "results.parquet") for kind in ("odd", "plain"))
    assert one.types == other.types
    headers = [str(pq.read_schema(tmp_path / "odd" / name).metadata) for name in names[:-1]]
    assert "too many words" not in "".join(headers)


def test_quality_is_exported_with_what_it_is_over_and_why_it_is_none(tmp_path):
    value = {"score": 0.1 + 0.2, "n_used": 7, "n_items": 9, "kind": "similarity"}
    cells = {
        # A result may be that of another model with the same vectors.
        "a": {**value, "model_name": "other"},
        "b": {**value, "score": None, "n_used": 1, "nan_reason": "lost words"},
        "c": Outcome("failed", failure="broken"),
    }
    others = [("quality", model, {"benchmark": "pairs"}, cell) for model, cell in cells.items()]
    results = results_of({}, {"quality": {"name": "Quality"}}, others=others)
    names = results.export(tmp_path, "json")
    assert names[2:5] == ["quality.json", "rankings-overall.json", "correlations-overall.json"]
    found = table(tmp_path, table="quality")
    assert found["model_name"].tolist() == ["a", "b", "c"]
    assert found["score"][0] == 0.1 + 0.2
    assert (found["nan_reason"][1], found["failure"][2]) == ("lost words", "broken")
    assert found["status"].tolist() == ["done", "done", "failed"]


# Files that are there already


def test_tables_of_an_earlier_export_are_replaced_and_other_files_left(tmp_path):
    results_of({"RND": {**ANY["RND"], "gone": ANY["RND"]["s"]}}).export(tmp_path)
    (tmp_path / "scores-mine.csv").write_text("mine")
    after = results_of(ANY).export(tmp_path, "json")
    # Nothing is left of a file that was being written.
    assert {path.name for path in tmp_path.iterdir()} == {*after, "scores-mine.csv"}


@pytest.mark.parametrize(
    "provenance",
    [
        *('{"files": {"results-x/../../mine.csv": {}}}', '{"files": {"mine.csv": {}}}'),
        *('{"files": {"results-mine.txt": {}}}', '{"files": {"results-folder.csv": {}}}'),
        *("", "[]", "{}", '{"files": 3}', "[" * 100_000),
    ],
    ids=lambda text: text[:40],
)
def test_only_tables_in_the_folder_that_were_exported_are_removed(tmp_path, provenance):
    target = tmp_path / "out"
    (target / "results-folder.csv").mkdir(parents=True)
    names = ("mine.csv", "out/mine.csv", "out/results-mine.txt", "out/results-old.csv")
    for name in names:
        (tmp_path / name).write_text("mine")
    (target / "provenance.json").write_text(provenance)
    results_of(ANY).export(target)
    assert all((tmp_path / name).read_text() == "mine" for name in names)
    assert (target / "results-folder.csv").is_dir()


# Spreadsheets


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_csv_holds_no_text_that_a_spreadsheet_takes_for_a_formula(start, tmp_path):
    name = f"{start}1+1"
    results_of({"RND": {"s": {name: {name: -0.5, "plain": 0.25}}}}).export(tmp_path)
    found = pd.read_csv(tmp_path / "results.csv")
    # A carriage return would end the row, as Python does not put it into quotes.
    safe = "'" + name.replace("\r", r"\u000d")
    assert found["model_name"].tolist() == [safe, "plain"]
    # Numbers stay numbers.
    assert found["score"].tolist() == [-0.5, 0.25]


def test_headings_and_mixed_columns_of_csv_are_no_formulas_either():
    frame = pd.DataFrame({"=mixed": [-1, "-1", None], "kind": pd.Categorical(["-a", "b", None])})
    assert as_csv(frame).splitlines() == ["'=mixed,kind", "-1,'-a", "'-1,b", ","]
