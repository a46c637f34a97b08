"""Slicing: groups of columns that go together are anonymised apart and released as separate tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from shoal import methods
from shoal.exact import Arguments
from shoal.guarantees import PromiseEntry, Requirement
from shoal.methods.base import Keeps, Made, Method, Work
from shoal.methods.classes._make_slices import cut
from shoal.models import Model
from shoal.schema import Role, Schema

__all__ = ["Slice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(Method):
    """Divide the columns into groups, anonymise each group with another method, and release a table for each.

    Few columns at a time need little generalisation, so tables of many quasi-identifiers keep far more detail in
    slices; what is lost is how columns of different groups go together.

    Parameters
    ----------
    groups
        Columns that stay together; every column but identifiers is in exactly one. Where not given, columns that go
        together are found in the data.
    size
        The most columns of a group that is found.
    inner
        The name of the method for each group.
    options
        The parameters of that method.

    Guarantee
    ---------
    Every table keeps the promises that are about its columns; k-anonymity and other promises about sizes are kept by
    each. Conditional: what all tables together promise, see `shoal.methods.classes.Composition`.

    Assumptions
    -----------
    An intruder does not know how columns of different groups go together. With groups that are found, the groups
    themselves tell which columns do.

    Examples
    --------
    >>> Slice(groups=[["age", "illness"], ["zip", "income"]]).groups
    (('age', 'illness'), ('zip', 'income'))
    """

    groups: Sequence[Sequence[str]] | None = None
    size: int = 4
    inner: str = "generalize"
    options: Mapping[str, object] = field(default_factory=dict)
    name: ClassVar[str] = "slice"
    title: ClassVar[str] = "Slice"
    keeps: ClassVar[Keeps] = Keeps(several_tables=True, steps=("sliced",))

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.whole("size", self.size, minimum=1)
        if self.groups is not None:
            made = tuple(arguments.columns("groups", list(group)) for group in self.groups)
            object.__setattr__(self, "groups", made)
        if self.inner == self.name:
            arguments.problems.add(f"`inner` of `{self.title}` must be another method.")
        arguments.finish()

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the method of the groups adds."""
        return self.of_groups.caveats

    @property
    def of_groups(self) -> Method:
        """The method for each group of columns."""
        return methods.from_parameters(self.inner, self.options)

    def unanswered(
        self, schema: Schema, asked: Sequence[Requirement], entries: Sequence[PromiseEntry]
    ) -> list[Requirement]:
        """Return the promises asked for that some table does not answer: each must keep those about its columns."""
        found: list[Requirement] = []
        for file, names in self.files(schema).items():
            own = [entry for entry in entries if entry.file == file]
            about = [each for each in asked if isinstance(each, Model) and {*each.capabilities.sensitive} <= {*names}]
            if {*names} & {*schema.quasi_identifiers}:
                found += [model for model in about if not any(self.of_groups.answers(model, entry) for entry in own)]
        return found

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Return the columns of every released table: one for each group."""
        groups = self.groups or ()
        return {f"slice-{number}.parquet": tuple(group) for number, group in enumerate(groups, start=1)}

    def make(self, work: Work) -> Made:
        """Anonymise each group of columns on its own."""
        return cut(work, self)

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        found = []
        if any(model.capabilities.population for model in models):
            found.append(f"method `{self.name}` cannot compare with a population")
        if self.groups is None:
            return found
        wanted = [
            attribute.name for attribute in schema if attribute.role is not Role.IDENTIFIER or attribute.pseudonym
        ]
        named = [name for group in self.groups for name in group]
        for name in dict.fromkeys(named):
            if name not in wanted:
                found.append(f"`groups` of `{self.title}` names `{name}`, which is not a column to release")
            elif named.count(name) > 1:
                found.append(f"`groups` of `{self.title}` has `{name}` twice: tables must share no column")
        found += [f"`groups` of `{self.title}` leaves out `{name}`" for name in wanted if name not in named]
        for model in models:
            needed = set(model.capabilities.sensitive)
            if needed and not any(needed <= set(group) for group in self.groups):
                found.append(f"no group of `{self.title}` has all columns that `{model.title}` is about")
        return found
