"""Re-identification risk: of records, against the table and a population (k-map), and of persons and households."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal import tables
from shoal.errors import DataError, SchemaError
from shoal.kernels import Counts, Floats, Mask
from shoal.risk._boxes import totals_in
from shoal.risk._pair import Pair
from shoal.schema import Schema
from shoal.tables import Classes, CrowdCounts, Frequencies, Table

#: lower ends of the class-size bands that assessments show
_BANDS = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizes:
    """Counts of classes and records of a size in ``[smallest, largest]``; ``largest`` is None for no upper end."""

    smallest: int
    largest: int | None
    classes: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reidentification:
    """Chances that an intruder who knows the quasi-identifiers finds a person's record."""

    #: The size of the table and its number of equivalence classes.
    records: int
    classes: int
    #: The smallest and the largest class; 0 for an empty table.
    smallest: int
    largest: int
    #: Records that are alone in their class.
    unique: int
    #: The highest risk of one record when the intruder knows that the person is in the table: 1 / smallest class.
    prosecutor: float
    #: The highest risk when the intruder does not know that: 1 / smallest class *of the population* among the classes
    #: of the table. None without a population; it is then at most the prosecutor's.
    journalist: float | None
    #: The share of records that an intruder who links everybody is expected to link correctly: the mean over records of
    #: 1 / class size (of the population where one is given).
    marketer: float
    #: The distribution of class sizes.
    sizes: tuple[ClassSizes, ...]
    #: The persons of the class that has the fewest, where persons are counted. Risks are then those of persons, whose
    #: crowd is the persons of a class; ``unique`` are the records in classes of one person, and the mean is over the
    #: persons of all classes. None where every record is a person of its own.
    fewest: int | None = None

    def below(self, k: int) -> int:
        """Return the number of records in classes smaller than ``k``, for a ``k`` that starts a band of ``sizes``."""
        return sum(band.records for band in self.sizes if band.smallest < k)


def reidentification(classes: Classes) -> Reidentification:
    """Measure the re-identification risk of ``classes`` [METHODS: prosecutor, journalist and marketer risk].

    Cost: O(classes).

    Examples
    --------
    >>> import numpy as np
    >>> risk = reidentification(Classes(sizes=np.array([1, 1, 2, 6])))
    >>> risk.unique, risk.prosecutor, risk.marketer
    (2, 1.0, 0.4)
    """
    present = classes.sizes > 0
    risk = reidentification_of_sizes(*np.unique(classes.sizes[present], return_counts=True))
    if not present.any():
        return risk
    people = classes.crowds[present]
    if classes.persons is not None:
        risk = _of_persons(risk, classes.sizes[present], people, np.ones_like(people))
    if classes.population is None:
        return risk
    crowd = np.maximum(classes.population[present], people)
    return replace(risk, journalist=1 / int(crowd.min()), marketer=float((people / crowd).sum() / int(people.sum())))


