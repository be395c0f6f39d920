"""Format tables for people and for programs, and references as BibTeX entries."""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import product, starmap
from typing import Any, Literal, TypeAlias

import pandas as pd

from wefe._checks import logger
from wefe._visible import as_csv, escape_markdown, records, visible
from wefe.metrics._registry import as_metric, metric_names
from wefe.results import OPPOSITE

_LONGEST_REASON = 120
_HINT = (
    "Use --format csv, or the report of a study, to see every reason. If you loaded only part of a "
    "model, a larger part contains more words. If a model has a prefix before words, set "
    "vocab_prefix."
)
# Longer texts are cut in tables for people; CSV and JSON keep them whole.
_LONGEST_TEXT = 62
# Longer texts are cut to this length if a table does not fit.
_SHORTEST_TEXT = 24
_GAP = 2
# Width of prose, because longer lines are hard to read.
_LONGEST_LINE = 100
_UNLIMITED = 100_000


# The most important columns first, because narrow terminals have no room for the others.
_SHOWN = ["query", "model", "score", "interval", "p_value", "p_value_holm", "null", "p_value_bh"]
_SHOWN += ["words_used", "words_lost", "note", "nan_reason", "interval_nan_reason"]

# Characters with a meaning in LaTeX and BibTeX.
_LATEX = {ord(mark): rf"\{mark}" for mark in "&%$#_{}"}
_LATEX |= {
    ord("\\"): r"\textbackslash{}",
    ord("~"): r"\textasciitilde{}",
    ord("^"): r"\textasciicircum{}",
}

Format: TypeAlias = Literal["table", "csv", "json", "markdown", "latex"]


def write(
    format: Format,  # noqa: A002 - what it is
    shown: Iterable[tuple[str, pd.DataFrame]],
    data: Mapping[str, pd.DataFrame],
) -> None:
    """Print tables: `shown` with titles for people, `data` for programs (CSV: only the first)."""
    if format == "csv":
        print(as_csv(next(iter(data.values()))), end="")
    elif format == "json":
        # pandas' JSON writer keeps 15 decimals, too few for small p-values.
        rows = {name: records(table) for name, table in data.items()}
        print(json.dumps(rows, indent=2, ensure_ascii=False, default=int))
    elif format == "table":
        for title, frame in shown:
            tell(title)
            print(f"{as_text(frame)}\n")
    else:
        write_one = {"markdown": as_markdown, "latex": as_latex}[format]
        for title, frame in shown:
            print(write_one(title, frame))


def as_text(frame: pd.DataFrame) -> str:
    """Return a table as text, with as many columns as fit the terminal."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    columns = [_column(str(name), frame.iloc[:, i]) for i, name in enumerate(frame)]
    numeric = is_number(frame)
    wide = [max(map(cell_len, column)) for column in columns]
    widths = _fitting(wide, numeric, _room())
    # Drop the columns that do not fit.
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for (heading, *_), to_right, width in zip(columns, numeric, widths, strict=False):
        justify: Literal["left", "right"] = "right" if to_right else "left"
        table.add_column(Text(_cut(heading, width)), justify=justify, no_wrap=True)
    for row in zip(*(column[1:] for column in columns[: len(widths)]), strict=True):
        table.add_row(*(Text(_cut(cell, width)) for cell, width in zip(row, widths, strict=True)))
    lines = [line.rstrip() for line in _rendered(table, _UNLIMITED).splitlines()]
    if len(widths) < len(columns):
        left_out = ", ".join(column[0] for column in columns[len(widths) :])
        text = f"(columns without room: {left_out}; use a wider terminal, or write to a file)"
        lines += textwrap.wrap(text, _room())
    # GitHub Actions obeys lines that begin so, even after spaces.
    return re.sub(r"(?m)^(?=[^\S\n]*(::|##\[))", r"\\", "\n".join(lines))


def as_markdown(title: str, frame: pd.DataFrame) -> str:
    """Return a table in Markdown whose cells cannot contain markup, links or mentions."""
    cells = as_cells(frame)
    rows = [list(cells), *cells.to_numpy().tolist()]
    lines = [f"| {' | '.join(map(escape_markdown, row))} |" for row in rows]
    lines.insert(1, f"|{'|'.join('--:' if each else '---' for each in is_number(frame))}|")
    return "\n".join([f"### {escape_markdown(title)}", "", *lines, ""])


def as_latex(title: str, frame: pd.DataFrame) -> str:
    """Return a table in LaTeX for the package booktabs."""
    text = as_cells(frame).to_latex(
        index=False,
        escape=True,
        caption=visible(title).translate(_LATEX),
        column_format="".join("r" if to_right else "l" for to_right in is_number(frame)),
    )
    return str(text).replace("\n", "\n\\centering\n", 1)


def is_number(frame: pd.DataFrame) -> list[bool]:
    return [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]


def tables_of_scores(tidy: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield one table per metric and query set, with the models of each query together."""
    shown = tidy.rename(columns={"model_name": "model", "query_name": "query"})
    shown["interval"] = interval_text(tidy["score_lower"], tidy["score_upper"])
    shown["null"] = interval_text(tidy["null_lower"], tidy["null_upper"])
    if tidy["p_value"].notna().sum() < 2:
        shown[["p_value_holm", "p_value_bh"]] = None
    shown["note"] = [
        OPPOSITE if str(each).startswith(OPPOSITE) else None for each in tidy["warnings"]
    ]
    for (name, metric), group in shown.groupby(["queries", "metric"], sort=False):
        order = pd.factorize(group["query"])[0].argsort(kind="stable")
        table = group.iloc[order].copy()
        # Name the query only before its first model.
        table.loc[table["query"].duplicated(), "query"] = ""
        no_bias = group["no_bias_value"].iloc[0]
        title = f"{metric}, {name} (no bias: {no_bias:g})"
        yield title, table[_SHOWN].dropna(axis="columns", how="all")


