"""Risk by what an intruder knows: some of the quasi-identifiers of a person, or of everybody."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal import tables
from shoal.errors import ParameterError
from shoal.risk._boxes import Boxes
from shoal.risk._pair import Pair, affordable, candidates
from shoal.risk._population import individual_risk
from shoal.risk._survey import Sample, sample
from shoal.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The success of an intruder who knows a given number of quasi-identifiers of a person."""

    #: The number of columns known.
    known: int
    #: How many sets of that many columns, and how many people, were tried.
    subsets: int
    targets: int
    #: The share of attempts in which at least one released record fits; the others were suppressed or left out.
    fits: float
    #: The share of attempts in which exactly one released record fits.
    single: float
    #: The expected share of attempts that end with the right record: 1 over the number that fit.
    linked: float
    #: The same for the most telling set of columns.
    worst_linked: float
    worst_columns: tuple[str, ...]


def linkage(pair: Pair, *, targets: int = 1000, subsets: int = 10, seed: int = 0) -> tuple[Knowledge, ...]:
    """Let an intruder who knows 1, 2, ... all quasi-identifiers of a person look for the person's record.

    At most ``subsets`` sets of columns are tried for each number of columns, drawn where there are more, on ``targets``
    people of the table; on fewer where a large release was perturbed, since every record must then be compared with
    everybody. A table and itself give the risk as it is.

    Assumptions
    -----------
    One of the records that fit is the right one. That is so for truthful releases; for noise, means and swapping, the
    figures are upper bounds. Cost: O(subsets * boxes log boxes).

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]}))
    >>> table = people.with_schema(shoal.draft(people).schema)
    >>> [round(each.linked, 3) for each in linkage(Pair.of(table, table))]
    [0.5, 0.75]
    """
    if targets < 1 or subsets < 1:
        raise ParameterError("`targets` and `subsets` of `linkage` must be at least 1.")
    generator = np.random.default_rng(seed)
    known = pair.only(pair.quasi_identifiers)
    people = known.targets(affordable(known, targets), generator)
    return tuple(
        _knowledge(known, people, _subsets(len(known.axes), size, subsets, generator))
        for size in range(1, len(known.axes) + 1)
    )


def _subsets(columns: int, size: int, limit: int, generator: np.random.Generator) -> list[tuple[int, ...]]:
    if math.comb(columns, size) <= limit:
        return list(itertools.combinations(range(columns), size))
    subsets: dict[tuple[int, ...], None] = {}
    while len(subsets) < limit:
        subsets[tuple(sorted(generator.choice(columns, size=size, replace=False).tolist()))] = None
    return list(subsets)


