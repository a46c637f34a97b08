"""The records of a run beside what became of them: written once by the worker, read page by page."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal import Release, Table

LINKED = "linked.arrow"
#: records of which every one is linked; beyond, only a few are shown
_MOST = 2_000_000
_CLASS = "class"


def write_linked(table: Table, release: Release, path: Path) -> bool:
    """Write every record with its class and what became of its quasi-identifiers; return False where that is not known.

    What others see of a record is known of recodings; of other methods, the class that a record is in.
    """
    import pyarrow as pa
    from pyarrow import feather

    from shoal.schema.rules import text

    known = release.result.record_classes
    if len(known) != 1 or release.plan.privacy is not None or table.count() > _MOST:
        return False
    classes = np.asarray(known[0].find(), dtype=np.int64)
    rows = table.to_arrow()
    if len(classes) != rows.num_rows:
        return False
    found: dict[str, Any] = {_CLASS: pa.array(classes)}
    hidden = set(release.plan.schema.identifiers)
    names = [name for name in rows.column_names if name not in hidden]
    after = _released_values(release, classes)
    for number, name in enumerate(names):
        found[f"b{number}"] = text(rows.column(name).combine_chunks()).dictionary_encode()
        if name in after:
            found[f"a{number}"] = after[name]
    metadata = {f"n{number}": name for number, name in enumerate(names)}
    feather.write_feather(pa.table(found).replace_schema_metadata(metadata), str(path), compression="lz4")
    return True


def _released_values(release: Release, classes: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return the released quasi-identifiers of every record, by column; empty where classes do not decide them."""
    import pyarrow as pa

    if release.search is None or release.search.final.codes.shape[0] <= classes.max(initial=-1):
        return {}
    recoding, found = release.search.final, {}
    for j, name in enumerate(recoding.attributes):
        codes = np.where(classes >= 0, recoding.codes[np.maximum(classes, 0), j], 0) if len(recoding.codes) else classes
        indices = pa.array(codes.astype(np.int32), mask=classes < 0)
        labels = pa.array([None if each is None else str(each) for each in recoding.labels[j]], pa.string())
        found[name] = pa.DictionaryArray.from_arrays(indices, labels)
    return found


@dataclass(frozen=True, slots=True)
class _Cells:
    """A column: which of its values every record has, -1 for a missing one."""

    codes: npt.NDArray[np.int32]
    values: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> _Cells:
        whole = column.unify_dictionaries().combine_chunks()
        if hasattr(whole, "chunk"):
            whole = whole.chunk(0)
        indices = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        values = whole.dictionary.to_pylist()
        nothing = np.array([each is None for each in values] or [True])
        indices = np.where((indices >= 0) & ~nothing[np.maximum(indices, 0)], indices, -1).astype(np.int32)
        return cls(indices, ["" if each is None else str(each) for each in values])

    def text(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def ranks(self) -> npt.NDArray[np.int64]:
        """Return the place of every record in the order of the column: of numbers, where all are; missing ones last."""
        try:
            keys: list[Any] = [float(each) for each in self.values]
        except ValueError:
            keys = list(self.values)
        order = sorted(range(len(keys)), key=keys.__getitem__)
        places = np.empty(len(keys) + 1, dtype=np.int64)
        places[order] = np.arange(len(keys))
        places[-1] = len(keys)
        return np.asarray(places[self.codes])

    def holding(self, contains: str) -> npt.NDArray[np.bool_]:
        """Return the records whose value contains a text, whatever its case."""
        wanted = contains.casefold()
        return self._in(np.array([wanted in each.casefold() for each in self.values] + [False]))

    def equal(self, values: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return the records with one of some values."""
        wanted = set(values)
        return self._in(np.array([each in wanted for each in self.values] + [False]))

    def _in(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.asarray(chosen[self.codes])


class LinkedRecords:
    """All records of a run, before and after, in memory as codes: sorted and filtered in a fraction of a second."""

    def __init__(self, path: Path) -> None:
        from pyarrow import feather

        found = feather.read_table(str(path))
        schema = found.schema
        metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        number = sum(name.startswith("b") for name in schema.names)
        self.names = [metadata[f"n{i}"] for i in range(number)]
        self.before = [_Cells.of(found.column(f"b{i}")) for i in range(number)]
        self.after = {i: _Cells.of(found.column(f"a{i}")) for i in range(number) if f"a{i}" in schema.names}
        self.classes = found.column(_CLASS).to_numpy()
        sizes = np.bincount(self.classes[self.classes >= 0], minlength=1)
        self.sizes = np.where(self.classes >= 0, sizes[np.maximum(self.classes, 0)], 0)

    def __len__(self) -> int:
        return len(self.classes)

    def cells(self, column: int, *, after: bool) -> _Cells:
        """Return a column as it was, or as it was released."""
        return self.after.get(column, self.before[column]) if after else self.before[column]


class OpenLinked:
    """The runs whose records were looked at last."""

    def __init__(self, limit: int = 2) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._known: OrderedDict[Path, LinkedRecords] = OrderedDict()

    def open(self, path: Path) -> LinkedRecords:
        """Return the records of a run, read once."""
        with self._lock:
            found = self._known.get(path)
            if found is None:
                found = self._known[path] = LinkedRecords(path)
            self._known.move_to_end(path)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return found
