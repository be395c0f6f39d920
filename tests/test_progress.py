"""Progress of long work where there is no terminal."""

import pytest

from wefe import _progress


def test_without_a_terminal_a_line_is_written_now_and_then(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    with _progress.progress_bar(1000, "Study", "task") as bar:
        for seconds in (1, 3, 20, 35, 40, 70):
            now[0] = float(seconds)
            bar.update(100)
    assert capsys.readouterr().err.splitlines() == [
        "Study: 400 of 1,000 tasks",
        "Study: 600 of 1,000 tasks",
    ]


@pytest.mark.parametrize(
    ("unit", "written"),
    [("query", "queries"), ("word", "words"), ("analogy", "analogies"), ("groups", "groups")],
)
def test_units_are_written_in_the_plural(monkeypatch, capsys, unit, written):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    with _progress.progress_bar(None, "Work", unit) as bar:
        for seconds in (3, 40):
            now[0] = float(seconds)
            bar.update(1000)
    assert capsys.readouterr().err == f"Work: 2,000 {written}\n"
