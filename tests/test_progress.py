"""Progress of long work where there is no terminal."""

import pytest

from wefe import _progress
from wefe._progress import progress_bar


@pytest.fixture
def now(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    return clock


def test_without_a_terminal_a_line_is_written_now_and_then(now, capsys):
    with progress_bar(1000, "Study", "task") as bar:
        for _ in range(6):
            now[0] += 20
            bar.update(100)
        written = capsys.readouterr().err
    assert "Study:" in written
    assert written.count("/1000") <= 3


def test_quick_work_writes_nothing(now, capsys):
    with progress_bar(1000, "Study", "task") as bar:
        now[0] += 1
        bar.update(1000)
    assert capsys.readouterr().err == ""


def test_no_bar_is_no_line(now, capsys):
    with progress_bar(1000, "Study", "task", show=False) as bar:
        now[0] += 100
        bar.update(100)
    assert capsys.readouterr().err == ""
