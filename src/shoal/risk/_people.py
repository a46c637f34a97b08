"""Whose risk it is: that of a record, of a person with all records, and of a household with all its persons."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal import tables
from shoal.tables import Frequencies, Table

__all__ = ["PeopleRisk", "UnitRisk", "people_risk", "risk_of_classes", "unit_risk"]

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRisk:
    """How likely records, persons or households are found.

    Parameters
    ----------
    number
        How many there are.
    highest, mean
        The highest risk of one, and that of all on average.
    certain
        How many are found for certain: they are, or hold, the only person of a class.
    """

    number: int
    highest: float
    mean: float
    certain: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleRisk:
    """The risk of records, persons and households, against an intruder who knows their quasi-identifiers.

    For each record that is sought the intruder names one person of its class, each with the same chance. A *record* is
    found with the probability 1 / (persons of its class). A *person* is found if any record is: 1 - product over the
    classes that hold records of the person of (1 - 1 / persons of the class). A *household* is found if any member is:
    the same product over all its members.

    Parameters
    ----------
    records, persons
        The risk of a record, and of a person.
    households
        The risk of a household; None where the schema names no household column.
    trajectories
        The persons whose records, taken together, nobody else has: the multiset of their quasi-identifiers is shared
        with no other person. Whoever sees all records of a person as such, by a pseudonym, finds these.
    column
        The column that says whose record it is; None where every record counts as a person of its own.
    """

    records: UnitRisk
    persons: UnitRisk
    households: UnitRisk | None
    trajectories: int
    column: str | None = None


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
    household = schema.household if schema.household in table.columns else None
    found = tables.encode(table, sensitive=() if household is None else (household,)).frequencies
    pairs = _pairs(found, tables.group(found.codes)[0])
    risk, of_persons = _measured(*pairs, column=schema.person)
    return risk if household is None else replace(risk, households=_of_households(found, of_persons))


def risk_of_classes(found: Frequencies, labels: Counts, column: str) -> PeopleRisk | None:
    """Measure the risk of the persons of a release whose classes look alike; None where everybody has one record.

    Parameters
    ----------
    labels
        The class of every tuple; negative for tuples that are not released.
    column
        The column that says whose record it is.
    """
    if found.holders is None or not (labels >= 0).any():
        return None
    classes, persons, counts = _pairs(found, labels)
    return _measured(classes, np.unique(persons, return_inverse=True)[1], counts, column=column)[0]


def _measured(classes: Counts, persons: Counts, counts: Counts, *, column: str | None) -> tuple[PeopleRisk, Floats]:
    """Return the risk of pairs of class and person, and the logarithm of each person's chance of not being found."""
    number = int(persons.max(initial=-1)) + 1
    crowds = np.bincount(classes)[classes]
    with np.errstate(divide="ignore"):
        missed = np.log1p(-1 / crowds)
    of_persons: Floats = np.bincount(persons, weights=missed, minlength=number).astype(np.float64)
    risk = PeopleRisk(
        records=_of_records(crowds, counts),
        persons=unit_risk(of_persons),
        households=None,
        trajectories=_unshared(classes, persons, counts),
        column=column,
    )
    return risk, of_persons


def _pairs(found: Frequencies, labels: Counts) -> tuple[Counts, Counts, Counts]:
    """Return the distinct pairs of class and person, sorted by person, and the number of records of each."""
    if found.holders is None:  # every record is a person of its own
        classes = np.repeat(labels, found.counts).astype(np.int64)
        return classes, np.arange(len(classes)), np.ones(len(classes), dtype=np.int64)
    holders = found.holders
    owners = labels[holders.tuples].astype(np.int64)
    kept = owners >= 0
    number = int(labels.max(initial=-1)) + 1
    keys, places = np.unique(holders.persons[kept] * number + owners[kept], return_inverse=True)
    counts = np.bincount(places, weights=holders.counts[kept], minlength=len(keys)).astype(np.int64)
    return keys % max(number, 1), keys // max(number, 1), counts


def _of_records(crowds: Counts, counts: Counts) -> UnitRisk:
    number = int(counts.sum())
    return UnitRisk(
        number=number,
        highest=float(1 / crowds.min(initial=number + 1)) if number else 0.0,
        mean=float((counts / crowds).sum()) / max(number, 1),
        certain=int(counts[crowds == 1].sum()),
    )


def _of_households(found: Frequencies, of_persons: Floats) -> UnitRisk:
    homes = np.zeros(len(of_persons), dtype=np.int64)
    own = found.sensitive_codes[:, 0].astype(np.int64)
    if found.holders is None:
        homes[:] = np.repeat(own, found.counts)
    else:
        homes[found.holders.persons] = own[found.holders.tuples]
    _, homes = np.unique(homes, return_inverse=True)
    return unit_risk(np.bincount(homes, weights=of_persons).astype(np.float64))


def unit_risk(missed: Floats) -> UnitRisk:
    """Return the risk of those who are missed with these logarithms of probabilities."""
    risks = -np.expm1(missed)
    return UnitRisk(
        number=len(risks),
        highest=float(risks.max(initial=0.0)),
        mean=float(risks.mean()) if len(risks) else 0.0,
        certain=int(np.count_nonzero(np.isneginf(missed))),
    )


def _unshared(classes: Counts, persons: Counts, counts: Counts) -> int:
    """Return how many persons have a multiset of classes that nobody shares; pairs are sorted by person and class."""
    rows = np.stack([classes, counts], axis=1)
    ends = np.searchsorted(persons, np.arange(int(persons.max(initial=-1)) + 2)) * rows.itemsize * 2
    content = rows.tobytes()
    seen: dict[bytes, int] = {}
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = content[start:end]
        seen[own] = seen.get(own, 0) + 1
    return sum(times == 1 for times in seen.values())
