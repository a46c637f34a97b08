"""What every recoding method offers: a search for a recoding, and a release made by it."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import Problems, RequirementError, ShoalError
from shoal.guarantees import (
    POPULATION_COUNT,
    Event,
    Generalized,
    Guarantee,
    Ordered,
    Promise,
    Suppressed,
    Words,
    syntactic,
)
from shoal.methods._preparation import check_key, check_size, counted, domains, preparation, risk_of_people
from shoal.methods.base import Keeps, Made, Method, Progress, Watch, Work
from shoal.methods.recode._coarse import check_coarse, coarsened, floors_of, lifted, raised, risk_before
from shoal.methods.recode._result import SearchResult
from shoal.models import Model
from shoal.quality import Measure, as_measure
from shoal.risk import reidentification
from shoal.schema import Schema
from shoal.tables import Classes, Encoded, Frequencies, Recoding, Table

if TYPE_CHECKING:
    from shoal.methods.brief import Brief


class Recode(Method):
    """A method that generalises values so that privacy models hold on the classes."""

    __slots__ = ()
    #: whether regions are divided first, and the values that cover them chosen last
    top_down: ClassVar[bool] = False
    keeps: ClassVar[Keeps] = Keeps(
        as_asked=True,
        population=True,
        persons=True,
        generalizes=True,
        steps=("generalized", "suppressed", "ordered"),
    )
    quality: str | Mapping[str, object] | Measure
    weights: Mapping[str, float]
    balance: float
    links: Literal["cut", "kept"] | None

    @property
    def linked(self) -> bool:
        return self.links == "kept"

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

    @abstractmethod
    def search(self, frequencies: Frequencies, models: Sequence[Model], watch: Watch) -> SearchResult:
        """Find a recoding under which every released class satisfies every model."""

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        del schema
        found = []
        for model in models:
            if model.capabilities.population_share and not self.disjoint:
                found.append(
                    f"`{model.title}` needs classes that cover no person twice; method `generalize` without `cells` "
                    "makes them"
                )
            if model.capabilities.codes and self.top_down:
                found.append(
                    f"`{model.title}` looks at the released values, which method `{self.name}` chooses last; methods "
                    "`generalize`, `iterate` and `subtree` keep it"
                )
        return found

    def weighted(self, weights: Mapping[str, float]) -> Self:
        """Return the method with these weights of attributes, unless it has some of its own."""
        given = {name: weight for name, weight in weights.items() if weight != 1}
        if not given or self.weights:
            return self
        return dataclasses.replace(self, weights=given)  # type: ignore[call-arg]

    @property
    def measure(self) -> Measure:
        """What the method minimises."""
        return as_measure(self.quality, weights=self.weights, balance=self.balance, owner=f"`{self.title}`")

    def resolved(self, schema: Schema) -> Self:
        """Return the method with the measure's target filled in, where the schema decides it."""
        found = self.measure.resolved(schema)
        return self if found == self.measure else dataclasses.replace(self, quality=found)  # type: ignore[call-arg]

    def make(self, work: Work) -> Made:
        """Find a recoding, decide every promise once more on the classes that it makes, and apply it."""
        check_key(work.schema, work.key)
        plan = self._spelt_out(work.plan)
        method, models, measures = plan.method, plan.class_models, plan.reported
        assert isinstance(method, Recode)  # noqa: S101 - it is this method
        table = work.table.with_schema(plan.schema)
        wanted = [name for model in models for name in model.capabilities.sensitive]
        wanted += [name for measure in (method.measure, *measures) for name in measure.sensitive]
        encoded = tables.encode(
            table, sensitive=tuple(dict.fromkeys(wanted)), population=work.population, households=True, coarse=True
        )
        check_coarse(encoded, (method.measure, *measures), method.further_steps)
        check_size(models, encoded.frequencies)
        frequencies, found, chosen = method.recoded(encoded, models, table, work)
        after = _check_result(plan, frequencies, found)
        words = Words(person=plan.schema.person, linked=method.linked)
        compared = any(model.capabilities.population for model in models)  # else nobody needs its counts
        return Made(
            plan=plan,
            table=chosen,
            guarantee=Guarantee(
                promises=tuple(with_caveats(syntactic(model, words), method) for model in models),
                events=tuple(_events(plan, table, frequencies, found, after)),
                randomness="none used" if work.key is None else "none used, but for the secret key of the pseudonyms",
            ),
            measures={measure.label: measure.value(found.recoding, frequencies) for measure in measures},
            before=risk_before(encoded),
            after=reidentification(after),
            people=risk_of_people(plan.schema, frequencies, found.final.classes),
            records=after.records,
            domains=domains(plan.schema, frequencies),
            sensitive_hierarchies=tuple(
                attribute.hierarchy for attribute in frequencies.sensitive if attribute.hierarchy is not None
            ),
            population=_population(found.final, after) if compared and after.population is not None else None,
            search=lifted(found, frequencies, encoded.finest),
        )

    def recoded(
        self, encoded: Encoded, models: Sequence[Model], table: Table, work: Work
    ) -> tuple[Frequencies, SearchResult, Table]:
        """Return the tuples, what becomes of each, and the released table."""
        found = self.search(encoded.frequencies, models, work.watch)
        return encoded.frequencies, found, tables.apply(table, encoded, found.recoding, key=work.key)

    def _spelt_out(self, plan: Brief) -> Brief:
        weights = {name: plan.schema[name].weight for name in plan.schema.quasi_identifiers}
        method = self.weighted(weights).resolved(plan.schema)
        return replace(plan, models=tuple(model.resolved(plan.schema) for model in plan.models), method=method)


