"""Linkability: does the release help to join two files about the same people?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.risk._attack import Attack, Rate
from shoal.risk._boxes import Codes
from shoal.risk._fitting import fitting
from shoal.risk._pair import Pair

__all__ = ["linkability"]

Floats = npt.NDArray[np.float64]

_QUESTION = (
    "Given two files about the same people with different columns, does the release tell which rows belong together?"
)


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
        question=_QUESTION,
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
