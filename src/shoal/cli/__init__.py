"""The command line, on the public API only; here the program ``shoal``, light, so that signals are heeded at once."""

from __future__ import annotations

import sys
from typing import NoReturn

from shoal import stopping


def main() -> NoReturn:
    """Run the program and exit with its code."""
    sys.exit(stopping.run(_command, say=_stopped))


def _command() -> int:
    # imports take a while, and a signal may come in the middle of them
    from shoal.cli._main import command

    return command()


def _stopped(left: str) -> None:
    from shoal.cli import _output

    _output.stopped(left)
