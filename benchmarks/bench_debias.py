"""Mitigation, against the public peer, a bare projection, and its own growth with the vocabulary.

    python benchmarks/bench_debias.py
    python benchmarks/bench_debias.py --peer PYTHON     # an environment with the peer and gensim
    python benchmarks/bench_debias.py --peer PYTHON --large

Fit and transform with a copy, on generated vectors of 300 dims, each in a fresh process; the peer
runs the same code on the same vectors through the same documented API. --large runs the peer on
400,000 words, too, for which it needs some 13 GB. Needs Linux for peak memory.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from _debias_task import MODULES
from _table import NOT_GIVEN, PEER, parser, report
from _timing import TaskError, best_time, fresh_process

from wefe.datasets import fetch_debias_multiclass, fetch_debiaswe

DIM = 300
SMALL, LARGE = 13_013, 400_000
QUICK = 3_000
TARGETS, QUICK_TARGETS = 200, 20
# Not on many words: neighbours of each target, again and again.
SLOW = ("RepulsionAttractionNeutralization",)
# What the peer takes for 400,000 words, with what the system needs beside it.
NEEDED_GB = 14
N_DEFINITIONAL = 1_441


def make(folder: Path, n_words: int) -> tuple[Path, Path]:
    """Vectors that lean along a direction, with the words of the criterion spread among them."""
    rng = np.random.default_rng(0)
    published, multiclass = fetch_debiaswe(offline=True), fetch_debias_multiclass()
    pairs = published["definitional_pairs"]
    equalize = published["equalize_pairs"]
    sets = multiclass["ethnicity_definitional_sets"]
    specific = published["gender_specific_seed"]
    known = dict.fromkeys(word for part in (*pairs, *equalize, *sets, specific) for word in part)
    vocabulary = [f"w{row}" for row in range(n_words)]
    for place, word in zip(
        np.linspace(10, n_words - 1, len(known)).astype(int), known, strict=True
    ):
        vocabulary[place] = word
    lean = rng.normal(size=DIM) / np.sqrt(DIM)
    vectors = np.empty((n_words, DIM), dtype=np.float32)
    for start in range(0, n_words, 10_000):
        part = vectors[start : start + 10_000]
        part[:] = rng.normal(0, 0.1, part.shape)
        part += rng.normal(0, 0.5, (len(part), 1)) * lean
    row_of = {word: row for row, word in enumerate(vocabulary)}
    for first, second in pairs:
        vectors[row_of[second]] = vectors[row_of[first]] - 2 * lean
        vectors[row_of[first]] += 2 * lean
    file, words = folder / f"{n_words}.npy", folder / f"{n_words}.json"
    np.save(file, vectors)
    content = {
        "vocabulary": vocabulary,
        "pairs": pairs,
        "equalize": equalize,
        "sets": sets,
        "specific": specific,
        # As many as the published list of gender-specific words has.
        "definitional": [*specific, *(word for word in vocabulary if word.startswith("w"))][
            :N_DEFINITIONAL
        ],
        "target": [word for word in vocabulary if word.startswith("w")][
            : TARGETS if n_words > QUICK else QUICK_TARGETS
        ],
    }
    words.write_text(json.dumps(content), encoding="utf-8")
    return file, words


def run(python: str, files: tuple[Path, Path], method: str, repeats: int) -> dict:
    script = Path(__file__).with_name("_debias_task.py")
    return fresh_process(python, script, *files, method, repeats)


def against_peer(
    files: tuple[Path, Path], n_words: int, peer: str | None, repeats: tuple[int, int], why: str
) -> None:
    """Time each method here and, with an interpreter, there; `why` says why there is none."""
    for method in MODULES:
        if method in SLOW and n_words == LARGE:
            continue
        ours = run(sys.executable, files, method, repeats[0])
        about = {"against": PEER, "missing": why}
        line = f"  {method}: {1000 * ours['s']:.0f} ms, {ours['peak_mb']:.0f} MB beyond the model"
        if peer:
            try:
                theirs = run(peer, files, method, repeats[1])
                about |= {"their_seconds": theirs["s"], "their_mb": theirs["peak_mb"]}
                line += (
                    f"; the peer {1000 * theirs['s']:.0f} ms, {theirs['peak_mb']:.0f} MB: "
                    f"{theirs['s'] / ours['s']:.1f} x"
                )
            except TaskError as error:
                about["missing"] = str(error)
                line += f"; the peer failed: {error}"
        report(f"{method}, {n_words:,} x {DIM}", ours["s"], ours["peak_mb"], **about)
        print(line, flush=True)


def bare_projection(file: Path) -> float:
    """Seconds of one pass of X - (X v) v^T over the matrix."""
    vectors = np.load(file)
    v = np.ones(DIM, dtype=np.float32) / np.float32(np.sqrt(DIM))
    return best_time(lambda: vectors - (vectors @ v)[:, None] * v, 3)[0]


STREAM = """
import json, sys
from wefe.debias import HardDebias, debias_file
sys.path.insert(0, sys.argv[4])
from _timing import best_time, peak_mb, reset_peak
import wefe.debias._streaming, wefe.metrics, sklearn.decomposition
from wefe.datasets import Criterion
words = json.load(open(sys.argv[2]))
criterion = Criterion("gender", words["pairs"], equalize_sets=words["equalize"],
                      specific_words=words["specific"])
