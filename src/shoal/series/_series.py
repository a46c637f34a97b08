"""A series of releases, from the publisher's side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.errors import ParameterError, PlanError, Problems, quoted
from shoal.guarantees import Check
from shoal.relations import find_relations
from shoal.schema import Role
from shoal.series._check import check_entries
from shoal.series._folder import ReleaseEntry, SeriesFolder
from shoal.series._people import Continuation
from shoal.series._promise import SeriesKAnonymity
from shoal.series._secrets import unsupported_models

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.tables import Table

__all__ = ["Series"]


@dataclass(frozen=True, slots=True)
class Series:
    """Releases of the same people that keep their promises together.

    Make one with `create`, find it again with `open`, and give it to :func:`shoal.anonymize` or :meth:`shoal.Plan.run`.

    Parameters
    ----------
    folder
        What is kept of every release: who is in which joint crowd, by keyed hashes, and the released rows. Not for
        publication; readable by its owner only.
    expect
        The head of the folder as it was written down elsewhere; an older copy is then refused.

    Guarantee
    ---------
    See :class:`SeriesKAnonymity`. A release is recorded durably before it appears. What was recorded and never
    appeared counts as published, and `restore` writes it byte for byte.

    Assumptions
    -----------
    The disk keeps what it says it has synced. An older copy of the whole folder is noticed with ``expect`` alone.

    Examples
    --------
    >>> import pyarrow, shoal, tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> age = shoal.Attribute(
    ...     name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(20, 40))
    ... )
    >>> name = shoal.Attribute(name="name", role="identifier")
    >>> schema = shoal.Schema(attributes=(name, age))
    >>> people = pyarrow.table({"name": ["Ann", "Ben", "Cid", "Dot"], "age": [31, 34, 38, 52]})
    >>> study = Series.create(place / "study", key="name")
    >>> for version in ("first", "second"):
    ...     release = shoal.anonymize(shoal.read(people, schema=schema), k=2, series=study)
    ...     _ = release.write(place / version)
    >>> [entry.newcomers for entry in study.entries]
    [4, 0]
    """

    folder: Path
    expect: str | None = None

    @classmethod
    def create(cls, folder: str | Path, *, key: str, secret: bytes | None = None) -> Series:
        """Begin a series.

        Parameters
        ----------
        folder
            To be made.
        key
            The column that says who somebody is, the same in all versions of the table. It never leaves.
        secret
            The secret of the keyed hashes, at least 16 bytes; drawn where not given.
        """
        if not key:
            raise ParameterError("`key` of `Series` must be the name of a column.")
        SeriesFolder.create(Path(folder), key, secret)
        return cls(Path(folder))

    @classmethod
    def open(cls, folder: str | Path, *, expect: str | None = None) -> Series:
        """Find a series, and check all that is recorded of it."""
        SeriesFolder.open(Path(folder), expect=expect)
        return cls(Path(folder), expect)

    @property
    def entries(self) -> tuple[ReleaseEntry, ...]:
        """The releases of the series."""
        return self._open_folder().entries

    @property
    def key(self) -> str:
        """The column that says who somebody is."""
        return self._open_folder().key

    @property
    def head(self) -> str:
        """The number and code of the last entry: write it down elsewhere."""
        return self._open_folder().head

    def check(self) -> list[Check]:
        """Decide the promise again for all releases together, from all that is recorded."""
        return check_entries(self._open_folder())

    def restore(self, number: int, output: str | Path) -> Path:
        """Write a release again, byte for byte as it was recorded."""
        self._open_folder().restore(number, Path(output))
        return Path(output)

    def add_promise(self, plan: Plan) -> Plan:
        """Return a plan that promises a series; k is that of its classes unless it says otherwise."""
        if any(isinstance(model, SeriesKAnonymity) for model in plan.models):
            return plan
        least = max((model.capabilities.minimal_class_size for model in plan.class_models), default=1)
        return replace(plan, models=(*plan.models, SeriesKAnonymity(least)))

    def continuation(self, plan: Plan, table: Table) -> Continuation:
        """Return what the next release must know, and refuse a plan that cannot continue the series."""
        folder = self._open_folder()
        promise = next(model for model in plan.models if isinstance(model, SeriesKAnonymity))
        problems = Problems()
        for problem in (
            *_list_unsupported(plan, folder.key, promise),
            *(_list_changed_promises(plan, promise, folder.entries[0]) if folder.entries else ()),
            *_exchanged_roles(plan, folder.entries),
        ):
            problems.add(problem)
        problems.raise_as(PlanError)
        for problem in _relatives(plan, folder.entries, table):
            problems.add(problem)
        problems.raise_as(PlanError)
        return Continuation(folder=folder, promise=promise)

    def _open_folder(self) -> SeriesFolder:
        return SeriesFolder.open(self.folder, expect=self.expect)


def _list_unsupported(plan: Plan, key: str, promise: SeriesKAnonymity) -> list[str]:
    """Return what no release of a series can do."""
    schema = plan.schema
    messages = [
        f"a series cannot keep `{name}`; use k-anonymity, distinct l-diversity or p-sensitivity"
        for name in unsupported_models(plan.class_models)
    ]
    if not plan.class_models:
        messages.append("a series needs a promise about classes, such as k-anonymity")
    least = max((model.capabilities.minimal_class_size for model in plan.class_models), default=1)
    if promise.k < least:
        messages.append(
            f"the k of the series, {promise.k}, is below that of the classes, {least}; use the larger for both"
        )
    if key not in schema.names:
        messages.append(f"column `{key}` is the key of the series, and the schema does not have it")
    elif schema[key].role not in (Role.IDENTIFIER, Role.PERSON):
        messages.append(f'column `{key}` is the key of the series; give it the role "identifier" or "person"')
    if schema.person not in (None, key):
        messages.append(
            f"column `{schema.person}` says whose records these are, and the series recognises people by `{key}`; "
            "begin a series with the column of persons as its key"
        )
    if pseudonyms := [each.name for each in schema if each.pseudonym]:
        messages.append(f"{quoted(pseudonyms)}: pseudonyms would link the rows of a series; leave them out")
    if schema.household is not None:
        messages.append(f"column `{schema.household}`: households are not counted in a series; drop the column")
    return messages


def _list_changed_promises(plan: Plan, promise: SeriesKAnonymity, first: ReleaseEntry) -> list[str]:
    """Return which promises are not those of the series."""
    messages = []
    if promise.k != first.k:
        messages.append(f"the series promises k = {first.k}, and this release k = {promise.k}; k cannot change")
    asked = [{"model": model.name, **model.parameters()} for model in plan.class_models]
    if sorted(map(_text, asked)) != sorted(map(_text, first.models)):
        messages.append(
            "the promises about classes are not those of the first release of the series; they cannot change"
        )
    return messages


def _text(model: Mapping[str, object]) -> str:
    return json.dumps(model, sort_keys=True, default=str)


def _exchanged_roles(plan: Plan, entries: tuple[ReleaseEntry, ...]) -> list[str]:
    """Return columns that intruders know in one release and that another releases as they are."""
    schema, messages = plan.schema, []
    for name in schema.names:
        role = schema[name].role
        others = {Role(entry.roles[name]) for entry in entries if name in entry.roles}
        if role.names_someone or not others:
            continue
        if any(other.known_elsewhere != role.known_elsewhere for other in others):
            messages.append(
                f"column `{name}` is a quasi-identifier in one release of the series and released as it is in another; "
                "drop it, or give it the role that it had"
            )
        elif role not in others:
            messages.append(f"column `{name}` had another role in an earlier release of the series; give it that role")
    return messages


def _relatives(plan: Plan, entries: tuple[ReleaseEntry, ...], table: Table) -> list[str]:
    """Return columns that give away, in one release, a quasi-identifier of another; within one, rehearsals look."""
    schema = plan.schema
    roles = {name: Role(role) for entry in entries for name, role in entry.roles.items()}
    roles |= {each.name: each.role for each in schema if not each.role.names_someone}
    earlier = {
        name for name in roles if name in table.columns and (name not in schema or schema[name].role is Role.DROP)
    }
    if not earlier:
        return []
    rows: pa.Table = table.select(*(name for name in table.columns if name in roles)).to_arrow()
    messages = []
    for relation in find_relations(rows):
        shown = [name for name in relation.columns if not roles[name].known_elsewhere]
        hidden = [name for name in relation.columns if roles[name].known_elsewhere]
        if shown and hidden and earlier & {*relation.columns}:
            messages.append(
                f"{relation.formula}: {quoted(shown)} would give away {quoted(hidden)} across releases of the series; "
                "drop what is released as it is, or begin a new series"
            )
    return messages
