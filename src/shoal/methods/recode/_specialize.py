"""Top-down specialisation: the local recoding that loses least."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import Problems
from shoal.kernels.partition import Splitting, partition
from shoal.methods.recode._draft import LocalDraft, OccupiedTuples
from shoal.methods.recode._lattice import by_size, smallest_class
from shoal.methods.recode._local import ENDS, LocalMethod, LocalTask, covers, ordered
from shoal.methods.recode._mondrian import TopDown


@dataclass(frozen=True, slots=True, kw_only=True)
class Specialize(LocalMethod):
    """Start with all records together and split, attribute by attribute, as long as it saves cost.

    A group of records is split into the children of the value it releases (numbers and dates: into two intervals).
    Children that are too small stay behind together at the value of their parent, and borrow from children that can
    spare records where they are still too few; of the attributes the one is taken that saves most for the information
    it uses up; in small groups every attribute is tried to the end. :mod:`shoal.kernels.partition` has the details.

    Where models ask for more than a number of records, or persons have several of them, an attribute is only split if
    they hold in all parts, as in :class:`Mondrian`, without borrowing and foresight.

    Parameters
    ----------
    foresight
        Groups of up to this many times the smallest size are split with foresight; 0 is fastest.
    intervals
        Whether numbers and dates are released as intervals of the domain, rather than as values of their hierarchy.

    Guarantee
    ---------
    That of :class:`Mondrian`.

    Assumptions
    -----------
    Groups may overlap, so that a record could have been released in another way: only equal released values make a
    class, as models define it. The ends of an interval are values of its records, so that an extreme value shows
    [LQS10, section 3]; without ``intervals`` it does not. Cost O(tuples * attributes^2 * depth).

    Examples
    --------
    >>> Specialize(foresight=0).parameters()["foresight"]
    0
    """

    name: ClassVar[str] = "specialize"
    top_down: ClassVar[bool] = True
    foresight: int = 100
    intervals: bool = False

    @property
    def caveats(self) -> tuple[str, ...]:
        """What intervals show: their ends are values of records."""
        return (ENDS,) if self.intervals else ()

    def _check(self, problems: Problems) -> None:
        if isinstance(self.foresight, bool) or not isinstance(self.foresight, int) or self.foresight < 0:
            problems.add(f"`foresight` of `{self.title}` must be an integer in [0, inf); got {self.foresight}")

    def drafts(self, task: LocalTask) -> Iterator[LocalDraft]:
        """Make one draft."""
        tuples = OccupiedTuples.of(task.frequencies)
        intervals = ordered(task.frequencies, intervals=self.intervals)
        costs = covers(task, intervals)
        if by_size(task.models) and task.frequencies.holders is None:
            size = smallest_class(task.models)
            window = self.foresight * size
            # half of the time for foresight, most of the rest for what is left to split; the release is yet to be made
            seconds = task.seconds
            how = Splitting(smallest=size, window=window, seconds=seconds / 2, limit=seconds * 0.9)
            labels = partition(tuples.columns, tuples.counts, costs, how).labels
        else:
            labels = TopDown(task, tuples, costs, relaxed=True, prefer="gain").run()
        draft = LocalDraft(task.frequencies)
        draft.cover(np.append(labels, np.int32(-1))[tuples.labels], ordered=intervals)
        yield draft
