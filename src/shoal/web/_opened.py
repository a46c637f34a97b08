"""Tables held open, so that a step does not read the file again; the rest of the app sees one at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal import Table

__all__ = ["OpenTables"]


class OpenTables:
    """The tables used last, each with a lock: an engine's connection is for one thread at a time."""

    def __init__(self, limit: int = 3) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._tables: OrderedDict[Path, tuple[threading.Lock, list[Table]]] = OrderedDict()

    @contextmanager
    def open(self, path: Path) -> Iterator[Table]:
        """Give the table in ``path``, read once."""
        import shoal

        with self._lock:
            lock, held = self._tables.setdefault(path, (threading.Lock(), []))
            self._tables.move_to_end(path)
            while len(self._tables) > self._limit:
                self._tables.popitem(last=False)
        with lock:
            if not held:
                held.append(shoal.read(path))
            yield held[0]

    def forget(self, folder: Path) -> None:
        """Let go of the tables in ``folder``."""
        with self._lock:
            for path in [path for path in self._tables if path.parent == folder]:
                del self._tables[path]
