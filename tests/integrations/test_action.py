"""The GitHub Action: its own shell steps, run as a runner would, but for what they install."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
STUDY = """
name = "Gate"
offline = true
[[models]]
source = "demo"
[[queries]]
set = "weat"
[[metrics]]
metric = "weat-es"
[limits]
max.weat-es = 1.5
"""


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


def test_steps_get_inputs_in_the_environment_only_and_every_input_is_used(action):
    used = set()
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an input could run as code"
        assert ("run" in step) == ("shell" in step)
        texts = [*step.get("env", {}).values(), *step.get("with", {}).values()]
        used |= {name for text in texts for name in re.findall(r"inputs\.([\w-]+)", text)}
    assert used == action["inputs"].keys()
    assert all("default" in each or each.get("required") for each in action["inputs"].values())


def test_a_study_within_its_limits_passes_and_leaves_results(run, tmp_path):
    step, done, summary = run(study="study.toml", extras="hub,zstd")
    assert (step, done.returncode) == ("Check the limits", 0), done.stdout + done.stderr
    assert summary.startswith("## Bias gate passed: 1 of 1 checks")
    assert {path.name for path in (tmp_path / "wefe-results").iterdir()} == {
        "results.db",
        "report.html",
    }
    assert (tmp_path / "installed").read_text() == "-m pip install /the/action[hub,zstd]\n"


def test_a_limit_that_is_exceeded_fails_the_job_with_an_annotation(run):
    step, done, summary = run(study="study.toml", max="\nweat-es = 0.1\n", results="a b")
    assert (step, done.returncode) == ("Check the limits", 1)
    assert re.search(
        r"^::error title=Bias gate::WEAT-ES, weat, .* is more than 0\.1$", done.stdout, re.M
    )
    assert summary.startswith("## Bias gate failed: 1 of 1 checks")
    assert "| `WEAT-ES` | `weat` |" in summary


def test_a_baseline_is_compared_with(run, tmp_path):
    run(study="study.toml")
    shutil.copy(tmp_path / "wefe-results/results.db", tmp_path / "baseline.db")
    given = {"study": "study.toml", "baseline": "baseline.db", "max-increase": "10%"}
    _, done, summary = run(**given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "increase" in summary


def test_what_cannot_be_computed_reaches_the_summary(run, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace('"demo"', '"missing.txt"'), encoding="utf-8")
    (tmp_path / "missing.txt").write_text("no vectors\n", encoding="utf-8")
    step, done, summary = run(study="study.toml")
    assert (step, done.returncode) == ("Check the limits", 1), done.stdout + done.stderr
    assert "scores are missing" in summary
    study.write_text("name = 1", encoding="utf-8")
    step, done, summary = run(study="study.toml")
    assert (step, summary) == ("Run the study", "")
    assert done.returncode
    assert "study.toml: key 'name'" in done.stderr


def test_the_workflow_and_the_table_of_the_page_have_inputs_that_exist(action):
    page = (ROOT / "docs/integrations/github-action.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    (ours,) = (step for step in steps if "wefe" in step["uses"])
    assert ours["with"].keys() <= action["inputs"].keys()
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == action["inputs"].keys()
