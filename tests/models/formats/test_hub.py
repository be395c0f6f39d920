"""Fetching models: only what is needed, from the cache where that has it, and clear errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wefe.models.formats._hub import (
    GENSIM_DATA_NAMES,
    fetch_from_gensim_data,
    fetch_from_hugging_face,
    looks_like_repo_id,
)

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "text",
    [
        *("org/name", "minishlab/potion-base-8M", "Qwen/Qwen2.5-0.5B", "a/b_c.d-e", "0x/1"),
        *("org/name@main", "org/name@refs/pr/1", "org/name@v1.0.bin", "hf://org/name"),
        *("hf://gpt2", "hf://org/name@main", "hf://org/vectors.txt"),
    ],
)
def test_names_of_models_are_told(text):
    assert looks_like_repo_id(text)


@pytest.mark.parametrize(
    "text",
    [
        *("gpt2", "demo", "", "hf://", "org/", "/name", "./vectors", "../name", "~/name", "a/b/c"),
        *("org/name@", "org/na me", "org/-name", "org/name.", "org/name.git", "org/a--b", "a/b..c"),
        *("vectors/glove.6B.100d.txt", "data/model.BIN", "data/x.vec.gz", "C:\\a", "a\\b"),
        *("https://example.org/name", "org/" + "n" * 93, "org/name\n"),
    ],
)
def test_paths_and_other_texts_are_no_names_of_models(text):
    assert not looks_like_repo_id(text)


# Hugging Face


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A model on a Hugging Face of our own, and a record of what was asked of it."""
    hub_library = pytest.importorskip("huggingface_hub")

    class Hub:
        def __init__(self):
            self.files, self.asked, self.error = {}, [], None
            self.folder = tmp_path / "models--org--name" / "snapshots" / SHA

        def offer(self, *names, **contents):
            for name in names:
                self.files[name] = b"content"
            self.files.update({name: json.dumps(c).encode() for name, c in contents.items()})

        def fetched(self):
            return [name for name, _, _ in self.asked]

        def list_repo_files(self, repo_id, *, revision=None, token=None):
            assert repo_id == "org/name"
            self.listed = (revision, token)
            if self.error is not None:
                raise self.error
            return list(self.files)

        def hf_hub_download(self, repo_id, filename, *, revision=None, token=None):
            assert repo_id == "org/name"
            self.asked.append((filename, revision, token))
            path = self.folder / filename
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.files[filename])
            return str(path)

        def snapshot_download(self, repo_id, *, revision, local_files_only, allow_patterns):
            assert local_files_only
            if not self.folder.exists():
                raise hub_library.utils.LocalEntryNotFoundError("not there")
            return str(self.folder)

    made = Hub()
    monkeypatch.setattr(hub_library, "HfApi", lambda: made)
    monkeypatch.setattr(hub_library, "hf_hub_download", made.hf_hub_download)
    monkeypatch.setattr(hub_library, "snapshot_download", made.snapshot_download)
    return made


def test_of_a_model_with_a_tokenizer_only_what_is_needed_is_fetched(hub):
    hub.offer("README.md", "model.safetensors", "tokenizer.json", "pytorch_model.bin", "vocab.txt")
    hub.offer("onnx/model.onnx", "tf_model.h5", "other.safetensors", **{"config.json": {}})
    assert fetch_from_hugging_face("org/name") == hub.folder
    assert hub.fetched() == ["config.json", "model.safetensors", "tokenizer.json"]


def test_of_a_model_in_several_files_only_that_with_the_table_is_fetched(hub):
    weight_map = {f"model.layers.{n}.weight": f"model-{n}.safetensors" for n in range(3)}
    weight_map["model.embed_tokens.weight"] = "model-1.safetensors"
    index = "model.safetensors.index.json"
    hub.offer(*(f"model-{n}.safetensors" for n in range(3)), "tokenizer.json")
    hub.offer(**{index: {"weight_map": weight_map}, "config.json": {}})
    assert fetch_from_hugging_face("org/name") == hub.folder
    assert hub.fetched() == ["config.json", index, "model-1.safetensors", "tokenizer.json"]


def test_an_index_that_promises_a_file_that_is_not_there_is_an_error(hub):
    index = {"weight_map": {"wte.weight": "model-9.safetensors"}}
    hub.offer("model-1.safetensors", "tokenizer.json", **{"model.safetensors.index.json": index})
    with pytest.raises(ValueError, match="'wte.weight' is in 'model-9.safetensors', which"):
        fetch_from_hugging_face("org/name")


def test_the_first_part_of_a_sentence_transformers_model_is_fetched(hub):
    modules = [{"path": "0_StaticEmbedding", "type": "a.StaticEmbedding"}]
    inner = ["0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"]
    hub.offer(*inner, "1_Dense/model.safetensors", **{"modules.json": modules})
    assert fetch_from_hugging_face("org/name") == hub.folder
    assert hub.fetched() == ["modules.json", *inner]