del words["vocabulary"]
reset_peak()
start = peak_mb()
seconds, _ = best_time(lambda: debias_file(
    HardDebias(), sys.argv[1], sys.argv[3], criterion=criterion,
    ignore=criterion.specific_words, progress=False), 1)
print(json.dumps({"s": seconds, "mb": peak_mb() - start}))
"""


def streaming(folder: Path, files: tuple[Path, Path]) -> None:
    from wefe import WordEmbeddingModel

    content, here = json.loads(files[1].read_text()), Path(__file__).parent
    model = WordEmbeddingModel((content["vocabulary"], np.load(files[0])), "generated")
    for suffix in (".bin", ".safetensors"):
        source, out = folder / f"big{suffix}", folder / f"out{suffix}"
        model.save(source, progress=False)
        found = fresh_process(sys.executable, "-c", STREAM, source, files[1], out, here)
        report(f"HardDebias, {LARGE:,} x {DIM}, {suffix} to {suffix}", found["s"], found["mb"])
        print(
            f"  {suffix} to {suffix}: {found['s']:.1f} s, "
            f"{found['mb']:.0f} MB beyond the interpreter, its imports and the word sets"
        )


def free_gb() -> float:
    text = Path("/proc/meminfo").read_text()
    return int(text.partition("MemAvailable:")[2].split()[0]) * 1024 / 1e9


def growth(folder: Path, large: tuple[Path, Path]) -> None:
    print("Growth with the vocabulary, seconds per 100,000 words:")
    sizes = (50_000, 100_000, 200_000, LARGE)
    made = [large if n_words == LARGE else make(folder, n_words) for n_words in sizes]
    for method in ("HardDebias", "DoubleHardDebias", "HalfSiblingRegression"):
        cells = []
        for n_words, files in zip(sizes, made, strict=True):
            per = run(sys.executable, files, method, 2)["s"] / n_words * 1e5
            report(f"{method}, per 100,000 of {n_words:,} words", per)
            cells.append(f"{per:.3f}")
        print(f"  {method}: {', '.join(cells)}")


def main() -> None:
    asked = parser(__doc__, "peer")
    asked.add_argument("--large", action="store_true", help="the peer on 400,000 words, too")
    options = asked.parse_args()
    small = QUICK if options.quick else SMALL
    peer, why = options.peer, "" if options.peer else NOT_GIVEN[PEER]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{small:,} x {DIM}, fit and transform with a copy:")
        files = make(folder, small)
        repeats = (1, 1) if options.quick else (5, 3)
        against_peer(files, small, peer, repeats, why)
        if options.quick:
            return
        large = make(folder, LARGE)
        print(f"{LARGE:,} x {DIM} ({LARGE * DIM * 4 / 1e6:.0f} MB):")
        if peer and not options.large:
            peer, why = None, "only with --large"
        elif peer and free_gb() < NEEDED_GB:
            peer, why = None, f"it needs {NEEDED_GB} GB of memory, {free_gb():.0f} are free"
        against_peer(large, LARGE, peer, (2, 1), why)
        bare, ours = bare_projection(large[0]), run(sys.executable, large, "HardDebias", 3)
        report(
            f"HardDebias, {LARGE:,} x {DIM}",
            ours["s"],
            against="a bare `X - (X @ v) v^T`",
            their_seconds=bare,
        )
        print(f"  HardDebias takes {ours['s'] / bare:.2f} x a bare X - (X v) v^T ({bare:.2f} s)")
        growth(folder, large)
        print("From file to file, HardDebias:")
        streaming(folder, large)


if __name__ == "__main__":
    main()
