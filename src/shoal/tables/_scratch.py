"""Private folders for what does not fit into memory; they go with their owner, even after a crash."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["Scratch"]

_PREFIX = "shoal-"
_LOCK = "owner.lock"


class Scratch:
    """A folder that only this user can look into: what spills there is personal data.

    The owner holds a lock in it. A process that was killed cannot remove its folder, but its lock is free then, and
    the next process that makes a scratch folder removes it.
    """

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path) -> int | None:
    """Lock a file in the folder; under another name first, so that nobody finds it before it is locked."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    waiting = folder / f"{_LOCK}.new"
    lock = os.open(waiting, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    waiting.rename(folder / _LOCK)
    return lock


@functools.cache
def _remove_abandoned(parent: Path) -> None:
    """Remove the folders whose owners are gone; once in the life of a process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    for found in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        try:
            lock = os.open(found, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # of another user, or removed meanwhile
            continue
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(found.parent, ignore_errors=True)
        except OSError:  # its owner lives
            continue
        finally:
            os.close(lock)
