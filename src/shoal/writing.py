"""Files and folders that appear whole or not at all, and what is left of processes that were killed while writing.

Everything is written under a temporary name beside its place, flushed to the disk, and renamed. Who writes holds a lock
on the temporary folder, which ends with the process: a folder whose lock is free was left behind, and the next process
that writes there removes it and says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import secrets
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from shoal import stopping
from shoal.errors import OutputError, reason

__all__ = [
    "SCRATCH",
    "Scratch",
    "alone",
    "check_destination",
    "check_file",
    "digest",
    "file_stem",
    "is_usable_name",
    "replacing",
    "staged",
    "sync",
    "write_file",
]

#: how the names of scratch folders begin
SCRATCH = "shoal-scratch-"
_LEFT = re.compile(rf"(\..*\.|{SCRATCH})[0-9a-f]{{16}}(\.partial)?(\.new)?")
#: the end of the name of a folder that nobody has locked yet, and how many seconds it may have it
_UNLOCKED, _MAKING = ".new", 60
#: characters of a destination's name in the temporary one, which must not become too long
_SHOWN = 40


def file_stem(*names: str) -> str:
    """Return names of columns as every file system takes them; different ones may become the same, or nothing."""
    plain = (unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold()) for name in names)
    bare = ("".join(sign for sign in name if not unicodedata.combining(sign)) for name in plain)
    return "-".join(re.sub("[^a-z0-9_]+", "-", name).strip("-") for name in bare)[:60].strip("-")


def is_usable_name(path: str | Path) -> bool:
    """Return whether engines and libraries can be told a path: one in UTF-8 without zero bytes."""
    try:
        return b"\0" not in str(path).encode()
    except UnicodeEncodeError:
        return False


def _check_name(path: Path) -> None:
    if not is_usable_name(path) or not is_usable_name(path.absolute()):
        shown = _short(path).encode(errors="backslashreplace").decode()
        raise OutputError(f"`{shown}` cannot be written: its name, or that of its folder, is not UTF-8 text.")


def check_destination(folder: Path) -> None:
    """Raise :class:`OutputError` if a release cannot be written to ``folder``."""
    _check_name(folder)
    try:
        exists = folder.exists() or folder.is_symlink()
    except OSError as error:
        raise OutputError(f"`{_short(folder)}` cannot be the name of a folder: {reason(error)}") from None
    if exists:
        raise OutputError(
            f"`{folder.name or folder}` already exists; nothing was written",
            hint="choose another folder, or remove this one",
        )
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise OutputError(f"the folder `{parent.name}` that should hold `{folder.name}` does not exist")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"no permission to write into the folder `{parent.name or parent}`")


def check_file(path: Path, *, overwrite: bool = False) -> None:
    """Raise :class:`OutputError` if a file cannot be written to ``path``."""
    _check_name(path)
    try:
        exists = path.exists() or path.is_symlink()
    except OSError as error:
        raise OutputError(f"`{_short(path)}` cannot be the name of a file: {reason(error)}") from None
    if exists and not overwrite:
        raise OutputError(f"{path} already exists; {stopping.left()}.", hint="choose another name, or overwrite it")
    if not path.parent.is_dir():
        raise OutputError(f"{path.parent} is not a folder.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"no permission to write into the folder `{path.absolute().parent.name or '/'}`.")


@contextlib.contextmanager
def staged(folder: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a temporary folder beside ``folder`` and rename it to ``folder`` when everything in it is on disk.

    A ``private`` one can be looked into by its owner only. If anything goes wrong, an interrupt included, the temporary
    folder is removed and ``folder`` does not appear.
    """
    check_destination(folder)
    try:
        with _beside(folder, private=private) as temporary:
            yield temporary
            _flush(temporary)
            with stopping.held():
                temporary.rename(folder)
                try:
                    sync(folder.absolute().parent)
                except OSError:
                    folder.rename(temporary)
                    raise
                stopping.written(folder, "is complete")
    except OSError as error:
        raise OutputError(f"`{folder.name}` could not be written: {reason(error)}") from None


