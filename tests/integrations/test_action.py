"""The GitHub Action: its own shell steps, run as a runner would, but for what they install."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import STUDY

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def run(action, tmp_path):
    """Run the steps of a job with inputs, up to the first that fails; return it and the summary."""
    if shutil.which("bash") is None or os.name == "nt":
        pytest.skip("steps run in bash")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    # Installing is only written down; wefe is the one that is tested.
    scripts = {"python": 'echo "$@" >> installed', "wefe": f'"{sys.executable}" -m wefe "$@"'}
    for name, line in scripts.items():
        (bin_ / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (bin_ / name).chmod(0o755)

    def job(**given):
        inputs = {key: each.get("default") for key, each in action["inputs"].items()} | given
        summary = tmp_path / "summary.md"
        summary.write_text("")
        for step in action["runs"]["steps"]:
            if "uses" in step:
                continue
            env = {
                key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: inputs[m[1]], value)
                for key, value in step["env"].items()
            }
            runner = {
                "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": "/the/action",
                "GITHUB_STEP_SUMMARY": str(summary),
            }
            # As GitHub calls bash.
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=tmp_path,
                env={**os.environ, **runner, **env},
                capture_output=True,
                text=True,
            )
            if done.returncode:
                break
        return step["name"], done, summary.read_text(encoding="utf-8")

    return job


def test_inputs_are_all_used_and_no_step_runs_them_as_code(action):
    used = set()
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert ("run" in step) == ("shell" in step)
        texts = [*step.get("env", {}).values(), *step.get("with", {}).values()]
        used |= {name for text in texts for name in re.findall(r"inputs\.([\w-]+)", text)}
    assert used == action["inputs"].keys()
    assert all("default" in each or each.get("required") for each in action["inputs"].values())
    # So are those of the page.
    page = (ROOT / "docs/integrations/github-action.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    (ours,) = (step for step in steps if "wefe" in step["uses"])
    assert ours["with"].keys() <= action["inputs"].keys()
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == action["inputs"].keys()


def test_a_study_within_its_limits_passes_and_can_be_a_baseline(run, tmp_path):
    step, done, summary = run(study="study.toml", max="weat-es=2", extras="hub,zstd")
    assert (step, done.returncode) == ("Check the limits", 0), done.stdout + done.stderr
    assert summary.startswith("## Bias gate passed: 1 of 1 checks")
    kept = tmp_path / "wefe-results"
    assert {path.name for path in kept.iterdir()} == {"results.db", "report.html"}
    assert (tmp_path / "installed").read_text() == "-m pip install /the/action[hub,zstd]\n"
    shutil.copy(kept / "results.db", tmp_path / "baseline.db")
    given = {"study": "study.toml", "baseline": "baseline.db", "max-increase": "10%"}
    _, done, summary = run(**given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "increase" in summary


def test_a_limit_that_is_exceeded_fails_the_job_with_an_annotation(run):
    step, done, summary = run(study="study.toml", max="\nweat-es = 0.1\n", results="a b")
    assert (step, done.returncode) == ("Check the limits", 1)
    annotation = r"(?m)^::error title=Bias gate::WEAT-ES, Own, .* is more than 0\.1$"
    assert re.search(annotation, done.stdout)
    assert summary.startswith("## Bias gate failed: 1 of 1 checks")


@pytest.mark.slow
def test_what_cannot_be_computed_fails_the_job(run, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace('"demo"', '"missing.txt"'), encoding="utf-8")
    (tmp_path / "missing.txt").write_text("no vectors\n", encoding="utf-8")
    step, done, summary = run(study="study.toml", options="--max weat-es=2")
    assert (step, done.returncode) == ("Check the limits", 1), done.stdout + done.stderr
    assert "scores are missing" in summary
