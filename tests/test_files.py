"""Files are written whole or not at all, whatever ends the work."""

import contextlib
import errno
import os
import random
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import wefe
from wefe._files import atomic_file

OLD, NEW = b"old", b"the new content"

posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and signals of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def target(tmp_path):
    return tmp_path / "vectors.txt"


def test_until_the_end_the_old_file_is_there_and_the_new_one_is_hidden(target):
    target.write_bytes(OLD)
    with atomic_file(target) as file:
        file.write(NEW)
        file.flush()
        assert target.read_bytes() == OLD
        hidden, _ = names(target.parent)
        assert hidden.startswith(".vectors.txt.")
        assert hidden.endswith(".part")
    assert target.read_bytes() == NEW


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("exists", [True, False])
def test_an_error_leaves_what_was_there_and_no_other_file(target, error, exists):
    if exists:
        target.write_bytes(OLD)
    with contextlib.suppress(error), atomic_file(target) as file:
        file.write(NEW)
        raise error
    assert names(target.parent) == (["vectors.txt"] if exists else [])
    assert not exists or target.read_bytes() == OLD


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_error_while_the_file_is_put_in_place_leaves_the_old_one(target, monkeypatch, step):
    target.write_bytes(OLD)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"), atomic_file(target) as file:
        file.write(NEW)
    monkeypatch.undo()
    assert target.read_bytes() == OLD
    assert names(target.parent) == ["vectors.txt"]


@posix
def test_the_bytes_are_on_the_disk_before_the_name_and_the_name_after(target, monkeypatch):
    steps, real = [], os.replace

    def replace(source, destination):
        steps.append("replace")
        real(source, destination)

    monkeypatch.setattr(os, "fsync", lambda file: steps.append(os.fstat(file)))
    monkeypatch.setattr(os, "replace", replace)
    with atomic_file(target) as file:
        file.write(NEW)
    content, renamed, folder = steps
    assert (content.st_size, renamed) == (len(NEW), "replace")
    assert stat.S_ISDIR(folder.st_mode)


@posix
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640)])
def test_a_new_file_gets_the_permissions_that_open_would_give(target, umask, mode):
    before = os.umask(umask)
    try:
        with atomic_file(target) as file:
            file.write(NEW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == mode


@posix
@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_a_replaced_file_keeps_its_permissions_also_while_it_is_written(target, mode):
    target.write_bytes(OLD)
    target.chmod(mode)
    with atomic_file(target):
        (part,) = target.parent.glob(".*.part")
        assert stat.S_IMODE(part.stat().st_mode) == mode
    assert stat.S_IMODE(target.stat().st_mode) == mode


@posix
@pytest.mark.parametrize("exists", [True, False])
def test_of_a_symbolic_link_what_it_points_to_is_replaced(tmp_path, exists):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "link").symlink_to("../there/file")
    if exists:
        (there / "file").write_bytes(OLD)
    with atomic_file(here / "link") as file:
        file.write(NEW)
        assert names(here) == ["link"]
    assert (here / "link").is_symlink()
    assert (there / "file").read_bytes() == NEW
    assert names(there) == ["file"]


def test_what_cannot_be_replaced_stays(tmp_path, target, monkeypatch):
    with pytest.raises(FileNotFoundError, match="nowhere"), atomic_file(tmp_path / "nowhere/x"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="not a regular file"), atomic_file(tmp_path / "folder"):
        pass
    target.write_bytes(OLD)
    # To root, which may run the tests, no file is protected.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(PermissionError, match="write-protected"), atomic_file(target) as file:
        file.write(NEW)
    assert names(tmp_path) == ["folder", "vectors.txt"]
    assert target.read_bytes() == OLD


@posix
@pytest.mark.parametrize("letter", ["n", "ñ", "語"])
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path, letter):
    name = letter * (255 // len(letter.encode()))
    with atomic_file(tmp_path / name) as file:
        file.write(NEW)
    assert names(tmp_path) == [name]


def test_of_several_writers_at_once_each_leaves_a_whole_file(target):
    contents = [bytes([letter]) * 200_000 for letter in b"abcd"]

    def write(content):
        for _ in range(20):
            with atomic_file(target) as file:
                file.write(content)
            if os.name == "posix":
                assert target.read_bytes() in contents

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, contents))
    assert target.read_bytes() in contents
    assert names(target.parent) == ["vectors.txt"]


SAVE_FOREVER = """
import itertools, sys
import numpy as np
from wefe.models import WordEmbeddingModel

vectors = np.random.default_rng(0).normal(0, 0.3, (3000, 300)).astype(np.float32)
words = [f"word{i}" for i in range(3000)]
models = [WordEmbeddingModel((words, x), "m") for x in (vectors, -vectors)]
for number, model in enumerate(models):
    model.save(sys.argv[2 + number])
for model in itertools.cycle(models):
    model.save(sys.argv[1])
    print(flush=True)
"""


def killed_at_random(code, target, *arguments, rounds):
    """Kill, over and over, a process that writes without end; hand out what it left each time."""
    rng = random.Random(0)
    environment = os.environ | {"PYTHONPATH": str(Path(wefe.__file__).parents[1])}
    command = [sys.executable, "-c", code, *map(str, (target, *arguments))]
    for _ in range(rounds):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as writer:
            writer.stdout.readline()
            # Within one of the next few writes, wherever in it.
            time.sleep(rng.uniform(0, 0.1))
            assert writer.poll() is None
            writer.kill()
        yield target.read_bytes()


@pytest.mark.slow
@posix
@pytest.mark.parametrize("suffix", [".txt", ".bin"])
def test_a_killed_save_of_a_model_leaves_the_old_or_the_new_one(tmp_path, suffix):
    target = tmp_path / f"model{suffix}"
    whole = [tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"]
    left = list(killed_at_random(SAVE_FOREVER, target, *whole, rounds=8))
    contents = [path.read_bytes() for path in whole]
    assert contents[0] != contents[1]
    assert all(content in contents for content in left)
    assert list(tmp_path.glob(".*.part"))
