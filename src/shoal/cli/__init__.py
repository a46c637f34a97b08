"""The command line: one file per command, on the public API only."""

from shoal.cli._main import main

__all__ = ["main"]