def check_time_limit(seconds: float | None, title: str, problems: Problems) -> None:
    """Note what is wrong with a limit of time."""
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        problems.add(f"`time_limit` of `{title}` must be a positive number of seconds; got {seconds}")


def with_caveats(promise: Promise, method: Method) -> Promise:
    """Return a promise with what the way in which the release is made adds to its assumptions."""
    return replace(promise, assumptions=(*promise.assumptions, *method.caveats))


def _check_result(plan: Brief, frequencies: Frequencies, found: SearchResult) -> Classes:
    """Decide every promise once more on the classes that will be released, independently of the search."""
    classes = Classes.of(frequencies, found.final.classes, number=found.final.number)
    classes = replace(classes, codes=found.final.codes)
    everything = np.ones(len(classes), dtype=np.bool_)
    broken = [model.name for model in plan.class_models if not model.keep(classes, everything).all()]
    if found.suppressed != frequencies.records - classes.records:
        broken.append("the number of suppressed records")
    if broken and found.final.number < found.recoding.number:
        raise RequirementError(
            f"aggregates make classes look alike that together break {', '.join(broken)}; nothing was released",
            hint="use `set` or `interval`, which keep more classes apart, or leave `aggregates` out",
        )
    if broken:
        raise ShoalError(
            f"method `{plan.method.name}` found a recoding that breaks {', '.join(broken)}; nothing was released",
            hint="this is a bug in Shoal: please report it",
        )
    return classes


def _events(plan: Brief, table: Table, frequencies: Frequencies, found: SearchResult, after: Classes) -> list[Event]:
    events = preparation(plan.schema, table)
    levels, floors = found.recoding.levels, floors_of(frequencies)
    events += coarsened(frequencies)
    events.append(
        Generalized(
            method=plan.method.name,
            columns=frequencies.attributes,
            levels=raised(levels, floors) if levels else (),
            heights=raised(frequencies.heights, floors) if levels else (),
        )
    )
    events += plan.method.further_steps
    events.append(Suppressed(records=found.suppressed, of=found.records))
    if plan.schema.person is not None:
        events.append(counted(plan.schema.person, frequencies, found.final.classes, after))
    return [*events, Ordered()]


def _population(recoding: Recoding, classes: Classes) -> pa.Table:
    """Return the number of people of the population in every released class, for checkers."""
    columns = {
        name: pa.array(labels, pa.string()).take(pa.array(recoding.codes[:, column]))
        for column, (name, labels) in enumerate(zip(recoding.attributes, recoding.labels, strict=True))
    }
    return pa.table([*columns.values(), pa.array(classes.population)], names=[*columns, POPULATION_COUNT])
