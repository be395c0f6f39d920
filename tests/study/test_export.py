"""Tables in files: the same numbers to the last bit, under names that are safe."""

import io
import json
import sys
import unicodedata

import numpy as np
import pandas as pd
import pytest

from wefe._visible import as_csv
from wefe.study import Outcome, StudyResults

export = StudyResults.export

FORMATS = ["csv", "json", "parquet"]


def read(path):
    if path.suffix == ".csv":
        # Not pandas' own reader of numbers, which may round the last bit.
        texts = pd.read_csv(path, dtype=str)
        return pd.DataFrame({name: column.map(_number) for name, column in texts.items()})
    if path.suffix == ".json":
        return pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    return pd.read_parquet(path)


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text


def table(folder, **about):
    """Read the table that provenance.json says to be about this."""
    files = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["files"]
    (name,) = [name for name, entry in files.items() if entry == about]
    return read(folder / name)


@pytest.fixture
def odd(results_of):
    """Numbers that few digits do not tell apart, NaN, a failure."""
    third = 1 / 3
    return results_of(
        {
            "WEAT-ES": {
                "gender": {
                    "art": {"a": third, "b": np.nextafter(third, 1)},
                    "job": {"a": 1e-300, "b": -1.2345678901234567e-7},
                },
                "faith": {"mood": {"a": "too many words lost", "b": 0.1}},
            },
            "ECT": {"gender": {"art": {"a": Outcome("failed", reason="broken, 'file'"), "b": 0.9}}},
        },
        settings={"external": [{"name": "WEB", "best": "higher", "scores": {"a": 0.1, "b": 0.2}}]},
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_read_is_what_was_computed_to_the_last_bit(odd, tmp_path, kind):
    names = export(odd, tmp_path, kind)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    tidy, found = odd.to_frame(), table(tmp_path, table="results")
    assert list(found) == list(tidy)
    for column in ("score", "no_bias_value", "p_value", "seconds"):
        expected = tidy[column].to_numpy(dtype=float)
        np.testing.assert_array_equal(found[column].to_numpy(dtype=float), expected)
    for column in ("model_name", "query_set", "metric", "query_name", "status"):
        assert found[column].tolist() == tidy[column].tolist()
    for column in ("nan_reason", "failure"):
        expected = [text if isinstance(text, str) else None for text in tidy[column]]
        assert [text if isinstance(text, str) else None for text in found[column]] == expected
    for place in ("Overall", "gender", "faith"):
        for name, matrix in (
            ("aggregated", odd.aggregated(place)),
            ("rankings", odd.rankings(place)),
            ("correlations", odd.correlations(place)),
        ):
            found = table(tmp_path, table=name, query_set=place)
            found = found.set_index(found.columns[0])
            assert list(found) == list(matrix)
            assert found.index.tolist() == matrix.index.tolist()
            np.testing.assert_array_equal(found.to_numpy(dtype=float), matrix.to_numpy())
    matrix = odd.scores("WEAT-ES", "gender")
    found = table(tmp_path, table="scores", metric="WEAT-ES", query_set="gender")
    assert list(found) == ["model_name", *matrix]
    np.testing.assert_array_equal(found[list(matrix)].to_numpy(dtype=float), matrix.to_numpy())


def test_the_files_are_named_by_what_they_hold(odd, tmp_path):
    assert export(odd, tmp_path / "new" / "folder") == [
        "results.csv",
        "failures.csv",
        "aggregated-overall.csv",
        "rankings-overall.csv",
        "correlations-overall.csv",
        "aggregated-gender.csv",
        "rankings-gender.csv",
        "correlations-gender.csv",
        "aggregated-faith.csv",
        "rankings-faith.csv",
        "correlations-faith.csv",
        "scores-weat-es-gender.csv",
        "scores-weat-es-faith.csv",
        "scores-ect-gender.csv",
        "provenance.json",
    ]
    failures = read(tmp_path / "new" / "folder" / "failures.csv")
    assert failures.to_dict("records") == [
        {"model_name": "a", "reason": "broken, 'file'", "n_tasks": 1}
    ]
    overall = read(tmp_path / "new" / "folder" / "rankings-overall.csv")
    assert overall["WEB"].tolist() == [2, 1]


EVIL = [
    *("../../outside", "/etc/passwd", "..", ".", "", "   ", "a/b", "a\\b", "A/B", "a b", "a-b"),
    *("x" * 300, "x" * 301, "gender", "Gender", "gender-2", "overall", "💣", "道" * 300, "Ω"),
    *("CON", "nul\x00", "a\nb", "é", "e\u0301", "ﬁ", "fi", "?*:|<>"),
]


def test_no_name_of_a_query_set_leaves_the_folder_or_meets_another(results_of, tmp_path):
    target = tmp_path / "out" / "tables"
    results = results_of(
        {
            "RND": {name: {"q": {"m": float(i)}} for i, name in enumerate(EVIL)},
            "RND-a": {"b": {"q": {"m": -1.0}}},
            "RND a b": {"": {"q": {"m": -2.0}}},
        }
    )
    names = export(results, target)
    n_sets, n_matrices = len(EVIL) + 1, len(EVIL) + 2
    assert len(names) == 2 + 3 * (1 + n_sets) + n_matrices + 1
    # Disks may not tell case, nor ways to write an accent.
    assert len({unicodedata.normalize("NFD", name).casefold() for name in names}) == len(names)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tables"]
    assert {path.name for path in target.iterdir()} == set(names)
    assert all(len(name.encode()) < 255 for name in names)
    for i, name in enumerate(EVIL):
        found = table(target, table="scores", metric="RND", query_set=name)
        assert found.iloc[0, 1] == i
    assert table(target, table="scores", metric="RND-a", query_set="b").iloc[0, 1] == -1


def test_a_column_may_have_the_name_that_is_given_to_the_models(results_of, tmp_path):
    results = results_of({"ranking": {"s": {"model_name": {"m": 0.5, "n": 0.25}}}})
    for kind in FORMATS:
        export(results, tmp_path / kind, kind)
        found = table(tmp_path / kind, table="scores", metric="ranking", query_set="s")
        assert list(found)[:2] == ["model_name_", "model_name"]
        found = table(tmp_path / kind, table="correlations", query_set="s")
        assert list(found) == ["ranking_", "ranking"]


def test_provenance_says_what_was_computed_and_from_what(odd, tmp_path):
    export(odd, tmp_path)
    text = (tmp_path / "provenance.json").read_text(encoding="utf-8")

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    data = json.loads(text, parse_constant=refuse)
    assert data["study"] == "Study"
    assert data["tasks"] == {"done": 7, "failed": 1, "missing": 0}
    assert data["exported_by"].startswith("wefe ")
    assert {part["name"] for part in data["plan"]["query_sets"]} == {"gender", "faith"}
    words = [query["target_sets"] for query in data["plan"]["queries"].values()]
    assert words == [[["she"], ["he"]]] * len(words)
    assert data["files"]["scores-ect-gender.csv"] == {
        "table": "scores",
        "metric": "ECT",
        "query_set": "gender",
    }


def test_an_unknown_format_is_refused(odd, tmp_path):
    with pytest.raises(ValueError, match="format must be one of 'csv', 'json', 'parquet'"):
        export(odd, tmp_path / "out", "xlsx")
    assert not (tmp_path / "out").exists()


def test_parquet_without_pyarrow_names_what_to_install(odd, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"wefe\[parquet\]"):
        export(odd, tmp_path / "out", "parquet")
    assert not (tmp_path / "out").exists()


def test_parquet_has_one_type_for_a_column_whatever_it_holds(odd, results_of, tmp_path):
    import pyarrow.parquet as pq

    export(odd, tmp_path / "odd", "parquet")
    export(results_of({"RND": {"s": {"q": {"m": 1.0}}}}), tmp_path / "plain", "parquet")
    kinds = [
        {
            field.name: str(field.type)
            for field in pq.read_schema(tmp_path / name / "results.parquet")
        }
        for name in ("odd", "plain")
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0]["words_used"] == "int64"
    assert kinds[0]["nan_reason"] in ("string", "large_string")


def test_parquet_does_not_repeat_everything_in_its_header(odd, tmp_path):
    import pyarrow.parquet as pq

    for name in export(odd, tmp_path, "parquet")[:-1]:
        header = pq.read_schema(tmp_path / name).metadata
        assert "too many words" not in str(header)
        assert header.get(b"PANDAS_ATTRS", b"{}") == b"{}"


def test_a_file_that_is_there_is_replaced_whole_and_others_are_left(odd, tmp_path):
    (tmp_path / "mine.csv").write_text("mine")
    (tmp_path / "results.csv").write_text("x" * 1_000_000)
    export(odd, tmp_path)
    assert (tmp_path / "mine.csv").read_text() == "mine"
    text = (tmp_path / "results.csv").read_bytes()
    assert len(pd.read_csv(io.BytesIO(text))) == 8
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".part"]


