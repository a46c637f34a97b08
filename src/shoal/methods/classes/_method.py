"""What every method that puts records into classes offers to plans and releases."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees import Event
from shoal.methods.classes._buckets import Buckets
from shoal.methods.classes._columns import QuasiIdentifier, places_of
from shoal.methods.classes._partition import Partition
from shoal.models import Model
from shoal.schema import Schema
from shoal.tables import SensitiveAttribute

__all__ = ["Classified", "Form", "PartitionMethod", "People"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMethod(ABC):
    """A method that chooses the class of every record on its own."""

    form: Form = "microaggregated"
    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def classify(self, people: People, models: Sequence[Model]) -> Classified:
        """Put every record into a class, so that every class satisfies every model.

        Raises
        ------
        RequirementError
            If this method finds no such classes; it says what stands in the way.
        """

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        del schema
        found = [
            f"method `{self.name}` cannot keep `{model.title}`, which looks at more than sizes and sensitive values"
            for model in models
            if model.capabilities.codes or model.capabilities.population
        ]
        if self.form == "anatomy":
            found += [
                f"method `{self.name}` releases quasi-identifiers as they are, and cannot keep `{model.title}`, which "
                "is about them"
                for model in models
                if not model.capabilities.decided_by_size and not model.capabilities.sensitive
            ]
        return found

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive columns that the method itself looks at."""
        del schema
        return ()

    def weighted(self, weights: Mapping[str, float]) -> Self:
        """Return the method as it is: weights of columns are read off the schema."""
        del weights
        return self

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates."""
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
