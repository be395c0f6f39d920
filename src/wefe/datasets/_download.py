"""Bulk word lists, from ``WEFE_DATA_DIR``, the cache or their address, in this order.

The addresses are branches that may change, so a file whose sha256 differs from
``data/catalogue/files.json`` is refused. ``WEFE_DATA_DIR`` and the cache have the same layout.
"""

import hashlib
import io
import logging
import math
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wefe.datasets._shipped import read_shipped

logger = logging.getLogger(__name__)

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

    def __init__(self, text: str, short: str) -> None:
        super().__init__(text)
        self.short = short

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.short)


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
    return find_file(name) or _download(name)


def find_file(name: str) -> Path | None:
    """Return the path of a verified file of `FILES`, or None if it must be downloaded."""
    folder = os.environ.get(DATA_DIR_VARIABLE)
    if folder:
        path = Path(folder).expanduser() / name
        if path.is_file():
            _check_sha256(name, path)
            return path
        logger.info("%s is not there; looking in the cache", path)
    path = _cache_dir() / name
    # A damaged file in the cache counts as absent: the download replaces it.
    return path if path.is_file() and _sha256(path) == FILES[name].sha256 else None


def at_hand(names: Iterable[str]) -> bool:
    """Tell whether all these files can be read without a download."""
    try:
        return all(find_file(name) for name in names)
    except ValueError:
        return False


def _check_sha256(name: str, path: Path) -> None:
    wanted, got = FILES[name].sha256, _sha256(path)
    if got != wanted:
        raise ValueError(
            f"{path} is not the published {name}: its sha256 is {got}, {wanted} was expected. The "
            f"file was not changed. Replace it with the one from {FILES[name].url}, or unset "
            f"{DATA_DIR_VARIABLE}."
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cache_dir() -> Path:
    import pooch

    return Path(pooch.os_cache("wefe"))


class _TooLongError(Exception):
    """The download is longer than declared. Not a ValueError, after which pooch would retry."""


class _BoundedFile(io.FileIO):
    def __init__(self, path: str, size: int) -> None:
        super().__init__(path, "wb")
        self._size = size

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self._size:
            raise _TooLongError
        return super().write(data)


def _downloader(size: int) -> Any:
    """Return a downloader that stops when a file exceeds `size` bytes."""
    import pooch

    download = pooch.HTTPDownloader(timeout=TIMEOUT_S)

    def download_at_most(url: str, path: str, store: Any) -> None:
        with _BoundedFile(path, size) as file:
            download(url, file, store)

    return download_at_most


def _download(name: str) -> Path:
    import pooch

    file = FILES[name]
    cache = _cache_dir()
    folder = os.environ.get(DATA_DIR_VARIABLE)
    places = f"{DATA_DIR_VARIABLE} ({folder}) or {cache}" if folder else str(cache)
    pooch.get_logger().setLevel("WARNING")  # hides its retries; the error below says what matters
    logger.info("downloading %s", file.url)
    # Writes to a temporary file, and renames it once the checksum is verified.
    store = pooch.create(
        path=cache,
        base_url="",
        registry={name: f"sha256:{file.sha256}"},
        urls={name: file.url},
        retry_if_failed=RETRIES,
    )
    remedy = (
        f"set {DATA_DIR_VARIABLE} to a folder with the file {name}, or use only the words that "
        "ship with wefe (--offline on the command line; offline=True in Python)"
    )
    host = urlsplit(file.url).netloc

    def not_to_be_had(kind: str, short: str) -> UnreachableError:
        return UnreachableError(
            f"{name} ({file.size:,} bytes) is needed: it is not in {places}, and {file.url} could "
            f"not be downloaded ({kind}). Connect to the internet, {remedy}.",
            f"{host} {short}",
        )

    since, kind = _unreachable.get(host, (-math.inf, ""))
    if time.monotonic() - since < MEMORY_S:
        raise not_to_be_had(kind, "could not be reached")
    try:
        return Path(store.fetch(name, downloader=_downloader(file.size)))
    except (ValueError, _TooLongError) as error:
        more = "more" if isinstance(error, _TooLongError) else "others"
        raise ValueError(
            f"{file.url} no longer holds the published {name}: {file.size:,} bytes with sha256 "
            f"{file.sha256} were expected, {more} came. Nothing was kept. The address may have "
            f"moved on; {remedy}."
        ) from error
    except (NotADirectoryError, PermissionError, FileExistsError) as error:
        raise OSError(
            f"{name} cannot be saved: {error}. Make the cache folder {cache} writable, {remedy}."
        ) from error
    except OSError as error:
        kind = type(error).__name__
        if getattr(error, "response", None) is not None:
            raise not_to_be_had(kind, "does not provide it") from error
        # Errors with a number come from this machine, for example a full disk.
        if error.errno is None:
            _unreachable[host] = time.monotonic(), kind
        raise not_to_be_had(kind, "could not be reached") from error
