"""Models from Hugging Face and from gensim-data: what is needed of them is fetched once."""

from __future__ import annotations

import logging
import re
from pathlib import Path, PurePosixPath
from typing import Any

from wefe._checks import check_choice, found
from wefe.models.formats._tokens import module_folder, read_index

logger = logging.getLogger(__name__)

#: The embeddings of gensim-data (its corpora are left out).
GENSIM_DATA_NAMES = (
    "fasttext-wiki-news-subwords-300",
    "conceptnet-numberbatch-17-06-300",
    "word2vec-ruscorpora-300",
    "word2vec-google-news-300",
    "glove-wiki-gigaword-50",
    "glove-wiki-gigaword-100",
    "glove-wiki-gigaword-200",
    "glove-wiki-gigaword-300",
    "glove-twitter-25",
    "glove-twitter-50",
    "glove-twitter-100",
    "glove-twitter-200",
    "__testing_word2vec-matrix-synopsis",
)

_PREFIX = "hf://"

# What Hugging Face allows as the name of an organisation or a model.
_NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
_REPO_ID = re.compile(rf"(?P<repo>(?:{_NAME}/)?{_NAME})(?:@(?P<revision>[A-Za-z0-9_./-]+))?")

_PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zip", ".zst")
_VECTOR_SUFFIXES = (".vec", ".txt", ".bin", ".safetensors")

# 'vectors/glove.txt' is a path that was mistyped, not a model of the organisation 'vectors'.
_FILE_SUFFIXES = (
    *_PACKED_SUFFIXES,
    *_VECTOR_SUFFIXES,
    *(".npy", ".npz", ".model", ".kv", ".wv", ".gguf", ".pt", ".pth", ".pkl", ".h5", ".hdf5"),
    *(".csv", ".tsv", ".json", ".magnitude", ".ftz", ".parquet", ".md", ".py"),
)

# Files with the suffix of vectors that are none.
_OTHER_FILES = re.compile(
    r"(pytorch_model|training_args|optimizer|scheduler|rng_state|random_states|openvino_model).*"
    r"|(vocab|merges|requirements|read.?me|licen[cs]e|notice|changelog|labels?|classes)(\..*)?",
    re.IGNORECASE,
)

# They tell how a model is to be read, and are small.
_DESCRIPTIONS = ("modules.json", "config.json", "config_sentence_transformers.json")


def looks_like_repo_id(text: str) -> bool:
    """Tell whether a text may name a model on Hugging Face, as 'org/name' or 'hf://org/name'.

    '@revision' may follow. Without 'hf://' the name must have an organisation, and not the suffix
    of a file. Whether there is such a path is for the caller to check first.
    """
    explicit = text.startswith(_PREFIX)
    match = _REPO_ID.fullmatch(text.removeprefix(_PREFIX))
    if match is None:
        return False
    repo = match["repo"]
    if len(repo) > 96 or "--" in repo or ".." in repo or repo.endswith(".git"):
        return False
    return explicit or ("/" in repo and not repo.lower().endswith(_FILE_SUFFIXES))


def fetch_from_hugging_face(
    repo_id: str, revision: str | None = None, token: str | bool | None = None
) -> Path:
    """Fetch what is needed of a model on Hugging Face; return its folder, or its file of vectors.

    Of a model with a tokenizer that is its description, the tokenizer and the one file that holds
    the table of embeddings; of classic vectors the file. Files are kept in the cache of the
    library huggingface_hub and are not fetched again. The cache, the user's login and offline mode
    are the library's own (HF_HOME, HF_TOKEN, HF_HUB_OFFLINE).

    Parameters
    ----------
    repo_id : str
        'org/name', with or without 'hf://' before and '@revision' behind.
    revision : str, optional
        Branch, tag or commit; by default the main branch.
    token : str or bool, optional
        Passed on to the library.

    Raises
    ------
    ValueError
        If `repo_id` is malformed, or the model has no vectors that can be read, or several.
    FileNotFoundError
        If there is no such model or revision.
    PermissionError
        If access to the model must be asked for.
    ConnectionError
        If it is not in the cache, and Hugging Face cannot be asked.
    ImportError
        If the library huggingface_hub is not installed.
    """
    match = _REPO_ID.fullmatch(repo_id.removeprefix(_PREFIX))
    if match is None or not looks_like_repo_id(_PREFIX + repo_id.removeprefix(_PREFIX)):
        raise ValueError(
            "a model on Hugging Face is named 'org/name' or 'org/name@revision'; got "
            f"{found(repo_id)}."
        )
    if revision is not None and match["revision"] not in (None, revision):
        raise ValueError(
            f"{repo_id!r} names one revision, and revision={revision!r} another; give only one."
        )
    repository = Repository(match["repo"], revision or match["revision"], token)
    names = repository.names
    tokenizers = [name for name in names if PurePosixPath(name).name == "tokenizer.json"]
    if tokenizers and any(name.endswith(".safetensors") for name in names):
        return _fetch_token_model(repository)
    return repository.fetch(_choose_file(repository.label, names))


