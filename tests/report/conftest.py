"""Studies to report on: a rich one, and one in which everything that has a name has a bad one."""

import shutil

import pytest

from wefe import load_test_model
from wefe.study import Study

TARGETS = {
    "Female terms": ["she", "woman", "girl", "mother"],
    "Male terms": ["he", "man", "boy", "father"],
}
FAMILY = {"Family": ["home", "children", "wedding"], "Career": ["office", "salary", "business"]}
ARTS = {"Arts": ["poetry", "art", "dance"], "Science": ["science", "physics", "math"]}
PLEASANT = {"Pleasant": ["love", "peace"], "Unpleasant": ["agony", "evil"]}
AGES = {
    "targets": {"Young": ["young", "youth", "child"], "Old": ["old", "elderly", "aged"]},
    "attributes": PLEASANT,
}
#: Two words are in no vocabulary.
LOST = {
    "targets": {"Young": ["young", "youth", "child"], "Older": ["old", "qxqx", "qyqy"]},
    "attributes": PLEASANT,
}
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
def cuts(tmp_path_factory):
    """A folder with the packaged model cut to fewer dimensions, and model entries."""
    folder = tmp_path_factory.mktemp("cuts")
    model = load_test_model()
    words, entries = list(model.vocab), []
    for dim in (64, 16, 4):
        path = folder / f"cut-{dim}.txt"
        with path.open("w", encoding="utf-8") as file:
            for word, vector in zip(words, model.vectors[:, :dim], strict=True):
                file.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")
        entries.append({"source": path.name, "name": f"cut {dim}"})
    return folder, entries


@pytest.fixture(scope="session")
def rich(cuts):
    """A study with everything that a report can show, but for failures."""
    folder, models = cuts
    (folder / "alike.tsv").write_text(
        "man\twoman\t8\nking\tqueen\t8.5\nhouse\thome\t9\ncar\tpoem\t1\nsalary\tdance\t1.5\n"
        "mother\tfather\t7\nscience\tphysics\t8\nlove\tagony\t2\n",
        encoding="utf-8",
    )
    gender = [{"targets": TARGETS, "attributes": attributes} for attributes in (FAMILY, ARTS)]
    silhouette = {"metric": "weat-es", "query_set": "Age", "n_runs": 10}
    given = {
        "name": "Gender and age",
        "description": "Cuts of one model, compared.",
        "offline": True,
        "models": models,
        "queries": [
            {"name": "Gender", "query": gender},
            {"name": "Age", "query": [AGES]},
            {"name": "Lost", "query": [LOST, AGES]},
        ],
        "metrics": [{"metric": "weat-es"}, {"metric": "rnd"}, {"metric": "ect"}],
        "intervals": {"n_bootstrap": 60},
        "audit": {"scores": True, "criteria": ["gender"]},
        "mitigations": [{"method": "hard-debias", "criterion": "gender", "models": ["cut 64"]}],
        "silhouettes": [{**silhouette, "models": ["cut 64", "cut 16"]}],
        "external": [
            {
                "name": "WEB",
                "best": "higher",
                "scores": {"cut 64": 0.6, "cut 16": 0.4, "cut 4": 0.1},
            }
        ],
        "quality": {"benchmarks": ["alike.tsv"]},
    }
    return Study(given, base=folder).run(":memory:", progress=False)


@pytest.fixture(scope="session")
def example():
    return Study.example().run(":memory:", progress=False)


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
    hard = {"method": "hard-debias", "criterion": "gender", "name": link, "models": [script]}
    given = {
        "name": script,
        "description": image,
        "offline": True,
        "models": named,
        "queries": [
            {"name": link, "query": [query]},
            {"name": long, "query": [{"targets": TARGETS, "attributes": FAMILY}]},
        ],
        "metrics": [{"metric": "weat-es", "label": image}, {"metric": "rnd", "label": marks}],
        "mitigations": [hard],
        "external": [{"name": bold, "best": "higher", "scores": {script: 0.6, long: 0.4}}],
        "audit": {"scores": True, "criteria": ["gender"]},
        "explore": {"criteria": ["gender", "religion"], "words": ["nurse", image]},
    }
    return Study(given, base=folder).run(":memory:", progress=False)


@pytest.fixture(scope="session")
def chromium():
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium is installed")
    return found
