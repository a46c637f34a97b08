"""How the app is entered: the page that leads a browser in, and the token of scripts."""

from __future__ import annotations

import contextlib
import html
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import InputError

__all__ = ["api_token", "doorway"]

_TOKEN = re.compile(r"[A-Za-z0-9_.~+/=-]{32,512}")


@contextmanager
def doorway(address: str) -> Iterator[Path]:
    """Give a page, readable by its owner alone, that leads to ``address``.

    The address holds the key to the app. On the command line of a browser all users of the machine would see it.
    """
    with tempfile.TemporaryDirectory(prefix="shoal-open-") as folder:
        path = Path(folder) / "open.html"
        path.touch(mode=0o600)
        shown = html.escape(address, quote=True)
        path.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Shoal</title>'
            f'<meta http-equiv="refresh" content="0; url={shown}"><p><a href="{shown}">Open Shoal</a></p>',
            encoding="utf-8",
        )
        yield path


def api_token(path: Path) -> str:
    """Return the token that ``path`` holds; a new one is written where there is no file.

    Raises
    ------
    InputError
        If others can read the file, or what it holds is too short or no token.
    """
    try:
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        shared = sys.platform != "win32" and path.stat().st_mode & 0o077
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is not a text").lower()
        raise InputError(f"the API token file {path} cannot be used: {reason}") from None
    if shared:
        raise InputError(f"others can read the API token file {path}", hint=f"chmod 600 {path}")
    if _TOKEN.fullmatch(token) is None:
        raise InputError(
            f"the API token file {path} must hold one token of 32 to 512 letters, digits and -_.~+/=",
            hint="remove the file, and one is made",
        )
    return token
