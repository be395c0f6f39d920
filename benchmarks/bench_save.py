"""Saving, against gensim on the same vectors in the same run; both write the same bytes.

    python benchmarks/bench_save.py
    python benchmarks/bench_save.py --words 400000 --repeats 1

40,000 x 300 float32 numbers as embeddings have them, unless told otherwise. Only the times of
wefe include waiting until the bytes are on the disk. Ratios are the claim; times tell what to
expect of one machine. Needs gensim.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _table import lacking, parser, report
from _timing import best_time

from wefe.models import WordEmbeddingModel
from wefe.models.formats import _numbers

DIM = 300
SCALE = 0.3


TASKS = {
    "word2vec text": (".vec", {}),
    "GloVe text": (".txt", {"write_header": False}),
    "word2vec binary": (".bin", {"binary": True}),
}


def table_of_gensim(words: list[str], vectors: np.ndarray) -> Any:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(DIM)
    theirs.add_vectors(words, vectors)
    return theirs


def formatting(vectors: np.ndarray) -> None:
    """Numbers per second that become text, without any file."""
    few = vectors[:2000]
    words = [""] * len(few)
    ways = {
        "wefe": lambda: list(_numbers.text_lines(words, few)),
        "numpy, astype('S')": lambda: few.astype(np.bytes_).tolist(),
        "'%.9g', not the fewest digits": lambda: [
            " ".join(["%.9g"] * DIM) % tuple(row) for row in few.tolist()
        ],
        "str(number), as gensim": lambda: [
            " ".join(str(number) for number in row) for row in few[:500]
        ],
    }
    print("\nfloat32 numbers to text, million per second")
    for way, function in ways.items():
        n_numbers = (500 if "gensim" in way else len(few)) * DIM
        seconds, _ = best_time(function, 3)
        print(f"  {way:<32} {n_numbers / seconds / 1e6:6.1f}")


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--words", type=int)
    asked.add_argument("--repeats", type=int, default=3)
    options = asked.parse_args()
    logging.disable(logging.WARNING)
    rng = np.random.default_rng(0)
    n_words = options.words or (4_000 if options.quick else 40_000)
    vectors = rng.normal(0, SCALE, (n_words, DIM)).astype(np.float32)
    words = [f"word{row}" for row in range(n_words)]
    model = WordEmbeddingModel((words, vectors), "model")
    why = lacking("gensim")
    gensim = None if why else table_of_gensim(words, vectors)
    print(f"Saving {n_words:,} x {DIM} float32 numbers {why}")
    print(f"{'':<18}{'size':>8}{'wefe':>10}{'gensim':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name:
        for task, (suffix, how) in TASKS.items():
            title = f"{n_words:,} x {DIM} saved as {task}"
            ours, other = Path(name, f"ours{suffix}"), Path(name, f"theirs{suffix}")
            our_s, _ = best_time(
                lambda path=ours: model.save(path, progress=False), options.repeats
            )
            line = f"{task:<18}{ours.stat().st_size / 1e6:5.0f} MB{our_s:8.2f} s"
            if gensim is None:
                report(title, our_s, against="gensim", missing=why)
            else:
                their_s, _ = best_time(
                    lambda path=other, how=how: gensim.save_word2vec_format(path, **how),
                    options.repeats,
                )
                assert ours.read_bytes() == other.read_bytes()
                report(title, our_s, against="gensim", their_seconds=their_s)
                line += f"{their_s:8.2f} s{their_s / our_s:6.1f} x"
            print(line)
    formatting(vectors)


if __name__ == "__main__":
    main()
