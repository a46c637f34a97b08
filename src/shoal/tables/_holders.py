"""Whose records the tuples hold: pairs of tuple and person, and what classes of tuples make of them, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels import Counts, Mask

Labels = npt.NDArray[np.integer]
#: 64-bit integers, or Python integers (dtype object) where those would overflow
Votes = npt.NDArray[Any]
#: sums of votes below this are exact in floating point, in which NumPy counts fastest
_EXACT = 2**53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Holders:
    """The distinct pairs of a tuple and a person who has records there.

    The number of persons of a class is not the sum over its tuples, as a person may hold several of them; but it is
    decided by the pairs. Persons with the same records may be counted together: one then stands for all of them.
    """

    #: The tuple of every pair, ascending.
    tuples: Counts
    #: The person of every pair, in ``[0, number)``.
    persons: Counts
    #: Records per pair, at least 1.
    counts: Counts
    #: The number of persons, those that others stand for left out.
    number: int
    #: The household of every person, from 0 on, where that was asked for.
    homes: Counts | None = None
    #: How many each person stands for, as often in as many other households; None where everybody is there.
    times: Counts | None = None

    @classmethod
    def of(cls, tuples: Labels, persons: Labels, counts: Counts, number: int) -> Holders:
        """Gather equal pairs."""
        keys, labels = np.unique(tuples.astype(np.int64) * number + persons, return_inverse=True)
        records = np.bincount(labels, weights=counts, minlength=len(keys)).astype(np.int64)
        return cls(tuples=keys // max(number, 1), persons=keys % max(number, 1), counts=records, number=number)

    @classmethod
    def of_records(cls, persons: Labels) -> Holders:
        """Return the pairs where every record is a tuple of its own."""
        number = int(persons.max(initial=-1)) + 1
        ones = np.ones(len(persons), dtype=np.int64)
        return cls(tuples=np.arange(len(persons)), persons=persons.astype(np.int64), counts=ones, number=number)

    @property
    def people(self) -> int:
        """The number of all persons."""
        return self.number if self.times is None else int(self.times.sum())

    @property
    def records(self) -> Counts:
        """Records per pair, of all persons that it stands for."""
        return self.counts if self.times is None else self.counts * self.times[self.persons]

    def only(self, chosen: Mask) -> Holders:
        """Return the pairs of some tuples, which are numbered anew."""
        kept = chosen[self.tuples]
        positions = np.cumsum(chosen) - 1
        return replace(self, tuples=positions[self.tuples[kept]], persons=self.persons[kept], counts=self.counts[kept])

    def living(self, persons: Labels, homes: Labels) -> Holders:
        """Return the pairs with the household of every person; the arguments say who lives where, in any order."""
        counts: Counts = np.zeros(self.number, dtype=np.int64)
        counts[persons] = homes
        return replace(self, homes=counts)

    def group_pairs(self, labels: Labels) -> tuple[Counts, Counts]:
        """Return the distinct pairs of class and person, given the class of every tuple; negative is no class."""
        owners = labels[self.tuples].astype(np.int64)
        keys = distinct(owners[owners >= 0] * self.number + self.persons[owners >= 0])
        return keys // max(self.number, 1), keys % max(self.number, 1)

    def crowds(self, labels: Labels, number: int) -> Counts:
        """Return the number of persons of every class."""
        owners, persons = self.group_pairs(labels)
        return count_places(owners, None if self.times is None else self.times[persons], number)

    def present(self, labels: Labels) -> int:
        """Return the number of persons who have a record in any class."""
        persons = distinct(self.group_pairs(labels)[1])
        return len(persons) if self.times is None else int(self.times[persons].sum())

    def sharing(self, labels: Labels) -> Counts:
        """Return for every person how many have the same records: the same number in every class."""
        owners, persons, counts = self.records_of(labels)
        return same_records(owners, persons, counts, self.number, self.times)

    def records_of(self, labels: Labels) -> tuple[Counts, Counts, Counts]:
        """Return the distinct pairs of class and person by person, and the number of records of each."""
        owners = labels[self.tuples].astype(np.int64)
        kept = owners >= 0
        wide = max(int(labels.max(initial=-1)) + 1, 1)
        keys, positions = np.unique(self.persons[kept] * wide + owners[kept], return_inverse=True)
        counts = np.bincount(positions, weights=self.counts[kept], minlength=len(keys)).astype(np.int64)
        return keys % wide, keys // wide, counts

    def ballot(self, labels: Labels, number: int) -> Ballot:
        """Return the persons of every class, and with how many records each votes."""
        owners = labels[self.tuples].astype(np.int64)
        chosen = np.flatnonzero(owners >= 0)
        keys, voters = np.unique(owners[chosen] * self.number + self.persons[chosen], return_inverse=True)
        records = np.bincount(voters, weights=self.counts[chosen], minlength=len(keys)).astype(np.int64)
        times = None if self.times is None else self.times[keys % max(self.number, 1)]
        persons = count_places(keys // max(self.number, 1), times, number)
        unit = math.lcm(*np.unique(records).tolist())
        return Ballot(
            persons=persons,
            unit=unit,
            owners=owners[chosen],
            tuples=self.tuples[chosen],
            counts=self.records[chosen],
            records=records[voters],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ballot:
    """One vote for every person of every class: a person with r records in a class gives 1/r to the value of each."""

    #: The number of persons of every class.
    persons: Counts
    #: What a whole vote counts, so that all votes are whole numbers: the least common multiple of all r.
    unit: int
    #: Pairs of tuple and person: the class, the tuple and the number of records, of all that the person stands for.
    owners: Counts
    tuples: Counts
    counts: Counts
    #: The r of every pair: all records that its person has in the class.
    records: Counts

    def votes(self, values: npt.NDArray[np.int32], size: int, keys: Counts) -> Votes:
        """Return the votes for entries of a histogram, whose ``keys`` are ``class * size + value``, ascending.

        ``values`` are those of every tuple, and ``size`` is how many there are.
        """
        entries = np.searchsorted(keys, self.owners * size + values[self.tuples])
        wide = int(self.records.max(initial=0)) + 1
        shares, positions = np.unique(entries * wide + self.records, return_inverse=True)
        records = np.bincount(positions, weights=self.counts, minlength=len(shares)).astype(np.int64)
        fits = self.unit * max(int(self.persons.sum()), 1) < _EXACT
        kind = np.int64 if fits else object
        parts = records.astype(kind) * np.array([self.unit // r for r in (shares % wide).tolist()], dtype=kind)
        votes = np.zeros(len(keys), dtype=kind)
        np.add.at(votes, shares // wide, parts)
        return votes


def same_records(classes: Counts, persons: Counts, counts: Counts, number: int, times: Counts | None = None) -> Counts:
    """Return for every person how many have the same classes with the same counts, the person included.

    ``times`` is how many persons each stands for; one where that is not given. Pairs are ordered by person and
    class. Those who have equally many are compared as rows of one array: O(p log p).
    """
    keys = classes * (int(counts.max(initial=0)) + 1) + counts
    lengths = np.bincount(persons, minlength=number)
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    found: Counts = np.zeros(number, dtype=np.int64)
    for those in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        width = int(lengths[those].max(initial=0))
        weights = None if times is None else times[those]
        if width == 0:
            found[those] = len(those) if weights is None else weights.sum()
            continue
        rows = keys[starts[those][:, None] + np.arange(width)].view(f"V{keys.itemsize * width}").ravel()
        _, positions = np.unique(rows, return_inverse=True)
        found[those] = count_places(positions, weights)[positions]
    return found


def count_places(places: Labels, weights: Counts | None = None, number: int = 0) -> Counts:
    """Return how often every place occurs, each time with its weight; sums below 2^53 are exact."""
    return np.bincount(places, weights=weights, minlength=number).astype(np.int64)


def distinct(keys: Counts) -> Counts:
    """Return the distinct keys in order."""
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
