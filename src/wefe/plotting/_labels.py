"""Text in figures: wrapped, shortened, and escaped for plotly."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from wefe.aggregation import HEADING

LINE_PX = 16


def escape(text: str) -> str:
    """Keep plotly from reading a text as markup."""
    return html.escape(text, quote=False)


def wrap(text: str, width: int = 40) -> str:
    """Break a text into lines and escape it; names of queries break between their parts."""
    parts = re.split(r" (?=wrt )", text) if len(text) > width else [text]
    return "<br>".join(escape(line) for part in parts for line in textwrap.wrap(part, width))


def shorten(names: Sequence[str]) -> tuple[list[str], str]:
    """Remove the aggregation shared by all headings, and return it as a sentence.

    >>> shorten(["WEAT: Gender sum score", "ECT: Gender sum score", "WordSim"])
    (['WEAT: Gender', 'ECT: Gender', 'WordSim'], 'Scores of each metric and query set: sum.')
    """
    parts = pd.Series(names).str.extract(f"^{HEADING.pattern}$")
    short = (parts["what"] + parts["number"]).fillna(pd.Series(names))
    if parts["way"].nunique() != 1 or short.nunique() < len(set(names)):
        return list(names), ""
    return short.tolist(), f"Scores of each metric and query set: {parts['way'].dropna().iloc[0]}."


def at_most(lines: Sequence[str], most: int = 5) -> list[str]:
    """Return the first lines, and the number of further ones."""
    more = len(lines) - most
    return [*lines[:most], f"and {more} more"] if more > 0 else list(lines)


def n_lines(label: str) -> int:
    return label.count("<br>") + 1


def height_px(labels: Iterable[str]) -> int:
    return LINE_PX * max(map(n_lines, labels))


def width_px(labels: Iterable[str]) -> int:
    return 7 * max(len(line) for label in labels for line in label.split("<br>"))


def shortened(word: str, most: int = 24) -> str:
    """Shorten a word, which may be a whole URL."""
    return word if len(word) <= most else word[: most - 1] + "…"


def spaced(table: pd.DataFrame, order: Iterable[int]) -> list[str]:
    """Return labels of points, most important words first, as far as there is room."""
    places = table[["x", "y"]]
    shares = (places / (places.max() - places.min()).replace(0, 1)).to_numpy()
    chosen: list[int] = []
    for point in order:
        across, down = np.abs(shares[chosen] - shares[point]).T
        if not ((across < 0.17) & (down < 0.045)).any():
            chosen.append(point)
    return [
        escape(shortened(word)) if row in chosen else "" for row, word in enumerate(table["word"])
    ]
