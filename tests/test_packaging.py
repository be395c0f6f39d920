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
    ".ci/venv/pyvenv.cfg",
    "build/lib/wefe/words.py",
    "dist/wefe-1.0.tar.gz",
    "results.db",
    "report.html",
)


def build(folder, target, into):
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = into.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def version():
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["version"]


def files_of(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """A copy of the checkout, without what tools and tests leave in it."""
    copy = tmp_path_factory.mktemp("checkout")
    built = ("_build", "gallery", "generated", "*.egg-info")
    left = shutil.ignore_patterns("__pycache__", ".*", *built)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=left)
    for name in (*AT_THE_TOP, ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wanted(clean):
    """Names of the files of the project."""
    return files_of(clean)


@pytest.fixture(scope="module")
def littered(clean, wanted):
    """The same with what lies around in a checkout that is worked in."""
    for name in LITTER:
        (clean / name).parent.mkdir(parents=True, exist_ok=True)
        (clean / name).write_text("litter")
    return clean


@pytest.fixture(scope="module")
def sdist(littered, tmp_path_factory):
    return build(littered, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (inner,) = folder.iterdir()
    return inner


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    return build(unpacked, "wheel", tmp_path_factory.mktemp("wheel"))


def test_wheel_has_every_file_of_the_package_and_nothing_else(wheel, wanted, version):
    info = f"wefe-{version}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    # Notes for maintainers are no data.
    assert {*files, "wefe/report/README.md"} == {
        *(name.removeprefix("src/") for name in wanted if name.startswith("src/wefe/")),
        *(f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")),
        *(f"{info}/licenses/{name}" for name in ("LICENSE", "NOTICE")),
    }
    for name, content in files.items():
        if name.startswith("wefe/"):
            assert content == (ROOT / "src" / name).read_bytes(), name


def test_sdist_has_what_builds_tests_and_documents_the_package_and_nothing_else(unpacked, wanted):
    assert files_of(unpacked) == wanted | {"PKG-INFO"}


def test_the_same_files_build_the_same_archives(littered, sdist, unpacked, wheel, tmp_path):
    for path in (*littered.rglob("*"), *unpacked.rglob("*")):
        os.utime(path, (1e9, 1e9))  # files checked out at another time
    assert build(littered, "sdist", tmp_path).read_bytes() == sdist.read_bytes()
    assert build(unpacked, "wheel", tmp_path).read_bytes() == wheel.read_bytes()


def test_papers_behind_metrics_stand_in_the_citation_file():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]
    titles = {each["title"].casefold() for each in cited}
    for name in metric_names():
        for title in re.findall(r'"([^"]+)"', as_metric(name).reference):
            assert title.rstrip(",").casefold() in titles, name


def test_metadata(wheel, sdist, version):
    assert wheel.name == f"wefe-{version}-py3-none-any.whl"
    assert sdist.name == f"wefe-{version}.tar.gz"
    info = f"wefe-{version}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
    lines = metadata.partition("\n\n")[0].splitlines()
    assert f"Version: {version}" in lines
    assert "License-Expression: BSD-3-Clause" in lines
    assert "Requires-Python: >=3.11" in lines
    assert "wefe = wefe.cli:main" in entry_points
    assert "[pytest11]\nwefe = wefe.integrations._pytest_plugin" in entry_points
    # What everybody installs; all else is an extra.
    core = [line for line in lines if line.startswith("Requires-Dist") and "extra ==" not in line]
    heavy = ("torch", "transformers", "gensim", "distributed", "umap", "pyarrow", "faiss")
    assert not [line for line in core if any(name in line for name in heavy)]


def test_every_place_that_names_the_version_names_the_same(version):
    assert f'__version__ = "{version}"' in (ROOT / "src/wefe/__init__.py").read_text()
    assert f'"version": "{version}"' in (ROOT / "docs/versions.json").read_text()
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text()


def test_twine_finds_nothing_wrong(wheel, sdist):
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


DATA_ARE_FOUND = """
import wefe
from wefe.datasets import list_languages, load_criterion, load_query_set, load_weat
from wefe.report._text import environment
from wefe.study import list_study_files, study_file

print(wefe.__file__)
assert len(wefe.load_test_model()) == 10569
assert len(load_weat()) > 20
assert all(load_query_set(row["query_set"]) for row in list_languages())
assert load_criterion("gender", offline=True).definitional_sets
assert all(study_file(name) for name in list_study_files())
assert environment().list_templates()
"""


def test_what_the_wheel_holds_finds_its_data(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-c", DATA_ARE_FOUND],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
    )
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
    names = {s.get("name"): s for s in workflows["publish"]["jobs"]["build"]["steps"]}

    def run(name, **env):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", names[name]["run"]],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, **env},
            capture_output=True,
            text=True,
        )

    return run


def released(folder, version):
    """Write the files that name a version, as they are in a release."""
    (folder / "src/wefe").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (folder / "src/wefe/__init__.py").write_text(f'"""Bias."""\n\n__version__ = "{version}"\n')
    (folder / "CITATION.cff").write_text(f"version: {version}\ndate-released: 2026-12-01\n")
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version} (2026-12-01)\n")