class Repository:
    """The files of a model, on Hugging Face or, where that cannot be asked, in the cache."""

    def __init__(self, repo_id: str, revision: str | None, token: str | bool | None) -> None:
        try:
            import huggingface_hub
        except ImportError as error:
            raise ImportError(
                f"fetching {repo_id!r} from Hugging Face needs the library huggingface_hub; "
                'install it: pip install "wefe[hub]"'
            ) from error
        self.repo_id, self.revision, self.token = repo_id, revision, token
        self.label = repo_id if revision is None else f"{repo_id}@{revision}"
        self.cached: Path | None = None
        try:
            self.names = list(
                huggingface_hub.HfApi().list_repo_files(repo_id, revision=revision, token=token)
            )
        # Which errors mean a broken connection depends on the library that a version uses.
        except Exception as error:
            self.cached = self._find_cached(error)
            self.names = [
                path.relative_to(self.cached).as_posix()
                for path in sorted(self.cached.rglob("*"))
                if path.is_file()
            ]
            # Nobody needs to be warned of what was asked for with HF_HUB_OFFLINE.
            offline = type(error).__name__ == "OfflineModeIsEnabled"
            logger.log(
                logging.INFO if offline else logging.WARNING,
                "Hugging Face could not be asked for %s (%s); what is in the cache is used",
                self.label,
                type(error).__name__,
            )

    def _find_cached(self, error: Exception) -> Path:
        """Return the folder of the model in the cache; without one, explain `error`."""
        import huggingface_hub

        errors = _errors()
        if isinstance(error, errors.RevisionNotFoundError):
            raise FileNotFoundError(
                f"the model {self.repo_id!r} has no revision {self.revision!r} on Hugging Face."
            ) from error
        try:
            # A pattern that no file has: only the folder is asked for, whatever is in it.
            folder = huggingface_hub.snapshot_download(
                self.repo_id, revision=self.revision, local_files_only=True, allow_patterns=["/"]
            )
        except errors.LocalEntryNotFoundError:
            pass
        else:
            return Path(folder)
        raise self._explain(error, "it") from error

    def _explain(self, error: Exception, what: str) -> OSError:
        errors = _errors()
        if isinstance(error, errors.GatedRepoError):
            return PermissionError(
                f"access to {self.repo_id!r} must be asked for on its page on Hugging Face; then "
                "log in (hf auth login, or set HF_TOKEN)."
            )
        if isinstance(error, errors.RepositoryNotFoundError):
            return FileNotFoundError(
                f"there is no model {self.repo_id!r} on Hugging Face, or it is private: then log "
                "in (hf auth login, or set HF_TOKEN)."
            )
        return ConnectionError(
            f"{self.label}: {what} is not in the cache, and Hugging Face cannot be asked "
            f"({type(error).__name__}: {str(error)[:200]}). Connect to the internet and, if "
            "HF_HUB_OFFLINE is set, unset it; or fetch the model on another machine and copy its "
            "folder."
        )

    def fetch(self, name: str) -> Path:
        """Return the path of a file, which is fetched unless it is in the cache."""
        if self.cached is not None:
            return self.cached / name
        import huggingface_hub

        errors = _errors()
        try:
            path = Path(
                huggingface_hub.hf_hub_download(
                    self.repo_id, name, revision=self.revision, token=self.token
                )
            )
        # Everyone may list the files of a gated model, but not fetch them.
        except (errors.RepositoryNotFoundError, errors.LocalEntryNotFoundError) as error:
            raise self._explain(error, name) from error
        # All further files from the same commit, should a new one come meanwhile. The library has
        # noted by now which commit a branch is at, so that the cache is found offline.
        self.revision = path.parents[len(PurePosixPath(name).parts) - 1].name
        return path


