"""Small studies that run within a second, and what is done to their files."""

import contextlib
import sqlite3

from wefe import WordEmbeddingModel
from wefe.datasets import load_query_set
from wefe.study import Study

QUERIES = load_query_set("gender", offline=True)
#: The same queries, written in a study file.
INLINE = [
    {
        "targets": dict(zip(q.target_sets_names, q.target_sets, strict=True)),
        "attributes": dict(zip(q.attribute_sets_names, q.attribute_sets, strict=True)),
    }
    for q in QUERIES
]
#: Out-of-vocabulary words of each model; 'none' cannot answer the first query.
LACKS = {
    "whole": (),
    "short": ("math", "poetry"),
    "none": ("math", "algebra", "geometry", "calculus"),
}


def write_model(path, words, vectors):
    WordEmbeddingModel((list(words), vectors)).save(str(path))


def declared(folder, *models, file="study.toml", **more):
    """Return a study of models in the folder, or of its two good ones."""
    data = {
        "name": "Small",
        "offline": True,
        "models": [{"source": f"{name}.txt"} for name in models or ("whole", "short")],
        "queries": [{"name": "gender", "query": INLINE[:2]}],
        "metrics": [
            {"metric": "weat-es", "params": {"p_value_method": "saddlepoint"}},
            {"metric": "rnd"},
        ],
    }
    return Study({**data, **more}, folder, folder / file)


def run(study, *results, **options):
    return study.run(*results, progress=False, **options)


def n_computed(study, *results, **options):
    return run(study, *results, **options).run["n_computed"]


def tables(results):
    """Return the scores without the times at which they were computed."""
    return results.to_frame().drop(columns=["seconds", "finished"])


def change_vector(path, word):
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(f"{word} "))
    lines[place] = f"{word} " + " ".join(reversed(lines[place].split()[1:]))
    path.write_text("\n".join(lines) + "\n")


def execute(path, statement, *values):
    """Change a results file behind the back of wefe."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(statement, values)
        db.commit()
