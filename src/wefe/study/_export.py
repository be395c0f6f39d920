"""Every table of a study in a folder, with a file that says what was computed, and from what."""

from __future__ import annotations

import io
import json
import math
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import pandas as pd

from wefe._checks import check_choice
from wefe._files import atomic_file
from wefe._visible import as_csv
from wefe.study._plan import OVERALL

if TYPE_CHECKING:
    from wefe.study._results import StudyResults

Format: TypeAlias = Literal["csv", "json", "parquet"]

# A file name may have 255 bytes; two names of a study go into one.
_LONGEST_PART = 80
_SUFFIXES = tuple(f".{kind}" for kind in get_args(Format))
# Of what is explored, a file for each kind of table.
_EXPLORED = ("models", "distribution", "extremes", "words", "neighbors")
_TABLES = (
    *("results", "failures", "quality", "aggregated", "rankings", "correlations", "scores"),
    *(f"explore_{name}" for name in _EXPLORED),
)


class _Table(NamedTuple):
    """A table, and what it is of: 'table', 'metric', 'query_set'."""

    about: dict[str, str]
    frame: pd.DataFrame


def export(
    results: StudyResults,
    folder: str | os.PathLike[str],
    format: Format = "csv",  # noqa: A002 - what it is
) -> list[str]:
    """Write every table of a study to a folder.

    All digits are kept: what is read from the files is equal to what was computed, to the last bit,
    if the reader keeps them as well.

    Parameters
    ----------
    results : StudyResults
        What a study found.
    folder : path
        It is made if it does not exist. Tables that an earlier export has written there, by its
        provenance.json, and this one does not, are removed; all other files are left alone.
    format : {'csv', 'json', 'parquet'}, default='csv'
        'json' has a list of records a file, and null for NaN. 'csv' has an apostrophe before a
        text that a spreadsheet would take for a formula.

    Returns
    -------
    list of str
        Names of the files: 'results' (the tidy table), 'failures', 'quality' if the study asks for
        it (a row per model and benchmark, with the items used and the reason for NaN),
        'explore_models' and the other tables of `StudyResults.explore` likewise, then
        'aggregated', 'rankings', 'correlations' and 'scores' of each query set and overall.
        'provenance.json' is last; it says what each file holds, since names of query sets are
        shortened in names of files, and has the study with its models, versions and words.

    Raises
    ------
    ImportError
        If 'parquet' is asked for and pyarrow is not there (``wefe[parquet]``).
    ValueError
        If the format is unknown.

    Examples
    --------
    >>> import tempfile
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = export(results, folder)
    >>> names[:4], names[-1]
    (['results.csv', 'failures.csv', 'aggregated-overall.csv', 'rankings-overall.csv'],
     'provenance.json')
    """
    check_choice("format", format, get_args(Format))
    if format == "parquet":
        check_pyarrow()
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written: dict[str, dict[str, str]] = {}
    for table in _tables(results):
        name = _file_name(table.about, format, written)
        with atomic_file(target / name) as file:
            file.write(_as_bytes(table.frame, format))
        written[name] = table.about
    _remove_others(target, written)
    with atomic_file(target / "provenance.json") as file:
        file.write(_as_json(_provenance(results, written)))
    return [*written, "provenance.json"]


def _tables(results: StudyResults) -> Iterator[_Table]:
    yield _Table({"table": "results"}, results.to_frame())
    yield _Table({"table": "failures"}, results.failures())
    if results.of_kind("quality"):
        yield _Table({"table": "quality"}, _quality(results))
    explored = results.explore()
    if explored is not None:
        for name in _EXPLORED:
            yield _Table({"table": f"explore_{name}"}, getattr(explored, name))
    asked = [name for metric in results.plan.metrics for name in metric.query_sets]
    for name in (OVERALL, *(part.name for part in results.plan.query_sets if part.name in asked)):
        frames = {}
        if asked:
            frames["aggregated"] = _with_index(results.aggregated(name), "model_name")
        if asked or results._external:
            frames["rankings"] = _with_index(results.rankings(name), "model_name")
            frames["correlations"] = _with_index(results.correlations(name), "ranking")
        for table, frame in frames.items():
            yield _Table({"table": table, "query_set": name}, frame)
    for metric in results.plan.metrics:
        for name in metric.query_sets:
            frame = _with_index(results.scores(metric.label, name), "model_name")
            yield _Table({"table": "scores", "metric": metric.label, "query_set": name}, frame)


