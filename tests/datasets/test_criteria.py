"""Criteria: the published ones have the published words, and those of a user are checked."""

import json

import pytest

from wefe import WEAT
from wefe.datasets import Criterion, fetch_debias_multiclass, fetch_debiaswe, load_criterion

AGE = {
    "name": "age",
    "definitional_sets": [["young", "old"], ["boy", "man"], ["boy", "grandpa"]],
    "class_names": ["young", "old"],
    "equalize_sets": [["son", "father"]],
    "specific_words": ["teenager", "boy"],
    "stereotyped_words": {"old": ["wise", "slow"], "young": ["naive", "quick"]},
    "representatives": ["kid", "elder"],
}


def loaded(name):
    return load_criterion(name, offline=True)


# The published criteria


def test_the_first_class_of_gender_is_the_female_one():
    # The published pairs are (female, male); other software took the first word for the male one.
    criterion = loaded("gender")
    assert criterion.classes == {
        "female": ("woman", "girl", "she", "mother", "daughter", "gal", "female", "her",
                   "herself", "Mary"),
        "male": ("man", "boy", "he", "father", "son", "guy", "male", "his", "himself", "John"),
    }  # fmt: skip
    assert criterion.representatives == ("she", "he")
    assert {"nurse", "homemaker"} <= {*criterion.stereotyped_words["female"]}
    assert {"doctor", "programmer"} <= {*criterion.stereotyped_words["male"]}


@pytest.mark.parametrize("name", ["ethnicity", "religion"])
def test_three_classes_are_in_the_same_order_everywhere(name):
    published, criterion = fetch_debias_multiclass(), loaded(name)
    sets = tuple(map(tuple, published[f"{name}_definitional_sets"]))
    # By default what defines a class belongs to it.
    assert criterion.definitional_sets == criterion.equalize_sets == sets
    assert {*criterion.specific_words} == {word for words in sets for word in words}
    for class_name, words in criterion.stereotyped_words.items():
        assert [*words] == published[f"{name}_analogy_templates"][class_name]
    expected = {
        "ethnicity": ("black", "caucasian", "asian"),
        "religion": ("jew", "christian", "muslim"),
    }
    assert criterion.representatives == expected[name]


def test_the_downloaded_list_is_longer(mirror):
    full, shipped = load_criterion("gender"), loaded("gender")
    published = fetch_debiaswe()["gender_specific"]
    assert len(published) == 1441
    assert {*published, *shipped.specific_words} <= {*full.specific_words}
    assert full.equalize_sets == shipped.equalize_sets


@pytest.mark.parametrize(("name", "n_queries"), [("gender", 1), ("ethnicity", 3), ("religion", 3)])
def test_queries_run_on_the_packaged_vectors(packaged_model, name, n_queries):
    queries = loaded(name).queries()
    assert [query.template for query in queries] == [(2, 2)] * n_queries
    assert all(WEAT().run_query(query, packaged_model)["weat"] > 0 for query in queries)


# Criteria of a user


def test_what_is_given_is_kept_and_the_rest_follows_from_the_sets():
    criterion = Criterion(**AGE)
    assert criterion.equalize_sets == (("son", "father"),)
    assert " ".join(criterion.specific_words) == "teenager boy young old man grandpa son father"
    assert criterion.representatives == ("kid", "elder")
    # Each word of a class once, in the order of the sets.
    assert criterion.classes == {"young": ("young", "boy"), "old": ("old", "man", "grandpa")}
    bare = Criterion("age", [["young", "old"], ["boy", "man"]])
    assert bare.class_names == ("class 0", "class 1")
    assert bare.equalize_sets == bare.definitional_sets == (("young", "old"), ("boy", "man"))
    assert bare.specific_words == ("young", "old", "boy", "man")
    assert bare.representatives == ("young", "old")
    assert (bare.stereotyped_words, bare.queries()) == ({}, [])


def test_classes_without_stereotypes_are_in_no_query():
    stereotypes = {"D": ["w"], "A": ["x"], "C": ["y"]}
    some = Criterion("c", [[*"abcd"]], [*"ABCD"], stereotyped_words=stereotypes)
    pairs = ["".join(query.target_sets_names) for query in some.queries()]
    assert pairs == ["AC", "AD", "CD"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"name": ""}, TypeError, "name must be"),
        ({"definitional_sets": []}, ValueError, "definitional_sets must hold tuples"),
        ({"definitional_sets": [["young"]]}, ValueError, "two classes or more"),
        ({"definitional_sets": [["a", "b"], [*"cde"]]}, ValueError, r"tuples of \[2, 3\] words"),
        ({"definitional_sets": ["young", "old"]}, TypeError, r"definitional_sets\[0\]"),
        ({"class_names": ["young"]}, ValueError, "class_names must be 2 words"),
        ({"class_names": ["x", "x"]}, ValueError, "class_names must be different"),
        ({"stereotyped_words": {"yuong": ["quick"]}}, ValueError, "'yuong'.*'young'"),
        ({"stereotyped_words": {"old": []}}, ValueError, r"stereotyped_words\['old'\]"),
        ({"representatives": ["kid"]}, ValueError, "representatives must be 2 words"),
    ],
)
def test_what_is_wrong_is_named(change, error, message):
    with pytest.raises(error, match=message):
        Criterion(**{**AGE, **change})


# Files


def written(tmp_path, content, name="mine.json"):
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    return tmp_path / name


def test_a_file_has_the_parameters_and_needs_definitional_sets_only(tmp_path):
    assert load_criterion(str(written(tmp_path, AGE))) == Criterion(**AGE)
    criterion = load_criterion(written(tmp_path, {"definitional_sets": [["été", "hiver"]]}))
    assert criterion == Criterion("mine", [("été", "hiver")])
    # Without the suffix it is a file as well, if there is one.
    bare = written(tmp_path, {"definitional_sets": [["a", "b"]]}, "seasons")
    assert load_criterion(bare).name == "seasons"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"name": "age"}, "definitional_sets"),
        ({"definitional_sets": [["a", "b"]], "class_name": ["x", "y"]}, "'class_name'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_the_file(content, message, tmp_path):
    with pytest.raises(ValueError, match=f"mine.json.*{message}"):
        load_criterion(written(tmp_path, content))
