"""Text in figures: broken into lines, escaped for plotly, and measured."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable

LINE_PX = 16


def escape(text: str) -> str:
    """Keep plotly from taking a text for markup."""
    return html.escape(text, quote=False)


def wrap(text: str, width: int = 40) -> str:
    """Break a text into lines and escape it; the name of a query breaks between its parts."""
    if len(text) <= width:
        return escape(text)
    parts = re.split(r" (?=wrt )", text)
    if len(parts) > 1:
        parts = [
            piece
            for part in parts
            for piece in (re.split(r" (?=and )", part) if len(part) > width else [part])
        ]
    lines = [line for part in parts for line in textwrap.wrap(part, width)]
    return "<br>".join(map(escape, lines))


def n_lines(label: str) -> int:
    """Count the lines of a wrapped text."""
    return label.count("<br>") + 1


def height_px(labels: Iterable[str]) -> int:
    """Estimate the height of the highest wrapped text."""
    return LINE_PX * max(map(n_lines, labels))


def width_px(labels: Iterable[str]) -> int:
    """Estimate the width of the longest line."""
    return 7 * max(len(line) for label in labels for line in label.split("<br>"))


def count(number: int, one: str, several: str = "") -> str:
    """Return a number and what is counted, by default with an s in the plural."""
    return f"{number} {one if number == 1 else several or one + 's'}"
