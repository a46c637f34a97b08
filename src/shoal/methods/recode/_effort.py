"""Limits of a search's work, counted in cells that it looks at.

A clock would make the result depend on how busy the machine is. Cells are the same on every machine: the same table
under the same plan is searched as far, and gives the same release.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

#: Cells in one unit of effort, about a second's work of one processor of 2020.
CELLS = 2.0**27


def _never() -> bool:
    return False


@dataclass(slots=True)
class _Spent:
    cells: float = 0.0


class Effort:
    """The work that a search may still do. It ends earlier if a person has ``enough``, or at a limit of time.

    Parameters
    ----------
    units
        How many `CELLS` may be looked at; None: as many as it takes.
    seconds
        The limit of time that somebody wished for, if any.
    """

    def __init__(
        self, units: float | None = None, *, seconds: float | None = None, enough: Callable[[], bool] = _never
    ) -> None:
        self._spent, self._enough = _Spent(), enough
        self._most = math.inf if units is None else float(units) * CELLS
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds

    def spend(self, cells: float) -> None:
        """Count cells that were looked at."""
        self._spent.cells += cells

    def part(self, share: float) -> Effort:
        """Return the limit for a part of what is left; what is spent in it is spent of the whole."""
        part = copy.copy(self)
        part._most = self._spent.cells + share * self.cells
        part._deadline = time.monotonic() + share * self.seconds
        return part

    @property
    def cells(self) -> float:
        """The cells that may still be looked at."""
        return max(self._most - self._spent.cells, 0.0)

    @property
    def seconds(self) -> float:
        """The seconds that are left."""
        return max(self._deadline - time.monotonic(), 0.0)

    @property
    def limited(self) -> bool:
        """Whether there is any limit of work or time."""
        return math.isfinite(self._most) or math.isfinite(self._deadline)

    @property
    def over(self) -> bool:
        """Whether the search must make do with what it has."""
        return self._spent.cells >= self._most or self._enough() or time.monotonic() >= self._deadline
