"""Measuring, against a straightforward loop and, where one is installed, a public peer.

    python benchmarks/bench_measure.py
    python benchmarks/bench_measure.py --peer PYTHON

PYTHON is the interpreter of an environment with a public library of the same documented API and
gensim. Both run the same code on the same vectors, one after the other. Ratios are the claim;
times tell what to expect of one machine. The RNSB line needs the sentiment lexicon: set
WEFE_DATA_DIR, or be online.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import tempfile
from pathlib import Path

from _table import NOT_GIVEN, PEER, lacking, parser, report
from _timing import TaskError, best_time, fresh_process

from wefe import Query, load_test_model, run_queries
from wefe.datasets import load_bingliu, load_query_set, load_rnsb_identity_terms
from wefe.metrics import RNSB, WEAT

# The peer needs minutes for the full number; the time is scaled and the line says so.
PEER_PERMUTATIONS, QUICK_PERMUTATIONS = 100, 25
EIGHT_BY_EIGHT = 5
APART = "one query after the other"
NO_LEXICON = "no sentiment lexicon: set WEFE_DATA_DIR, or be online"


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
    report("one WEAT query, 8 x 8 words", fast, against="a Python loop", their_seconds=slow)
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
    report("7 RNSB queries with one lexicon", together, against=APART, their_seconds=apart)
    print(
        f"7 RNSB queries with one lexicon: {apart / together:.0f} x one by one ({together:.1f} s)"
    )


def workload(quick: bool) -> dict:
    asked = load_query_set("weat") + load_query_set("case_study", offline=True)
    lexicon = None
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
    except ConnectionError as error:
        print(error)
    plain = [{key: query.dict()[key] for key in KEYS} for query in asked]
    return {
        "queries": plain[:25],
        "eight_by_eight": EIGHT_BY_EIGHT,
        "lexicon": None if quick else lexicon,
        "n_models": 2 if quick else 7,
        "repeats": 1 if quick else 3,
    }


KEYS = ("target_sets", "attribute_sets", "target_sets_names", "attribute_sets_names")


def fill(words: list[str], known: set[str]) -> list[str]:
    """Words of the lexicon that the model has, then frequent words up to the same number."""
    mine = [word for word in dict.fromkeys(words) if word in known]
    others = (word for word in load_test_model().vocab if word not in set(words))
    start = len(words)  # another slice of the vocabulary for each list
    return mine + list(itertools.islice(others, start, start + len(words) - len(mine)))


def written(folder: Path) -> Path:
    """The packaged vectors in a file that every library opens."""
    path = folder / "vectors.bin"
    load_test_model().save(path, progress=False)
    return path


def main() -> None:
    options = parser(__doc__, "peer").parse_args()
    n_permutations = QUICK_PERMUTATIONS if options.quick else PEER_PERMUTATIONS
    against_a_loop()
    if why := lacking("gensim"):
        report("WEAT and RNSB queries", against=PEER, missing=why)
        print(why)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = workload(options.quick)
        if not work["lexicon"]:
            why = "it takes too long for a quick run" if options.quick else NO_LEXICON
            report("one RNSB query, sentiment lexicon", against=PEER, missing=why)
            report("7 RNSB queries with one lexicon", against=APART, missing=why)
        else:
            shared_training(work["lexicon"])
        queries = folder / "queries.json"
        queries.write_text(json.dumps(work), encoding="utf-8")
        task = (Path(__file__).with_name("_workload.py"), written(folder), queries)
        ours = fresh_process(sys.executable, *task, 10_000)
        theirs, missing = None, NOT_GIVEN[PEER]
        if options.peer:
            try:
                theirs = fresh_process(options.peer, *task, n_permutations)
            except TaskError as error:
                missing = str(error)
    our_times = {"import WEAT (processor time)": ours["import_cpu_s"], **ours["s"]}
    their_times = theirs and {**theirs["s"], "import WEAT (processor time)": theirs["import_cpu_s"]}
    for title, seconds in our_times.items():
        line = f"{title}: {1000 * seconds:.2f} ms"
        if not theirs:
            report(title, seconds, against=PEER, missing=missing)
        else:
            scaled = "permutations" in title
            note = f"scaled from {n_permutations} of its permutations" if scaled else ""
            other = their_times[title]
            report(title, seconds, against=PEER, their_seconds=other, note=note)
            line += f", {other / seconds:.0f} x as fast as the peer" + f" ({note})" * scaled
        print(line)


if __name__ == "__main__":
    main()
