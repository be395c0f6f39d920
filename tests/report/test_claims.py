"""Claims: each has its evidence, and its sentence changes with the data."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import results_of

from wefe.report._render import to_markdown
from wefe.report._summarize import summarize
from wefe.study import Outcome

MODELS = ["modelone", "modeltwo", "modelthree", "modelone + hard"]
FAILED = Outcome("failed", failure="no such file")
#: Kinds that speak of what has no value, or of tasks.
OF_GAPS = {"without_value", "unfinished", "left_out"}
RANKED = {"leader", "no_leader", "lowest_sum", "tested", "differ", "alike"}

_value = st.one_of(
    # Few different numbers, so that there are ties.
    st.sampled_from([-0.5, 0.0, 0.1, 0.3, "lost", FAILED, Outcome()]),
    st.builds(
        lambda score, p: {"score": score, "p_value": p, "score_lower": score, "score_upper": 3.0},
        st.floats(-1, 1),
        st.sampled_from([0.001, 0.04, 0.5]),
    ),
)


@st.composite
def tables(draw):
    """Draw metric -> query set -> query -> model -> what became of the score."""
    models = draw(st.lists(st.sampled_from(MODELS), min_size=1, unique=True))
    n_queries = draw(st.integers(1, 9))
    return {
        metric: {"Gender": {f"q{i}": {m: draw(_value) for m in models} for i in range(n_queries)}}
        for metric in draw(st.sampled_from([("WEAT",), ("WEAT", "RND", "ECT")]))
    }


@settings(max_examples=20, deadline=None)
@given(tables())
def test_nothing_is_said_of_what_was_not_measured(scores):
    results = results_of(scores)
    found = summarize(results)["claims"]
    measured = set(results.to_frame().dropna(subset="score")["model_name"])
    for claim in found:
        models = set(claim["evidence"]["models"])
        assert {part["text"] for part in claim["parts"] if part["kind"] == "model"} <= models
        assert claim["kind"] in OF_GAPS or models <= measured, claim
        assert not re.search(r"\b(nan|None|inf)\b", claim["text"])
    places = [claim["place"] for claim in found]
    assert places.count("verdict") <= 3
    assert places.count("verdict") + places.count("summary") <= 8
    assert len(measured) > 1 or not RANKED & {claim["kind"] for claim in found}
    leading = [claim for claim in found if claim["kind"] == "leader"]
    assert all(claim["evidence"]["p_value"] < 0.05 for claim in leading)
    to_markdown(results)


def sentences(results, *kinds):
    """Return the sentences of some kinds of claims, or of a place."""
    return [
        claim["text"]
        for claim in summarize(results)["claims"]
        if claim["kind"] in kinds or claim["place"] in kinds
    ]


def eight(**scores):
    return {f"q{i}": dict(scores) for i in range(8)}


# Distances from no bias. WEAT: a 0.1, b 0.5, c 0.3; ECT: a 0.1, b 0.2, c 0.5.
SCORES = {
    "WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.5, "c": 0.3}}},
    "ECT": {"Gender": {"q": {"a": 0.9, "b": 0.8, "c": 0.5}}},
}
TIED = {"WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.1, "c": 0.3}}}}
SEVEN = {f"q{i}": {"a": 0.1, "b": 0.9} for i in range(7)}
# By ECT a is first in the mean of eight queries, but nearer in four of them only.
MIXED = {f"q{i}": {"a": 0.9 if i < 4 else 0.5, "b": 0.3 if i < 4 else 0.7} for i in range(8)}
P_VALUES = {
    query: {name: {"score": 0.5, "p_value": p} for name, p in zip("ab", pair, strict=True)}
    for query, pair in {"q": (0.001, 0.9), "r": (0.03, 0.04), "s": (0.2, 0.06)}.items()
}
ONE_WAY = {"q": {"a": 0.1, "b": 0.2, "c": 0.3}}
OTHER_WAY = {"q": {"a": 0.3, "b": 0.2, "c": 0.1}}
CHANGED = {
    "WEAT": {"G": {"q": {"a": -0.4, "b": 0.9, "a + hard": 0.1}}},
    "ECT": {"G": {"q": {"a": 0.9, "b": 0.1, "a + hard": 0.5}}},
    "RND": {"G": {"q": {"a": 0.0, "b": 0.1, "a + hard": 0.1}}},
}
# Scores, kinds or places of claims, and the sentences.
SAID = [
    (SCORES, ["verdict"], [
        "Gender: no model is clearly ahead: a ranks first on both metrics (not tested for "
        "significance).",
        "a has the lowest sum of ranks over both metrics: 2, where 2 is the least possible; b "
        "follows with 5."]),
    (TIED, ["first_on"], ["Gender: a and b tie for first on WEAT."]),
    ({"WEAT": {"G": {q: {"a": of["a"]} for q, of in P_VALUES.items()}}}, ["verdict"],
     ["a is the only model with scores, so there is no ranking.",
      "Scores with p < 0.05: a 2 of 3 (1 after Holm's correction for 3 tests)."]),
    ({"WEAT": {"G": eight(a=0.1, b=0.2)}, "RND": {"G": eight(a=0.2, b=0.1)}}, ["verdict"],
     ["G: no model is clearly ahead: a ranks first on 1 of 2 metrics (significantly), b on 1 "
      "(significantly).",
      "a and b share the lowest sum of ranks over both metrics: 3, where 2 is the least "
      "possible."]),
    ({"WEAT": {"G": eight(a=0.1, b=0.2)}, "RND": {"G": SEVEN}, "ECT": {"G": MIXED}},
     ["leader", "tested"],
     ["G: a ranks first on all 3 metrics (significantly on 1 of 2 tested).",
      "In 1 of 2 tested rankings, the first model is significantly closer to no bias than the "
      "second (paired over queries); 1 could not be tested."]),
    ({"WEAT": {"G": SEVEN}, "RND": {"G": SEVEN}}, ["tested"],
     ["No ranking could be tested for significance: without intervals, the test needs at least 8 "
      "groups of queries that share no words."]),
    ({"WEAT": {"G": ONE_WAY}, "RND": {"G": OTHER_WAY}}, ["differ"],
     ["Some metrics rank the models differently (Spearman correlation): WEAT and RND (-1.00)."]),
    ({"WEAT": {"G": ONE_WAY}, "RND": {"G": ONE_WAY}}, ["alike"],
     ["The metrics rank the models alike; the lowest Spearman correlation is that of WEAT and RND "
      "(1.00)."]),
    ({"WEAT": {"G": ONE_WAY}, "RND": {"G": {"q": dict.fromkeys("abc", "lost")}}},
     ["alike", "differ"], []),
    (CHANGED, ["mitigated", "mitigation"],
     ["Mitigation lowered the measured bias in 1 of 3 comparisons with the original model and "
      "raised it in 2.",
      "a + hard against a (G): higher distance from no bias on ECT (0.100 to 0.500, +400 %), RND "
      "(0.000 to 0.100); lower distance from no bias on WEAT (0.400 to 0.100, -75 %)."]),
    ({"WEAT": {"G": {"q": {"a": 0.1, "b": 0.2, "c": FAILED},
                     "r": {"a": 0.1, "b": Outcome(), "c": FAILED},
                     "s": {"a": "lost", "b": 0.1, "c": 0.1}}}},
     ["unfinished", "without_value", "left_out"],
     ["4 of 9 scores have no value: 2 failed, 1 not computed yet and 1 undefined (NaN).",
      "1 of 9 tasks is not computed yet and 2 of 9 tasks failed; run the study again to compute "
      "what is missing.",
      "Aggregated scores of G leave out queries that not every model could answer: 1 of 3 for "
      "WEAT."]),
]  # fmt: skip


@pytest.mark.parametrize(("scores", "kinds", "expected"), SAID)
def test_sentences(scores, kinds, expected):
    assert sentences(results_of(scores), *kinds) == expected


def test_warnings_are_said_in_plain_words(rich):
    (warned,) = sentences(rich, "warned", "not_audited")
    assert summarize(rich)["warnings"][0]["meaning"] in warned
