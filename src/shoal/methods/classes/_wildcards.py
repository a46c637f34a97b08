"""Suppressed cells as wildcards: a promise far weaker than k-anonymity, and a search for the fewest cells that keep it.

A record agrees with another if that one shows the same value in every cell that the record itself shows (and, where
only m columns count, in every m of them). Suppressing a cell of a record helps that record, and never another one: the
least that every record needs on its own is therefore a bound for all of them together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.errors import counted
from shoal.exact import WHOLE, optional
from shoal.guarantees import (
    CLASSES,
    Counted,
    Data,
    Decision,
    Event,
    Evidence,
    PromiseEntry,
    Requirement,
    Strength,
    Words,
)
from shoal.hierarchies import TOP
from shoal.kernels import Codes, Counts, Integers, Mask
from shoal.methods.classes._fewest_cells import Combinations
from shoal.methods.classes._promises import ClassPromise
from shoal.tables import group, tally


@dataclass(frozen=True, slots=True, repr=False)
class KWildcards(ClassPromise, Requirement):
    """Every record matches at least k records; suppressed cells count as wildcards.

    Offices that suppress cells often count like this. It is much weaker than k-anonymity, in which a suppressed cell
    is a value of its own.

    Parameters
    ----------
    k
        The least number of records that show what a record shows, itself included.
    m
        How many quasi-identifiers an intruder knows at most; None for all.

    Guarantee
    ---------
    Syntactic: for every released record r (and every set of m quasi-identifiers), at least k released records have,
    in all cells that r shows, the same values as r. Every such record is compatible with r in the sense of sdcMicro,
    so its count is at least k as well.

    Assumptions
    -----------
    An intruder knows of a person nothing but values that the person's record still shows. One who knows a suppressed
    value can exclude the records that show another value in that place, and may be left with one.

    Examples
    --------
    >>> print(KWildcards(3).statement())
    What a record still shows is true of at least 3 records, itself included.
    """

    k: int = field(metadata=WHOLE)
    m: int | None = field(default=None, metadata=optional(WHOLE))
    name: ClassVar[str] = "k-wildcards"
    strength: ClassVar[Strength] = Strength.SYNTACTIC

    def statement(self, words: Words = CLASSES) -> str:
        del words
        what = "What a record still shows" if self.m is None else f"What a record still shows in any {self.m} columns"
        return f"{what} is true of at least {self.k} records, itself included."

    def assumptions(self) -> tuple[str, ...]:
        most = "" if self.m is None else f", and at most {self.m} of them"
        return (
            f"An intruder knows of a person only values that the person's record still shows{most}.",
            "This is not k-anonymity: anyone who knows a suppressed value can rule out all records that show another "
            "one there, and may be left with the person's record alone.",
            "Sensitive values are not covered: all matching records may share one.",
        )

    def subject(self, entry: PromiseEntry) -> str:
        del entry
        return f"{self.name} k = {self.k}" + ("" if self.m is None else f", m = {self.m}")

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Count the records that show what each record shows, and those that look alike."""
        if any(step.persons != step.records for step in evidence.steps(Counted)):
            return False, "it counts records, and some are declared to belong to the same person"
        codes, hidden, counts = shown_by(evidence, evidence.data(entry))
        few = int(counts[agreeing(codes, hidden, counts, self.m) < self.k].sum())
        records = int(counts.sum())
        if few:
            return False, f"what {few:,} of {records:,} records show is true of fewer than {self.k}"
        fewer = int(counts[alike(codes, hidden, counts) < self.k].sum())
        return True, (
            f"holds for all {records:,} records; if a suppressed cell counts as a value of its own, {fewer:,} of them "
            f"look like fewer than {self.k - 1} others"
        )


def shown_by(evidence: Evidence, data: Data) -> tuple[Codes, Mask, Counts]:
    """Return the released combinations of quasi-identifiers, which of their cells are suppressed, and the records."""
    names = data.quasi_identifiers
    tallied = evidence.tally_labels(data, names)
    cells = np.array([list(row) for row in tallied], dtype=object).reshape(len(tallied), len(names))
    codes = np.stack(
        [np.unique([repr(value) for value in column], return_inverse=True)[1] for column in cells.T], axis=1
    )
    return codes.astype(np.int32), np.asarray(cells == TOP), np.array(list(tallied.values()), dtype=np.int64)


