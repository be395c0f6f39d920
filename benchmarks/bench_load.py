"""Opening files of the real size, against gensim on the same files.

    python benchmarks/bench_load.py
    python benchmarks/bench_load.py --words 40000   # a tenth of the size, to try it

Makes a GloVe text file (400,000 x 300, 1.0 GB) and a word2vec binary (1,000,000 x 300, 1.2 GB) in a
temporary folder, and times fresh processes from start to end; the files are in the page cache, as
they were just written. Peak memory is that of the process, mapped pages included. Needs gensim, and
Linux for the peak.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from _load_task import WORDS
from _table import lacking, parser, report
from _timing import fresh_process

DIM = 300
REPEATS = 3


def make_words(n_words: int) -> list[str]:
    """Words; those of the query are spread over the file."""
    words = [f"w{i:x}" for i in range(n_words)]
    for place, word in zip(
        np.linspace(50, n_words - 1, len(WORDS)).astype(int), WORDS, strict=True
    ):
        words[place] = word
    return words


def write_text(path: Path, n_words: int) -> None:
    rng = np.random.default_rng(0)
    line = "%s" + " %.5f" * DIM + "\n"
    words = make_words(n_words)
    with path.open("w") as file:
        for start in range(0, n_words, 1000):
            rows = rng.normal(0, 0.4, (len(words[start : start + 1000]), DIM)).tolist()
            for word, row in zip(words[start : start + 1000], rows, strict=True):
                file.write(line % (word, *row))


def write_binary(path: Path, n_words: int) -> None:
    rng = np.random.default_rng(0)
    words = make_words(n_words)
    with path.open("wb") as file:
        file.write(f"{n_words} {DIM}\n".encode())
        for start in range(0, n_words, 1000):
            rows = rng.normal(0, 0.2, (len(words[start : start + 1000]), DIM)).astype("<f4")
            for word, row in zip(words[start : start + 1000], rows, strict=True):
                file.write(word.encode() + b" " + row.tobytes())


def run(library: str, task: str, path: Path, kind: str, repeats: int = 1) -> dict:
    """Best of several fresh processes; wall_s are the seconds of the whole process."""
    script = Path(__file__).with_name("_load_task.py")
    return fresh_process(sys.executable, script, library, task, path, kind, repeats=repeats)


def compare(title: str, ours: dict, theirs: dict | None, why: str) -> None:
    line = f"  first WEAT result: {ours['wall_s']:.2f} s, {ours['peak_mb']:.0f} MB"
    about = {"against": "gensim", "missing": why}
    if theirs:
        assert np.isclose(ours["result"], theirs["result"], rtol=1e-5, atol=1e-7)
        about |= {"their_seconds": theirs["wall_s"], "their_mb": theirs["peak_mb"]}
        line += (
            f"; gensim {theirs['wall_s']:.1f} s, {theirs['peak_mb']:.0f} MB: "
            f"{theirs['wall_s'] / ours['wall_s']:.0f} x"
        )
    report(f"{title}: first WEAT result", ours["wall_s"], ours["peak_mb"], **about)
    print(line)


def whole_file(title: str, ours: dict, theirs: dict | None, why: str) -> None:
    over = ours["peak_mb"] / ours["matrix_mb"]
    line = f"  whole file into memory: {ours['load_s']:.2f} s, peak {over:.2f} x the matrix"
    about = {"against": "gensim", "missing": why}
    if theirs:
        about |= {"their_seconds": theirs["load_s"]}
        line += f"; {theirs['load_s'] / ours['load_s']:.0f} x as fast as gensim"
    task = f"{title}: whole, into memory (peak {over:.2f} x the matrix)"
    report(task, ours["load_s"], ours["peak_mb"], **about)
    print(line)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--words", type=int, help="words of the text file")
    asked.add_argument("--folder", help="where the files are made, and kept")
    options = asked.parse_args()
    n_words = options.words or (10_000 if options.quick else 400_000)
    repeats = 1 if options.quick else REPEATS
    why = lacking("gensim")
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(options.folder or temporary)
        text, binary = folder / f"glove-{n_words}.txt", folder / f"w2v-{n_words}.bin"
        if not text.exists():
            write_text(text, n_words)
        if not binary.exists():
            write_binary(binary, int(2.5 * n_words))
        for path, kind, rows in ((text, "text", n_words), (binary, "binary", int(2.5 * n_words))):
            print(f"{path.name}: {path.stat().st_size / 1e9:.2f} GB")
            title = f"{rows:,} x {DIM} {'GloVe text' if kind == 'text' else 'word2vec binary'}"
            theirs = None if why else run("gensim", "first", path, kind)
            compare(title, run("wefe", "first", path, kind, repeats), theirs, why)
            whole_file(title, run("wefe", "whole", path, kind, repeats), theirs, why)
            done = run("wefe", "convert", path, kind)
            report(f"{title}: converting it once", done["load_s"], done["peak_mb"])
            print(f"  converting it once: {done['load_s']:.1f} s, {done['peak_mb']:.0f} MB")
            native = Path(f"{path}.safetensors")
            opened = run("wefe", "whole", native, kind, repeats)
            first = run("wefe", "first", native, kind, repeats)
            report(f"{title}, converted: opening it", opened["load_s"])
            report(f"{title}, converted: first WEAT result", first["wall_s"], first["peak_mb"])
            print(
                f"  opening the result: {1000 * opened['load_s']:.1f} ms; first WEAT result "
                f"{first['wall_s']:.2f} s"
            )
            native.unlink()


if __name__ == "__main__":
    main()
