"""Finished points on disk: one JSON file each, so that a comparison that was stopped goes on where it was."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from shoal.comparison._point import Point
from shoal.errors import OutputError

__all__ = ["Store"]

_FORMAT = 3


class Store:
    """A folder of finished points, or nothing that remembers nothing."""

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"the folder `{self._folder.name}` cannot be made: {_reason(error)}") from None

    def find(self, point: Point) -> Point | None:
        """Return a finished point with the same key, numbered as asked for; a damaged file counts as none."""
        if self._folder is None:
            return None
        try:
            content = json.loads((self._folder / f"{point.key}.json").read_text(encoding="utf-8"))
            if content.pop("format") != _FORMAT:
                return None
            found = Point.from_json(content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return replace(found, number=point.number) if found.key == point.key else None

    def keep(self, point: Point) -> None:
        """Write a finished point; it is there whole or not at all."""
        if self._folder is None:
            return
        path = self._folder / f"{point.key}.json"
        draft = path.with_suffix(f".{os.getpid()}.draft")
        try:
            draft.write_text(json.dumps({"format": _FORMAT, **point.to_json()}, indent=2) + "\n", encoding="utf-8")
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise OutputError(f"a point cannot be written to `{self._folder.name}`: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    return (error.strerror or "the system refuses").lower()
