"""`wefe retrieval`: how an encoder ranks documents that differ in a name only."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from wefe._files import atomic_file
from wefe._visible import as_csv
from wefe.cli import _options as opt
from wefe.cli._inputs import read_lines, split_name
from wefe.cli._output import Format, interval_text, write

if TYPE_CHECKING:
    from wefe.retrieval import RankingAudit

_GROUPS = ["attribute", "group", "n_names", "selection_rate", "impact_ratio", "interval"]
_GAPS = ["attribute", "group", "other", "gap", "interval", "p_value", "p_value_holm"]


@opt.command
def retrieval(
    *,
    encoder: str,
    queries: Path,
    documents: Path,
    out: Path,
    names: Path | None = None,
    k: int = 10,
    bootstrap: int = 1000,
    seed: int = 0,
    layer: int = -1,
    pooling: opt.Pooling = "auto",
    format: Format = "table",
) -> None:
    """Audit whom an encoder ranks first.

    Every document is filled with every name, and each query ranks them all. The tables show how
    often each group is among the top documents, and whether the mean scores of groups differ by
    more than exchanged names would.

    Prints groups and gaps, and writes all tables as CSV (groups, gaps, queries, templates, names,
    null, decided) and retrieval.html, the impact ratios. Frequencies of names need the extra
    'names'.

    Example: wefe retrieval --encoder org/name --queries jobs.txt --documents cvs.txt --out audit

    Parameters
    ----------
    encoder : FOLDER
        A sentence encoder: a folder that transformers or sentence-transformers saved, or 'org/name'
        on Hugging Face (needs the extra 'transformers'). NAME=FOLDER gives it a name.
    queries : FILE
        A text file with one query per line, for example job advertisements.
    documents : FILE
        A text file with one document per line, each with one {} where the name goes.
    out : FOLDER
        The folder to write to.
    names : FILE
        A JSON object of groups and lists of their names; 'female, black' is an intersection.
        Default: the names of Bertrand and Mullainathan (2004) by gender and ethnicity.
    k, -k : N >= 1
        Number of documents that each query selects.
    bootstrap : N >= 40
        Number of resamples of names and queries for 95 % intervals.
    seed : N >= 0
        Seed of resamples.
    format
        How to print the tables.
    """
    from wefe.contextual import load_encoder
    from wefe.retrieval import audit_ranking, load_resume_names, name_frequencies
    from wefe.retrieval._texts import check_groups

    asked = read_lines("--queries", queries)
    templates = read_lines("--documents", documents)
    groups = check_groups(load_resume_names() if names is None else _read_names(names))
    every = [name for own in groups.values() for name in own]
    has_frequencies = importlib.util.find_spec("wordfreq") is not None
    name, source = split_name(encoder)
    audit = audit_ranking(
        load_encoder(source, name=name, layer=layer, pooling=pooling),
        asked,
        templates,
        groups,
        k=k,
        frequency=name_frequencies(every) if has_frequencies else None,
        n_bootstrap=bootstrap,
        random_state=seed,
    )
    out.mkdir(parents=True, exist_ok=True)
    files = {f"{name}.csv": as_csv(table) for name, table in audit.tables().items()}
    files["retrieval.html"] = audit.plot().to_html(include_plotlyjs=True)
    for name, text in files.items():
        with atomic_file(out / name) as file:
            file.write(text.encode())
    write(format, _shown(audit), audit.tables())
    if format == "table":
        print(f"Written to {out}: {', '.join(files)}")


def _read_names(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"--names {path} must be a file in JSON: {error}.") from error


def _shown(audit: RankingAudit) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables that people look at first."""
    for table, column, columns, title in (
        (audit.groups, "impact_ratio", _GROUPS, f"Selected in the top {audit.k}, by group"),
        (audit.gaps, "gap", _GAPS, "Gaps of mean scores (group less other)"),
    ):
        bounds = table[f"{column}_lower"], table[f"{column}_upper"]
        intervals = pd.Series(interval_text(*bounds), dtype=object)
        yield title, table.assign(interval=intervals)[columns]
    yield (
        "Changed when names are exchanged (share of queries, share of the top places)",
        audit.decided,
    )