def test_quality_is_exported_with_what_it_is_over_and_why_it_is_none(results_of, tmp_path):
    value = {"score": 0.1 + 0.2, "n_used": 7, "n_items": 9, "kind": "similarity"}
    none = {"score": None, "n_used": 1, "n_items": 9, "kind": "similarity"}
    results = results_of(
        {"RND": {"s": {"q": {"a": 0.5, "b": 0.25, "c": 0.125}}}},
        settings={"quality": {"name": "Quality"}},
        others=[
            # A result may be that of another model with the same vectors.
            ("quality", "a", {"benchmark": "pairs"}, {**value, "model_name": "other"}),
            ("quality", "b", {"benchmark": "pairs"}, {**none, "nan_reason": "lost words"}),
            ("quality", "c", {"benchmark": "pairs"}, Outcome("failed", reason="broken")),
        ],
    )
    export(results, tmp_path, "json")
    found = table(tmp_path, table="quality")
    assert found["model_name"].tolist() == ["a", "b", "c"]
    assert found["score"].tolist()[0] == 0.1 + 0.2
    assert found["n_used"].tolist()[:2] == [7, 1]
    assert found["nan_reason"].tolist()[1] == "lost words"
    assert found["failure"].tolist()[2] == "broken"
    assert found["status"].tolist() == ["done", "done", "failed"]


