"""Anatomy: quasi-identifiers and confidential values in two tables, linked by the class alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.errors import RequirementError
from shoal.exact import Arguments
from shoal.methods.classes._confidential import partition_by_confidential
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._people import Classified, Form, People, classes_of
from shoal.methods.classes._t_microaggregate import microaggregate_points, satisfied
from shoal.models import Model
from shoal.schema import Schema

__all__ = ["Anatomy"]

Grouping = Literal["quasi-identifiers", "confidential"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy(PartitionMethod):
    """Release all values as they are, in two tables: who is in which class, and what values a class has.

    Parameters
    ----------
    grouping
        ``"quasi-identifiers"``: classes of people who are near on their quasi-identifiers, merged until the promises
        hold. ``"confidential"``: classes of near confidential values [SC13 Alg. 7.1]; take a large k, and expect an
        intruder to learn the value with the precision of the class.
    attribute
        The confidential attribute to group by; the only sensitive column where not given.

    Guarantee
    ---------
    Syntactic: the promises hold for the classes; a person's confidential values are hidden among those of the class
    [SC13 7.1.2]. Quasi-identifiers are *not* hidden: who is in the release is plain to see.

    Assumptions
    -----------
    Those of the promises. An intruder knows no confidential values of other people of the class.

    Notes
    -----
    For multiplicative closeness use :class:`Bucketize` with ``form="anatomy"``.

    Examples
    --------
    >>> Anatomy(grouping="confidential").form
    'anatomy'
    """

    form: Form = "anatomy"
    grouping: Grouping = "quasi-identifiers"
    attribute: str | None = None
    name: ClassVar[str] = "anatomy"
    title: ClassVar[str] = "Anatomy"

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.choice("form", self.form, ("anatomy",))
        arguments.choice("grouping", self.grouping, get_args(Grouping))
        arguments.finish()

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        found = PartitionMethod.problems(self, schema, models)
        if self.grouping != "confidential":
            return found
        if self.attribute is None and len(schema.sensitive) != 1:
            found.append(f"`attribute` of `{self.title}` must say which of {len(schema.sensitive)} sensitive columns")
        elif self.attribute is not None and self.attribute not in schema.sensitive:
            found.append(f"`attribute` of `{self.title}` must be a sensitive column; got `{self.attribute}`")
        return found

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive columns that the method itself looks at."""
        return () if self.grouping != "confidential" else (self.attribute or schema.sensitive[0],)

    def classify(self, people: People, models: Sequence[Model]) -> Classified:
        """Make classes by quasi-identifiers, or by the confidential attribute."""
        if self.grouping == "quasi-identifiers":
            made = microaggregate_points(people.points, people.sensitive, people.codes, models, "best")
            return Classified(partition=made)
        name = self.attribute or people.sensitive[0].name
        k = max(model.capabilities.minimal_class_size for model in models)
        partition = partition_by_confidential(people.codes[:, people.column(name)].astype(np.float64), k)
        verdict = satisfied(models, classes_of(partition, people.sensitive, people.codes))
        if not verdict.all():
            raise RequirementError(
                f"{int((~verdict).sum()):,} of {len(verdict):,} classes of near confidential values break a promise",
                hint="group by quasi-identifiers, or promise k-anonymity alone with a large k",
            )
        return Classified(partition=partition)