def tell(text: str, style: str = "") -> None:
    """Print a text, in colour on a terminal, where lines end between words."""
    from rich.text import Text

    width = min(_room(), _LONGEST_LINE) if sys.stdout.isatty() else _UNLIMITED
    print(_rendered(Text(visible(text, "\n"), style), width), end="")


def say_undefined(scores: pd.DataFrame) -> None:
    """Log undefined scores, one line per model."""
    undefined = scores[scores["score"].isna()]
    for model, own in undefined.groupby("model_name", sort=False):
        names = own["query_name"].unique()
        what = f"{names[0]} is" if len(names) == 1 else f"{len(names)} queries are"
        why = textwrap.shorten(str(own["nan_reason"].iloc[0]), _LONGEST_REASON, placeholder=" ...")
        logger.warning("%s: %s NaN: %s", model, what, why)
    if len(undefined):
        print(_HINT, file=sys.stderr)


def say_blank(ranking: pd.DataFrame, remedy: str) -> None:
    """Explain a ranking in which no model has a rank."""
    if ranking.isna().all().any():
        text = "Blank: no query was answered by all models. Leave out the models that lack words"
        tell(f"{text}, or {remedy}.", "yellow")


def _rendered(what: Any, width: int) -> str:
    from rich.console import Console

    console = Console(file=sys.stdout, width=width)
    with console.capture() as captured:
        console.print(what)
    return captured.get()


def number_text(x: float) -> str:
    """Format a number with four decimals, or three significant digits if it is small."""
    if x == 0 or not math.isfinite(x):
        return f"{x:.4f}"
    return f"{x:.{min(9, max(4, 2 - math.floor(math.log10(abs(x)))))}f}"


def interval_text(lower: pd.Series, upper: pd.Series) -> pd.Series:
    """Format intervals; None where there is none."""
    texts = [
        None if pd.isna(low) else f"[{number_text(low)}, {number_text(high)}]"
        for low, high in zip(lower, upper, strict=True)
    ]
    return pd.Series(texts, lower.index, dtype=object)


def p_value_text(p: float) -> str:
    """Format a p-value with four decimals, or its order of magnitude if it is smaller."""
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"


