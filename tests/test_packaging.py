"""What is in a wheel and a source distribution: all that they need, and nothing else.

Both are built as `python -m build` does it, the wheel from the unpacked source distribution, but
from a copy of the checkout with litter in it, and without a network. What the release workflow
refuses is tried with its own steps.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from wefe.metrics._registry import as_metric, metric_names

pytest.importorskip("hatchling", reason="the build backend is not installed")
yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "docs", "benchmarks", "scripts")
AT_THE_TOP = (
    *("README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("CODE_OF_CONDUCT.md", "SECURITY.md"),
    *("CITATION.cff", "Makefile", "pyproject.toml", "conftest.py", "action.yml"),
)
LITTER = (
    "src/wefe/__pycache__/words.cpython-311.pyc",
    "src/wefe.egg-info/PKG-INFO",
    "tests/.pytest_cache/README.md",
    "docs/_build/html/index.html",
    "docs/gallery/index.rst",
    "docs/reference/generated/wefe.words.rst",
    "shared/data/bingliu/positive-words.txt",
    "data/glove.txt",
    ".venv/bin/python",
    "build/lib/wefe/words.py",
    "results.db",
)


def files_of(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def run(command, folder, **env):
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, **env}
    )


def build(folder, target, into):
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    done = run(command, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = into.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """A copy of the checkout without what tools and tests leave in it, and the names of its files.

    Then it gets what lies around in a checkout that is worked in.
    """
    copy = tmp_path_factory.mktemp("checkout")
    built = ("_build", "gallery", "generated", "*.egg-info")
    left = shutil.ignore_patterns("__pycache__", ".*", *built)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=left)
    for name in (*AT_THE_TOP, ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    wanted = files_of(copy)
    for name in LITTER:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("litter")
    return copy, wanted


@pytest.fixture(scope="module")
def sdist(clean, tmp_path_factory):
    return build(clean[0], "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        # Python 3.11.2, as Debian has it, knows no filter.
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safe)
    (inner,) = folder.iterdir()
    return inner


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    return build(unpacked, "wheel", tmp_path_factory.mktemp("wheel"))


def test_wheel_has_every_file_of_the_package_and_nothing_else(wheel, clean, project):
    info = f"wefe-{project['version']}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert set(files) == {
        *(name.removeprefix("src/") for name in clean[1] if name.startswith("src/wefe/")),
        *(f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")),
        *(f"{info}/licenses/{name}" for name in ("LICENSE", "NOTICE")),
    }
    for name, content in files.items():
        if name.startswith("wefe/"):
            assert content == (ROOT / "src" / name).read_bytes(), name
    assert (
        b"[pytest11]\nwefe = wefe.integrations._pytest_plugin" in files[f"{info}/entry_points.txt"]
    )


def test_sdist_has_what_builds_tests_and_documents_the_package_and_nothing_else(unpacked, clean):
    assert files_of(unpacked) == clean[1] | {"PKG-INFO"}


def test_the_same_files_build_the_same_archives(clean, sdist, unpacked, wheel, tmp_path):
    for path in (*clean[0].rglob("*"), *unpacked.rglob("*")):
        os.utime(path, (1e9, 1e9))  # files checked out at another time
    assert build(clean[0], "sdist", tmp_path).read_bytes() == sdist.read_bytes()
    assert build(unpacked, "wheel", tmp_path).read_bytes() == wheel.read_bytes()


def test_papers_behind_metrics_stand_in_the_citation_file():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]
    titles = {each["title"].casefold() for each in cited}
    for name in metric_names():
        for title in re.findall(r'"([^"]+)"', as_metric(name).reference):
            assert title.rstrip(",").casefold() in titles, name


def test_every_place_that_names_the_version_names_the_same(project):
    version = project["version"]
    for name, text in {
        "src/wefe/__init__.py": f'__version__ = "{version}"',
        "docs/versions.json": f'"version": "{version}"',
        "CITATION.cff": f"version: {version}\n",
        "CHANGELOG.md": f"\n## {version} ",
    }.items():
        assert text in (ROOT / name).read_text("utf-8"), name


def test_what_everybody_installs_is_light(project):
    heavy = ("torch", "transformers", "gensim", "distributed", "umap", "pyarrow", "faiss")
    assert not [line for line in project["dependencies"] if line.startswith(heavy)]


DATA_ARE_FOUND = """
import wefe
from wefe.datasets import list_criteria, load_criterion, load_query_set, load_weat
from wefe.report._text import environment
from wefe.study import list_study_files, study_file

