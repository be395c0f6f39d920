"""What differs between two results: matched by name, never more and never less than there is."""

import math

import numpy as np
import pandas as pd
import pytest
from made_results import results_of

from wefe.study import Outcome, Study
from wefe.study._diff import diff

QUALITY = {"quality": {"name": "Quality"}}


def study(cell=0.25, **more):
    """Two models and two queries; the score of 'w2v' on 'art' is given."""
    art, job = {"w2v": cell, "glove": -0.375}, {"w2v": 0.125, "glove": 0.25}
    return results_of({"WEAT-ES": {"gender": {"art": art, "job": job}}}, **more)


def aggregation(**changes):
    return {"aggregation": {**study().plan.settings["aggregation"], **changes}}


def done(key):
    return Outcome("done", {"score": 0.5}, None, key)


def rows(found):
    return found.table[found.table["table"] == "scores"]


def with_interval(score, half_width, p_value=0.5):
    lower, upper = score - half_width, score + half_width
    return {"score": score, "p_value": p_value, "score_lower": lower, "score_upper": upper}


def test_a_study_does_not_differ_from_itself(two_models):
    found = diff(two_models, two_models)
    assert found.is_empty
    assert set(found.table["status"]) == {"equal"}
    assert list(found.tables()) == []
    assert found.summary() == "no difference in 8 results"


def test_a_changed_score_is_found_with_its_size_and_direction():
    found = diff(study(0.5), study(-0.625))
    assert not found.is_empty
    (row,) = found.changed().to_dict("records")
    place = [row[name] for name in ("model_name", "query_set", "query_name", "metric")]
    assert place == ["w2v", "gender", "art", "WEAT-ES"]
    # It crossed the value for no bias: the distance grew by less than the score.
    numbers = ["before", "after", "change", "bias_change"]
    assert [row[name] for name in numbers] == [0.5, -0.625, -1.125, 0.125]
    assert row["status"] == "changed"
    rows = found.changed("aggregated")
    assert rows["query_set"].tolist() == ["Overall", "gender"]
    assert rows[["before", "after"]].to_numpy().tolist() == [[0.3125, 0.375]] * 2
    ranks = found.changed("ranks").set_index(["query_set", "model_name"])
    assert ranks.loc[("gender", "w2v"), ["before", "after"]].tolist() == [1.0, 2.0]
    assert ("gender", "glove") not in ranks.index
    assert "scores: 1 changed" in found.summary()
    # Distances are aggregated: the other sign changes no aggregated score and no rank.
    other_sign = diff(study(0.5), study(-0.5))
    assert other_sign.changed()["bias_change"].tolist() == [0.0]
    assert other_sign.changed("aggregated").empty
    assert other_sign.changed("ranks").empty


def test_a_tolerance_is_a_largest_difference_and_holds_for_ranks_too():
    before, after = (
        results_of({"RND": {"s": {"q": {"a": 0.25 + more, "b": 0.25 + 2**-20}}}})
        for more in (0, 2**-19)
    )
    assert len(diff(before, after).changed("ranks")) == 4
    assert diff(before, after, tolerance=2**-19).is_empty
    assert not diff(before, after, tolerance=2**-20).is_empty


def test_other_ways_to_aggregate_and_rank_are_a_difference_although_no_score_is():
    before = study(0.125)
    found = diff(before, study(0.125, settings=aggregation(function="abs_avg")))
    assert found.changed("aggregated").empty
    assert found.settings.to_numpy().tolist() == [
        ["aggregation.function", '"bias_avg"', '"abs_avg"']
    ]
    assert "settings changed: 1" in found.summary()
    assert [title for title, _ in found.tables()] == ["Settings"]
    tied = {"RND": {"s": {"q": {"a": 0.5, "b": -0.5}}}}
    ranked = diff(results_of(tied), results_of(tied, aggregation(ties="max")))
    assert ranked.changed("ranks")["after"].tolist() == [2.0] * 4
    assert not any(each.is_empty for each in (found, ranked))


def test_what_is_renamed_is_in_one_of_them_only():
    one, other = (
        results_of({"RND": {"s": {"art": {"a": 0.5, "b": 0.25}, name: {"a": 0.5, "b": 0.25}}}})
        for name in ("job", "work")
    )
    found = diff(one, other)
    rows = found.changed()[["query_name", "status"]].drop_duplicates()
    assert rows.to_numpy().tolist() == [["job", "only before"], ["work", "only after"]]


def test_ranks_are_among_the_models_that_both_have():
    one, other = (
        results_of({"RND": {"s": {"q": {"w2v": 0.5, "glove": -0.4, **more}}}})
        for more in ({}, {"best": 0.0})
    )
    found = diff(one, other)
    assert found.changed("ranks").empty
    assert found.changed()["model_name"].tolist() == ["best"]


def test_ranks_of_ties_are_shown_beside_missing_ones():
    ties = aggregation(ties="average")
    one, other = (results_of({"RND": {"s": {"q": {"a": 0.5, "b": b}}}}, ties) for b in (0.5, "x"))
    assert "| 1.5000 | NaN after |" in diff(one, other).to_markdown()


