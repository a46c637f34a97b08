"""The command line, on the public API only; here the program ``shoal``, light, so that signals are heeded at once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

from shoal import stopping

#: clears the line of a terminal and shows the cursor, which a progress bar hides
_PLAIN_LINE = b"\r\x1b[2K\x1b[?25h"


#: how the terminal was at the start: a question for a passphrase hides what is typed
_TERMINAL: list[Callable[[], None]] = []


def main() -> NoReturn:
    """Run the program and end the process with its exit code."""
    if os.isatty(0):
        with suppress(ImportError):  # Windows
            import termios

            with suppress(termios.error):
                _TERMINAL.append(partial(termios.tcsetattr, 0, termios.TCSANOW, termios.tcgetattr(0)))
    stopping.run(_command, say=_stopped)


def _command() -> int:
    # imports take a while, and a signal may come in the middle of them
    from shoal.cli._main import command

    return command()


def _stopped(left: str) -> None:
    """Say that the work was stopped: nothing is imported here, whatever the thread that works is importing."""
    sentence = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in f"Stopped; {left}.")
    wants_json = "--json" in sys.argv
    line = json.dumps({"error": {"problems": [sentence], "hint": None}}) if wants_json else f"Error: {sentence}"
    for restore in _TERMINAL:
        with suppress(Exception):
            restore()
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, _PLAIN_LINE)
        os.write(1 if wants_json else 2, f"{line}\n".encode(errors="backslashreplace"))
