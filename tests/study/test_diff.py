"""What differs between two results: matched by name, never more and never less than there is."""

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest

from wefe.study import Outcome
from wefe.study._diff import diff, markdown_name, markdown_table, markdown_text

ONE = {
    "WEAT-ES": {
        "gender": {
            "art": {"w2v": 0.5, "glove": -0.375},
            "job": {"w2v": 0.125, "glove": 0.25},
        }
    }
}


def changed(scores, **cells):
    """The same scores with others for some (query, model) of WEAT-ES and gender."""
    queries = {query: dict(row) for query, row in scores["WEAT-ES"]["gender"].items()}
    for place, score in cells.items():
        query, model = place.split("_")
        queries[query][model] = score
    return {"WEAT-ES": {"gender": queries}}


def test_a_study_does_not_differ_from_itself(two_models):
    found = diff(two_models, two_models)
    assert found.is_empty
    assert set(found.rows()["status"]) == {"equal"}
    assert len(found.rows()) == 8
    assert set(found.rows("aggregated")["query_set"]) == {"Overall", "gender", "faith"}
    assert found.changed("ranks").empty
    assert list(found.tables()) == []
    assert repr(found) == "<StudyDiff: no difference in 8 scores>"


def test_a_changed_score_is_found_with_its_size_and_direction(results_of):
    found = diff(results_of(ONE), results_of(changed(ONE, art_glove=0.625)))
    assert not found.is_empty
    (row,) = found.changed().to_dict("records")
    assert (row["model_name"], row["query_set"], row["query_name"], row["metric"]) == (
        *("glove", "gender", "art", "WEAT-ES"),
    )
    assert row["status"] == "changed"
    assert row["before"] == -0.375
    assert row["after"] == 0.625
    assert row["change"] == 1.0
    # It crossed the value for no bias: the distance grew by less than the score.
    assert row["bias_change"] == 0.25
    assert row["relative_change"] == pytest.approx(2 / 3)


def test_aggregated_scores_and_ranks_are_compared(results_of):
    found = diff(results_of(ONE), results_of(changed(ONE, art_glove=0.625)))
    rows = found.changed("aggregated").set_index("query_set")
    assert rows.loc["gender", "before"] == 0.3125
    assert rows.loc["gender", "after"] == 0.4375
    assert set(rows.index) == {"gender", "Overall"}
    ranks = found.rows("ranks").set_index(["query_set", "model_name"])
    assert ranks.loc[("gender", "glove"), ["before", "after"]].tolist() == [1.0, 2.0]
    assert ranks.loc[("gender", "w2v"), ["before", "after"]].tolist() == [1.0, 1.0]


def test_a_tolerance_is_a_largest_difference_and_holds_for_ranks_too(results_of):
    before = results_of({"RND": {"s": {"q": {"a": 0.25, "b": 0.25 + 2**-20}}}})
    after = results_of({"RND": {"s": {"q": {"a": 0.25 + 2**-19, "b": 0.25 + 2**-20}}}})
    assert not diff(before, after).is_empty
    assert len(diff(before, after).changed("ranks")) == 4
    found = diff(before, after, tolerance=2**-19)
    assert found.is_empty
    assert set(found.rows("ranks")["status"]) == {"within tolerance"}
    assert not diff(before, after, tolerance=2**-20).is_empty


def test_other_ranks_of_equal_scores_are_a_difference(results_of):
    def study(ties):
        ways = {"function": "bias_avg", "missing": "queries", "ties": ties}
        ways["correlation"] = "spearman"
        scores = {"RND": {"s": {"q": {"a": 0.5, "b": -0.5}}}}
        return results_of(scores, settings={"aggregation": ways})

    found = diff(study("min"), study("max"))
    assert found.changed().empty
    assert found.changed("ranks")["after"].tolist() == [2.0] * 4
    assert not found.is_empty


