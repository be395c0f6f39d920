"""The tools that make and check the documentation: they must be able to fail."""

import importlib.util
import sys
from pathlib import Path

import pytest

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
def docstrings():
    return tool(ROOT / "scripts/check_docstrings.py")


@pytest.fixture(scope="module")
def links():
    return tool(ROOT / "scripts/check_links.py")


@pytest.fixture(scope="module")
def figures():
    return tool(ROOT / "docs/_ext/live_figures.py")


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
    ValueError
        If the number is negative.

    Examples
    --------
    >>> complete(2)
    4
    """
    if n < 0:
        raise ValueError("negative")
    return 2 * n


def without(*sections):
    """Make a function with the docstring of `complete` but for some sections."""
    parts = complete.__doc__.split("\n\n")
    kept = [part for part in parts if not any(f"{name}\n" in part for name in sections)]

    def incomplete(n):
        if n < 0:
            raise ValueError("negative")
        return 2 * n

    incomplete.__doc__ = "\n\n".join(kept)
    return incomplete


def test_a_complete_docstring_has_no_problem(docstrings):
    assert list(docstrings.problems_of(complete)) == []


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("Parameters", "PR01"),
        ("Returns", "RT01"),
        ("Raises", "raises errors"),
        ("Examples", "example"),
    ],
)
def test_a_missing_section_is_named(docstrings, section, problem):
    (found,) = docstrings.problems_of(without(section))
    assert problem in found


def test_members_need_no_example(docstrings):
    assert list(docstrings.problems_of(without("Examples"), is_member=True)) == []


def test_every_public_name_stands_under_its_room():
    names = tool(ROOT / "docs/_ext/public_names.py")
    found = [name for name, _ in names.public_objects()]
    assert len(found) == len(set(found)) > 200
    assert {"wefe.metrics.WEAT", "wefe.query.Query", "wefe.running.run_queries"} <= {*found}
    import wefe

    homes = {name.rpartition(".")[2] for name in found} | {room[5:] for room in names.rooms()}
    assert set(wefe.__all__) <= homes


def test_links_that_lead_nowhere_are_named(links, tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here">1</a><a href="other.html#there">2</a><a href="gone.html">3</a>'
        '<a href="https://example.org/gone">4</a><a href="#top">5</a><img src="gone.png">',
        "utf-8",
    )
    (tmp_path / "other.html").write_text('<h1 id="here">Here</h1>', "utf-8")
    broken, n_links = links.broken_links(tmp_path)
    assert n_links == 5
    assert [line.split(": ")[1].split()[0] for line in broken] == [
        "other.html#there",
        "gone.html",
        "gone.png",
    ]


def test_links_of_the_pages_at_the_top_lead_somewhere(links, tmp_path):
    assert links.broken_in_markdown(ROOT) == []
    (tmp_path / "README.md").write_text("[a](gone.md), [b](#here), [c](https://example.org)")
    assert links.broken_in_markdown(tmp_path) == ["README.md: gone.md is not there"]


def test_figures_are_made_by_the_code_above_them_once(figures):
    code = figures.PageCode()
    first = ">>> n = []\n>>> n.append(1)\n"
    code.run(first)
    code.run(
        first + "\n>>> n.append(2)\n>>> {}['a']\nTraceback (most recent call last):\nKeyError\n"
    )
    assert code.names["n"] == [1, 2]


def test_code_that_fails_fails_the_build(figures):
    with pytest.raises(NameError):
        figures.PageCode().run(">>> unknown\n")


def test_a_figure_is_written_for_both_modes_and_ends_no_script(figures):
    import plotly.graph_objects as go

    figure = go.Figure(go.Bar(x=["</script>"], y=[1]), layout={"width": 900, "height": 300})
    html = figures._as_html(figure, {"alt": 'say "x" & y'})
    assert '"light"' in html
    assert '"dark"' in html
    assert "&quot;x&quot; &amp; y" in html
    assert "height:300px" in html
    assert html.count("</script>") == 1


def test_every_command_has_a_section():
    commands = tool(ROOT / "docs/_ext/command_line.py")
    import typer.main
    from docutils import nodes

    from wefe.cli import application

    group = typer.main.get_command(application())
    sections = [commands._section(*item) for item in group.commands.items()]
    assert [section[0].astext() for section in sections][:2] == ["wefe demo", "wefe measure"]
    for section in sections:
        assert isinstance(section, nodes.section)
        assert list(section.findall(nodes.definition)), section[0].astext()
