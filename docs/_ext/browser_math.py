"""Formulas as MathML, which browsers draw by themselves: no script, and none from elsewhere.

docutils translates them. What it does not know fails the build; write the formula in another way.
"""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def _mathml(node: nodes.math | nodes.math_block, as_block: bool) -> str:
    try:
        return str(latex2mathml.tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        raise ExtensionError(f"a formula that docutils cannot read: {node.astext()}") from error


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, which scroll if they are too long."""
    translator.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the renderer known to Sphinx."""
    app.add_html_math_renderer("browser", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