def alike(codes: Codes, hidden: Mask, counts: Counts) -> Counts:
    """Return how many records look like each combination, a suppressed cell being a value of its own."""
    labels = group(np.where(hidden, 0, codes + 1).astype(np.int32))[0]
    return np.asarray(tally(labels, counts, len(labels))[labels])


#: rounds in which records choose again what they lose
ROUNDS = 20
Columns = tuple[int, ...]
_NONE = np.iinfo(np.int64).max
_PARTS = 1_000


def agreeing(codes: Codes, hidden: Mask, counts: Counts, m: int | None = None) -> Counts:
    """Return how many records show what each combination shows, itself included; the fewest over any m columns."""
    columns = codes.shape[1]
    found = np.full(len(codes), _NONE)
    for chosen in itertools.combinations(range(columns), columns if m is None else min(m, columns)):
        part = list(chosen)
        np.minimum(found, _showing(codes[:, part], hidden[:, part], counts), out=found)
    return found


def _showing(codes: Codes, hidden: Mask, counts: Counts) -> Counts:
    """Return how many records show all that each combination shows."""
    showing = np.zeros(len(codes), dtype=np.int64)
    kinds, kind = np.unique(hidden, axis=0, return_inverse=True)
    for number, masked in enumerate(kinds):
        rows = np.flatnonzero(kind.ravel() == number)
        able = np.flatnonzero(~hidden[:, ~masked].any(axis=1))  # they show whatever these rows show
        shown = codes[np.ix_(able, np.flatnonzero(~masked))]
        labels = group(shown)[0] if shown.shape[1] else np.zeros(len(able), dtype=np.int64)
        totals = tally(labels, counts[able], len(able))[labels]
        position = np.full(len(codes), -1, dtype=np.int64)
        position[able] = np.arange(len(able))
        showing[rows] = totals[position[rows]]
    return showing


def shown_cells(task: Combinations, m: int | None = None) -> tuple[Mask, int]:
    """Return which cells of every combination to suppress, and what no such suppression costs less than.

    Combinations that no permitted suppression helps keep all their cells.
    """
    nothing = np.zeros(task.codes.shape, dtype=np.bool_)
    wanting = np.flatnonzero(agreeing(task.codes, nothing, task.counts, m) < task.k)
    hidden = nothing.copy()
    least = _choose(task, hidden, wanting, nothing, m)
    if task.unseen is not None:
        least = np.minimum(least, task.unseen)
    bound = int((least * task.counts[wanting]).sum())
    for _ in range(ROUNDS):
        broken = np.flatnonzero(agreeing(task.codes, hidden, task.counts, m) < task.k)
        if not len(broken):
            return hidden, bound
        _choose(task, hidden, broken, hidden.copy(), m)
    _settle(task, hidden, wanting, m)
    return hidden, bound


def _settle(task: Combinations, hidden: Mask, wanting: Integers, m: int | None) -> None:
    """Let combinations that still agree with too few count only on those that lose nothing, one round after the other.

    Each is settled at most once, so this ends.
    """
    lost = np.zeros_like(hidden)
    lost[wanting] = True
    settled = np.zeros(len(hidden), dtype=np.bool_)
    while True:
        broken = np.flatnonzero((agreeing(task.codes, hidden, task.counts, m) < task.k) & ~settled)
        if not len(broken):
            return
        _choose(task, hidden, broken, lost, m)
        settled[broken] = True


def _choose(task: Combinations, hidden: Mask, rows: Integers, others: Mask, m: int | None) -> Counts:
    """Hide the cheapest set of columns of each of the rows, while others lose ``others``; return what that costs each.

    Of sets that cost the same, the one of which others need least; then the first one: columns with many values, so
    that records lose the same ones.
    """
    cost, harm = np.full(len(rows), _NONE), np.full(len(rows), _NONE)
    needed = _count_missing(task, rows, others, m)
    for sets, ahead in task.sets():
        for columns in sets:
            weight, harmed = task.weight(columns), needed[:, list(columns)].sum(axis=1)
            able = np.flatnonzero((cost > weight) | ((cost == weight) & (harm > harmed)))
            counts = _agree_without(task, rows[able], columns, others, m)
            chosen = able[counts >= task.k]
            cost[chosen], harm[chosen] = weight, harmed[chosen]
            hidden[rows[chosen]] = False
            hidden[rows[chosen][:, None], list(columns)] = True
        if ahead is None or (cost <= ahead).all():
            break
    return np.where(cost == _NONE, 0, cost)


