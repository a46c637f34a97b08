"""The people of a series: the releases, rows and joint crowds in which each was shown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, ParameterError, counted
from shoal.kernels import Counts, Integers
from shoal.series._crowds import State
from shoal.series._folder import ReleaseEntry, SeriesFolder
from shoal.series._promise import SeriesKAnonymity

if TYPE_CHECKING:
    from shoal.series._steps import Continued

KEY, CROWD, BEFORE, STATE, CLASS = "key", "crowd", "before", "state", "class"
#: how the names of released columns begin among those above
VALUE = "v:"
#: bytes of a keyed hash
HASH = 16


@dataclass(eq=False)
class Continuation:
    """The state of a series that the next release continues from, and the recording of that release."""

    folder: SeriesFolder
    promise: SeriesKAnonymity
    #: What is to be recorded, once the release is made.
    entry: ReleaseEntry | None = field(default=None, init=False)
    pending_rows: pa.Table | None = field(default=None, init=False)
    #: What was recorded, once the release is written.
    recorded: ReleaseEntry | None = field(default=None, init=False)

    @property
    def number(self) -> int:
        """The number of the next release."""
        return len(self.folder.entries) + 1

    @property
    def after(self) -> str:
        """The SHA-256 of the certificate of the release before; empty for the first."""
        return self.folder.entries[-1].certificate if self.folder.entries else ""

    @cached_property
    def known_people(self) -> pa.Table:
        """Everybody whom a release showed, as the last entry has it."""
        if self.folder.entries:
            return self.folder.rows(len(self.folder.entries))
        return pa.table(
            {
                KEY: pa.array([], pa.binary(HASH)),
                CROWD: pa.array([], pa.int64()),
                STATE: pa.array([], pa.int64()),
            }
        )

    def hash_keys(self, keys: pa.ChunkedArray | pa.Array) -> pa.Array:
        """Return the keyed hash of every key, and refuse keys that do not say who somebody is."""
        name, column = self.folder.key, keys.cast(pa.string())
        if missing := column.null_count:
            raise DataError(
                f"column `{name}` is the key of the series and has no value in {counted(missing, 'record')}."
            )
        if (several := len(column) - len(pc.unique(column))) > 0:
            raise DataError(
                f"column `{name}` is the key of the series, and {counted(several, 'record')} more have a key that "
                "another record has; a series needs one record of every person.",
                hint="anonymise a table with one record of every person, or use the number of the record as the key",
            )
        secret = self.folder.secret[:64]
        hashed = [hashlib.blake2b(text.encode(), digest_size=HASH, key=secret).digest() for text in column.to_pylist()]
        return pa.array(hashed, pa.binary(HASH))

    def history(self, keys: pa.Array, name: str, kind: pa.DataType | None) -> list[pa.Array]:
        """Return what each earlier release with a column showed of people, null where it showed nothing.

        The values of a row that is missing one are the text of nothing, which is a value as any other.
        """
        shown = []
        for number in range(1, self.number):
            rows = self.folder.rows(number)
            if VALUE + name in rows.column_names:
                if kind is not None and rows[VALUE + name].type != kind:
                    raise ParameterError(
                        f"column `{name}` is of another type than in release {number} of the series, so its values "
                        "cannot be compared.",
                        hint="give it the kind that it had",
                    )
                positions = pc.index_in(keys, value_set=rows[KEY].combine_chunks())
                visible = pc.not_equal(rows[STATE], int(State.ABSENT)).combine_chunks()
                texts = pc.fill_null(rows[VALUE + name].cast(pa.string()), "").combine_chunks()
                shown.append(pc.if_else(visible.take(positions), texts.take(positions), pa.scalar(None, pa.string())))
        return shown

    def record(self, release: Path) -> None:
        """Record the release whose files are in a folder, before it appears under its name."""
        if self.entry is None or self.pending_rows is None:
            raise ParameterError("this release of a series was recorded already; it is written once.")
        self.recorded = self.folder.append(self.entry, self.pending_rows, release)
        self.entry = self.pending_rows = None

    def lines(self) -> list[str]:
        """Say what the recorded release cost beside one on its own, for the publisher."""
        entry = self.recorded
        if entry is None:
            return []
        said = [
            f"Release {entry.number} of the series: {counted(entry.continued, 'row')} of people shown before, "
            f"{entry.newcomers:,} of newcomers."
        ]
        if entry.frozen:
            said.append(
                f"{counted(entry.frozen, 'row')} stand as in the release before: {entry.leavers:,} of people who left, "
                f"and {entry.frozen - entry.leavers:,} of people in the table, among whom these hide. Larger classes "
                "need fewer: see class_size."
            )
        if entry.hidden:
            said.append(f"{counted(entry.hidden, 'record')} in the table are not shown.")
        if entry.loss is not None and entry.alone is not None:
            said.append(
                f"Loss {entry.loss:.3g}; a release on its own would lose {entry.alone:.3g}, and break the promise of "
                "the series."
            )
        return said

    def keep(self, rows: pa.Table, entry: ReleaseEntry) -> None:
        """Set aside what is recorded when the release is written."""
        self.pending_rows, self.entry = rows, entry


def entry_of(
    continuation: Continuation,
    step: Continued,
    *,
    models: tuple[dict[str, object], ...],
    roles: dict[str, str],
    hidden: int,
    loss: float | None,
    alone: float | None,
) -> ReleaseEntry:
    """Return what the folder will say of a release; its fingerprints come when it is written."""
    return ReleaseEntry(
        number=step.release,
        certificate="",
        rows="",
        after=step.after,
        k=continuation.promise.k,
        models=models,
        roles=roles,
        continued=step.continued,
        newcomers=step.newcomers,
        frozen=step.frozen,
        leavers=step.leavers,
        hidden=hidden,
        loss=loss,
        alone=alone,
    )


def places_of(keys: pa.Array, among: pa.Array) -> Integers:
    """Return where keys are among others; -1 where they are not."""
    positions = pc.index_in(keys, value_set=among).fill_null(-1)
    return np.asarray(positions.to_numpy(zero_copy_only=False), dtype=np.int64)


def numbers_of(rows: pa.Table, name: str) -> Counts:
    """Return a column of whole numbers."""
    return np.asarray(rows[name].to_numpy(), dtype=np.int64)
