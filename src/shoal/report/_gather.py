"""Read the figures of a report off the files of a release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from shoal.errors import ShoalError, says_nothing
from shoal.exact import fraction
from shoal.folder import REPORT, ReleaseFolder
from shoal.guarantees import NO_RANDOMNESS, Certificate, Counted, Data, Event, File, Strength
from shoal.methods import Method, promises
from shoal.methods.recode import Generalized
from shoal.plan import Plan
from shoal.report._attention import Notices, find_notices
from shoal.report._columns import column_figures
from shoal.report._document import (
    BudgetFigures,
    ColumnFigures,
    ColumnRole,
    Document,
    LearntFigures,
    LevelFigures,
    PromiseFigures,
    Risk,
    Step,
    TableFigures,
    Variant,
)
from shoal.report._text import limitations
from shoal.risk import reidentification_of_sizes
from shoal.schema import Attribute, Role, Schema
from shoal.tables import Table, Values, values_of

#: values that a level names as examples
_EXAMPLES = 3
Look = Callable[[Values, Schema, int, Method], Notices]


def public_report(folder: str | Path) -> Document:
    """Return the report on the release in ``folder`` that may be published with it.

    It holds what the certificate says and what the released tables show, and nothing else: whoever has the folder can
    compute it. The quality measures of a release without differential privacy compare it with the original table and
    are therefore left out.

    Raises
    ------
    VerificationError, Undecided
        If there is no readable certificate.
    """
    return gather(ReleaseFolder.inspected(folder))


def gather(release: ReleaseFolder, look: Look = find_notices) -> Document:
    """Return the public report on a release; ``look`` says what a table shows."""
    certificate, taken, opened = release.certificate, release.steps, release.tables
    values = {
        data.file: values_of(opened[data.file], _find_known_columns(opened[data.file], data))
        for data in certificate.tables
    }
    shown = tuple(
        _with_persons(taken, data, _table(values[data.file], data, _hidden_among(certificate, data)))
        for data in certificate.tables
    )
    # of the whole release: randomising one column promises something about that column alone
    private = any(promises.is_private(promise) for promise in certificate.promises)
    plan = _plan(release)
    return Document(
        variant=Variant.PUBLIC,
        about={} if plan is None else plan.about.words(),
        described=() if plan is None else column_roles(plan, taken),
        created=certificate.created.isoformat(),
        software=", ".join(f"{name} {version}" for name, version in certificate.software.items()),
        randomness=certificate.randomness,
        guessed=certificate.roles == "guessed",
        private=private,
        promises=tuple(
            PromiseFigures(
                **{**dict(promise), "parameters": _texts(promise.parameters), "exact": _texts(promise.exact)}
            )
            for promise in certificate.promises
        ),
        steps=tuple(_step(step) for step in taken),
        budget=None
        if certificate.budget is None
        else BudgetFigures(epsilon=_number(certificate.budget.epsilon), delta=_number(certificate.budget.delta)),
        levels=tuple(_levels(taken, [column for table in shown for column in table.columns])),
        tables=shown,
        # verification refuses measures that are no functions of the release
        measures=dict(certificate.measures),
        attention=() if private or plan is None else _attention(values, certificate, plan, shown, look),
        limitations=tuple(limitations(certificate)),
        files=list_files(certificate),
    )


def _attention(
    values: Mapping[str, Values],
    certificate: Certificate,
    plan: Plan,
    figures: Sequence[TableFigures],
    look: Look,
) -> tuple[str, ...]:
    """Return what the one table of a release shows, where its values are those of its records."""
    mixed = figures[0].hidden_among is not None or not certificate.randomness.startswith(NO_RANDOMNESS)
    if len(figures) > 1 or mixed:
        return ()
    return tuple(
        fact for fact, _ in look(values[certificate.data.file], plan.schema, certificate.data.records, plan.method)
    )


def _plan(release: ReleaseFolder) -> Plan | None:
    """Return the plan of a release; verification refuses one that cannot be read."""
    try:
        return release.plan
    except ShoalError as error:
        if says_nothing(error):
            raise
        return None


def list_files(certificate: Certificate) -> tuple[File, ...]:
    """Return the files that a report lists: all but itself."""
    return tuple(file for file in certificate.files if file.name != REPORT)


def _texts(values: dict[str, object]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _text(value: object) -> str:
    """Return a value as people write it: names one after the other, parameters as ``k = 5``."""
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_text(inner)}" for name, inner in value.items())
    named = isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
    return ", ".join(value) if named else str(value)  # type: ignore[arg-type]


def _number(text: object) -> float:
    return float(fraction(str(text)))


def _step(step: Event) -> Step:
    return Step(
        name=getattr(step, "column", step.name),
        description=step.describe(),
        epsilon=float(step.epsilon),
        delta=float(step.delta),
    )


def _levels(steps: Iterable[Event], columns: Sequence[ColumnFigures]) -> Iterable[LevelFigures]:
    released = {column.name: column for column in columns}
    for step in steps:
        if not isinstance(step, Generalized):
            continue
        for name, level, height in zip(step.columns, step.levels, step.heights, strict=False):
            bars = released[name].bars if name in released else ()
            common = sorted((bar for bar in bars if bar.kind == "value"), key=lambda bar: -bar.released)
            examples = tuple(bar.label for bar in common[:_EXAMPLES])
            yield LevelFigures(column=name, level=level, height=height, examples=examples)


def _hidden_among(certificate: Certificate, data: Data) -> int | None:
    """Return the size of the classes inside which values were exchanged, where a promise speaks of them."""
    sizes = [
        int(str(promise.parameters["k"]))
        for promise in certificate.promises
        if promises.hides_among_k(promise)
        and promise.strength is Strength.CONDITIONAL
        and (promise.file or certificate.data.file) == data.file
    ]
    return min(sizes, default=None)


def _find_known_columns(table: Table, data: Data) -> list[str]:
    columns = {*table.columns}
    return [column.name for column in data.columns if column.name in columns]


def _table(values: Values, data: Data, hidden_among: int | None) -> TableFigures:
    names = {*values.names}
    known = [column for column in data.columns if column.name in names]
    # an identifier is here as a pseudonym, and numbers of classes are no property of anybody
    shown = [column for column in known if not column.role.names_someone and column.name != data.class_column]
    by = [column.name for column in known if column.role.known_elsewhere and column.name != data.class_column]
    secrets = [column.name for column in known if column.role is Role.SENSITIVE]
    learnt = None
    if data.class_column is not None and not by and secrets:
        sizes, _ = values.class_sizes([data.class_column])
        highest = max(values.commonest_share([data.class_column], name) for name in secrets)
        learnt = LearntFigures(smallest=int(sizes.min(initial=data.records)), highest=highest)
    return TableFigures(
        file=data.file,
        records=data.records,
        columns=tuple(column_figures(values.of(column.name), column.role, data.records) for column in shown),
        learnt=learnt,
        # whose quasi-identifiers look alike says nothing where it is not known whose values the others are
        risk=Risk.of(reidentification_of_sizes(*values.class_sizes(by))) if by and hidden_among is None else None,
        hidden_among=hidden_among,
    )


def _with_persons(steps: Sequence[Event], data: Data, figures: TableFigures) -> TableFigures:
    """Return the figures with the risks of persons, where a step says how many there are in a class."""
    countings = [step for step in steps if isinstance(step, Counted)]
    known = [step for step in countings if {*step.columns} in (set(), {*data.quasi_identifiers})]
    if len(known) != 1 or known[0].persons == known[0].records or figures.risk is None:
        return figures
    (found,) = known
    persons = {
        "fewest": found.crowd,
        "prosecutor": 1 / found.crowd,
        "marketer": figures.risk.classes / found.memberships,
    }
    return figures.model_copy(update={"risk": figures.risk.model_copy(update=persons)})


_MEANINGS = {
    Role.IDENTIFIER: "names a person",
    Role.PERSON: "says whose record it is",
    Role.HOUSEHOLD: "says who belongs together",
    Role.QUASI_IDENTIFIER: "others may know it about a person",
    Role.SENSITIVE: "sensitive, needed for analysis",
    Role.INSENSITIVE: "neither known to others nor sensitive",
    Role.WEIGHT: "says how many people a record stands for",
    Role.STRATUM: "others may know it about a person; the sample was drawn by it",
    Role.DROP: "not needed",
    Role.DECIDE: "not decided",
}


def column_roles(plan: Plan, steps: Sequence[Event]) -> tuple[ColumnRole, ...]:
    """Return a line for each column of the plan, in its order."""
    done: dict[str, list[str]] = {}
    for step in steps:
        for name, effect in step.effects():
            done.setdefault(name, []).append(effect)
    return tuple(
        ColumnRole(
            name=attribute.name,
            role=attribute.role,
            done=_describe_treatment(attribute, done.get(attribute.name, ())),
            reason=attribute.reason or _MEANINGS[attribute.role],
            given=bool(attribute.reason),
        )
        for attribute in plan.schema
    )


def _describe_treatment(attribute: Attribute, done: Sequence[str]) -> str:
    if attribute.pseudonym:
        return "replaced by a keyed pseudonym"
    if attribute.role.names_someone:
        return "left out"
    return ", ".join(dict.fromkeys(done)) or "kept unchanged"
