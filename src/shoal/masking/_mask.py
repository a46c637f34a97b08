"""Mask a table step by step, and measure what an intruder still finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from shoal import tables
from shoal.errors import DataError, ParameterError
from shoal.masking._record import RECORD, MaskingRecord, StepEntry
from shoal.masking._risk import MaskingRisk, measured
from shoal.masking._step import MaskingStep
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.tables import Table
from shoal.writing import replacing

NOT_ANONYMOUS = "This file is masked, not anonymous. What follows was measured against one kind of intruder."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masked:
    """A masked table, what was done to it, what is promised, and what was measured.

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

    table: pa.Table
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


def mask(table: Table, *steps: MaskingStep, known: Sequence[str] = (), source: RandomSource = SYSTEM) -> Masked:
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
    if not steps:
        raise ParameterError("`mask` needs at least one step, for example `TopCode`.")
    rows = _sorted(table.to_arrow())  # numbers are drawn for records, not for the places where they stand
    before = {name: rows[name].combine_chunks() for name in rows.column_names}
    missing = [
        name for name in dict.fromkeys([*(c for step in steps for c in step.reads), *known]) if name not in before
    ]
    if missing:
        raise DataError([f"the table has no column `{name}`" for name in missing])
    after, said, promised = dict(before), list[str](), list[str]()
    entries = []
    for step in steps:
        entries.append(StepEntry.of(step, step.detail(after)))
        changed, text, promise = step.apply(after, source)
        after |= changed
        said.append(text)
        promised.append(promise)
    columns = tuple(known) or tuple(dict.fromkeys(name for step in steps for name in step.columns))
    risk = measured(before, after, columns)
    return Masked(
        table=_sorted(pa.table(after)),
        steps=tuple(said),
        promises=tuple(promised),
        risk=risk,
        entries=tuple(entries),
    )


def _sorted(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in rows.column_names])
