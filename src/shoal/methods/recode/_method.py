"""The interface of recoding methods: a search for a recoding, and a release made by it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Self, cast

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import Exhausted, Problems, RequirementError, ShoalError
from shoal.exact import Arguments, Number, expecting, fraction
from shoal.guarantees import (
    POPULATION_COUNT,
    Counted,
    Event,
    ExpectedStep,
    Guarantee,
    Ordered,
    Words,
    exactly,
    maybe,
    once,
    syntactic,
)
from shoal.kernels import Integers
from shoal.methods._opening import check_size, domains, expected_preparation
from shoal.methods._persons import count_persons, risk_of_people
from shoal.methods.base import (
    Method,
    MethodCapabilities,
    Progress,
    RecordClasses,
    Result,
    Watch,
    Work,
    released_columns,
)
from shoal.methods.recode._effort import Effort
from shoal.methods.recode._in_series import make_in_series
from shoal.methods.recode._result import SearchResult, at_or_above
from shoal.methods.recode._steps import RECODE_STEPS, Coarsened, Generalized, Suppressed
from shoal.models import Model
from shoal.quality import Measure, as_measure
from shoal.risk import Reidentification, reidentification, reidentification_of_sizes
from shoal.schema import Schema
from shoal.series import Continued, SeriesKAnonymity
from shoal.tables import Classes, Encoded, Finest, Frequencies, Recoding, Table

if TYPE_CHECKING:
    from shoal.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Recode(Method):
    """A method that generalises values so that privacy models hold on the classes."""

    family: ClassVar[str] = "recode"
    step_kinds: ClassVar[tuple[type[Event], ...]] = RECODE_STEPS
    #: whether regions are divided first, and the values that cover them chosen last
    top_down: ClassVar[bool] = False
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(
        as_asked=True,
        population=True,
        persons=True,
        generalizes=True,
        series=True,
        other=(SeriesKAnonymity.name,),
    )
    #: What to minimise: a measure, its name, or its name and parameters as in a plan file. Local recodings are guided
    #: by the cost of single cells where the measure has one, else by loss.
    quality: str | Mapping[str, object] | Measure = "loss"
    #: The greatest share of records that may be suppressed, in [0, 1]; compared exactly, 0.05 being 1/20.
    suppression_limit: Number = field(default=0.05, metadata=expecting("[0, 1]"))
    #: Of the measure, where ``quality`` is a name (see :class:`~shoal.quality.Measure`).
    weights: Mapping[str, float] = field(default_factory=dict)
    balance: float = 0.5
    #: Work after which the method makes do with what it has, in units of about a second. It is counted,
    #: not timed: the same table gives the same release, however busy the machine is. None: until it is done.
    effort: float | None = None
    #: Seconds after which the method makes do with what it has, likewise. The release then depends on how busy the
    #: machine is. None: no limit.
    time_limit: float | None = None

    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        schema, limit = plan.schema, fraction(self.suppression_limit)
        persons = [] if schema.person is None else [once(Counted, column=schema.person, hidden=None, columns=())]
        return [
            *expected_preparation(schema),
            maybe(Coarsened),
            once(Generalized, method=self.name, columns=schema.quasi_identifiers),
            *([once(Continued)] if plan.in_series else []),
            *exactly(*self.aggregate_steps),
            once(Suppressed, allows=lambda step: step.records <= limit * step.of),
            *persons,
            *exactly(Ordered()),
        ]

    @property
    def aggregate_steps(self) -> tuple[Event, ...]:
        """The step that puts aggregates in the place of values, where the parameters ask for it."""
        return ()

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.rational("suppression_limit", self.suppression_limit, "[0, 1]")
        quality = cast("object", self.quality)
        for name, limit, unit in (("effort", self.effort, ""), ("time_limit", self.time_limit, " of seconds")):
            if limit is not None and not 0 < as_float(limit) < math.inf:
                arguments.problems.add(f"`{name}` of `{self.title}` must be a positive number{unit}; got {limit}")
        if not isinstance(quality, str | Mapping | Measure):
            said = f"`quality` of `{self.title}` must be a measure, its name, or a table with its name and parameters"
            arguments.problems.add(said)
        arguments.read(self)
        self.fit(arguments)
        arguments.finish()
        self.measure  # noqa: B018 - raises where the parameters make none

    @property
    def disjoint(self) -> bool:
        """Whether no person fits two classes, and the population counts of classes count all who fit."""
        return False

    def recode(
        self,
        frequencies: Frequencies,
        models: Sequence[Model],
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """Find a recoding under which every released class satisfies every model.

        Raises
        ------
        RequirementError
            If this method finds none; it says what stands in the way.
        Cancelled
            If ``cancelled()`` became true.
        """
        return self.search(frequencies, models, Watch(progress, cancelled))

    def allowance(self, watch: Watch) -> Effort:
        """Return the work that a search may do from now on."""
        return Effort(self.effort, seconds=self.time_limit, enough=watch.enough)

    @abstractmethod
    def search(self, frequencies: Frequencies, models: Sequence[Model], watch: Watch) -> SearchResult:
        """Find a recoding under which every released class satisfies every model."""

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        problems = []
        for model in models:
            if model.capabilities.population_share and not self.disjoint:
                problems.append(
                    f"`{model.title}` needs classes that do not cover anyone twice; use method `generalize` without "
                    "`cells`"
                )
            if model.capabilities.codes and self.top_down:
                problems.append(
                    f"`{model.title}` depends on the released values, which method `{self.name}` chooses last; use "
                    "`generalize`, `iterate` or `subtree`"
                )
        return problems

    def weighted(self, weights: Mapping[str, float]) -> Self:
        """Return the method with these weights of attributes, unless it has some of its own."""
        given = {name: weight for name, weight in weights.items() if weight != 1}
        if not given or self.weights:
            return self
        return replace(self, weights=given)

    @property
    def measure(self) -> Measure:
        """What the method minimises."""
        return as_measure(self.quality, weights=self.weights, balance=self.balance, owner=f"`{self.title}`")

    def resolve(self, schema: Schema) -> Self:
        """Return the method with the measure's target filled in, where the schema decides it."""
        measure = self.measure.resolve(schema)
        return self if measure == self.measure else replace(self, quality=measure)

    def make(self, work: Work) -> Result:
        """Find a recoding, decide every promise once more on the classes that it makes, and apply it."""
        schema = work.schema
        method = self.weighted({name: schema[name].weight for name in schema.quasi_identifiers}).resolve(schema)
        work = work.open(method=method)
        if work.series is not None:
            return make_in_series(work, work.series)
        plan, table = work.plan, work.table
        models, measures = plan.class_models, plan.weighted_measures
        wanted = [name for model in models for name in model.capabilities.sensitive]
        wanted += [name for measure in (method.measure, *measures) for name in measure.sensitive]
        encoded = tables.encode(
            table, sensitive=tuple(dict.fromkeys(wanted)), population=work.population, households=True, coarse=True
        )
        _check_coarse(encoded, (method.measure, *measures), method.aggregate_steps)
        check_size(models, encoded.frequencies)
        frequencies, found, chosen = method.recoded(encoded, models, table, work)
        after = _check_result(plan, frequencies, found)
        words = Words(person=schema.person, linked=method.linked)
        compared = any(model.capabilities.population for model in models)  # else nobody needs its counts
        result = Result(
            plan=plan,
            table=chosen,
            guarantee=Guarantee(
                promises=tuple(syntactic(model, words) for model in models),
                events=tuple(_events(plan, frequencies, found, after, method.aggregate_steps)),
            ),
            measures={measure.label: measure.value(found.recoding, frequencies) for measure in measures},
            before=_risk_before(encoded),
            after=reidentification(after),
            people=risk_of_people(schema, frequencies, found.final.classes),
            records=after.records,
            domains=domains(schema, frequencies),
            sensitive_hierarchies=tuple(
                attribute.hierarchy for attribute in frequencies.sensitive if attribute.hierarchy is not None
            ),
            population=_population(found.final, after) if compared and after.population is not None else None,
            record_classes=_record_classes(plan, table, frequencies, found)
            if encoded.finest is None and work.population is None and not method.linked
            else (),
            search=_lifted(found, frequencies, encoded.finest),
        )
        return work.release(result)

    def recoded(
        self, encoded: Encoded, models: Sequence[Model], table: Table, work: Work
    ) -> tuple[Frequencies, SearchResult, Table]:
        """Return the tuples, what becomes of each, and the released table."""
        result = self.search(encoded.frequencies, models, work.watch)
        return encoded.frequencies, result, tables.apply(table, encoded, result.recoding, key=work.key)


