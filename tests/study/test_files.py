"""The study files that ship: one that teaches, and studies of papers."""

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
    """Return the lines of each run of settings that are not in use."""
    found, last = [], -2
    for number, line in enumerate(DEMO.splitlines()):
        if _SETTING.match(line):
            found += [[]] if number > last + 1 else []
            found[-1].append(number)
            last = number
    return found


def test_all_files_are_there_and_others_are_refused():
    assert list_study_files() == sorted(["demo", *list_replications().index])
    with pytest.raises(ValueError, match="'demo'"):
        study_file("../demo")


def test_the_demo_runs_offline_with_the_defaults_that_it_shows():
    data = tomllib.loads(DEMO)
    study = check_declaration(data)
    assert study.offline
    assert [model.source for model in study.models] == ["demo"]
    default = check_declaration(
        {key: data[key] for key in ("name", "models", "queries", "metrics")}
    )
    assert study.lookup == default.lookup
    assert study.aggregation == default.aggregation


@pytest.mark.parametrize("numbers", blocks(), ids=lambda numbers: f"line {numbers[0] + 1}")
def test_each_commented_block_of_the_demo_is_valid_when_it_is_taken_in(numbers):
    lines = DEMO.splitlines()
    for number in numbers:
        lines[number] = lines[number].removeprefix("#")
    data = tomllib.loads("\n".join(lines))
    if "retrieval" in data:  # asked of encoders, which are in another block
        data["models"].append({"encoder": "org/name"})
    assert check_declaration(data) != check_declaration(tomllib.loads(DEMO))


def test_the_demo_teaches_every_section():
    every = tomllib.loads(_SETTING.sub("", DEMO))
    study = check_declaration(every)
    assert set(every) == set(type(study).model_fields) - {"results"}


@pytest.mark.parametrize("name", list_replications().index)
def test_the_file_of_a_paper_has_an_entry_to_fill_in_for_each_of_its_models(name):
    text = study_file(name)
    models = list_replications().loc[name, "models"]
    with pytest.raises(ValueError, match="still to be filled in") as caught:
        check_declaration(tomllib.loads(text))
    for line, where in zip(str(caught.value).splitlines(), models.values(), strict=True):
        assert f"({where})" in line
    study = check_declaration(tomllib.loads(re.sub(r'"FILL IN[^"]*"', '"org/name"', text)))
    assert study.labels() == list(models)
    assert study.labels(encoders=True) == (list(models) if name == "cosine" else [])


def test_the_case_study_is_that_of_the_paper():
    text = re.sub(r'"FILL IN[^"]*"', '"demo"', study_file("wefe"))
    study = check_declaration(tomllib.loads(text))
    weights = {"gender": 7, "ethnicity": 9, "religion": 9}
    assert {entry.set: entry.weight for entry in study.queries} == weights
    for name, weight in weights.items():
        n_shipped = len(load_query_set(name, offline=True))
        assert 0 < n_shipped == weight - len(list_queries_left_out(name))
    assert [metric.label for metric in study.metrics] == ["WEAT", "WEAT-ES", "RND", "RNSB"]
    params = study.metrics[3].run_params()
    assert (params["n_iterations"], params["holdout"]) == (100, True)
    assert (study.aggregation.function, study.aggregation.ties) == ("abs_avg", "first")
    # The printed ranks of quality.
    (web,) = study.external
    assert web.best == "lower"
    assert [int(rank) for rank in web.scores.values()] == [1, 2, 7, 6, 4, 5, 3]
