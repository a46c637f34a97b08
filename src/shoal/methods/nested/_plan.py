"""The plan for a data set: its schema, the promises, and the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal import datasets, schema
from shoal.datasets import DatasetSchema
from shoal.errors import InputError, ParameterError, PlanError, Problems, quoted
from shoal.exact import Arguments, Checked, Number, expecting, fraction, plain
from shoal.guarantees import Dropped, ExpectedStep, exactly, once
from shoal.methods.nested._prepare import bounded_tables, day_columns
from shoal.methods.nested._promises import KnownItems, SecretAmongKnownItems
from shoal.methods.nested._steps import (
    DatesShifted,
    DaysCounted,
    ItemsBounded,
    ItemsGeneralized,
    ItemsSuppressed,
    KeysReplaced,
)
from shoal.plan import About
from shoal.policy import Policy
from shoal.schema import Kind, Role

VERSION = 1
_SUPPRESSED = ("items", "persons")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecodeItems(Checked):
    """Give every known column of all tables one level, and leave out single rows, and persons, that stay rare.

    Parameters
    ----------
    suppression_limit
        The largest share of persons, and of all rows of the other tables, that may be left out, in [0, 1].
    effort
        Work after which the search makes do with the best that it has, in units of about a second; counted, not timed.
    suppress
        ``items``: single rows, and persons where that does not do; ``persons``: only persons with all their rows.
        Where a release shows how many rows there are, or days since the first one, it is always ``persons``.
    """

    suppression_limit: Number = field(default=0.05, metadata=expecting("[0, 1]"))
    effort: float = 120.0
    suppress: str = "items"

    def fit(self, arguments: Arguments) -> None:
        arguments.rational("suppression_limit", self.suppression_limit, "[0, 1]")
        if isinstance(self.effort, bool) or not isinstance(self.effort, int | float) or not 0 < self.effort < 10**9:
            arguments.problems.add("`effort` of `RecodeItems` must be a positive number.")
        arguments.choice("suppress", self.suppress, _SUPPRESSED)


METHOD = "recode-items"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPlan:
    """The schema of a data set, what is promised of it, and the method.

    Parameters
    ----------
    schema
        What tables and columns mean.
    promise
        Among how many persons everybody hides, and how many items are known.
    secrets
        Secret values that no pattern may make too certain.
    method
        How the promises are kept.
    about
        Title, purpose and circumstances, in the publisher's words.
    accepted
        Columns, as ``table.column``, that are released although they tell whose rows are whose.
    """

    schema: DatasetSchema
    promise: KnownItems
    secrets: tuple[SecretAmongKnownItems, ...] = ()
    method: RecodeItems = field(default_factory=RecodeItems)
    about: About = field(default_factory=About)
    accepted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = Problems()
        if self.schema.shows_places and self.method.suppress != "persons":
            object.__setattr__(self, "method", replace(self.method, suppress="persons"))
        columns = {f"{table.name}.{each.name}": each for table in self.schema for each in table.columns}
        for name, each in columns.items():
            if each.role is Role.DECIDE:
                problems.add(f'column `{name}` has no role yet; give it one, or `role = "drop"`')
        if not any(table.known for table in self.schema):
            problems.add('no column is known to others; give at least one `role = "quasi-identifier"`')
        if not self.schema.items:
            problems.add("the data set has one table; anonymise it as a table, with k-anonymity")
        for secret in self.secrets:
            named = columns.get(secret.column)
            if named is None or named.role is not Role.SENSITIVE:
                problems.add(f"the secret column `{secret.column}` is no sensitive column of the data set")
            if secret.m != self.promise.m:
                problems.add(f"`m` of all promises must be the same: {self.promise.m}")
        as_they_are = [name for name, each in columns.items() if each.role.released_as_it_is]
        if wrong := [name for name in self.accepted if name not in as_they_are]:
            problems.add(f"{quoted(wrong)}: no such column is released as it is, so there is nothing to accept")
        said = [(secret.column, secret.value) for secret in self.secrets]
        if len({*said}) < len(said):
            problems.add("a secret value is named twice")
        problems.raise_as(PlanError)

    @property
    def promises(self) -> tuple[KnownItems | SecretAmongKnownItems, ...]:
        """All promises."""
        return (self.promise, *self.secrets)

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that others may know, as ``table.column``."""
        return tuple(f"{table.name}.{name}" for table in self.schema for name in table.known)

    @property
    def mixable(self) -> tuple[str, ...]:
        """The columns whose labels may have different levels: the one known column of a table, if it holds categories.

        Dates and numbers keep one level, which is easier to analyse.
        """
        tables = [table for table in self.schema.items if len(table.known) == 1]
        return tuple(
            f"{table.name}.{table.known[0]}"
            for table in tables
            if table.columns[table.known[0]].kind not in (Kind.NUMERIC, Kind.DATE)
        )

    @property
    def dropped(self) -> list[Dropped]:
        """The step that removes columns, if any is removed."""
        pairs = [(f"{table.name}.{each.name}", each.role) for table in self.schema for each in table.columns]
        removed = tuple(name for name, role in pairs if role.names_someone)
        left_out = tuple(name for name, role in pairs if role.left_out)
        return [Dropped(columns=removed, left_out=left_out)] if removed else []

    @property
    def files(self) -> dict[str, tuple[str, ...]]:
        """The columns of every released table, by its file: keys first."""
        return {
            f"{table.name}.parquet": (*self.schema.key_columns(table.name), *self.schema.shown_columns(table.name))
            for table in self.schema
        }

    def expected_steps(self) -> list[ExpectedStep]:
        """Return the grammar of the steps: their order, how often, and the fields that the plan decides."""
        names = tuple(table.name for table in self.schema)
        limit = fraction(self.method.suppression_limit)

        columns = [f"{table.name}.{name}" for table in self.schema for name in table.released]
        removed = [name for step in self.dropped for name in step.columns]

        def within_limit(step: ItemsSuppressed) -> bool:
            if self.method.suppress == "persons" and any(step.rows) and not step.rows[0]:
                return False
            return step.rows[0] <= limit * step.of[0] and sum(step.rows[1:]) <= limit * sum(step.of[1:])

        days, bounds = day_columns(self.schema), bounded_tables(self.schema)
        dated = tuple(
            f"{table.name}.{each.name}" for table in self.schema for each in table.columns if each.kind is Kind.DATE
        )

        def dates_of_tables(step: DatesShifted) -> bool:
            # columns without a declared kind may hold dates as well
            return {*dated} - {*removed} <= {*step.columns} <= {*columns}

        return [
            *exactly(*self.dropped),
            *([once(DaysCounted, columns=days)] if days else []),
            *([once(ItemsBounded, tables=tuple(bounds), at_most=tuple(bounds.values()))] if bounds else []),
            *(
                [once(DatesShifted, at_most=self.schema.shift_dates, allows=dates_of_tables)]
                if self.schema.shift_dates is not None
                else []
            ),
            once(ItemsGeneralized, columns=self.known, allows=lambda step: {*step.mixed} <= {*self.mixable}),
            once(ItemsSuppressed, tables=names, allows=within_limit),
            *exactly(KeysReplaced(tables=names)),
        ]

    def dumps(self) -> str:
        """Return the text of a plan file."""
        # keys without a table come first, before the first table
        first, _, rest = datasets.dumps(self.schema).partition("\n\n")
        lines = [f"shoal = {VERSION}", *first.split("\n")[1:]]
        if self.about:
            lines += ["", "[release]", *_settings(self.about.words())]
        for promise in self.promises:
            lines += ["", "[[promises]]", *_settings({"model": promise.name, **promise.parameters()})]
        settings = {
            "name": METHOD,
            "suppression_limit": plain(fraction(self.method.suppression_limit)),
            "effort": self.method.effort,
            "suppress": self.method.suppress,
        }
        if self.accepted:
            lines += ["", "[rehearsal]", *_settings({"accepted": [*self.accepted]})]
        lines += ["", "[method]", *_settings(settings)]
        return "\n".join(lines) + "\n\n" + rest

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None) -> DatasetPlan:
        """Read the text of a plan file; relative paths start at ``folder``."""
        try:
            content = schema.parse(text)
        except ValueError as error:
            raise PlanError(f"the plan is not valid TOML: {error}") from None
        problems = Problems()
        if content.get("shoal") != VERSION:
            problems.add(f"`shoal`, the version of the format, must be {VERSION}")
        parts = {"about": _about, "promises": _promises, "method": _method, "rehearsal": _accepted}
        read: dict[str, Any] = {}
        for name, reader in parts.items():
            try:
                read[name] = reader(content.get("release" if name == "about" else name))
            except InputError as error:
                problems.take(error)
        rest = {key: value for key, value in content.items() if key not in ("release", *parts)}
        try:
            described = datasets.from_document(rest, folder or Path())
        except InputError as error:
            problems.take(error)
        problems.raise_as(PlanError)
        promise, secrets = read["promises"]
        return cls(
            schema=described,
            promise=promise,
            secrets=secrets,
            method=read["method"],
            about=read["about"],
            accepted=read["rehearsal"],
        )

    @classmethod
    def load(cls, path: str | Path) -> DatasetPlan:
        """Read a plan file."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise PlanError(f"the plan `{path.name}` cannot be read") from None
        return cls.loads(text, folder=path.parent)

    def with_folder(self, folder: Path) -> DatasetPlan:
        """Return the plan with hierarchy files that start at another folder."""
        tables = tuple(replace(each, columns=replace(each.columns, folder=folder)) for each in self.schema)
        return replace(self, schema=replace(self.schema, tables=tables, folder=folder))


def policy_problems(plan: DatasetPlan, policy: Policy) -> list[str]:
    """Return what the policy of an office does not allow of a plan."""
    columns = [name for names in plan.files.values() for name in names]
    return policy.problems(columns=columns, k=plan.promise.k, epsilon=None, delta=Fraction(0), accepted=())


def is_dataset_plan(text: str) -> bool:
    """Return whether the text of a plan file is about a data set."""
    try:
        return "tables" in schema.parse(text)
    except ValueError:
        return False


def _settings(values: Mapping[str, object]) -> list[str]:
    return [f"{name} = {schema.toml_value(value)}" for name, value in values.items()]


def _about(entry: object) -> About:
    return About() if entry is None else About.read(entry)


def _accepted(entry: object) -> tuple[str, ...]:
    names = entry.get("accepted") if isinstance(entry, dict) and {*entry} == {"accepted"} else None
    if entry is None:
        return ()
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise PlanError("`[rehearsal]` has one key, `accepted`: a list of columns, as `table.column`")
    return tuple(names)


def _promises(entries: object) -> tuple[KnownItems, tuple[SecretAmongKnownItems, ...]]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PlanError("the plan has no promises: `[[promises]]`")
    kinds = {kind.name: kind for kind in (KnownItems, SecretAmongKnownItems)}
    read = []
    for entry in entries:
        kind = kinds.get(str(entry.get("model")))
        if kind is None:
            raise PlanError(f"a promise of a data set is one of {', '.join(kinds)}")
        read.append(kind.from_parameters({name: value for name, value in entry.items() if name != "model"}))
    first = [promise for promise in read if isinstance(promise, KnownItems)]
    if len(first) != 1 or read[0] is not first[0]:
        raise PlanError(f"a plan of a data set has one promise `{KnownItems.name}`, before all others")
    return first[0], tuple(promise for promise in read if isinstance(promise, SecretAmongKnownItems))


def _method(entry: object) -> RecodeItems:
    if entry is None:
        return RecodeItems()
    if not isinstance(entry, dict) or entry.get("name") != METHOD:
        raise PlanError(f"the method of a data set is `{METHOD}`")
    settings = {name: value for name, value in entry.items() if name != "name"}
    unknown = sorted({*settings} - {"suppression_limit", "effort", "suppress"})
    if unknown:
        raise ParameterError(f"`{METHOD}` has no parameter {quoted(unknown)}.")
    return RecodeItems(**settings)
