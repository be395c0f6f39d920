"""Word lists that ship with the package, and larger ones from the mirror, the cache or the web."""

import json
import math
import os
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wefe._checks import logger


def read_shipped(name: str) -> dict[str, Any]:
    """Read ``data/NAME.json``. Word lists have the keys `name`, `source` and `word_sets`."""
    # Parsed at every call, so that callers may change their lists.
    text = resources.files("wefe.datasets").joinpath("data", f"{name}.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    for alias, key in data.pop("aliases", {}).items():
        data["word_sets"][alias] = list(data["word_sets"][key])
    return data


def shipped_word_sets(name: str) -> dict[str, Any]:
    word_sets: dict[str, Any] = read_shipped(name)["word_sets"]
    return word_sets


# The addresses may change, so each file must have the sha256 of ``data/catalogue/files.json``.
# ``WEFE_DATA_DIR`` and the cache have the same layout.


DATA_DIR_VARIABLE = "WEFE_DATA_DIR"
RETRIES = 2
TIMEOUT_S = 30
# Time before an unreachable host is tried again: a study needs several files, and each attempt
# takes seconds.
MEMORY_S = 60

# Host -> time of the failure, and kind of error.
_unreachable: dict[str, tuple[float, str]] = {}


class UnreachableError(ConnectionError):
    """A needed file is missing and cannot be downloaded; `short` is the reason in brief."""

    short: str


@dataclass(frozen=True)
class RemoteFile:
    """The address of a file, and its expected content."""

    url: str
    sha256: str
    size: int


#: Where each file is published, and what it must contain.
FILES = {name: RemoteFile(**row) for name, row in read_shipped("catalogue/files").items()}


def fetch_file(name: str) -> Path:
    """Return the path of a verified, read-only file of `FILES`; download it if needed."""
    import pooch

    folder, sha256 = os.environ.get(DATA_DIR_VARIABLE), FILES[name].sha256
    if folder:
        path = Path(folder).expanduser() / name
        if path.is_file():
            if pooch.file_hash(path) != sha256:
                raise ValueError(
                    f"{path} is not the published {name}, whose sha256 is {sha256}. It was not "
                    f"changed. Replace it with the one from {FILES[name].url}, or unset "
                    f"{DATA_DIR_VARIABLE}."
                )
            return path
        logger.info("%s is not there; looking in the cache", path)
    path = _cache_dir() / name
    # A damaged file in the cache counts as absent: the download replaces it.
    return path if path.is_file() and pooch.file_hash(path) == sha256 else _download(name)


def _cache_dir() -> Path:
    import pooch

    return Path(pooch.os_cache("wefe"))


def _download(name: str) -> Path:
    import pooch

    file = FILES[name]
    host = urlsplit(file.url).netloc
    since, kind = _unreachable.get(host, (-math.inf, ""))
    if time.monotonic() - since < MEMORY_S:
        raise _missing(name, kind, f"{host} could not be reached")
    pooch.get_logger().setLevel("WARNING")  # hides its retries; the errors below say what matters
    logger.info("downloading %s", file.url)
    # Writes to a temporary file, and renames it once the checksum is verified.
    store = pooch.create(
        path=_cache_dir(),
        base_url="",
        registry={name: f"sha256:{file.sha256}"},
        urls={name: file.url},
        retry_if_failed=RETRIES,
    )
    try:
        return Path(store.fetch(name, downloader=pooch.HTTPDownloader(timeout=TIMEOUT_S)))
    except ValueError as error:
        raise ValueError(
            f"{file.url} no longer holds the published {name}: sha256 {file.sha256} was expected. "
            f"Nothing was kept. The address may have moved on; {_remedy(name)}."
        ) from error
    except OSError as error:
        kind, has_answered = type(error).__name__, getattr(error, "response", None) is not None
        # Errors with a number come from this machine, for example a full disk.
        if not has_answered and error.errno is None:
            _unreachable[host] = time.monotonic(), kind
        short = "does not provide it" if has_answered else "could not be reached"
        raise _missing(
            name, kind if error.errno is None else str(error), f"{host} {short}"
        ) from error


def _missing(name: str, kind: str, short: str) -> UnreachableError:
    file, folder = FILES[name], os.environ.get(DATA_DIR_VARIABLE)
    places = f"{DATA_DIR_VARIABLE} ({folder}) or {_cache_dir()}" if folder else str(_cache_dir())
    error = UnreachableError(
        f"{name} ({file.size:,} bytes) is needed: it is not in {places}, and {file.url} could not "
        f"be downloaded ({kind}). Connect to the internet, {_remedy(name)}."
    )
    # An attribute, unlike a second argument, survives the way back from another process.
    error.short = short
    return error


def _remedy(name: str) -> str:
    return (
        f"set {DATA_DIR_VARIABLE} to a folder with the file {name}, or use only the words that "
        "ship with wefe (--offline on the command line; offline=True of load_query_set and "
        "load_criterion in Python)"
    )