def test_modules_that_lead_elsewhere_are_refused(hub):
    modules = [{"path": "../../other", "type": "a.StaticEmbedding"}]
    hub.offer("model.safetensors", "tokenizer.json", **{"modules.json": modules})
    with pytest.raises(ValueError, match="expected a module inside the folder"):
        fetch_from_hugging_face("org/name")


@pytest.mark.parametrize(
    "name", ["model.bin", "cc.en.300.vec", "glove.txt", "v/numberbatch.txt.gz", "words.safetensors"]
)
def test_the_one_file_of_classic_vectors_is_fetched(hub, name):
    hub.offer("README.md", ".gitattributes", "LICENSE.txt", "requirements.txt", "vocab.txt", name)
    hub.offer("README.txt", "pytorch_model.bin", "training_args.bin", **{"config.json": {}})
    assert fetch_from_hugging_face("org/name") == hub.folder / name
    assert hub.fetched() == [name]


def test_several_files_of_vectors_are_an_error_that_names_them(hub):
    hub.offer("a.vec", "b.bin", "README.md")
    with pytest.raises(ValueError, match=r"found 2: \['a.vec', 'b.bin'\].*hf_hub_download"):
        fetch_from_hugging_face("org/name")
    assert hub.fetched() == []


def test_a_model_that_is_only_a_pickle_is_refused_before_anything_is_fetched(hub):
    hub.offer("pytorch_model.bin", "tokenizer.json", "vocab.txt", **{"config.json": {}})
    with pytest.raises(ValueError, match="only as pytorch_model.bin, a pickle"):
        fetch_from_hugging_face("org/name")
    assert hub.fetched() == []


def test_a_model_without_vectors_is_an_error_that_names_what_is_there(hub):
    hub.offer("README.md", "image.png")
    with pytest.raises(ValueError, match=r"found \['README.md', 'image.png'\]"):
        fetch_from_hugging_face("org/name")


def test_several_unusual_files_beside_a_tokenizer_are_an_error_that_names_them(hub):
    hub.offer("a.safetensors", "b.safetensors", "tokenizer.json")
    with pytest.raises(ValueError, match=r"found \['a.safetensors', 'b.safetensors'\]"):
        fetch_from_hugging_face("org/name")


@pytest.mark.parametrize("repo_id", ["org/name@v1", "hf://org/name@v1"])
def test_revision_and_token_are_passed_on_and_all_files_are_of_one_commit(hub, repo_id):
    hub.offer("model.safetensors", "tokenizer.json", **{"config.json": {}})
    fetch_from_hugging_face(repo_id, token="secret")
    assert hub.listed == ("v1", "secret")
    assert [revision for _, revision, _ in hub.asked] == ["v1", SHA, SHA]
    assert {token for _, _, token in hub.asked} == {"secret"}


def test_the_revision_may_be_given_apart_but_not_twice(hub):
    hub.offer("model.bin")
    fetch_from_hugging_face("org/name", revision="v2")
    assert hub.listed == ("v2", None)
    fetch_from_hugging_face("org/name@v2", revision="v2")
    with pytest.raises(ValueError, match="names one revision, and revision='v1' another"):
        fetch_from_hugging_face("org/name@v2", revision="v1")


@pytest.mark.parametrize("repo_id", ["org/name/file", "org name", "hf://", "../name", "org/a--b"])
def test_malformed_names_are_refused(hub, repo_id):
    with pytest.raises(ValueError, match="is named 'org/name' or 'org/name@revision'"):
        fetch_from_hugging_face(repo_id)


def refusal(name):
    # Its constructor needs a reply of the library for the network that this version uses.
    errors = pytest.importorskip("huggingface_hub.utils")
    kind = getattr(errors, name)
    error = kind.__new__(kind)
    error.args = ("refused",)
    return error


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("RepositoryNotFoundError", FileNotFoundError, "no model 'org/name'.*HF_TOKEN"),
        ("GatedRepoError", PermissionError, "must be asked for.*HF_TOKEN"),
        ("RevisionNotFoundError", FileNotFoundError, "no revision 'v1'"),
        ("HfHubHTTPError", ConnectionError, "not in the cache.*HF_HUB_OFFLINE"),
        ("OfflineModeIsEnabled", ConnectionError, "not in the cache.*HF_HUB_OFFLINE"),
    ],
)
def test_what_hugging_face_refuses_is_explained(hub, name, kind, message):
    hub.error = refusal(name)
    with pytest.raises(kind, match=message):
        fetch_from_hugging_face("org/name", revision="v1")


def test_a_gated_model_lists_its_files_but_says_no_when_they_are_fetched(hub, monkeypatch):
    def refuse(*args, **options):
        raise refusal("GatedRepoError")

    hub.offer("model.bin")
    monkeypatch.setattr("huggingface_hub.hf_hub_download", refuse)
    with pytest.raises(PermissionError, match="must be asked for"):
        fetch_from_hugging_face("org/name")


