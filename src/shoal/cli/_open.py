"""``shoal open``: the running app in another browser window."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from shoal.cli import _output
from shoal.errors import MissingExtraError

EXAMPLES = """\b
Examples:
  shoal open
  shoal open --no-browser
"""


def open_app(
    *,
    state: Annotated[Path | None, Option(help="The state folder of the app, if it is not the usual one.")] = None,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the app in your browser.")] = True,
) -> None:
    """Open the running app in another browser window.

    It has the tables, runs and releases of the first window.
    """
    try:
        from shoal.web import open_again
    except ImportError:
        raise MissingExtraError("the web app", extra="web") from None
    _output.line(f"Shoal is open at {open_again(state, browser=browser)}")
