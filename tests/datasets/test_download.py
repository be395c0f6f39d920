"""Cache, mirror and checksums, with a small file of the tests' own."""

import errno
import hashlib
import pickle
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests

from wefe import datasets
from wefe.datasets import _download
from wefe.datasets._download import RemoteFile, fetch_file

CONTENT = b"good\nbetter\n"
NAME = "toy/words.txt"


@pytest.fixture
def server(monkeypatch):
    """What the address answers, or fails with, and how often it was asked."""

    def download(url, output_file, pooch):
        server.requests += 1
        if server.error:
            raise server.error
        Path(output_file).write_bytes(server.content)

    server = SimpleNamespace(content=CONTENT, error=None, requests=0)
    monkeypatch.setattr("pooch.HTTPDownloader", lambda timeout: download)
    return server


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A mirror that holds the file."""
    path = tmp_path / "mirror" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    monkeypatch.setenv("WEFE_DATA_DIR", str(tmp_path / "mirror"))
    return tmp_path / "mirror"


@pytest.fixture(autouse=True)
def toy_file(cache, monkeypatch):
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    file = RemoteFile("http://127.0.0.1:9/words.txt", sha256, len(CONTENT))
    monkeypatch.setitem(_download.FILES, NAME, file)


def test_a_file_is_downloaded_once(server, cache):
    for _ in range(2):
        assert fetch_file(NAME) == cache / NAME
        assert (cache / NAME).read_bytes() == CONTENT
    assert server.requests == 1
    assert [path for path in cache.rglob("*") if path.is_file()] == [cache / NAME]


def test_a_download_with_another_checksum_is_refused_and_not_kept(server, cache):
    server.content = b"changed\n"
    with pytest.raises(ValueError, match=r"no longer holds the published toy/words\.txt"):
        fetch_file(NAME)
    assert not any(path.is_file() for path in cache.rglob("*"))


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    (cache / NAME).parent.mkdir(parents=True)
    (cache / NAME).write_bytes(CONTENT[:4])
    assert fetch_file(NAME).read_bytes() == CONTENT


def test_the_mirror_is_read_in_place_and_a_changed_file_is_refused_and_left_alone(
    folder, server, cache
):
    assert fetch_file(NAME) == folder / NAME
    (folder / NAME).write_bytes(b"changed\n")
    with pytest.raises(ValueError, match=rf"{NAME}.*is not the published"):
        fetch_file(NAME)
    assert (folder / NAME).read_bytes() == b"changed\n"
    assert server.requests == 0
    assert not cache.exists()


NO_ROUTE = requests.exceptions.ConnectionError("no route to host")
NOT_FOUND = requests.exceptions.HTTPError("404", response=requests.Response())


@pytest.mark.parametrize(
    ("error", "asked_again"),
    [(NO_ROUTE, 0), (NOT_FOUND, 1), (OSError(errno.ENOSPC, "No space left on device"), 1)],
)
def test_only_a_host_that_could_not_be_reached_is_not_asked_again_for_a_minute(
    server, monkeypatch, error, asked_again
):
    server.error = error
    for name, expected in ((NAME, 1), (NAME, 1 + asked_again), ("gn_glove/SemBias", None)):
        with pytest.raises(ConnectionError, match=name):
            fetch_file(name)
        assert server.requests == (expected or 1 + 2 * asked_again)
    now = time.monotonic()
    monkeypatch.setattr(_download.time, "monotonic", lambda: now + _download.MEMORY_S + 1)
    with pytest.raises(ConnectionError):
        fetch_file(NAME)
    assert server.requests == 2 + 2 * asked_again


@pytest.mark.parametrize(
    "fetch",
    [
        datasets.load_bingliu,
        datasets.fetch_eds,
        datasets.fetch_debiaswe,
        lambda: datasets.load_query_set("gender"),
    ],
)
def test_bulk_parts_are_an_error_that_says_what_to_do(fetch):
    with pytest.raises(ConnectionError, match="set WEFE_DATA_DIR to a folder with") as error:
        fetch()
    assert error.value.short == "127.0.0.1:9 could not be reached"
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.short) == (str(error.value), error.value.short)


def test_offline_never_asks_the_network(server, cache):
    datasets.fetch_eds(offline=True)
    datasets.fetch_debiaswe(offline=True)
    for row in datasets.list_query_sets():
        datasets.load_query_set(row["name"], offline=True)
        datasets.list_queries_left_out(row["name"])
    datasets.list_datasets()
    assert server.requests == 0
    assert not cache.exists()
