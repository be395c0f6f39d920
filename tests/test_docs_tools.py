"""The tools that make and check the documentation: they must be able to fail."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

import wefe

pytest.importorskip("sphinx")
pytest.importorskip("numpydoc")

ROOT = Path(__file__).resolve().parents[1]


def tool(path):
    """Import a script or an extension, which are no part of the package."""
    sys.path.insert(0, str(ROOT / "docs/_ext"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages():
    return tool(ROOT / "scripts/check_pages.py")


@pytest.fixture(scope="module")
def browser(pages):
    program = next(filter(None, map(shutil.which, pages.BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium is installed")
    with pages.started(program) as browser:
        yield browser


def complete(n):
    """
    Double a number.

    Parameters
    ----------
    n : int
        The number.

    Returns
    -------
    int
        Twice as much.

    Raises
    ------
    KeyError
        If the number is negative.

    Examples
    --------
    >>> complete(2)
    4
    """
    if n < 0:
        raise KeyError("negative")
    return 2 * n


@pytest.fixture
def problems_of():
    """What is wrong with a function or class with the docstring of `complete`, but for parts."""
    docstrings = tool(ROOT / "scripts/check_docstrings.py")

    def problems(function, without=(), old="", new=""):
        parts = complete.__doc__.replace(old, new).split("\n\n")
        kept = [part for part in parts if not any(f"{name}\n" in part for name in without)]
        function.__doc__ = "\n\n".join(kept)
        return list(docstrings.problems_of(function))

    return problems


def test_a_constructor_raises(problems_of):
    class Made:
        def __init__(self, n):
            if n < 0:
                raise KeyError("negative")

    (found,) = problems_of(Made, ["Raises", "Returns"])
    assert "raises KeyError, which Raises does not name" in found
    assert problems_of(Made, ["Returns"]) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Parameters\n    ----------\n    n : int\n        The number.", "", "PR01"),
        ("Returns\n    -------\n    int\n        Twice as much.", "", "RT01"),
        (">>> complete(2)\n    4", "Two doubled is four.", "no code"),
        ("KeyError", "OSError", "raises KeyError, which Raises does not name"),
        ("KeyError", "KeyError, Nonsense", "Raises names Nonsense, which is no error"),
        ("Raises\n    ------", "Returns\n    -------", "cannot be read"),
    ],
)
def test_what_is_missing_or_wrong_is_named(problems_of, old, new, problem):
    def changed(n):
        if n < 0:
            raise KeyError("negative")
        return 2 * n

    assert problems_of(changed) == []
    (found,) = problems_of(changed, (), old, new)
    assert problem in found


def test_every_public_name_stands_under_its_room():
    names = tool(ROOT / "docs/_ext/public_names.py")
    found = [name for name, _ in names.public_objects()]
    assert len(found) == len(set(found)) > 200
    assert {"wefe.metrics.WEAT", "wefe.query.Query", "wefe.running.run_queries"} <= {*found}
    homes = {name.rpartition(".")[2] for name in found} | {room[5:] for room in names.rooms()}
    assert set(wefe.__all__) <= homes


def test_links_that_lead_nowhere_are_named(tmp_path):
    links = tool(ROOT / "scripts/check_links.py")
    assert links.broken_in_markdown(ROOT) == []
    (tmp_path / "README.md").write_text("[a](gone.md), [b](#here), [c](https://example.org)")
    assert links.broken_in_markdown(tmp_path) == ["README.md: gone.md is not there"]
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here">1</a><a href="other.html#there">2</a><a href="gone.html">3</a>'
        '<a href="https://example.org/gone">4</a><a href="#top">5</a><img src="gone.png">',
        "utf-8",
    )
    (tmp_path / "other.html").write_text('<h1 id="here">Here</h1>', "utf-8")
    broken, n_links = links.broken_links(tmp_path)
    assert n_links == 5
    found = [line.split(": ")[1].split()[0] for line in broken]
    assert found == ["other.html#there", "gone.html", "gone.png"]


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ("", None),
        ("<h2 style='font-size: 15px'>Small</h2>", "h2 of 15 px, not larger than p of 16 px"),
        ("<p style='font-size: 13px'>small</p>", "text of 13 px: p “small”"),
        ("<table><td style='min-width: 500px'>wide</table>", "cut off: table “wide”"),
        (
            "<div style='overflow: hidden'><pre style='width: 500px'>x</pre></div>",
            "cut off: pre “x”",
        ),
        ("<p style='color: white; background: white'>none</p>", "contrast of 1.0: p “none”"),
        (
            "<style>@media (prefers-color-scheme: dark) { p { color: #333 } }</style>",
            "contrast of 1.",
        ),
        ("<div class='drawing'>Wait</div>", "a figure is not drawn: div.drawing “Wait”"),
        ("<img src='nowhere.png' width='50'>", "a picture is not shown: file:"),
        ("<script>console.error('said')</script>", "console: said"),
        ("<script src='https://example.org/x.js'></script>", "console: Failed to load resource"),
    ],
)
def test_what_readers_stumble_over_is_named(pages, browser, planted, problem, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><meta charset='utf-8'><style>:root { color-scheme: light dark } "
        f"pre {{ overflow: auto }}</style><h1>Page</h1><p>Text</p>{planted}",
        encoding="utf-8",
    )
    found = list(pages.problems_of(browser, page, 390, "dark", tmp_path))
    assert any(each.startswith(problem) for each in found) if problem else found == []
    assert len(list(tmp_path.glob("*.png"))) == 1
