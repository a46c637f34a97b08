"""Records in memory, and the classes that they are put into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError
from shoal.guarantees import Event
from shoal.methods.classes._buckets import Buckets
from shoal.methods.classes._columns import QuasiIdentifier, places_of
from shoal.methods.classes._partition import Partition
from shoal.models import Achieved, KAnonymity, MultiplicativeCloseness
from shoal.tables import Classes, Frequencies, SensitiveAttribute

__all__ = ["Classified", "Form", "People", "bucket_numbers", "classes_of", "closeness"]

Form = Literal["microaggregated", "generalized", "permuted", "anatomy"]
"""What is done to the records of a class.

``microaggregated``: quasi-identifiers become the mean, median or most typical value of the class. ``generalized``: they
become their lowest common ancestor, so nothing is invented. ``permuted``: quasi-identifiers stay as they are and all
other columns change places inside the class at random; the classes are not published. ``anatomy``: two tables, of
quasi-identifiers and of the other columns, linked by the class alone.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class People:
    """The records of a table, in memory.

    Parameters
    ----------
    quasi_identifiers
        What an intruder may know.
    sensitive, codes
        The confidential attributes that models look at, and their codes, one row per record.
    """

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: tuple[SensitiveAttribute, ...]
    codes: NDArray[np.int32]
    points: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", places_of(self.quasi_identifiers))

    def __len__(self) -> int:
        return len(self.codes)

    def column(self, name: str) -> int:
        """Return the number of a confidential attribute."""
        return [attribute.name for attribute in self.sensitive].index(name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classified:
    """The class of every record.

    Parameters
    ----------
    partition
        The classes.
    buckets
        The buckets that are released in place of confidential values; None where these stay as they are.
    events, details
        What was done before the classes were made, and what there is to say of them afterwards.
    decimals
        To how many decimals means are rounded; None: they are not.
    """

    partition: Partition
    buckets: Buckets | None = None
    bucketized: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    details: tuple[Event, ...] = ()
    decimals: int | None = None


def closeness(partition: Partition, buckets: ArrayLike) -> Achieved:
    """Return the least k and t that hold for a partition, exactly."""
    numbers = bucket_numbers(buckets, len(partition))
    attribute = SensitiveAttribute(name="bucket", size=int(numbers.max()) + 1, ordered=False)
    classes = classes_of(partition, (attribute,), numbers[:, None])
    sizes = KAnonymity(1).achieved(classes)
    return Achieved({**sizes, **MultiplicativeCloseness("bucket", 1).achieved(classes)})


def classes_of(partition: Partition, sensitive: tuple[SensitiveAttribute, ...], codes: NDArray[np.integer]) -> Classes:
    """Return the classes of a partition as models see them, given the sensitive codes of every record."""
    frequencies = Frequencies(
        hierarchies=(),
        codes=np.empty((len(partition), 0), dtype=np.int32),
        counts=np.ones(len(partition), dtype=np.int64),
        sensitive=sensitive,
        sensitive_codes=codes.astype(np.int32),
    )
    return Classes.of(frequencies, partition.labels, number=partition.count)


def bucket_numbers(buckets: ArrayLike, records: int) -> NDArray[np.int64]:
    numbers = np.asarray(buckets)
    if numbers.ndim != 1 or len(numbers) != records or not np.issubdtype(numbers.dtype, np.integer):
        raise DataError(f"`buckets` must be one whole number for each of {records} records.")
    if records == 0:
        raise ParameterError("there are no records to put into classes.")
    if numbers.min() < 0 or not np.bincount(numbers).all():
        raise DataError("`buckets` must be numbered 0, 1, ... without gaps.")
    return numbers.astype(np.int64)
