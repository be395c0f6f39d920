"""One task in a fresh process, for bench_load.py: prints seconds, peak memory and a result."""

import json
import sys
import time

start = time.perf_counter()

from _timing import peak_mb  # noqa: E402

from wefe import WEAT, Query, WordEmbeddingModel, load  # noqa: E402

FLOWERS = ["aster", "clover", "hyacinth", "marigold", "poppy", "azalea", "crocus", "iris"]
INSECTS = ["ant", "caterpillar", "flea", "locust", "spider", "bedbug", "centipede", "fly"]
PLEASANT = ["caress", "freedom", "health", "love", "peace", "cheer", "friend", "heaven"]
UNPLEASANT = ["abuse", "crash", "filth", "murder", "sickness", "accident", "death", "grief"]
WORDS = FLOWERS + INSECTS + PLEASANT + UNPLEASANT

if __name__ == "__main__":
    library, task, path, kind = sys.argv[1:5]
    binary = kind == "binary"
    result: object = None
    if library == "gensim":
        from gensim.models import KeyedVectors

        start_load = time.perf_counter()
        vectors = KeyedVectors.load_word2vec_format(path, binary=binary, no_header=not binary)
        load_s = time.perf_counter() - start_load
        model = WordEmbeddingModel(vectors)
    else:
        options = json.loads(sys.argv[5]) if len(sys.argv) > 5 else {}
        query = Query([FLOWERS, INSECTS], [PLEASANT, UNPLEASANT])
        start_load = time.perf_counter()
        if task == "convert":
            from wefe import convert

            model = convert(path, path + ".safetensors", **options)
        else:
            model = load(path, words=[query] if task == "first" else None, **options)
        load_s = time.perf_counter() - start_load
    if task == "first":
        query = Query([FLOWERS, INSECTS], [PLEASANT, UNPLEASANT])
        result = WEAT().run_query(query, model)["weat"]
    else:
        result = float(model[WORDS[-1]].sum())
    print(
        json.dumps(
            {
                "load_s": load_s,
                "process_s": time.perf_counter() - start,
                "peak_mb": peak_mb(),
                "matrix_mb": model.nbytes / 1e6,
                "result": result,
            }
        )
    )
