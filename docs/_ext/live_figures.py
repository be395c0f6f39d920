"""Figures that the build computes with the code of their page.

::

    ```{plotly} figure
    :alt: What is to be seen, for those who do not see it.

    The caption.
    ```

All examples (``>>>``) of the page above the directive are run, in order and in one namespace. The
argument is an expression whose value, a figure of plotly, is shown. Code that would not teach
anything may stand in an HTML comment: it runs, and is not shown. An example that fails, fails the
build; what examples print is compared by pytest, not here.

A figure follows the page into dark mode. plotly's script comes out of the installed package.
"""

from __future__ import annotations

import contextlib
import doctest
import html
import io
import json
from pathlib import Path
from typing import Any, ClassVar

import plotly
import plotly.graph_objects as go
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from wefe.plotting import as_dark

DEFAULT_HEIGHT_PX = 450


class PageCode:
    """The examples of one page, run as far as they were needed."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.n_run = 0

    def run(self, text: str) -> None:
        """Run the examples of a text that were not run yet."""
        examples = doctest.DocTestParser().get_examples(text)
        for example in examples[self.n_run :]:
            compiled = compile(example.source, f"line {example.lineno + 1}", "single")
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compiled, self.names)
            except Exception:
                # An example that shows an error says so.
                if example.exc_msg is None:
                    raise
        self.n_run = len(examples)


class PlotlyFigure(SphinxDirective):
    """Show a figure that the code above it has made."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {
        "alt": directives.unchanged_required,
        "min-width": directives.nonnegative_int,  # px; narrower windows scroll
    }
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure and its caption."""
        if "alt" not in self.options:
            raise self.error("a figure needs :alt:, for readers who do not see it")
        if any(line.startswith(":") for line in self.content):
            raise self.error("an option of a figure stands on one line, above its caption")
        pages = self.env.temp_data.setdefault("live_figures", PageCode())
        above = Path(self.get_source_info()[0]).read_text("utf-8").splitlines()[: self.lineno]
        try:
            pages.run("\n".join(above) + "\n")
            figure = eval(self.arguments[0], pages.names)
        except Exception as error:
            raise self.error(f"{type(error).__name__} in the code above: {error}") from error
        if not isinstance(figure, go.Figure):
            raise self.error(f"{self.arguments[0]!r} is no figure of plotly: {type(figure)}")
        caption = nodes.container(classes=["figure-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        drawn = nodes.raw(
            "",
            figure_html(figure, self.options["alt"], self.options.get("min-width")),
            format="html",
        )
        shown = nodes.container("", drawn, caption, classes=["live-figure"])
        return [shown]


def figure_html(figure: go.Figure, alt: str, min_width_px: int | None = None) -> str:
    """Return a figure for both themes, and words that stand for it."""
    both = {"light": figure, "dark": as_dark(figure)}
    height = figure.layout.height or DEFAULT_HEIGHT_PX
    for one in both.values():
        # As wide as the page is.
        one.update_layout(width=None, autosize=True)
    # "</" would end the script, and "<!--" begin a comment.
    as_json = {name: json.loads(one.to_json()) for name, one in both.items()}
    text = json.dumps(as_json, separators=(",", ":")).replace("<", "\\u003c")
    label = html.escape(nodes.unescape(alt))
    least = f"min-width:{min_width_px}px;" if min_width_px is not None else ""
    return (
        f'<div class="figure-scroll" tabindex="0" role="group" aria-label="Figure">'
        f'<div class="plotly-figure" role="img" aria-label="{label}" '
        f'style="{least}height:{height:g}px"><script type="application/json">{text}</script>'
        f"<noscript><p>{label}</p></noscript></div></div>"
    )


def _add_scripts(
    app: Sphinx, _pagename: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    if "plotly-figure" in context.get("body", ""):
        app.add_js_file("plotly.min.js", priority=700)
        app.add_js_file("figures.js", priority=710)


def _copy_plotly(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        script = Path(plotly.__file__).parent / "package_data/plotly.min.js"
        (app.outdir / "_static/plotly.min.js").write_bytes(script.read_bytes())


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("plotly", PlotlyFigure)
    app.connect("html-page-context", _add_scripts)
    app.connect("build-finished", _copy_plotly)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