@pytest.mark.parametrize(
    ("version", "tag", "change", "said"),
    [
        ("2.0.0", "v2.0.0", (), ""),
        ("2.1.3.post1", "v2.1.3.post1", (), ""),
        ("2.0.0", "v2.0.1", (), "the tag is v2.0.1, the version 2.0.0"),
        ("2.0.0.dev0", "v2.0.0.dev0", (), "no version to be released"),
        ("2.0.0+here", "v2.0.0+here", (), "no version to be released"),
        ("2.0.0", "v2.0.0", ("CHANGELOG.md", "2026-12-01", "unreleased"), "CHANGELOG.md"),
        ("2.0.0", "v2.0.0", ("CITATION.cff", "2.0.0", "1.0.0"), "CITATION.cff"),
        ("2.0.0", "v2.0.0", ("CITATION.cff", "date-released", "# date"), "CITATION.cff (its date)"),
        ("2.0.0", "v2.0.0", ("src/wefe/__init__.py", "2.0.0", "2.0.0.dev0"), "__init__.py"),
    ],
)
def test_only_a_release_that_is_ready_is_published(step, tmp_path, version, tag, change, said):
    released(tmp_path, version)
    if change:
        name, old, new = change
        path = tmp_path / name
        path.write_text(path.read_text().replace(old, new))
    done = step(THE_VERSION, TAG=tag)
    assert done.returncode == bool(said), done.stdout + done.stderr
    assert said in done.stdout


def test_a_release_is_a_commit_of_the_main_branch(step, tmp_path):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")

    def git(*words):
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    git("commit", "-q", "--allow-empty", "-m", "two")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert step(ON_MAIN).returncode == 0
    git("checkout", "-q", "HEAD~1")
    assert step(ON_MAIN).returncode == 0
    git("commit", "-q", "--allow-empty", "-m", "elsewhere")
    done = step(ON_MAIN)
    assert done.returncode == 1
    assert "not on the main branch" in done.stdout


ADDRESS = "https://example.org/wefe"


@pytest.mark.parametrize(
    ("page", "dead"),
    [
        (f"[a]({ADDRESS}) [b](#here) <img src='{ADDRESS}/a.png'>\n", ""),
        ("[a](docs/a.md#b) ![c](docs/a.png)\n", "docs/a.md#b, docs/a.png"),
        ("[a][1]\n\n[1]: docs/a.md\n", "docs/a.md"),
        ("<img src='docs/a.png'>\n", "docs/a.png"),
        ("```python\nf[0](x)\n```\n", ""),
    ],
)
def test_links_that_lead_nowhere_on_the_package_index_stop_a_release(step, tmp_path, page, dead):
    head = f"Metadata-Version: 2.4\nName: wefe\nProject-URL: Home, {ADDRESS}\n"
    (tmp_path / "dist").mkdir()
    with zipfile.ZipFile(tmp_path / "dist/wefe-2.0.0-py3-none-any.whl", "w") as archive:
        archive.writestr("wefe-2.0.0.dist-info/METADATA", f"{head}\n{page}")
    done = step(NO_DEAD_LINKS)
    assert done.returncode == bool(dead), done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(dead)


def test_what_is_uploaded_was_tested_and_checked(workflows):
    jobs = workflows["publish"]["jobs"]
    assert jobs["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert "workflow_call" in workflows["tests"]["on"]
    assert {*jobs["publish"]["needs"]} == {"tests", "build"}
    order = [step.get("name") or step.get("run") or step["uses"] for step in jobs["build"]["steps"]]
    kept = order.index("actions/upload-artifact@v4.6.2")
    assert max(map(order.index, (ON_MAIN, THE_VERSION, NO_DEAD_LINKS))) < kept


def test_workflows_may_do_no_more_than_they_must(workflows):
    for name, flow in workflows.items():
        assert flow["permissions"] in ({}, {"contents": "read"}), name
        for job in flow["jobs"].values():
            if "write" in job.get("permissions", {}).values():
                # A token that can publish, and code of the repository, never meet.
                assert all("run" not in step for step in job["steps"]), name
                assert not any("checkout" in step["uses"] for step in job["steps"]), name
                assert job["environment"], name


def test_the_site_is_published_only_if_maintainers_want_it_and_from_the_main_branch(workflows):
    jobs = workflows["docs"]["jobs"]
    conditions = [jobs["publish"]["if"]]
    conditions += [s["if"] for s in jobs["site"]["steps"] if "pages" in s.get("uses", "")]
    assert len(conditions) == 2
    for condition in conditions:
        assert "vars.PUBLISH_DOCS == 'true'" in condition
        assert "github.ref == 'refs/heads/main'" in condition
        assert "github.event_name != 'pull_request'" in condition


def test_actions_are_pinned_to_a_release_or_a_commit(workflows):
    used = [
        step["uses"]
        for flow in workflows.values()
        for job in flow["jobs"].values()
        for step in job.get("steps", [])
        if "uses" in step
    ]
    assert len(used) > 10
    pinned = re.compile(r"[\w-]+/[\w-]+@(v\d+\.\d+\.\d+|[0-9a-f]{40})")
    assert not [action for action in used if not pinned.fullmatch(action)]


def test_the_matrix_has_every_python_that_the_package_names(workflows):
    tested = {*workflows["tests"]["jobs"]["test"]["strategy"]["matrix"]["python"]}
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    heads = "Programming Language :: Python :: "
    named = {c.removeprefix(heads) for c in project["classifiers"] if c.startswith(f"{heads}3.")}
    assert project["requires-python"].removeprefix(">=") in tested
    assert named <= tested
