"""Read the figures of a report off the files of a release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal import tables
from shoal.errors import ShoalError, counted, says_nothing
from shoal.exact import fraction
from shoal.guarantees import CERTIFICATE, NO_RANDOMNESS, Certificate, Counted, Data, File, Strength, load
from shoal.methods.brief import Brief
from shoal.methods.noise import BOUNDED, NOISE
from shoal.methods.truthful import DifferentialPrivacy
from shoal.report._attention import Notices, noticed
from shoal.report._columns import column_figures
from shoal.report._document import (
    BudgetFigures,
    ColumnFigures,
    ColumnRole,
    Document,
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

#: the names of the plan and of the public report in the folder of a release
PLAN = "plan.toml"
REPORT = "report.html"
#: values that a level names as examples
_EXAMPLES = 3
#: promises about classes that are not published
_EXCHANGED = ("probabilistic-k-anonymity", "hidden-classes")


def public_report(folder: str | Path) -> Document:
    """Return the report on the release in ``folder`` that may be published with it.

    It holds what the certificate says and what the released tables show, and nothing else: whoever has the folder can
    compute it. The quality measures of a release without differential privacy compare it with the original table and
    are therefore left out.

    Raises
    ------
    VerificationError
        If there is no readable certificate.
    """
    folder = Path(folder)
    return gather(folder, load(folder / CERTIFICATE))


def gather(
    folder: Path,
    certificate: Certificate,
    opened: Mapping[str, Table] | None = None,
    look: Callable[[Values, Schema, int], Notices] = noticed,
) -> Document:
    """Return the public report on the released tables in ``folder``, which ``certificate`` speaks of.

    ``opened`` are the tables by file, where somebody has opened them already; ``look`` says what a table shows.
    """
    if opened is None:
        opened = {data.file: tables.reread(folder / data.file) for data in certificate.tables}
    values = {data.file: values_of(opened[data.file], _known(opened[data.file], data)) for data in certificate.tables}
    shown = tuple(
        _counted(certificate, data, _table(values[data.file], data, _hidden_among(certificate, data)))
        for data in certificate.tables
    )
    # of the whole release: randomising one column promises something about that column alone
    private = any(promise.model in (DifferentialPrivacy.name, BOUNDED) for promise in certificate.promises)
    plan = _plan(folder)
    return Document(
        variant=Variant.PUBLIC,
        about={} if plan is None else plan.about.words(),
        described=() if plan is None else column_roles(plan, certificate),
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
        steps=tuple(_step(step) for step in certificate.steps),
        budget=None
        if certificate.budget is None
        else BudgetFigures(epsilon=_number(certificate.budget.epsilon), delta=_number(certificate.budget.delta)),
        levels=tuple(_levels(certificate.steps, [column for table in shown for column in table.columns])),
        tables=shown,
        # where there is noise or differential privacy, the certified measures are functions of the release
        measures=dict(certificate.measures) if private or _noisy(certificate) else {},
        attention=() if private or plan is None else _attention(values, certificate, plan, shown, look),
        limitations=tuple(limitations(certificate)),
        files=listed(certificate),
    )


def _attention(
    values: Mapping[str, Values],
    certificate: Certificate,
    plan: Brief,
    shown: Sequence[TableFigures],
    look: Callable[[Values, Schema, int], Notices],
) -> tuple[str, ...]:
    """Return what the one table of a release shows, where its values are those of its records."""
    mixed = shown[0].hidden_among is not None or not certificate.randomness.startswith(NO_RANDOMNESS)
    if len(shown) > 1 or mixed or _noisy(certificate):
        return ()
    return tuple(fact for fact, _ in look(values[certificate.data.file], plan.schema, certificate.data.records))


def _plan(folder: Path) -> Brief | None:
    """Read the plan of a release; verification refuses one that cannot be read."""
    try:
        return Brief.load(folder / PLAN)
    except ShoalError as error:
        if says_nothing(error):
            raise
        return None


def listed(certificate: Certificate) -> tuple[File, ...]:
    """Return the files that a report lists: all but itself."""
    return tuple(file for file in certificate.files if file.name != REPORT)


def _noisy(certificate: Certificate) -> bool:
    return any(promise.model in NOISE for promise in certificate.promises)


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


def _step(step: dict[str, Any]) -> Step:
    return Step(
        name=str(step.get("column", step.get("step", "step"))),
        description=str(step.get("description", "")),
        epsilon=_number(step.get("epsilon_spent", 0)),
        delta=_number(step.get("delta_spent", 0)),
    )


def _levels(steps: Iterable[dict[str, Any]], columns: Sequence[ColumnFigures]) -> Iterable[LevelFigures]:
    released = {column.name: column for column in columns}
    for step in steps:
        if step.get("step") != "generalized":
            continue
        for name, level, height in zip(step["columns"], step.get("levels", ()), step.get("heights", ()), strict=False):
            bars = released[name].bars if name in released else ()
            common = sorted((bar for bar in bars if bar.kind == "value"), key=lambda bar: -bar.released)
            examples = tuple(bar.label for bar in common[:_EXAMPLES])
            yield LevelFigures(column=name, level=level, height=height, examples=examples)


def _hidden_among(certificate: Certificate, data: Data) -> int | None:
    """Return the size of the classes inside which values were exchanged, where a promise speaks of them."""
    sizes = [
        int(str(promise.parameters["k"]))
        for promise in certificate.promises
        if promise.model in _EXCHANGED
        and promise.strength is Strength.CONDITIONAL
        and (promise.file or certificate.data.file) == data.file
    ]
    return min(sizes, default=None)


def _known(table: Table, data: Data) -> list[str]:
    return [column.name for column in data.columns if column.name in table.columns]


def _table(values: Values, data: Data, hidden_among: int | None) -> TableFigures:
    known = [column for column in data.columns if column.name in values.names]
    # an identifier is here as a pseudonym, and numbers of classes are no property of anybody
    shown = [column for column in known if not column.role.names_someone and column.name != data.class_column]
    by = [column.name for column in known if column.role.known_elsewhere]
    if data.class_column is not None:
        by = [data.class_column]
    return TableFigures(
        file=data.file,
        records=data.records,
        columns=tuple(column_figures(values.of(column.name), column.role, data.records) for column in shown),
        classes_by="the quasi-identifiers" if data.class_column is None else f"`{data.class_column}`",
        # whose quasi-identifiers look alike says nothing where it is not known whose values the others are
        risk=Risk.of(reidentification_of_sizes(*values.class_sizes(by))) if by and hidden_among is None else None,
        hidden_among=hidden_among,
    )


def _counted(certificate: Certificate, data: Data, figures: TableFigures) -> TableFigures:
    """Return the figures with the risks of persons, where the certificate says how many there are in a class."""
    steps = [Counted.of([step]) for step in certificate.steps]
    known = [step for step in steps if step is not None and {*step.columns} in (set(), {*data.quasi_identifiers})]
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
    Role.SENSITIVE: "nobody should learn it about a person",
    Role.INSENSITIVE: "declared to be neither known to others nor secret",
    Role.WEIGHT: "says how many people a record stands for",
    Role.STRATUM: "others may know it about a person; the sample was drawn by it",
    Role.DROP: "not needed",
    Role.DECIDE: "not decided",
}
#: what a step does to the columns that it names
_DONE = {
    "generalized": "generalised",
    "bucketized": "released as buckets of near values",
    "permuted": "exchanged inside hidden classes",
    "ranked": "exchanged between records of near ranks",
    "randomized": "randomised",
    "noised": "released with noise",
    "concepts-drawn": "a more general term, drawn at random",
    "aggregated": "replaced by an aggregate of the class",
    "joint-trimmed": "generalised in the table of all columns",
}
_FORMS = {"microaggregated": "replaced by a typical value of the class", "generalized": "generalised class by class"}


def column_roles(plan: Brief, certificate: Certificate) -> tuple[ColumnRole, ...]:
    """Return a line for each column of the plan, in its order."""
    done = _done(certificate.steps)
    return tuple(
        ColumnRole(
            name=attribute.name,
            role=attribute.role,
            done=_said(attribute, done.get(attribute.name, ())),
            reason=attribute.reason or _MEANINGS[attribute.role],
            given=bool(attribute.reason),
        )
        for attribute in plan.schema
    )


def _said(attribute: Attribute, done: Sequence[str]) -> str:
    if attribute.pseudonym:
        return "replaced by a keyed pseudonym"
    if attribute.role.names_someone:
        return "left out"
    return ", ".join(dict.fromkeys(done)) or "released as it is"


def _done(steps: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for step in steps:
        for name, words in _named(step):
            found.setdefault(name, []).append(words)
    return found


def _named(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if step.get("step") == "cells-suppressed":
        for name, cells in zip(step["columns"], step["cells"], strict=True):
            yield from [(name, f"{counted(cells, 'cell')} suppressed")] if cells else []
    elif step.get("step") == "tables-trimmed":
        for names, levels in zip(step["tables"], step["levels"], strict=True):
            yield from (
                (name, "generalised in some tables") for name, level in zip(names, levels, strict=True) if level
            )
    words = _FORMS.get(step.get("form", "")) if step.get("step") == "classed" else _DONE.get(step.get("step", ""))
    if words is None:
        return
    names = step["columns"] if "columns" in step else [step["column"]]
    levels = dict(zip(names, zip(step.get("levels", ()), step.get("heights", ()), strict=False), strict=False))
    for name in names:
        if name in levels:
            level, height = levels[name]
            yield from [(name, f"{words} to level {level} of {height}")] if level else []
        else:
            yield name, words
