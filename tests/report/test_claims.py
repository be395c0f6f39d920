"""Claims: each has its evidence, and nothing is said of what was not measured."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import results_of

from wefe.report import summarize, to_markdown
from wefe.study import Outcome

MODELS = ["modelone", "modeltwo", "modelthree", "modelfour"]
#: Kinds that speak of what has no value, or of tasks.
OF_GAPS = {"without_value", "unfinished", "left_out"}

_value = st.one_of(
    # Few different numbers, so that there are ties.
    st.sampled_from([-0.5, 0.0, 0.1, 0.1, 0.3]),
    st.floats(-2, 2, allow_nan=False),
    st.builds(
        lambda score, p: {"score": score, "p_value": p, "score_lower": score, "score_upper": 3.0},
        st.floats(-1, 1),
        st.sampled_from([0.001, 0.04, 0.5]),
    ),
    st.just({"score": None, "nan_reason": "lost"}),
    st.just(Outcome("failed", reason="no such file")),
    st.just(Outcome()),
)


@st.composite
def tables(draw):
    """Draw metric -> query set -> query -> model -> what became of the score."""
    models = MODELS[: draw(st.integers(1, 4))]
    if draw(st.booleans()):
        models = [*models, f"{models[0]} + hard"]
    n_queries = draw(st.integers(1, 9))
    names = draw(st.sampled_from([("WEAT",), ("WEAT", "ECT"), ("WEAT", "RND", "ECT")]))
    sets = draw(st.sampled_from([("Gender",), ("Gender", "Age")]))
    return {
        metric: {
            name: {f"{name} q{i}": {m: draw(_value) for m in models} for i in range(n_queries)}
            for name in sets
        }
        for metric in names
    }


def measured(scores):
    """Return the models that have a score, and how many scores each has."""
    counts = dict.fromkeys(MODELS, 0)
    for of_set in scores.values():
        for queries in of_set.values():
            for by_model in queries.values():
                for model, value in by_model.items():
                    score = value["score"] if isinstance(value, dict) else value
                    counts.setdefault(model, 0)
                    counts[model] += isinstance(score, float)
    return counts


@settings(max_examples=30, deadline=None)
@given(tables(), st.sampled_from(["queries", "models"]), st.booleans())
def test_nothing_is_said_of_what_was_not_measured(scores, missing, audited):
    settings = {
        "audit": {"scores": audited, "criteria": []},
        "aggregation": {
            "function": "bias_avg",
            "missing": missing,
            "ties": "min",
            "correlation": "spearman",
        },
    }
    summary = summarize(results_of(scores, settings))
    counts = measured(scores)
    n_queries = len({query for by_set in scores.values() for q in by_set.values() for query in q})
    found = summary["claims"]
    for claim in found:
        evidence, text = claim["evidence"], claim["text"]
        named = {part["text"] for part in claim["parts"] if part["kind"] == "model"}
        assert named <= set(evidence["models"]), claim
        assert not re.search(r"\b(nan|None|inf)\b", text), text
        assert text.count(". ") == 0, "one sentence"
        assert text.endswith(".")
        if claim["kind"] not in OF_GAPS:
            assert all(counts[model] for model in evidence["models"]), claim
        if evidence["unit"] == "query":
            assert 1 <= evidence["n"] <= n_queries
    of = {
        place: [claim for claim in found if claim["place"] == place]
        for place in ("verdict", "summary")
    }
    assert len(of["verdict"]) <= 3
    assert len(of["verdict"]) + len(of["summary"]) <= 8
    kinds = [claim["kind"] for claim in found]
    assert not {"warned", "not_audited"} <= set(kinds)
    if sum(map(bool, counts.values())) < 2:
        assert not {"leader", "no_leader", "lowest_sum", "tested", "differ", "same_order"} & {
            *kinds
        }
    if "leader" in kinds:
        (first, *_) = of["verdict"]
        assert first["evidence"]["p_value"] < 0.05
    to_markdown(results_of(scores, settings))


def test_audits_that_found_warnings_are_audits(made):
    warned = {"score": 0.3, "warnings": ["few-words: there are 2"]}
    scores = {"WEAT": {"G": {"q": {"a": warned, "b": 0.2}}}}
    kinds = [claim["kind"] for claim in summarize(made(scores))["claims"]]
    assert "warned" in kinds
    assert "not_audited" not in kinds


def test_html_and_markdown_say_the_same(rich):
    from wefe.report import to_html

    html, text = to_html(rich), to_markdown(rich).replace("\\", "").replace("**", "")
    plain = re.sub(r"<[^>]+>", "", html)
    verdict = [c["text"] for c in summarize(rich)["claims"] if c["place"] == "verdict"]
    assert verdict
    for sentence in verdict:
        assert sentence in plain
        assert sentence in text