def test_a_column_of_the_ranking_that_is_gone_is_a_difference():
    web = {"name": "score", "best": "higher", "scores": {"w2v": 0.5, "glove": 0.25}}
    with_web = study(settings={"external": [web]})
    turned = {**web, "scores": dict(reversed(web["scores"].items()))}
    assert diff(with_web, study(settings={"external": [turned]})).is_empty
    gone = diff(with_web, study())
    rows = gone.changed("ranks")
    assert rows["before"].tolist() == [1.0, 2.0]
    assert set(rows["status"]) == {"only before"}
    assert gone.settings["setting"].tolist() == ["external"]


@pytest.mark.parametrize(
    ("before", "after", "status", "is_empty"),
    [
        ("lost words", 0.5, "NaN before", False),
        (0.5, "lost words", "NaN after", False),
        ("lost words", "lost words", "NaN in both", True),
        (with_interval(0.5, 0.25), with_interval(0.5, 0.25, 0.25), "p-value changed", False),
        (with_interval(0.5, 0.25), with_interval(0.5, 0.125), "interval changed", False),
        (with_interval(0.5, 0.25), 0.5, "p-value changed", False),
    ],
)
def test_what_differs_has_a_status(before, after, status, is_empty):
    found = diff(study(before), study(after))
    assert rows(found)["status"].tolist() == [status, "equal", "equal", "equal"]
    assert found.is_empty is is_empty
    assert is_empty or status in found.summary()


@pytest.mark.parametrize(("score", "beyond"), [(0.75, False), (0.875, True)])
def test_a_change_is_set_against_the_wider_interval(score, beyond):
    before, after = study(with_interval(0.5, 0.25)), study(with_interval(score, 0.125))
    found = rows(diff(before, after))["beyond_interval"]
    assert found[0] == beyond
    assert found[1] is pd.NA


def test_it_is_told_what_the_scores_were_computed_from():
    for one, other, expected in (
        (study(done("1")), study(done("2")), "vectors or version"),
        (study(done("1")), study(done("1")), None),
        (study(done("1")), study(done("2"), params={"ddof": 1}), "words or parameters"),
    ):
        assert rows(diff(one, other))["differs"].iloc[0] == expected


@pytest.mark.parametrize(
    ("after", "status", "change"),
    [
        ({"score": 0.125, "n_used": 10}, "changed", -0.5),
        ({"score": None, "n_used": 10}, "NaN after", math.nan),
    ],
)
def test_quality_that_collapses_is_a_difference(after, status, change):
    def measured(value):
        task = ("quality", "w2v", {"benchmark": "pairs"}, {"kind": "similarity", **value})
        return study(settings=QUALITY, others=[task])

    before = measured({"score": 0.625, "n_used": 10})
    assert diff(before, before).summary() == "no difference in 5 results"
    found = diff(before, measured(after))
    assert not found.is_empty
    (row,) = found.changed("quality").to_dict("records")
    assert (row["model_name"], row["metric"], row["status"]) == ("w2v", "pairs", status)
    np.testing.assert_equal(row["change"], change)


def test_silhouettes_and_bias_directions_are_compared():
    def audited(*words):
        sets = {
            "targets": {"F": ["she", "woman", "girl"], "M": ["he", "man", "boy"]},
            "attributes": {"A": [*words], "B": ["office", "salary", "business"]},
        }
        data = {
            **Study.example().declaration.canonical(),
            "queries": [{"name": "Gender", "query": [sets]}],
            "silhouettes": [{"metric": "weat", "query_set": "Gender", "n_runs": 3}],
            "audit": {"criteria": ["gender"]},
            "mitigations": [],
        }
        return Study(data).run(":memory:", progress=False)

    before = audited("home", "children", "parents")
    found = diff(before, audited("home", "children", "wedding"))
    audits = found.table[found.table["table"] == "audits"].set_index("metric")
    silhouette = audits.loc["robustness of the silhouette"]
    assert silhouette["before"] == before.silhouettes()[0][1].robustness
    # The direction has no word of the query.
    direction = audits.loc["variance of the first component"]
    assert 0.5 < direction["before"] == direction["after"] < 1
    assert (silhouette["status"], direction["status"]) == ("changed", "equal")


def test_nothing_to_compare_is_not_the_same_as_no_difference():
    nothing = results_of({})
    found = diff(nothing, nothing)
    assert not found.is_empty
    assert found.summary() == "there is nothing to compare"


def test_wrong_input_is_refused(two_models):
    with pytest.raises(TypeError, match=r"after .* 'b.db'"):
        diff(two_models, "b.db")
    with pytest.raises(ValueError, match="tolerance"):
        diff(two_models, two_models, -1)
    with pytest.raises(ValueError, match="table"):
        diff(two_models, two_models).changed("notes")


def test_markdown_is_cut_at_the_largest_changes_and_says_so():
    one, other = (
        results_of({"RND": {"s": {f"q{i}": {"m": i / 64 * more} for i in range(1, 61)}}})
        for more in (1, 3)
    )
    found = diff(one, other)
    text = found.to_markdown()
    assert "### Scores (40 of 60)" in text
    assert ("| q59 |" in text, "| q3 |" in text) == (True, False)
