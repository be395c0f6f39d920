"""The report as one HTML file that needs nothing else, and in short as Markdown."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from typing import TYPE_CHECKING, Any

from wefe._files import atomic_file, check_writable
from wefe.report._summarize import summarize
from wefe.report._text import TEMPLATES, environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from wefe.study._results import StudyResults


def to_html(results: StudyResults) -> str:
    """Return the report as HTML.

    It is one file without any other: no network is used, and its Content-Security-Policy forbids
    it. Whatever comes from word lists, names and messages is shown as text.

    Parameters
    ----------
    results : StudyResults
        What :meth:`wefe.study.Study.run` returns.

    Returns
    -------
    str
        About 5 MB, most of which is the library that draws the figures.

    Examples
    --------
    >>> from wefe.study import Study
    >>> html = to_html(Study.example().run(":memory:", progress=False))
    >>> html[:15], html.count("<h1")
    ('<!doctype html>', 1)
    """
    from wefe.report._figures import figures

    summary = summarize(results)
    return html_page("report.html.jinja", **summary, figures=figures(results, summary))


def html_page(template: str, **content: Any) -> str:
    """Return a page of a template that extends 'base.html.jinja', with style and scripts in it."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    from wefe.plotting._style import DARK, LIGHT

    # The first stands above all others, so that it sees what goes wrong in them. All are as a
    # browser reads them, or the hash would be of something else; and must not end early.
    scripts = [
        text.replace("\r\n", "\n").replace("</script", r"<\/script")
        for text in (_file("errors.js"), get_plotlyjs(), _file("report.js"))
    ]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts]
    page = environment(autoescape=True).get_template(template)
    return page.render(
        **content,
        themes={"light": LIGHT.to_plotly_json(), "dark": DARK.to_plotly_json()},
        # The only scripts that may run are these: by their hash, not by where they stand.
        script_hashes=Markup(" ".join(f"'sha256-{digest.decode()}'" for digest in digests)),
        scripts=[Markup(text) for text in scripts],
        css=Markup(_file("report.css")),
    )


def to_markdown(results: StudyResults) -> str:
    """Return the report in short as Markdown, for pull requests and job summaries.

    Parameters
    ----------
    results : StudyResults
        What :meth:`wefe.study.Study.run` returns.

    Returns
    -------
    str
        The findings, ranks, changes and failures, in at most about 80 lines.

    Examples
    --------
    >>> from wefe.study import Study
    >>> text = to_markdown(Study.example().run(":memory:", progress=False))
    >>> print(text.splitlines()[0])
    # Example
    """
    template = environment(finalize=escape_markdown).get_template("report.md.jinja")
    return re.sub(r"\n{3,}", "\n\n", template.render(**summarize(results))).strip() + "\n"


def write_html(results: StudyResults, path: str | os.PathLike[str]) -> None:
    """Write the report as one HTML file, which needs no other and no network.

    Parameters
    ----------
    results : StudyResults
        What :meth:`wefe.study.Study.run` returns.
    path : path
        The file. It is written as a whole: until then, or if that fails, it stays what it was.

    Raises
    ------
    OSError
        If the file cannot be written.

    See Also
    --------
    to_html : The same as a string.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_html(results, path)
    ...     print(path.read_text(encoding="utf-8")[:15])
    <!doctype html>
    """
    write(path, lambda: to_html(results))


def write_markdown(results: StudyResults, path: str | os.PathLike[str]) -> None:
    """Write the report in short as Markdown, for pull requests and job summaries.

    Parameters
    ----------
    results : StudyResults
        What :meth:`wefe.study.Study.run` returns.
    path : path
        The file. It is written as a whole: until then, or if that fails, it stays what it was.

    Raises
    ------
    OSError
        If the file cannot be written.

    See Also
    --------
    to_markdown : The same as a string.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.md"
    ...     write_markdown(results, path)
    ...     print(path.read_text(encoding="utf-8").splitlines()[0])
    # Example
    """
    write(path, lambda: to_markdown(results))


def write(path: str | os.PathLike[str], render: Callable[[], str]) -> None:
    """Write a text to a file, as a whole or not at all; refuse a bad path before long work."""
    check_writable(path)
    text = render()
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def escape_markdown(value: object) -> str:
    r"""Return a text that GitHub shows as it is: no markup, no table cell, no mention.

    Examples
    --------
    >>> escape_markdown("a|b `c` <i> @me #1")
    'a\\|b \\`c\\` \\<i\\> @\u200bme #\u200b1'
    """
    text = re.sub(r"\s+", " ", str(value))
    text = re.sub(r"([\\`*_{}\[\]<>|~$&])", r"\\\1", text)
    # An invisible space keeps names from calling people and issues.
    return re.sub(r"(?<![\w])([@#])(?=\w)", "\\1\u200b", text)
