"""Mondrian: multidimensional recoding by median and hierarchy splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.methods.recode._draft import Draft, Tuples
from shoal.methods.recode._local import LocalMethod, Task, covers, ordered
from shoal.methods.recode._top_down import TopDown

__all__ = ["Mondrian"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian(LocalMethod):
    """Split the records by their widest attribute, again and again, while all parts satisfy the models.

    Numbers and dates are split at the median and released as intervals; other attributes are split into the children of
    the value that covers them, and release the lowest value that does (LeFevre, DeWitt and Ramakrishnan 2006).

    Parameters
    ----------
    relaxed
        Strict partitions do not overlap. Relaxed ones may: children that would violate a model stay behind together at
        the value of their parent, and the records of the median value go to both halves. A departure from the paper:
        records that agree on *all* quasi-identifiers stay together, so that the recoding is a function of them.
    intervals
        Whether numbers and dates are split at the median, rather than by their hierarchy.

    Guarantee
    ---------
    Syntactic: the classes of the release, records with equal released values, satisfy the models. Every released value
    is an ancestor of the original or an interval that holds it. No release is worse than the best full-domain one.

    Assumptions
    -----------
    The models are decided on the parts of every split, the rest of the table as it is. The ends of an interval are
    values of its records, so that an extreme value shows [LQS10, section 3]; without ``intervals`` it does not. Cost
    O(tuples * attributes) per round, of as many rounds as the deepest region has splits.

    Examples
    --------
    >>> Mondrian(relaxed=True).parameters()["relaxed"]
    True
    """

    name: ClassVar[str] = "mondrian"
    title: ClassVar[str] = "Mondrian"
    top_down: ClassVar[bool] = True
    relaxed: bool = False
    intervals: bool = True

    def drafts(self, task: Task) -> Iterator[Draft]:
        """Make one draft."""
        tuples = Tuples.of(task.frequencies)
        intervals = ordered(task.frequencies, intervals=self.intervals)
        labels = TopDown(task, tuples, covers(task, intervals), relaxed=self.relaxed, prefer="widest").run()
        draft = Draft(task.frequencies)
        draft.cover(np.append(labels, np.int32(-1))[tuples.labels], ordered=intervals)
        yield draft
