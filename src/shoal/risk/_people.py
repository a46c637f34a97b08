"""Whose risk it is: that of a record, of a person with all records, and of a household with all its persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal import tables
from shoal.kernels import Counts, Floats, Mask
from shoal.tables import CrowdCounts, Frequencies, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRisk:
    """How likely records, persons or households are found."""

    #: How many there are.
    number: int
    #: The highest risk of one, and that of all on average.
    highest: float
    mean: float
    #: How many are found for certain: they are, or hold, the only person of a class.
    certain: int


#: one person with so many of all records is told
_MANY = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleRisk:
    """The risk of records, persons and households, against an intruder who knows their quasi-identifiers.

    For each record that is sought the intruder names one person of its class, each with the same chance. A *record* is
    found with the probability 1 / (persons of its class). A *person* is found if any record is: 1 - product over the
    classes that hold records of the person of (1 - 1 / persons of the class). A *household* is found if any member is:
    the same product over all its members.
    """

    #: The risk of a record, and of a person.
    records: UnitRisk
    persons: UnitRisk
    #: The risk of a household; None where the schema names no household column.
    households: UnitRisk | None
    #: The persons whose records, taken together, nobody else has: the multiset of their quasi-identifiers is shared
    #: with no other person. Whoever sees all records of a person as such, by a pseudonym, finds these.
    trajectories: int
    #: The column that says whose record it is; None where every record counts as a person of its own.
    column: str | None = None
    #: The records of the person who has most.
    most: int = 1

    @property
    def dominated(self) -> bool:
        """Whether one person of several has so many of the records that this alone sets them apart."""
        return 1 < self.persons.number < self.records.number and self.most >= _MANY * self.records.number


def people_risk(table: Table) -> PeopleRisk | None:
    """Measure the risk of persons and households; None where the schema names neither.

    Notes
    -----
    The engine counts the distinct combinations of quasi-identifiers, person and household, O(records); the rest is
    O(p log p) for p such combinations.
    """
    schema = tables.schema_of(table)
    if schema.person is None and schema.household is None:
        return None
    found = tables.encode(table, sensitive=(), households=True).frequencies
    return risk_of_classes(found, tables.group(found.codes)[0].astype(np.int64), schema.person)


def risk_of_classes(found: Frequencies, labels: Counts, column: str | None) -> PeopleRisk:
    """Measure the risk of the persons and households of a release whose classes look alike.

    Parameters
    ----------
    labels
        The class of every tuple; negative for tuples that are not released.
    column
        The column that says whose record it is; None where every record is of a person of its own.
    """
    classes, persons, counts, times = _pairs(found, labels)
    number = int(persons.max(initial=-1)) + 1
    of_pairs = None if times is None else times[persons]
    crowds = tables.tallied(classes, of_pairs)[classes]
    with np.errstate(divide="ignore"):
        missed = np.log1p(-1 / crowds)
    of_persons: Floats = np.bincount(persons, weights=missed, minlength=number).astype(np.float64)
    released = np.bincount(persons, minlength=number) > 0
    return PeopleRisk(
        records=_of_records(crowds, counts if of_pairs is None else counts * of_pairs),
        persons=unit_risk(of_persons[released], None if times is None else times[:number][released]),
        households=_of_households(found, labels, of_persons, released),
        trajectories=int(np.count_nonzero(tables.same_records(classes, persons, counts, number, times)[released] == 1)),
        column=column,
        most=int(np.bincount(persons, weights=counts).max(initial=0)),
    )


def risk_of_crowds(found: CrowdCounts, column: str) -> PeopleRisk:
    """As `risk_of_classes`, of classes that were counted on their engine; not for households."""
    return PeopleRisk(
        records=_of_records(found.persons, found.sizes * found.times),
        persons=UnitRisk(number=found.people, highest=found.highest, mean=found.mean, certain=found.certain),
        households=None,
        trajectories=found.alone,
        column=column,
        most=found.most,
    )


def _pairs(found: Frequencies, labels: Counts) -> tuple[Counts, Counts, Counts, Counts | None]:
    """Return the distinct pairs of class and person, sorted by person, the number of records of each, and how many each
    person stands for, if more than one.
    """
    if found.holders is not None:
        return *found.holders.records_of(labels), found.holders.times
    there = np.flatnonzero((labels >= 0) & (found.counts > 0))
    alone = np.arange(len(there))
    return labels[there].astype(np.int64), alone, np.ones_like(alone), found.counts[there]


def _of_records(crowds: Counts, counts: Counts) -> UnitRisk:
    number = int(counts.sum())
    return UnitRisk(
        number=number,
        highest=float(1 / crowds.min(initial=number + 1)) if number else 0.0,
        mean=float((counts / crowds).sum()) / max(number, 1),
        certain=int(counts[crowds == 1].sum()),
    )


def _of_households(found: Frequencies, labels: Counts, of_persons: Floats, released: Mask) -> UnitRisk | None:
    """Return the risk of the households of released persons; None where it is not known who lives where."""
    times = None
    if found.holders is not None and found.holders.homes is not None:
        homes, missed, times = found.holders.homes[: len(released)][released], of_persons[released], found.holders.times
        times = None if times is None else times[: len(released)][released]
    elif found.households is not None:
        classes, homes, counts = found.households.records_of(labels)
        sizes = np.bincount(labels[labels >= 0], weights=found.counts[labels >= 0]).astype(np.int64)
        with np.errstate(divide="ignore"):
            missed = np.log1p(-1 / sizes[classes]) * counts
        times = None if found.households.times is None else found.households.times[homes]
    else:
        return None
    _, firsts, homes = np.unique(homes, return_index=True, return_inverse=True)
    return unit_risk(np.bincount(homes, weights=missed).astype(np.float64), None if times is None else times[firsts])


def unit_risk(missed: Floats, times: Counts | None = None) -> UnitRisk:
    """Return the risk of those who are missed with these logarithms of probabilities, each so many times."""
    risks, certain = -np.expm1(missed), np.isneginf(missed)
    number = len(risks) if times is None else int(times.sum())
    total = risks.sum() if times is None else risks @ times
    return UnitRisk(
        number=number,
        highest=float(risks.max(initial=0.0)),
        mean=float(total) / max(number, 1),
        certain=int(np.count_nonzero(certain) if times is None else times[certain].sum()),
    )
