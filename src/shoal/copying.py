"""Private copies of folders that a stranger may have made: regular files only, read without following links or waiting.

Whatever looks at a copy sees the same bytes however often it looks, and nothing outside the folder.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from shoal.errors import InputError, VerificationError, lacking, reason
from shoal.writing import Scratch

__all__ = ["PrivateCopy", "copy_file", "inspect_release", "private_copy", "read_bytes"]

#: a release has a few files, and one for each part of its tables
MOST_FILES = 100_000
#: a text file of a release, other than a copy of its data, has at most so many bytes
LONGEST_TEXT = 1 << 26
#: files that may be longer: tables, and their copies as text
_DATA = (".parquet", ".csv")
#: a file may claim so many bytes for each that it takes on the disk, beyond the first of a text file
_SPARSE = 100
_READ = 1 << 20
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FOLDER = _FLAGS | getattr(os, "O_DIRECTORY", 0)
_AT = os.open in os.supports_dir_fd


@dataclass(frozen=True, slots=True)
class PrivateCopy:
    """The copy of a folder, or the folder itself where it was not copied, with the refused entries."""

    folder: Path
    #: why a file or folder was refused, by its name
    refused: dict[str, str] = field(default_factory=dict)


@contextmanager
def private_copy(folder: Path) -> Iterator[PrivateCopy]:
    """Copy the regular files of a folder, and of the folders in it, to where only this process writes.

    Links, pipes, devices, folders in folders, text files beyond 64 MB and files with holes are refused, each by its
    name. The copy is removed at the end.
    """
    scratch = Scratch()
    try:
        (scratch.path / "copy").mkdir()
        yield _copy_release(folder, scratch.path / "copy")
    finally:
        scratch.remove()


@contextmanager
def inspect_release(folder: Path) -> Iterator[PrivateCopy]:
    """Refuse what :func:`private_copy` refuses, and use the folder itself: for one that other machines read, too."""
    yield replace(_copy_release(folder, None), folder=folder)


def _copy_release(folder: Path, target: Path | None) -> PrivateCopy:
    refused: dict[str, str] = {}
    opened = _open_folder(folder, None, folder.name or str(folder))
    try:
        _copy_folder(folder, opened, target, refused, "")
    finally:
        os.close(opened)
    return PrivateCopy(target or folder, refused)


def copy_file(source: Path, target: Path) -> str | None:
    """Copy a regular file; return why it was refused, if it was."""
    try:
        descriptor = os.open(source, _FLAGS)
    except OSError as error:
        return _unreadable(error)
    return _copy_file(descriptor, target.name, target)


def read_bytes(path: Path, *, follow: bool = False) -> bytes:
    """Return the content of a text file, which must be a regular one of at most 64 MB, and no link unless ``follow``.

    Raises
    ------
    OSError
        If there is no such file, it is of another kind, or it is larger.
    """
    descriptor = os.open(path, _FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if follow else _FLAGS)
    with os.fdopen(descriptor, "rb") as source:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if about.st_size > LONGEST_TEXT:
            raise OSError(errno.EFBIG, f"it is larger than {LONGEST_TEXT >> 20} MB")
        return source.read(LONGEST_TEXT)


def _open_folder(path: Path, parent: int | None, name: str) -> int:
    """Open a folder; the one that a user names may be a link."""
    flags = _FOLDER if parent is not None else _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)
    if os.name == "nt":  # no descriptors of folders
        return os.open(os.devnull, os.O_RDONLY)
    try:
        return os.open(path.name if parent is not None else path, flags, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise InputError(f"there is no release folder `{name}`") from None
        raise


def _copy_folder(folder: Path, opened: int, target: Path | None, refused: dict[str, str], prefix: str) -> None:
    seen = 0
    with os.scandir(opened if _AT else folder) as entries:
        for entry in entries:
            seen += 1
            if seen > MOST_FILES:
                raise VerificationError(f"the folder holds more than {MOST_FILES:,} files; no release does")
            name = f"{prefix}{entry.name}"
            why = _copy_entry(entry, folder, opened, target, refused, name)
            if why is not None:
                refused[name] = why


def _copy_entry(
    entry: os.DirEntry[str], folder: Path, opened: int, target: Path | None, refused: dict[str, str], name: str
) -> str | None:
    """Copy a file, or the files of a folder; return why it was refused, if it was."""
    if entry.is_symlink():
        return "a link to somewhere else; a release holds its files itself"
    if entry.is_dir(follow_symlinks=False):
        if "/" in name:
            return "not a folder of a release"
        try:
            inner = _open_folder(folder / entry.name, opened, name)
        except (OSError, VerificationError) as error:
            if lacking(error) is not None:
                raise
            return "a folder that cannot be opened"
        try:
            if target is not None:
                (target / name).mkdir()
            _copy_folder(folder / entry.name, inner, target, refused, f"{name}/")
        finally:
            os.close(inner)
        return None
    if not entry.is_file(follow_symlinks=False):  # a pipe or a device may have no end
        return "neither a file nor a folder"
    try:
        descriptor = os.open(entry.name, _FLAGS, dir_fd=opened) if _AT else os.open(folder / entry.name, _FLAGS)
    except OSError as error:
        return _unreadable(error)
    return _copy_file(descriptor, name, None if target is None else target / name)


def _copy_file(descriptor: int, name: str, target: Path | None) -> str | None:
    """Copy what a descriptor is of, as long as it says it is; return why it was refused, if it was."""
    with os.fdopen(descriptor, "rb", buffering=0) as source:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return "neither a file nor a folder"
        if not name.endswith(_DATA) and about.st_size > LONGEST_TEXT:
            return f"larger than {LONGEST_TEXT >> 20} MB; no such file of a release is"
        if about.st_size > LONGEST_TEXT + _SPARSE * getattr(about, "st_blocks", about.st_size) * 512:
            return "a file with holes; it claims to be longer than what it holds"
        if target is None:
            return None
        left = about.st_size
        with target.open("xb") as out:
            while left and (chunk := source.read(min(left, _READ))):
                out.write(chunk)
                left -= len(chunk)
    return None


def _unreadable(error: OSError) -> str:
    if lacking(error) is not None:
        raise error
    return f"it cannot be read: {reason(error)}"
