"""Queries: names, subqueries, identity, plain data, and what is refused."""

import copy
import itertools
import json
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
    names = [
        draw(
            st.none()
            | st.lists(
                st.text(min_size=1, max_size=5), min_size=len(sets), max_size=len(sets), unique=True
            )
        )
        for sets in (targets, attributes)
    ]
    return Query(targets, attributes, *names)


def distinct_query(n_targets, n_attributes):
    """A query of which no two sets are alike."""
    return Query([[f"t{i}"] for i in range(n_targets)], [[f"a{i}"] for i in range(n_attributes)])


@pytest.fixture
def query():
    return Query([FEMALE, MALE], [ARTS, SCIENCE], ["Female", "Male"], ["Arts", "Science"])


# What it holds


@pytest.mark.parametrize(
    ("n_targets", "n_attributes", "name"),
    [
        (1, 0, "Target set 0"),
        (1, 1, "Target set 0 wrt Attribute set 0"),
        (2, 1, "Target set 0 and Target set 1 wrt Attribute set 0"),
        (
            3,
            4,
            "Target set 0, Target set 1 and Target set 2 wrt "
            "Attribute set 0, Attribute set 1, Attribute set 2 and Attribute set 3",
        ),
    ],
)
def test_name_enumerates_the_sets_with_commas_before_the_last_and(n_targets, n_attributes, name):
    assert distinct_query(n_targets, n_attributes).query_name == name


@pytest.mark.parametrize(
    "sets",
    [
        ((FEMALE, MALE), (tuple(SCIENCE),)),
        (np.array([FEMALE, MALE]), np.array([SCIENCE])),
        ([np.array(FEMALE), tuple(MALE)], np.array([SCIENCE], dtype=object)),
        ([[np.str_(word) for word in FEMALE], MALE], [SCIENCE]),
        ([pd.Series(FEMALE, [7, 8, 9]), pd.Index(MALE)], [SCIENCE]),
    ],
    ids=["tuples", "arrays", "mixed", "numpy strings", "columns"],
)
def test_sets_of_every_kind_give_the_same_query_of_plain_strings(sets):
    query = Query(*sets, np.array(["F", "M"]), ("S",))
    assert query == Query([FEMALE, MALE], [SCIENCE], ["F", "M"], ["S"])
    strings = itertools.chain(
        *query.target_sets, *query.attribute_sets, query.target_sets_names, [query.query_name]
    )
    assert {type(string) for string in strings} == {str}
    assert Query.from_json(query.to_json()) == query


def test_changing_the_given_lists_or_the_returned_ones_changes_no_query():
    targets, names = [list(FEMALE), list(MALE)], ["Female", "Male"]
    query = Query(targets, [ARTS], names)
    before = query.dict()
    targets[0].append("girls")
    targets.pop()
    names[0] = "Male"
    query.target_sets[0].clear()
    query.attribute_sets.clear()
    query.target_sets_names.clear()
    query.dict()["target_sets"][0].clear()
    assert query.dict() == before


@pytest.mark.parametrize("attribute", ["target_sets", "template", "query_name", "anything"])
def test_a_query_cannot_be_changed(query, attribute):
    with pytest.raises(AttributeError):
        setattr(query, attribute, [])


# Identity


@settings(deadline=None)
@given(queries())
def test_copies_are_equal_and_hash_alike(query):
    copies = [
        Query(*[query.dict()[key] for key in list(query.dict())[:4]]),
        copy.deepcopy(query),
        pickle.loads(pickle.dumps(query)),
    ]
    assert {query, *copies} == {query}
    assert all(one == query and hash(one) == hash(query) for one in copies)


