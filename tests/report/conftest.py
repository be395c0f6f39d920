"""Studies to report on: a rich one that was really run, and builders of odd ones."""

import math
import shutil

import pytest

from wefe import Query, load_test_model
from wefe.metrics._base import Scale
from wefe.study import Outcome, Plan, Study, StudyResults, Task
from wefe.study._plan import PlannedMetric, PlannedModel, PlannedQuerySet

WORDS = {
    "targets": {
        "Female terms": ["she", "woman", "girl", "mother"],
        "Male terms": ["he", "man", "boy", "father"],
    },
    "attributes": {
        "Family": ["home", "children", "parents", "wedding"],
        "Career": ["office", "salary", "business", "career"],
    },
}
ARTS = {
    "targets": WORDS["targets"],
    "attributes": {
        "Arts": ["poetry", "art", "dance", "novel"],
        "Science": ["science", "physics", "chemistry", "math"],
    },
}
AGES = {
    "targets": {"Young": ["young", "youth", "child"], "Old": ["old", "elderly", "aged"]},
    "attributes": {
        "Pleasant": ["love", "peace", "wonderful", "happy"],
        "Unpleasant": ["agony", "terrible", "hatred", "evil"],
    },
}
#: A word of this set, and two of another, are in no vocabulary.
LOST = {
    "targets": {"Young": ["young", "youth", "child"], "Older": ["old", "qxqx", "qyqy"]},
    "attributes": AGES["attributes"],
}


def write_cuts(folder, dims=(64, 16, 4)):
    """Write the packaged model cut to its first dimensions, as text; return model entries."""
    model = load_test_model()
    words = list(model.vocab)
    entries = []
    for dim in dims:
        path = folder / f"cut-{dim}.txt"
        with path.open("w", encoding="utf-8") as file:
            for word, vector in zip(words, model.vectors[:, :dim], strict=True):
                file.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")
        entries.append({"source": path.name, "name": f"cut {dim}"})
    return entries


def declaration(models, **more):
    return {
        "name": "Gender and age",
        "description": "Cuts of one model, compared.",
        "offline": True,
        "models": models,
        "queries": [
            {"name": "Gender", "query": [WORDS, ARTS]},
            {"name": "Age", "query": [AGES]},
        ],
        "metrics": [{"metric": "weat-es"}, {"metric": "rnd"}, {"metric": "ect"}],
        **more,
    }


def run(given, folder="."):
    return Study(given, base=folder).run(":memory:", progress=False)


@pytest.fixture(scope="session")
def cuts(tmp_path_factory):
    """A folder with three models as text, and their entries of a study file."""
    folder = tmp_path_factory.mktemp("cuts")
    return folder, write_cuts(folder)


@pytest.fixture(scope="session")
def rich(cuts):
    """A study with everything that a report can show, but for failures."""
    folder, models = cuts
    (folder / "alike.tsv").write_text(
        "man\twoman\t8\nking\tqueen\t8.5\nhouse\thome\t9\ncar\tpoem\t1\nsalary\tdance\t1.5\n"
        "mother\tfather\t7\nscience\tphysics\t8\nlove\tagony\t2\n",
        encoding="utf-8",
    )
    given = declaration(
        models,
        intervals={"n_bootstrap": 60},
        audit={"scores": True, "criteria": ["gender"]},
        mitigations=[{"method": "hard-debias", "criterion": "gender", "models": ["cut 64"]}],
        silhouettes=[
            {
                "metric": "weat-es",
                "query_set": "Age",
                "n_runs": 10,
                "models": ["cut 64", "cut 16"],
            }
        ],
        external=[
            {
                "name": "WEB",
                "best": "higher",
                "scores": {"cut 64": 0.6, "cut 16": 0.4, "cut 4": 0.1},
            }
        ],
        quality={"benchmarks": ["alike.tsv"]},
    )
    given["queries"].append({"name": "Lost", "query": [LOST, AGES]})
    return run(given, folder)


@pytest.fixture(scope="session")
def with_failure(cuts):
    """A study of which one model cannot be opened."""
    folder, models = cuts
    (folder / "broken.txt").write_bytes(b"she 0.1 0.2\nhe 0.1\n")
    return run(declaration([*models, {"source": "broken.txt", "name": "broken"}]), folder)


@pytest.fixture(scope="session")
def example():
    return Study.example().run(":memory:", progress=False)


