"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` once everything is written.

    Whatever ends the work early (an error, Ctrl-C, a kill, a full disk), `path` is what it was
    before: the old file or nothing, never a part of the new one. Until then the bytes are in a
    hidden file '.NAME.RANDOM.part' in the same folder, which an error removes. Only a process that
    is killed leaves it behind; it may be deleted.

    The new file gets the permissions of the one it replaces, else those of any new file. Where
    `path` is a symbolic link, what it points to is replaced. A file that is open or mapped
    elsewhere stays as it is for those who have it open, so a model can be saved over the file it
    was mapped from. (Windows refuses to replace such a file.)

    Parameters
    ----------
    path : path
        The file to write.

    Yields
    ------
    binary file
        Open for writing and reading, seekable; closed and put in place when the block ends.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    IsADirectoryError
        If `path` is a folder.
    PermissionError
        If the folder or the file at `path` may not be written.
    OSError
        If `path` is a device, pipe or the like, or writing fails, as on a full disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder, "vectors.txt")) as file:
    ...         n_bytes = file.write(b"she 0.5 1.0")
    ...     Path(folder, "vectors.txt").read_text()
    'she 0.5 1.0'
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
    """Return the permissions of the file to be replaced, None if there is none."""
    try:
        found = target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise FileNotFoundError(
                errno.ENOENT, "there is no such folder to write into", str(target.parent)
            ) from None
        return None
    except NotADirectoryError:
        raise NotADirectoryError(
            errno.ENOTDIR, "there is a file where a folder should be", str(target.parent)
        ) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; expected the name of a file", given)
    if not stat.S_ISREG(found.st_mode):
        # Root could replace /dev/null.
        raise OSError(errno.EINVAL, "is no regular file, so it cannot be replaced", given)
    if not os.access(target, os.W_OK):
        # Replacing needs the folder only, but who protects a file means its content.
        raise PermissionError(errno.EACCES, "is write-protected", given)
    return stat.S_IMODE(found.st_mode) & 0o777


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
