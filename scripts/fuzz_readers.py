"""Feed damaged files to `wefe.load`, some hundred a second, and keep what it does wrong.

    python scripts/fuzz_readers.py [--seconds 60] [--reader NAME ...] [--seed 0] [--n-jobs 2]
    python scripts/fuzz_readers.py --replay finds/csv-1234.json

What is checked stands in tests/helpers/fuzz_checks.py, what becomes of the files in fuzz_files.py,
the slow reference readers in tests/oracles/readers.py. An input is made from the name of its reader
and a seed, so it can be made again. A find is an error without the name of the file or of another
kind than readers may raise, memory or time without bound, vectors that depend on the way of
reading or differ from those of the reference, and a process that dies. It runs on Linux only.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "ARROW_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse
import base64
import contextlib
import importlib
import itertools
import json
import logging
import multiprocessing
import pkgutil
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "helpers"), str(TESTS / "oracles")]

import fuzz_checks
import fuzz_files

from wefe.models import formats

# Seconds that a process works on one reader: starting it takes a tenth of one.
SLICE_SECONDS = 20
# An input takes milliseconds. After the first time it is interrupted, after the second killed.
STOP_SECONDS, KILL_SECONDS = 20, 40
MEMORY_BYTES = 3 << 30
# Of the same kind, so many finds are kept.
MAX_KEPT = 3
TARGETS = (*fuzz_checks.READERS, *(f"changing-{name}" for name in fuzz_checks.CHANGING))
LIBRARIES = ("gensim.models", "pandas", "pyarrow.parquet", "tokenizers", "safetensors.numpy")
_FORK = multiprocessing.get_context("fork")


@dataclass
class Totals:
    """What came of the inputs of a reader."""

    inputs: int = 0
    accepted: int = 0
    seconds: float = 0
    problems: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, str]] = field(default_factory=dict)


class Slice:
    """A process that checks one reader for some seconds.

    What it is at stands in shared memory, as it may die.
    """

    def __init__(self, target: str, seed: int, seconds: float, finds: Path) -> None:
        self.target, self.seconds, self.finds = target, seconds, finds
        # The seed, how many are done and were accepted, and when the one at hand began.
        self.state = _FORK.RawArray("d", [seed, 0, 0, time.monotonic()])
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_memory_folder()))
        self.receiver, sender = _FORK.Pipe(duplex=False)
        self.started = time.monotonic()
        self.process = _FORK.Process(target=self._run, args=(sender,), daemon=True)
        self.process.start()
        sender.close()

    def _run(self, sender: Any) -> None:
        _limit_process()
        deadline = time.monotonic() + self.seconds
        problems: Counter[str] = Counter()
        notes: Counter[str] = Counter()
        examples: dict[str, tuple[int, str]] = {}
        for seed in itertools.count(int(self.state[0])):
            self.state[0], self.state[3] = seed, time.monotonic()
            if self.state[3] > deadline:
                break
            signal.alarm(STOP_SECONDS)
            try:
                verdict = fuzz_checks.check_seed(self.target, seed, self.folder)
            except fuzz_checks.Stop:
                verdict = fuzz_checks.Verdict(problems=[f"more than {STOP_SECONDS} s"])
            signal.alarm(0)
            self.state[1] += 1
            self.state[2] += verdict.accepted
            for problem in verdict.problems:
                key = normal_form(problem)
                problems[key] += 1
                examples.setdefault(key, (seed, problem))
                if problems[key] <= MAX_KEPT:
                    save_find(self.finds, self.target, seed, problem)
            for note in verdict.notes:
                key = f"note: {normal_form(note)}"
                notes[key] += 1
                examples.setdefault(key, (seed, note))
        sender.send((problems, notes, examples))

    def is_over(self) -> bool:
        """Tell whether the process has ended, for whatever reason; kill it if it hangs."""
        if time.monotonic() - self.state[3] > KILL_SECONDS:
            self.process.kill()
        return not self.process.is_alive() or self.receiver.poll()

    def finish(self, totals: Totals) -> int:
        """Add up what it found; return the next seed."""
        with contextlib.suppress(EOFError):
            problems, notes, examples = self.receiver.recv()
            totals.problems += problems
            totals.notes += notes
            totals.examples |= examples
        self.process.join(5)
        seed = int(self.state[0])
        if self.process.exitcode != 0:
            what = f"the process died ({self.process.exitcode})"
            totals.problems[what] += 1
            totals.examples.setdefault(what, (seed, what))
            save_find(self.finds, self.target, seed, what)
            seed += 1
        totals.inputs += int(self.state[1])
        totals.accepted += int(self.state[2])
        totals.seconds += time.monotonic() - self.started
        shutil.rmtree(self.folder, ignore_errors=True)
        return seed


def normal_form(problem: str) -> str:
    """Return what a problem has in common with others of its kind."""
    problem = re.sub(r"'[^']*'|\"[^\"]*\"|/\S*/", "'...'", problem)
    return re.sub(r"[-+]?[0-9][0-9,.e+-]*|\[[^]]*\]", "N", problem)[:110]


def _memory_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _limit_process() -> None:
    """Bound memory and time, and be quiet."""

    def stop(*_: object) -> None:
        raise fuzz_checks.Stop

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    # Libraries write of panics and of what they abort.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def save_find(folder: Path, target: str, seed: int, problem: str) -> None:
    """Write an input that is a find, to be replayed."""
    folder.mkdir(parents=True, exist_ok=True)
    find: dict[str, Any] = {"reader": target, "seed": seed, "problem": problem[:2000]}
    if not target.startswith("changing-"):
        files = fuzz_files.make_files(target, seed)
        find["files"] = {name: base64.b64encode(data).decode() for name, data in files.items()}
    (folder / f"{target}-{seed}.json").write_text(json.dumps(find, indent=1) + "\n")


def replay(path: Path) -> int:
    """Check the input of a find again; return 1 if it is still one."""
    find = json.loads(path.read_text())
    print(f"{find['reader']}, seed {find['seed']}: {find['problem']}")
    with tempfile.TemporaryDirectory() as folder:
        if "files" not in find:
            verdict = fuzz_checks.check_seed(find["reader"], find["seed"], Path(folder))
        else:
            files = {name: base64.b64decode(data) for name, data in find["files"].items()}
            verdict = fuzz_checks.check_files(find["reader"], files, Path(folder))
            lenient = fuzz_checks.check_files(find["reader"], files, Path(folder), lenient=True)
            verdict.problems += [f"skip: {problem}" for problem in lenient.problems]
    print("\n".join([*verdict.problems, *verdict.notes]) or "nothing is wrong now")
    return int(bool(verdict.problems))


def fuzz(
    targets: list[str], seconds: float, seed: int, n_jobs: int, finds: Path
) -> dict[str, Totals]:
    """Check the readers in turn until the time is over."""
    deadline = time.monotonic() + seconds
    totals = {target: Totals() for target in targets}
    seeds = dict.fromkeys(targets, seed)
    slice_seconds = min(SLICE_SECONDS, seconds * n_jobs / len(targets))
    waiting, running = list(targets), list[Slice]()
    while running or time.monotonic() < deadline:
        while waiting and len(running) < n_jobs and time.monotonic() < deadline:
            target = waiting.pop(0)
            running.append(Slice(target, seeds[target], slice_seconds, finds))
        for each in [each for each in running if each.is_over()]:
            running.remove(each)
            before = totals[each.target].problems.copy()
            seeds[each.target] = each.finish(totals[each.target])
            waiting.append(each.target)
            for key in totals[each.target].problems.keys() - before.keys():
                example_seed, problem = totals[each.target].examples[key]
                print(f"{each.target}, seed {example_seed}: {problem[:300]}", flush=True)
        time.sleep(0.02)
    return totals


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--reader", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each reader")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--finds", type=Path, default=Path("finds"), help="folder for finds")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="check a find again")
    parser.add_argument("--notes", action="store_true", help="show what only one side reads")
    options = parser.parse_args()
    if options.replay:
        return replay(options.replay)
    # Imported before the processes fork, and not used: threads that run do not survive it.
    readers = [f"{formats.__name__}.{each.name}" for each in pkgutil.iter_modules(formats.__path__)]
    for library in (*LIBRARIES, *readers):
        importlib.import_module(library)
    totals = fuzz(options.reader, options.seconds, options.seed, options.n_jobs, options.finds)
    print(f"{'reader':24}{'inputs':>10}{'a second':>10}{'accepted':>10}{'finds':>8}{'kinds':>7}")
    for target, each in totals.items():
        share = each.accepted / max(each.inputs, 1)
        print(
            f"{target:24}{each.inputs:10,}{each.inputs / max(each.seconds, 1e-9):10.0f}"
            f"{share:10.2f}{each.problems.total():8,}{len(each.problems):7}"
        )
        for key, n in each.problems.most_common():
            print(f"    {n:6} times, as with seed {each.examples[key][0]}: {key}")
        if options.notes:
            for key, n in each.notes.most_common(20):
                print(
                    f"    note {n:6} times: {each.examples[key][0]}: {each.examples[key][1][:160]}"
                )
    print(f"{sum(each.inputs for each in totals.values()):,} inputs")
    return int(any(each.problems for each in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
