"""Schemas: one :class:`Attribute` per column, with its role, kind, domain, missing values and hierarchy."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from shoal.errors import FilterError, Problems, SchemaError, quoted
from shoal.exact import is_finite
from shoal.schema._derived import Derived, check_derived
from shoal.schema._domain import PLAIN, Domain, Kind, Provenance, Reading
from shoal.schema._rule import HierarchyRule


class Role(StrEnum):
    """What an attribute tells about a person.

    ``IDENTIFIER`` names a person and is dropped or replaced by a keyed pseudonym. ``PERSON`` says whose record it is,
    in a table that may hold several records of a person, and ``HOUSEHOLD`` to which household (or another group of
    persons) that person belongs; promises then count persons. Both leave as pseudonyms or not at all.
    ``QUASI_IDENTIFIER`` is known to an intruder from elsewhere and is generalised. ``SENSITIVE`` is what the intruder
    wants to learn; it is released as it is. ``INSENSITIVE`` is neither; it is released as it is. ``WEIGHT`` says how
    many people of the population a record of a survey stands for; risks use it, and it is released as it is.
    ``STRATUM`` says from which part of the population a record was drawn: a quasi-identifier inside whose values
    methods for surveys work. ``DROP`` is left out, whatever it tells. ``DECIDE`` waits for a person: nothing is
    released before its role is known.
    """

    IDENTIFIER = "identifier"
    PERSON = "person"
    HOUSEHOLD = "household"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"
    WEIGHT = "weight"
    STRATUM = "stratum"
    DROP = "drop"
    DECIDE = "decide"

    @property
    def names_someone(self) -> bool:
        """Whether values stand for a person or a household: they are released as pseudonyms or not at all.

        So are columns that are dropped, or not yet decided: they count as if they named somebody.
        """
        return self in (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD, Role.DROP, Role.DECIDE)

    @property
    def left_out(self) -> bool:
        """Whether values leave in no form at all."""
        return self in (Role.DROP, Role.DECIDE)

    @property
    def tells_who(self) -> bool:
        """Whether values help to find out whose record it is."""
        return self.names_someone or self.known_elsewhere

    @property
    def known_elsewhere(self) -> bool:
        """Whether an intruder may know the values from elsewhere: those of quasi-identifiers and strata."""
        return self in (Role.QUASI_IDENTIFIER, Role.STRATUM)

    @property
    def released_as_it_is(self) -> bool:
        """Whether values are released as they are read, without any generalisation."""
        return self in (Role.SENSITIVE, Role.INSENSITIVE)

    @property
    def may_be_rounded(self) -> bool:
        """Whether the numbers of a column may be rounded when they are read: those that no method makes coarser."""
        return self.released_as_it_is or self is Role.WEIGHT

    @property
    def groups_records(self) -> bool:
        """Whether values say which records belong together."""
        return self in (Role.PERSON, Role.HOUSEHOLD)


class Missing(StrEnum):
    """The meaning of a missing value.

    ``CATEGORY``: missing is a value of its own; two missing values are alike. ``DROP``: records that miss the
    value are left out of the release and counted. ``REFUSE``: a missing value is an error.
    """

    CATEGORY = "category"
    DROP = "drop"
    REFUSE = "refuse"


class Outside(StrEnum):
    """The treatment of values outside the declared domain, or that are no number or day where one is declared.

    ``REFUSE``: it is an error. ``CLAMP``: a number or day becomes the nearest bound. ``MISSING``: it counts as missing.
    In place of one of these words stands a declared value that takes all others, such as ``other``.
    """

    REFUSE = "refuse"
    CLAMP = "clamp"
    MISSING = "missing"


class PersonsAnswer(StrEnum):
    """Whether a table without a person column holds one record of each person.

    ``UNSTATED``: nothing suggests otherwise. ``DECIDE``: columns suggest that persons have several records, and nothing
    is released before a person has given one of them the role ``person`` or said that it is not so. ``RECORDS``: a
    person has said that every record stands for another person.
    """

    UNSTATED = ""
    DECIDE = "decide"
    RECORDS = "records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One column of the data and what it means.

    Parameters
    ----------
    name
        The column's name.
    role, kind
        See :class:`Role` and :class:`Kind`; their words are understood too: ``role="sensitive"``.
    domain
        Declared values or bounds, or None where they are taken from the data (never under differential privacy).
    outside
        See :class:`Outside`; or the declared value that all values stand for that are not declared.
    missing
        See :class:`Missing`. A person or household is never a missing one: by default, records without a key are
        refused, for they may belong to somebody who is counted already. So are records without a sampling weight.
    weight
        How much the analysts care about this attribute, in [0, inf); quality measures weigh with it.
    hierarchy
        How values generalise, or None for ``value -> *``.
    reading
        How values are written, where that is not plain; see :class:`Reading`.
    pseudonym
        For an identifier, a person or a household: replace it by a keyed pseudonym instead of dropping it.
    derived
        For a column with the role ``drop``: the public rule that gives its values from those of another column; see
        :class:`Derived`.
    reason
        Why the column has its role, in a person's words; reports print it, so it must not tell about the data.
    """

    name: str
    role: Role = Role.INSENSITIVE
    kind: Kind = Kind.CATEGORICAL
    domain: Domain | None = None
    missing: Missing = Missing.CATEGORY
    outside: str = Outside.REFUSE
    weight: float = 1.0
    hierarchy: HierarchyRule | None = None
    pseudonym: bool = False
    reading: Reading = PLAIN
    derived: Derived | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        problems = Problems()
        for name, words in (("role", Role), ("kind", Kind), ("missing", Missing)):
            try:
                object.__setattr__(self, name, words(getattr(self, name)))
            except ValueError:
                problems.add(f"column `{self.name}`: `{name}` must be one of {', '.join(words)}")
        problems.raise_as(SchemaError)
        if (self.role.groups_records or self.role is Role.WEIGHT) and self.missing is Missing.CATEGORY:
            object.__setattr__(self, "missing", Missing.REFUSE)
        # a weight is a number, whether the schema says so or nothing
        if self.role is Role.WEIGHT and self.kind is Kind.CATEGORICAL and not self._lists_values:
            object.__setattr__(self, "kind", Kind.NUMERIC)
        if not self.name:
            problems.add("a column must have a name")
        for problem in self._problems():
            problems.add(f"column `{self.name}`: {problem}")
        problems.raise_as(SchemaError)

    @property
    def _lists_values(self) -> bool:
        return self.domain is not None and self.domain.values is not None

    @property
    def _other_values(self) -> tuple[str, ...]:
        """The declared values that others may stand for."""
        texts = self.kind in (Kind.CATEGORICAL, Kind.ORDINAL) and self.domain is not None
        return (self.domain.values or ()) if texts and self.domain is not None else ()

    @property
    def refuses(self) -> bool:
        """Whether some value of the column, or a missing one, is an error."""
        return not self.role.left_out and (self.outside == Outside.REFUSE or self.missing is Missing.REFUSE)

    def total(self, *, keep_records: bool = False) -> Attribute:
        """Return the attribute by which every value of the column has a meaning.

        What would be refused is clamped where there are bounds, and missing elsewhere; a record that lacks a value that
        may not be missing is left out, or with ``keep_records`` stays, with a missing value.
        """
        if not self.refuses:
            return self
        numbers = self.kind in (Kind.NUMERIC, Kind.DATE) and self.domain is not None and self.domain.is_bounded
        outside = self.outside if self.outside != Outside.REFUSE else Outside.CLAMP if numbers else Outside.MISSING
        instead = Missing.CATEGORY if keep_records and not self.role.names_someone else Missing.DROP
        missing = instead if self.missing is Missing.REFUSE else self.missing
        return replace(self, outside=outside, missing=missing)

    def _problems(self) -> Iterator[str]:
        """Say what does not go together."""
        if not (is_finite(self.weight) and self.weight >= 0):
            yield f"`weight` must be in [0, inf); got {self.weight}"
        if self.pseudonym and (not self.role.names_someone or self.role.left_out):
            yield f"`pseudonym` applies only to identifiers; this column is {self.role}"
        if self.derived is not None and self.role is not Role.DROP:
            yield f"a derived column is left out and computed again: its role must be drop; it is {self.role}"
        if self.role is Role.WEIGHT and self.kind is not Kind.NUMERIC:
            yield f"a sampling weight is numeric; this column is {self.kind}"
        if self.role is Role.WEIGHT and self.hierarchy is not None:
            yield "a sampling weight is released as it is and takes no `hierarchy`"
        if self.domain is not None and self.domain.provenance is Provenance.INFERRED and self.domain.values is None:
            yield "bounds that were read off the data are not kept in a schema"
        if self.outside == Outside.CLAMP and not (self.domain is not None and self.domain.is_bounded):
            yield '`outside = "clamp"` needs `minimum` and `maximum`'
        elif self.outside not in (*Outside, *self._other_values):
            yield f"`outside` must be one of {', '.join(Outside)}, or one of the declared `values`"
        if self.kind is Kind.ORDINAL and not self._lists_values:
            yield "an ordinal column needs all its `values` in ascending order"
        ends = () if self.domain is None else (self.domain.minimum, self.domain.maximum)
        bounds = [bound for bound in ends if bound is not None]
        if bounds and self.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
            yield "`minimum` and `maximum` apply only to numeric and date columns"
        elif any(isinstance(bound, dt.date) != (self.kind is Kind.DATE) for bound in bounds):
            yield f"the bounds of a {self.kind} column must be {self.kind} values"
        if not self.role.names_someone:
            yield from self.reading.problems(self.kind)
        if self.reading.round_to is not None and not self.role.left_out and not self.role.may_be_rounded:
            yield f"`round_to` applies only to columns that are released as they are; this column is {self.role}"
        if self.hierarchy is not None and self.kind not in self.hierarchy.kinds:
            yield (
                f"the hierarchy rule `{self.hierarchy.name}` works on columns of kind "
                f"{' or '.join(self.hierarchy.kinds)}; this column is {self.kind}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The attributes of a table, in the order of its columns.

    Parameters
    ----------
    attributes
        One per column of the data; a column of the data that the schema does not name is an error, so that nothing
        is released by accident.
    folder
        Where relative paths of hierarchy files start.
    missing_values
        What stands for a missing value in every column, besides what the columns say themselves.
    impossible
        Filters that no record fulfils, as everybody knows: ``age < 15 and marital != never``. Records made from a
        release keep to them. Public knowledge only: never read off the data.
    guessed
        True where roles were drafted and nobody confirmed them; the certificate then says so.
    persons
        See :class:`PersonsAnswer`.

    Examples
    --------
    >>> from shoal.schema import Attribute, Role
    >>> schema = Schema(attributes=(Attribute(name="age", role=Role.QUASI_IDENTIFIER), Attribute(name="pay")))
    >>> schema.quasi_identifiers
    ('age',)
    """

    attributes: tuple[Attribute, ...]
    folder: Path = field(default=Path(), compare=False)
    guessed: bool = False
    missing_values: tuple[str, ...] = ()
    persons: PersonsAnswer = PersonsAnswer.UNSTATED
    impossible: tuple[str, ...] = ()
    _by_name: dict[str, Attribute] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        problems = Problems()
        object.__setattr__(self, "missing_values", tuple(self.missing_values))
        object.__setattr__(self, "persons", PersonsAnswer(self.persons))
        object.__setattr__(self, "impossible", tuple(self.impossible))
        object.__setattr__(self, "_by_name", {attribute.name: attribute for attribute in self.attributes})
        times = Counter(attribute.name for attribute in self.attributes)
        for name in sorted(name for name, number in times.items() if number > 1):
            problems.add(f"column `{name}` appears twice in the schema")
        for role in (Role.PERSON, Role.HOUSEHOLD):
            if len(several := self.having(role)) > 1:
                listed = quoted(several)
                problems.add(f"columns {listed} have the role {role}; at most one column can have it")
        if len(weights := self.having(Role.WEIGHT)) > 1:
            listed = quoted(weights)
            problems.add(f"columns {listed} have the role weight; at most one column can have it")
        rules = {each.name: each.derived for each in self.attributes if each.derived is not None}
        left_out = {each.name: each.role.names_someone and each.name not in rules for each in self.attributes}
        check_derived(rules, left_out, problems)
        for name, rule in rules.items():
            domain = self._by_name[rule.source].domain if rule.source in self._by_name else None
            if rule.values is not None and domain is not None and domain.values is not None:
                marks = {*self._by_name[rule.source].reading.missing_values, *self.missing_values}
                lost = len({*domain.values} - {*dict(rule.values)} - marks)
                if lost:
                    problems.add(
                        f"column `{name}`: its rule says nothing about {lost:,} of the {len(domain.values):,} declared "
                        f"values of `{rule.source}`"
                    )
        self._check_impossible(problems)
        problems.raise_as(SchemaError)

    def _check_impossible(self, problems: Problems) -> None:
        from shoal.schema.filters import parse

        for position, rule in enumerate(self.impossible, start=1):
            try:
                if parse(rule, self, derived=True) is None:
                    problems.add(f"item {position} of `impossible` is empty")
            except FilterError as error:
                problems.add(f"item {position} of `impossible`: {error.problems[0]}")

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        if name not in self._by_name:
            raise SchemaError(f"the schema has no column `{name}`")
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema file; see :func:`shoal.schema.load`."""
        from shoal.schema._toml import load

        return load(path)

    def save(self, path: str | Path) -> None:
        """Write a schema file; see :func:`shoal.schema.save`."""
        from shoal.schema._toml import save

        save(self, path)

    def __repr__(self) -> str:
        counts = ((role, len(self.having(role))) for role in Role)
        told = ", ".join(f"{number} {role}" for role, number in counts if number)
        return f"<Schema of {len(self.attributes)} columns: {told}{'; guessed' if self.guessed else ''}>"

    def with_role(self, name: str, role: Role | str) -> Schema:
        """Return the schema with another role for one column.

        Examples
        --------
        >>> Schema(attributes=(Attribute(name="zip"),)).with_role("zip", "quasi-identifier").quasi_identifiers
        ('zip',)
        """
        column = self[name]
        rule = None if role == Role.WEIGHT else column.hierarchy
        derived = column.derived if role == Role.DROP else None
        reading = column.reading if Role(role).may_be_rounded else replace(column.reading, round_to=None)
        changed = replace(column, role=role, pseudonym=False, hierarchy=rule, derived=derived, reading=reading)  # type: ignore[arg-type]
        if column.pseudonym and changed.role.names_someone and not changed.role.left_out:
            changed = replace(changed, pseudonym=True)
        return replace(self, attributes=tuple(changed if each is column else each for each in self.attributes))

    def with_rounding(self, steps: Mapping[str, float]) -> Schema:
        """Return the schema with numbers of some columns rounded to a step each when they are read."""
        for name in steps:
            self[name]
        attributes = (
            replace(each, reading=replace(each.reading, round_to=steps[each.name])) if each.name in steps else each
            for each in self.attributes
        )
        return replace(self, attributes=tuple(attributes))

    def having(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with this role."""
        return tuple(attribute.name for attribute in self.attributes if attribute.role is role)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The names of the columns that name someone, and of those that are left out or not yet decided."""
        return tuple(attribute.name for attribute in self.attributes if attribute.role.names_someone)

    @property
    def person(self) -> str | None:
        """The column that says whose record it is; None where every record is a person of its own."""
        return next(iter(self.having(Role.PERSON)), None)

    @property
    def is_total(self) -> bool:
        """Whether every table with these columns fits, whatever its cells hold."""
        return not any(attribute.refuses for attribute in self.attributes)

    def total(self, *, keep_records: bool = False) -> Schema:
        """Return the schema that refuses no value.

        Differential privacy needs one: that a value is refused tells that somebody has it, and nobody pays for that.
        Where neighbours replace a record, how many there are is public, and so that number must not depend on what they
        say: with ``keep_records`` what would be refused leaves no record out.

        Examples
        --------
        >>> age = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=120))
        >>> Schema(attributes=(age,)).total()["age"].outside
        <Outside.CLAMP: 'clamp'>
        """
        if self.is_total:
            return self
        return replace(self, attributes=tuple(each.total(keep_records=keep_records) for each in self.attributes))

    @property
    def asks_for_persons(self) -> bool:
        """Whether a person must still say if persons have several records."""
        return self.persons is PersonsAnswer.DECIDE and self.person is None

    @property
    def household(self) -> str | None:
        """The column that says to which household, or other group, the person of a record belongs, if there is one."""
        return next(iter(self.having(Role.HOUSEHOLD)), None)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers, those of strata among them."""
        return tuple(attribute.name for attribute in self.attributes if attribute.role.known_elsewhere)

    @property
    def strata(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers that say from which part of the population a record was drawn."""
        return self.having(Role.STRATUM)

    @property
    def sampling_weight(self) -> str | None:
        """The column that says how many people of the population a record stands for, if there is one."""
        return next(iter(self.having(Role.WEIGHT)), None)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the sensitive attributes."""
        return self.having(Role.SENSITIVE)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """The names of the insensitive attributes, and of the sampling weight."""
        insensitive = (Role.INSENSITIVE, Role.WEIGHT)
        return tuple(attribute.name for attribute in self.attributes if attribute.role in insensitive)
