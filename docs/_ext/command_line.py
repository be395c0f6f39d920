"""The reference of the commands, made of what ``wefe COMMAND --help`` says.

Every option has an anchor, can be linked to as ``{option}`wefe measure --metric```, and is found by
the search and in the index.
"""

from __future__ import annotations

import re
from typing import Any

import typer.main
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from wefe.cli import application
from wefe.cli._options import help_record

# Help texts write commands and file contents in single quotes, and options as they are.
LITERAL = re.compile(r"'([^']+)'(?![a-z])|(?<![\w-])(--[a-z][a-z-]*)")


class Commands(SphinxDirective):
    """One section for each command: what it does, examples, arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, in the order of ``wefe --help``."""
        group: Any = typer.main.get_command(application())
        domain = self.env.domains.standard_domain
        for name, command in group.commands.items():
            for parameter in _shown(name, command):
                for written in _names(parameter):
                    anchor = _anchor(name, parameter)
                    domain.add_program_option(f"wefe {name}", written, self.env.docname, anchor)
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
    context = _context(name, command)
    options = nodes.definition_list(classes=["options"])
    for parameter in _shown(name, command):
        written, text = help_record(parameter, context)
        anchor = _anchor(name, parameter)
        term = nodes.term("", "", nodes.literal("", written), ids=[anchor])
        # Of the main ones, so that the search puts them first.
        term += addnodes.index(
            entries=[("single", each, anchor, "main", None) for each in _names(parameter)]
        )
        options += nodes.definition_list_item(
            "", term, nodes.definition("", _paragraph(" ".join(text.split())))
        )
    section += options
    return section


def _context(name: str, command: Any) -> Any:
    return command.make_context(f"wefe {name}", [], resilient_parsing=True)


def _shown(name: str, command: Any) -> list[Any]:
    context = _context(name, command)
    return [parameter for parameter in command.params if parameter.get_help_record(context)]


def _names(parameter: Any) -> list[str]:
    """Return what an option is called; an argument is not searched for."""
    if parameter.param_type_name == "argument":
        return []
    return [*parameter.opts, *parameter.secondary_opts]


def _anchor(name: str, parameter: Any) -> str:
    return nodes.make_id(f"wefe-{name}-{max(parameter.opts, key=len)}")


def _paragraph(text: str) -> nodes.paragraph:
    paragraph = nodes.paragraph()
    end = 0
    for match in LITERAL.finditer(text):
        paragraph += nodes.Text(text[end : match.start()])
        paragraph += nodes.literal("", match[1] or match[2])
        end = match.end()
    paragraph += nodes.Text(text[end:])
    return paragraph


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
