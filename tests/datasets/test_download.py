"""Cache, mirror and checksums, with a small file of the tests' own."""

import errno
import hashlib
import pickle
import time
from pathlib import Path

import pytest
import requests

from wefe import datasets
from wefe.datasets import _download
from wefe.datasets._download import RemoteFile, at_hand, fetch_file, find_file

CONTENT = b"good\nbetter\n"
NAME = "toy/words.txt"


@pytest.fixture(autouse=True)
def toy_file(cache, monkeypatch):
    monkeypatch.setattr(_download, "_unreachable", {})
    file = RemoteFile(
        "http://127.0.0.1:9/words.txt", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT)
    )
    monkeypatch.setitem(_download.FILES, NAME, file)


@pytest.fixture
def server(monkeypatch):
    """What the address answers, and how often it was asked."""

    class Server:
        content = CONTENT
        requests = 0

        def __call__(self, url, output_file, pooch):
            self.requests += 1
            Path(output_file).write_bytes(self.content)

    server = Server()
    monkeypatch.setattr(_download, "_downloader", lambda: server)
    return server


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A mirror that holds the file."""
    path = tmp_path / "mirror" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    monkeypatch.setenv("WEFE_DATA_DIR", str(tmp_path / "mirror"))
    return tmp_path / "mirror"


def files_below(path):
    return sorted(file for file in path.rglob("*") if file.is_file())


def test_a_file_is_downloaded_once(server, cache):
    assert find_file(NAME) is None
    assert fetch_file(NAME) == cache / NAME
    assert fetch_file(NAME).read_bytes() == CONTENT
    assert server.requests == 1
    assert files_below(cache) == [cache / NAME]


def test_a_download_with_another_checksum_is_refused_and_not_kept(server, cache):
    server.content = b"changed\n"
    with pytest.raises(ValueError, match=r"no longer holds the published toy/words\.txt") as error:
        fetch_file(NAME)
    assert _download.FILES[NAME].sha256 in str(error.value)
    assert "WEFE_DATA_DIR" in str(error.value)
    assert files_below(cache) == []


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    (cache / NAME).parent.mkdir(parents=True)
    (cache / NAME).write_bytes(CONTENT[:4])
    assert not at_hand((NAME,))
    assert fetch_file(NAME).read_bytes() == CONTENT


def test_the_mirror_is_read_in_place(folder, server, cache):
    assert fetch_file(NAME) == folder / NAME
    assert server.requests == 0
    assert not cache.exists()


def test_a_changed_file_in_the_mirror_is_refused_and_left_alone(folder, server):
    (folder / NAME).write_bytes(b"changed\n")
    with pytest.raises(ValueError, match="is not the published") as error:
        fetch_file(NAME)
    assert str(folder / NAME) in str(error.value)
    assert not at_hand((NAME,))
    assert server.requests == 0
    assert (folder / NAME).read_bytes() == b"changed\n"


def test_without_network_the_error_says_what_from_where_and_what_to_do(cache):
    with pytest.raises(ConnectionError) as error:
        datasets.load_bingliu()
    message = str(error.value)
    for part in (
        "bingliu/positive-words.txt (22,393 bytes)",
        str(cache),
        "set WEFE_DATA_DIR to a folder with the file bingliu/positive-words.txt",
    ):
        assert part in message
    assert error.value.short == "127.0.0.1:9 could not be reached"
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.short) == (message, error.value.short)


@pytest.fixture
def fail(monkeypatch):
    """Let every download fail with an error; the addresses that were asked."""

    def with_error(error):
        asked = []

        def downloader(url, output_file, pooch):
            asked.append(url)
            raise error

        monkeypatch.setattr(_download, "_downloader", lambda: downloader)
        return asked

    return with_error


def failed(name=NAME):
    with pytest.raises(ConnectionError) as caught:
        fetch_file(name)
    return caught.value


@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.HTTPError("404", response=requests.Response()),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_a_host_that_answers_or_a_full_disk_does_not_stop_the_next_file(fail, error):
    attempts = fail(error)
    failed()
    failed()
    assert len(attempts) == 2


def test_a_host_that_could_not_be_reached_is_not_asked_again_for_a_minute(fail, monkeypatch):
    attempts = fail(requests.exceptions.ConnectionError("no route to host"))
    first = failed()
    again = failed()
    assert (str(again), again.short) == (str(first), first.short)
    other = failed("gn_glove/SemBias")
    assert "gn_glove/SemBias (26,452 bytes) is needed" in str(other)
    assert len(attempts) == 1
    now = time.monotonic()
    monkeypatch.setattr(_download.time, "monotonic", lambda: now + _download.MEMORY_S + 1)
    failed()
    assert len(attempts) == 2


@pytest.mark.parametrize(
    "fetch",
    [
        datasets.fetch_eds,
        datasets.fetch_debiaswe,
        lambda: datasets.load_query_set("gender"),
        lambda: datasets.load_case_study_queries("ethnicity"),
    ],
)
def test_bulk_parts_are_an_error_and_not_left_out_silently(fetch):
    with pytest.raises(ConnectionError):
        fetch()


def test_offline_never_asks_the_network(server, cache):
    datasets.fetch_eds(offline=True)
    datasets.fetch_debiaswe(offline=True)
    for row in datasets.list_query_sets():
        datasets.load_query_set(row["name"], offline=True)
        datasets.list_queries_left_out(row["name"])
    datasets.list_datasets()
    assert server.requests == 0
    assert not cache.exists()
