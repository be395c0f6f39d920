"""The report as one HTML file that needs nothing else, and in short as Markdown."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wefe.report._sentences import TEMPLATES, environment
from wefe.report._summarize import summarize
from wefe.report._text import cut
from wefe.report._words import MOST_WORDS

if TYPE_CHECKING:
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
    return html_page(
        "report.html.jinja",
        **summary,
        figures=figures(results, summary),
        asks={
            each["label"]: f"{each['title']}: {each['asks']}".rstrip(": ")
            for each in summary["methods"]["metrics"]
        },
        most_words=MOST_WORDS,
        has_intervals=any(
            "interval" in cell
            for metric in summary["metrics"]
            for part in metric["parts"]
            for row in part["cells"]
            for cell in row
        ),
    )


def html_page(template: str, **content: Any) -> str:
    """Return a page with style and scripts in it, so that it needs no other file.

    Parameters
    ----------
    template : str
        A template that extends 'base.html.jinja'.
    **content
        What it shows; texts are escaped.
    """
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    from wefe.plotting._style import DARK, LIGHT

    # The first stands above all others, so that it sees what goes wrong in them.
    parts = (_file("errors.js"), get_plotlyjs(), _file("report.js"))
    scripts = [_script(part) for part in parts]
    templates = environment(autoescape=True)
    templates.filters["json"] = lambda value: Markup(script_json(value))
    return templates.get_template(template).render(
        **content,
        themes={"light": LIGHT.to_plotly_json(), "dark": DARK.to_plotly_json()},
        # The only script that may run is this one: by its hash, not by where it stands.
        script_hashes=Markup(" ".join(f"'{_hash(part)}'" for part in scripts)),
        scripts=[Markup(part) for part in scripts],
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
    templates = environment(finalize=escape_markdown)
    templates.filters["cut_parts"] = _cut_parts
    text = templates.get_template("report.md.jinja").render(**summarize(results))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


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
    _write(to_html, results, path)


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
    _write(to_markdown, results, path)


def _write(render: Any, results: StudyResults, path: str | os.PathLike[str]) -> None:
    from wefe._files import atomic_file, check_writable

    check_writable(path)
    text = render(results)
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    # As a browser reads it, or the hash would be of something else; and it must not end early.
    return text.replace("\r\n", "\n").replace("</script", r"<\/script")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def script_json(value: Any) -> str:
    r"""Return JSON that can stand in a script element, whatever the texts in it.

    Examples
    --------
    >>> script_json("</script>&\u2028")
    '"\\u003c/script\\u003e\\u0026\\u2028"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


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


def _cut_parts(parts: Sequence[Mapping[str, str]], most: int) -> list[dict[str, str]]:
    """Return the beginning of a sentence in parts.

    Examples
    --------
    >>> [part["text"] for part in _cut_parts([{"text": "Of "}, {"text": "w2v-300"}], 6)]
    ['Of ', 'w2…']
    """
    shown: list[dict[str, str]] = []
    for part in parts:
        if most > 0:
            shown.append({**part, "text": cut(part["text"], most)})
        most -= len(part["text"])
    return shown
