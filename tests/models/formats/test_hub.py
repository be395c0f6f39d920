"""Fetching models: only what is needed, from the cache where that has it, and clear errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_files import good_files

from wefe.models.formats import _hub
from wefe.models.formats._hub import (
    GENSIM_DATA_NAMES,
    fetch_from_gensim_data,
    fetch_from_hugging_face,
    looks_like_repo_id,
)

SHA = "0123456789abcdef0123456789abcdef01234567"
INDEX = "model.safetensors.index.json"
MODELS = ["org/name", "Qwen/Qwen2.5-0.5B", "a/b_c.d-e", "org/name@refs/pr/1", "org/name@v1.0.bin"]
MODELS += ["org/a.github"]
OTHERS = ["gpt2", "demo", "", "org/", "/name", "./vectors", "~/name", "a/b/c", "org/name@"]
OTHERS += ["org/na me", "org/-name", "org/name.", "data/model.BIN", "data/x.vec.gz", "C:\\a"]
OTHERS += ["https://example.org/name", "org/name\n"]


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_names_of_models_are_told_from_paths(name):
    assert looks_like_repo_id(name) is (name in MODELS)


# Hugging Face


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A model on a Hugging Face of our own, and a record of what was asked of it."""
    library = pytest.importorskip("huggingface_hub")

    class Hub:
        files, asked, error, gate = {}, [], None, None
        folder = tmp_path / "models--org--name" / "snapshots" / SHA

        def offer(self, *names, **contents):
            contents = dict.fromkeys(names, "content") | contents
            self.files = {name: json.dumps(each).encode() for name, each in contents.items()}
            self.asked = []

        def list_repo_files(self, repo_id, *, revision=None, token=None):
            if self.error is not None:
                raise self.error
            return list(self.files)

        def hf_hub_download(self, repo_id, filename, *, revision=None, token=None):
            if self.gate is not None:
                raise self.gate
            self.asked.append((filename, revision, token))
            path = self.folder / filename
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.files[filename])
            return str(path)

        def snapshot_download(self, repo_id, *, revision, local_files_only, allow_patterns):
            if not local_files_only or not self.folder.exists():
                raise library.utils.LocalEntryNotFoundError("not there")
            return str(self.folder)

    made = Hub()
    monkeypatch.setattr(library, "HfApi", lambda: made)
    monkeypatch.setattr(library, "hf_hub_download", made.hf_hub_download)
    monkeypatch.setattr(library, "snapshot_download", made.snapshot_download)
    return made


SHARDS = {"h": "model-2.safetensors", "wte.weight": "model-1.safetensors"}
MODULES = [{"path": "0_Static", "type": "a.StaticEmbedding"}]
PARTS = ["0_Static/model.safetensors", "0_Static/tokenizer.json"]


@pytest.mark.parametrize(
    ("offered", "json_files", "fetched"),
    [
        (["model.safetensors", "onnx/model.onnx"], {"config.json": {}}, ["model.safetensors"]),
        ([*SHARDS.values()], {INDEX: {"weight_map": SHARDS}}, ["model-1.safetensors"]),
        ([*PARTS, "1_Dense/model.safetensors"], {"modules.json": MODULES}, PARTS),
    ],
    ids=range(3),
)
def test_of_a_model_with_a_tokenizer_only_what_is_needed_is_fetched(
    hub, offered, json_files, fetched
):
    hub.offer("README.md", "pytorch_model.bin", "tokenizer.json", *offered, **json_files)
    assert fetch_from_hugging_face("org/name@v1", token="secret") == hub.folder
    assert {name for name, _, _ in hub.asked} - {"tokenizer.json"} == {*fetched, *json_files}
    # A new commit may come meanwhile, so all that follows is of the commit of the first file.
    assert [each[1:] for each in hub.asked] == [("v1", "secret")] + [(SHA, "secret")] * 2


