"""Rows of the table of ratios: what benchmarks report, and how the table is written."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
from collections.abc import Iterable

# Names a file of JSON lines; without it, a report is dropped: the script has printed its lines.
ROWS = "WEFE_BENCHMARK_ROWS"
PEER, RESPONSIBLY = "the public peer", "Responsibly"
OPTIONS = {
    "peer": ("PYTHON", "interpreter of an environment with the public peer and gensim"),
    "responsibly": ("PYTHON", "interpreter of an environment with Responsibly"),
}
NOT_GIVEN = {PEER: "no --peer given", RESPONSIBLY: "no --responsibly given"}
HEAD = """\
| Task | Here | Against | Time there | Ratio |
|---|---|---|---|---|"""


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table: a task, its time and memory here, and there."""

    task: str
    seconds: float | None = None
    mb: float | None = None
    against: str = ""
    their_seconds: float | None = None
    their_mb: float | None = None
    # What has to be known to read the numbers, such as from how many runs a time was scaled.
    note: str = ""
    # Why something was not measured; times that were still stand.
    missing: str = ""
    part: str = ""

    @property
    def ratio(self) -> float | None:
        """Time there by time here: above 1, wefe is faster."""
        if not self.seconds or self.their_seconds is None:
            return None
        return self.their_seconds / self.seconds

    def cells(self, quick: bool = False) -> list[str]:
        """Return the cells of the line."""
        ratio = "" if self.ratio is None else f"{short(self.ratio)} x" + " (quick)" * quick
        missing = self.missing and f"not measured: {self.missing}"
        cells = [
            self.task,
            resources(self.seconds, self.mb),
            "; ".join(filter(None, (self.against, self.note))),
            resources(self.their_seconds, self.their_mb),
            ratio or missing,
        ]
        return [" ".join(cell.split()).replace("|", "\\|") for cell in cells]


def report(
    task: str, seconds: float | None = None, mb: float | None = None, **about: object
) -> None:
    """Say a result to the runner, if there is one; the arguments are those of `Row`."""
    row = Row(task, seconds, mb, **about)
    if path := os.environ.get(ROWS):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(row)) + "\n")


def parser(doc: str, *names: str) -> argparse.ArgumentParser:
    """Return the parser of a benchmark: --quick, and what it names of the shared options."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--quick", action="store_true", help="small sizes: ratios mean little")
    for name in names:
        metavar, text = OPTIONS[name]
        made.add_argument(f"--{name}", metavar=metavar, help=text)
    return made


def lacking(*modules: str) -> str:
    """Return which of some modules cannot be imported here, in words; nothing if all can."""
    found = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"{', '.join(found)} not installed" if found else ""


def short(number: float) -> str:
    """Return a number with two digits, or all before the point."""
    if number >= 9.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 0.995 else f"{number:.2g}"


def resources(seconds: float | None, mb: float | None) -> str:
    """Return time and memory in words."""
    parts = []
    if seconds is not None:
        parts.append(f"{short(1e3 * seconds)} ms" if seconds < 1 else f"{short(seconds)} s")
    if mb is not None:
        parts.append(f"{mb:,.0f} MB")
    return ", ".join(parts)


def markdown(rows: Iterable[Row], quick: bool = False) -> str:
    """Return the table; the name of a part stands before its first line."""
    lines, part = [HEAD], ""
    for row in rows:
        if row.part != part:
            part = row.part
            lines.append(f"| **{part}** | | | | |")
        lines.append(f"| {' | '.join(row.cells(quick))} |")
    return "\n".join(lines) + "\n"