def test_what_is_renamed_is_in_one_of_them_only(results_of):
    renamed = {"WEAT-ES": {"gender": {"art": ONE["WEAT-ES"]["gender"]["art"]}}}
    renamed["WEAT-ES"]["gender"]["work"] = ONE["WEAT-ES"]["gender"]["job"]
    found = diff(results_of(ONE), results_of(renamed))
    rows = found.rows()
    assert rows["query_name"][rows["status"] == "only before"].tolist() == ["job", "job"]
    assert rows["query_name"][rows["status"] == "only after"].tolist() == ["work", "work"]
    assert not found.is_empty
    statuses = found.rows()["status"].value_counts().to_dict()
    assert statuses == {"equal": 2, "only before": 2, "only after": 2}
    assert "scores: 2 equal, 2 only before, 2 only after" in found.summary()


def test_ranks_are_among_the_models_that_both_have(results_of):
    with_third = {"WEAT-ES": {"gender": {"art": {"w2v": 0.5, "glove": -0.4, "best": 0.0}}}}
    found = diff(
        results_of({"WEAT-ES": {"gender": {"art": {"w2v": 0.5, "glove": -0.4}}}}),
        results_of(with_third),
    )
    assert found.changed("ranks").empty
    assert found.changed()["model_name"].tolist() == ["best"]


@pytest.mark.parametrize(
    ("before", "after", "status", "is_empty"),
    [
        ("lost words", 0.5, "NaN before", False),
        (0.5, "lost words", "NaN after", False),
        ("lost words", "lost words", "NaN in both", True),
        (Outcome("failed", reason="broken file"), 0.5, "computed after only", False),
        (0.5, Outcome(), "computed before only", False),
        (Outcome(), Outcome("failed", reason="broken file"), "computed in neither", False),
    ],
)
def test_what_has_no_score_has_a_status(results_of, before, after, status, is_empty):
    def study(score):
        return results_of({"WEAT-ES": {"s": {"q": {"m": score}, "other": {"m": 0.25}}}})

    found = diff(study(before), study(after))
    assert dict(zip(found.rows()["query_name"], found.rows()["status"], strict=True)) == {
        "q": status,
        "other": "equal",
    }
    assert found.is_empty is is_empty
    assert is_empty or status in found.summary()


def with_interval(score, half_width, p_value=0.5):
    return {
        "score": score,
        "p_value": p_value,
        "score_lower": score - half_width,
        "score_upper": score + half_width,
    }


@pytest.mark.parametrize(("score", "beyond"), [(0.7, False), (0.9, True)])
def test_a_change_is_set_against_the_interval(results_of, score, beyond):
    before, after = (
        results_of({"WEAT-ES": {"s": {"q": {"m": cell}, "none": {"m": 0.1}}}})
        for cell in (with_interval(0.5, 0.25), with_interval(score, 0.125))
    )
    found = diff(before, after).rows().set_index("query_name")["beyond_interval"]
    assert bool(found["q"]) is beyond
    assert found["none"] is pd.NA


def test_p_values_and_intervals_of_equal_scores_are_compared(results_of):
    def study(cell):
        return results_of({"WEAT-ES": {"s": {"q": {"m": cell}}}})

    before = study(with_interval(0.5, 0.25))
    for cell, status in (
        (with_interval(0.5, 0.25, p_value=0.25), "p-value changed"),
        (with_interval(0.5, 0.125), "interval changed"),
        (0.5, "p-value changed"),
    ):
        found = diff(before, study(cell))
        assert found.rows()["status"].tolist() == [status]
        assert not found.is_empty


def test_it_is_told_what_the_scores_were_computed_from(results_of):
    before = results_of(ONE)
    assert diff(before, results_of(ONE, params={"ddof": 1})).rows()["differs"].unique() == [
        "parameters"
    ]

    def redone(key, version):
        cell = Outcome("done", {"score": 0.5}, None, key, 0.1, "2030-01-01T00:00:00", version)
        return results_of(changed(ONE, art_w2v=cell))

    for pair, expected in (
        ((redone("1", "2.0"), redone("2", "2.0")), "vectors"),
        ((redone("1", "2.0"), redone("2", "2.1")), "version, perhaps vectors"),
        ((redone("1", "2.0"), redone("1", "2.0")), None),
    ):
        rows = diff(*pair).rows().set_index(["query_name", "model_name"])
        assert rows.loc[("art", "w2v"), "differs"] == expected