def _record_classes(
    plan: Plan, table: Table, frequencies: Frequencies, found: SearchResult
) -> tuple[RecordClasses, ...]:
    """Return the classes of the records, and the columns that are released as they are."""
    names = tuple(name for name in released_columns(plan.schema) if not plan.schema[name].role.tells_who)
    classes = partial(_classes_of_records, table, frequencies, found)
    return (RecordClasses(table=table, columns=names, find=classes),)


def _classes_of_records(table: Table, frequencies: Frequencies, found: SearchResult) -> Integers:
    """Return the class of every record in the order of the source, -1 where it was suppressed."""
    present = frequencies.counts > 0
    codes = tables.encode_records(table, sensitive=()).frequencies.codes
    tuples = np.concatenate([frequencies.codes[present], codes])
    labels = tables.group(np.asfortranarray(tuples))[0]
    classes = np.full(int(labels.max(initial=-1)) + 1, -1, dtype=np.int64)
    number = int(present.sum())
    classes[labels[:number]] = found.final.classes[present]
    return classes[labels[number:]]


def as_float(value: object) -> float:
    """Return a number as a float; NaN, which is in no interval, for anything that is no number or does not fit."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.nan


def _check_result(plan: Plan, frequencies: Frequencies, found: SearchResult) -> Classes:
    """Decide every promise once more on the classes that will be released, independently of the search."""
    classes = Classes.of(frequencies, found.final.classes, number=found.final.number)
    classes = replace(classes, codes=found.final.codes)
    everything = np.ones(len(classes), dtype=np.bool_)
    broken = [model.name for model in plan.class_models if not model.keep(classes, everything).all()]
    if found.suppressed != frequencies.records - classes.records:
        broken.append("the number of suppressed records")
    if broken and found.final.number < found.recoding.number:
        raise RequirementError(
            f"with aggregates, classes look alike that together break {', '.join(broken)}; nothing was released",
            hint="use `set` or `interval`, which keep more classes distinct, or leave out `aggregates`",
        )
    if broken:
        raise ShoalError(
            f"method `{plan.method.name}` found a recoding that breaks {', '.join(broken)}; nothing was released",
            hint="this is a bug in Shoal: please report it",
        )
    return classes


def _events(
    plan: Plan,
    frequencies: Frequencies,
    found: SearchResult,
    after: Classes,
    aggregates: Sequence[Event],
) -> list[Event]:
    events: list[Event] = []
    levels, floors = found.recoding.levels, floors_of(frequencies)
    if coarse := {name: floor for name, floor in zip(frequencies.attributes, floors, strict=True) if floor}:
        events.append(Coarsened(columns=tuple(coarse), levels=tuple(coarse.values())))
    events.append(
        Generalized(
            method=plan.method.name,
            columns=frequencies.attributes,
            levels=_raised(levels, floors) if levels else (),
            heights=_raised(frequencies.heights, floors) if levels else (),
        )
    )
    events += aggregates
    events.append(Suppressed(records=found.suppressed, of=found.records))
    if plan.schema.person is not None:
        events.append(count_persons(plan.schema.person, frequencies, found.final.classes, after))
    return events


def _population(recoding: Recoding, classes: Classes) -> pa.Table:
    """Return the number of people of the population in every released class, for checkers."""
    columns = {
        name: pa.array(labels, pa.string()).take(pa.array(recoding.codes[:, column]))
        for column, (name, labels) in enumerate(zip(recoding.attributes, recoding.labels, strict=True))
    }
    rows = pa.table([*columns.values(), pa.array(classes.population)], names=[*columns, POPULATION_COUNT])
    return rows.sort_by([(name, "ascending") for name in columns])


def floors_of(frequencies: Frequencies) -> tuple[int, ...]:
    """Return the level of every quasi-identifier at which tuples were counted; above 0 where finer ones do not fit."""
    return tuple(hierarchy.floor for hierarchy in frequencies.hierarchies)


def _check_coarse(encoded: Encoded, measures: Sequence[Measure], further: Sequence[Event]) -> None:
    """Refuse what needs the values themselves, where tuples were counted at coarser levels."""
    if encoded.finest is None:
        return
    problems = Problems()
    too_many = f"the {encoded.finest.tuples:,} different combinations of values do not fit in memory"
    for measure in measures:
        if not measure.coarse:
            problems.add(f"{too_many}, and the measure `{measure.name}` needs them all; loss and precision do not")
    problems.found.extend(f"{too_many}, and `{step.name}` columns need the values themselves" for step in further)
    problems.raise_as(Exhausted, hint="give Shoal more memory, such as SHOAL_MEMORY=16GB")


def _risk_before(encoded: Encoded) -> Reidentification:
    """Return the risk of the original records."""
    if encoded.finest is None:
        return reidentification(Classes.from_tuples(encoded.frequencies))
    return reidentification_of_sizes(*encoded.finest.sizes)


def _lifted(found: SearchResult, frequencies: Frequencies, finest: Finest | None) -> SearchResult:
    """Return a result whose levels are counted from the values, and that says which were not looked at."""
    if finest is None:
        return found
    floors, levels, lattice = floors_of(frequencies), found.recoding.levels, found.lattice
    said = (
        f"The {finest.tuples:,} different combinations of values do not fit in the memory that Shoal is given. "
        f"They were counted, and releases compared, only{at_or_above(frequencies.attributes, floors)}; "
        "more memory (SHOAL_MEMORY) may keep more."
    )
    return replace(
        found,
        recoding=replace(found.recoding, levels=None if levels is None else _raised(levels, floors)),
        solutions=tuple(replace(solution, levels=_raised(solution.levels, floors)) for solution in found.solutions),
        lattice=None
        if lattice is None
        else replace(
            lattice,
            heights=_raised(lattice.heights, floors),
            levels=lattice.levels + np.array(floors, dtype=np.int32),
        ),
        floors=floors,
        notes=(*found.notes, said),
    )


def _raised(levels: tuple[int, ...], floors: tuple[int, ...]) -> tuple[int, ...]:
    """Return levels counted from the values, given those counted from the floors."""
    return tuple(level + floor for level, floor in zip(levels, floors, strict=True))
