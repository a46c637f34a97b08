"""Classes of records for any models, and the cells that each class loses: those in which its records differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.kernels import Codes, Counts, Integers, Mask
from shoal.methods.classes._combinations import Combinations
from shoal.methods.classes._fewest_cells import Gathering
from shoal.tables import group

#: the classes of all records, what each record loses, and which classes break a promise
Verdict = Callable[[Counts, Mask], Mask]


def classes_of_records(
    codes: Codes,
    k: int,
    weights: tuple[int | None, ...],
    broken: Callable[[Counts], Mask],
    persons: Counts | None = None,
) -> Counts | None:
    """Put records into classes of about k people that lose few cells, merged until no class is broken.

    Returns None where classes are broken that no permitted suppression can merge with others.
    """
    labels, firsts = group(codes)
    apart = np.arange(len(codes)) if persons is None else _once_each(labels, persons)
    counts = np.bincount(labels[apart]).astype(np.int64)
    crowds = Gathering(Combinations(codes=codes[firsts], counts=counts, k=k, weights=weights))
    crowds.gather()
    crowds.improve()
    return _merged(codes, _spread(labels, apart, len(firsts), crowds), weights, broken)


def _once_each(labels: Counts, persons: Counts) -> Integers:
    """Return one record of every person of every combination, in order."""
    return np.sort(np.unique(labels * (int(persons.max()) + 1) + persons, return_index=True)[1])


def _spread(labels: Counts, apart: Integers, number: int, crowds: Gathering) -> Counts:
    """Return the class of every record; records that are lent are taken evenly from all of their combination.

    Those that may be lent are ``apart``: one of every person, so that the combination keeps the persons it needs.
    """
    order = apart[np.argsort(labels[apart], kind="stable")]
    starts = np.searchsorted(labels[order], np.arange(number + 1))
    moved = np.arange(number)
    lent: dict[int, list[tuple[int, int]]] = {}
    for place, crowd in enumerate(crowds.crowds):
        for row in crowd.members:
            moved[row] = number + place
        for row, wanted in crowd.lent.items():
            lent.setdefault(row, []).append((number + place, wanted))
    result = moved[labels]
    for row, wishes in lent.items():
        rows = order[starts[row] : starts[row + 1]]
        wanted = sum(each for _, each in wishes)
        taken = rows[np.arange(wanted) * len(rows) // wanted]
        result[taken] = np.repeat([name for name, _ in wishes], [each for _, each in wishes])
    return np.unique(result, return_inverse=True)[1]


@dataclass(slots=True, eq=False)
class _Summary:
    """What every class has: a record, which columns differ, and how many records; none where it was merged away."""

    first: Codes
    differs: Mask
    sizes: Counts

    @classmethod
    def of(cls, codes: Codes, labels: Counts) -> _Summary:
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        low, high = (function.reduceat(codes[order], starts, axis=0) for function in (np.minimum, np.maximum))
        return cls(codes[order[starts]], low != high, np.bincount(labels))

    def nearest(self, one: int, prices: Counts, forbidden: Mask) -> int | None:
        """Return the class that a class is merged with at the least cost; None where none may be."""
        differs = self.differs | self.differs[one] | (self.first != self.first[one])
        after = (self.sizes + self.sizes[one]) * (differs @ prices)
        cost = after - self.sizes * (self.differs @ prices)
        able = (self.sizes > 0) & ~(differs & forbidden).any(axis=1)
        able[one] = False
        if not able.any():
            return None
        return int(np.flatnonzero(able)[np.argmin(cost[able])])

    def merge(self, one: int, other: int) -> None:
        """Put a class into another one."""
        self.differs[other] |= self.differs[one] | (self.first[other] != self.first[one])
        self.sizes[other] += self.sizes[one]
        self.sizes[one] = 0


def _merged(
    codes: Codes, labels: Counts, weights: tuple[int | None, ...], broken: Callable[[Counts], Mask]
) -> Counts | None:
    """Merge every broken class with the one that costs least, until none is broken."""
    prices = np.array([weight or 0 for weight in weights], dtype=np.int64)
    forbidden = np.array([weight is None for weight in weights])
    while True:
        wrong = np.flatnonzero(broken(labels))
        if not len(wrong):
            return labels
        summary = _Summary.of(codes, labels)
        goal = np.arange(len(summary.sizes))
        moved = False
        for one in wrong[np.argsort(summary.sizes[wrong], kind="stable")].tolist():
            if goal[one] != one or (goal == one).sum() > 1:
                continue  # it is part of another class by now, or others have become part of it
            other = summary.nearest(one, prices, forbidden)
            if other is not None:
                summary.merge(one, other)
                goal[goal == one] = other
                moved = True
        if not moved:
            return None
        labels = np.unique(goal[labels], return_inverse=True)[1]


def hidden_in(codes: Codes, labels: Counts) -> Mask:
    """Return the cells to suppress: in every class, the columns in which its records differ."""
    return np.asarray(_Summary.of(codes, labels).differs[labels])


def restored(codes: Codes, labels: Counts, hidden: Mask, weights: tuple[int | None, ...], broken: Verdict) -> Mask:
    """Show cells again, column by column and class by class, as long as no promise is broken."""
    result = hidden.copy()
    columns = sorted(range(codes.shape[1]), key=lambda j: -int(result[:, j].sum()) * (weights[j] or 0))
    for j in columns:
        names, sizes = np.unique(labels[result[:, j]], return_counts=True)
        waiting = [names[np.argsort(-sizes, kind="stable")]]
        while waiting:
            some = waiting.pop()
            tried = result.copy()
            tried[np.isin(labels, some), j] = False
            if len(some) and not broken(*_classes(codes, tried)).any():
                result = tried
            elif len(some) > 1:
                waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
    return result


def _classes(codes: Codes, hidden: Mask) -> tuple[Counts, Mask]:
    return group(np.where(hidden, 0, codes + 1).astype(np.int32))[0], hidden


def rows_of(labels: Counts) -> Integers:
    """Return one record of every class."""
    return np.unique(labels, return_index=True)[1]
