"""Change one small thing in a package at a time, and see whether its quick tests notice.

    python scripts/mutate.py metrics [-n 300] [--seed 0] [--n-jobs 2] [--out survivors.txt]
    python scripts/mutate.py metrics --again survivors.txt  # those only, against all tests

A mutant has one operator, comparison, condition, constant or returned value changed. A seed draws
them from all that are possible, so that a run can be repeated. Each is run against the 100 tests
of the package that reach its line and the fewest others, until one fails. Survivors are printed:
they show what no test checks. Those that are equivalent to the original are listed in
equivalent_mutants.txt, with a reason, and are not run. It works on copies and runs on Linux and
macOS only.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import itertools
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
# A mutant that runs longer is noticed: it hangs.
TIMEOUT_SECONDS = 300
# A change that so many tests do not notice, is noticed by hardly any other.
MOST_TESTS = 100
PRELOADED = (
    *("gensim.models", "hypothesis.extra.numpy", "pandas", "plotly.graph_objects", "pydantic"),
    *("pytest", "scipy.stats", "sentence_transformers", "sklearn.cluster", "sklearn.linear_model"),
)
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of one node: where it is in its file, and the text before and after."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        """Return what identifies a mutant, also when its line has moved."""
        before, after = (" ".join(text.split())[:70] for text in (self.before, self.after))
        return f"{self.path}: {self.source} [{before} -> {after}]"


def changed(node: ast.AST) -> ast.AST | None:
    """Return a node with another meaning, or None if the node is not of a kind that changes."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in COMPARISONS:
            return ast.Compare(left, [COMPARISONS[type(op)]()], comparators)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(OPERATORS[type(op)](), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            return ast.Constant(value + 1)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            return ast.Return(ast.Constant(None))
    return None


def without_effect(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that tests need not notice.

    These are types, texts of errors and logs, progress, whether an array is copied for nothing, and
    flags that guard against mistakes of programmers (`strict` of zip, `frozen` of a dataclass).
    """
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        match node:
            case ast.arg(annotation=part) | ast.FunctionDef(returns=part):
                parts = [part]
            case ast.AnnAssign(annotation=part, value=value):
                parts = [part, value if ast.unparse(part) == "TypeAlias" else None]
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Raise() | ast.JoinedStr():
                parts = [node]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger" | "bar"))):
                parts = [node]
            case ast.Call(func=ast.Name(id="progress_bar") | ast.Attribute(attr="_log")):
                parts = [node]
            case ast.keyword(arg="copy" | "strict" | "progress" | "frozen" | "eq" | "repr"):
                parts = [node]
        for part in filter(None, parts):
            yield from ast.walk(part)


def mutants_of(path: str) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    text = (ROOT / path).read_bytes()
    lines = text.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    tree = ast.parse(text)
    skipped = set(without_effect(tree))
    for node in ast.walk(tree):
        new = None if node in skipped else changed(node)
        if new is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            after = ast.unparse(ast.fix_missing_locations(new))
            after = after if isinstance(new, ast.Return) else f"({after})"
            before, source = text[start:end].decode(), lines[node.lineno - 1].decode().strip()
            yield Mutant(path, node.lineno, start, end, before, after, source)


def copy_of(folder: Path) -> Path:
    """Copy the files of the checkout to a new folder, and link the data beside it."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    if (ROOT.parent / "shared").is_dir():
        (folder.parent / "shared").symlink_to(ROOT.parent / "shared")
    return folder


def digest(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.blake2b(text.encode()).hexdigest()


def run_tests(folder: Path, arguments: list[str]) -> bool:
    """Run tests in a process of their own; return whether they all pass."""
    process = os.fork()
    if process == 0:
        os.setsid()
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder / "src")
        sys.dont_write_bytecode = True
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1), os.dup2(quiet, 2)
        import hypothesis
        import pytest

        # One failing example is enough: its search for a smaller one takes longer than all else.
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile("mutants", phases=phases, database=None)
        hypothesis.settings.load_profile("mutants")
        os._exit(int(pytest.main(["-q", "-p", "no:cacheprovider", *arguments])))
    until = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.1)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return False


