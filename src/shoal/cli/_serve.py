"""``shoal serve``: the app in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _output
from shoal.errors import MissingExtraError

__all__ = ["EXAMPLES", "serve"]

EXAMPLES = """\b
Examples:
  shoal serve
  shoal serve --ephemeral --no-browser
"""


def serve(
    *,
    port: Annotated[int, typer.Option(help="The port on this machine; 0 takes a free one.", min=0, max=65535)] = 0,
    state: Annotated[Path | None, typer.Option(help="The folder where tables and releases are kept.")] = None,
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Keep nothing: remove all files on exit.")] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the address in your browser.")] = True,
    upload_limit: Annotated[int, typer.Option(help="The largest file to accept, in megabytes.", min=1)] = 4096,
) -> None:
    """Open the app: the whole way from a table to a release in a browser, on this machine only."""
    _output.json_wanted(wanted=False)
    try:
        from shoal.web import serve as run
    except ImportError:
        raise MissingExtraError("the web app", extra="web") from None
    run(port=port, folder=state, ephemeral=ephemeral, browser=browser, upload_limit=upload_limit * 2**20)
