"""Write files completely or not at all, and read texts and JSON."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from wefe._checks import found

T = TypeVar("T")


def read_text(path: Path) -> str:
    """Read a text in UTF-8, with or without a byte order mark; an error names the file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: {error}.") from error


def text_lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank."""
    # splitlines would also split at other characters that texts may contain.
    return [line.strip() for line in text.split("\n") if line.strip()]


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file whose content is of a kind; a ValueError says where it is not."""
    from pydantic import TypeAdapter, ValidationError  # slow to import

    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "its text"
        raise ValueError(
            f"{path} is damaged, or not the JSON file that is expected: {place}: {first['msg']}; "
            f"found {found(first['input'])}."
        ) from error


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` only when everything is written.

    If the work fails, `path` stays as it was. Only a killed process leaves the hidden temporary
    file '.NAME.RANDOM.part' in the folder. Permissions and symbolic links are kept.
    """
    # Replace the file that a link points to: the temporary file must be on its file system.
    target = Path(os.path.realpath(path))
    mode = _mode_of(target, os.fspath(path))
    new_mode = 0o666 if mode is None else mode
    # A name has at most 255 bytes, and a character at most four.
    part = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        # Not `tempfile`, because only the owner may read its files.
        with open(part, "x+b", opener=lambda name, flags: os.open(name, flags, new_mode)) as file:
            if mode is not None:
                # Restore the permissions that the umask removed.
                os.chmod(part, mode)
            yield file
            file.flush()
            # Otherwise a power loss could leave the new name without its bytes.
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8, completely or not at all."""
    with atomic_file(path) as file:
        file.write(text.encode())


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that :func:`atomic_file` can write to a path, before long work begins."""
    target = Path(os.path.realpath(path))
    _mode_of(target, os.fspath(path))
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder is write-protected", str(target.parent))


def _mode_of(target: Path, given: str) -> int | None:
    """Return the permissions of the file to replace; None if it does not exist."""
    if not target.parent.is_dir():
        what = "there is no such folder to write into"
        raise FileNotFoundError(errno.ENOENT, what, str(target.parent))
    if not target.exists():
        return None
    if not target.is_file():
        # Otherwise root could replace /dev/null.
        what = "is a folder or a device, and not a regular file that can be replaced"
        raise OSError(errno.EINVAL, what, given)
    if not os.access(target, os.W_OK):
        # The folder's permissions would allow it, but a protected file should not change.
        raise PermissionError(errno.EACCES, "is write-protected", given)
    return target.stat().st_mode & 0o777


def _sync_folder(folder: Path) -> None:
    """Make the new file name survive a power loss, where the platform can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    # Some file systems cannot do this; the file is complete anyway.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
