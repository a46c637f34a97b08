"""The way into an app that runs on a state folder: its address, for the owner of the folder alone."""

from __future__ import annotations

import html
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from shoal.errors import InputError
from shoal.web._store import read_json, write_json
from shoal.writing import alone, write_file

_RUNNING, _PAGE, _LOCK = "running.json", "open.html", "lock"


@dataclass(frozen=True, slots=True)
class Doorway:
    """The address of a running app, which holds the key to it, and a private page that leads there.

    On the command line of a browser all users of the machine would see the address; they cannot read the page.
    """

    address: str
    page: Path


@contextmanager
def doorway(folder: Path, address: str) -> Iterator[Doorway]:
    """Keep the way into the app that runs on ``folder``, as long as it runs.

    Raises
    ------
    InputError
        If another app runs on the folder.
    """
    with alone(folder / _LOCK) as first:
        if not first:
            raise InputError(
                "the app is open already with this state folder",
                hint="run `shoal open`, or choose another folder with --state",
            )
        page = folder / _PAGE
        shown = html.escape(address, quote=True)
        text = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Shoal</title>'
            f'<meta http-equiv="refresh" content="0; url={shown}"><p><a href="{shown}">Open Shoal</a></p>'
        )
        write_file(page, text.encode(), overwrite=True, private=True)
        write_json(folder / _RUNNING, {"address": address, "process": os.getpid()})
        try:
            yield Doorway(address, page)
        finally:
            page.unlink(missing_ok=True)
            (folder / _RUNNING).unlink(missing_ok=True)


def find_doorway(folder: Path) -> Doorway:
    """Return the way into the app that runs on a folder.

    Raises
    ------
    InputError
        If none does.
    """
    address = str((read_json(folder / _RUNNING) or {}).get("address", ""))
    port = urlsplit(address).port
    if port is not None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            port = None
    if port is None:
        raise InputError("no app is open with this state folder", hint="start it with `shoal serve`")
    return Doorway(address, folder / _PAGE)
