"""Download the necessary files of models on Hugging Face and gensim-data."""

from __future__ import annotations

import logging
import re
from pathlib import Path, PurePosixPath

from wefe._checks import found, import_library, logger
from wefe.models.formats._registry import SUFFIXES
from wefe.models.formats._tokens import find_files, missing

#: The embeddings of gensim-data (its corpora are left out).
GENSIM_DATA_NAMES = (
    "fasttext-wiki-news-subwords-300",
    "conceptnet-numberbatch-17-06-300",
    "word2vec-ruscorpora-300",
    "word2vec-google-news-300",
    *(f"glove-wiki-gigaword-{dim}" for dim in (50, 100, 200, 300)),
    *(f"glove-twitter-{dim}" for dim in (25, 50, 100, 200)),
    "__testing_word2vec-matrix-synopsis",
)

# What Hugging Face allows as the name of an organisation or a model.
_NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
_REPO_ID = re.compile(rf"(?P<repo>{_NAME}/{_NAME})(?:@(?P<revision>[A-Za-z0-9_./-]+))?")

# The suffixes of files: 'vectors/glove.txt' is a path that was mistyped, not a model of the
# organisation 'vectors'.
_OTHERS = (".gguf", ".pt", ".pth", ".pkl", ".h5", ".hdf5", ".json", ".magnitude", ".ftz", ".md")
_FILE_SUFFIXES = (*SUFFIXES, *_OTHERS, ".py")

# A file of classic vectors, and not one of those that only have such a suffix.
_VECTORS = re.compile(
    r"(.*/)?(?!pytorch_model|training_args|optimizer|scheduler|rng_state|random_states|openvino_)"
    r"(?!(vocab|merges|requirements|read.?me|licen[cs]e|notice|changelog|labels?|classes)\.)"
    r"[^/]*\.(vec|txt|bin|safetensors)(\.(gz|bz2|xz|zip|zst))?",
    re.IGNORECASE,
)


def looks_like_repo_id(text: str) -> bool:
    """Tell whether a text is 'org/name' or 'org/name@revision', and has no suffix of a file.

    Check first that no such path exists.
    """
    match = _REPO_ID.fullmatch(text)
    return match is not None and not match["repo"].lower().endswith(_FILE_SUFFIXES)


def split_repo_id(text: str, revision: str | None = None) -> tuple[str, str | None]:
    """Return the name and the revision of 'org/name@revision'; ValueError if there are two."""
    match = _REPO_ID.fullmatch(text)
    if match is None or (revision and match["revision"] not in (None, revision)):
        raise ValueError(
            "expected a model on Hugging Face, as 'org/name' or 'org/name@revision', and one "
            f"revision; found {found(text)}, revision={revision!r}."
        )
    return match["repo"], revision or match["revision"]


def fetch_from_hugging_face(repo_id: str, token: str | bool | None = None) -> Path:
    """Download a model's configuration, tokenizer and table, or its vectors; return folder or file.

    Raises ValueError or ConnectionError.
    """
    repository = Repository(*split_repo_id(repo_id), token)
    names = repository.names
    paths = [PurePosixPath(name) for name in names]
    is_token_model = "tokenizer.json" in {path.name for path in paths}
    if is_token_model and ".safetensors" in {path.suffix for path in paths}:
        find_files(repository.label, names, repository.fetch)
        return repository.folder
    files = [name for name in names if _VECTORS.fullmatch(name)]
    if len(files) != 1:
        wanted = "a safetensors file and its tokenizer.json, or one file of vectors (if there are "
        wanted += "several, fetch one with huggingface_hub.hf_hub_download and open its path)"
        raise missing(repository.label, wanted, files or names)
    return repository.fetch(files[0])


class Repository:
    """The files of a model on Hugging Face or, without access, in the cache."""

    def __init__(self, repo_id: str, revision: str | None, token: str | bool | None) -> None:
        self._library = import_library("huggingface_hub", "hub", repr(repo_id))
        self.repo_id, self.revision, self.token = repo_id, revision, token
        self.label = repo_id if revision is None else f"{repo_id}@{revision}"
        self.folder = Path()
        self._offline = False
        try:
            api = self._library.HfApi()
            self.names: list[str] = api.list_repo_files(repo_id, revision=revision, token=token)
        # Which errors mean a broken connection depends on the version of the library.
        except Exception as error:
            self._use_cache(error)

    def _use_cache(self, error: Exception) -> None:
        try:
            # No file has this pattern: only the folder is asked for, whatever is in it.
            folder = self._library.snapshot_download(
                self.repo_id, revision=self.revision, local_files_only=True, allow_patterns=["/"]
            )
        except self._library.utils.LocalEntryNotFoundError:
            raise self._explain("the list of files", error) from error
        self.folder, self._offline = Path(folder), True
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        self.names = [path.relative_to(self.folder).as_posix() for path in files]
        # Nobody needs to be warned of what was asked for with HF_HUB_OFFLINE.
        logger.log(
            logging.INFO if type(error).__name__ == "OfflineModeIsEnabled" else logging.WARNING,
            "%s: Hugging Face is not reachable (%s); using the cached files",
            *(self.label, type(error).__name__),
        )

    def fetch(self, name: str) -> Path:
        if self._offline:
            return self.folder / name
        errors = self._library.utils
        try:
            path = self._library.hf_hub_download(
                self.repo_id, name, revision=self.revision, token=self.token
            )
        # Everyone may list the files of a gated model, but not fetch them.
        except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError) as error:
            raise self._explain(name, error) from error
        self.folder = Path(path).parents[len(PurePosixPath(name).parts) - 1]
        # All further files come from the same commit, should a new one appear meanwhile. The
        # library has noted by now which commit a branch is at, so offline the cache is found.
        self.revision = self.folder.name
        return Path(path)

    def _explain(self, what: str, error: Exception) -> ConnectionError:
        return ConnectionError(
            f"{self.label}: {what} is not in the cache, and Hugging Face does not provide it "
            f"({type(error).__name__}: {str(error)[:200]}). Check the name and the revision. A "
            "gated or private model must be asked for on its page; then log in (hf auth login, or "
            "set HF_TOKEN). Offline, unset HF_HUB_OFFLINE and connect, or copy the model's folder "
            "from another machine."
        )


def fetch_from_gensim_data(name: str) -> Path:
    """Download vectors with gensim's downloader; return their file."""
    downloader = import_library("gensim.downloader", "gensim", repr(name))
    try:
        # Only the path: to load the vectors, gensim would run Python code that it downloads too.
        return Path(downloader.load(name, return_path=True))
    # gensim raises a plain Exception for a wrong checksum.
    except Exception as error:
        raise ConnectionError(
            f"gensim cannot fetch {name} ({type(error).__name__}: {str(error)[:200]}). Connect to "
            "the internet, or fetch it on another machine and open its file."
        ) from error
