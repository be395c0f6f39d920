"""The pages of the API reference: one for each room, and one for every name that it opens.

They are written into ``reference/generated`` before Sphinx reads its sources, from the list in
`public_names`; nothing is listed by hand.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from public_names import members_of, names_of, rooms
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.typing import ExtensionMetadata

import wefe

FOLDER = "reference/generated"


def pages() -> Iterator[tuple[str, str]]:
    """Give the name and the text of every page."""
    yield "rooms", _table(rooms(), toctree=True)
    yield "top_level", _table(list(_top_level()))
    for room in rooms():
        module = importlib.import_module(room)
        kinds: dict[str, list[str]] = {"Classes": [], "Exceptions": [], "Functions": [], "Data": []}
        for name in names_of(room):
            kinds[_kind(getattr(module, name))].append(f"{room}.{name}")
            yield _file_of(f"{room}.{name}"), _name_page(room, name, getattr(module, name))
        text = f"{_title(room)}.. automodule:: {room}\n   :no-members:\n\n"
        for kind, names in kinds.items():
            if names:
                text += f".. rubric:: {kind}\n\n{_table(names, toctree=True)}\n"
        yield room, text


def _top_level() -> Iterator[str]:
    homes: dict[str, str] = {}
    for room in rooms():
        for name in names_of(room):
            homes.setdefault(name, f"{room}.{name}")
    for name in wefe.__all__:
        if not inspect.ismodule(getattr(wefe, name)):
            yield homes[name]


def _kind(thing: Any) -> str:
    if inspect.isclass(thing):
        return "Exceptions" if issubclass(thing, Exception) else "Classes"
    return "Functions" if callable(thing) else "Data"


def _name_page(room: str, name: str, thing: Any) -> str:
    text = f"{_title(f'{room}.{name}')}.. currentmodule:: {room}\n\n"
    if not inspect.isclass(thing):
        return text + (f".. autofunction:: {name}\n" if callable(thing) else _data(room, name))
    text += f".. autoclass:: {name}\n"
    for member, written in members_of(thing):
        directive = "autoproperty" if isinstance(written, property) else "automethod"
        text += f"\n   .. {directive}:: {member}\n"
    return text


def _data(room: str, name: str) -> str:
    # autodata looks for the comment in the room; it stands in the file that the name is from.
    for module in list(sys.modules):
        if module.startswith(f"{room}."):
            comments = ModuleAnalyzer.for_module(module).find_attr_docs()
            if ("", name) in comments:
                text = textwrap.indent("\n".join(comments["", name]), "   ")
                return f".. data:: {name}\n\n{text}\n"
    raise ExtensionError(f"{room}.{name} is data, and has no comment that begins with #:")


def _table(names: list[str], toctree: bool = False) -> str:
    home = names[0].rpartition(".")[0]
    in_one_room = toctree and home in rooms()
    listed = "".join(
        f"   {name.removeprefix(home + '.') if in_one_room else '~' + name}\n" for name in names
    )
    text = f".. autosummary::\n   :nosignatures:\n\n{listed}\n"
    if toctree:
        listed = "".join(
            f"   {name.rpartition('.')[2]} </{FOLDER}/{_file_of(name)}>\n" for name in names
        )
        text += f".. toctree::\n   :hidden:\n\n{listed}\n"
    return text


def _file_of(name: str) -> str:
    """Return a name of a page that differs from others by more than capitals: ECT and ect."""
    is_plain = name in rooms() or name != name.lower()
    return name if is_plain else f"{name}-function"


def _title(name: str) -> str:
    return f"{name}\n{'=' * len(name)}\n\n"


def write_pages(app: Sphinx) -> None:
    """Write the pages that are new or different, and remove those of names that are gone."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    texts = {f"{name}.rst": text for name, text in pages()}
    for old in {path.name for path in folder.iterdir()} - set(texts):
        (folder / old).unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the pages before Sphinx looks for sources."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