def test_results_without_scores_are_exported(results_of, tmp_path):
    assert export(results_of({}), tmp_path / "none") == [
        *("results.csv", "failures.csv", "provenance.json")
    ]
    task = ("quality", "a", {"benchmark": "pairs"}, {"score": 0.5, "n_used": 1})
    some = results_of({}, others=[task], settings={"quality": {"name": "Quality"}})
    names = export(some, tmp_path / "some")
    assert names[2:5] == ["quality.csv", "rankings-overall.csv", "correlations-overall.csv"]


def test_tables_of_an_earlier_export_do_not_stay(results_of, tmp_path):
    scores = {"RND": {name: {"q": {"m": 0.5}} for name in ("first", "second")}}
    before = export(results_of(scores), tmp_path)
    (tmp_path / "scores-mine.csv").write_text("mine")
    after = export(results_of({"RND": {"first": scores["RND"]["first"]}}), tmp_path, "json")
    assert {path.name for path in tmp_path.iterdir()} == {*after, "scores-mine.csv"}
    assert set(before) - set(after)


@pytest.mark.parametrize(
    "listed",
    [
        "../mine.csv",
        "results-x/../../mine.csv",
        "mine.csv",
        "results-mine.txt",
        "results-folder.csv",
        "results-\0.csv",
        "",
    ],
)
def test_only_tables_in_the_folder_are_ever_removed(results_of, tmp_path, listed):
    target = tmp_path / "out"
    (target / "results-folder.csv").mkdir(parents=True)
    mine = [tmp_path / "mine.csv", target / "mine.csv", target / "results-mine.txt"]
    for path in mine:
        path.write_text("mine")
    (target / "provenance.json").write_text(json.dumps({"files": {listed: {}}}))
    export(results_of({"RND": {"s": {"q": {"m": 0.5}}}}), target)
    assert all(path.read_text() == "mine" for path in mine)
    assert (target / "results-folder.csv").is_dir()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 3}', "[" * 100_000])
def test_a_file_that_is_no_provenance_removes_nothing(results_of, tmp_path, text):
    (tmp_path / "provenance.json").write_text(text)
    (tmp_path / "results-old.csv").write_text("old")
    export(results_of({"RND": {"s": {"q": {"m": 0.5}}}}), tmp_path)
    assert (tmp_path / "results-old.csv").exists()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_csv_holds_no_text_that_a_spreadsheet_takes_for_a_formula(start, results_of, tmp_path):
    name = f"{start}1+1"
    export(results_of({"RND": {"s": {name: {name: -0.5, "plain": 0.25}}}}), tmp_path)
    read = pd.read_csv(tmp_path / "results.csv")
    # A carriage return would end the row, as Python does not put it into quotes.
    safe = "'" + name.replace("\r", r"\u000d")
    assert read["model_name"].tolist() == [safe, "plain"]
    # Numbers stay numbers.
    assert read["score"].tolist() == [-0.5, 0.25]


def test_numbers_of_csv_are_those_of_the_table_whatever_their_type():
    table = pd.DataFrame(
        {
            "=mixed": [-1, "-1", None],
            "whole": pd.array([-1, None, 3], "Int64"),
            "biased": pd.array([True, None, False], "boolean"),
            "kind": pd.Categorical(["-a", "b", None]),
        }
    )
    assert as_csv(table).splitlines() == [
        "'=mixed,whole,biased,kind",
        "-1,-1,True,'-a",
        "'-1,,,b",
        ",3,False,",
    ]
    assert as_csv(table.iloc[:0]) == "'=mixed,whole,biased,kind\n"
