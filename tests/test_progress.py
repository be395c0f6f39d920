"""Progress of long work where there is no terminal."""

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


def test_no_bar_is_no_line(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    with _progress.progress_bar(1000, "Study", "task", show=False) as bar:
        now[0] = 100.0
        bar.update(100)
    assert capsys.readouterr().err == ""