print(wefe.__file__)
assert len(wefe.load_test_model()) == 10569
assert len(load_weat()) > 20
assert all(load_query_set(name) for name in list_criteria() if name.startswith("gender_"))
assert load_criterion("gender", offline=True).definitional_sets
assert all(study_file(name) for name in list_study_files())
assert environment().list_templates()
"""


def test_what_the_wheel_holds_finds_its_data(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    command = [sys.executable, "-c", DATA_ARE_FOUND]
    done = run(command, tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)


# The workflows, which are no part of a source distribution.

WORKFLOWS = ROOT / ".github/workflows"
ON_MAIN = "The commit is on the main branch"
THE_VERSION = "The tag is a version to be released, and everything names it"
NO_DEAD_LINKS = "The page on the package index will have no dead links"


@pytest.fixture(scope="module")
def workflows():
    """Each by its name, parsed; the events, which YAML reads as a truth value, under "on"."""
    if not WORKFLOWS.is_dir():
        pytest.skip("the workflows are not here")
    loaded = {p.stem: yaml.safe_load(p.read_text("utf-8")) for p in WORKFLOWS.glob("*.yml")}
    return {name: {**flow, "on": flow[True]} for name, flow in loaded.items()}


@pytest.fixture
def step(workflows, tmp_path):
    """Run a step of the job that builds a release, in an empty folder, as the host does."""
    if sys.platform == "win32" or not shutil.which("bash"):
        pytest.skip("steps run in bash")
    scripts = {s.get("name"): s.get("run") for s in workflows["publish"]["jobs"]["build"]["steps"]}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = ["bash", "-e", "-o", "pipefail", "-c"]
    return lambda name, **env: run([*bash, scripts[name]], tmp_path, PATH=path, **env)


RELEASED = {
    "pyproject.toml": '[project]\nversion = "{}"\n',
    "src/wefe/__init__.py": '"""Bias."""\n\n__version__ = "{}"\n',
    "CITATION.cff": "version: {}\ndate-released: 2026-12-01\n",
    "CHANGELOG.md": "# Changelog\n\n## {} (2026-12-01)\n",
}


@pytest.mark.parametrize(
    ("version", "tag", "change", "said"),
    [
        ("2.1.3.post1", "v2.1.3.post1", (), ""),
        ("2.0.0", "v2.0.1", (), "the tag is v2.0.1, the version 2.0.0"),
        ("2.0.0.dev0", "v2.0.0.dev0", (), "no version to be released"),
        ("2.0.0", "v2.0.0", ("CHANGELOG.md", "2026-12-01", "unreleased"), "CHANGELOG.md"),
        ("2.0.0", "v2.0.0", ("CITATION.cff", "2.0.0", "1.0.0"), "CITATION.cff"),
        ("2.0.0", "v2.0.0", ("CITATION.cff", "date-released", "# date"), "CITATION.cff (its date)"),
        ("2.0.0", "v2.0.0", ("src/wefe/__init__.py", "2.0.0", "2.0.0.dev0"), "__init__.py"),
    ],
)
def test_only_a_release_that_is_ready_is_published(step, tmp_path, version, tag, change, said):
    changed, old, new = change or ("", "", "")
    (tmp_path / "src/wefe").mkdir(parents=True)
    for name, text in RELEASED.items():
        content = text.format(version)
        (tmp_path / name).write_text(content.replace(old, new) if name == changed else content)
    done = step(THE_VERSION, TAG=tag)
    assert done.returncode == bool(said), done.stdout + done.stderr
    assert said in done.stdout


def test_what_is_uploaded_was_tested_and_checked(workflows):
    jobs = workflows["publish"]["jobs"]
    assert jobs["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert "workflow_call" in workflows["tests"]["on"]
    assert {*jobs["publish"]["needs"]} == {"tests", "build"}
    order = [step.get("name") or step.get("run") or step["uses"] for step in jobs["build"]["steps"]]
    kept = order.index("actions/upload-artifact@v4.6.2")
    assert max(map(order.index, (ON_MAIN, THE_VERSION, NO_DEAD_LINKS))) < kept


def test_workflows_may_do_no_more_than_they_must(workflows):
    pinned = re.compile(r"[\w-]+/[\w-]+@(v\d+\.\d+\.\d+|[0-9a-f]{40})")
    for name, flow in workflows.items():
        assert flow["permissions"] in ({}, {"contents": "read"}), name
        for job in flow["jobs"].values():
            used = [step["uses"] for step in job.get("steps", []) if "uses" in step]
            assert all(map(pinned.fullmatch, used)), name
            if "write" in job.get("permissions", {}).values():
                # A token that can publish, and code of the repository, never meet.
                assert len(used) == len(job["steps"]), name
                assert not any("checkout" in action for action in used), name
                assert job["environment"], name


def test_the_matrix_has_every_python_that_the_package_names(workflows, project):
    tested = {*workflows["tests"]["jobs"]["test"]["strategy"]["matrix"]["python"]}
    heads = "Programming Language :: Python :: "
    named = {c.removeprefix(heads) for c in project["classifiers"] if c.startswith(f"{heads}3.")}
    assert project["requires-python"].removeprefix(">=") in tested
    assert named <= tested
