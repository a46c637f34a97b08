"""The app's files: tables, runs and verifications, each in a folder of its own.

Names of folders and files are made here. Nothing that a client sends becomes part of a path, but for ids and names that
were checked against what exists.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError, reason

_ID = re.compile(r"[0-9a-f]{16}")
ABOUT = "about.json"


class NotFound(InputError):
    """There is no such table, run or file."""


class Changed(InputError):
    """Somebody else, or another window, was faster."""


def now() -> str:
    """Return the time in UTC, to the millisecond, so that texts sort as times do."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Shelf:
    """Folders of one sort, each found by a random id."""

    #: Where they lie.
    folder: Path
    #: What messages call one of them.
    thing: str

    def new(self) -> str:
        """Make an empty folder and return its id."""
        identity = secrets.token_hex(8)
        (self.folder / identity).mkdir(mode=0o700)
        return identity

    def path(self, identity: str) -> Path:
        """Return the folder with this id."""
        folder = self.folder / identity
        if _ID.fullmatch(identity) is None or not folder.is_dir():
            raise self._missing()
        if _has_links(folder):
            raise InputError(
                f"there is a link in the place of this {self.thing} or of one of its files",
                hint=f"the app makes none: see who put it there, or delete the {self.thing}",
            )
        return folder

    def _missing(self) -> NotFound:
        return NotFound(f"there is no such {self.thing}", hint="it may have been deleted in another window")

    def about(self, identity: str) -> dict[str, Any]:
        """Return what was noted about it."""
        document = read_json(self.path(identity) / ABOUT)
        if document is None:
            raise self._missing()
        return {"id": identity, **document}

    def note(self, identity: str, about: dict[str, Any]) -> None:
        """Write down what there is to know about it."""
        write_json(self.path(identity) / ABOUT, {key: value for key, value in about.items() if key != "id"})

    def all(self) -> Iterator[dict[str, Any]]:
        """Return all that are complete, the newest first."""
        documents = []
        for folder in self.folder.iterdir():
            about = None if _ID.fullmatch(folder.name) is None or _has_links(folder) else read_json(folder / ABOUT)
            if about is not None:
                documents.append({"id": folder.name, **about})
        yield from sorted(documents, key=lambda each: str(each.get("created", "")), reverse=True)

    def remove(self, identity: str) -> None:
        """Delete it with all its files."""
        folder = self.folder / identity
        if _ID.fullmatch(identity) is None or not folder.is_dir():
            raise self._missing()
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder, ignore_errors=True)


class Store:
    """All that the app keeps, below one folder that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: uploaded tables with their schemas
        self.tables = Shelf(folder / "tables", "table")
        #: runs with their releases
        self.runs = Shelf(folder / "runs", "run")
        #: uploaded releases that are checked
        self.verifications = Shelf(folder / "verifications", "verification")
        #: tables that analysts may ask about
        self.vaults = Shelf(folder / "vaults", "vault")
        #: data sets of several tables
        self.datasets = Shelf(folder / "datasets", "data set")
        #: what private releases of a table are paid from
        self.accounts = Shelf(folder / "accounts", "account")
        #: pairs of keys that sign releases
        self.keys = folder / "keys"
        #: where engines put what does not fit into memory
        self.scratch = folder / "scratch"
        shelves = (self.tables, self.runs, self.verifications, self.vaults, self.datasets, self.accounts)
        places = (*(shelf.folder for shelf in shelves), self.keys, self.scratch)
        if links := [place.name for place in places if place.is_symlink()]:
            raise InputError(
                f"the app's folder has links in the place of: {', '.join(links)}",
                hint="the folder itself may be a link; move all of it, or choose another one with --state FOLDER",
            )
        try:
            for place in (folder, *places):
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"the app's folder cannot be created: {reason(error)}",
                hint="choose another one with --state FOLDER, or use --ephemeral",
            ) from None

    def account(self, identity: str) -> Path:
        """Return the folder of an account itself."""
        return self.accounts.path(identity) / "account"


def _has_links(folder: Path) -> bool:
    """Whether a folder is a link, or has one among its files: somebody else put it there."""
    try:
        return folder.is_symlink() or (folder.is_dir() and any(path.is_symlink() for path in folder.iterdir()))
    except FileNotFoundError:  # deleted meanwhile
        return False


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the content of a file that this app wrote, or None where there is none; links are not followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a file that appears whole or not at all, in the place of a link, too."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with partial.open("x", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)  # noqa: PTH105 - the one call that replaces a file in one step on every system
