"""A release made by recoding, so that privacy models hold on its classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal._run._domains import domains
from shoal._run._preparation import check_key, check_size, preparation
from shoal.errors import ShoalError
from shoal.guarantees import (
    Event,
    Generalized,
    Guarantee,
    Ordered,
    Suppressed,
    syntactic,
)
from shoal.guarantees._certificate import POPULATION_COUNT
from shoal.methods.recode import Method, Progress, SearchResult
from shoal.models import Classes
from shoal.plan import Plan
from shoal.release import Release
from shoal.risk import reidentification
from shoal.tables import Frequencies, Recoding, Table

__all__ = ["recode"]


def recode(
    plan: Plan,
    table: Table,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    pseudonym_key: bytes | None = None,
    population: Table | None = None,
) -> Release:
    """Carry out a plan whose promises are about classes."""
    check_key(plan.schema, pseudonym_key)
    weights = {name: plan.schema[name].weight for name in plan.schema.quasi_identifiers}
    assert isinstance(plan.method, Method)  # noqa: S101 - the plan says so
    method = plan.method.weighted(weights).resolved(plan.schema)
    plan = replace(plan, models=tuple(model.resolved(plan.schema) for model in plan.models), method=method)
    models, measures = plan.class_models, plan.reported
    table = table.with_schema(plan.schema)
    wanted = [name for model in models for name in model.capabilities.sensitive]
    wanted = [*wanted, *(name for measure in (method.measure, *measures) for name in measure.sensitive)]
    encoded = tables.encode(table, sensitive=tuple(dict.fromkeys(wanted)), population=population)
    frequencies = encoded.frequencies
    check_size(plan, frequencies)
    found = method.recode(frequencies, models, progress=progress, cancelled=cancelled)
    after = _check_result(plan, frequencies, found)
    return Release(
        plan=plan,
        table=tables.apply(table, encoded, found.recoding, key=pseudonym_key),
        guarantee=Guarantee(
            promises=tuple(syntactic(model) for model in models),
            events=tuple(_events(plan, table, frequencies, found)),
            randomness="none used" if pseudonym_key is None else "none used, but for the secret key of the pseudonyms",
        ),
        measures={measure.label: measure.value(found.recoding, frequencies) for measure in measures},
        before=reidentification(Classes.grouped(frequencies)),
        after=reidentification(after),
        records=after.records,
        domains=domains(plan.schema, frequencies),
        sensitive_hierarchies=tuple(
            attribute.hierarchy for attribute in frequencies.sensitive if attribute.hierarchy is not None
        ),
        population=None if after.population is None else _population(found.recoding, after),
        search=found,
    )


def _check_result(plan: Plan, frequencies: Frequencies, found: SearchResult) -> Classes:
    """Decide every promise once more on the classes that will be released, independently of the search."""
    classes = Classes.of(frequencies, found.recoding.classes, number=found.recoding.number)
    classes = replace(classes, codes=found.recoding.codes)
    everything = np.ones(len(classes), dtype=np.bool_)
    broken = [model.name for model in plan.class_models if not model.keep(classes, everything).all()]
    if found.suppressed != frequencies.records - classes.records:
        broken.append("the number of suppressed records")
    if broken:
        raise ShoalError(
            f"method `{plan.method.name}` found a recoding that breaks {', '.join(broken)}; nothing was released",
            hint="this is a defect of Shoal: please report it",
        )
    return classes


def _events(plan: Plan, table: Table, frequencies: Frequencies, found: SearchResult) -> list[Event]:
    events = preparation(plan.schema, table)
    levels = found.recoding.levels
    events.append(
        Generalized(
            method=plan.method.name,
            columns=frequencies.attributes,
            levels=levels or (),
            heights=frequencies.heights if levels else (),
        )
    )
    events += [Suppressed(records=found.suppressed, of=found.records), Ordered()]
    return events


def _population(recoding: Recoding, classes: Classes) -> pa.Table:
    """Return the number of people of the population in every released class, for checkers."""
    columns = {
        name: pa.array(labels, pa.string()).take(pa.array(recoding.codes[:, column]))
        for column, (name, labels) in enumerate(zip(recoding.attributes, recoding.labels, strict=True))
    }
    return pa.table([*columns.values(), pa.array(classes.population)], names=[*columns, POPULATION_COUNT])
