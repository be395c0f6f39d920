"""Progress of long work where there is no terminal, and what it says."""

import subprocess
import sys

import pytest

from wefe import _checks


@pytest.mark.parametrize(("total", "of"), [(1000, " of 1,000"), (None, "")])
def test_without_a_terminal_a_line_is_written_now_and_then(monkeypatch, capsys, total, of):
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    bar = _checks.progress_bar(total, "Study", "task")
    for seconds in (1, 3, 20, 35, 40, 70):
        now[0] = float(seconds)
        bar.update(100)
    lines = capsys.readouterr().err.split()
    assert " ".join(lines) == f"Study: 400{of} (task) Study: 600{of} (task)"


def test_warnings_of_a_module_that_is_imported_meanwhile_are_noted():
    code = (
        "from wefe._checks import noted\nnotes = []\nwith noted(notes):\n"
        "    from wefe._visible import unique_labels\n    unique_labels(['a', 'a'], 'models')\n"
        "print(notes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "the second is renamed to 'a (2)'" in done.stdout
    assert done.stderr == ""
