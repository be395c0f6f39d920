"""The study files that ship: one that teaches, and the case study of the WEFE paper."""

import re
import tomllib

import pytest

from wefe.datasets import list_queries_left_out, load_query_set
from wefe.replication import list_replications
from wefe.study._declaration import check_declaration, list_study_files, study_file

DEMO = study_file("demo")
# A setting that is not in use: '#' and a letter or bracket right after it.
_SETTING = re.compile(r"(?m)^#(?=[a-z\[])")


def blocks():
    """Yield the lines of each run of settings that are not in use, by number from 0."""
    found, current = [], []
    for number, line in enumerate(DEMO.splitlines()):
        if _SETTING.match(line):
            current.append(number)
        elif current:
            found.append(current)
            current = []
    return found


def without_marks(numbers):
    return "\n".join(
        line.removeprefix("#") if number in numbers else line
        for number, line in enumerate(DEMO.splitlines())
    )


def filled_in(text):
    return re.sub(r'"FILL IN[^"]*"', '"demo"', text)


def test_all_files_are_there_and_others_are_refused():
    assert list_study_files() == sorted(["demo", *list_replications().index])
    assert study_file() == DEMO
    with pytest.raises(ValueError, match=r"must be one of .*'demo'"):
        study_file("../demo")


def test_the_demo_runs_offline_and_shows_mitigation():
    study = check_declaration(tomllib.loads(DEMO))
    assert study.offline
    assert [model.source for model in study.models] == ["demo"]
    assert [metric.metric for metric in study.metrics] == ["weat-es", "rnd", "ect", "mac", "rnsb"]
    assert len(study.all_labels()) == 2
    for entry in study.queries:
        queries, _ = entry.load(".", offline=True)
        assert len(queries) >= 6


@pytest.mark.parametrize("numbers", blocks(), ids=lambda numbers: f"line {numbers[0] + 1}")
def test_each_commented_block_of_the_demo_is_valid_when_it_is_taken_in(numbers):
    before = check_declaration(tomllib.loads(DEMO))
    data = tomllib.loads(without_marks(numbers))
    if "retrieval" in data:  # asked of encoders, which are in another block
        data["models"].append({"encoder": "org/name"})
    after = check_declaration(data)
    assert after != before


def test_all_commented_blocks_of_the_demo_are_valid_together():
    study = check_declaration(tomllib.loads(_SETTING.sub("", DEMO)))
    assert len(study.models) == 4
    assert len(study.queries) == 4


def test_the_demo_names_commands_that_exist():
    from wefe.cli import _run

    commands = re.findall(r"(?m)^#   wefe (\w+) study\.toml ", DEMO)
    assert commands == ["run", "report"]
    assert all(callable(getattr(_run, command)) for command in commands)


def test_the_demo_teaches_every_section():
    every = tomllib.loads(_SETTING.sub("", DEMO))
    study = check_declaration(every)
    assert set(every) == set(type(study).model_fields) - {"results"}


def test_settings_that_are_shown_with_their_defaults_have_the_defaults():
    data = tomllib.loads(DEMO)
    study = check_declaration(data)
    least = {key: data[key] for key in ("name", "models", "queries", "metrics")}
    default = check_declaration(least)
    assert study.lookup == default.lookup
    assert study.aggregation == default.aggregation
    assert study.intervals.confidence == default.intervals.confidence


def test_the_case_study_says_which_models_are_to_be_filled_in():
    with pytest.raises(ValueError, match="still to be filled in") as caught:
        check_declaration(tomllib.loads(study_file("wefe")), "wefe.toml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 7
    assert "key 'models', number 7, key 'source'" in lines[6]


@pytest.mark.parametrize("name", list_replications().index)
def test_of_a_paper_only_the_models_are_to_be_filled_in(name):
    models = check_declaration(tomllib.loads(filled_in(study_file(name)))).model_labels
    assert set(models) <= set(list_replications().loc[name, "models"])


def test_in_the_case_study_only_the_models_are_to_be_filled_in():
    study = check_declaration(tomllib.loads(filled_in(study_file("wefe"))))
    assert len(study.models) == 7
    assert [(entry.set, entry.weight) for entry in study.queries] == [
        ("gender", 7),
        ("ethnicity", 9),
        ("religion", 9),
    ]
    for entry in study.queries:
        queries = load_query_set(entry.set, offline=True)
        assert 0 < len(queries) < entry.weight
        assert len(queries) + len(list_queries_left_out(entry.set)) == entry.weight
    assert [metric.label for metric in study.metrics] == ["WEAT", "WEAT-ES", "RND", "RNSB"]
    params = study.metrics[3].run_params()
    assert (params["n_iterations"], params["holdout"]) == (100, True)
    assert (study.aggregation.function, study.aggregation.ties) == ("abs_avg", "first")


def test_the_case_study_has_the_printed_ranks_of_quality():
    (web,) = check_declaration(tomllib.loads(filled_in(study_file("wefe")))).external
    assert web.best == "lower"
    assert [int(rank) for rank in web.scores.values()] == [1, 2, 7, 6, 4, 5, 3]
