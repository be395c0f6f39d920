"""Criteria: the published ones have the published words, and those of a user are checked."""

import json
from pathlib import Path

import pytest

from wefe import WEAT
from wefe.datasets import (
    Criterion,
    fetch_debias_multiclass,
    fetch_debiaswe,
    load_criterion,
)

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
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


def test_three_classes_are_in_the_same_order_everywhere():
    published = fetch_debias_multiclass()
    for name in ("ethnicity", "religion"):
        criterion = loaded(name)
        assert criterion.definitional_sets == tuple(
            map(tuple, published[f"{name}_definitional_sets"])
        )
        for class_name, words in criterion.stereotyped_words.items():
            assert words == tuple(published[f"{name}_analogy_templates"][class_name])
        # By default what defines a class belongs to it.
        assert criterion.equalize_sets == criterion.definitional_sets
        assert {*criterion.specific_words} == {
            word for words in criterion.definitional_sets for word in words
        }
    assert loaded("ethnicity").classes["asian"] == ("asian", "asia", "china")
    assert loaded("religion").representatives == ("jew", "christian", "muslim")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the published word lists")
def test_the_downloaded_list_is_longer(monkeypatch):
    monkeypatch.setenv("WEFE_DATA_DIR", str(SHARED / "data"))
    full = load_criterion("gender")
    assert len(fetch_debiaswe()["gender_specific"]) == 1441
    assert {*fetch_debiaswe()["gender_specific"]} <= {*full.specific_words}
    assert {*full.specific_words} > {*loaded("gender").specific_words}
    assert full.equalize_sets == loaded("gender").equalize_sets


def test_queries_run_on_the_packaged_vectors(packaged_model):
    for name, n_queries in (("gender", 1), ("ethnicity", 3), ("religion", 3)):
        queries = loaded(name).queries()
        assert len(queries) == n_queries
        for query in queries:
            assert query.template == (2, 2)
            assert WEAT().run_query(query, packaged_model)["weat"] > 0


# Criteria of a user


def test_what_is_given_is_kept():
    criterion = Criterion(**AGE)
    assert criterion.name == "age"
    assert criterion.definitional_sets == (("young", "old"), ("boy", "man"), ("boy", "grandpa"))
    assert criterion.equalize_sets == (("son", "father"),)
    assert criterion.specific_words == (
        "teenager", "boy", "young", "old", "man", "grandpa", "son", "father"
    )  # fmt: skip
    assert criterion.representatives == ("kid", "elder")
    # Each word of a class once, in the order of the sets.
    assert criterion.classes == {"young": ("young", "boy"), "old": ("old", "man", "grandpa")}
    assert criterion.concept_words == ("naive", "quick", "wise", "slow")


def test_what_is_not_given():
    criterion = Criterion("age", [["young", "old"], ["boy", "man"]])
    assert criterion.class_names == ("class 0", "class 1")
    assert criterion.equalize_sets == criterion.definitional_sets == (
        ("young", "old"), ("boy", "man")
    )  # fmt: skip
    assert criterion.specific_words == ("young", "old", "boy", "man")
    assert criterion.representatives == ("young", "old")
    assert criterion.stereotyped_words == {}
    assert criterion.concept_words == ()
    assert criterion.queries() == []


def test_classes_without_stereotypes_are_in_no_query():
    some = Criterion(
        "c",
        [["a", "b", "c", "d"]],
        ["A", "B", "C", "D"],
        stereotyped_words={"D": ["w"], "A": ["x"], "C": ["y"]},
    )
    pairs = [query.target_sets_names for query in some.queries()]
    assert [list(pair) for pair in pairs] == [["A", "C"], ["A", "D"], ["C", "D"]]
    assert some.concept_words == ("x", "y", "w")
    one = Criterion("c", [["a", "b"]], stereotyped_words={"class 1": ["w"]})
    assert one.queries() == []


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"name": ""}, TypeError, "name must be"),
        ({"definitional_sets": []}, ValueError, "definitional_sets must hold tuples"),
        ({"definitional_sets": [["young"]]}, ValueError, "two classes or more; got .* of .1. word"),
        ({"definitional_sets": [["a", "b"], [*"cde"]]}, ValueError, r"tuples of \[2, 3\] words"),
        ({"definitional_sets": ["young", "old"]}, TypeError, r"definitional_sets\[0\] must be"),
        ({"definitional_sets": [["a", 2]]}, TypeError, "element 1 must be a string; got int 2"),
        ({"class_names": ["young"]}, ValueError, "class_names must be 2 words"),
        ({"class_names": ["x", "x"]}, ValueError, "class_names must be different"),
        ({"equalize_sets": [["a"], []]}, ValueError, r"equalize_sets\[1\] is empty"),
        ({"stereotyped_words": {"yuong": ["quick"]}}, ValueError, "'yuong'.*'young'"),
        ({"stereotyped_words": {"old": []}}, ValueError, r"stereotyped_words\['old'\] is empty"),
        ({"representatives": ["kid"]}, ValueError, "representatives must be 2 words"),
    ],
)
def test_what_is_wrong_is_named(change, error, message):
    with pytest.raises(error, match=message):
        Criterion(**{**AGE, **change})


# Files


def written(tmp_path, content, name="mine.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


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
        ("{", "expected a JSON file"),
        ("[1]", "JSON object with 'definitional_sets'.*got list"),
        ({"name": "age"}, "JSON object with 'definitional_sets'"),
        ({"definitional_sets": [["a", "b"]], "class_name": ["x", "y"]}, "'class_name'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_the_file(content, message, tmp_path):
    with pytest.raises(ValueError, match=f"mine.json.*{message}"):
        load_criterion(written(tmp_path, content))


def test_names_that_are_unknown():
    with pytest.raises(ValueError, match=r"'gender', .*FILE.json'.* Did you mean 'gender'"):
        load_criterion("gendr")
    with pytest.raises(TypeError, match="a criterion must be"):
        load_criterion(["gender"])
    with pytest.raises(FileNotFoundError, match="missing.json"):
        load_criterion("missing.json")


def test_criteria_can_be_keys():
    one, other = loaded("gender"), loaded("gender")
    assert {one: 1}[other] == 1
    assert hash(one) != hash(loaded("religion"))
