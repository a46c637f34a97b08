"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import OutputError

__all__ = ["check_destination", "staged"]


def check_destination(folder: Path) -> None:
    """Raise :class:`OutputError` if a release cannot be written to ``folder``."""
    if folder.exists() or folder.is_symlink():
        raise OutputError(
            f"`{folder.name}` already exists; nothing was written",
            hint="choose another folder, or remove this one",
        )
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise OutputError(f"the folder `{parent.name}` that should hold `{folder.name}` does not exist")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"no permission to write into the folder `{parent.name or parent}`")


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Give a temporary folder beside ``folder`` and rename it to ``folder`` when everything in it is on disk.

    If anything goes wrong, an interrupt included, the temporary folder is removed and ``folder`` does not appear.
    """
    check_destination(folder)
    temporary = folder.absolute().parent / f".{folder.name}.{secrets.token_hex(8)}.partial"
    try:
        temporary.mkdir()
        yield temporary
        for path in sorted(temporary.rglob("*")):
            _sync(path)
        _sync(temporary)
        temporary.rename(folder)
        _sync(folder.absolute().parent)
    except OSError as error:
        raise OutputError(
            f"the release could not be written to `{folder.name}`: {(error.strerror or 'the system refuses').lower()}"
        ) from None
    finally:
        # gone already after the rename
        shutil.rmtree(temporary, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
