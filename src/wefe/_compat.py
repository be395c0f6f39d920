"""The documented import paths of older releases, in one table.

Each path becomes an empty module that looks up its attributes where they are now. The modules are
put into `sys.modules` directly, so that importing ``wefe.metrics.WEAT`` as a module does not
replace the class of that name.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_METRICS = ("WEAT", "RND", "RNSB", "MAC", "ECT", "RIPA")
_MITIGATION = (
    "base_debias",
    "double_hard_debias",
    "half_sibling_regression",
    "hard_debias",
    "multiclass_hard_debias",
    "repulsion_attraction_neutralization",
)

# Older module -> where its names live now, in the order in which they are looked up.
_TABLE: dict[str, tuple[str, ...]] = {
    "wefe.word_embedding_model": ("wefe.models", "wefe.embeddings"),
    "wefe.word_embedding": ("wefe.models", "wefe.embeddings"),
    "wefe.preprocessing": ("wefe.words", "wefe.embeddings"),
    # `wefe.models` is the quickest to import, `wefe.plotting` the slowest.
    "wefe.utils": (
        "wefe.models",
        "wefe.debias._fitted",
        "wefe.running",
        "wefe.ranking",
        "wefe.plotting",
    ),
    "wefe.datasets.datasets": ("wefe.datasets",),
    "wefe.metrics.base_metric": ("wefe.metrics",),
    **{f"wefe.metrics.{name}": ("wefe.metrics",) for name in _METRICS},
    **{f"wefe.debias.{name}": ("wefe.debias",) for name in _MITIGATION},
}


class _Moved(ModuleType):
    """A module of an older release that looks up its names where they are now."""

    def __getattr__(self, name: str) -> Any:
        for place in () if name.startswith("__") else _TABLE[self.__name__]:
            module = importlib.import_module(place)
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def install() -> None:
    """Make the import paths of older releases work."""
    for old, places in _TABLE.items():
        module = _Moved(old, f"Moved: see {', '.join(places)}.")
        module.__path__ = []
        # `importlib.util.find_spec` raises an error for a module without a spec.
        module.__spec__ = ModuleSpec(old, None, is_package=True)
        sys.modules.setdefault(old, module)
        parent, _, child = old.rpartition(".")
        # `wefe.datasets.datasets` is an attribute too; `wefe.metrics.WEAT` stays the class.
        if child not in _METRICS:
            setattr(importlib.import_module(parent), child, module)
