"""Show results: as plain data for JSON, as CSV, as HTML, and as text without hidden characters.

Texts are untrusted, because names come from files.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from wefe._checks import logger

if TYPE_CHECKING:
    import jinja2
    import pandas as pd

# Control characters, line ends, marks of text direction, surrogates and noncharacters (reports
# mark names with them). Joiners stay, because some scripts need them.
_HIDDEN = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
HIDDEN = re.compile(f"[{_HIDDEN}]")


def visible(text: str, keep: str = "") -> str:
    r"""Escape invisible and control characters, except those in `keep`.

    >>> print(visible("glove\x1b[2J \u202e"))
    glove\u001b[2J \u202e
    """
    return HIDDEN.sub(
        lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text
    )


def one_line(text: object) -> str:
    """Return a text on one line, with invisible and control characters escaped."""
    return visible(" ".join(str(text).split()))


def escape_markdown(value: object) -> str:
    r"""Return a text that GitHub shows literally: no markup, table cell, link or mention.

    >>> escape_markdown("a|b `c` <i> @me #1 http://d")
    'a\\|b \\`c\\` \\<i\\> @\u200bme #\u200b1 http:\u200b//d'
    """
    text = re.sub(r"([\\`*_{}\[\]<>|~$&])", r"\\\1", visible(re.sub(r"\s+", " ", str(value))))
    # A line that begins with one of these would be a heading or a list.
    text = re.sub(r"^([#+-]+|\d+[.)])(?= )", "\\g<0>\u200b", text)
    # An invisible space prevents links and mentions of people and issues.
    return re.sub(r"(?i)[@#](?=\w)|:(?=//)|www(?=\.)", "\\g<0>\u200b", text)


def visible_data(value: Any, keep: str = "") -> Any:
    """Return plain data with :func:`visible` applied to all strings and keys."""
    if isinstance(value, str):
        return visible(value, keep)
    if isinstance(value, dict):
        return {visible_data(key, keep): visible_data(part, keep) for key, part in value.items()}
    return [visible_data(part, keep) for part in value] if isinstance(value, list) else value


# Plain data and tables


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table; missing values become None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[return-value]


class Facts:
    """A dataclass that can be written as JSON: its fields, or the attributes in `_facts`."""

    _facts: ClassVar[tuple[str, ...]] = ()

    def _plain(self) -> dict[str, Any]:
        names = self._facts or [each.name for each in fields(self)]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in names}

    def to_json(self) -> str:
        """Return all attributes and properties as a JSON object; undefined values are null."""
        return json.dumps(self._plain(), allow_nan=False)


def plain(value: Any) -> Any:
    """Convert a result, dataclass, table or array to JSON types; NaN and infinity become None.

    >>> import numpy as np
    >>> plain({"scores": np.array([0.5, np.nan]), "n": np.int64(2)})
    {'scores': [0.5, None], 'n': 2}
    """
    if isinstance(value, Facts):
        return value._plain()
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "to_dict"):
        value = value.to_dict("records") if hasattr(value, "columns") else value.to_dict()
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_csv(frame: pd.DataFrame, **options: Any) -> str:
    """Return a table as CSV without its index; strings that look like formulas start with "'".

    This keeps spreadsheets from running them (as OWASP recommends); negative numbers stay as they
    are. `options` are those of :meth:`pandas.DataFrame.to_csv`.
    """
    from pandas.api.types import is_numeric_dtype

    def escaped(cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        start = "'" if cell.startswith(tuple("=+-@\t\r\n")) else ""
        # Python's writer does not quote a carriage return, which would end the row.
        return start + cell.replace("\r", r"\u000d")

    table = frame.rename(columns=escaped).apply(
        lambda column: column if is_numeric_dtype(column) else column.map(escaped)
    )
    return str(table.to_csv(index=False, lineterminator="\n", **options))


def unique_labels(names: Sequence[str], what: str) -> list[str]:
    """Number repeated names and log it.

    >>> unique_labels(["w2v", "glove", "w2v"], "models")
    ['w2v', 'glove', 'w2v (2)']
    """
    labels = numbered(names)
    for name, label in zip(names, labels, strict=True):
        if label != name:
            logger.warning("two %s are called %r; the second is renamed to %r", what, name, label)
    return labels


def numbered(names: Sequence[str]) -> list[str]:
    """Number repeated names; no number makes a name that occurs already."""
    labels: list[str] = []
    for name in names:
        label, number = name, 1
        while label in labels or (number > 1 and label in names):
            number += 1
            label = f"{name} ({number})"
        labels.append(label)
    return labels


def by_name(given: Any, attribute: str = "name", what: str = "models") -> Mapping[str, Any]:
    """Return a mapping, or objects by name; repeated names are numbered."""
    if isinstance(given, Mapping):
        return given
    names = [getattr(each, attribute, repr(each)) for each in given]
    return dict(zip(unique_labels(names, what), given, strict=True))


def html_table(
    title: str, rows: pd.DataFrame | Sequence[Mapping[str, Any]], notes: Iterable[str] = ()
) -> str:
    """Return a title, a table and notes as HTML for notebooks; all text is escaped."""
    import pandas as pd

    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(rows).to_html(index=False, na_rep="", border=0) if len(rows) else ""
    first, *others = [f"<p>{html.escape(text)}</p>" for text in (title, *notes)]
    return visible("".join([first, table, *others]), "\n")


def count(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun, for example '1 query' or '2 words'."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def templates(folder: Path, **options: Any) -> jinja2.Environment:
    """Return the Jinja environment of a folder of templates, in which all names must be defined."""
    import jinja2  # a slow import

    options |= {"loader": jinja2.FileSystemLoader(folder), "undefined": jinja2.StrictUndefined}
    return jinja2.Environment(trim_blocks=True, lstrip_blocks=True, **options)
