"""The pages of the API reference: one for each room, and one for every name that it opens.

They are written into ``reference/generated`` before Sphinx reads its sources, from the list in
`public_names`; nothing is listed by hand but the order of the rooms. A metric has a table of how
its scores are read, from the class itself. Names that `wefe` itself opens are found under both.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from numpydoc.docscrape import ClassDoc
from public_names import members_of, names_of, rooms
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.typing import ExtensionMetadata

import wefe
from wefe.metrics import BaseMetric

FOLDER = "reference/generated"
# What the rooms are for, in the order of need.
GROUPS = {
    "Measure": (
        "Start here: ``metrics``, ``query``, ``models`` and ``running``.",
        "metrics query models running results ranking datasets aggregation words embeddings",
    ),
    "Check reliability": (
        "Check how reliable the scores are, and measure the quality of the vectors.",
        "audit comparison silhouette quality",
    ),
    "Mitigate": ("Reduce bias in a model, and check what remains.", "debias"),
    "Explore": ("Inspect words, neighbours and directions; plot results.", "explore plotting"),
    "Encoders": (
        "Measure contextual and sentence encoders, and audit whom they rank first.",
        "contextual retrieval",
    ),
    "Studies": (
        "Run many measurements from one file, write reports, and replicate papers.",
        "study report replication",
    ),
}


def pages() -> Iterator[tuple[str, str]]:
    """Give the name and the text of every page."""
    yield "rooms", _grouped(rooms())
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


def _grouped(names: list[str]) -> str:
    listed = [f"wefe.{name}" for _, group in GROUPS.values() for name in group.split()]
    if sorted(listed) != sorted(names):
        wrong = ", ".join(sorted(set(listed) ^ set(names))) or "a room that is there twice"
        raise ExtensionError(f"the groups of rooms in {__file__} do not fit: {wrong}")
    text = ""
    for title, (purpose, group) in GROUPS.items():
        table = _table([f"wefe.{name}" for name in group.split()], toctree=True)
        text += f"{title}\n{'-' * len(title)}\n\n{purpose}\n\n{table}\n"
    return text


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
    if issubclass(thing, BaseMetric):
        about = _attributes() if thing is BaseMetric else _how_to_read(thing)
        text += "\n" + textwrap.indent(about, "   ")
    for member, written in members_of(thing):
        is_property = isinstance(written, property | cached_property)
        directive = "autoproperty" if is_property else "automethod"
        text += f"\n   .. {directive}:: {member}\n"
    return text


def _how_to_read(metric: type[BaseMetric]) -> str:
    """Tell, in a table, what queries a metric answers and how its scores are read."""
    low, high = metric.value_range
    no_bias = metric.no_bias_value
    order = {low: "lower", high: "higher"}.get(no_bias, f"nearer to {no_bias:g}")
    short = metric.metric_short_name
    entries = ["result", *(metric.nan_values or {short.lower(): math.nan})]
    template = " and ".join(
        f"{_number(*count)} {kind} set{'' if count[0] == 1 else 's'}"
        for count, kind in zip(
            zip(metric.metric_template, metric.metric_template_minimum, strict=True),
            ("target", "attribute"),
            strict=True,
        )
    )
    rows = {
        "metric_name": metric.metric_name,
        "question": metric().question,
        "metric_short_name": short,
        "metric_template": template,
        "value_range": f"{_bound(low)} to {_bound(high)}",
        "no_bias_value": f"{no_bias:g}; a score that is {order} means less bias measured",
        "nan_values": ", ".join(f"``{entry}``" for entry in entries),
    }
    labels = (
        "Name",
        "Asks",
        "Short name",
        "Queries",
        "Range",
        "No bias measured",
        "Entries of a result",
    )
    text = ".. rubric:: How to read it\n\n.. list-table::\n   :widths: auto\n"
    for label, (attribute, value) in zip(labels, rows.items(), strict=True):
        link = f":py:attr:`{label} <wefe.metrics.BaseMetric.{attribute}>`"
        text += f"\n   * - {link}\n     - {value}"
    return (
        f"{text}\n\nThe range and the no-bias value hold for the default parameters. "
        ":py:meth:`~wefe.metrics.BaseMetric.scale` returns those of other parameters.\n"
    )


def _number(count: int | str, minimum: int) -> str:
    return str(count) if isinstance(count, int) else f"{minimum} or more"


def _bound(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else f"{'-' if value < 0 else ''}∞"


def _attributes() -> str:
    """Describe each attribute of a metric by itself, so that it can be linked to."""
    text = ""
    for entry in ClassDoc(BaseMetric)["Attributes"]:
        for name in entry.name.split(", "):
            body = "\n".join([f"*{entry.type}.*", "", *entry.desc])
            text += f".. py:attribute:: {name}\n\n{textwrap.indent(body, '   ')}\n\n"
    return text


def _without_attributes(
    _app: Sphinx, _what: str, name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    # Those of BaseMetric stand below its docstring, one by one.
    if name == "wefe.metrics.BaseMetric" and "Attributes" in lines:
        start = lines.index("Attributes")
        # The line after a title is its underline.
        underlines = [at for at, line in enumerate(lines) if line and not line.strip("-")]
        following = [at - 1 for at in underlines if at > start + 1]
        del lines[start : following[0] if following else len(lines)]


def note_short_names(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Make ``wefe.WEAT`` a name of what ``wefe.metrics.WEAT`` is, for links from elsewhere too."""
    objects = env.domains.python_domain.objects
    for home in _top_level():
        short = f"wefe.{home.rpartition('.')[2]}"
        for name, entry in list(objects.items()):
            if name == home or name.startswith(f"{home}."):
                alias = ObjectEntry(entry.docname, entry.node_id, entry.objtype, aliased=True)
                objects[short + name.removeprefix(home)] = alias
    return []


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
    app.connect("autodoc-process-docstring", _without_attributes, priority=400)  # before numpydoc
    app.connect("env-updated", note_short_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
