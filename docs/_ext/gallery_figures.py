"""The figures of the gallery, which sphinx-gallery makes from the scripts in `docs/_gallery`.

A script ends with a figure of plotly, named `figure`. Its page shows the figure above the code.
Beside each script lies its thumbnail, drawn by `scripts/make_pictures.py`.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import plotly.io
from docutils import nodes
from live_figures import figure_html
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

MIN_WIDTH_PX = 700  # narrower windows scroll


def scrape(_block: object, variables: dict[str, Any], _conf: object) -> str:
    """Return the figure of a script for its page, once the code that makes it has run."""
    figure = variables["example_globals"].get("figure")
    if figure is None:
        return ""
    script = Path(variables["src_file"])
    shutil.copy(script.with_suffix(".png"), next(variables["image_path_iterator"]))
    title = (ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "").splitlines()[0]
    html = figure_html(figure, f"{title}: described above.", MIN_WIDTH_PX)
    return f"\n.. container:: live-figure\n\n   .. raw:: html\n\n      {html}\n\n"


def _figure_first(app: Sphinx, doctree: nodes.document) -> None:
    if not app.env.docname.startswith("gallery/"):
        return
    for figure in list(doctree.findall(nodes.container)):
        if "live-figure" in figure["classes"]:
            page = figure.parent
            page.remove(figure)
            page.insert(page.first_child_matching_class(nodes.literal_block), figure)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Show figures where sphinx-gallery would not, and not where scripts would."""
    plotly.io.renderers.default = ""  # `figure.show()` opens no browser
    app.connect("doctree-read", _figure_first)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