def tests_by_line(
    folder: Path, package: str, n_jobs: int, most: int | None
) -> dict[tuple[str, int], list[str]]:
    """Return the tests that reach each line, those that reach the fewest lines first.

    The lines of a module's top level are reached by the tests of all its functions; without a
    limit (`most`), by all tests.
    """
    from coverage import CoverageData

    options = (
        f"-q -n {n_jobs} --cov=wefe.{package} --cov-context=test --cov-report= --cov-fail-under=0"
    )
    command = [sys.executable, "-m", "pytest", f"tests/{package}", *options.split()]
    subprocess.run(command, cwd=folder, check=True)
    data = CoverageData(str(folder / ".coverage"))
    data.read()
    found = {}
    for file in data.measured_files():
        name = str(Path(file).relative_to(folder.resolve()))
        for line, contexts in data.contexts_by_lineno(file).items():
            found[name, line] = {context.split("|")[0] for context in contexts}
    n_lines = Counter(test for tests in found.values() for test in tests)
    of_file: dict[str, set[str]] = {}
    for (name, _), tests in found.items():
        of_file[name] = of_file.get(name, set()) | tests - {""}
    return {
        line: sorted(
            of_file[line[0]] if "" in tests else tests, key=lambda test: (n_lines[test], test)
        )[:most]
        if most or "" not in tests
        else [f"tests/{package}"]
        for line, tests in found.items()
    }


def start(folders: multiprocessing.Queue[Path]) -> None:
    """Give a worker its copy, and import what the tests import, once for all its mutants."""
    global FOLDER
    FOLDER = folders.get()
    for name in PRELOADED:
        importlib.import_module(name)


def is_killed(job: tuple[Mutant, list[str]]) -> bool:
    """Return whether a test that reaches the mutant fails with it."""
    mutant, tests = job
    file = FOLDER / mutant.path
    text = file.read_bytes()
    file.write_bytes(text[: mutant.start] + mutant.after.encode() + text[mutant.end :])
    try:
        return bool(tests) and not run_tests(FOLDER, ["-x", *tests])
    finally:
        file.write_bytes(text)


def main() -> None:
    """Draw mutants, run them, and print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    packages = sorted(each.name for each in (ROOT / "src/wefe").iterdir() if each.is_dir())
    parser.add_argument("package", choices=packages, metavar="PACKAGE", help="such as metrics")
    parser.add_argument("-n", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--again", type=Path, help="run only the mutants that this file lists")
    parser.add_argument("--out", type=Path, help="write the survivors to this file")
    given = parser.parse_args()
    files = sorted((ROOT / "src/wefe" / given.package).rglob("*.py"))
    possible = [each for file in files for each in mutants_of(str(file.relative_to(ROOT)))]
    # In an order in which a change elsewhere moves no other mutant: samples stay comparable.
    drawn = sorted(possible, key=lambda each: digest(f"{given.seed} {each}"))[: given.n]
    listed = {*EQUIVALENT.read_text(encoding="utf-8").splitlines()}
    different = [each for each in drawn if str(each) not in listed]
    n_equivalent, drawn = len(drawn) - len(different), different
    if given.again:
        listed = {*given.again.read_text(encoding="utf-8").splitlines()}
        drawn = [each for each in drawn if str(each) in listed]
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as base:
        folders = context.Queue()
        for i in range(given.n_jobs):
            folder = copy_of(Path(base).resolve() / f"{i}" / "main")
            folders.put(folder)
        most = None if given.again else MOST_TESTS
        reached = tests_by_line(folder, given.package, given.n_jobs, most)
        jobs = [(mutant, reached.get((mutant.path, mutant.line), [])) for mutant in drawn]
        survivors = []
        with context.Pool(given.n_jobs, start, [folders]) as pool:
            for i, killed in enumerate(pool.imap(is_killed, jobs)):
                print(f"{i + 1} of {len(drawn)}", end="\r", file=sys.stderr, flush=True)
                if not killed:
                    survivors.append(str(drawn[i]))
                    print(f"line {drawn[i].line} of {survivors[-1]}", flush=True)
    n_killed = len(drawn) - len(survivors)
    share = n_killed / max(1, len(drawn))
    print(f"{given.package}: {n_killed} of {len(drawn)} mutants killed ({share:.0%}),")
    print(f"besides {n_equivalent} that are equivalent")
    if given.out:
        given.out.write_text("".join(f"{line}\n" for line in survivors), encoding="utf-8")


if __name__ == "__main__":
    main()