#: What somebody could call a model, a set of words or a word.
NASTY = (
    "</script><script>document.documentElement.dataset.pwned=1</script>",
    '<img src=x onerror="document.documentElement.dataset.pwned=2">',
    '<a href="javascript:alert(1)">{{ 7 * 7 }}</a>',
    "<b>bold</b> & \"quoted\" 'twice' `code` | pipe {% raw %}",
    "\u200fright to left \u05e9\u05dc\u05d5\u05dd \U0001f600",
    "x" * 300,
)


@pytest.fixture(scope="session")
def nasty(cuts):
    """A study in which everything that has a name has a bad one."""
    folder, models = cuts
    script, image, link, bold, marks, long = NASTY
    named = [
        {**model, "name": name} for model, name in zip(models, (script, bold, long), strict=True)
    ]
    query = {
        # One word in five may be lost.
        "targets": {link: ["she", "woman", "girl", "mother", script], marks: ["he", "man", "boy"]},
        "attributes": {image: ["home", "family", "wedding"], bold: ["office", "salary", "career"]},
    }
    given = {
        "name": script,
        "description": image,
        "offline": True,
        "models": named,
        "queries": [{"name": link, "query": [query]}, {"name": long, "query": [WORDS]}],
        "metrics": [{"metric": "weat-es", "label": image}, {"metric": "rnd", "label": marks}],
        "mitigations": [
            {"method": "hard-debias", "criterion": "gender", "name": link, "models": [script]}
        ],
        "external": [{"name": bold, "best": "higher", "scores": {script: 0.6, long: 0.4}}],
        "audit": {"scores": True, "criteria": ["gender"]},
    }
    return run(given, folder)


def _query(name):
    word = name.split()[-1]
    return Query([[f"she {word}"], [f"he {word}"]], [[f"home {word}"], [f"office {word}"]])


def _made(scores, settings=None):
    """Build results by hand: metric -> query set -> query -> model -> score or value.

    Queries share words if the last words of their names are the same.
    """
    scales = {
        "WEAT": Scale("WEAT", (-math.inf, math.inf), 0.0),
        "RND": Scale("RND", (-math.inf, math.inf), 0.0),
        "ECT": Scale("ECT", (-1.0, 1.0), 1.0),
    }
    sets: dict[str, list[str]] = {}
    for of_set in scores.values():
        for query_set, queries in of_set.items():
            sets.setdefault(query_set, [])
            sets[query_set] += [query for query in queries if query not in sets[query_set]]
    queries_of = [
        q for of_set in scores.values() for queries in of_set.values() for q in queries.values()
    ]
    labels = list(dict.fromkeys(label for models in queries_of for label in models))
    planned = []
    for label in labels:
        base, _, mitigation = label.partition(" + ")
        planned.append(PlannedModel(label, base, False, base, mitigation or None))
    tasks, outcomes = [], []
    for label in labels:
        for metric, of_set in scores.items():
            for query_set, queries in of_set.items():
                for name, each in queries.items():
                    place = {"metric": metric, "query_set": query_set, "query": name}
                    tasks.append(Task("score", label, place, {"query": name}))
                    value = each[label]
                    if isinstance(value, Outcome):
                        outcomes.append(value)
                        continue
                    value = value if isinstance(value, dict) else {"score": value}
                    outcomes.append(Outcome("done", value, key=f"key{len(tasks)}", version="2.0"))
    plan = Plan(
        "By hand",
        "",
        tuple(planned),
        tuple(
            PlannedQuerySet(name, tuple(map(_query, queries)), float(len(queries)))
            for name, queries in sets.items()
        ),
        tuple(
            PlannedMetric(metric, metric.lower(), metric, {}, scales[metric], tuple(of_set))
            for metric, of_set in scores.items()
        ),
        tuple(tasks),
        {name: _query(name) for queries in sets.values() for name in queries},
        {
            "aggregation": {
                "function": "bias_avg",
                "missing": "queries",
                "ties": "min",
                "correlation": "spearman",
            },
            "lookup": {
                "preprocessors": [{}],
                "strategy": "first",
                "normalize": False,
                "lost_vocabulary_threshold": 0.2,
            },
            "intervals": {"n_bootstrap": 0, "confidence": 0.95},
            "audit": {"scores": False, "criteria": []},
            "mitigations": [],
            "external": [],
            "quality": None,
            **(settings or {}),
        },
    )
    return StudyResults(plan, tuple(outcomes))


@pytest.fixture(scope="session")
def chromium():
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium is installed")
    return found


@pytest.fixture(scope="session")
def made():
    """Return the function that builds results by hand."""
    return _made


@pytest.fixture(scope="session")
def nasty_names():
    return NASTY
