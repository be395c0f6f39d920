"""Numbers, lists and names as the report writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Where a name begins and ends in a sentence: characters that no text has, and no name is left with.
_KINDS = {"\ufdd0": "model", "\ufdd1": "metric", "\ufdd2": "name"}
_END = "\ufdd3"


def marked(name: object, kind: str) -> str:
    """Mark a name in a sentence, for :func:`in_parts`."""
    mark = next(mark for mark, each in _KINDS.items() if each == kind)
    return f"{mark}{name}{_END}"


def in_parts(sentence: str) -> list[dict[str, str]]:
    """Separate the marked names of a sentence from its words, and tidy the spaces between words.

    Examples
    --------
    >>> in_parts(marked("w2v", "model") + "  ranks first. ")
    [{'kind': 'model', 'text': 'w2v'}, {'kind': 'text', 'text': ' ranks first.'}]
    """
    pieces = re.split(f"([{''.join(_KINDS)}].*?{_END})", sentence.strip(), flags=re.DOTALL)
    return [
        {"kind": _KINDS[piece[0]], "text": piece[1:-1]}
        if piece[0] in _KINDS
        else {"kind": "text", "text": re.sub(r" ([.,;:)])", r"\1", re.sub(r"\s+", " ", piece))}
        for piece in pieces
        if piece
    ]


def number(value: float | None) -> str:
    """Return a score for people.

    Examples
    --------
    >>> number(0.12345), number(-0.00123), number(-1e-9), number(1234.5), number(None)
    ('0.123', '-0.0012', '0.000', '1234', 'no value')
    """
    if value is None or value != value:
        return "no value"
    if abs(value) < 5e-5:
        return "0.000"
    if abs(value) < 0.01:
        return f"{value:.4f}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.0f}"


def p_value(value: float | None) -> str:
    """Return a p-value for people.

    Examples
    --------
    >>> p_value(0.03125), p_value(0.0001), p_value(None)
    ('0.031', '< 0.001', '')
    """
    if value is None:
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int, one: str, several: str = "") -> str:
    """Return a number and what is counted."""
    return f"{value} {one if value == 1 else several or one + 's'}"


def listed(names: Sequence[str], most: int = 5, joint: str = "and") -> str:
    """Return names as a list in words.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return f" {joint} ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def percent(share: float | None) -> str:
    r"""Return a share of 100, which no line end divides from its sign; nothing if there is none.

    What is not all is never 100 %, and what is something never 0 %.

    Examples
    --------
    >>> percent(0.974), percent(0.999), percent(None)
    ('97\xa0%', 'more than 99\xa0%', '')
    """
    if share is None:
        return ""
    if 0 < share < 0.005:
        return "less than 1\N{NO-BREAK SPACE}%"
    if 0.995 <= share < 1:
        return "more than 99\N{NO-BREAK SPACE}%"
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def cut(text: str, most: int = 80) -> str:
    """Return a text in one line, or its beginning if it is longer than `most` letters."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
