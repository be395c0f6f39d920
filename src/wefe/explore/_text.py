"""Pages as text: numbers come from `to_dict`, sentences from templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wefe._visible import visible_data

_TEMPLATES = Path(__file__).parent / "templates"


def as_text(template: str, page: Mapping[str, Any]) -> str:
    """Return a page as text, with control and invisible characters escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"percent": _percent, "table": _table}
    return environment.get_template(template).render(visible_data(page)).rstrip()


def _percent(share: float | None) -> str:
    """Format a share as a percentage; only exact 0 and 1 become 0 % and 100 %."""
    if share is None:
        return "unknown"
    if 0.995 <= share < 1:
        return "more than 99%"
    return f"{share:.0%}"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    import pandas as pd

    return str(pd.DataFrame(rows).round(3).to_string(index=False))
