"""Replications shown in a page: the build computes them with the packaged vectors.

::

    ```{replication} weat
    ```

Beside the page, NAME.csv holds the printed values that can be compared on word2vec vectors, which
do not ship; `scripts/compare_printed_values.py` writes it.
"""

from __future__ import annotations

import html
from pathlib import Path

import pandas as pd
from docutils import nodes
from live_figures import figure_html
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from wefe import replicate
from wefe._output import as_cells
from wefe.replication import Replication


class ShownReplication(SphinxDirective):
    """The tables and figures of a paper, and what agrees with what it prints."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return sections for what agrees, for tables and for figures."""
        name = self.arguments[0]
        folder = Path(self.get_source_info()[0]).parent
        self.env.note_dependency(str(folder / f"{name}.csv"))
        replication = replicate(name, progress=False)
        return [
            _section("Printed values, compared", _compared(replication, folder / f"{name}.csv")),
            _section("On the packaged vectors", _shown(replication)),
        ]


def _section(title: str, text: str) -> nodes.section:
    section = nodes.section(ids=[nodes.make_id(title)])
    section += [nodes.title("", title), nodes.raw("", text, format="html")]
    return section


def _compared(replication: Replication, path: Path) -> str:
    """Return the values compared on word2vec vectors, and how many nobody compared here."""
    n_printed = len(replication.comparison)
    others = (
        "The models behind the others are not at hand. To compare them, add <code>--model "
        "NAME=FILE</code> with the paper's name for the model."
    )
    if not path.is_file():
        return f"<p>The paper prints {n_printed} values. None can be compared here. {others}</p>"
    known = pd.read_csv(path, dtype=str, keep_default_na=False)
    counts = known["verdict"].value_counts(sort=False)
    said = ", ".join(f"{verdict} {n}" for verdict, n in counts.items())
    differs = known[known["verdict"] == "differs"]
    shown = f"<p>These differ:</p>{_table(differs)}" if len(differs) else ""
    return (
        f"<p>Of {n_printed} printed values, {len(known)} can be compared on 13,013 word2vec "
        f"vectors of Google News: {said}. {others}</p>{shown}"
        f"<details><summary>All values that can be compared</summary>{_table(known)}</details>"
    )


def _shown(replication: Replication) -> str:
    parts = [f"<p>{html.escape(note)}</p>" for note in replication.notes]
    for title, table in replication.tables.items():
        parts.append(f"<h3>{html.escape(title)}</h3>{_table(table.reset_index())}")
    for title, figure in replication.figures.items():
        parts.append(f"<h3>{html.escape(title)}</h3>")
        parts.append(figure_html(figure.update_layout(title=None), title))
    return "\n".join(parts)


def _table(frame: pd.DataFrame) -> str:
    text = as_cells(frame).to_html(index=False, border=0, classes="table", justify="left")
    return f'<div class="pst-scrollable-table-container">{text}</div>'


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("replication", ShownReplication)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