def _quality(results: StudyResults) -> pd.DataFrame:
    """Return the tidy table of quality: one row per model and benchmark."""
    rows = []
    for task, outcome in results.of_kind("quality"):
        value = outcome.value or {}
        row: dict[str, Any] = {"model_name": task.model, "benchmark": task.place["benchmark"]}
        row |= {name: value.get(name) for name in ("kind", "score", "n_used", "n_items")}
        row |= {"nan_reason": value.get("nan_reason"), "status": outcome.status}
        row |= {"failure": outcome.reason, "key": outcome.key, "seconds": outcome.seconds}
        rows.append(row | {"finished": outcome.finished, "wefe_version": outcome.version})
    types: dict[str, Any] = {"score": float, "n_used": "Int64", "n_items": "Int64"}
    return pd.DataFrame(rows).astype(types)


def _with_index(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a matrix with the names of its rows as the first column."""
    while name in frame.columns:
        name += "_"
    return frame.rename_axis(index=name).reset_index()


# Names of files


def _remove_others(folder: Path, written: Mapping[str, object]) -> None:
    """Remove tables of an earlier export that this one does not have: they would pass for its."""
    try:
        before = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return
    # Anybody may have written that file.
    names = before if isinstance(before, dict) else {}
    kept = {name.casefold() for name in written}
    for name in names:
        is_table = re.split("[-.]", name)[0] in _TABLES and name.endswith(_SUFFIXES)
        if is_table and not re.search(r"[/\\:\0]", name) and name.casefold() not in kept:
            path = folder / name
            if path.is_file() or path.is_symlink():
                path.unlink()


def _file_name(about: Mapping[str, str], format: str, taken: Mapping[str, object]) -> str:  # noqa: A002
    """Return a name that no other file has, whatever names of query sets hold."""
    stem = "-".join([about["table"], *(_slug(about[key]) for key in list(about)[1:])])
    number, name = 1, f"{stem}.{format}"
    while name in taken:
        number += 1
        name = f"{stem}-{number}.{format}"
    return name


def _slug(text: str) -> str:
    """Return letters and digits of any script, in lower case, as some disks know no other."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    parts = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    cut = "-".join(parts).encode()[:_LONGEST_PART].decode(errors="ignore")
    return cut.strip("-") or "unnamed"


# Formats


def _as_bytes(frame: pd.DataFrame, format: Format) -> bytes:  # noqa: A002
    frame = frame.copy()
    # Of another shape in each table, and not always fit for JSON, as which Parquet keeps them.
    frame.attrs = {}
    if format == "csv":
        return as_csv(frame).encode()
    if format == "json":
        return _as_json(frame.astype(object).to_dict("records"))
    texts = frame.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]]
    buffer = io.BytesIO()
    # An empty column of texts would have no type.
    frame.astype(dict.fromkeys(texts, "string")).to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def _as_json(data: object) -> bytes:
    text = json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN, and what is infinite, are null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or value is pd.NA:
        return None
    if isinstance(value, str | bool | int):
        return value
    # What is left are numbers of Python, numpy or pandas.
    number = float(value)
    if not math.isfinite(number):
        return None
    return number if isinstance(value, float) else value.item()


def check_pyarrow() -> None:
    """Refuse parquet where its library is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "format='parquet' needs pyarrow: pip install 'wefe[parquet]'. Or take 'csv' or 'json'."
        ) from error


def _provenance(results: StudyResults, files: Mapping[str, object]) -> dict[str, Any]:
    from wefe import __version__

    plan = json.loads(results.plan.to_json())
    # The table of results has what matters of them.
    del plan["tasks"]
    statuses = [outcome.status for outcome in results.outcomes]
    return {
        "study": results.plan.name,
        "exported_by": f"wefe {__version__}",
        "tasks": {status: statuses.count(status) for status in ("done", "failed", "missing")},
        "run": results.run,
        "models": results.models,
        "files": files,
        "plan": plan,
    }
