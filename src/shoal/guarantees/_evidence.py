"""The evidence of a checker: the opened files of a release, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from shoal import tables
from shoal.errors import ShoalError, VerificationError, says_nothing
from shoal.guarantees._certificate import POPULATION, POPULATION_COUNT, Certificate, Column, Data, PromiseEntry
from shoal.guarantees._events import Event
from shoal.guarantees._promise import Words
from shoal.guarantees._steps import Counted
from shoal.guarantees._verification import Check
from shoal.schema import Attribute, Domain, Flat, FromFile, HierarchyRule, Kind, Role, Schema
from shoal.tables import Classes, Frequencies, Table

if TYPE_CHECKING:
    from shoal.plan import Plan

T = TypeVar("T")
E = TypeVar("E", bound=Event)
Decision = tuple[bool, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """The files of a release, opened."""

    #: Where they are.
    folder: Path
    #: What is said.
    certificate: Certificate
    #: The released tables by file.
    tables: Mapping[str, Table]
    #: What plan.toml asks for.
    plan: Plan
    #: The steps, in the order of the certificate.
    all_steps: tuple[Event, ...]
    _frequencies_by_columns: dict[tuple[str, ...], Frequencies] = field(default_factory=dict, init=False, repr=False)
    _encoded: dict[str, Frequencies] = field(default_factory=dict, init=False, repr=False)

    def data(self, entry: PromiseEntry) -> Data:
        """Return what the certificate says of the table that a promise is about."""
        wanted = entry.file or self.certificate.data.file
        return next(table for table in self.certificate.tables if table.file == wanted)

    def steps(self, kind: type[E]) -> list[E]:
        """Return the steps of a kind, in their order."""
        return [step for step in self.all_steps if isinstance(step, kind)]

    def step(self, kind: type[E]) -> E:
        """Return the one step of a kind; KeyError where there is none, or several."""
        steps = self.steps(kind)
        if len(steps) != 1:
            raise KeyError(kind.name)
        return steps[0]

    def counting(self, columns: Sequence[str] = ()) -> Counted:
        """Return the one step that counts the persons of classes: of those of some columns, or of the whole table."""
        steps = [step for step in self.steps(Counted) if {*step.columns} in ({*columns}, set())]
        if len(steps) != 1:
            raise KeyError(Counted.name)
        return steps[0]

    def table_with(self, names: Sequence[str]) -> Data:
        """Return the first table that has these columns; KeyError where none has."""
        for data in self.certificate.tables:
            if {*names} <= {column.name for column in data.columns}:
                return data
        raise KeyError(*names)

    def words(self, data: Data, columns: Sequence[str] = ()) -> Words:
        """Return how the release speaks of the classes of a table, or of those of some of its columns."""
        person = self.plan.schema.person if self.steps(Counted) else None
        return Words(
            # in a table that a class number links with another, people of a class do not look alike
            alike=data.class_column is None,
            columns=tuple(columns),
            person=person,
            linked=person is not None and self.plan.method.linked,
        )

    def classes(
        self, data: Data, *, sensitive: Sequence[str] = (), population: bool = False, columns: Sequence[Column] = ()
    ) -> Classes:
        """Group the released records by the released quasi-identifiers, whatever they look like.

        ``sensitive`` are the columns whose histograms are wanted; ``columns`` stand in for those of ``data``.
        """
        frequencies = self.frequencies(data, sensitive=sensitive, columns=columns)
        classes = Classes.from_tuples(frequencies)
        classes = replace(classes, sensitive={name: classes.histogram(name) for name in sensitive})
        if population:
            return replace(classes, population=_population(self.folder / POPULATION, frequencies, classes))
        return classes

    def frequencies(self, data: Data, *, sensitive: Sequence[str] = (), columns: Sequence[Column] = ()) -> Frequencies:
        """Count the distinct released quasi-identifiers, with the persons that have them where these are released.

        The columns of a table are counted once, with every sensitive column that a promise of the plan looks at; what
        is counted has at least those that are asked for.
        """
        if columns and tuple(columns) != data.columns:
            return self._encode(data, columns, sensitive)
        known = self._encoded.get(data.file)
        if known is None or not {*sensitive} <= {attribute.name for attribute in known.sensitive}:
            known = self._encoded[data.file] = self._encode_together(data, sensitive)
        return known

    def _encode_together(self, data: Data, sensitive: Sequence[str]) -> Frequencies:
        names = {column.name for column in data.columns}
        looked_at = [name for model in self.plan.class_models for name in model.capabilities.sensitive if name in names]
        try:
            return self._encode(data, data.columns, tuple(dict.fromkeys([*sensitive, *looked_at])))
        except ShoalError:
            if {*looked_at} <= {*sensitive}:
                raise
            # another column, or all of them together in memory, must not keep this promise from being decided
            return self._encode(data, data.columns, sensitive)

    def _encode(self, data: Data, columns: Sequence[Column], sensitive: Sequence[str]) -> Frequencies:
        schema = Schema(attributes=tuple(_attribute(column, sensitive) for column in columns), folder=self.folder)
        table = self.tables[data.file].with_schema(schema, allow_empty=True)
        return tables.encode(table, sensitive=tuple(sensitive)).frequencies

    def count_tuples(self, data: Data, names: Sequence[str]) -> Frequencies:
        """Count the distinct combinations of some columns, as they stand; those asked for last are kept."""
        if {*names} == {*data.quasi_identifiers}:
            return self.frequencies(data).without_sensitive()
        asked = (data.file, *names)
        if asked not in self._frequencies_by_columns:
            self._frequencies_by_columns.clear()
            attributes = tuple(
                Attribute(
                    name=column.name,
                    role=Role.QUASI_IDENTIFIER if column.name in names else Role.INSENSITIVE,
                    hierarchy=Flat() if column.name in names else None,
                )
                for column in data.columns
            )
            table = self.tables[data.file].with_schema(Schema(attributes=attributes), allow_empty=True)
            self._frequencies_by_columns[asked] = tables.encode(table, sensitive=()).frequencies
        return self._frequencies_by_columns[asked]

    def tally_labels(self, data: Data, names: Sequence[str]) -> dict[tuple[str | None, ...], int]:
        """Return how often each combination of some columns occurs."""
        frequencies = self.count_tuples(data, names)
        order = [frequencies.attributes.index(name) for name in names]
        labels = [frequencies.hierarchies[j].labels[0] for j in order]
        codes = np.asarray(frequencies.codes)[:, order]
        return {
            tuple(texts[code] for texts, code in zip(labels, row, strict=True)): count
            for row, count in zip(codes.tolist(), frequencies.counts.tolist(), strict=True)
        }


def run_check(subject: str, decide: Callable[[], Decision], *, shown: bool = True) -> Check:
    """Return the check that ``decide`` makes; whatever the certificate leaves out makes it fail."""
    try:
        passed, detail = decide()
    except ShoalError as error:
        if says_nothing(error):
            raise
        passed, detail = False, "; ".join(error.problems)
    except MemoryError:  # Arrow's is one of its own exceptions as well
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, pa.ArrowException):
        passed, detail = False, "the certificate does not say what is needed to check it"
    return Check(subject=subject, passed=passed, detail=detail, shown=shown)


def check_parts(name: str, release: T, parts: Mapping[str, Callable[[T], Decision]]) -> list[Check]:
    """Return one check for each part of the promise ``name``, decided on what is known of the release."""
    return [run_check(f"{name}, {part}", partial(decide, release)) for part, decide in parts.items()]


def _attribute(column: Column, wanted: Sequence[str]) -> Attribute:
    if column.name not in wanted:
        # Released quasi-identifiers are compared as they stand: equal text, equal class.
        # a weight, too, is read as it is written: a method may have made it coarser
        role = Role.INSENSITIVE if column.role is Role.WEIGHT else column.role
        return Attribute(name=column.name, role=role, kind=Kind.CATEGORICAL, hierarchy=Flat())
    rule: HierarchyRule | None = FromFile(path=column.hierarchy) if column.hierarchy else None
    domain = Domain(values=column.values) if column.values is not None else None
    return Attribute(name=column.name, role=Role.SENSITIVE, kind=column.kind, domain=domain, hierarchy=rule)


def _population(path: Path, frequencies: Frequencies, classes: Classes) -> npt.NDArray[np.int64]:
    """Look the released classes up in the population's counts, which the release holds as a file of its own."""
    if not path.is_file():
        raise VerificationError(f"{POPULATION} is missing, which holds the counts of the population")
    rows = pq.read_table(path)
    *names, count = rows.column_names
    if tuple(names) != frequencies.attributes or count != POPULATION_COUNT:
        raise VerificationError(f"{POPULATION} does not have the released quasi-identifiers")
    counts = dict(
        zip(
            zip(*(rows[name].to_pylist() for name in names), strict=True),
            rows[count].to_pylist(),
            strict=True,
        )
    )
    assert classes.codes is not None  # noqa: S101 - grouped() sets it
    labels = [hierarchy.labels[0] for hierarchy in frequencies.hierarchies]
    released = [tuple(texts[code] for texts, code in zip(labels, row, strict=True)) for row in classes.codes.tolist()]
    if len(rows) != len(released) or {*counts} != {*released}:
        raise VerificationError(f"{POPULATION} does not have the released classes, each of them once")
    return np.array([counts[row] for row in released], dtype=np.int64)
