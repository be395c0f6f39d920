"""Escape invisible and control characters in untrusted texts, such as names in a file."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

# Control characters, line ends, marks that turn the direction of text, halves of characters, and
# codes that no text has (reports mark names with them). No joiners and marks of one letter
# that some scripts need.
_HIDDEN = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
HIDDEN = re.compile(f"[{_HIDDEN}]")


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with escapes for what is not seen, or is obeyed by terminals and pages.

    Characters in `keep` stay as they are, such as line ends.

    >>> print(visible("glove\x1b[2J \u202e"))
    glove\u001b[2J \u202e
    """
    return HIDDEN.sub(
        lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text
    )


def visible_data(value: Any, keep: str = "") -> Any:
    """Return plain data whose texts and keys are what :func:`visible` makes of them."""
    if isinstance(value, str):
        return visible(value, keep)
    if isinstance(value, dict):
        return {visible_data(key, keep): visible_data(part, keep) for key, part in value.items()}
    return [visible_data(part, keep) for part in value] if isinstance(value, list) else value


def as_csv(frame: pd.DataFrame, **options: Any) -> str:
    """Return a table, without its index, as CSV in which no spreadsheet takes a text for a formula.

    A text that begins like one gets an apostrophe before it, as OWASP recommends; numbers stay as
    they are, the negative ones too. Options are those of :meth:`pandas.DataFrame.to_csv`.

    >>> import pandas as pd
    >>> print(as_csv(pd.DataFrame({"word": ["=1+1", "nurse"], "projection": [-0.1, 0.3]})), end="")
    word,projection
    '=1+1,-0.1
    nurse,0.3
    """
    from pandas.api.types import is_numeric_dtype

    def escaped(cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        start = "'" if cell.startswith(tuple("=+-@\t\r\n")) else ""
        # Python's writer leaves it without quotes, so that it would end the row.
        return start + cell.replace("\r", r"\u000d")

    table = frame.rename(columns=escaped).apply(
        lambda column: column if is_numeric_dtype(column) else column.map(escaped)
    )
    return str(table.to_csv(index=False, lineterminator="\n", **options))


def unique_labels(names: Sequence[str], what: str) -> list[str]:
    """Return names with those that occur again numbered: 'name', 'name (2)'; the log says so.

    Examples
    --------
    >>> unique_labels(["w2v", "glove", "w2v"], "models")
    ['w2v', 'glove', 'w2v (2)']
    """
    labels: list[str] = []
    taken = set(names)
    seen: set[str] = set()
    for name in names:
        label, number = name, 1
        while label in seen or (number > 1 and label in taken):
            number += 1
            label = f"{name} ({number})"
        if number > 1:
            logger.warning("two %s are called %r; the second is renamed to %r", what, name, label)
        seen.add(label)
        labels.append(label)
    return labels


def html_table(
    title: str, rows: pd.DataFrame | Sequence[Mapping[str, Any]], notes: Iterable[str] = ()
) -> str:
    """Return a title, a table and notes for notebooks, as text in which nothing is markup."""
    import pandas as pd

    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(rows).to_html(index=False, na_rep="", border=0) if len(rows) else ""
    first, *others = [f"<p>{html.escape(text)}</p>" for text in (title, *notes)]
    return visible("".join([first, table, *others]), "\n")


def count(number: int, one: str, several: str = "") -> str:
    """Return a number of things in words.

    >>> count(1, "query", "queries"), count(2, "word")
    ('1 query', '2 words')
    """
    return f"{number} {one if number == 1 else several or one + 's'}"


def draw(function: str, *args: Any, **options: Any) -> Any:
    """Call a function of :mod:`wefe.plotting`, by name: it stands above the results it draws."""
    return getattr(import_module("wefe.plotting"), function)(*args, **options)
