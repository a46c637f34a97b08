"""The state of a release of classes while it is made, whatever its form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import RequirementError
from shoal.guarantees import Column, Event, Promise, Words, column
from shoal.kernels import Codes, Counts, Integers
from shoal.mechanisms import RandomSource
from shoal.methods.base import released_columns
from shoal.methods.classes._buckets import Buckets
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._typical import Errors
from shoal.models import Classes, Model
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.tables import EncodedRecords, Frequencies, Holders, SensitiveAttribute

if TYPE_CHECKING:
    from shoal.methods.classes._method import PartitionMethod
    from shoal.plan import Plan


Form = Literal["microaggregated", "generalized", "permuted", "anatomy", "suppressed"]
"""What is done to the records of a class.

``microaggregated``: quasi-identifiers become the mean, median or most typical value of the class. ``generalized``: they
become their lowest common ancestor, so nothing is invented. ``permuted``: quasi-identifiers stay as they are and all
other columns change places inside the class at random; the classes are not published. ``anatomy``: two tables, of
quasi-identifiers and of the other columns, linked by the class alone. ``suppressed``: cells of quasi-identifiers in
which they differ become ``*``.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classified:
    """The class of every record."""

    #: The classes.
    partition: Partition
    #: The buckets that are released in place of confidential values; None where these stay as they are.
    buckets: Buckets | None = None
    bucketized: tuple[str, ...] = ()
    #: What was done before the classes were made, and what there is to say of them afterwards.
    events: tuple[Event, ...] = ()
    details: tuple[Event, ...] = ()
    #: To how many decimals means are rounded; None: they are not.
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Formed:
    """The columns to release and the classes as anybody will see them."""

    #: New values of columns, one per record; columns that are not here are released as they are.
    columns: dict[str, pa.Array]
    #: The released classes: those that the same quasi-identifiers make the same are one.
    partition: Partition
    #: What the quasi-identifiers lost, by the names of measures.
    measures: dict[str, float] = field(default_factory=dict)
    #: The sums of squares that the measures of means come from.
    errors: Errors = field(default_factory=Errors)


class ReleasedColumns(ABC):
    """The columns of a release: those that tell who somebody is, and all others."""

    __slots__ = ()

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What the columns mean."""

    @property
    def identifying(self) -> tuple[str, ...]:
        """The released columns that tell who somebody is."""
        return tuple(name for name in released_columns(self.schema) if self.schema[name].role.tells_who)

    @property
    def confidential(self) -> tuple[str, ...]:
        """All other released columns."""
        return tuple(name for name in released_columns(self.schema) if name not in self.identifying)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassRun(ReleasedColumns):
    """The partition, records and plan that all forms of a release are made from."""

    plan: Plan
    method: PartitionMethod
    encoded: EncodedRecords
    classified: Classified
    formed: Formed
    classes: Classes
    key: bytes | None
    source: RandomSource

    @property
    def schema(self) -> Schema:
        return self.plan.schema

    def words(self, **more: object) -> Words:
        """Return the terms in which the release speaks of its classes and persons."""
        return Words(person=self.schema.person if self.method.counts_persons else None, **more)  # type: ignore[arg-type]

    @property
    def readings(self) -> tuple[Classes, ...]:
        """The classes in every way in which promises hold for them: see `readings`."""
        return readings(self.classes, self.formed.partition, self.encoded.persons, shown=self.method.shows_members)

    @property
    def crowd(self) -> int:
        """Among how many people a record hides at least."""
        return int(self.readings[-1].crowds.min())

    def describe_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return what a checker must know of columns."""
        return tuple(self._column(name) for name in names)

    def _column(self, name: str) -> Column:
        if name not in self.classified.bucketized or self.classified.buckets is None:
            return column(self.schema[name])
        labels = self.classified.buckets.labels[self.classified.bucketized.index(name)]
        ordered = self.schema[name].kind is not Kind.CATEGORICAL and in_order(self.classified.bucketized, labels)
        return bucket_column(self.schema[name], labels, ordered=ordered)


RandomizedColumns = tuple[dict[str, pa.Array], list[Promise], list[Event]]
"""Randomised columns, what they promise, and the steps that made them."""


def classes_of(
    partition: Partition,
    sensitive: tuple[SensitiveAttribute, ...],
    codes: NDArray[np.integer],
    persons: NDArray[np.int64] | None = None,
) -> Classes:
    """Return the classes of a partition as models see them, given the sensitive codes and the person of every record.

    Without ``persons``, every record is of a person of its own.
    """
    frequencies = Frequencies(
        hierarchies=(),
        codes=np.empty((len(partition), 0), dtype=np.int32),
        counts=np.ones(len(partition), dtype=np.int64),
        sensitive=sensitive,
        sensitive_codes=codes.astype(np.int32),
        holders=None if persons is None else Holders.of_records(persons),
    )
    return Classes.of(frequencies, partition.labels, number=partition.count)


