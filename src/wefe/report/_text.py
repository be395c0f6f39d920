"""The templates of the report, and their filters for numbers, lists and names."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from wefe._checks import listed
from wefe._visible import count, templates

TEMPLATES = Path(__file__).parent / "templates"
# Marks around names in a sentence: characters that occur in no text and are removed from names.
_KINDS = {"\ufdd0": "model", "\ufdd1": "metric", "\ufdd2": "name"}
_END = "\ufdd3"
_SPACE = "\N{NO-BREAK SPACE}"


@cache
def macros(name: str) -> Any:
    """Return the macros of a template, without HTML escaping."""
    return environment().get_template(name).module


def environment(**options: Any) -> Environment:
    """Return the templates of the report, with their filters."""
    made = templates(TEMPLATES, **options)
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    made.filters |= {
        kind: lambda name, mark=mark: f"{mark}{name}{_END}" for mark, kind in _KINDS.items()
    }
    made.filters |= {
        **{each.__name__: each for each in (number, p_value, percent, count, listed, cut)},
        "signed": lambda value: "" if value is None else f"{value:+.3f}",
        "rank": lambda rank: "–" if rank is None else f"{rank:g}",
        # Never -0.00.
        "correlation": lambda value: "n/a" if value is None else f"{round(value, 2) + 0.0:.2f}",
    }
    return made


def in_parts(sentence: str) -> list[dict[str, str]]:
    r"""Split a sentence into marked names and words, and tidy the spaces.

    >>> in_parts("\ufdd0w2v\ufdd3  ranks first. ")
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
    """Format a score.

    >>> number(0.12345), number(-0.00123), number(-1e-9), number(1234.5), number(None)
    ('0.123', '-0.0012', '0.000', '1234', 'no value')
    """
    if value is None or value != value:
        return "no value"
    size = abs(value)
    digits = 4 if 5e-5 <= size < 0.01 else 3 if size < 100 else 0
    return f"{0.0 if size < 5e-5 else value:.{digits}f}"


def p_value(value: float | None) -> str:
    """Format a p-value.

    >>> p_value(0.03125), p_value(0.0001), p_value(None)
    ('0.031', '< 0.001', '')
    """
    if value is None:
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def percent(share: float | None) -> str:
    r"""Format a share as a percentage; 0 % and 100 % only if exact.

    >>> percent(0.974), percent(0.999), percent(None)
    ('97\xa0%', 'more than 99\xa0%', '')
    """
    if share is None:
        return ""
    if 0 < share < 0.005:
        return f"less than 1{_SPACE}%"
    return f"more than 99{_SPACE}%" if 0.995 <= share < 1 else f"{100 * share:.0f}{_SPACE}%"


def cut(text: object, most: int = 80) -> str:
    whole = str(text)
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + "…"
