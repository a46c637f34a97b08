"""Slicing: groups of columns that go together are anonymised apart and released as separate tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal import methods, tables
from shoal.errors import ParameterError, RequirementError, quoted
from shoal.exact import WHOLE, Arguments, fraction, optional, plain, within
from shoal.guarantees import (
    CLASSES,
    COMMON_STEPS,
    Column,
    Counted,
    Decision,
    Dropped,
    Event,
    Evidence,
    ExpectedStep,
    Guarantee,
    Promise,
    PromiseEntry,
    Requirement,
    Words,
    column,
    exactly,
)
from shoal.kernels import Codes, Floats, Integers
from shoal.methods.base import Method, MethodCapabilities, Part, Result, Work
from shoal.methods.classes._closeness import PRIOR, closeness_epsilon
from shoal.methods.classes._promises import ClassPromise, HiddenClasses, ViewPrivacy, of_file
from shoal.methods.classes._steps import Sliced
from shoal.methods.classes._stochastic import LocalPrivacy
from shoal.models import KAnonymity, Model, MultiplicativeCloseness, ProbabilisticKAnonymity, PSensitive
from shoal.schema import Attribute, Flat, Kind, Role, Schema
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.plan import Plan

BINS = 10


LOOKED_AT = 50_000
"""Records that columns are compared on."""


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
    size: int = field(default=4, metadata=WHOLE)
    inner: str = "generalize"
    options: Mapping[str, object] = field(default_factory=dict)
    family: ClassVar[str] = "classes"
    name: ClassVar[str] = "slice"
    about: ClassVar[str] = "Groups of columns are anonymised and released apart."
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities()
    step_kinds: ClassVar[tuple[type[Event], ...]] = (*COMMON_STEPS, Sliced)

    def fit(self, arguments: Arguments) -> None:
        """Report groups that are no columns, and slices of slices."""
        if self.groups is not None:
            made = arguments.groups_of_columns("groups", self.groups)
            object.__setattr__(self, "groups", made)
        if self.inner == self.name:
            arguments.problems.add(f"`inner` of `{self.title}` must be another method.")

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the method of the groups adds."""
        return self.of_groups.caveats

    @property
    def counts_persons(self) -> bool:
        """Whether persons with several records are counted as one: where the method of the groups does."""
        return self.of_groups.counts_persons

    @property
    def shows_members(self) -> bool:
        """Whether quasi-identifiers are released as they were: where the method of the groups does."""
        return self.of_groups.shows_members

    @property
    def of_groups(self) -> Method:
        """The method for each group of columns."""
        return methods.from_parameters(self.inner, self.options)

    def find_unanswered(
        self, schema: Schema, asked: Sequence[Requirement], entries: Sequence[PromiseEntry]
    ) -> list[Requirement]:
        """Return the promises asked for that some table does not answer: each must keep those about its columns."""
        unanswered: list[Requirement] = []
        for file, names in self.files(schema).items():
            own = [entry for entry in entries if entry.file == file]
            about = [each for each in asked if isinstance(each, Model) and {*each.capabilities.sensitive} <= {*names}]
            if {*names} & {*schema.quasi_identifiers}:
                unanswered += [
                    model for model in about if not any(self.of_groups.answers(model, entry) for entry in own)
                ]
        return unanswered

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Return the columns of every released table: one for each group."""
        groups = self.groups or ()
        return {f"slice-{number}.parquet": tuple(group) for number, group in enumerate(groups, start=1)}

    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        """Return the groups, and the steps of the method of the groups for each that has a quasi-identifier."""
        groups = tuple(map(tuple, self.groups or ()))
        steps = exactly(*Dropped.by(plan.schema), Sliced(groups=groups))
        for group in groups:
            part = _part_plan(plan, self, [name for name in plan.schema.names if name in group])
            steps += [] if part is None else _expected_of_slice(part)
        return steps

    def make(self, work: Work) -> Result:
        """Anonymise each group of columns on its own."""
        work = work.open(models=work.plan.models)  # each group spells out its own
        plan, table = work.plan, work.table
        groups = _groups(plan, self, table)
        plan = replace(plan, method=replace(self, groups=groups))
        made: list[tuple[Part, Result | None, tuple[Promise, ...]]] = []
        for number, group in enumerate(groups, start=1):
            names = [name for name in plan.schema.names if name in group]
            file = f"slice-{number}.parquet"
            mine = _part_plan(plan, self, names)
            if mine is None:
                made.append((_keep_unchanged(plan, table, file, names), None, ()))
                continue
            key = work.key if any(plan.schema[name].pseudonym for name in names) else None
            release = mine.method.make(replace(work, plan=mine, table=table.select(*mine.schema.names), key=key))
            made.append(_as_part(release, file))
        return _together(plan, table, groups, made)

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        problems = []
        if any(model.capabilities.about_population for model in models):
            problems.append(f"method `{self.name}` cannot compare with a population")
        if self.groups is None:
            return problems
        wanted = [attribute.name for attribute in schema if not attribute.role.names_someone or attribute.pseudonym]
        named = [name for group in self.groups for name in group]
        for name in dict.fromkeys(named):
            if name not in wanted:
                problems.append(f"`groups` of `{self.title}` names `{name}`, which is not a column to release")
            elif named.count(name) > 1:
                problems.append(f"`groups` of `{self.title}` lists `{name}` twice: tables must not share a column")
        problems += [f"`groups` of `{self.title}` leaves out `{name}`" for name in wanted if name not in named]
        for model in models:
            needed = set(model.capabilities.sensitive)
            if needed and not any(needed <= set(group) for group in self.groups):
                problems.append(f"no group of `{self.title}` has all columns that `{model.title}` is about")
        return problems


def _groups(plan: Plan, method: Slice, table: Table) -> tuple[tuple[str, ...], ...]:
    if method.groups is not None:
        return tuple(tuple(group) for group in method.groups)
    released = [each.name for each in plan.schema if not each.role.names_someone or each.pseudonym]
    codes = _codes(table, released)
    together = [
        [released.index(name) for name in model.capabilities.sensitive]
        for model in plan.class_models
        if len(model.capabilities.sensitive) > 1
    ]
    groups = group_columns(associations(codes), method.size, together)
    return tuple(tuple(released[j] for j in group) for group in groups)


def _codes(table: Table, names: Sequence[str]) -> Codes:
    """Return codes of some records, whatever the roles and hierarchies of their columns."""
    assert table.schema is not None  # noqa: S101 - with_schema was called
    flat = Schema(attributes=tuple(_flat(table.schema[name]) for name in names))
    some = tables.sample_records(table.select(*names), LOOKED_AT)
    encoded = tables.encode_records(replace(some, schema=flat), sensitive=())
    frequencies = encoded.frequencies
    step = max(1, len(encoded) // LOOKED_AT)
    return np.asarray(frequencies.codes[::step])


def _flat(attribute: Attribute) -> Attribute:
    domain = attribute.domain if attribute.kind is Kind.ORDINAL else None
    return Attribute(
        name=attribute.name, role=Role.QUASI_IDENTIFIER, kind=attribute.kind, domain=domain, hierarchy=Flat()
    )


def _part_plan(plan: Plan, method: Slice, names: Sequence[str]) -> Plan | None:
    """Return the plan of a group, or None where it has no quasi-identifier: nothing in it tells who somebody is."""
    schema = _part_schema(plan.schema, names)
    if not schema.quasi_identifiers:
        if any(schema[name].pseudonym for name in schema.identifiers):
            raise ParameterError(f"column `{schema.identifiers[0]}` must be in a group with a quasi-identifier.")
        return None
    mine = tuple(model for model in plan.class_models if _is_about(model, names))
    if not mine:
        raise ParameterError(
            f"no promise is about the group of columns {quoted(names)}",
            hint=f"add one that is about every group, such as `{KAnonymity.title}`",
        )
    return replace(plan, schema=schema, models=mine, method=method.of_groups, measures=plan.measures)


def _part_schema(schema: Schema, names: Sequence[str]) -> Schema:
    kept = (*_whose(schema), *(name for name in schema.names if name in names))
    return replace(schema, attributes=tuple(schema[name] for name in kept))


def _whose(schema: Schema) -> tuple[str, ...]:
    """Return the column that says whose record it is, which goes into every group and is not released."""
    return () if schema.person is None or schema[schema.person].pseudonym else (schema.person,)


def _is_about(model: Model, names: Sequence[str]) -> bool:
    return set(model.capabilities.sensitive) <= set(names)


def _keep_unchanged(plan: Plan, table: Table, file: str, names: Sequence[str]) -> Part:
    columns = tuple(column(plan.schema[name]) for name in names)
    sorted_table = tables.sorted_records(table.select(*names))
    return Part(file=file, table=sorted_table, records=table.count(), columns=columns)


def _as_part(release: Result, file: str) -> tuple[Part, Result, tuple[Promise, ...]]:
    if len(release.parts) > 1:
        raise RequirementError(
            f"method `{release.plan.method.name}` releases several tables; a slice is one",
            hint="choose another `inner` method, or another form of it",
        )
    if release.parts:
        part = replace(release.parts[0], file=file)
    else:
        columns = tuple(column(release.plan.schema[name]) for name in release.table.columns)
        part = Part(file=file, table=release.table, records=release.records, columns=columns)
    return part, release, tuple(of_file(promise, file) for promise in release.guarantee.promises)


def _together(
    plan: Plan,
    table: Table,
    groups: tuple[tuple[str, ...], ...],
    made: list[tuple[Part, Result | None, tuple[Promise, ...]]],
) -> Result:
    releases = [release for _, release, _ in made if release is not None]
    if not releases:
        raise ParameterError("no group of columns has a quasi-identifier.")
    promises = [promise for _, _, mine in made for promise in mine]
    if len(made) > 1:
        together = Composition.of([mine for _, _, mine in made], [find_exposed(part.columns) for part, _, _ in made])
        promises.append(together.promise(Words(person=plan.schema.person if plan.method.counts_persons else None)))
    events = [*Dropped.by(plan.schema), Sliced(groups=groups)]
    events += [event for release in releases for event in _of_slice(release)]
    worst = min(releases, key=lambda release: release.after.smallest)
    domains = [domain for release in releases for domain in release.domains]
    return Result(
        plan=plan,
        table=made[0][0].table,
        guarantee=Guarantee(
            promises=tuple(promises),
            events=tuple(events),
        ),
        measures={
            f"{name}, slice {number}": value
            for number, (_, release, _) in enumerate(made, start=1)
            if release is not None
            for name, value in release.measures.items()
        },
        before=worst.before,
        after=worst.after,
        records=table.count(),
        domains=tuple(sorted(domains, key=lambda each: plan.schema.names.index(each.column))),
        sensitive_hierarchies=tuple(hierarchy for release in releases for hierarchy in release.sensitive_hierarchies),
        parts=tuple(part for part, _, _ in made),
        record_classes=tuple(classes for release in releases for classes in release.record_classes),
        own_values=tuple(own for release in releases for own in release.own_values),
    )


def _of_slice(release: Result) -> Iterator[Event]:
    """Yield the steps of a slice: those that count persons say of which columns, and the person column goes once."""
    for event in release.guarantee.events:
        if isinstance(event, Counted):
            yield replace(event, columns=event.columns or release.plan.schema.quasi_identifiers)
        elif not isinstance(event, Dropped):
            yield event


def _expected_of_slice(part: Plan) -> list[ExpectedStep]:
    """Return the steps of a slice as `_of_slice` tells them."""
    steps = [step for step in part.method.expected_steps(part) if step.kind is not Dropped]
    names = part.schema.quasi_identifiers
    return [
        step.deciding(columns=names) if step.kind is Counted and not step.fields["columns"] else step for step in steps
    ]


def associations(codes: NDArray[np.integer]) -> Floats:
    """Return how strongly every two columns go together: Cramér's V, in [0, 1].

    V = sqrt(chi^2 / (n (min(r, c) - 1))) of the table of counts, r and c the different values; corrected for the part
    of it that chance gives (Bergsma 2013). Columns of more than ten values are cut into tenths by rank.

    Examples
    --------
    >>> x = np.arange(100) % 2
    >>> associations(np.stack([x, x, np.arange(100) // 50], axis=1)).round(2).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    columns = [_few(codes[:, j]) for j in range(codes.shape[1])]
    matrix = np.eye(len(columns))
    for i, left in enumerate(columns):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = _cramer(left, columns[j])
    return matrix


def group_columns(strengths: Floats, most: int, together: Sequence[Sequence[int]] = ()) -> list[list[int]]:
    """Merge the two groups of columns that go together best, on average, while groups have at most ``most`` columns.

    Columns in one entry of ``together`` are never parted. Groups without any association are not merged.

    Examples
    --------
    >>> group_columns(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]), 2)
    [[0, 2], [1]]
    """
    groups = [sorted(set(entry)) for entry in together]
    taken = {column for group in groups for column in group}
    groups += [[column] for column in range(len(strengths)) if column not in taken]
    while True:
        pairs = [
            (float(strengths[np.ix_(left, right)].mean()), -i, -j)
            for i, left in enumerate(groups)
            for j, right in enumerate(groups[:i])
            if len(left) + len(right) <= most
        ]
        if not pairs or max(pairs)[0] <= 0.0:
            return sorted(groups)
        _, i, j = max(pairs)
        groups[-j] = sorted(groups[-j] + groups[-i])
        del groups[-i]


def _few(codes: NDArray[np.integer]) -> Integers:
    values, positions, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(values) <= BINS:
        return np.asarray(positions)
    middle = (np.cumsum(counts) - counts / 2) / len(codes)
    return np.asarray(np.unique(np.floor(middle * BINS).astype(np.int64), return_inverse=True)[1][positions])


def _cramer(left: Integers, right: Integers) -> float:
    rows, columns = int(left.max()) + 1, int(right.max()) + 1
    n = len(left)
    if min(rows, columns) < 2 or n < 2:
        return 0.0
    observed = np.bincount(left * columns + right, minlength=rows * columns).reshape(rows, columns)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / n
    share = max(
        0.0, float((np.square(observed - expected) / expected).sum()) / n - (rows - 1) * (columns - 1) / (n - 1)
    )
    r, c = rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)
    return min(1.0, float(np.sqrt(share / (min(r, c) - 1)))) if min(r, c) > 1 else 0.0


#: promises whose ``k`` is the least number of people among whom a person's record hides
_CROWDS = (KAnonymity.name, PSensitive.name, ProbabilisticKAnonymity.name, HiddenClasses.name)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Composition(ClassPromise):
    """The classes that an intruder gets who uses all tables of a release."""

    #: How many there are, at least 2.
    tables: int = field(metadata=WHOLE)
    #: Every table hides a person among so many of its own records, so a record of any of them is found with probability
    #: at most 1/k; None where one of them says nothing about that.
    k: int | None = field(default=None, metadata=optional(WHOLE))
    #: The factor by which beliefs about all confidential values together change, where the distribution of all
    #: confidential columns of every table *together* is close (that of each alone says nothing of how they go together
    #: in a class): an intruder who takes the groups as independent, as nothing released says otherwise, believes the
    #: product of the class distributions where the product of the distributions in the tables was believed before. The
    #: factors multiply, and the epsilons of `ViewPrivacy` add.
    t: Fraction | None = field(default=None, metadata=optional(within("[1, inf)")))
    #: Values that were randomised in different tables belong to the same people, so the epsilons of `LocalPrivacy` add
    #: (sequential composition).
    local_epsilon: Fraction | None = field(default=None, metadata=optional(within("(0, inf)")))
    name: ClassVar[str] = "composition"

    def fit(self, arguments: Arguments) -> None:
        """Report a single table."""
        arguments.whole("tables", self.tables, minimum=2)

    @classmethod
    def of(cls, parts: Sequence[Sequence[Promise]], confidential: Sequence[Sequence[str]]) -> Self:
        """Return what follows from the promises of each table and from its exposed columns (see `exposed`)."""
        sizes = [
            max(mine)
            for part in parts
            if (mine := [int(str(each.parameters["k"])) for each in part if each.model in _CROWDS])
        ]
        factors = [_joint(part, columns) for part, columns in zip(parts, confidential, strict=True) if columns]
        losses = [
            fraction(each.parameters["epsilon"])  # type: ignore[arg-type]
            for part in parts
            for each in part
            if each.model == LocalPrivacy.name
        ]
        known = [factor for factor in factors if factor is not None]
        # what several records of a person tell together is not known
        several = any(each.unit == "person" for part in parts for each in part)
        # a table without promises tells who nobody is
        everywhere = len(sizes) == sum(bool(part) for part in parts)
        return cls(
            tables=len(parts),
            k=min(sizes) if sizes and everywhere else None,
            t=math.prod(known, start=Fraction(1)) if known and len(known) == len(factors) and not several else None,
            local_epsilon=sum(losses, Fraction(0)) if losses else None,
        )

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name; t also as the epsilon of a view, see `ViewPrivacy`."""
        parameters: dict[str, object] = {"tables": self.tables}
        if self.k is not None:
            parameters["k"] = self.k
        if self.t is not None:
            parameters |= {"t": plain(self.t), "epsilon": closeness_epsilon(self.t)}
        if self.local_epsilon is not None:
            parameters["local epsilon"] = plain(self.local_epsilon)
        return parameters

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        given = {name.replace(" ", "_"): value for name, value in parameters.items() if name != "epsilon"}
        return super(Composition, cls).from_parameters(given)

    def statement(self, words: Words = CLASSES) -> str:
        said = []
        if self.k is not None:
            one = "the record" if words.person is None else "a record"
            said.append(f"{one} of a person is found in any of them with probability at most 1/{self.k}")
        if self.t is not None:
            said.append(f"beliefs about all confidential values together change by a factor of at most {plain(self.t)}")
        if self.local_epsilon is not None:
            said.append(f"all randomised values together are {plain(self.local_epsilon)}-differentially private")
        return f"For an intruder who uses all {self.tables} tables: {'; '.join(said) or 'each keeps its promises'}."

    def assumptions(self) -> tuple[str, ...]:
        return (
            "The tables share no column, and nothing shows which of their records belong together.",
            "The intruder does not know how columns of different tables go together.",
            *(PRIOR[:1] if self.t is not None else ()),
        )

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Compose the promises of the tables again."""
        del entry
        certificate = evidence.certificate
        parts = [
            [other.promise() for other in certificate.promises if other.file == data.file]
            for data in certificate.tables
        ]
        if self != Composition.of(parts, [find_exposed(data.columns) for data in certificate.tables]):
            return False, "does not follow from the promises of the tables"
        return True, "follows from the promises of the tables"


def find_exposed(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the confidential columns of a table about which its quasi-identifiers could tell something."""
    known = any(column.role.known_elsewhere for column in columns)
    return tuple(column.name for column in columns if known and column.role is Role.SENSITIVE)


def _joint(part: Sequence[Promise], columns: Sequence[str]) -> Fraction | None:
    """Return how close the distribution of all columns together is, or None where nothing says so."""
    factors = [
        fraction(promise.parameters["t"])  # type: ignore[arg-type]
        for promise in part
        if (promise.model == MultiplicativeCloseness.name and [promise.parameters["attribute"]] == list(columns))
        or (promise.model in (ViewPrivacy.name, HiddenClasses.name) and promise.parameters["columns"] == list(columns))
    ]
    return min(factors, default=None)
