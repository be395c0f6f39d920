"""One mitigation method in a fresh process, for bench_debias.py; runs with the peer as well.

    python _debias_task.py VECTORS.npy WORDS.json METHOD REPEATS

prints the seconds of fit and transform (with a copy; best of the repeats) and the peak memory
beyond the model and the imports.
"""

import contextlib
import importlib
import io
import json
import sys

import numpy as np
from _timing import best_time, peak_mb, reset_peak
from gensim.models import KeyedVectors

MODULES = {
    "HardDebias": "hard_debias",
    "MulticlassHardDebias": "multiclass_hard_debias",
    "DoubleHardDebias": "double_hard_debias",
    "HalfSiblingRegression": "half_sibling_regression",
    "RepulsionAttractionNeutralization": "repulsion_attraction_neutralization",
}


def main() -> None:
    file, words_file, name, repeats = sys.argv[1:]
    with open(words_file) as content:
        words = json.load(content)
    vectors = np.load(file)
    table = KeyedVectors(vectors.shape[1])
    table.index_to_key = words["vocabulary"]
    table.key_to_index = {word: row for row, word in enumerate(words["vocabulary"])}
    table.vectors = vectors
    from wefe.word_embedding_model import WordEmbeddingModel

    model = WordEmbeddingModel(table, "generated")
    method = getattr(importlib.import_module(f"wefe.debias.{MODULES[name]}"), name)
    pairs, specific = words["pairs"], words["specific"]
    fit = {
        "HardDebias": {"definitional_pairs": pairs, "equalize_pairs": words["equalize"]},
        "MulticlassHardDebias": {
            "definitional_sets": words["sets"],
            "equalize_sets": words["sets"],
        },
        "DoubleHardDebias": {"definitional_pairs": pairs, "bias_representation": ["he", "she"]},
        "HalfSiblingRegression": {"definitional_words": words["definitional"]},
        "RepulsionAttractionNeutralization": {"definitional_pairs": pairs},
    }[name]
    change = {
        "MulticlassHardDebias": {},
        "HalfSiblingRegression": {},
        "RepulsionAttractionNeutralization": {"target": words["target"]},
    }.get(name, {"ignore": specific})
    # What is imported at the first use is not timed.
    small = WordEmbeddingModel(table, "warm up")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if len(vectors) < 20_000 or name == "HardDebias":
            warm = {"target": words["target"][:4]} if name.startswith("Rep") else change
            method().fit(model=small, **fit).transform(small, **warm)
        reset_peak()
        start_mb = peak_mb()

        def fit_and_transform():
            # Nothing is returned: two copies would be in memory at a time.
            method().fit(model=model, **fit).transform(model, **change)

        seconds, _ = best_time(fit_and_transform, int(repeats))
    print(json.dumps({"s": seconds, "peak_mb": peak_mb() - start_mb}))


if __name__ == "__main__":
    main()
