"""One running DuckDB for the engines of many tests: to start one takes longer than most tests work."""

from __future__ import annotations

import functools
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from shoal.tables import _duckdb
from shoal.tables.formats import DuckDBFile

#: how many engines share one; what they leave behind is gone when the last of them is
_ENGINES = 200
_LIMITS = {"SHOAL_MEMORY", "SHOAL_THREADS"}


@contextmanager
def shared_duckdb() -> Iterator[None]:
    """Let engines connect to one database, in which no name is used twice, instead of starting one each.

    An engine has one of its own where it sets limits or attaches a file, and in a forked process.
    """
    process, taking, alone = os.getpid(), threading.Lock(), threading.local()
    start, attach = _duckdb._started, DuckDBFile.open
    running: Any = None
    left = 0

    def connected(spill: Path, limits: dict[str, Any]) -> Any:
        nonlocal running, left
        if _LIMITS & os.environ.keys() or os.getpid() != process or getattr(alone, "wanted", False):
            return start(spill, limits)
        with taking:
            if not left:
                running, left = start(Path(folder), limits), _ENGINES
            left -= 1
            return running.cursor()

    @functools.wraps(attach)
    def attached(*arguments: Any) -> Any:
        alone.wanted = True
        try:
            return attach(*arguments)
        finally:
            alone.wanted = False

    with (
        tempfile.TemporaryDirectory(prefix="shoal-tests-") as folder,
        patch.object(_duckdb, "_started", connected),
        patch.object(DuckDBFile, "open", attached),
    ):
        yield
