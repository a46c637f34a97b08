"""Mask a table step by step, measure what an intruder still finds, and write down what was done."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from shoal import tables
from shoal.errors import DataError, ParameterError, RequirementError, VerificationError
from shoal.guarantees import columns_in_words
from shoal.masking._noise import AddNoise
from shoal.masking._pram import Pram
from shoal.masking._recode import BottomCode, GlobalRecode, RoundTo, TopCode
from shoal.masking._risk import MaskingRisk, measure_masking_risk
from shoal.masking._shuffle import Shuffle
from shoal.masking._step import MaskingStep
from shoal.masking._swap import RankSwap, RecordSwap
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.policy import in_force
from shoal.schema import Schema
from shoal.tables import Table
from shoal.writing import digest, replacing

NOT_ANONYMOUS = "This file is masked, not anonymous. What follows was measured against one kind of intruder."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masked:
    """A masked table, with its steps, promises and measured risk.

    Parameters
    ----------
    table
        The masked records, ordered by their masked values, so that rows cannot be matched by their order.
    steps, promises
        What each step did, and what can be proved of it: a probabilistic statement, or that nothing is promised.
    entries
        The same for the record that goes with the file: without figures of the original.
    risk
        Of the changed columns, measured before the records were put in order. Not for publication with the file: it is
        a figure of the original.
    """

    table: pa.Table = field(repr=False)
    steps: tuple[str, ...]
    promises: tuple[str, ...]
    risk: MaskingRisk
    entries: tuple[StepEntry, ...] = ()

    def write(self, path: str | Path) -> Path:
        """Write the masked file and, beside it, the record of what was done, which `shoal.verify` checks.

        Neither may exist. The record tells nothing that was measured on the original.
        """
        path = Path(path)
        record = path.with_name(path.name + RECORD)
        with replacing(record) as temporary:
            tables.write(tables.read(self.table), path)
            made = MaskingRecord.of(path, self.table.num_rows, self.table.column_names, self.entries)
            temporary.write_text(made.dumps(), encoding="utf-8")
        return record

    def __str__(self) -> str:
        lines = ["Done", *(f"  - {text}" for text in self.steps)]
        lines += ["Promised", *(f"  - {text}" for text in dict.fromkeys(self.promises))]
        return "\n".join([*lines, "Measured", NOT_ANONYMOUS, self.risk.describe()])


def mask(
    table: Table,
    *steps: MaskingStep,
    known: Sequence[str] = (),
    schema: Schema | None = None,
    source: RandomSource = SYSTEM,
) -> Masked:
    """Mask a table.

    None of the steps makes a table anonymous. Use them for files under contract, or before
    :func:`shoal.anonymize`, which then decides a promise.

    Parameters
    ----------
    table
        The records, as :func:`shoal.read` gives them.
    *steps
        What to do, one after the other.
    known
        The columns that the intruder of the measured risk knows; those that the steps change where not given.
    schema
        What the columns mean; that of the table where not given. Columns that identify somebody, and those that it
        leaves out, are read by the steps and then left out.
    source
        Random numbers; any but the system's are for tests.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> from shoal.masking import RoundTo, TopCode
    >>> people = shoal.read(pyarrow.table({"age": [31, 34, 38, 92], "town": ["A", "B", "A", "B"]}))
    >>> masked = mask(people, RoundTo(column="age", step=5), TopCode(column="age", limit=80))
    >>> masked.table["age"].to_pylist()
    ['30', '35', '40', '>=80']
    """
    policy = in_force()
    if policy is not None and not policy.masked:
        raise RequirementError(f"the policy of {policy.office} does not let masked files be made: nothing is promised")
    if not steps:
        raise ParameterError("`mask` needs at least one step, for example `TopCode`.")
    rows = table.to_arrow()
    problems = [f"column `{each.name}` holds lists or structures" for each in rows.schema if each.type.num_fields]
    for name in dict.fromkeys([*(c for step in steps for c in step.reads), *known]):
        if name not in rows.column_names:
            problems.append(f"the table has no column `{name}`")
        elif pa.types.is_binary(rows[name].type) or pa.types.is_large_binary(rows[name].type):
            problems.append(f"column `{name}` holds bytes")
    if problems:
        raise DataError(problems)
    rows = _sort_rows(rows)  # numbers are drawn for records, not for the places where they stand
    before = {name: rows[name].combine_chunks() for name in rows.column_names}
    after, entries, said = dict(before), list[StepEntry](), list[str]()
    for step in steps:
        entries.append(StepEntry.of(step, step.detail(after)))
        changed, text = step.apply(after, source)
        after |= changed
        said.append(text)
    described = table.schema if schema is None else schema
    left_out = [each.name for each in described or () if each.role.names_someone and each.name in after]
    if left_out:
        said.append(f"Left out the {columns_in_words(tuple(left_out))}, which the schema does not release.")
    if policy is not None:
        policy.check_columns(name for name in after if name not in left_out)
    if len(left_out) == len(after):
        raise DataError("the schema leaves out every column of the table")
    return Masked(
        table=_sort_rows(pa.table(after).drop_columns(left_out)),
        steps=tuple(said),
        promises=tuple(entry.promise for entry in entries),
        risk=measure_masking_risk(
            before, after, tuple(known) or tuple(dict.fromkeys(c for step in steps for c in step.columns))
        ),
        entries=tuple(entries),
    )


def _sort_rows(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


RECORD = ".record.json"
"""What the name of a record adds to that of its file."""

STEPS: dict[str, type[MaskingStep]] = {
    step.name: step
    for step in (GlobalRecode, RoundTo, TopCode, BottomCode, Pram, RankSwap, Shuffle, AddNoise, RecordSwap)
}
"""All steps by their names in records."""

NOTICE = "This file is masked, not anonymous. Nothing is promised beyond what the steps say; this is not a certificate."


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEntry:
    """One step of a record.

    Parameters
    ----------
    step, parameters, detail
        The name, what was asked for, and what the table decided and readers may know.
    description, promise
        What was done, and what can be proved of it.
    """

    step: str
    parameters: Mapping[str, object]
    detail: Mapping[str, object] = field(repr=False)
    description: str
    promise: str

    @classmethod
    def of(cls, step: MaskingStep, detail: Mapping[str, object]) -> StepEntry:
        """Write a step down."""
        return cls(
            step=step.name,
            parameters=step.parameters(),
            detail=dict(detail),
            description=step.describe(),
            promise=step.promise(detail),
        )

    def read(self) -> MaskingStep:
        """Make the step again."""
        return STEPS[self.step].from_parameters(self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingRecord:
    """The steps and the fingerprint of a masked file; nothing that was measured on the original.

    Parameters
    ----------
    file, sha256, bytes
        The file beside the record, and its fingerprint.
    records, columns
        How many records it has, and its columns.
    steps
        What was done, in order.
    """

    file: str
    sha256: str
    bytes: int
    records: int
    columns: tuple[str, ...]
    steps: tuple[StepEntry, ...]

    @classmethod
    def of(cls, path: Path, records: int, columns: Sequence[str], steps: Sequence[StepEntry]) -> MaskingRecord:
        """Write down what is true of a file."""
        sha256, size = digest(path)
        return cls(
            file=path.name,
            sha256=sha256,
            bytes=size,
            records=records,
            columns=tuple(columns),
            steps=tuple(steps),
        )

    def dumps(self) -> str:
        """Return the record as JSON."""
        return (
            json.dumps({"shoal": 1, "notice": NOTICE, **dataclasses.asdict(self)}, indent=2, ensure_ascii=False) + "\n"
        )

    @classmethod
    def loads(cls, text: str) -> MaskingRecord:
        """Read a record; one that says more or less, or says it otherwise, is refused.

        Raises
        ------
        VerificationError
            If it is no record as Shoal writes it.
        """
        try:
            document = json.loads(text)
            steps = tuple(StepEntry(**step) for step in document.pop("steps"))
            columns = tuple(document.pop("columns"))
            del document["shoal"], document["notice"]
            record = cls(**document, columns=columns, steps=steps)
            same = record.dumps() == text
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            same = False
        if not same:
            raise VerificationError("this is not a record of a masked file as Shoal writes it")
        return record
