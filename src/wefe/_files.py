"""Write files completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` once everything is written.

    Whatever ends the work early, `path` is what it was before: the old file or nothing. Until then
    the bytes are in a hidden file '.NAME.RANDOM.part' in the same folder, which only a process that
    is killed leaves behind. The new file gets the permissions of the one it replaces. A symbolic
    link stays, and what it points to is replaced. Who has the old file open, or mapped, keeps it.
    """
    # The link stays, and the temporary file is in the folder (the file system) of what it names.
    target = Path(os.path.realpath(path))
    mode = _mode_of(target, os.fspath(path))
    new_mode = 0o666 if mode is None else mode
    # A name may have 255 bytes; four are the most that a letter takes.
    part = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        # Not by way of `tempfile`, whose files only their owner may read.
        with open(part, "x+b", opener=lambda name, flags: os.open(name, flags, new_mode)) as file:
            if mode is not None:
                # What the umask took away.
                os.chmod(part, mode)
            yield file
            file.flush()
            # Else the name could be in place before the bytes when the power fails.
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that :func:`atomic_file` could not write to, before long work is done."""
    target = Path(os.path.realpath(path))
    _mode_of(target, os.fspath(path))
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder is write-protected", str(target.parent))


def _mode_of(target: Path, given: str) -> int | None:
    """Return the permissions of a file that may be replaced; None if there is none yet."""
    try:
        target.stat()
    except FileNotFoundError:
        if target.parent.is_dir():
            return None
        what = "there is no such folder to write into"
        raise FileNotFoundError(errno.ENOENT, what, str(target.parent)) from None
    except NotADirectoryError:
        what = "there is a file where a folder should be"
        raise NotADirectoryError(errno.ENOTDIR, what, str(target.parent)) from None
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; expected the name of a file", given)
    if not target.is_file():
        # Root could replace /dev/null.
        raise OSError(errno.EINVAL, "is not a regular file, so it cannot be replaced", given)
    if not os.access(target, os.W_OK):
        # Replacing needs the folder only, but who protects a file means its content.
        raise PermissionError(errno.EACCES, "is write-protected", given)
    return target.stat().st_mode & 0o777


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a loss of power, where the platform can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    # The file is in place and whole: that some file systems cannot do this is no error.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
