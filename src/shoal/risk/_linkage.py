"""Linkage with partial background knowledge: an intruder who knows some of the quasi-identifiers looks for a person."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.risk._pair import Pair, affordable, candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What an intruder achieves who knows this many quasi-identifiers of a person."""

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

    Parameters
    ----------
    pair
        A table and its release; a table and itself for the risk as it is.
    targets
        The number of people to look for, drawn from the table; fewer where a large release was perturbed, since every
        record must then be compared with everybody.
    subsets
        At most this many sets of columns for each number of columns; drawn where there are more.
    seed
        Of the draws.

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
    found: dict[tuple[int, ...], None] = {}
    while len(found) < limit:
        found[tuple(sorted(generator.choice(columns, size=size, replace=False).tolist()))] = None
    return list(found)


def _knowledge(pair: Pair, people: np.typing.NDArray[np.int32], subsets: list[tuple[int, ...]]) -> Knowledge:
    fits, single, linked = [], [], []
    for columns in subsets:
        found = candidates(pair.only(columns), people[:, list(columns)])
        fits.append(float((found > 0).mean()))
        single.append(float((found == 1).mean()))
        linked.append(float((1 / found[found > 0]).sum() / len(people)))
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
