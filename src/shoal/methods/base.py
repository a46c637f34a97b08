"""What a method is: it says what it keeps, finds what stands in its way, and makes a release from work."""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import pyarrow as pa

from shoal.errors import Cancelled
from shoal.exact import Checked, fraction
from shoal.guarantees import Column, Cost, Data, DomainOrigin, Event, Guarantee, PromiseEntry
from shoal.hierarchies import Hierarchy
from shoal.mechanisms import RandomSource
from shoal.methods._preparation import domains_of_schema
from shoal.models import Model
from shoal.quality import Measure
from shoal.risk import PeopleRisk, Reidentification
from shoal.schema import Role, Schema
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.guarantees import Requirement
    from shoal.methods.brief import Brief
    from shoal.methods.recode import SearchResult

__all__ = [
    "DATA",
    "Keeps",
    "Made",
    "Method",
    "Part",
    "PrivateReport",
    "Progress",
    "Watch",
    "Work",
    "as_strong",
    "decided",
    "released_columns",
]

DATA = "data.parquet"
"""The file of a release of one table."""


class Progress(Protocol):
    """Is told how far the work is, every now and then."""

    def __call__(self, done: int, total: int, message: str, /) -> None:
        """Take ``done`` of ``total`` steps, and a phrase on what is known so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeps:
    """What a method keeps and shows: asked by plans, releases, reports, the command line and the app."""

    #: The promise that a plain k stands for.
    crowd: str = "k-anonymity"
    #: The promise of differential privacy that the method keeps, by its name in plan files; it then asks for exactly
    #: one. None: it keeps none.
    private: str | None = None
    #: Further promises that are no models and that no other method keeps, by name.
    other: tuple[str, ...] = ()
    #: Whether the method keeps privacy models, alone or beside the promise of differential privacy.
    models: bool = True
    #: Whether the release promises just the models that were asked for; else the method puts promises of its own in
    #: their place.
    as_asked: bool = False
    #: Whether the method can compare with a population table.
    population: bool = False
    #: Whether identifiers can be released as pseudonyms.
    pseudonyms: bool = True
    #: Whether the release may be several tables.
    several_tables: bool = False
    #: Whether several tables may have columns in common, because a promise covers all of them together.
    shared_columns: bool = False
    #: Whether the method can count persons where the table holds several records of some; others refuse such a table.
    persons: bool = False
    #: Whether values become coarser and nothing is drawn at random: a second look costs nothing, and one level per
    #: column is another way to keep the same promises.
    generalizes: bool = False
    #: Names of the figures that a certificate may state, because the release alone tells them; ``{column}`` stands for
    #: each column that a step names.
    measures: tuple[str, ...] = ()

    @property
    def alone(self) -> set[str]:
        """The promises that are no models and that this method keeps."""
        return {*self.other, *(() if self.private is None else (self.private,))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(Checked, ABC):
    """How to change the data so that promises hold: a value that plan files can name."""

    name: ClassVar[str]
    #: What it does, for people who choose a method: one short sentence, shown by the command line and the app.
    about: ClassVar[str]
    keeps: ClassVar[Keeps] = Keeps()

    @abstractmethod
    def make(self, work: Work) -> Made:
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

    @property
    def further_steps(self) -> tuple[Event, ...]:
        """Steps that the parameters ask for, word for word."""
        return ()

    def decided_steps(self, schema: Schema) -> list[dict[str, object]]:
        """Return the steps that every release has, in their order, each with the fields that the plan decides.

        Certificates have these and no others of their names; steps of other names depend on the data.
        """
        del schema
        return []

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises about classes."""
        return []

    def unfit(self, privacy: Requirement) -> list[str]:
        """Return what keeps this method from being used with a promise of differential privacy."""
        return []

    def forecast(self, privacy: Requirement, schema: Schema, records: int) -> dict[str, float]:
        """Return figures of a release that the plan and the number of records decide before anything is spent."""
        return {}

    def resolved(self, schema: Schema) -> Self:
        """Return the method with everything spelt out that it leaves to the schema."""
        return self

    @property
    def counts_persons(self) -> bool:
        """Whether persons with several records are counted as one; else a table with such persons is refused."""
        return self.keeps.persons

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

    def cost(self, privacy: Requirement) -> Cost | None:
        """Return what a release costs of a budget of differential privacy, or None if it promises no such thing."""
        return privacy.cost

    def answers(self, model: Requirement, entry: PromiseEntry) -> bool:
        """Return whether a promise of a certificate is what was asked for, or more."""
        given, wanted = entry.parameters.get("parameters", entry.parameters), model.parameters()
        if model.name not in (entry.model, entry.parameters.get("model")) or not isinstance(given, Mapping):
            return False
        return all(as_strong(name, given.get(name), value) for name, value in wanted.items())

    def unanswered(
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


def decided(events: Iterable[Event]) -> list[dict[str, object]]:
    """Return steps as they stand in certificates, without their sentences."""
    return [{name: value for name, value in each.to_json().items() if name != "description"} for each in events]


def as_strong(name: str, given: object, asked: object) -> bool:
    """Return whether a parameter is as strict as the one asked for: more people, or a smaller distance."""
    if name not in ("k", "t") or not isinstance(given, int | float | str) or isinstance(given, bool):
        return given == asked
    found, wanted = fraction(given), fraction(asked)  # type: ignore[arg-type]
    return found >= wanted if name == "k" else found <= wanted


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

    def __init__(self, progress: Progress | None = None, cancelled: Callable[[], bool] | None = None) -> None:
        self.progress, self.cancelled = progress, cancelled

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
    plan: Brief
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

    @property
    def schema(self) -> Schema:
        """What the columns mean."""
        return self.plan.schema

    @property
    def models(self) -> tuple[Model, ...]:
        """The promises about classes."""
        return self.plan.class_models


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
class Made:
    """What a method made; a release is this, ready to be written."""

    #: What was asked for, with everything spelt out.
    plan: Brief
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
    #: Texts that are written beside the data, by file name.
    notes: Mapping[str, str] = field(default_factory=dict)
