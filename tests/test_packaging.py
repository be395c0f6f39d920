"""What is in a wheel and a source distribution: all that they need, and nothing else.

Both are built as `python -m build` does it, the wheel from the unpacked source distribution, but
from a copy of the checkout with litter in it, and without a network.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="the build backend is not installed")

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "docs", "benchmarks", "scripts")
AT_THE_TOP = (
    *("README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"),
    *("CITATION.cff", "Makefile", "pyproject.toml"),
)
LITTER = (
    "src/wefe/__pycache__/words.cpython-311.pyc",
    "src/wefe/metrics/__pycache__/_weat.cpython-311.pyc",
    "src/wefe.egg-info/PKG-INFO",
    "tests/.pytest_cache/README.md",
    "tests/__pycache__/conftest.cpython-311.pyc",
    "docs/_build/html/index.html",
    "docs/reference/generated/wefe.words.rst",
    "scripts/__pycache__/make_pictures.cpython-311.pyc",
    "shared/data/bingliu/positive-words.txt",
    "data/glove.txt",
    ".venv/bin/python",
    ".mypy_cache/3.11/wefe.data.json",
    ".hypothesis/unicode_data/charmap.json.gz",
    ".benchmarks/machine.json",
    ".ci/venv/pyvenv.cfg",
    "build/lib/wefe/words.py",
    "dist/wefe-1.0.tar.gz",
    "results.db",
    "report.html",
)
DATA = {
    *(f"datasets/data/{name}.json" for name in ("debias_multiclass", "debiaswe", "eds")),
    *(f"datasets/data/{name}.json" for name in ("rnsb", "sembias", "weat")),
    *(
        f"datasets/data/languages/{code}.json"
        for code in ("de", "es", "fr", "it", "nl", "pt", "sv")
    ),
    "models/data/minilm-words.safetensors",
    *(f"report/templates/{name}.html.jinja" for name in ("base", "macros", "page", "report")),
    *(f"report/templates/{name}" for name in ("report.md.jinja", "report.css")),
    *(f"report/templates/{name}" for name in ("report.js", "errors.js")),
    *(f"study/files/{name}.toml" for name in ("case_study", "demo")),
    "py.typed",
}


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
    left = shutil.ignore_patterns("__pycache__", ".*", "_build", "generated", "*.egg-info")
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


@pytest.fixture(scope="module")
def in_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def in_sdist(unpacked):
    return files_of(unpacked)


def test_wheel_has_every_module_and_all_data_of_the_package_and_nothing_else(
    in_wheel, wanted, version
):
    info = f"wefe-{version}.dist-info"
    modules = {name.removeprefix("src/") for name in wanted if name.startswith("src/wefe/")}
    assert in_wheel == {
        *(name for name in modules if name.endswith((".py", ".pyi"))),
        *(f"wefe/{name}" for name in DATA),
        *(f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")),
        *(f"{info}/licenses/{name}" for name in ("LICENSE", "NOTICE")),
    }


def test_data_in_the_wheel_are_those_of_the_checkout(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name in DATA:
            assert archive.read(f"wefe/{name}") == (ROOT / "src/wefe" / name).read_bytes(), name


def test_sdist_has_what_builds_tests_and_documents_the_package_and_nothing_else(in_sdist, wanted):
    assert in_sdist == wanted | {"PKG-INFO"}


def test_no_litter_is_packed(in_sdist, in_wheel):
    packed = in_sdist | in_wheel
    assert not packed & {*LITTER}
    assert not [name for name in packed if name.endswith((".pyc", ".txt.gz", ".db", ".html"))]
    assert not [name for name in packed if name.split("/")[0] in ("shared", "data", "build")]


def test_metadata(wheel, sdist, in_wheel, version):
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
    # What everybody installs; all else is an extra.
    core = [line for line in lines if line.startswith("Requires-Dist") and "extra ==" not in line]
    heavy = ("torch", "transformers", "gensim", "distributed", "umap", "pyarrow", "faiss")
    assert not [line for line in core if any(name in line for name in heavy)]


def test_every_place_that_names_the_version_names_the_same(version):
    assert f'__version__ = "{version}"' in (ROOT / "src/wefe/__init__.py").read_text()
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
from wefe.report._render import _environment
from wefe.study import list_study_files, study_file

print(wefe.__file__)
assert len(wefe.load_test_model()) == 10569
assert len(load_weat()) > 20
assert all(load_query_set(row["query_set"]) for row in list_languages())
assert load_criterion("gender", offline=True).definitional_sets
assert all(study_file(name) for name in list_study_files())
assert _environment().list_templates()
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
