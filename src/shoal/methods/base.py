"""The interface of anonymisation methods: declared capabilities, input and result."""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import pyarrow as pa

from shoal.errors import Cancelled, ParameterError
from shoal.exact import Checked, fraction
from shoal.guarantees import (
    Bounded,
    Column,
    Cost,
    Data,
    DomainOrigin,
    Dropped,
    Event,
    ExpectedStep,
    Guarantee,
    Ordered,
    Promise,
    PromiseEntry,
)
from shoal.hierarchies import Hierarchy
from shoal.kernels import Integers
from shoal.mechanisms import RandomSource
from shoal.methods._opening import check_key, domains_of_schema, preparation
from shoal.methods._own_values import OwnValue
from shoal.methods._private import limit_records
from shoal.models import Model
from shoal.quality import Measure
from shoal.risk import PeopleRisk, Reidentification
from shoal.schema import Role, Schema
from shoal.series import Continuation
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.guarantees import Requirement
    from shoal.methods.recode import SearchResult
    from shoal.plan import Plan

__all__ = [
    "DATA",
    "Method",
    "MethodCapabilities",
    "Part",
    "PrivateReport",
    "Progress",
    "RecordClasses",
    "Result",
    "Watch",
    "Work",
    "as_strong",
    "released_columns",
]

DATA = "data.parquet"
"""The file of a release of one table."""


class Progress(Protocol):
    """Is told how far the work is, every now and then."""

    def __call__(self, done: int, total: int, message: str, /) -> None:
        """Take ``done`` of ``total`` steps, and a phrase on what is known so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCapabilities:
    """What a method can do: asked by plans, releases, verification, reports, the command line and the app."""

    #: The model that k means with this method.
    model_for_k: str = "k-anonymity"
    #: The promise of differential privacy that the method keeps, by its name in plan files; it then asks for exactly
    #: one. None: it keeps none.
    private_promise: str | None = None
    #: Further promises that are no models and that no other method keeps, by name.
    other: tuple[str, ...] = ()
    #: Whether the release promises just the models that were asked for; else the method puts promises of its own in
    #: their place.
    as_asked: bool = False
    #: Whether the method can compare with a population table.
    population: bool = False
    #: Whether identifiers can be released as pseudonyms.
    pseudonyms: bool = True
    #: Whether several tables may have columns in common, because a promise covers all of them together.
    shared_columns: bool = False
    #: Whether the method can count persons where the table holds several records of some; others refuse such a table.
    persons: bool = False
    #: Whether a release can continue a series.
    series: bool = False
    #: Whether values become coarser and nothing is drawn at random: a second look costs nothing, and one level per
    #: column is another way to keep the same promises.
    generalizes: bool = False
    #: Whether every column has one level for all records, so that a person can pick levels, and others than a search.
    one_level: bool = False
    #: Names of the figures that a certificate may state, because the release alone tells them; ``{column}`` stands for
    #: each column that a step names.
    measures: tuple[str, ...] = ()

    @property
    def promises_besides_models(self) -> set[str]:
        """The promises that are no models and that this method keeps."""
        return {*self.other, *(() if self.private_promise is None else (self.private_promise,))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(Checked, ABC):
    """How to change the data so that promises hold: a value that plan files can name."""

    name: ClassVar[str]
    #: What it does, for people who choose a method: one short sentence, shown by the command line and the app.
    about: ClassVar[str]
    #: Its kind: ``recode``, ``classes``, ``truthful`` or ``noise``.
    family: ClassVar[str]
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities()
    #: The kinds of steps that it takes, by which certificates are read.
    step_kinds: ClassVar[tuple[type[Event], ...]]

    @abstractmethod
    def make(self, work: Work) -> Result:
        """Carry out the work.

        Raises
        ------
        RequirementError
            If this method finds no release that keeps the promises; it says what stands in the way.
        Cancelled
            If the user stopped the work.
        """

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the way in which the release is made adds to the assumptions of promises about classes."""
        return ()

    @abstractmethod
    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        """Return the grammar of the steps of a release: their order, how often, and the fields that the plan decides.

        Verification refuses every other step.
        """

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises about classes."""
        return []

    def unfit(self, privacy: Requirement, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a promise of differential privacy, beside others."""
        return []

    def forecast(self, privacy: Requirement, schema: Schema, records: int) -> dict[str, float]:
        """Return figures of a release that the plan and the number of records decide before anything is spent."""
        return {}

    def resolve(self, schema: Schema) -> Self:
        """Return the method with everything spelt out that it leaves to the schema."""
        return self

    @property
    def counts_persons(self) -> bool:
        """Whether persons with several records are counted as one; else a table with such persons is refused."""
        return self.capabilities.persons

    @property
    def linked(self) -> bool:
        """Whether the records of a person stay linked by a pseudonym, and promises are about all of them together."""
        return False

    @property
    def shows_members(self) -> bool:
        """Whether quasi-identifiers are released as they were, so that anybody sees who is in the table."""
        return False

    def domains(self, schema: Schema) -> tuple[DomainOrigin, ...]:
        """Return where the domains of the generalised columns came from."""
        return domains_of_schema(schema)

    def cost(self, privacy: Requirement, schema: Schema) -> Cost | None:
        """Return what a release costs of a budget of differential privacy, or None if it promises no such thing."""
        del schema
        return privacy.cost

    def answers(self, model: Requirement, entry: PromiseEntry) -> bool:
        """Return whether a promise of a certificate is what was asked for, or more."""
        given, wanted = entry.parameters.get("parameters", entry.parameters), model.parameters()
        if model.name not in (entry.model, entry.parameters.get("model")) or not isinstance(given, Mapping):
            return False
        return all(as_strong(name, given.get(name), value) for name, value in wanted.items())

    def find_unanswered(
        self, schema: Schema, asked: Sequence[Requirement], entries: Sequence[PromiseEntry]
    ) -> list[Requirement]:
        """Return the promises asked for that no promise of a certificate answers."""
        return [model for model in asked if not any(self.answers(model, entry) for entry in entries)]

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Return the columns of every released table, by its file; a column that numbers classes comes on top."""
        return {DATA: released_columns(schema)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Files that a release of this method has beside its tables, whatever the plan."""
        return ()

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates: plain values of TOML and JSON."""
        return {entry.name: plain_parameter(getattr(self, entry.name)) for entry in dataclasses.fields(self)}


def as_strong(name: str, given: object, asked: object) -> bool:
    """Return whether a parameter is as strict as the one asked for: more people, or a smaller distance."""
    if name not in ("k", "t") or not isinstance(given, int | float | str) or isinstance(given, bool):
        return given == asked
    value, limit = fraction(given), fraction(asked)  # type: ignore[arg-type]
    return value >= limit if name == "k" else value <= limit


def released_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns that leave: all but identifiers without a pseudonym."""
    return tuple(each.name for each in schema if not each.role.names_someone or each.pseudonym)