@contextlib.contextmanager
def replacing(path: Path, *, overwrite: bool = False, told: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and give it the name ``path`` at the end; remove it if anything fails.

    Unless ``told`` is false, a process that is stopped says that the file is there.
    """
    try:
        check_file(path, overwrite=overwrite)
        with _beside(path) as folder:
            temporary = folder / "content"
            yield temporary
            _flush(temporary)
            with stopping.held():
                _move(temporary, path, overwrite=overwrite)
                if told:
                    stopping.written(path)
                sync(path.absolute().parent)
    except OSError as error:
        raise OutputError(f"{_short(path)} cannot be written: {reason(error)}; {stopping.left()}.") from None


def write_file(
    path: Path, content: bytes, *, overwrite: bool = False, private: bool = False, told: bool = True
) -> None:
    """Write a file as :func:`replacing` does; a ``private`` one can be read by its owner only."""
    with replacing(path, overwrite=overwrite, told=told) as temporary:
        temporary.touch(mode=0o600 if private else 0o666)
        temporary.write_bytes(content)


class Scratch:
    """A folder that only this user can look into: what spills there is personal data.

    It is removed by its owner, when the process is stopped, or, if that is killed, by the next that makes one.
    """

    def __init__(self) -> None:
        place = _temporary_place()
        _remove_abandoned(place)
        self._stack = contextlib.ExitStack()
        try:
            self.path = self._stack.enter_context(_locked(place, SCRATCH, ""))
        except OSError as error:
            raise OutputError(
                f"the folder for temporary files cannot be used: {reason(error)}", hint="point TMPDIR to another"
            ) from None

    def remove(self) -> None:
        """Remove the folder and all in it."""
        self._stack.close()


@contextlib.contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Lock the file ``path`` and say whether this process is the only one that has; the lock goes with the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield True
        return
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            first = True
        except BlockingIOError:
            first = False
        yield first
    finally:
        os.close(lock)


def digest(path: Path) -> tuple[str, int]:
    """Return the SHA-256 of a file, in hexadecimal, and its size in bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest(), path.stat().st_size


def _temporary_place() -> Path:
    """Return where temporary files go; a place that somebody names but that cannot be used is not replaced silently."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        given = os.environ.get(name)
        if not given:
            continue
        if not Path(given).is_dir() or not os.access(given, os.W_OK | os.X_OK):
            raise OutputError(
                f"the folder named by {name} does not exist or cannot be written to.",
                hint=f"create it, or set {name} to another folder; temporary files may hold personal data",
            )
        return Path(given).absolute()
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def _beside(path: Path, *, private: bool = False) -> Iterator[Path]:
    parent = path.absolute().parent
    _remove_abandoned(parent)
    with _locked(parent, f".{path.name[:_SHOWN]}.", ".partial", mode=0o700 if private else 0o777) as temporary:
        yield temporary


@contextlib.contextmanager
def _locked(parent: Path, before: str, after: str, *, mode: int = 0o700) -> Iterator[Path]:
    """Make a folder of a new name that this process has locked, and remove it at the end.

    It gets its name when it is locked: one without a lock would be taken for abandoned by another process.
    """
    path = parent / f"{before}{secrets.token_hex(8)}{after}"
    unlocked = path.with_name(f"{path.name}{_UNLOCKED}")
    with contextlib.ExitStack() as lock, contextlib.ExitStack() as stack:
        with stopping.held():
            stack.enter_context(stopping.temporary(path))
            stack.enter_context(stopping.temporary(unlocked))
            unlocked.mkdir(mode=mode)
            locked = _lock(unlocked, wait=True)
            if locked is not None:
                lock.callback(os.close, locked)  # once the folder is gone
            unlocked.rename(path)
        yield path


def _remove_abandoned(parent: Path) -> None:
    """Remove what killed processes of this user left in a folder, and say so."""
    with contextlib.suppress(OSError):
        with os.scandir(parent) as entries:  # paths of all that is in a full folder would take longer than the rest
            paths = [Path(entry.path) for entry in entries if _LEFT.fullmatch(entry.name)]
        removed = [path for path in paths if not _is_being_made(path) and _removed(path)]
        if removed:
            others = f" and {len(removed) - 1:,} more" if removed[1:] else ""
            runs = "runs that were" if removed[1:] else "a run that was"
            logging.getLogger("shoal").warning("removed %s%s, left behind by %s killed.", removed[0], others, runs)


def _is_being_made(path: Path) -> bool:
    try:
        return path.name.endswith(_UNLOCKED) and time.time() - path.stat().st_mtime < _MAKING
    except OSError:  # it has its name by now
        return True


def _removed(path: Path) -> bool:
    """Remove a folder if the process that made it is gone; say whether it was."""
    try:
        if path.is_symlink() or not path.is_dir() or path.stat().st_uid != getattr(os, "geteuid", lambda: -1)():
            return False
        lock = _lock(path, wait=False)
    except OSError:  # its owner lives, or it was removed meanwhile
        return False
    if lock is None:
        return False
    try:
        if not _is_open_as(path, lock):  # its owner removed it after it was opened here, and then let the lock go
            return False
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
    return True


def _is_open_as(path: Path, descriptor: int) -> bool:
    """Return whether a path still names the folder that was opened."""
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder; None where the system, or its disk, has no such locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(lock)
        raise
    except OSError:
        os.close(lock)
        return None
    return lock


def _move(temporary: Path, path: Path, *, overwrite: bool) -> None:
    if path.is_dir() and not path.is_symlink():
        # a folder cannot be replaced in one step: the old one steps aside first
        path.rename(temporary.with_name("old"))
        temporary.rename(path)
    elif overwrite or temporary.is_dir():
        temporary.replace(path)
    else:
        _link(temporary, path)


def _link(temporary: Path, path: Path) -> None:
    """Give a file its name unless something has that name meanwhile."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise OutputError(f"{path} already exists; {stopping.left()}.", hint="choose another name") from None
    except OSError:  # a disk without hard links
        temporary.rename(path)


def _flush(path: Path) -> None:
    for each in [*sorted(path.rglob("*")), path] if path.is_dir() else [path]:
        sync(each)


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power failure."""
    if path.is_dir() and os.name == "nt":  # Windows has no handles of folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _short(path: Path) -> str:
    return path.name if len(path.name) <= _SHOWN else f"{path.name[:_SHOWN]}..."
