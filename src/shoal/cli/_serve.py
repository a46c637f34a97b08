"""``shoal serve``: the app in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from shoal.errors import MissingExtraError

EXAMPLES = """\b
Examples:
  shoal serve
  shoal serve --ephemeral --no-browser
  shoal serve --no-browser --port 8000 --api-token-file token.txt
"""


def serve(
    *,
    port: Annotated[int, Option(help="The port to use on this machine; 0 picks a free one.", min=0, max=65535)] = 0,
    state: Annotated[Path | None, Option(help="The folder in which tables and releases are kept.")] = None,
    ephemeral: Annotated[bool, Option("--ephemeral", help="Keep nothing: delete all files on exit.")] = False,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the app in your browser.")] = True,
    upload_limit: Annotated[int, Option(help="The largest file to accept, in megabytes.", min=1)] = 4096,
    api_token_file: Annotated[
        Path | None, Option(help="Accept scripts that present the token in this file, created if it does not exist.")
    ] = None,
) -> None:
    """Open the app in a browser.

    It leads all the way from a table to a release, and is reachable from this machine only.
    """
    try:
        from shoal.web import serve as run
    except ImportError:
        raise MissingExtraError("the web app", extra="web") from None
    run(
        port=port,
        folder=state,
        ephemeral=ephemeral,
        browser=browser,
        upload_limit=upload_limit * 2**20,
        api_token_file=api_token_file,
    )
