"""How the commands speak: styled on a terminal, plain in a pipe, JSON on request."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import NoReturn

from shoal.errors import ShoalError

__all__ = [
    "Stopped",
    "error",
    "json_wanted",
    "line",
    "print_json",
    "progress",
    "raise_if_stopped",
    "stop",
    "table",
    "text",
    "warning",
]

_JSON = {"wanted": False}
_STOP = {"wanted": False}


class Stopped(BaseException):
    """The user or the system asked us to stop; a command that catches it says what is left, and ends."""


def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Note that we are asked to stop, and do."""
    _STOP["wanted"] = True
    raise Stopped


def raise_if_stopped() -> None:
    """Stop if we were asked to and some library, in the middle of an import for example, swallowed that."""
    if _STOP["wanted"]:
        raise Stopped


def json_wanted(*, wanted: bool) -> None:
    """Note that the user asked for JSON, so that errors are JSON too."""
    _JSON["wanted"] = wanted


def line(content: str = "", *, style: str | None = None) -> None:
    """Print one line, styled if standard output is a terminal."""
    if style is None or not _styled(sys.stdout):
        sys.stdout.write(content + "\n")
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(content, style=style, markup=False)


def warning(text: str) -> None:
    """Print a note for the user that is not part of the result."""
    sys.stderr.write(f"Note: {text}\n")


def error(problem: ShoalError) -> int:
    """Show an error and return its exit code."""
    if _JSON["wanted"]:
        print_json({"error": {"problems": list(problem.problems), "hint": problem.hint}})
    elif _styled(sys.stderr):
        from rich.console import Console

        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print("Error: ", style="bold red", end="", markup=False)
        console.print(str(problem), markup=False)
    else:
        sys.stderr.write(f"Error: {problem}\n")
    return problem.exit_code


def print_json(value: object) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, default=_plain, indent=2, ensure_ascii=False) + "\n")


def text(lines: str) -> None:
    """Print lines, those at the left as titles."""
    for each in lines.splitlines():
        line(each, style="bold" if each and not each.startswith(" ") else None)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a small table: the first column left, the others right."""
    from shoal.report import table_lines

    text("\n".join(table_lines(title, header, rows)))


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