def _errors() -> Any:
    """Return where huggingface_hub has its errors in every version, old ones included."""
    import huggingface_hub.utils

    return huggingface_hub.utils


def _fetch_token_model(repository: Repository) -> Path:
    names = set(repository.names)
    fetched = {name: repository.fetch(name) for name in _DESCRIPTIONS if name in names}
    inner = ""
    if "modules.json" in fetched:
        root = fetched["modules.json"].parent
        inner = module_folder(root).relative_to(root).as_posix()
    inner = "" if inner in ("", ".") else f"{inner}/"
    index = f"{inner}model.safetensors.index.json"
    files = [
        name
        for name in sorted(names)
        if name.endswith(".safetensors") and name.rpartition("/")[0] == inner.rstrip("/")
    ]
    if f"{inner}model.safetensors" in names:
        weights = f"{inner}model.safetensors"
    elif index in names:
        shard, table = read_index(repository.fetch(index))
        weights = f"{inner}{shard}"
        if weights not in names:
            raise ValueError(
                f"{repository.label}: {index} says that the table {table!r} is in {shard!r}, which "
                "the model does not have."
            )
    elif len(files) == 1:
        weights = files[0]
    else:
        _refuse_pickle(repository.label, repository.names)
        raise ValueError(
            f"{repository.label}: expected {inner}model.safetensors or {index}; found "
            f"{files[:8] or 'no safetensors file there'}."
        )
    path = repository.fetch(weights)
    for name in (f"{inner}tokenizer.json", f"{inner}config.json", "tokenizer.json"):
        if name in names and name not in fetched:
            fetched[name] = repository.fetch(name)
    return path.parents[len(PurePosixPath(weights).parts) - 1]


def _choose_file(label: str, names: list[str]) -> str:
    """Return the one file of classic vectors among the files of a model."""
    candidates = []
    for name in names:
        bare = PurePosixPath(name).name.lower()
        for suffix in _PACKED_SUFFIXES:
            bare = bare.removesuffix(suffix)
        if bare.endswith(_VECTOR_SUFFIXES) and not _OTHER_FILES.fullmatch(bare):
            candidates.append(name)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        _refuse_pickle(label, names)
        raise ValueError(
            f"{label}: expected a safetensors file with a tokenizer.json, or one file of vectors "
            f"({', '.join(_VECTOR_SUFFIXES)}); found {sorted(names)[:8]}."
        )
    raise ValueError(
        f"{label}: expected one file of vectors; found {len(candidates)}: {candidates[:8]}. Fetch "
        "the one you want with huggingface_hub.hf_hub_download(repo_id, filename) and open the "
        "path that it returns."
    )


def _refuse_pickle(label: str, names: list[str]) -> None:
    if any(PurePosixPath(name).name.startswith("pytorch_model") for name in names):
        raise ValueError(
            f"{label} has its weights only as pytorch_model.bin, a pickle, which can run code when "
            "opened. Look for a version in safetensors: some models have one in another revision, "
            "such as 'refs/pr/1'."
        )


def fetch_from_gensim_data(name: str) -> Path:
    """Fetch vectors that gensim's downloader knows; return their file, as gensim keeps it.

    Raises
    ------
    ValueError
        If `name` is none of `GENSIM_DATA_NAMES`.
    ConnectionError
        If they are not there yet and cannot be fetched.
    ImportError
        If gensim is not installed.
    """
    check_choice("name", name, GENSIM_DATA_NAMES)
    try:
        import gensim.downloader
    except ImportError as error:
        raise ImportError(
            f'fetching {name!r} needs gensim; install it: pip install "wefe[gensim]"'
        ) from error
    try:
        # Only the path: to load the vectors, gensim would run Python code that it downloads too.
        path = Path(gensim.downloader.load(name, return_path=True))
    # A ValueError says that the list of models can neither be fetched nor found.
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"{name} could not be fetched by gensim ({type(error).__name__}: {str(error)[:200]}). "
            "Connect to the internet, or fetch it on another machine and open its file."
        ) from error
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing, though its folder is there: an earlier download was cut short. "
            f"Remove the folder {path.parent} and try again."
        )
    return path