@pytest.mark.parametrize(
    "other",
    [
        Query([MALE, FEMALE], [ARTS, SCIENCE], ["Female", "Male"], ["Arts", "Science"]),
        Query([FEMALE, MALE], [ARTS], ["Female", "Male"], ["Arts"]),
        Query([FEMALE, MALE], [ARTS, SCIENCE], ["Women", "Men"], ["Arts", "Science"]),
        Query([FEMALE, MALE], [ARTS, SCIENCE]),
        Query([FEMALE[::-1], MALE], [ARTS, SCIENCE], ["Female", "Male"], ["Arts", "Science"]),
    ],
    ids=["sets swapped", "fewer sets", "other names", "no names", "words reversed"],
)
def test_queries_that_differ_in_words_names_or_order_are_not_equal(query, other):
    assert query != other


# Subqueries


@settings(deadline=None)
@given(queries(), st.integers(1, 4), st.integers(0, 4))
def test_subqueries_are_the_combinations_in_order_without_repeated_content(query, t, a):
    expected, seen = [], []
    numbered_targets = list(zip(query.target_sets, query.target_sets_names, strict=True))
    numbered_attributes = list(zip(query.attribute_sets, query.attribute_sets_names, strict=True))
    for targets in itertools.combinations(numbered_targets, t):
        for attributes in itertools.combinations(numbered_attributes, a):
            words = [[part[0] for part in targets], [part[0] for part in attributes]]
            names = [[part[1] for part in targets], [part[1] for part in attributes]]
            if words not in seen:
                seen.append(words)
                expected.append(Query(*words, *names))
    assert query.get_subqueries((t, a)) == expected


def test_unnamed_queries_keep_all_their_subqueries():
    # Older releases compared subqueries by name, so that unnamed ones vanished.
    one, other = Query([["a"], ["b"]], [["c"]]), Query([["d"], ["e"]], [["f"]])
    assert one.query_name == other.query_name
    assert unique_queries([one, other, one]) == [one, other]


def test_combinations_of_the_same_words_under_two_names_occur_once():
    query = Query([["a"], ["b"], ["a"]], [["c"]], ["one", "two", "again"])
    assert [subquery.target_sets_names for subquery in query.get_subqueries((1, 1))] == [
        ["one"],
        ["two"],
    ]
    # ('b', 'a') is another subquery than ('a', 'b'): the order of sets has a meaning.
    assert len(query.get_subqueries((2, 1))) == 3


def test_n_keeps_all_sets_of_its_side():
    # Older releases dropped every query whose template holds an n.
    query = distinct_query(3, 2)
    assert query.get_subqueries(("n", 2)) == [query]
    assert query.get_subqueries(("n", "n"), minimum=(3, 2)) == [query]
    parts = query.get_subqueries(("n", 1), minimum=(2, 1))
    assert [part.template for part in parts] == [(3, 1), (3, 1)]


@pytest.mark.parametrize(
    ("template", "minimum", "expected"),
    [
        ((2, 2), (1, 1), True),
        ((2, 1), (1, 1), False),
        (("n", 2), (2, 1), True),
        (("n", 2), (3, 1), False),
        (("n", "n"), (1, 1), True),
    ],
)
def test_a_query_knows_which_templates_it_satisfies(query, template, minimum, expected):
    assert query.satisfies(template, minimum) is expected


@pytest.mark.parametrize(
    ("template", "error", "message"),
    [
        ((2,), TypeError, "a template is a pair"),
        ("21", TypeError, "a template is a pair"),
        ((2, -1), ValueError, "integers or 'n'"),
        ((2, 1.0), ValueError, "got tuple .2, 1.0"),
        ((True, 1), ValueError, "got tuple .True"),
        (("N", 1), ValueError, "got tuple .'N'"),
        # Its subqueries would be queries about nobody, whose name cannot even be generated.
        ((0, 1), ValueError, "at least one target set"),
    ],
)
def test_wrong_templates_are_refused(query, template, error, message):
    with pytest.raises(error, match=message):
        query.get_subqueries(template)
    with pytest.raises(error, match=message):
        query.satisfies(template)


# Plain data


