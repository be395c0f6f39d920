"""The report as one HTML file, and a short version as Markdown."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from wefe._files import check_writable, write_text
from wefe._visible import escape_markdown
from wefe.plotting._style import DARK, LIGHT
from wefe.report._summarize import summarize
from wefe.report._text import TEMPLATES, environment
from wefe.study._results import StudyResults


def to_html(results: StudyResults) -> str:
    """Return the HTML of :func:`write_report`."""
    from wefe.report._figures import figures

    summary = summarize(results)
    return html_page("report.html.jinja", **summary, figures=figures(results, summary))


def html_page(template: str, **content: Any) -> str:
    """Return a page of a template that extends 'base.html.jinja', with style and scripts."""
    from markupsafe import Markup

    # Line ends are those that a browser hashes, and no script may contain the tag that ends it.
    scripts = [
        text.replace("\r\n", "\n").replace("</script", r"<\/script")
        for text in (get_plotlyjs(), _file("report.js"))
    ]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts]
    page = environment(autoescape=True).get_template(template)
    return page.render(
        **content,
        themes={"light": LIGHT.to_plotly_json(), "dark": DARK.to_plotly_json()},
        # Only these scripts may run, identified by their hashes.
        script_hashes=Markup(" ".join(f"'sha256-{digest.decode()}'" for digest in digests)),
        scripts=[Markup(text) for text in scripts],
        css=Markup(_file("report.css")),
    )


def to_markdown(results: StudyResults) -> str:
    """Return the Markdown of :func:`write_report`."""
    template = environment(finalize=escape_markdown).get_template("report.md.jinja")
    return re.sub(r"\n{3,}", "\n\n", template.render(**summarize(results))).strip() + "\n"


def write_report(results: StudyResults, path: str | os.PathLike[str]) -> None:
    """Write the report to one HTML file, or a short one as Markdown if the path ends in '.md'.

    The HTML file has about 5 MB, needs no network and blocks it. Texts of word lists, names and
    messages cannot run as code. The Markdown, for pull requests and job summaries, has findings,
    ranks, changes and failures in at most about 80 lines.

    Parameters
    ----------
    results : StudyResults
        Results of a study.
    path : path
        The file. It is replaced only when the report is complete.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from wefe.study import Study
    >>> with TemporaryDirectory() as folder:
    ...     write_report(Study.example().run(":memory:", progress=False), f"{folder}/report.html")
    """
    render = to_markdown if Path(path).suffix.lower() == ".md" else to_html
    write(path, lambda: render(results))


def write(path: str | os.PathLike[str], render: Callable[[], str]) -> None:
    """Write a text completely or not at all; check the path before rendering."""
    check_writable(path)
    write_text(path, render())


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