@pytest.mark.parametrize(
    "name", ["model.bin", "cc.en.300.vec", "glove.txt", "v/numberbatch.txt.gz", "words.safetensors"]
)
def test_the_one_file_of_classic_vectors_is_fetched_or_found_in_the_cache(hub, caplog, name):
    hub.offer("README.md", ".gitattributes", "LICENSE.txt", "requirements.txt", "a/vocab.txt", name)
    assert fetch_from_hugging_face("org/name@v2") == hub.folder / name
    assert [each[:2] for each in hub.asked] == [(name, "v2")]
    hub.error = RuntimeError("no route")
    assert fetch_from_hugging_face("org/name") == hub.folder / name
    assert "org/name" in caplog.text
    assert len(hub.asked) == 1


@pytest.mark.parametrize(
    ("offered", "json_files", "culprit"),
    [
        (["a.vec", "b.bin", "README.md"], {}, "'a.vec', 'b.bin'"),
        (["pytorch_model.bin", "tokenizer.json"], {}, "pickle"),
        (["a.safetensors", "b.safetensors", "tokenizer.json"], {}, "'a.safetensors'"),
        # Only files of the model are fetched, whatever it says.
        *(
            (["a.safetensors", "tokenizer.json"], {name: content}, path)
            for path in ("model-9.safetensors", "../../secret", "/etc/passwd")
            for name, content in (
                (INDEX, {"weight_map": {"wte.weight": path}}),
                ("modules.json", [{"path": path, "type": "a.StaticEmbedding"}]),
            )
        ),
    ],
)
def test_a_model_without_clear_vectors_is_refused(hub, offered, json_files, culprit):
    hub.offer(*offered, **json_files)
    with pytest.raises(ValueError, match=f"org/name.*{culprit}"):
        fetch_from_hugging_face("org/name")
    assert [name for name, _, _ in hub.asked] == list(json_files)
    with pytest.raises(ValueError, match="org/name/file"):
        fetch_from_hugging_face("org/name/file")


@pytest.mark.parametrize("when", ["error", "gate"])
@pytest.mark.parametrize("name", ["RepositoryNotFoundError", "GatedRepoError"])
def test_what_hugging_face_refuses_is_explained(hub, name, when):
    theirs = getattr(pytest.importorskip("huggingface_hub.utils"), name)
    # Its constructor needs a reply of the library for the network that this version uses.
    error = theirs.__new__(theirs)
    error.args = ("refused",)
    hub.offer("model.bin")
    setattr(hub, when, error)
    with pytest.raises(ConnectionError, match=f"org/name@v1: .*{name}.*HF_TOKEN"):
        fetch_from_hugging_face("org/name@v1")


# The library reads its environment when it is imported, so it is asked in a process of its own.
OFFLINE = f"""
from wefe.models import load
for name in ("org/tiny", "org/tiny@main", "org/tiny@{SHA}", "org/absent"):
    model = load(name)
    print(model.name, len(model), model.held)
"""


def test_a_model_in_the_real_cache_is_opened_offline(tmp_path):
    pytest.importorskip("huggingface_hub")
    pytest.importorskip("tokenizers")
    model = tmp_path / "hub" / "models--org--tiny"
    folder = model / "snapshots" / SHA
    folder.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(SHA)
    for name, content in good_files("tokens")[0].items():
        (folder / name).write_bytes(content)
    source = str(Path(_hub.__file__).parents[3])
    cache = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PYTHONPATH": source}
    environment = {name: os.environ[name] for name in os.environ if name != "HF_HUB_CACHE"} | cache
    command = [sys.executable, "-c", OFFLINE]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.stdout == 3 * "tiny 5 mapped\n", result.stderr
    assert "ConnectionError: org/absent" in result.stderr


# gensim-data


@pytest.mark.parametrize("name", GENSIM_DATA_NAMES)
def test_vectors_that_gensim_has_fetched_are_found_and_its_code_is_not_run(
    monkeypatch, tmp_path, name
):
    # gensim's folder of downloads, of a machine without a connection.
    downloader = pytest.importorskip("gensim.downloader")
    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    monkeypatch.setattr(downloader, "DATA_LIST_URL", "file:///nowhere")
    with pytest.raises(ConnectionError, match=name):
        fetch_from_gensim_data(name)
    listed = {"corpora": {}, "models": {name: {"file_name": f"{name}.gz", "parts": 1}}}
    (tmp_path / "information.json").write_text(json.dumps(listed))
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('downloaded code was run')")
    assert fetch_from_gensim_data(name) == tmp_path / name / f"{name}.gz"