def test_declarations_that_differ_are_noted(results_of):
    before = results_of(ONE)
    sums = {
        "aggregation": {
            "function": "avg",
            "missing": "queries",
            "ties": "min",
            "correlation": "spearman",
        }
    }
    assert diff(before, results_of(ONE, settings=sums)).notes == (
        "the study files differ in: aggregation",
    )
    assert diff(before, results_of(ONE, weights={"gender": 9.0})).notes == (
        "the query sets differ in their weights or in their number of queries",
    )
    assert diff(before, results_of(ONE)).notes == ()


def test_a_changed_way_of_aggregation_is_a_difference_although_no_number_is(results_of):
    ways = {"function": "abs_avg", "missing": "queries", "ties": "min", "correlation": "spearman"}
    found = diff(results_of(ONE), results_of(ONE, settings={"aggregation": ways}))
    assert found.changed("aggregated").empty
    assert found.settings.to_dict("records") == [
        {"setting": "aggregation: function", "before": '"bias_avg"', "after": '"abs_avg"'}
    ]
    assert not found.is_empty
    assert "settings changed: 1" in found.summary()
    found = diff(results_of(ONE), results_of(ONE, weights={"gender": 9.0}))
    assert found.settings["setting"].tolist() == ["weight: gender"]
    assert not found.is_empty


def test_a_column_of_the_ranking_that_is_gone_is_a_difference(results_of):
    web = {"name": "WEB", "best": "higher", "scores": {"w2v": 0.5, "glove": 0.25}}
    with_web = results_of(ONE, settings={"external": [web]})
    gone = diff(with_web, results_of(ONE))
    assert not gone.is_empty
    rows = gone.changed("ranks")
    assert rows["status"].tolist() == ["only before"] * 2
    assert rows["before"].tolist() == [1.0, 2.0]
    assert rows["after"].isna().all()
    assert gone.settings["setting"].tolist() == ["external: WEB"]
    new = diff(results_of(ONE), with_web)
    assert new.changed("ranks")["status"].tolist() == ["only after"] * 2
    assert diff(with_web, with_web).is_empty


def quality_of(results_of, score, n_used=10, **others):
    value = {"score": score, "n_used": n_used, "n_items": 20, "kind": "similarity"}
    task = ("quality", "w2v", {"benchmark": "pairs"}, value)
    settings = {"quality": {"name": "Quality"}}
    return results_of(ONE, settings=settings, others=[task], **others)


@pytest.mark.parametrize(
    ("after", "status", "change"),
    [
        ({"score": 0.125}, "changed", -0.5),
        ({"score": None}, "NaN after", math.nan),
        ({"score": 0.625, "n_used": 3}, "details changed", 0.0),
    ],
)
def test_quality_that_collapses_is_a_difference(results_of, after, status, change):
    before = quality_of(results_of, 0.625)
    assert diff(before, before).is_empty
    assert repr(diff(before, before)).endswith("no difference in 4 scores; nor in 1 of quality>")
    found = diff(before, quality_of(results_of, **after))
    assert found.changed().empty
    assert not found.is_empty
    (row,) = found.changed("quality").to_dict("records")
    assert (row["model_name"], row["metric"], row["status"]) == ("w2v", "pairs", status)
    np.testing.assert_equal(row["change"], change)
    assert "Quality" in [title for title, *_ in found.tables()]
    gone = diff(before, results_of(ONE))
    assert gone.changed("quality")["status"].tolist() == ["only before"]
    assert not gone.is_empty


