"""The report in short, for pull requests."""

import re

import pytest
from made_results import results_of

from wefe._visible import escape_markdown
from wefe.report._render import to_markdown
from wefe.report._summarize import summarize


@pytest.mark.parametrize("which", ["rich", "nasty"])
def test_it_is_short_says_what_the_summary_says_and_its_table_is_whole(which, request):
    results = request.getfixturevalue(which)
    summary, text = summarize(results), to_markdown(results)
    assert len(text.splitlines()) <= 80
    table = text.partition("| Model |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(table) == len(results.plan.models)
    n_columns = len(summary["rankings"][0]["columns"]) + 2
    assert {len(re.split(r"(?<!\\)\|", row)) - 2 for row in table} == {n_columns}
    # Names are text.
    plain = re.sub(r"^> ", "", re.sub(r"\\.", "", text), flags=re.MULTILINE)
    assert not re.search(r"[<>`\[\]]", plain)
    assert summary["caveat"] in text


def test_names_in_sentences_are_bold_also_where_they_are_cut():
    scores = {"WEAT": {"G": {"q": {"*a* ": 0.1, "b" * 2000: 0.2}}}}
    text = to_markdown(results_of(scores))
    assert r"- **G**: no model is clearly ahead: **\*a\*** ranks first on **WEAT** " in text
    assert text.count("**") % 2 == 0


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a|b", r"a\|b"),
        ("[a](b)", r"\[a\](b)"),
        ("a\n# b", "a # b"),
        ("~~a~~ *b* _c_ $d$ &lt; <b> `x`", r"\~\~a\~\~ \*b\* \_c\_ \$d\$ \&lt; \<b\> \`x\`"),
        ("glove 6B-50d", "glove 6B-50d"),
        ("- 1. a", "-\u200b 1. a"),
        ("1. a", "1.\u200b a"),
        ("http://a.b www.c.d", "http:\u200b//a.b www\u200b.c.d"),
        ("\u2066b\u202e", r"\\u2066b\\u202e"),
    ],
)
def test_markup_is_escaped_and_nobody_is_mentioned(name, written):
    assert escape_markdown(name) == written
    assert not re.search("@me|#1", escape_markdown("@me and (@me), see #1"))