@settings(deadline=None)
@given(queries(), st.none() | st.integers(0, 4))
def test_queries_survive_dict_and_json(query, indent):
    assert Query.from_dict(query.dict()) == query
    assert Query.from_json(query.to_json(indent)) == query
    assert Query.from_dict(json.loads(json.dumps(query.dict()))) == query


def test_names_and_what_is_generated_may_be_absent():
    data = {"target_sets": [FEMALE], "attribute_sets": [ARTS]}
    assert Query.from_dict(data) == Query([FEMALE], [ARTS])
    nothing = {"target_sets_names": None, "attribute_sets_names": None, "template": None}
    assert Query.from_dict(data | nothing) == Query([FEMALE], [ARTS])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"template": (2, 1)}, ValueError, r"template is \(2, 1\), but the sets make it \(2, 2\)"),
        ({"template": 22}, TypeError, "a template is a pair"),
        ({"query_name": "My query"}, ValueError, "is 'My query', but the sets make it 'Female"),
        ({"targets": [FEMALE]}, ValueError, "unknown option 'targets'.*Did you mean 'target_sets'"),
        ({"target_sets": "she"}, TypeError, "target_sets must be a list"),
        ({"attribute_sets": [ARTS, []]}, ValueError, r"attribute set 1 \('Science'\) is empty"),
        ({"target_sets_names": ["a"]}, ValueError, "2 sets, 1 names"),
    ],
)
def test_wrong_data_are_refused(query, change, error, message):
    with pytest.raises(error, match=message):
        Query.from_dict(query.dict() | change)


# What is refused; the message says which set and which element


@pytest.mark.parametrize("side", ["target", "attribute"])
@pytest.mark.parametrize(
    ("sets", "error", "message"),
    [
        ("she", TypeError, "{side}_sets must be a list.*got str 'she'"),
        ((words for words in [FEMALE]), TypeError, "{side}_sets must be a list.*generator"),
        ([FEMALE, "he"], TypeError, r"{side} set 1 .*must be a list.*Put it in a list: \['he'\]"),
        ([FEMALE, {"he"}], TypeError, r"{side} set 1 .* must be a list.*got set"),
        ([FEMALE, []], ValueError, r"{side} set 1 \('{Side} set 1'\) is empty"),
        ([FEMALE, ["he", None]], TypeError, r"{side} set 1 .*element 1 must be a string.*None"),
        (np.array([[1, 2]]), TypeError, r"element 0 must be a string; got int"),
    ],
)
def test_wrong_sets_are_refused(side, sets, error, message):
    arguments = [sets, [ARTS]] if side == "target" else [[FEMALE], sets]
    pattern = message.replace("{side}", side).replace("{Side}", side.capitalize())
    with pytest.raises(error, match=pattern):
        Query(*arguments)


def test_a_query_has_at_least_one_target_set():
    with pytest.raises(ValueError, match="needs at least one target set"):
        Query([], [ARTS])


def test_a_query_may_have_no_attribute_sets():
    query = Query([FEMALE], [])
    assert query.template == (1, 0)
    assert query.query_name == "Target set 0"


@pytest.mark.parametrize("side", ["target", "attribute"])
@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["Same", "Same"], ValueError, "{side}_sets_names must have one name.*'Same'"),
        (["One"], ValueError, "{side}_sets_names must have one name.*2 sets, 1 names"),
        ("AB", TypeError, "{side}_sets_names must be a list"),
        (["One", None], TypeError, "{side}_sets_names: element 1 must be a string"),
        (["", "Two"], ValueError, "{side}_sets_names must have one name.*''"),
    ],
)
def test_wrong_names_are_refused(side, names, error, message):
    # Two sets with one name overwrote each other in older releases.
    with pytest.raises(error, match=message.replace("{side}", side)):
        Query([FEMALE, MALE], [ARTS, SCIENCE], **{f"{side}_sets_names": names})
