"""One way to stop: the work is done in a thread, and the main thread does nothing but wait for signals.

A signal that raised an exception in the middle of the work would be lost in a finalizer or an import, would wait for
the end of a call into C, and would be caught by whoever catches everything. Here nothing is raised: the main thread
removes what is unfinished, says what is there, and ends the process, whatever the other threads do. What appears under
its name does so while :func:`held`, so that it is known to be there or not. Outside :func:`run`, in a user's own
program, all this only keeps lists.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import subprocess

__all__ = [
    "STOPPED",
    "child",
    "enough",
    "finishing",
    "gently",
    "happened",
    "held",
    "left",
    "run",
    "searching",
    "stop",
    "temporary",
    "written",
]

#: the exit code of work that was stopped
STOPPED = 130
#: seconds that tidying up, or what was held, may take; the process then ends as it is
_GRACE = 5.0
#: seconds that a server may take to end by itself
_GENTLE = 15.0
#: as much as the main thread of Linux has; others have less
_STACK = 16 << 20
#: what the main thread hears when the work is done; a signal is heard as its number
_DONE = b"\0"


class _Process:
    """What this process does, has done, and must undo."""

    def __init__(self) -> None:
        self.holding = threading.RLock()
        self.temporary: set[Path] = set()
        self.children: set[subprocess.Popen[bytes]] = set()
        self.written: list[str] = []
        self.gentle: list[Callable[[], None]] = []
        self.say: Callable[[str], None] | None = None
        self.code: int | None = None
        self.finishing = False
        self.first: Callable[[], None] | None = None
        self.enough = False


_process = _Process()


@contextlib.contextmanager
def temporary(path: Path) -> Iterator[None]:
    """Remove a file or folder at the end of the block, or when the process is stopped in the middle of it."""
    _process.temporary.add(path)
    try:
        yield
    finally:
        _remove(path)
        _process.temporary.discard(path)


@contextlib.contextmanager
def child(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill a process, and those that it started in its session, at the end of the block, or when this one is stopped.

    The process must have a session of its own.
    """
    _process.children.add(process)
    try:
        yield
    finally:
        _kill(process)
        _process.children.discard(process)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Let a stop wait for the end of the block, which must be short."""
    with _process.holding:
        yield


def finishing() -> None:
    """Let a stop wait for the end of the work: only words are left."""
    if _process.say is not None and not _process.finishing:
        _process.holding.acquire()
        _process.finishing = True


def written(path: Path, words: str = "was written") -> None:
    """Note what is there now, unless it is a part of something unfinished."""
    if not _process.temporary.intersection(path.absolute().parents):
        happened(f"`{path}` {words}")


def happened(sentence: str) -> None:
    """Note what cannot be undone, to be said if the work is stopped."""
    if _process.say is not None:
        _process.written.append(sentence)


def left() -> str:
    """Say what is there of the work so far."""
    return "; ".join(dict.fromkeys(_process.written)) or "nothing was written"


@contextlib.contextmanager
def gently(end: Callable[[], None]) -> Iterator[None]:
    """Stop by calling ``end``, after which the block ends by itself: what servers need."""
    _process.gentle.append(end)
    try:
        yield
    finally:
        _process.gentle.remove(end)


@contextlib.contextmanager
def searching(say: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C in the block end a search with the best that it has, after ``say``; the second stops.

    For a person at a terminal: programs that send a signal want the end.
    """
    _process.first, _process.enough = say, False
    try:
        yield
    finally:
        _process.first = None


def enough() -> bool:
    """Return whether a person has asked a search to make do with the best that it has."""
    return _process.enough


def run(work: Callable[[], int], *, say: Callable[[str], None], ignored: Collection[str] = ()) -> NoReturn:
    """Do the work of this process in a thread of its own, and end the process with its exit code, or on a signal.

    The work must not raise. If it is stopped, ``say`` is called with a sentence on what is there; it must import
    nothing. Signals that are ``ignored``, by name, are for others. The interpreter is not taken apart at the end, lest
    an engine's thread or a late signal decide on the exit code.
    """
    _process.say, _process.code = say, None
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None or (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):  # as nohup wants
            continue
        signal.signal(number, signal.SIG_IGN if name in ignored else _signalled)
    # The system may give a signal to any thread, and then a main thread that waits for a lock would not hear of it
    # before its wait is over; everything that happens comes as a byte to this socket, whichever thread it came to.
    heard, told = _above_the_standard_streams()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    before = threading.stack_size(_STACK)
    thread = threading.Thread(target=_work, args=(work, told), name="shoal", daemon=True)
    thread.start()
    threading.stack_size(before)
    heard.settimeout(0.5)
    while thread.is_alive():
        with contextlib.suppress(TimeoutError):
            if heard.recv(1) == _DONE:
                break
    thread.join()
    _leave(3 if _process.code is None else _process.code)


def _above_the_standard_streams() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a socket whose numbers are above 2: what is closed there stays closed, to be found so."""
    *lower, pair = [socket.socketpair() for _ in range(3)]
    for each in lower:
        for end in each:
            end.close()
    return pair


def _leave(code: int) -> NoReturn:
    """End the process, whatever other threads and their engines are still busy with."""
    _tidy_up()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _work(work: Callable[[], int], told: socket.socket) -> None:
    try:
        code = work()
        with held():
            _process.code = code
    finally:
        if _process.finishing:
            _process.holding.release()
        with contextlib.suppress(BlockingIOError):  # it is full of signals, and the thread's end will be seen
            told.send(_DONE)


def _signalled(number: int, _frame: FrameType | None) -> None:
    if number == signal.SIGINT and _process.first is not None:
        say, _process.first, _process.enough = _process.first, None, True
        say()
    elif _process.gentle:
        for end in reversed(_process.gentle):
            end()
        _end_after(_GENTLE)
    else:
        stop()


def stop() -> None:
    """End the process: remove what is unfinished and say what is there. Work that is finished keeps its exit code."""
    try:
        _end_after(_GRACE)
        _process.holding.acquire(timeout=_GRACE - 1)
        _tidy_up()
        if _process.code is None and _process.say is not None:
            _process.say(left())
    finally:  # whatever failed: an exit code of 1 would be a verdict
        os._exit(STOPPED if _process.code is None else _process.code)


def _tidy_up() -> None:
    for process in list(_process.children):
        _kill(process)
    for path in list(_process.temporary) * 3:  # an engine may be writing into it
        _remove(path)


def _end_after(seconds: float) -> None:
    timer = threading.Timer(seconds, lambda: os._exit(STOPPED))
    timer.daemon = True
    timer.start()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(Exception):  # it has ended, or does not within a second
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait(1)


def _remove(path: Path) -> None:
    for _ in range(2):  # what fails once may work the second time, and what is left would be found by the next run
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
