"""What is public: the rooms of the package, and the names that each of them opens.

The API reference is made of this list, and so is the check that every docstring is complete.
"""

import functools
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import wefe


def rooms() -> list[str]:
    """Return the modules that are attributes of the package."""
    return [f"wefe.{name}" for name in wefe.__all__ if inspect.ismodule(getattr(wefe, name))]


def names_of(room: str) -> list[str]:
    """Return the names that a room opens, modules apart."""
    module = importlib.import_module(room)
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


def public_objects() -> Iterator[tuple[str, Any]]:
    """Give every public object once, as ``wefe.room.name``."""
    for room in rooms():
        module = importlib.import_module(room)
        for name in names_of(room):
            yield f"{room}.{name}", getattr(module, name)


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    """Give the public methods and properties of a class that are written in this package."""
    for name, member in inspect.getmembers(cls):
        written = getattr(member, "fget", getattr(member, "func", member))
        is_ours = (getattr(written, "__module__", "") or "").startswith("wefe")
        is_described = callable(member) or isinstance(member, property | functools.cached_property)
        if is_ours and is_described and not name.startswith("_"):
            yield name, member
