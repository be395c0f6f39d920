"""Times the documented API of whatever `wefe` the interpreter finds; prints JSON.

Started by bench_measure.py, once with this library and once with a public peer of the same API:
the same code on the same vectors.
"""

import contextlib
import io
import json
import logging
import sys
import time

start_cpu = time.process_time()
from wefe.metrics import RNSB, WEAT  # noqa: E402

import_cpu_s = time.process_time() - start_cpu

from _timing import best_time  # noqa: E402
from gensim.models import KeyedVectors  # noqa: E402
from wefe.utils import run_queries  # noqa: E402
from wefe.word_embedding_model import WordEmbeddingModel  # noqa: E402

from wefe.query import Query  # noqa: E402

logging.disable(logging.CRITICAL)


def best_s(function, repeats):
    with contextlib.redirect_stdout(io.StringIO()):
        return best_time(function, repeats)[0]


def main():
    vectors_file, queries_file, n_permutations = sys.argv[1], sys.argv[2], int(sys.argv[3])
    vectors = KeyedVectors.load_word2vec_format(vectors_file, binary=True)
    with open(queries_file, encoding="utf-8") as file:
        data = json.load(file)
    queries = [Query(**entry) for entry in data["queries"]]
    models = [WordEmbeddingModel(vectors, f"model {i}") for i in range(data["n_models"])]
    eight_by_eight = queries[data["eight_by_eight"]]
    times = {
        "one WEAT query, 8 x 8 words": best_s(
            lambda: WEAT().run_query(eight_by_eight, models[0]), 20
        ),
        "its p-value, per 10,000 permutations": best_s(
            lambda: WEAT().run_query(
                eight_by_eight, models[0], calculate_p_value=True, p_value_iterations=n_permutations
            ),
            3 if n_permutations > 1000 else 1,
        )
        * (10_000 / n_permutations),
        f"{len(queries)} WEAT queries on {len(models)} models": best_s(
            lambda: run_queries(WEAT, queries, models), data["repeats"]
        ),
    }
    if data["lexicon"]:
        lexicon = Query(**data["lexicon"])
        options = {"holdout": False, "lost_vocabulary_threshold": 1.0}
        times["one RNSB query, sentiment lexicon"] = best_s(
            lambda: RNSB().run_query(lexicon, models[0], **options), data["repeats"]
        )
    json.dump({"s": times, "import_cpu_s": import_cpu_s}, sys.stdout)


main()