def reidentification_of_sizes(sizes: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> Reidentification:
    """Measure the risk of classes of which no more is known than that there are ``times[i]`` of ``sizes[i]`` records.

    Cost: O(different sizes).

    Examples
    --------
    >>> import numpy as np
    >>> reidentification_of_sizes(np.array([1, 2, 6]), np.array([2, 1, 1])).marketer
    0.4
    """
    records, classes = int(sizes @ times), int(times.sum())
    smallest = int(sizes.min()) if classes else 0
    return Reidentification(
        records=records,
        classes=classes,
        smallest=smallest,
        largest=int(sizes.max(initial=0)),
        unique=int(times[sizes == 1].sum()),
        prosecutor=1 / smallest if smallest else 0.0,
        journalist=None,
        marketer=classes / records if records else 0.0,
        sizes=tuple(_bands(sizes, times)),
    )


def reidentification_of_crowds(found: CrowdCounts) -> Reidentification:
    """Measure the risk of classes whose persons were counted on their engine."""
    return _of_persons(reidentification_of_sizes(found.sizes, found.times), found.sizes, found.persons, found.times)


def _of_persons(
    found: Reidentification,
    sizes: npt.NDArray[np.int64],
    persons: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
) -> Reidentification:
    """Return the risk where ``times[i]`` classes have ``sizes[i]`` records of ``persons[i]`` persons."""
    alone = persons == 1
    return replace(
        found,
        unique=int(sizes[alone] @ times[alone]),
        prosecutor=1 / int(persons.min()),
        marketer=found.classes / int(persons @ times),
        fewest=int(persons.min()),
    )


def _bands(sizes: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> list[ClassSizes]:
    bands = []
    for position, smallest in enumerate(_BANDS):
        largest = _BANDS[position + 1] - 1 if position + 1 < len(_BANDS) else None
        inside = sizes >= smallest if largest is None else (sizes >= smallest) & (sizes <= largest)
        bands.append(
            ClassSizes(
                smallest=smallest,
                largest=largest,
                classes=int(times[inside].sum()),
                records=int(sizes[inside] @ times[inside]),
            )
        )
    return bands


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationMap:
    """A release against the population that its people come from."""

    #: Every released record that fits anybody fits at least k people of the population; 0 for an empty release.
    k: int
    #: The number of people in the population.
    people: int
    #: Released records that fit nobody of the population: it is not complete, or the values were perturbed.
    unmatched: int
    #: The risk, with the journalist's and the marketer's figures against the population.
    reidentification: Reidentification


def k_map(released: Table, population: Table, schema: Schema) -> PopulationMap:
    """Count how many people of ``population`` every released record may be.

    Parameters
    ----------
    released
        A release; its quasi-identifiers may be generalised, locally or not.
    population
        Everybody whom an intruder may think of, with the quasi-identifiers as they are.
    schema
        What the quasi-identifiers mean; other columns are not looked at.

    Notes
    -----
    A class counts the people whose values it covers, so that overlapping classes of a local recoding are counted
    as an intruder would. Cost: O((people + classes) log people) where classes do not overlap.
    """
    names = [name for name in schema.quasi_identifiers if name in released.columns]
    if not names:
        raise SchemaError("the release has none of the schema's quasi-identifiers")
    wanted = Schema(attributes=tuple(schema[name] for name in names), folder=schema.folder)
    if schema.person is not None and schema.person in population.columns:
        whose = Schema(attributes=(*wanted, schema[schema.person]), folder=schema.folder)
        counts = tables.people(population.select(*names, schema.person).with_schema(whose))
        if counts.repeat:
            raise DataError(
                f"the population {population.source.name} has {counts.records:,} records "
                f"of {counts.persons:,} persons; a release whose classes may overlap is compared with "
                "one record of each.",
                hint="keep one record per person, such as the latest",
            )
    pair = Pair.of(population.select(*names).with_schema(wanted), released, columns=names)
    people = totals_in(pair.released, pair.original.low, pair.original.counts)
    met = people > 0
    return PopulationMap(
        k=int(people[met].min(initial=np.iinfo(np.int64).max)) if met.any() else 0,
        people=pair.original.records,
        unmatched=int(pair.released.counts[~met].sum()),
        reidentification=reidentification(Classes(sizes=pair.released.counts, population=people)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRisk:
    """Chances that records, persons or households are found."""

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
    def is_dominated(self) -> bool:
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
    frequencies = tables.encode(table, sensitive=(), households=True).frequencies
    return risk_of_classes(frequencies, tables.group(frequencies.codes)[0].astype(np.int64), schema.person)


def risk_of_classes(found: Frequencies, labels: Counts, column: str | None) -> PeopleRisk:
    """Measure the risk of the persons and households of a release whose classes look alike.

    ``labels`` are the class of every tuple, negative for tuples that are not released; ``column`` says whose record it
    is, None where every record is of a person of its own.
    """
    classes, persons, counts, times = _pairs(found, labels)
    number = int(persons.max(initial=-1)) + 1
    of_pairs = None if times is None else times[persons]
    crowds = tables.count_places(classes, of_pairs)[classes]
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
