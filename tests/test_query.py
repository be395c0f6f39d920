"""Queries: names, subqueries, identity, plain data, and what is refused."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.query import Query, unique_queries

FEMALE, MALE = ["she", "woman", "girl"], ["he", "man", "boy"]
ARTS, SCIENCE = ["poetry", "dance"], ["math", "physics"]

word_sets = st.lists(st.text(max_size=5), min_size=1, max_size=4)


@st.composite
def queries(draw):
    targets = draw(st.lists(word_sets, min_size=1, max_size=4))
    attributes = draw(st.lists(word_sets, max_size=4))
    name = st.text(min_size=1, max_size=5)
    names = [
        draw(st.none() | st.lists(name, min_size=len(sets), max_size=len(sets), unique=True))
        for sets in (targets, attributes)
    ]
    return Query(targets, attributes, *names)


@pytest.fixture
def query():
    return Query([FEMALE, MALE], [ARTS, SCIENCE], ["Female", "Male"], ["Arts", "Science"])


# What it holds


@pytest.mark.parametrize(
    ("n_targets", "n_attributes", "name"),
    [
        (1, 0, "Target set 0"),
        (1, 1, "Target set 0 wrt Attribute set 0"),
        (
            3,
            2,
            "Target set 0, Target set 1 and Target set 2 wrt Attribute set 0 and Attribute set 1",
        ),
    ],
)
def test_name_enumerates_the_sets_with_commas_before_the_last_and(n_targets, n_attributes, name):
    query = Query([["t"]] * n_targets, [["a"]] * n_attributes)
    assert (query.query_name, query.template) == (name, (n_targets, n_attributes))


@pytest.mark.parametrize(
    "sets",
    [
        ((FEMALE, MALE), (tuple(SCIENCE),)),
        (np.array([FEMALE, MALE]), np.array([SCIENCE], dtype=object)),
        ([[np.str_(word) for word in FEMALE], tuple(MALE)], [SCIENCE]),
        ([pd.Series(FEMALE, [7, 8, 9]), pd.Index(MALE)], [SCIENCE]),
    ],
    ids=["tuples", "arrays", "numpy strings", "columns"],
)
def test_sets_of_every_kind_give_the_same_query_of_plain_strings(sets):
    query = Query(*sets, np.array(["F", "M"]), ("S",))
    assert query == Query([FEMALE, MALE], [SCIENCE], ["F", "M"], ["S"])
    for part in (*query.target_sets, *query.attribute_sets, query.target_sets_names):
        assert {type(string) for string in part} == {str}


def test_changing_the_given_lists_or_the_returned_ones_changes_no_query():
    targets, names = [list(FEMALE), list(MALE)], ["Female", "Male"]
    query = Query(targets, [ARTS], names)
    before = query.dict()
    targets[0].append("girls")
    names[0] = "Male"
    query.target_sets[0].clear()
    query.attribute_sets.clear()
    query.target_sets_names.clear()
    query.dict()["target_sets"][0].clear()
    assert query.dict() == before
    for attribute in ("target_sets", "template", "query_name", "anything"):
        with pytest.raises(AttributeError):
            setattr(query, attribute, [])


# Identity


@settings(deadline=None)
@given(queries())
def test_copies_are_equal_and_hash_alike(query):
    copies = [
        Query.from_dict(query.dict()),
        Query.from_json(query.to_json()),
        Query(*list(query.dict().values())[:4]),
        copy.deepcopy(query),
        pickle.loads(pickle.dumps(query)),
    ]
    assert all(one == query and hash(one) == hash(query) for one in copies)


def test_queries_that_differ_in_words_names_or_order_are_not_equal(query):
    names = ["Female", "Male"], ["Arts", "Science"]
    for other in (
        Query([MALE, FEMALE], [ARTS, SCIENCE], *names),
        Query([FEMALE, MALE], [ARTS, SCIENCE], ["Women", "Men"], ["Arts", "Science"]),
        Query([FEMALE, MALE], [ARTS, SCIENCE]),
        Query([FEMALE[::-1], MALE], [ARTS, SCIENCE], *names),
    ):
        assert query != other


# Subqueries


@settings(deadline=None)
@given(queries(), st.integers(1, 4), st.integers(0, 4))
def test_subqueries_are_the_combinations_in_order_without_repeated_content(query, t, a):
    expected = {}
    targets = zip(query.target_sets, query.target_sets_names, strict=True)
    attributes = zip(query.attribute_sets, query.attribute_sets_names, strict=True)
    chosen = itertools.combinations(targets, t), itertools.combinations(attributes, a)
    for sides in itertools.product(*chosen):
        words, names = ([[each[i] for each in side] for side in sides] for i in (0, 1))
        expected.setdefault(repr(words), Query(*words, *names))
    assert query.get_subqueries((t, a)) == list(expected.values())
    # Older releases compared them by name, so that unnamed ones vanished.
    found = query.get_subqueries((t, a))
    assert unique_queries(found * 2) == found


def test_n_keeps_all_sets_of_its_side():
    # Older releases dropped every query whose template holds an n.
    query = Query([["t0"], ["t1"], ["t2"]], [["a0"], ["a1"]])
    assert query.get_subqueries(("n", 2)) == [query]
    assert query.get_subqueries(("n", "n"), minimum=(3, 2)) == [query]
    parts = query.get_subqueries(("n", 1), minimum=(2, 1))
    assert [part.template for part in parts] == [(3, 1), (3, 1)]
    for template, minimum in (((3, 2), (1, 1)), (("n", 2), (3, 1)), (("n", "n"), (1, 1))):
        assert query.satisfies(template, minimum)
    for template, minimum in (((3, 1), (1, 1)), (("n", 2), (4, 1))):
        assert not query.satisfies(template, minimum)


@pytest.mark.parametrize(
    # No target set: its subqueries would be queries about nobody.
    "template",
    [(2,), (2, -1), (2, 1.5), ("N", 1), (0, 1)],
)
def test_wrong_templates_are_refused(query, template):
    for call in (query.get_subqueries, query.satisfies):
        with pytest.raises(ValueError, match="a template is a pair"):
            call(template)


# Plain data


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"targets": [FEMALE]}, ValueError, "unknown option 'targets'.*Did you mean 'target_sets'"),
        ({"target_sets": [], "target_sets_names": None}, ValueError, "at least one target set"),
        ({"attribute_sets": [ARTS, []]}, ValueError, r"attribute set 1 \('Science'\) is empty"),
        ({"target_sets_names": ["a"]}, ValueError, "2 sets, 1 names"),
    ],
)
def test_wrong_data_are_refused(query, change, error, message):
    with pytest.raises(error, match=message):
        Query.from_dict(query.dict() | change)
    bare = {"target_sets": [FEMALE], "attribute_sets": [ARTS], "template": None}
    assert Query.from_dict(bare) == Query([FEMALE], [ARTS])


# What is refused; the message says which set and which element


@pytest.mark.parametrize("side", ["target", "attribute"])
@pytest.mark.parametrize(
    ("sets", "error", "message"),
    [
        ((words for words in [FEMALE]), TypeError, "{side}_sets must be a list.*generator"),
        ([FEMALE, "he"], TypeError, r"{side} set 1 .*must be a list.*Put it in a list"),
        ([FEMALE, []], ValueError, r"{side} set 1 .* is empty"),
        ([FEMALE, ["he", None]], TypeError, r"{side} set 1 .*element 1 must be a string.*None"),
        (np.array([[1, 2]]), TypeError, r"element 0 must be a string; got int"),
    ],
)
def test_wrong_sets_are_refused(side, sets, error, message):
    arguments = [sets, [ARTS]] if side == "target" else [[FEMALE], sets]
    with pytest.raises(error, match=message.replace("{side}", side)):
        Query(*arguments)


@pytest.mark.parametrize("side", ["target", "attribute"])
@pytest.mark.parametrize(
    ("names", "error"), [(["Same", "Same"], ValueError), (["One"], ValueError), ("AB", TypeError)]
)
def test_wrong_names_are_refused(side, names, error):
    # Two sets with one name overwrote each other in older releases.
    with pytest.raises(error, match=f"{side}_sets_names"):
        Query([FEMALE, MALE], [ARTS, SCIENCE], **{f"{side}_sets_names": names})