def test_silhouettes_and_bias_directions_are_compared():
    from wefe.study import Study

    def study(words):
        declared = {
            "name": "Audits",
            "offline": True,
            "models": [{"source": "demo"}],
            "queries": [
                {
                    "name": "Gender",
                    "query": [
                        {
                            "targets": {
                                "F": ["she", "woman", "girl", "mother"],
                                "M": ["he", "man", "boy", "father"],
                            },
                            "attributes": {"A": words, "B": ["office", "salary", "business"]},
                        }
                    ],
                }
            ],
            "metrics": [{"metric": "ect"}],
            "silhouettes": [{"metric": "weat", "query_set": "Gender", "n_runs": 3}],
            "audit": {"criteria": ["gender"]},
        }
        return Study(declared).run(":memory:", progress=False)

    before = study(["home", "children", "parents"])
    assert diff(before, before).is_empty
    assert len(diff(before, before).rows("audits")) == 2
    found = diff(before, study(["home", "children", "wedding"]))
    row = found.rows("audits").to_dict("records")[0]
    assert row["metric"] == "robustness of the silhouette"
    assert row["after"] != row["before"]
    assert row["before"] == before.silhouettes()[0][1].robustness
    assert row["differs"] == "query"
    # The direction has no word of the query.
    assert found.rows("audits")["status"].tolist() == ["changed", "equal"]


def test_of_another_version_the_hash_of_the_vectors_tells_whether_they_are_the_same(results_of):
    def study(version, vectors):
        done = Outcome("done", {"score": 0.5}, None, version, 0.1, "2030-01-01T00:00:00", version)
        about = {"m": {"fingerprint": vectors}}
        return results_of({"RND": {"s": {"q": {"m": done}}}}, about=about)

    for one, other, expected in (
        ("v", "v", "version"),
        ("v", "w", "version, perhaps vectors"),
        (None, None, "version, perhaps vectors"),
    ):
        found = diff(study("2.0", one), study("2.1", other))
        assert found.rows()["differs"].tolist() == [expected]


def test_nothing_to_compare_is_not_the_same_as_no_difference(results_of):
    nothing = results_of({})
    found = diff(nothing, nothing)
    assert not found.is_empty
    assert repr(found) == "<StudyDiff: there is nothing to compare>"
    assert len(found.rows()) == 0
    # Quality alone is something.
    task = ("quality", "w2v", {"benchmark": "pairs"}, {"score": 0.5, "n_used": 1})
    settings = {"quality": {"name": "Quality"}}
    some = results_of({}, others=[task], settings=settings)
    assert diff(some, some).is_empty
    assert not diff(some, nothing).is_empty


def test_wrong_input_is_refused(two_models):
    with pytest.raises(TypeError, match="after must be a StudyResults; got str 'b.db'"):
        diff(two_models, "b.db")
    for wrong in (-1, math.inf, math.nan, "0", True):
        with pytest.raises((ValueError, TypeError), match="tolerance must be a finite number"):
            diff(two_models, two_models, wrong)
    with pytest.raises(ValueError, match="table must be one of"):
        diff(two_models, two_models).changed("notes")


def test_markdown_shows_names_as_they_are(results_of):
    evil = "<script>alert(1)</script>|`x`\n# [a](b) @team"
    before = results_of({"WEAT-ES": {evil: {evil: {evil: 0.5}}}}, name=evil)
    after = results_of({"WEAT-ES": {evil: {evil: {evil: 0.25}}}}, name=evil)
    text = diff(before, after).to_markdown()
    # Code, whose fence is longer than any in the name.
    code = "``<script>alert(1)</script>|`x` # [a](b) @team``"
    assert text.startswith(f"## {code} before, {code} after\n")
    assert text.count("<script>") == text.count("``<script>")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    # Every row has the cells of its heading: no name makes another cell or line.
    cells = [line.replace("\\|", "").count("|") for line in rows]
    assert len(set(cells[:3])) == 1
    assert code.replace("|", "\\|") in rows[2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see http://evil.example now", "see `http://evil.example` now"),
        ("www.evil.example", "`www.evil.example`"),
        ("ask @team", "ask `@team`"),
        ("closes #1", "closes `#1`"),
        ("# no heading", "\\# no heading"),
        ("a|b", "a&#124;b"),
        ("<b> & *c*", "&lt;b&gt; &amp; \\*c\\*"),
        ("w2v\u202e\x1b", "w2v\\\\u202e\\\\u001b"),
    ],
)
def test_text_in_markdown_has_no_links_mentions_or_markup(text, expected):
    assert markdown_text(text) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("@team http://x.example #1", "`@team http://x.example #1`"),
        ("a`b", "``a`b``"),
        ("``", "``` `` ```"),
        ("a\n\u2066b\u202e", "`a \\u2066b\\u202e`"),
        ("", ""),
        (None, ""),
        (0.5, "0.5"),
    ],
)
def test_names_in_markdown_are_code(name, expected):
    assert markdown_name(name) == expected


