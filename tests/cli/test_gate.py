"""`wefe check` and `wefe diff`: options, baselines, names that give no orders to a CI server."""

import os

import pytest
import typer
from command_line import STUDY
from made_results import results_of

from wefe.cli import _check, _run
from wefe.study import StudyResults

MOST = ("--max", "weat-es=2")
INCREASE = ("--max-increase", "10%", "--baseline")


@pytest.fixture
def call(monkeypatch, capsys, folder):
    """Return a function that calls a command in a folder with a study file."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.chdir(folder)
    (folder / "study.toml").write_text(STUDY)

    def run(*arguments, command=_check.check):
        app = typer.Typer(pretty_exceptions_enable=False)
        app.command()(command)
        return app(list(arguments), standalone_mode=False) or 0, capsys.readouterr().out

    return run


def test_a_study_is_run_first_and_compared_with_the_release_before(call, tmp_path):
    assert call("study.toml", *MOST)[0] == 0
    first = StudyResults.from_file("study.db")
    assert first.is_complete
    assert call("study.toml", "--max", "weat-es=0.001")[0] == 1
    again = StudyResults.from_file("study.db")
    assert [one.key for one in again.outcomes] == [one.key for one in first.outcomes]
    assert call("study.db", "--max", "weat-es=0.001")[0] == 1
    assert call("study.db", *MOST)[0] == 0
    os.rename("study.db", "old.db")
    other = STUDY.replace('"office", "salary"', '"office", "salary", "she"')
    (tmp_path / "study.toml").write_text(other)
    code, printed = call("study.toml", *INCREASE, "old.db")
    assert code == 1
    assert "the baseline has" in printed
    assert "so the question changed: 1 (first: demo, Own, " in printed


def test_a_baseline_is_another_file_and_options_are_checked(call, tmp_path):
    assert call("study.toml", *MOST)[0] == 0
    os.link("study.db", "link.db")
    for arguments, says in (
        (["study.toml", *INCREASE, "study.db"], "is the results file itself"),
        (["study.toml", "--results", "link.db", *INCREASE, "study.db"], "results file itself"),
        (["study.db", "--max", "weat-es"], "METRIC=VALUE"),
        (["study.db", "--max", "weat-es=nan"], "the limit of 'weat-es' must be"),
        (["study.db", "--max", "weat-es=1", "--max", "weat-es=2"], "only once"),
        (["study.db", "--max", "rnsb=1"], "'rnsb' is no metric of this study"),
        (["study.db", *INCREASE, "none.db"], "no such results file"),
        (["study.db", "--results", "x.db"], "--results is for a study file"),
        (["study.db", "--n-jobs", "2"], "--n-jobs is for a study file"),
    ):
        with pytest.raises((ValueError, TypeError, OSError), match=says):
            call(*arguments)


def test_github_gets_a_summary_and_ten_annotations(call, tmp_path, monkeypatch, caplog):
    evil = "50%,\r\n::error::all: fine"
    scores = {"q": {evil: 0.5, "ok": 0.0, **{f"m{i}": 0.5 for i in range(13)}}}
    (tmp_path / "r.db").touch()
    monkeypatch.setattr(StudyResults, "from_file", lambda path: results_of({"RND": {"s": scores}}))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("Of another step.\n")
    code, printed = call("r.db", "--max", "rnd=0.25")
    assert code == 1
    orders = [line for line in printed.splitlines() if line.startswith("::")]
    assert len(orders) == 10
    assert orders[0] == (
        "::error title=Bias gate::RND, s, 50%25,%0D%0A::error::all: fine: 0.5 is more than 0.25"
    )
    assert len([line for line in printed.splitlines() if line.startswith("- RND, s, ")]) == 14
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("Of another step.\n")
    assert "## Bias gate failed: 14 of 15 checks" in text
    # A summary that cannot be written changes nothing.
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "folder.md"))
    assert call("r.db", "--max", "rnd=0.25")[0] == 1
    assert call("r.db", "--max", "rnd=0.5")[0] == 0
    assert "the summary of the job could not be written" in caplog.text


@pytest.mark.parametrize("kind", ["table", "csv", "markdown"])
@pytest.mark.parametrize(
    "evil", ["::error::all fine", "##[error]x", "a\n::error::b", "\x1b[2Jc\u202e"]
)
def test_names_in_differences_give_no_orders_to_terminals_or_actions(call, monkeypatch, evil, kind):
    files = {"one": results_of({"RND": {"s": {"q": {"m": 0.5}}}})}
    files["other"] = results_of({"RND": {evil: {evil: {evil: 0.5}}}}, name=evil)
    monkeypatch.setattr(_run.Stored, "open", lambda self, path: files[str(path)])
    code, printed = call("one", "other", "--format", kind, command=_check.diff)
    assert code == 1
    assert not {"\x1b", "\u202e", "\r"} & set(printed)
    starts = [line.lstrip() for line in printed.splitlines()]
    assert not [line for line in starts if line.startswith(("::", "##["))]
