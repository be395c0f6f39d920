"""Progress of long work where there is no terminal, and what it says."""

import subprocess
import sys

import pytest

from wefe import _checks


@pytest.mark.parametrize(
    ("total", "unit", "lines"),
    [
        (1000, "task", ["Study: 400 of 1,000 tasks", "Study: 600 of 1,000 tasks"]),
        (None, "query", ["Study: 400 queries", "Study: 600 queries"]),
        (None, "analogy", ["Study: 400 analogies", "Study: 600 analogies"]),
        (None, "groups", ["Study: 400 groups", "Study: 600 groups"]),
    ],
)
def test_without_a_terminal_a_line_is_written_now_and_then(monkeypatch, capsys, total, unit, lines):
    now = [0.0]
    monkeypatch.setattr(_checks.time, "monotonic", lambda: now[0])
    with _checks.progress_bar(total, "Study", unit) as bar:
        for seconds in (1, 3, 20, 35, 40, 70):
            now[0] = float(seconds)
            bar.update(100)
    assert capsys.readouterr().err.splitlines() == lines


def test_warnings_of_a_module_that_is_imported_meanwhile_are_noted():
    code = (
        "from wefe._checks import noted\nnotes = []\nwith noted(notes):\n"
        "    from wefe._visible import unique_labels\n    unique_labels(['a', 'a'], 'models')\n"
        "print(notes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "the second is renamed to 'a (2)'" in done.stdout
    assert done.stderr == ""