def _count_missing(task: Combinations, rows: Integers, hidden: Mask, m: int | None) -> Counts:
    """Return how much others need that each of the rows shows each column, in parts of a record.

    Whoever agrees with it on some columns, and without it with fewer than k, needs all of them; where fewer than 3k are
    left, a little. This guides the choice and decides nothing.
    """
    columns = task.codes.shape[1]
    counts = np.zeros((len(rows), columns), dtype=np.int64)
    for part, totals, able in _parts(task, rows, hidden, range(columns), m):
        left = totals - np.where(able, task.counts[rows], 0)
        broken = np.where(left < task.k, np.where(totals >= task.k, _PARTS * left, 0), 0)
        scarce = np.where((left >= task.k) & (left < 3 * task.k), _PARTS * task.k // (2 * np.maximum(left, 1)), 0)
        counts[:, part] += (broken + scarce)[:, None]
    return counts


def _agree_without(task: Combinations, rows: Integers, columns: Columns, hidden: Mask, m: int | None) -> Counts:
    """Return how many records agree with each of the rows, if it loses these columns and the others what is hidden."""
    shown = [j for j in range(task.codes.shape[1]) if j not in columns]
    counts = np.full(len(rows), _NONE)
    for _, totals, able in _parts(task, rows, hidden, shown, m):
        np.minimum(counts, totals + np.where(able, 0, task.counts[rows]), out=counts)
    return counts


def _parts(
    task: Combinations, rows: Integers, hidden: Mask, columns: Sequence[int], m: int | None
) -> Iterator[tuple[list[int], Counts, Mask]]:
    """Yield every m of some columns, how many records show what each of the rows has there, and which rows show it."""
    for part in itertools.combinations(columns, len(columns) if m is None else min(m, len(columns))):
        able = np.asarray(~hidden[:, list(part)].any(axis=1))
        labels = task.groups([j for j in range(task.codes.shape[1]) if j not in part], np.arange(len(task.codes)))
        yield list(part), tally(labels, np.where(able, task.counts, 0), len(labels))[labels[rows]], able[rows]


class CellsSuppressed(Event):
    """Single cells of quasi-identifiers became ``*``."""

    name = "cells-suppressed"
    kept = "cell"
    #: The quasi-identifiers, and how many cells of each were suppressed.
    columns: tuple[str, ...]
    cells: tuple[int, ...]
    #: The released records, and those that lost a cell.
    records: int
    touched: int
    #: Where suppressed cells were counted as wildcards: the least number, and the records that look like fewer than ``k
    #: - 1`` others if a suppressed cell is a value of its own. Else both are 0.
    k: int
    fewer: int

    def describe(self) -> str:
        lost = [f"`{column}` {number:,}" for column, number in zip(self.columns, self.cells, strict=True) if number]
        told = f": {', '.join(lost)}" if lost else ""
        done = f"Suppressed {sum(self.cells):,} cells of {self.touched:,} of {self.records:,} records{told}."
        if not self.k:
            return done
        return (
            f"{done} Counted with suppressed cells as wildcards; if a suppressed cell counts as a value of its own, "
            f"{self.fewer:,} records look like fewer than {self.k - 1:,} others."
        )

    def effects(self) -> Iterator[tuple[str, str]]:
        for name, cells in zip(self.columns, self.cells, strict=True):
            if cells:
                yield name, f"{counted(cells, 'cell')} suppressed"

    def check(self, evidence: Evidence) -> Decision:
        """Count the suppressed cells of the release, and the records that lost some."""
        codes, hidden, counts = shown_by(evidence, evidence.certificate.data)
        released = CellsSuppressed(
            columns=evidence.certificate.data.quasi_identifiers,
            cells=tuple((hidden * counts[:, None]).sum(axis=0).tolist()),
            records=int(counts.sum()),
            touched=int(counts[hidden.any(axis=1)].sum()),
            k=self.k,
            fewer=int(counts[alike(codes, hidden, counts) < self.k].sum()),
        )
        if self != released:
            return False, "these are not the suppressed cells of the release"
        return True, f"{sum(self.cells):,} suppressed, as released"
