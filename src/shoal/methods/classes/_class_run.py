"""What is known of a release of classes, whatever its form, and what it promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.errors import RequirementError
from shoal.exact import fraction
from shoal.guarantees import Column, Event, Promise, column
from shoal.mechanisms import RandomSource
from shoal.methods.classes._forms import Formed
from shoal.methods.classes._people import Classified, classes_of, closeness
from shoal.methods.classes._promises import achieved
from shoal.methods.classes._promises_closeness import HiddenClasses, ViewPrivacy
from shoal.models import Classes, MultiplicativeCloseness
from shoal.schema import Kind, Role, Schema
from shoal.tables import EncodedRecords, SensitiveAttribute

if TYPE_CHECKING:
    from shoal.methods.brief import Brief
    from shoal.methods.classes._method import PartitionMethod

__all__ = ["ClassRun", "Drawn", "checked", "hidden_classes", "released_columns", "views"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassRun:
    """What all forms of a release are made from."""

    plan: Brief
    method: PartitionMethod
    encoded: EncodedRecords
    found: Classified
    formed: Formed
    classes: Classes
    key: bytes | None
    source: RandomSource

    @property
    def schema(self) -> Schema:
        """What the columns mean."""
        return self.plan.schema

    @property
    def identifying(self) -> tuple[str, ...]:
        """The released columns that tell who somebody is."""
        roles = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER)
        return tuple(name for name in released_columns(self.schema) if self.schema[name].role in roles)

    @property
    def confidential(self) -> tuple[str, ...]:
        """All other released columns."""
        return tuple(name for name in released_columns(self.schema) if name not in self.identifying)

    def described(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return what a checker must know of columns."""
        return tuple(self._column(name) for name in names)

    def _column(self, name: str) -> Column:
        if name not in self.found.bucketized or self.found.buckets is None:
            return column(self.schema[name])
        labels = self.found.buckets.labels[self.found.bucketized.index(name)]
        ordered = self.schema[name].kind is not Kind.CATEGORICAL and _in_order(self.found, labels)
        return Column(
            name=name,
            role=Role.SENSITIVE,
            kind=Kind.ORDINAL if ordered else Kind.CATEGORICAL,
            values=labels if ordered else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Randomised columns, what they promise, and the steps that made them."""

    columns: dict[str, pa.Array]
    promises: list[Promise]
    events: list[Event]


def checked(plan: Brief, encoded: EncodedRecords, found: Classified, made: Formed) -> Classes:
    """Decide every promise on the classes that will be released, independently of the method."""
    sensitive, codes = _released_sensitive(encoded, found)
    classes = classes_of(made.partition, sensitive, codes)
    everything = np.ones(len(classes), dtype=np.bool_)
    broken = [model for model in plan.class_models if not model.keep(classes, everything).all()]
    if broken:
        raise RequirementError(
            [f"the classes of method `{plan.method.name}` do not keep `{model.title}`" for model in broken],
            hint="values that become buckets have as many different values as there are buckets",
        )
    return classes


def _released_sensitive(
    encoded: EncodedRecords, found: Classified
) -> tuple[tuple[SensitiveAttribute, ...], np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    """Return the sensitive attributes as they are released: buckets where there are some."""
    if found.buckets is None:
        return encoded.sensitive, encoded.sensitive_codes
    attributes, codes = list(encoded.sensitive), encoded.sensitive_codes.copy()
    for name, labels in zip(found.bucketized, found.buckets.labels, strict=True):
        j = [attribute.name for attribute in attributes].index(name)
        ordered = attributes[j].ordered and _in_order(found, labels)
        different = list(dict.fromkeys(labels))
        attributes[j] = SensitiveAttribute(name=name, size=len(different), ordered=ordered, labels=tuple(different))
        codes[:, j] = np.array([different.index(label) for label in labels])[found.buckets.numbers]
    return tuple(attributes), codes


def _in_order(found: Classified, labels: Sequence[str]) -> bool:
    """Return whether buckets are intervals of one attribute; a value that is called "missing" may look like another."""
    return len(found.bucketized) == 1 and len({*labels}) == len(labels)


def views(run: ClassRun) -> list[Promise]:
    """Say what multiplicative closeness is as differential privacy, where there are buckets."""
    if not run.found.bucketized:
        return []
    return [ViewPrivacy(columns=run.found.bucketized, t=_joint_factor(run)).promise()]


def _joint(run: ClassRun) -> tuple[list[tuple[str, ...]], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return the released combinations of labels, and which of them every record has."""
    buckets = run.found.buckets
    assert buckets is not None  # noqa: S101 - asked of methods with buckets alone
    rows = list(zip(*buckets.labels, strict=True))
    labels = list(dict.fromkeys(rows))
    return labels, np.array([labels.index(row) for row in rows])[buckets.numbers]


def _joint_factor(run: ClassRun) -> Fraction:
    """Return the t that the joint distribution of all buckets has, rounded up, and at most what was asked for."""
    found = closeness(run.formed.partition, _joint(run)[1])
    asked = min(model.capabilities.factor for model in run.plan.class_models if model.capabilities.factor is not None)
    return fraction(achieved(MultiplicativeCloseness("joint", asked), found).parameters()["t"])  # type: ignore[arg-type]


def hidden_classes(run: ClassRun) -> Promise:
    """List the different histograms of the classes that are not published."""
    labels, numbers = _joint(run)
    partition = run.formed.partition
    counts = np.zeros((partition.count, len(labels)), dtype=np.int64)
    np.add.at(counts, (partition.labels, numbers), 1)
    histograms, classes = np.unique(counts, axis=0, return_counts=True)
    promise = HiddenClasses(columns=run.found.bucketized, k=int(partition.sizes.min()), t=_joint_factor(run))
    return promise.with_classes(labels, np.concatenate([classes[:, None], histograms], axis=1).tolist())


def released_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns that leave: all but identifiers without a pseudonym."""
    return tuple(each.name for each in schema if each.role is not Role.IDENTIFIER or each.pseudonym)