def _knowledge(pair: Pair, people: np.typing.NDArray[np.int32], subsets: list[tuple[int, ...]]) -> Knowledge:
    fits, single, linked = [], [], []
    for columns in subsets:
        matches = candidates(pair.only(columns), people[:, list(columns)])
        fits.append(float((matches > 0).mean()))
        single.append(float((matches == 1).mean()))
        linked.append(float((1 / matches[matches > 0]).sum() / len(people)))
    worst = int(np.argmax(linked))
    return Knowledge(
        known=len(subsets[0]),
        subsets=len(subsets),
        targets=len(people),
        fits=float(np.mean(fits)),
        single=float(np.mean(single)),
        linked=float(np.mean(linked)),
        worst_linked=linked[worst],
        worst_columns=tuple(pair.axes[column].name for column in subsets[worst]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowds:
    """The number of records that agree with each record in some columns."""

    #: The records that agree with no other.
    unique: int
    #: The fewest records that agree; 0 without records.
    smallest: int
    #: The share of records that an intruder finds who knows these columns of everybody: groups over records.
    average: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """The risk from some columns, in a table and in its release."""

    #: What the intruder knows.
    columns: tuple[str, ...]
    #: How records hide before and after; a released value is what is written, so records agree in ``[20, 30)``.
    original: Crowds
    released: Crowds


#: distinct records times sets of columns that are worth counting
_WORK = 20_000_000


def combinations(pair: Pair, *, most: int = 3) -> tuple[Combination, ...]:
    """Measure every set of at most ``most`` quasi-identifiers, the most telling first.

    Records are counted, also where a person has several. Larger sets are left out where there are so many of them, or
    so many distinct records, that counting would take minutes. Cost: O(sets * distinct records).

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]}))
    >>> table = people.with_schema(shoal.draft(people).schema)
    >>> made = shoal.read(pyarrow.table({"sex": ["*"] * 4, "town": ["a", "b", "a", "a"]}))
    >>> [(each.columns, each.original.unique, each.released.unique) for each in combinations(Pair.of(table, made))]
    [(('sex', 'town'), 2, 1), (('town',), 1, 1), (('sex',), 0, 0)]
    """
    known = pair.quasi_identifiers
    work = max(len(pair.original), len(pair.released), 1)
    sets: list[tuple[int, ...]] = []
    for size in range(1, min(most, len(known)) + 1):
        if size > 1 and (len(sets) + math.comb(len(known), size)) * work > _WORK:
            break
        sets += list(itertools.combinations(known, size))
    found = [
        Combination(
            columns=tuple(pair.axes[column].name for column in columns),
            original=_crowds(pair.original, columns),
            released=_crowds(pair.released, columns),
        )
        for columns in sets
    ]
    return tuple(sorted(found, key=lambda each: (-each.original.unique, -each.original.average, each.columns)))


def _crowds(boxes: Boxes, columns: Sequence[int]) -> Crowds:
    sizes = boxes.only(columns).counts
    return Crowds(
        unique=int(np.count_nonzero(sizes == 1)),
        smallest=int(sizes.min()) if len(sizes) else 0,
        average=len(sizes) / max(int(sizes.sum()), 1),
    )


#: combinations that are counted at most: a table of them must still be read
_MOST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinationRisk:
    """The risk from an intruder who knows some columns of everybody."""

    #: The columns that are known.
    columns: tuple[str, ...]
    #: The records that are alone with their values of these columns.
    unique: int
    #: The records in classes of fewer than ``k``.
    below: int
    #: The size that ``below`` counts against.
    k: int
    #: The expected number of records that are linked correctly: with the table itself, one of each class; with the
    #: population where the schema names a sampling weight, the sum of the individual risks.
    linked: float


def combination_risk(table: Table, *, largest: int = 3, k: int = 3) -> tuple[CombinationRisk, ...]:
    """Measure the risk of every combination of at most ``largest`` quasi-identifiers, the most telling first.

    A missing value counts as a value of its own. Cost: O(records log records) per combination.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["Ulm", "Rome", "Rome", "Rome"]})
    >>> columns = tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in people.column_names)
    >>> table = shoal.read(people).with_schema(shoal.Schema(attributes=columns))
    >>> [(each.columns, each.unique) for each in shoal.risk.combination_risk(table, largest=2)]
    [(('sex', 'town'), 2), (('town',), 1), (('sex',), 0)]
    """
    return combination_risk_of(sample(table), largest=largest, k=k)


def combination_risk_of(data: Sample, *, largest: int, k: int) -> tuple[CombinationRisk, ...]:
    """Measure the risk of combinations of keys; see :func:`combination_risk`."""
    keys = len(data.keys)
    if largest < 1 or k < 1:
        raise ParameterError("`largest` and `k` of `combination_risk` must be at least 1.")
    number = sum(math.comb(keys, size) for size in range(1, min(largest, keys) + 1))
    if number > _MOST:
        raise ParameterError(
            f"{keys} columns have {number:,} combinations of at most {largest}; at most {_MOST:,} can be looked at.",
            hint="look at combinations of fewer columns",
        )
    chosen = (
        combination
        for size in range(1, min(largest, keys) + 1)
        for combination in itertools.combinations(range(keys), size)
    )
    risks = [_risk(data, each, k) for each in chosen]
    return tuple(sorted(risks, key=lambda each: (-each.unique, -each.linked, len(each.columns), each.columns)))


def _risk(data: Sample, chosen: tuple[int, ...], k: int) -> CombinationRisk:
    labels, firsts = tables.group(data.codes[:, list(chosen)] + 1)
    sizes = np.bincount(labels, minlength=len(firsts))
    linked = float(len(sizes))
    if data.weights is not None:
        linked = float(sizes @ individual_risk(sizes, data.people(labels, sizes)))
    return CombinationRisk(
        columns=tuple(data.keys[column] for column in chosen),
        unique=int(np.count_nonzero(sizes == 1)),
        below=int(sizes[sizes < k].sum()),
        k=k,
        linked=linked,
    )