def as_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of strings with headings for people."""
    columns = [_column(str(name), frame.iloc[:, i]) for i, name in enumerate(frame)]
    return pd.DataFrame({column[0]: column[1:] for column in columns}, index=frame.index)


def _column(name: str, column: pd.Series) -> list[str]:
    """Return the heading and the cells of a column; cells without a value are empty."""
    write = number_text if pd.api.types.is_float_dtype(column) else lambda x: visible(str(x))
    if name.startswith("p_value"):
        write, column = p_value_text, column.astype(float)
    cells = zip(column, column.isna(), strict=True)
    shown = ["" if is_missing else write(cell) for cell, is_missing in cells]
    return [visible(name).replace("_", " "), *shown]


def _room() -> int:
    """Return the width of the terminal; files and pipes have no limit."""
    if not sys.stdout.isatty():
        return _UNLIMITED
    from rich.console import Console

    return Console().width


def _fitting(wide: list[int], numeric: list[bool], room: int) -> list[int]:
    """Return the widths of the first columns that fit; long texts are cut to the same length."""
    widths: list[int] = []
    lengths = range(_LONGEST_TEXT, _SHORTEST_TEXT - 1, -1)
    for n, length in product(range(len(wide), 0, -1), lengths):
        columns = zip(wide[:n], numeric, strict=False)
        widths = [width if is_one else min(width, length) for width, is_one in columns]
        if sum(widths) + _GAP * (n - 1) <= room:
            break
    return widths


def _cut(text: str, most: int) -> str:
    """Cut a long text in the middle, because names of queries differ at both ends."""
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[head + 1 - most :]}"


# References that no metric has, in the same form: authors, title, venue and year.
RANKING = (
    'Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework", '
    "IJCAI 2020."
)
AUDIT = (
    'Schröder, Schulz, Hinder and Hammer, "Semantic Properties of Cosine Based Bias Scores for '
    'Word Embeddings", ICPRAM 2024.'
)
INTERVALS = (
    'Efron, "Better Bootstrap Confidence Intervals", Journal of the American Statistical '
    "Association 82, 1987."
)
ADJUSTED = (
    'Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of '
    'Statistics 6, 1979. Benjamini and Hochberg, "Controlling the False Discovery Rate: A '
    'Practical and Powerful Approach to Multiple Testing", Journal of the Royal Statistical '
    "Society B 57, 1995."
)
_REFERENCE = re.compile(r'([^".]+(?:et al\.)?), "([^"]+)",(?: ([^"]*?),?)? ((?:19|20)\d\d)\b')
_SOURCE = re.compile(r"^([\w-]+).*\b((?:19|20)\d\d)", re.MULTILINE)


def bibtex(metrics: Iterable[str], query_sets: Iterable[str], others: Iterable[str]) -> str:
    """Return the BibTeX entries of metrics, published query sets and other methods used."""
    from wefe.datasets import list_query_sets

    entries = _entries([*(as_metric(name).reference for name in metrics), *others])
    known = _entries([RANKING, *(as_metric(name).reference for name in metric_names())])
    sources = {entry["name"]: str(entry["source"]) for entry in list_query_sets()}
    cited = "\n".join(sources.get(name, "") for name in query_sets)
    keys = starmap(_key, _SOURCE.findall(cited))
    entries |= {key: known[key] for key in keys if key in known}
    return "\n".join(entries.values())


def others_used(tidy: pd.DataFrame, *, audited: bool) -> list[str]:
    """Return the references that a table of scores needs besides metrics and query sets."""
    used = {
        INTERVALS: tidy["score_lower"].notna().any(),
        AUDIT: audited,
        ADJUSTED: tidy["p_value"].notna().sum() > 1,
        RANKING: tidy["model_name"].nunique() > 1,
    }
    return [reference for reference, is_used in used.items() if is_used]


def _entries(references: Iterable[str]) -> dict[str, str]:
    entries = {}
    for authors, title, venue, year in _REFERENCE.findall(" ".join(references)):
        names = re.split(r", | and ", authors.strip().replace(" et al.", ", others"))
        fields = {"author": " and ".join(names), "title": title, "year": year}
        fields |= {"howpublished": venue} if venue else {}
        fields = {name: text.translate(_LATEX) for name, text in fields.items()}
        # BibTeX keeps the capitals of what stands in braces.
        fields["title"] = f"{{{fields['title']}}}"
        lines = [f"  {name} = {{{text}}},\n" for name, text in fields.items()]
        key = _key(names[0], year)
        entries[key] = f"@misc{{{key},\n{''.join(lines)}}}\n"
    return entries


def _key(author: str, year: str) -> str:
    # BibTeX keys are ASCII letters.
    plain = unicodedata.normalize("NFKD", author.casefold()).encode("ascii", "ignore").decode()
    return f"{plain}{year}"
