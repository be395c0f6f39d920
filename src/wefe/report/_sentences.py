"""Sentences from claims, and the templates that all of the report shares."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wefe._checks import found
from wefe.report import _text
from wefe.report._claims import Claim, Evidence

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def environment(**options: Any) -> Environment:
    """Return the templates of the report, with the filters that they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        **options,
    )
    made.filters |= {
        "model": lambda name: _text.marked(name, "model"),
        "metric": lambda name: _text.marked(name, "metric"),
        "name": lambda name: _text.marked(name, "name"),
        "number": _text.number,
        "p_value": _text.p_value,
        "percent": _text.percent,
        "signed": lambda value: "" if value is None else f"{value:+.3f}",
        "change": lambda share: "" if share is None else f"{100 * share:+.0f}\N{NO-BREAK SPACE}%",
        "rank": lambda rank: "–" if rank is None else f"{rank:g}",
        # Never -0.00.
        "correlation": lambda value: f"{round(value, 2) + 0.0:.2f}",
        "count": _text.count,
        "listed": _text.listed,
        "cut": _text.cut,
    }
    return made


@cache
def _macros() -> Any:
    return environment().get_template("claims.jinja").module


def said(claim: Claim) -> dict[str, Any]:
    """Return a claim as a sentence, in parts that tell names from words, with its evidence.

    Parameters
    ----------
    claim : Claim
        What is said.

    Returns
    -------
    dict
        'kind', 'place', 'text', 'parts' (dicts with 'kind' and 'text') and 'evidence'.

    Raises
    ------
    TypeError
        If this is no claim, or one without evidence.

    Examples
    --------
    >>> claim = Claim("one_model", "verdict", Evidence(("w2v",), 3))
    >>> said(claim)["text"]
    'w2v is the only model with scores, so there is no ranking.'
    """
    if not isinstance(claim, Claim) or not isinstance(claim.evidence, Evidence):
        raise TypeError(f"only a Claim with Evidence can be said; got {found(claim)}.")
    macro = getattr(_macros(), claim.kind)
    parts = _text.in_parts(macro({**claim.facts, "evidence": claim.evidence}))
    evidence = claim.evidence
    return {
        "kind": claim.kind,
        "place": claim.place,
        "text": "".join(part["text"] for part in parts),
        "parts": parts,
        "evidence": {
            "models": list(evidence.models),
            "n": evidence.n,
            "unit": evidence.unit,
            "p_value": evidence.p_value,
        },
    }
