"""Mitigation, against the public peer, a bare projection, and its own growth with the vocabulary.

    python benchmarks/bench_debias.py
    python benchmarks/bench_debias.py --peer PYTHON     # an environment with the peer and gensim
    python benchmarks/bench_debias.py --peer PYTHON --large

Fit and transform with a copy, on generated vectors of 300 dims, each in a fresh process; the peer
runs the same code on the same vectors through the same documented API. --large runs the peer on
400,000 words, too, for which it needs some 13 GB. Needs Linux for peak memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _debias_task import MODULES
from _timing import best_time

from wefe.datasets import fetch_debias_multiclass, fetch_debiaswe

DIM = 300
SMALL, LARGE = 13_013, 400_000
TARGETS = 200
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
        "definitional": [
            *specific,
            *(word for word in vocabulary if word.startswith("w")),
        ][:N_DEFINITIONAL],
        "target": [word for word in vocabulary if word.startswith("w")][:TARGETS],
    }
    words.write_text(json.dumps(content), encoding="utf-8")
    return file, words


def run(python: str, files: tuple[Path, Path], method: str, repeats: int) -> dict | None:
    script = Path(__file__).with_name("_debias_task.py")
    call = [python, script, *files, method, str(repeats)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=files[0].parent)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:]
        print(f"  {method} failed: {''.join(reason)[:120]}")
        return None
    return json.loads(done.stdout)


def against_peer(
    files: tuple[Path, Path], peer: str | None, repeats: int, skip: tuple = ()
) -> None:
    for method in MODULES:
        if method in skip:
            continue
        ours = run(sys.executable, files, method, repeats)
        line = f"  {method}: {1000 * ours['s']:.0f} ms, {ours['peak_mb']:.0f} MB beyond the model"
        theirs = run(peer, files, method, 1 if "large" in str(files) else 3) if peer else None
        if theirs:
            line += (
                f"; the peer {1000 * theirs['s']:.0f} ms, {theirs['peak_mb']:.0f} MB: "
                f"{theirs['s'] / ours['s']:.1f} x"
            )
        print(line, flush=True)


def bare_projection(file: Path) -> float:
    """Seconds of one pass of X - (X v) v^T over the matrix."""
    vectors = np.load(file)
    v = np.ones(DIM, dtype=np.float32) / np.float32(np.sqrt(DIM))
    return best_time(lambda: vectors - (vectors @ v)[:, None] * v, 3)[0]


STREAM = """
import json, re, sys
from wefe.debias import HardDebias, debias_file
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 976.6
import wefe.debias._streaming, wefe.metrics, sklearn.decomposition
from wefe.datasets import Criterion
words = json.load(open(sys.argv[2]))
criterion = Criterion("gender", words["pairs"], equalize_sets=words["equalize"],
                      specific_words=words["specific"])
del words["vocabulary"]
open("/proc/self/clear_refs", "w").write("5")
start = peak()
import time; t = time.perf_counter()
debias_file(HardDebias(), sys.argv[1], sys.argv[3], criterion=criterion,
            ignore=criterion.specific_words, progress=False)
print(json.dumps({"s": time.perf_counter() - t, "mb": peak() - start}))
"""


def streaming(folder: Path, files: tuple[Path, Path]) -> None:
    from wefe import WordEmbeddingModel

    content = json.loads(files[1].read_text())
    model = WordEmbeddingModel((content["vocabulary"], np.load(files[0])), "generated")
    for suffix in (".bin", ".safetensors"):
        source, out = folder / f"big{suffix}", folder / f"out{suffix}"
        model.save(source, progress=False)
        call = [sys.executable, "-c", STREAM, source, files[1], out]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        print(
            f"  {suffix} to {suffix}: {found['s']:.1f} s, "
            f"{found['mb']:.0f} MB beyond the interpreter, its imports and the word sets"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="interpreter of the peer's environment")
    parser.add_argument("--large", action="store_true", help="the peer on 400,000 words, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{SMALL:,} x {DIM}, fit and transform with a copy:")
        against_peer(make(folder, SMALL), options.peer, 5)
        large = make(folder, LARGE)
        print(f"{LARGE:,} x {DIM} ({LARGE * DIM * 4 / 1e6:.0f} MB):")
        slow = ("RepulsionAttractionNeutralization",)
        against_peer(large, options.peer if options.large else None, 2, slow)
        bare, ours = bare_projection(large[0]), run(sys.executable, large, "HardDebias", 3)
        print(f"  HardDebias takes {ours['s'] / bare:.2f} x a bare X - (X v) v^T ({bare:.2f} s)")
        print("Growth with the vocabulary, seconds per 100,000 words:")
        for method in ("HardDebias", "DoubleHardDebias", "HalfSiblingRegression"):
            cells = []
            for n_words in (50_000, 100_000, 200_000, 400_000):
                files = large if n_words == LARGE else make(folder, n_words)
                cells.append(f"{run(sys.executable, files, method, 2)['s'] / n_words * 1e5:.3f}")
            print(f"  {method}: {', '.join(cells)}")
        print("From file to file, HardDebias:")
        streaming(folder, large)


if __name__ == "__main__":
    main()
