"""Measuring, against a straightforward loop and, where one is installed, a public peer.

    python benchmarks/bench_measure.py
    python benchmarks/bench_measure.py --peer PYTHON

PYTHON is the interpreter of an environment with a public library of the same documented API and
gensim. Both run the same code on the same vectors, one after the other. Ratios are the claim;
times tell what to expect of one machine. The RNSB line needs the sentiment lexicon: set
WEFE_DATA_DIR, or be online.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from _timing import best_time

from wefe import Query, load_test_model, run_queries
from wefe.datasets import load_bingliu, load_query_set, load_rnsb_identity_terms
from wefe.metrics import RNSB, WEAT

# The peer needs minutes for the full number; the time is scaled and the line says so.
PEER_PERMUTATIONS = 100
EIGHT_BY_EIGHT = 5


def loop_weat(query: Query, model) -> float:
    """WEAT as its formula reads: one cosine after the other."""

    def cosine(u, v):
        dot = sum(a * b for a, b in zip(u, v, strict=True))
        return dot / math.sqrt(sum(a * a for a in u)) / math.sqrt(sum(b * b for b in v))

    vectors = {
        word: model[word].tolist()
        for words in query.target_sets + query.attribute_sets
        for word in words
    }

    def association(word):
        a, b = (
            sum(cosine(vectors[word], vectors[other]) for other in words) / len(words)
            for words in query.attribute_sets
        )
        return a - b

    x, y = query.target_sets
    return sum(map(association, x)) - sum(map(association, y))


def against_a_loop() -> None:
    model = load_test_model()
    query = load_query_set("weat")[EIGHT_BY_EIGHT]
    slow, expected = best_time(lambda: loop_weat(query, model), 3)
    fast, result = best_time(lambda: WEAT().run_query(query, model), 50)
    assert math.isclose(result["weat"], expected, rel_tol=1e-9)
    print(f"one WEAT query, 8 x 8 words: {slow / fast:.0f} x a Python loop ({1000 * fast:.2f} ms)")


def shared_training(lexicon: dict) -> None:
    """Seven RNSB queries with one lexicon, together and one by one."""
    model, terms = load_test_model(), lexicon["target_sets"]
    queries = [Query(terms[i : i + 2], lexicon["attribute_sets"]) for i in range(7)]
    options = {"n_iterations": 10, "random_state": 0, "lost_vocabulary_threshold": 1}
    together, table = best_time(
        lambda: run_queries(RNSB, queries, [model], metric_params=options), 1
    )
    apart, results = best_time(
        lambda: [RNSB().run_query(query, model, **options)["rnsb"] for query in queries], 1
    )
    assert table.iloc[0].tolist() == results
    print(
        f"7 RNSB queries with one lexicon: {apart / together:.0f} x one by one ({together:.1f} s)"
    )


def workload() -> dict:
    asked = load_query_set("weat") + load_query_set("case_study", offline=True)
    try:
        sentiment = load_bingliu()
        known = set(load_test_model().vocab)
        lexicon = {
            "target_sets": [[word] for word in load_rnsb_identity_terms()["national_origin_terms"]],
            # Other models know the whole lexicon; here unknown words stand in for known ones so
            # that the classifier gets as much to learn.
            "attribute_sets": [
                fill(sentiment[key], known) for key in ("positive_words", "negative_words")
            ],
        }
    except ConnectionError:
        lexicon = None
    plain = [{key: query.dict()[key] for key in KEYS} for query in asked]
    return {"queries": plain[:25], "eight_by_eight": EIGHT_BY_EIGHT, "lexicon": lexicon}


KEYS = ("target_sets", "attribute_sets", "target_sets_names", "attribute_sets_names")


def fill(words: list[str], known: set[str]) -> list[str]:
    """Words of the lexicon that the model has, then frequent words up to the same number."""
    mine = [word for word in dict.fromkeys(words) if word in known]
    others = (word for word in load_test_model().vocab if word not in set(words))
    start = len(words)  # another slice of the vocabulary for each list
    return mine + list(itertools.islice(others, start, start + len(words) - len(mine)))


def run_with(python: str, folder: Path, n_permutations: int) -> dict:
    script = Path(__file__).with_name("_workload.py")
    done = subprocess.run(
        [python, script, folder / "vectors.bin", folder / "queries.json", str(n_permutations)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{python} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="interpreter of the peer's environment")
    peer = parser.parse_args().peer
    against_a_loop()
    from gensim.models import KeyedVectors

    model = load_test_model()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vectors = KeyedVectors(model.dim)
        vectors.add_vectors(list(model.vocab), model.vectors)
        vectors.save_word2vec_format(folder / "vectors.bin", binary=True)
        work = workload()
        if work["lexicon"]:
            shared_training(work["lexicon"])
        (folder / "queries.json").write_text(json.dumps(work), encoding="utf-8")
        ours = run_with(sys.executable, folder, 10_000)
        theirs = run_with(peer, folder, PEER_PERMUTATIONS) if peer else None
    line = f"import WEAT: {1000 * ours['import_cpu_s']:.0f} ms of CPU"
    if theirs:
        line += f", {theirs['import_cpu_s'] / ours['import_cpu_s']:.0f} x less than the peer"
    print(line)
    for task, ms in ours["ms"].items():
        line = f"{task}: {ms:.2f} ms"
        if theirs:
            line += f", {theirs['ms'][task] / ms:.0f} x as fast as the peer"
            if "permutations" in task:
                line += f" (scaled from {PEER_PERMUTATIONS} of its permutations)"
        print(line)


if __name__ == "__main__":
    main()
