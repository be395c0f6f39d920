"""Texts of the warnings of audits."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class AuditWarning:
    """A reason not to take a score at face value.

    Attributes
    ----------
    kind, message : str
        Name of the reason, such as 'cancelling-biases', and explanation in one or two sentences.

    Examples
    --------
    >>> print(AuditWarning("few-sets", "There is no more than 1 set."))
    few-sets: There is no more than 1 set.
    """

    kind: str
    message: str

    @classmethod
    def _of(cls, kind: str, **facts: Any) -> AuditWarning:
        return cls(kind, read_texts("warnings.toml")[kind][1].format(**facts))

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@functools.cache
def read_texts(name: str) -> dict[str, Any]:
    file = resources.files("wefe.audit").joinpath(name)
    return tomllib.loads(file.read_text(encoding="utf-8"))