def test_markdown_is_cut_and_says_so(results_of):
    many = {f"q{i}": {"m": i / 64} for i in range(60)}
    more = {name: {"m": row["m"] + 1 + i / 64} for i, (name, row) in enumerate(many.items())}
    found = diff(results_of({"RND": {"s": many}}), results_of({"RND": {"s": more}}))
    text = found.to_markdown(limit=10)
    assert "... and 50 more" in text
    # The largest changes are shown.
    assert "| `q59` |" in text
    assert "| `q3` |" not in text


def test_a_table_in_markdown_has_empty_cells_where_nothing_is():
    frame = pd.DataFrame({"a_b": [None, "x"], "n": [math.nan, 2.0], "is": [True, False]})
    assert markdown_table(frame).splitlines() == [
        "| a b | n | is |",
        "|---|--:|---|",
        "|  |  | yes |",
        "| `x` | 2 | no |",
    ]


# The command


@pytest.fixture
def call(two_models, results_of, monkeypatch, capsys):
    """Return a function that calls `wefe diff` with results in place of files."""
    import typer

    from wefe.cli import _diff, _run

    files = {"one": two_models}

    def run(other, *arguments):
        files["other"] = other
        monkeypatch.setattr(_run.Stored, "open", lambda self, path: files[str(path)])
        app = typer.Typer(pretty_exceptions_enable=False)
        app.command()(_diff.diff)
        code = app(["one", "other", *arguments], standalone_mode=False)
        return code or 0, capsys.readouterr().out

    return run


@pytest.fixture
def another(results_of):
    return results_of(
        {
            "WEAT-ES": {
                "gender": {"art": {"w2v": 0.75, "glove": -0.4}, "job": {"w2v": 0.2, "glove": 0.2}},
                "faith": {"mood": {"w2v": 1.0, "glove": -0.1}},
            },
            "ECT": {"gender": {"art": {"w2v": 0.9, "glove": 0.75}}},
        }
    )


def test_the_command_ends_with_1_if_something_differs_and_shows_it(call, another):
    code, printed = call(another)
    assert code == 1
    assert "scores: 1 changed, 7 equal" in printed
    assert "+25.0%" in printed
    assert call(another, "--tolerance", "0.2")[0] == 0


def test_the_command_prints_for_programs(call, another):
    code, printed = call(another, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert (code, len(rows)) == (1, 8)
    assert [row["after"] for row in rows if row["status"] == "changed"] == ["0.75"]
    tables = json.loads(call(another, "--format", "json")[1])
    assert set(tables) == {"differences", "settings"}
    assert [row["table"] for row in tables["differences"]].count("scores") == 8
    assert "### Scores" in call(another, "--format", "markdown")[1]


@pytest.mark.parametrize("kind", ["table", "csv", "markdown"])
@pytest.mark.parametrize(
    "evil", ["::error::all fine", "##[error]x", "a\n::error::b", "\x1b[2Jc\u202e"]
)
def test_names_give_no_orders_to_terminals_or_actions(call, results_of, evil, kind):
    other = results_of({"WEAT-ES": {evil: {evil: {evil: 0.5}}}}, name=evil)
    code, printed = call(other, "--format", kind)
    assert code == 1
    assert not {"\x1b", "\u202e", "\r"} & set(printed)
    starts = [line.lstrip() for line in printed.splitlines()]
    assert not [line for line in starts if line.startswith(("::", "##["))]


def test_a_score_of_the_other_sign_is_a_change_although_the_distance_is_the_same(results_of):
    found = diff(results_of(ONE), results_of(changed(ONE, art_w2v=-0.5)))
    (row,) = found.changed().to_dict("records")
    assert row["change"] == -1.0
    assert row["bias_change"] == 0.0
    # Distances are aggregated, so no aggregated score changed and no rank.
    assert found.changed("aggregated").empty
    assert found.changed("ranks").empty
