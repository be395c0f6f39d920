"""The report in short, for pull requests."""

import re

import pytest

from wefe.report import summarize, to_markdown, write_markdown
from wefe.report._render import escape_markdown


@pytest.mark.parametrize("which", ["rich", "nasty", "with_failure", "example"])
def test_it_is_short_and_its_table_is_whole(which, request):
    results = request.getfixturevalue(which)
    lines = to_markdown(results).splitlines()
    assert len(lines) <= 80
    rows = [line for line in lines if line.startswith("| ")]
    n_columns = len(summarize(results)["rankings"][0]["columns"]) + 2
    assert len(rows) == 2 + len(results.plan.models)
    assert {len(re.split(r"(?<!\\)\|", row)) - 2 for row in rows} == {n_columns}


def test_it_says_what_the_summary_says(rich):
    text = to_markdown(rich).replace("\\", "").replace("**", "")
    summary = summarize(rich)
    assert summary["claims"][0]["text"] in text
    assert summary["caveat"] in text
    assert "| cut 64 (hard-debias, gender) |" in text
    assert "WEB (external)" in text


def test_names_in_sentences_are_bold_also_where_they_are_cut(made):
    scores = {"WEAT": {"G": {"q": {"*a* ": 0.1, "b" * 2000: 0.2}}}}
    text = to_markdown(made(scores))
    assert r"- **G**: no model is clearly ahead: **\*a\*** ranks first on **WEAT** " in text
    assert text.count("**") % 2 == 0
    assert "What the metrics ask: **WEAT**, how much closer" in text


def test_names_are_text(nasty):
    text = re.sub(r"\\.", "", to_markdown(nasty))
    assert not re.search(r"[<>`\[\]]", re.sub(r"^> ", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a|b", r"a\|b"),
        ("`x`", r"\`x\`"),
        ("<b>", r"\<b\>"),
        ("[a](b)", r"\[a\](b)"),
        ("a\n# b", "a # b"),
        ("~~a~~ *b* _c_ $d$ &lt;", r"\~\~a\~\~ \*b\* \_c\_ \$d\$ \&lt;"),
        ("glove 6B-50d", "glove 6B-50d"),
        ("name@main", "name@main"),
    ],
)
def test_markup_is_escaped(name, written):
    assert escape_markdown(name) == written


def test_nobody_is_mentioned():
    assert "@me" not in escape_markdown("@me and (@me)")
    assert "#1" not in escape_markdown("see #1")


def test_it_is_written(example, tmp_path):
    write_markdown(example, tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == to_markdown(example)
