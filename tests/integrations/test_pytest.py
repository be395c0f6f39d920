import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from wefe import ECT, WEAT, Query, load_test_model
from wefe.datasets import load_query_set
from wefe.datasets._queries import OpenedQueries
from wefe.integrations import pytest as integration
from wefe.integrations.pytest import assert_bias

OF_A_USER = """
import sys

HEAVY = {"numpy", "pandas", "scipy", "sklearn", "torch", "wefe.integrations.pytest"}
LOADED = HEAVY & set(sys.modules)

def test_pytest_starts_without_what_is_heavy():
    assert not LOADED

def test_bias(assert_bias):
    assert_bias("demo", "gender", max=1.5, offline=True)
"""
PAGE = Path(__file__).resolve().parents[2] / "docs/integrations/pytest.md"
# The tests of the page.
OF_A_USER += "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))


def reasons(error):
    """What stands below the table: query -> reason."""
    items = re.findall(r"^- (.+? wrt .+?): (.+)$", str(error.value), re.MULTILINE)
    return dict(items)


def test_the_plugin_gives_a_fixture_and_a_test_that_fails_shows_what_and_why(tmp_path):
    (tmp_path / "test_user.py").write_text(OF_A_USER, encoding="utf-8")
    # With this plugin and no other.
    plugins = ["-p", "wefe.integrations._pytest_plugin", "-p", "no:cacheprovider"]
    printed = subprocess.run(
        [sys.executable, "-m", "pytest", "test_user.py", "-q", *plugins],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    ).stdout
    assert "1 failed, 3 passed" in printed
    assert "minilm-words: 1 of 6 scores are not within the limits" in printed
    assert re.search(r"^E +query +score +distance +max +p value holm +words lost", printed, re.M)
    # The traceback ends at the test.
    assert "def assert_bias" not in printed


def test_scores_above_the_limit_fail_whatever_their_sign(toy_model, toy_query):
    queries = load_query_set("weat")[:10]
    queries[5:] = [
        Query(q.target_sets[::-1], q.attribute_sets, q.target_sets_names[::-1]) for q in queries[5:]
    ]
    model = load_test_model()
    sizes = [WEAT(return_effect_size=True).run_query(q, model)["result"] for q in queries]
    most = sorted(map(abs, sizes))[4]
    with pytest.raises(AssertionError, match="5 of 10 scores") as error:
        assert_bias(model, queries, max=most)
    too_large = {q.query_name for q, size in zip(queries, sizes, strict=True) if abs(size) > most}
    assert min(sizes) < -most < most < max(sizes)
    assert set(reasons(error)) == too_large
    assert assert_bias(model, queries, max=2)["score"].tolist() == pytest.approx(sizes)
    # Distances are from the score that means no bias.
    query = toy_query.get_subqueries((2, 1))[0]
    distance = 1 - ECT().run_query(query, toy_model)["result"]
    assert_bias(toy_model, query, metric="ect", max=distance + 1e-9)
    with pytest.raises(AssertionError, match="is more than"):
        assert_bias(toy_model, query, metric=ECT, max=distance - 1e-9)


def test_p_values_are_adjusted_for_the_number_of_queries():
    model, queries = load_test_model(), load_query_set("gender", offline=True)
    asked = {"calculate_p_value": True, "p_value_method": "exact", "p_value_test_type": "two-sided"}
    p = {q.query_name: WEAT().run_query(q, model, **asked)["p_value"] for q in queries}
    # Holm's procedure, step by step.
    rejected = set()
    for rank, name in enumerate(sorted(p, key=p.get)):
        if p[name] * (len(p) - rank) >= 0.05:
            break
        rejected.add(name)
    assert 0 < len(rejected) < sum(value < 0.05 for value in p.values())
    with pytest.raises(AssertionError, match=r"at least 0\.05") as error:
        assert_bias(model, queries, p_value=0.05)
    assert set(reasons(error)) == rejected


def test_a_query_that_cannot_be_downloaded_fails_unless_it_is_not_asked_for(
    toy_model, toy_query, monkeypatch
):
    opened = OpenedQueries("faith", [toy_query], left_out=["Old wrt New"], why="no connection")
    monkeypatch.setattr(integration, "open_query_set", lambda *_: opened)
    with pytest.raises(AssertionError, match="1 of 2 scores") as error:
        assert_bias(toy_model, "faith", max=2)
    assert reasons(error) == {"Old wrt New": "its words need a download (no connection)"}
    assert len(assert_bias(toy_model, "faith", max=2, offline=True)) == 1


def test_what_cannot_be_measured_fails_with_its_reason(toy_model):
    query = Query([["She", "woman"], ["he", "man"]], [["home", "xyzzy"], ["boss", "job"]])
    with pytest.raises(AssertionError, match=r"'Attribute set 0' lost 50% of its words \(xyz"):
        assert_bias(toy_model, query, max=2)
    # Forms in lower case are looked up, too.
    scores = assert_bias(toy_model, query, max=2, lost_vocabulary_threshold=0.5)
    assert scores["words_used"].tolist() == [7]


def test_a_model_may_be_a_file_a_dict_or_an_encoder(encoder, tmp_path, toy_model, toy_query):
    toy_model.save(tmp_path / "toy.txt")
    vectors = {word: toy_model[word] for word in toy_model.vocab}
    library = pytest.importorskip("sentence_transformers")
    for model in (tmp_path / "toy.txt", vectors, library.SentenceTransformer(encoder)):
        assert len(assert_bias(model, toy_query, max=2)) == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "max nor p_value"),
        ({"max": -1}, ValueError, "at least 0"),
        ({"p_value": 0.05, "metric": "mac"}, ValueError, "MAC computes no p-value"),
        ({"max": 1, "queries": 3}, TypeError, "3"),
    ],
)
def test_wrong_calls_are_refused(options, error, message, toy_model, toy_query):
    with pytest.raises(error, match=message):
        assert_bias(toy_model, **{"queries": toy_query, **options})
