"""The reference of the commands, made of what ``wefe COMMAND --help`` says."""

from __future__ import annotations

import re
from typing import Any

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from wefe.cli import application

# Help texts write commands and file contents in single quotes.
QUOTED = re.compile(r"'([^']+)'(?![a-z])")


class Commands(SphinxDirective):
    """One section for each command: what it does, examples, arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, in the order of ``wefe --help``."""
        group: Any = typer.main.get_command(application())
        return [_section(name, command) for name, command in group.commands.items()]


def _section(name: str, command: Any) -> nodes.section:
    section = nodes.section(ids=[f"wefe-{name}"], names=[f"wefe {name}"])
    section += nodes.title("", f"wefe {name}")
    for text in re.split(r"\n\s*\n", command.help):
        text = " ".join(text.split())
        if text.startswith("Example: "):
            example = text.removeprefix("Example: ")
            section += nodes.literal_block(example, example, language="console")
        else:
            section += _paragraph(text)
    context = command.make_context(f"wefe {name}", [], resilient_parsing=True)
    records = [parameter.get_help_record(context) for parameter in command.params]
    options = nodes.definition_list(classes=["options"])
    for written, text in filter(None, records):
        term = nodes.term("", "", nodes.literal("", written))
        options += nodes.definition_list_item(
            "", term, nodes.definition("", _paragraph(" ".join(text.split())))
        )
    section += options
    return section


def _paragraph(text: str) -> nodes.paragraph:
    paragraph = nodes.paragraph()
    for position, part in enumerate(QUOTED.split(text)):
        paragraph += nodes.literal("", part) if position % 2 else nodes.Text(part)
    return paragraph


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
