"""All attacks on one release; among them singling out and linkability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Codes
from shoal.risk._attack import Attack, Rate
from shoal.risk._axes import ColumnAxis
from shoal.risk._boxes import Index, Rows
from shoal.risk._demonstrations import ExtremeValue, extreme_values
from shoal.risk._inference import inference
from shoal.risk._linkage import Knowledge, linkage
from shoal.risk._pair import Pair, fitting
from shoal.tables import Table

_SINGLING_OUT = "Does a description taken from the release fit exactly one person of the original table?"
_LINKABILITY = (
    "Given two files about the same people with different columns, does the release tell which rows belong together?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacks:
    """What intruders achieve against one release.

    Parameters
    ----------
    linkage
        Looking for a person with partial knowledge, by the number of columns known.
    singling_out, linkability, inference
        The three questions of the Article 29 Working Party; ``linkability`` is None with one quasi-identifier,
        ``inference`` has an entry per sensitive column.
    extremes
        Whether the extremes of ordered quasi-identifiers can be read off.
    seed
        Of the draws: the same seed and data give the same figures.
    """

    linkage: tuple[Knowledge, ...]
    singling_out: Attack
    linkability: Attack | None
    inference: tuple[Attack, ...]
    extremes: tuple[ExtremeValue, ...]
    seed: int


def attack(original: Table, released: Table, *, seed: int = 0) -> Attacks:
    """Attack a release with everything but membership inference, which needs the method (see :func:`membership`).

    Parameters
    ----------
    original
        The table as it was, with its schema.
    released
        What was made of it; the table itself for the risk as it is.
    seed
        Of the draws of targets and columns.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]}))
    >>> table = people.with_schema(shoal.draft(people).schema)
    >>> attack(table, table).linkage[-1].single
    0.5
    """
    pair = Pair.of(original, released)
    return Attacks(
        linkage=linkage(pair, seed=seed),
        singling_out=singling_out(pair, seed=seed),
        linkability=linkability(pair, seed=seed),
        inference=inference(pair, seed=seed),
        extremes=extreme_values(pair),
        seed=seed,
    )


def singling_out(pair: Pair, *, attempts: int = 1000, seed: int = 0) -> Attack:
    """Describe people by what the release says of single records, and count how often one person fits.

    A description is what a released record says in a random set of at least two columns: "between 20 and 24, from
    0012*, with diagnosis N17". It succeeds if exactly one original record fits it. The baseline takes the values of
    each column from another released record, so that it knows the columns but no record. In a column that was perturbed
    a description says "at least" or "at most" the released value, whichever is nearer to its end of the column.

    Parameters
    ----------
    pair
        A table and its release.
    attempts
        The number of descriptions.
    seed
        Of the draws.

    Notes
    -----
    The first of the three questions of the EU's Article 29 Working Party (Opinion 05/2014), as asked by Giomi et al.
    (2022). A description that is rare enough isolates one person by luck with a chance of up to 1/e, which is why the
    baseline matters (Cohen and Nissim 2020).
    """
    if attempts < 1:
        raise ParameterError(f"`attempts` of `singling_out` must be at least 1; got {attempts}.")
    generator = np.random.default_rng(seed)
    released, columns = pair.released, len(pair.axes)
    if not len(released):
        return _singled_out(0, 0, 0)
    index = Index(pair.original.low, pair.original.counts)
    chances = np.cumsum(released.counts)
    right = lucky = 0
    for _ in range(attempts):
        size = int(generator.integers(min(2, columns), columns + 1))
        chosen = sorted(generator.choice(columns, size=size, replace=False).tolist())
        rows = np.searchsorted(chances, generator.integers(released.records, size=size + 1), side="right")
        right += _isolates(pair, index, chosen, np.repeat(rows[:1], size))
        lucky += _isolates(pair, index, chosen, rows[1:])
    return _singled_out(right, lucky, attempts)


def _singled_out(right: int, lucky: int, attempts: int) -> Attack:
    return Attack(
        name="singling out", question=_SINGLING_OUT, success=Rate.of(right, attempts), baseline=Rate.of(lucky, attempts)
    )


def _isolates(pair: Pair, index: Index, columns: list[int], rows: Rows) -> bool:
    """Return whether what the released ``rows`` say, one per column, fits exactly one original record."""
    low, high = pair.released.low[rows, columns], pair.released.high[rows, columns]
    for position, column in enumerate(columns):
        if pair.axes[column].perturbed:
            low[position], high[position] = _condition(pair.axes[column], int(low[position]), int(high[position]))
    return index.records(columns, low, high) == 1


def _condition(axis: ColumnAxis, low: int, high: int) -> tuple[int, int]:
    """Return the leaves that are at least, or at most, a released value that is no leaf."""
    if axis.places is None or low < axis.leaves or not np.isfinite(axis.places[low]):
        return low, high
    known = np.flatnonzero(np.isfinite(axis.places[: axis.leaves]))
    places = axis.places[known]
    if np.any(np.diff(places) < 0) or np.any(np.diff(known) != 1):  # then no range of leaves says "at least"
        return low, high
    below = int(np.searchsorted(places, axis.places[low]))
    first = int(known[0])
    return (first + below, first + len(known) - 1) if below >= len(places) / 2 else (first, first + below - 1)


def linkability(pair: Pair, *, targets: int = 300, splits: int = 3, seed: int = 0) -> Attack | None:
    """Join two files about the same people through the release.

    The quasi-identifiers are split into two halves; the intruder holds one half of every target's values in one file
    and the other half in another, both shuffled. For a row of the first file the intruder takes the row of the second
    that the most released records connect: records that fit the one on its columns and the other on its own. The
    baseline is a guess. The second of the Working Party's three questions.

    Parameters
    ----------
    pair
        A table and its release.
    targets
        The number of people in the two files.
    splits
        The number of random splits of the columns; the attempts of all count.
    seed
        Of the draws.

    Returns
    -------
    Attack or None
        None where there is only one quasi-identifier.
    """
    if targets < 1 or splits < 1:
        raise ParameterError("`targets` and `splits` of `linkability` must be at least 1.")
    known = pair.only(pair.quasi_identifiers)
    if len(known.axes) < 2:
        return None
    generator = np.random.default_rng(seed)
    people = known.targets(targets, generator)
    right = 0.0
    for _ in range(splits):
        order = generator.permutation(len(known.axes)).tolist()
        right += _joined(known, people, sorted(order[: len(order) // 2]), sorted(order[len(order) // 2 :]))
    attempts = splits * len(people)
    return Attack(
        name="linkability",
        question=_LINKABILITY,
        success=Rate.of(min(right, attempts), attempts),
        baseline=Rate.of(splits if len(people) else 0, attempts),
    )


def _joined(pair: Pair, people: Codes, left: list[int], right: list[int]) -> float:
    """Return the expected number of rows of the first file that are joined with their own rows of the second."""
    _, left_of = pair.released.grouped(left)
    second, right_of = pair.released.grouped(right)
    records = np.argsort(left_of, kind="stable")
    starts = np.searchsorted(left_of[records], np.arange(int(left_of.max(initial=-1)) + 2))
    rows, boxes = fitting(pair.only(left), people[:, left])
    boxes = boxes[np.argsort(rows, kind="stable")]
    edges = np.cumsum(np.bincount(rows, minlength=len(people)))
    partners, partner_boxes = fitting(pair.only(right), people[:, right])
    joined = 0.0
    for person, mine in enumerate(np.split(boxes, edges[:-1])):
        weights = np.zeros(len(second))
        for box in mine.tolist():
            fit = records[starts[box] : starts[box + 1]]
            weights += np.bincount(right_of[fit], weights=pair.released.counts[fit], minlength=len(second))
        strength = np.bincount(partners, weights=weights[partner_boxes], minlength=len(people))
        best = strength == strength.max()
        joined += float(best[person]) / int(best.sum())
    return joined