def readings(
    classes: Classes, partition: Partition, persons: NDArray[np.int64] | None, *, shown: bool
) -> tuple[Classes, ...]:
    """Return classes in every way in which promises must hold for them.

    Where the records of a class look alike, its persons are counted, and each has one vote. Where quasi-identifiers are
    released as they are (``shown``), anybody sees that r of the n records of a class are of the same person, and any
    confidential values of the class come from that person with probability r / n. So promises must also hold as the
    intruder sees it: a class hides everybody among floor(n / greatest r) people, and every record counts as it is. A
    union of classes keeps what all of them keep.
    """
    if persons is None or not shown:
        return (classes,)
    number = int(persons.max()) + 1
    held, times = np.unique(partition.labels.astype(np.int64) * number + persons, return_counts=True)
    most = np.ones(partition.count, dtype=np.int64)
    np.maximum.at(most, held // number, times)
    by_records = {name: replace(histogram, votes=None) for name, histogram in classes.sensitive.items()}
    return classes, replace(classes, sensitive=by_records, persons=classes.sizes // most, vote=1)


def find_satisfying(models: Sequence[Model], classes: Classes) -> NDArray[np.bool_]:
    """Return which classes satisfy all models in a release of all of them."""
    everything = np.ones(len(classes), dtype=np.bool_)
    verdict = everything.copy()
    for model in models:
        verdict &= model.keep(classes, everything)
    return verdict


def verdict(
    models: Sequence[Model],
    partition: Partition,
    sensitive: tuple[SensitiveAttribute, ...],
    codes: NDArray[np.integer],
    persons: NDArray[np.int64] | None = None,
    *,
    shown: bool = False,
    totals: Mapping[str, Counts] | None = None,
) -> NDArray[np.bool_]:
    """Return which classes of a partition satisfy all models, in every way in which they must; see `readings`.

    ``totals`` say how often every sensitive value occurs in the release where that has other records, too.
    """
    classes = classes_of(partition, sensitive, codes, persons)
    ways = readings(classes if totals is None else classes.among(totals), partition, persons, shown=shown)
    return np.asarray(np.all([find_satisfying(models, way) for way in ways], axis=0))[: partition.count]


def check_classes(plan: Plan, encoded: EncodedRecords, classified: Classified, made: Formed) -> Classes:
    """Decide every promise on the classes that will be released, independently of the method."""
    sensitive, codes = released_sensitive(encoded, classified)
    classes = classes_of(made.partition, sensitive, codes, encoded.persons)
    ways = readings(classes, made.partition, encoded.persons, shown=plan.method.shows_members)
    broken = [model for model in plan.class_models if not all(find_satisfying([model], way).all() for way in ways)]
    if broken:
        raise RequirementError(
            [f"the classes of method `{plan.method.name}` do not keep `{model.title}`" for model in broken],
            hint="values that become buckets have as many different values as there are buckets",
        )
    return classes


def released_sensitive(encoded: EncodedRecords, classified: Classified) -> tuple[tuple[SensitiveAttribute, ...], Codes]:
    """Return the sensitive attributes as they are released: buckets where there are some."""
    if classified.buckets is None:
        return encoded.sensitive, encoded.sensitive_codes
    attributes, codes = list(encoded.sensitive), encoded.sensitive_codes.copy()
    positions = [[attribute.name for attribute in attributes].index(name) for name in classified.bucketized]
    for j, (attribute, own) in zip(
        positions, bucket_codes([attributes[j] for j in positions], classified.buckets), strict=True
    ):
        attributes[j], codes[:, j] = attribute, own
    return tuple(attributes), codes


def bucket_codes(
    attributes: Sequence[SensitiveAttribute], buckets: Buckets
) -> list[tuple[SensitiveAttribute, Integers]]:
    """Return attributes as their buckets are released, with the codes of these; buckets with one label are one."""
    names, codes = [attribute.name for attribute in attributes], []
    for attribute, labels in zip(attributes, buckets.labels, strict=True):
        different = tuple(dict.fromkeys(labels))
        ordered = attribute.ordered and in_order(names, labels)
        released = SensitiveAttribute(name=attribute.name, size=len(different), ordered=ordered, labels=different)
        codes.append((released, np.array([different.index(label) for label in labels])[buckets.numbers]))
    return codes


def bucket_column(attribute: Attribute, labels: Sequence[str | None], *, ordered: bool) -> Column:
    """Return what a checker must know of a column of buckets."""
    kind = Kind.ORDINAL if ordered else Kind.CATEGORICAL
    return Column(name=attribute.name, role=Role.SENSITIVE, kind=kind, values=tuple(labels) if ordered else None)  # type: ignore[arg-type]


def in_order(names: Sequence[str], labels: Sequence[str]) -> bool:
    """Return whether buckets are intervals of one attribute; a value that is called "missing" may look like another."""
    return len(names) == 1 and len({*labels}) == len(labels)