def plain_parameter(value: object) -> object:
    """Return a parameter as TOML and JSON know it."""
    if isinstance(value, Measure):
        return {
            "name": value.name,
            **{name: plain_parameter(entry) for name, entry in value.parameters().items() if entry is not None},
        }
    if isinstance(value, Mapping):
        return {str(name): plain_parameter(entry) for name, entry in value.items()}
    return str(value) if isinstance(value, Fraction) else value


class Watch:
    """Reports progress and notices that the user stopped the work."""

    def __init__(
        self,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        enough: Callable[[], bool] | None = None,
    ) -> None:
        self.progress, self.cancelled, self._enough = progress, cancelled, enough

    def enough(self) -> bool:
        """Return whether a search should make do with the best that it has."""
        return self._enough is not None and self._enough()

    def step(self, done: int, total: int, message: str) -> None:
        """Tell how far the work is; stop if asked to."""
        if self.cancelled is not None and self.cancelled():
            raise Cancelled
        if self.progress is not None:
            self.progress(done, total, message)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What a method is given."""

    #: What was asked for.
    plan: Plan
    #: The records.
    table: Table
    #: Who wants to know how far the work is, and may stop it.
    watch: Watch
    #: Random numbers; any but the system's are for tests.
    source: RandomSource
    #: The secret for pseudonyms.
    key: bytes | None = None
    #: Everybody whom an intruder may think of.
    population: Table | None = None
    #: The series that the release continues.
    series: Continuation | None = None
    #: The most records of a person that are used; None where a promise does not limit them.
    records_per_person: int | None = None

    @property
    def schema(self) -> Schema:
        """What the columns mean."""
        return self.plan.schema

    @property
    def models(self) -> tuple[Model, ...]:
        """The promises about classes."""
        return self.plan.class_models

    def open(self, *, method: Method | None = None, models: Sequence[Requirement] | None = None) -> Work:
        """Return the work with all that the schema decides: the one way in, for every method.

        The plan has its promises spelt out, or ``models`` in their place, and ``method`` in the place of its own where
        one is given. The table has the schema.
        """
        check_key(self.schema, self.key)
        spelt = tuple(model.resolve(self.schema) for model in self.plan.models) if models is None else tuple(models)
        plan = replace(self.plan, models=spelt, method=method or self.plan.method)
        return replace(self, plan=plan, table=self.table.with_schema(self.schema))

    def limit_records(self, per_person: int | None) -> Work:
        """Return the work with at most so many records of every person, drawn at random; no longer whose they are."""
        table = limit_records(self.table, self.schema, per_person, self.source)
        return replace(self, table=table, records_per_person=per_person)

    def release(self, result: Result) -> Result:
        """Return the result of opened work with the steps and assumptions that no method decides: the one way out.

        The steps begin with what was done before anything was protected, and end with the order of the records.
        """
        plan, guarantee = self.plan, result.guarantee
        if plan.method.capabilities.private_promise is None:
            first = preparation(plan.schema, self.table)
        else:  # how often identifiers repeat, only the data tell
            first = [*Dropped.by(plan.schema), *Bounded.by(plan.schema, self.records_per_person)]
        promises, steps = _with_caveats(plan, guarantee.promises), (*first, *guarantee.events, Ordered())
        return replace(result, guarantee=replace(guarantee, promises=promises, events=steps))


def _with_caveats(plan: Plan, promises: Sequence[Promise]) -> tuple[Promise, ...]:
    """Return promises of which those about classes assume what the plan and its method add."""
    names = {model.name for model in plan.class_models}
    if plan.accepted and not any(promise.model in names for promise in promises):
        raise ParameterError(
            f"`accepted` has no place in the promises of method `{plan.method.name}` in this form.",
            hint="drop the columns, or make them quasi-identifiers",
        )
    return tuple(
        replace(promise, assumptions=(*promise.assumptions, *plan.caveats)) if promise.model in names else promise
        for promise in promises
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """One released table of several, or one whose columns are not those of the schema."""

    #: Its file in the release folder, what it holds, and how many records.
    file: str
    table: Table
    records: int
    #: What a checker must know of its columns.
    columns: tuple[Column, ...]
    #: The column that numbers the classes and links it with other parts, if any.
    class_column: str | None = None

    def data(self, placed: Mapping[str, str]) -> Data:
        """Return what the certificate says of it; ``placed`` are the files of hierarchies by column."""
        columns = tuple(
            entry.model_copy(update={"hierarchy": placed.get(entry.name)}) if entry.role is Role.SENSITIVE else entry
            for entry in self.columns
        )
        return Data(file=self.file, records=self.records, columns=columns, class_column=self.class_column)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateReport:
    """What the publisher may want to know of a differentially private run, and nobody else may see.

    It was computed from the input without any protection: publishing it, or any figure of it, breaks the promise.
    """

    #: Records of the input, and those that a missing value left out before.
    records: int
    left_out: int
    #: Records of the release.
    released: int
    #: The loss of the release with respect to the input, records that were not released counted as lost.
    loss: float
    #: Re-identification risk of the input.
    before: Reidentification

    def to_json(self) -> str:
        """Return the report as JSON, under a notice."""
        notice = (
            "NOT FOR PUBLICATION: figures of the input without protection; publishing any of them breaks the promise."
        )
        figures = dataclasses.asdict(self)
        if self.before.fewest is None:
            del figures["before"]["fewest"]
        return json.dumps({"notice": notice, **figures}, indent=2) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordClasses:
    """The class of every record of the input, and what its rows show of it: what a rehearsal attacks."""

    #: The input, with its schema.
    table: Table
    #: The released columns that are as they were and no quasi-identifiers.
    columns: tuple[str, ...]
    #: Returns the class of every record in the order of the source, -1 where it was left out.
    find: Callable[[], Integers]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """What a method hands back: the released tables, what is promised, and the figures for whoever has the data."""

    #: What was asked for, with everything spelt out.
    plan: Plan
    #: The released records; lazy until it is written or looked at.
    table: Table
    #: What is promised and how it came about.
    guarantee: Guarantee
    #: The quality measures that the plan asked for; under differential privacy, what the release alone tells.
    measures: Mapping[str, float | None]
    #: Re-identification risk of the input (None under differential privacy, which keeps it back) and of the release.
    before: Reidentification | None = None
    after: Reidentification
    #: The risk of persons and of their records taken together, of the input and of the release; None where nobody has
    #: several records, or where the release does not hide who is in it.
    people: tuple[PeopleRisk, PeopleRisk] | None = None
    #: The number of released records.
    records: int
    #: Where the domains of the quasi-identifiers came from.
    domains: tuple[DomainOrigin, ...]
    #: Hierarchies of sensitive attributes that a checker needs to decide a promise again.
    sensitive_hierarchies: tuple[Hierarchy, ...] = ()
    #: The released classes with their number of people in the population, where one was given.
    population: pa.Table | None = None
    #: What the search found.
    search: SearchResult | None = None
    #: Under differential privacy, what must stay with the publisher; never written with the release.
    private: PrivateReport | None = field(default=None, repr=False)
    #: The released tables, where they are several or their columns are not those of the schema; else empty.
    parts: tuple[Part, ...] = ()
    #: The classes of the records; several where columns have classes of their own, none where nobody hides in a class.
    record_classes: tuple[RecordClasses, ...] = field(default=(), repr=False)
    #: How likely the values of a column that changed places inside classes are still those of the records.
    own_values: tuple[OwnValue, ...] = ()
    #: Where the release is recorded before it appears, if it continues a series.
    series: Continuation | None = field(default=None, repr=False)
    #: Texts that are written beside the data, by file name.
    notes: Mapping[str, str] = field(default_factory=dict)