def test_a_file_that_cannot_be_fetched_is_named(hub, monkeypatch):
    def refuse(*args, **options):
        raise refusal("LocalEntryNotFoundError")

    hub.offer("model.bin")
    monkeypatch.setattr("huggingface_hub.hf_hub_download", refuse)
    with pytest.raises(ConnectionError, match=r"org/name: model.bin is not in the cache"):
        fetch_from_hugging_face("org/name")


def test_without_a_connection_what_is_in_the_cache_is_used_and_the_log_says_so(hub, caplog):
    hub.folder.mkdir(parents=True)
    (hub.folder / "model.bin").write_bytes(b"")
    hub.error = RuntimeError("no route")
    assert fetch_from_hugging_face("org/name") == hub.folder / "model.bin"
    assert "could not be asked for org/name (RuntimeError)" in caplog.text
    assert hub.fetched() == []


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[hub\]"'):
        fetch_from_hugging_face("org/name")


# The library reads its environment when it is imported, so it is asked in a process of its own.
OFFLINE = """
import sys
from wefe.models.formats._hub import fetch_from_hugging_face
from wefe.models.formats._source import Reading
from wefe.models.formats._tokens import open_token_table
path = fetch_from_hugging_face(sys.argv[1])
source = open_token_table(path, Reading())
print(source.name, path.name, source.n_words, source.held)
"""


def offline(tmp_path, repo_id):
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[3] / "src")
    environment.pop("HF_HUB_CACHE", None)
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, repo_id],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize("repo_id", ["org/tiny", "hf://org/tiny@main", f"org/tiny@{SHA}"])
def test_a_model_in_the_real_cache_is_opened_offline(tmp_path, repo_id):
    pytest.importorskip("huggingface_hub")
    tokenizers = pytest.importorskip("tokenizers")
    from safetensors.numpy import save_file

    model = tmp_path / "hub" / "models--org--tiny"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(SHA)
    folder = model / "snapshots" / SHA
    folder.mkdir(parents=True)
    save_file({"embeddings": np.eye(3, dtype="f4")}, folder / "model.safetensors")
    words = tokenizers.models.WordPiece({"[UNK]": 0, "she": 1, "he": 2}, unk_token="[UNK]")
    tokenizers.Tokenizer(words).save(str(folder / "tokenizer.json"))
    result = offline(tmp_path, repo_id)
    assert result.stdout.split() == ["tiny", SHA, "2", "mapped"], result.stderr


def test_a_model_that_the_real_cache_lacks_is_an_error_offline(tmp_path):
    pytest.importorskip("huggingface_hub")
    result = offline(tmp_path, "org/absent")
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("ConnectionError: org/absent: it is not in the cache")
    assert "HF_HUB_OFFLINE" in last


# gensim-data


@pytest.fixture
def gensim_data(monkeypatch, tmp_path):
    """gensim's folder of downloads, of a machine without a connection."""
    downloader = pytest.importorskip("gensim.downloader")

    def no_connection(*args, **options):
        raise OSError("no route")

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    monkeypatch.setattr(downloader, "urlopen", no_connection)
    return tmp_path


def test_vectors_that_gensim_has_fetched_are_found_and_its_code_is_not_run(gensim_data):
    name = "glove-twitter-25"
    listed = {"corpora": {}, "models": {name: {"file_name": f"{name}.gz", "parts": 1}}}
    (gensim_data / "information.json").write_text(json.dumps(listed))
    folder = gensim_data / name
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('the downloaded code was run')")
    with pytest.raises(FileNotFoundError, match="cut short. Remove the folder"):
        fetch_from_gensim_data(name)
    (folder / f"{name}.gz").write_bytes(b"")
    assert fetch_from_gensim_data(name) == folder / f"{name}.gz"


def test_vectors_that_cannot_be_fetched_are_an_error_that_says_so(gensim_data):
    with pytest.raises(ConnectionError, match="glove-twitter-25 could not be fetched by gensim"):
        fetch_from_gensim_data("glove-twitter-25")


def test_only_the_path_is_asked_of_gensim(monkeypatch, tmp_path):
    downloader = pytest.importorskip("gensim.downloader")
    asked = []

    def load(name, return_path=False):
        asked.append((name, return_path))
        (tmp_path / name).write_bytes(b"")
        return str(tmp_path / name)

    monkeypatch.setattr(downloader, "load", load)
    for name in GENSIM_DATA_NAMES:
        assert fetch_from_gensim_data(name) == tmp_path / name
    assert asked == [(name, True) for name in GENSIM_DATA_NAMES]


def test_a_misspelt_name_of_gensim_data_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'glove-twitter-25'?"):
        fetch_from_gensim_data("glove-twiter-25")


def test_without_gensim_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.downloader", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[gensim\]"'):
        fetch_from_gensim_data("glove-twitter-25")
