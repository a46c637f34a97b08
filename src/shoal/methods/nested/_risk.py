"""The risk of a data set as it is, by the number of items that somebody knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.datasets import Dataset
from shoal.errors import ParameterError
from shoal.methods.nested._encode import encode_dataset
from shoal.methods.nested._patterns import least_support
from shoal.methods.nested._prepare import count_days
from shoal.methods.nested._promises import MOST_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRisk:
    """What at most so many known items tell, for whoever knows the worst ones of each person."""

    items: int
    persons: int
    #: The fewest persons who show a pattern that somebody shows.
    fewest: int
    #: The persons whom some pattern finds alone, and those whom some pattern finds among fewer than k.
    unique: int
    below: int


def risk_by_items(dataset: Dataset, most: int, k: int) -> tuple[ItemRisk, ...]:
    """Return the risk for 0, 1, ... known items.

    Parameters
    ----------
    dataset
        The data set, as :func:`shoal.datasets.read_dataset` reads it.
    most
        The largest number of known items, in [0, 6].
    k
        Persons whom a pattern finds among fewer are counted.
    """
    if not 0 <= most <= MOST_KNOWN:
        raise ParameterError(f"the number of known items must be in [0, {MOST_KNOWN}]; got {most}.")
    encoded = encode_dataset(count_days(dataset))
    forest = encoded.forest([0] * len(encoded.columns))
    least = np.full(forest.size, forest.size, dtype=np.int64)
    found = []
    for items in range(most + 1):
        least = np.minimum(least, least_support(forest, items))
        found.append(
            ItemRisk(
                items=items,
                persons=forest.size,
                fewest=int(least.min()),
                unique=int(np.count_nonzero(least == 1)),
                below=int(np.count_nonzero(least < k)),
            )
        )
    return tuple(found)
