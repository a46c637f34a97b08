"""Output of the commands: styled on a terminal, plain in a pipe, JSON on request."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import logging
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

from shoal import stopping
from shoal.errors import OutputError, ShoalError, reason

_JSON = {"wanted": False}


class _Descriptor(io.FileIO):
    """Standard output or error; what cannot be written to it is dropped, and the reason kept."""

    failure: OSError | None = None

    def write(self, content: Any, /) -> int:
        """Write what the descriptor takes."""
        try:
            return super().write(content) or 0
        except OSError as error:
            self.failure = self.failure or error
            return len(content)


class Printed:
    """What became of the output."""

    def __init__(self) -> None:
        self._closed = _descriptors()
        self._output = _replaced("stdout", 1)
        _replaced("stderr", 2)

    def code(self, code: int) -> int:
        """Return the exit code: an output that got lost is an error, but not that its reader has enough."""
        failure = self._closed or self._output.failure
        if code or failure is None or failure.errno == errno.EPIPE:
            return code
        why = reason(failure)
        return _to_stderr(OutputError(f"the output could not be printed: {why}; {stopping.left()}."))


@contextmanager
def streams() -> Iterator[Printed]:
    """Print whatever the locale and the state of the descriptors; notes of the library become notes of ours."""
    printed = Printed()
    notes = logging.StreamHandler(sys.stderr)
    notes.setFormatter(logging.Formatter("Note: %(message)s"))
    notes.addFilter(_seen_only)
    logging.getLogger("shoal").addHandler(notes)
    if not os.environ.get("SHOAL_DEBUG"):
        # what libraries warn each other of stops no work, and what fails while they tidy up was told before
        warnings.simplefilter("ignore")
        sys.unraisablehook = lambda _: None
    yield printed
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _seen(content: str) -> str:
    """Return text in which every character that is not seen is spelt out."""
    if content.isascii() and content.isprintable():
        return content
    from shoal.report import clean

    return "\n".join(map(clean, content.split("\n")))


def _seen_only(record: logging.LogRecord) -> bool:
    record.msg, record.args = _seen(record.getMessage()), None
    return True


def _descriptors() -> OSError | None:
    """Open what is closed, lest a file of the release become the standard output; return the problem with that."""
    found = None
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError as error:
            os.open(os.devnull, os.O_RDWR)
            found = error if number == 1 else found
    return found


def _replaced(name: str, number: int) -> _Descriptor:
    before = getattr(sys, name)
    raw = _Descriptor(number, "w", closefd=False)
    encoding = "utf-8" if before is None else before.encoding
    at_once = number == 2 or raw.isatty()
    stream = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=at_once
    )
    setattr(sys, name, stream)
    return raw


def json_wanted(wanted: bool) -> bool:
    """Note whether the user asked for JSON, so that errors are JSON too."""
    _JSON["wanted"] = wanted
    return wanted


def line(content: str = "", *, style: str | None = None) -> None:
    """Print one line, styled if standard output is a terminal; names of columns cannot give it orders."""
    content = _seen(content)
    if style is None or not _styled(sys.stdout):
        sys.stdout.write(content + "\n")
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(content, style=style, markup=False)


def warning(text: str) -> None:
    """Print a note for the user that is not part of the result."""
    sys.stderr.write(f"Note: {_seen(text)}\n")


def error(problem: ShoalError) -> int:
    """Show an error and return its exit code; one that a stop brought about is not shown."""
    with stopping.held():
        if not _JSON["wanted"]:
            return _to_stderr(problem)
        print_json(_as_json(problem))
        return problem.exit_code


@runtime_checkable
class WrongUsage(Protocol):
    """What Typer raises where the arguments are not those of a command."""

    exit_code: int

    def show(self, file: IO[Any] | None = None) -> None:
        """Write how the command is used and what is wrong."""


def usage(problem: WrongUsage) -> int:
    """Show what is wrong with the arguments, in which nothing gives a terminal orders, and return the exit code."""
    shown = io.StringIO()
    problem.show(shown)
    sys.stderr.write(_seen(shown.getvalue()))
    return problem.exit_code


def _escaped(line: str) -> str:
    """Return a line of JSON in which every character that is not seen is an escape of JSON."""
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in line)


def _as_json(problem: ShoalError) -> dict[str, Any]:
    return {"error": {"problems": list(problem.problems), "hint": problem.hint}}


def _to_stderr(problem: ShoalError) -> int:
    if _styled(sys.stderr):
        from rich.console import Console

        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print("Error: ", style="bold red", end="", markup=False)
        console.print(_seen(str(problem)), markup=False)
    else:
        sys.stderr.write(f"Error: {_seen(str(problem))}\n")
    return problem.exit_code


def print_json(value: object) -> None:
    """Print a value as JSON; names of columns cannot give a terminal orders here, either."""
    lines = json.dumps(value, default=_plain, indent=2, ensure_ascii=False).split("\n")
    sys.stdout.write("\n".join(map(_escaped, lines)) + "\n")


def text(lines: str) -> None:
    """Print lines, those at the left as titles; sentences that a terminal has no room for are broken."""
    for each in _fitted(lines.splitlines()):
        line(each, style="bold" if each and not each.startswith(" ") else None)


def _fitted(lines: Sequence[str]) -> Iterator[str]:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    if not width or max(map(len, lines), default=0) <= width:
        yield from lines
        return
    whole: list[str] = []
    for each in lines:
        if whole and whole[-1].startswith("  - ") and re.match(r" {4}\S", each):
            whole[-1] += f" {each.strip()}"
        else:
            whole.append(each)
    for each in whole:
        columns = re.split(r"(?<=\S) {2,}", each)
        # what stands after a label goes on below itself, and a row of figures stays one row
        hang = 4 if len(columns) == 1 else len(each) - len(each.removeprefix(columns[0]).lstrip())
        if len(columns) < 4:
            yield from textwrap.wrap(each, max(width, 40), subsequent_indent=" " * hang, break_on_hyphens=False)
        else:
            yield each


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a small table: the first column left, the others right."""
    from shoal.report import table_lines

    text("\n".join(table_lines(title, header, rows)))


@contextmanager
def searching(what: str) -> Iterator[None]:
    """Let the first Ctrl-C of a person at a terminal end a search with the best that it has; ``what`` follows then."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        yield
        return
    told = f"\nStopping the search; {what} follows. Press Ctrl-C again to quit at once, with nothing written.\n"
    with stopping.searching(lambda: _tell(told)):
        yield


def _tell(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode(errors="backslashreplace"))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int, str], None] | None]:
    """Show progress on a terminal; give None, and stay silent, in a pipe."""
    if not _styled(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None, note="")

        def show(done: int, total: int, message: str) -> None:
            bars.update(task, completed=done, total=total or None, note=message)

        yield show


def _styled(stream: object) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)()) and "NO_COLOR" not in os.environ


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Fraction | Path):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")
