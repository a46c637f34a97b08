"""The parts of a release in a series, and what the series keeps of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import RequirementError
from shoal.exact import fraction
from shoal.guarantees import Counted, Event, Guarantee, Promise, Words, syntactic
from shoal.kernels import Integers
from shoal.methods._opening import domains
from shoal.methods.base import RecordClasses, Result, released_columns
from shoal.methods.recode._finer import distinct_tuples
from shoal.methods.recode._steps import Generalized, Suppressed
from shoal.models import Classes
from shoal.risk import reidentification
from shoal.series import (
    BEFORE,
    CLASS,
    CROWD,
    CROWD_LIST,
    CROWDS,
    KEY,
    STATE,
    VALUE,
    Continued,
    State,
    crowd_list,
    entry_of,
    write_crowd_list,
    write_crowds,
)
from shoal.tables import Recoding

if TYPE_CHECKING:
    from shoal.methods.recode._in_series import SeriesRelease

NOBODY = -1


def assemble(release: SeriesRelease) -> Result:
    """Return the release, and set aside what its series records when it is written."""
    classes, visible = release.classes, release.states != State.ABSENT
    if not visible.any():
        raise RequirementError(
            "nobody can be shown in this release of the series", hint="wait until more newcomers have come"
        )
    step, suppressed = _step(release), _suppressed(release)
    recoding = _recoding(release, classes)
    plan, schema, records = release.plan, release.plan.schema, release.encoded.frequencies
    loss = release.method.measure.value(recoding, records)
    columns = _columns(release)
    _set_aside(release, step, suppressed.records, loss, columns)
    after = Classes(sizes=np.bincount(classes[visible]))
    table = pa.table({name: column.filter(pa.array(visible)) for name, column in columns.items()})
    sorted_table, notes = _ordered(release, table)
    of_records = np.where(release.states == State.SHOWN, classes, NOBODY)[release.person_of]
    result = Result(
        plan=plan,
        table=sorted_table,
        notes=notes,
        guarantee=Guarantee(promises=_promises(release), events=tuple(_events(release, step, suppressed, after))),
        measures={measure.label: measure.value(recoding, records) for measure in plan.weighted_measures},
        before=reidentification(Classes.from_tuples(records)),
        after=reidentification(after),
        records=int(visible.sum()),
        domains=domains(schema, records),
        record_classes=(
            RecordClasses(
                table=release.work.table,
                columns=tuple(name for name in released_columns(schema) if not schema[name].role.tells_who),
                find=lambda: of_records,
            ),
        ),
        series=release.series,
    )
    return release.work.release(result)


def _ordered(release: SeriesRelease, table: pa.Table) -> tuple[tables.Table, dict[str, str]]:
    """Return the rows in an order that tells nothing, and the joint crowd of each where the promise shows them."""
    if not release.series.promise.show_crowds:
        return tables.sorted_records(tables.read(table)), {}
    visible, name = release.states != State.ABSENT, tables.free_name("joint crowd", table.column_names)
    with_crowds = table.append_column(name, pa.array(release.joint[visible]))
    rows = tables.sorted_records(tables.read(with_crowds)).to_arrow()
    listed = crowd_list(release.joint, release.crowds, release.states, release.ever)
    notes = {CROWDS: write_crowds(rows[name].to_numpy()), CROWD_LIST: write_crowd_list(listed)}
    return tables.read(rows.drop_columns([name])), notes


def _step(release: SeriesRelease) -> Continued:
    known, states = release.known, release.states
    frozen = states == State.FROZEN
    return Continued(
        release=release.series.number,
        after=release.series.after,
        continued=int((states[:known] == State.SHOWN).sum()),
        newcomers=int((states[known:] == State.SHOWN).sum()),
        frozen=int(frozen.sum()),
        leavers=int((frozen & ~release.present).sum()),
    )


def _suppressed(release: SeriesRelease) -> Suppressed:
    """Return the step, and refuse a release that leaves out more than the plan allows."""
    hidden = int((release.present & (release.states == State.ABSENT)).sum())
    of = len(release.encoded)
    limit = fraction(release.method.suppression_limit)
    if hidden > limit * of:
        raise RequirementError(
            [
                f"{hidden:,} of {of:,} records would be suppressed in this release of the series, more than the limit "
                f"of {float(limit):.3g} of them",
                *release.notes,
            ],
            hint="raise the suppression limit (--suppression-limit)",
        )
    return Suppressed(records=hidden, of=of)


def _promises(release: SeriesRelease) -> tuple[Promise, ...]:
    plan = release.plan
    about_classes = (syntactic(model, Words(person=plan.schema.person)) for model in plan.class_models)
    return (*about_classes, release.series.promise.promise())


def _events(release: SeriesRelease, step: Continued, suppressed: Suppressed, after: Classes) -> list[Event]:
    schema = release.plan.schema
    generalized = Generalized(method=release.method.name, columns=schema.quasi_identifiers)
    events: list[Event] = [generalized, step, suppressed]
    if schema.person is not None:
        number, least = after.records, int(after.sizes.min())
        events.append(
            Counted(
                column=schema.person,
                records=number,
                persons=number,
                memberships=number,
                smallest=least,
                fewest=least,
            )
        )
    return events


def _columns(release: SeriesRelease) -> dict[str, pa.Array]:
    """Return the released values of everybody, null where nothing is shown."""
    schema = release.plan.schema
    absent = pa.array(release.states == State.ABSENT)
    columns = {}
    for name in released_columns(schema):
        if name in schema.quasi_identifiers:
            j = schema.quasi_identifiers.index(name)
            texts = release.labels[j].released(release.codes[:, j])
            columns[name] = pa.compute.if_else(absent, pa.scalar(None, pa.string()), texts)
        else:
            columns[name] = release.column(name)
    return columns


def _recoding(release: SeriesRelease, classes: Integers) -> Recoding:
    """Return what becomes of every record as a recoding, for measures."""
    of_records = np.where(release.present, classes, NOBODY)[release.person_of]
    visible = np.flatnonzero(classes >= 0)
    codes = np.zeros((int(classes.max()) + 1, len(release.labels)), dtype=np.int32)
    codes[classes[visible]] = release.codes[visible]
    return Recoding(
        attributes=release.encoded.frequencies.attributes,
        classes=of_records.astype(np.int32),
        codes=codes,
        labels=tuple(tuple(column.values) for column in release.labels),
        shares=tuple(np.array(column.shares) for column in release.labels),
        depths=tuple(np.array(column.depths) for column in release.labels),
        unchanged=(False,) * len(release.labels),
    )


def _alone(release: SeriesRelease) -> float | None:
    """Return what the method loses in a release on its own; None where it finds none."""
    if release.series.number == 1:
        return None
    everybody = np.arange(len(release.encoded))
    frequencies, _ = distinct_tuples(release.encoded.frequencies, everybody)
    try:
        return release.method.search(frequencies, release.plan.class_models, release.work.watch).value
    except RequirementError:
        return None


def _set_aside(release: SeriesRelease, step: Continued, hidden: int, loss: float, columns: dict[str, pa.Array]) -> None:
    ever, schema = pa.array(release.ever), release.plan.schema
    new = release.keys.take(pa.array(release.record_of[release.known :]))
    everybody = {
        KEY: pa.concat_arrays([release.series.known_people[KEY].combine_chunks(), new]),
        CROWD: pa.array(release.joint),
        BEFORE: pa.array(release.crowds),
        STATE: pa.array(release.states),
        CLASS: pa.array(release.classes),
        **{VALUE + name: column for name, column in columns.items()},
    }
    rows = pa.table({name: column.filter(ever) for name, column in everybody.items()}).sort_by(KEY)
    entry = entry_of(
        release.series,
        step,
        models=tuple({"model": model.name, **model.parameters()} for model in release.plan.class_models),
        roles={name: str(schema[name].role) for name in released_columns(schema)},
        hidden=hidden,
        loss=loss,
        alone=_alone(release),
    )
    release.series.keep(rows, entry)
