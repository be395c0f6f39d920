"""Tables in files: the same numbers to the last bit, under names that are safe."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from made_results import results_of

from wefe._visible import as_csv
from wefe.study import Outcome
from wefe.study._export import write_tables

ANY = {"RND": {"s": {"q": {"m": 0.5}}}}


def read(path):
    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".json":
        return pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    return pd.read_parquet(path)


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
    found = read(tmp_path / f"results.{kind}")
    assert list(found) == list(tidy)
    for column in ("score", "no_bias_value", "seconds"):
        np.testing.assert_array_equal(found[column].to_numpy(float), tidy[column])
    for column in ("metric", "query_name", "model_name", "nan_reason", "status", "failure"):
        assert found[column].fillna("").tolist() == tidy[column].fillna("").tolist()
    failures = read(tmp_path / f"failures.{kind}")
    assert failures.to_dict("records") == odd.failures().to_dict("records")
    for name in ("aggregated", "rankings", "correlations"):
        found = read(tmp_path / f"{name}.{kind}").set_index("query_set")
        assert list(found.index.unique()) == ["Overall", "gender", "faith"]
        for place, rows in found.groupby(level=0):
            matrix = getattr(odd, name)(place)
            assert rows.iloc[:, 0].tolist() == matrix.index.tolist()
            np.testing.assert_array_equal(rows[list(matrix)].to_numpy(float), matrix)


def test_provenance_says_what_was_computed_and_from_what(odd, tmp_path):
    names = odd.export(tmp_path)
    tables = ["results", "failures", "aggregated", "rankings", "correlations"]
    assert names == [*(f"{name}.csv" for name in tables), "provenance.json"]
    text = (tmp_path / "provenance.json").read_text(encoding="utf-8")
    data = json.loads(text, parse_constant=pytest.fail)
    assert (data["study"], data["exported_by"].split()[0]) == ("By hand", "wefe")
    assert data["tasks"] == {"done": 7, "failed": 1, "missing": 0}
    words = [query["target_sets"] for query in data["plan"]["queries"].values()]
    assert words == [query.target_sets for query in odd.plan.queries.values()]


def test_what_cannot_be_written_is_refused_before_a_folder_is_made(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for kind, error, says in (("xlsx", ValueError, "format"), ("parquet", ImportError, "parquet")):
        with pytest.raises(error, match=says):
            write_tables({}, {}, tmp_path / "out", kind)
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
    assert names[2] == "quality.json"
    found = read(tmp_path / "quality.json")
    assert found["model_name"].tolist() == ["a", "b", "c"]
    assert found["score"][0] == 0.1 + 0.2
    assert (found["nan_reason"][1], found["failure"][2]) == ("lost words", "broken")
    assert found["status"].tolist() == ["done", "done", "failed"]


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
