"""Apply a recoding to the records: look classes up, drop what is suppressed, forget the order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ParameterError, Problems
from shoal.kernels import Codes, Integers
from shoal.tables._classes import Dictionary, Encoded, Recoding
from shoal.tables._columns import Packing, TupleColumn, Words
from shoal.tables._engine import OURS, key, name_values, quiet, sorted_by_values
from shoal.tables._keyed import pseudonyms
from shoal.tables._relations import TableQuery
from shoal.tables._repeated import COPIES, repeat_records
from shoal.tables._table import Table

#: A released column with at most this many distinct values travels through the sort as a few bits.
FEW = 1000
#: So many records are counted instead of sorted where few of them differ; fewer are sorted in no time.
MANY = 1_000_000
_OFTEN = 2  # times that a record is repeated on average, at least

# what is put beside the columns of a table has names that no column has: one taken for another would be released


def apply(
    table: Table,
    encoded: Encoded,
    recoding: Recoding,
    *,
    keep: Sequence[str] | None = None,
    key: bytes | None = None,
) -> Table:
    """Return the released table, given what :func:`encode` made of a table.

    Quasi-identifiers that the recoding leaves unchanged keep their type, generalised ones are text; other columns are
    untouched. Records are ordered by all released columns, so that their order holds nothing of the input's.

    Parameters
    ----------
    keep
        The columns to release besides the quasi-identifiers; all that are not identifiers where not given.
    key
        The secret key of the pseudonyms of identifiers that the schema marks ``pseudonym``. An identifier is released
        in no other way.

    Notes
    -----
    Every quasi-identifier is joined with the small table of its distinct values; where the class of a record depends
    on several of them at once (suppression, local recoding) one more join looks its tuple up. A record whose tuple is
    not among the kept ones is never released, even if the source changed after it was encoded.
    """
    chosen = _columns(table, encoded, keep, key)
    lookup = Lookup.of(encoded, recoding, chosen)
    with quiet(table.source.name):
        records = pseudonyms(table, lookup.join(table), chosen, key)
        expression = _write_records(table, lookup, records, chosen)
    return replace(table, expression=expression, schema=None, left_out=0)


def _columns(table: Table, encoded: Encoded, keep: Sequence[str] | None, key: bytes | None) -> list[str]:
    schema = table.schema
    assert schema is not None  # noqa: S101 - encode asks for it
    problems = Problems()
    identifiers = set(schema.identifiers)
    pseudonyms = {name for name in identifiers if schema[name].pseudonym}
    kept = set(table.columns) - (identifiers - pseudonyms) if keep is None else set(keep)
    kept |= set(encoded.frequencies.attributes)
    for name in sorted(kept - set(table.columns)):
        problems.add(f"{table.source.name} has no column `{name}`")
    for name in sorted(kept & (identifiers - pseudonyms)):
        problems.add(f"column `{name}` is an identifier and is never released as it is")
    if key is None and kept & pseudonyms:
        problems.add("pseudonyms need a `key`")
    elif key is not None and len(key) < 16:
        problems.add("the `key` of pseudonyms must have at least 16 bytes")
    problems.raise_as(ParameterError)
    return [name for name in table.columns if name in kept]


def _write_records(table: Table, lookup: Lookup, records: TableQuery, chosen: list[str]) -> TableQuery:
    """Sort by all released columns, then write the packed ones out.

    The engine sorts a word of bits in place of up to a dozen texts: half the time, and a fraction of the disk.
    """
    packing, words = lookup.words(records)
    columns = {column.name: (j, column) for j, column in lookup.released.items()}
    few = lookup.few
    carried: dict[str, Any] = {}  # from left to right as the columns: what is sorted by them is sorted by these
    for name in chosen:
        j, column = columns.get(name, (-1, None))
        if column is None:
            carried[name] = records[name]
        elif not column.few:
            carried[name] = records[f"{OURS}label{j}"]
        else:
            word = f"{OURS}word{packing.words[few.index(j)]}"
            carried[word] = words[word]
    rows = records.select(*name_values(carried))
    known = rows.filter(*(rows[word].notnull() for word in words)) if words and lookup.tuples is None else rows
    often = lookup.repeats(table, [name for name in known.columns if name in table.columns])
    ordered = _count_rows(known) if often else sorted_by_values(known)
    values: dict[str, Any] = {
        name: _unpack_column(table, ordered, packing, few.index(columns[name][0]), columns[name][1])
        if name in columns and columns[name][1].few
        else ordered[name]
        for name in chosen
    }
    written = ordered.select(*name_values(values), *([COPIES] if often else []))
    return repeat_records(written) if often else written


def _count_rows(rows: TableQuery) -> TableQuery:
    """Return the different rows, sorted by all their columns, with how often each is there."""
    counted = rows.group_by(rows.columns).aggregate(**{COPIES: rows.count()})
    return counted.order_by(rows.columns)


def _unpack_column(table: Table, ordered: TableQuery, packing: Packing, position: int, column: ReleasedColumn) -> Any:
    code = packing.code(position, ordered[f"{OURS}word{packing.words[position]}"])
    return table.engine.look_labels_up(code, column.labels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedColumn:
    """What one quasi-identifier becomes."""

    name: str
    #: The released values in ascending order, the missing one last.
    labels: pa.Array
    #: The label of every distinct value (-1: no kept record has it), where the value alone decides; else None.
    of_value: Integers | None
    #: The label of every kept tuple, where the whole tuple decides; else None.
    of_tuple: Integers | None

    @property
    def few(self) -> bool:
        """Whether the column is small enough to travel as bits."""
        return len(self.labels) <= FEW


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lookup:
    """The small tables that the records of a table are joined with."""

    encoded: Encoded
    #: All columns of the release, from left to right.
    columns: Sequence[str]
    #: The quasi-identifiers that are looked up, by their number; others pass through as they are.
    released: dict[int, ReleasedColumn]
    #: Positions of the kept tuples, one for each combination of quasi-identifiers; None where none is suppressed and no
    #: column depends on the whole tuple.
    tuples: Integers | None

    @classmethod
    def of(cls, encoded: Encoded, recoding: Recoding, columns: Sequence[str]) -> Lookup:
        """Find out which columns are decided by value and which by tuple."""
        frequencies = encoded.frequencies
        present = frequencies.counts > 0
        kept = np.flatnonzero(present & (recoding.classes >= 0))
        packing = Packing.of([hierarchy.size for hierarchy in frequencies.hierarchies])
        order, new = packing.order([frequencies.codes[kept, j] for j in range(len(frequencies.hierarchies))])
        once = kept[order[new]]  # tuples that differ only in sensitive values have the same class
        released = {}
        for j, dictionary in enumerate(encoded.dictionaries):
            if not recoding.unchanged[j]:
                released[j] = _generalize_column(encoded, recoding, j, once)
            elif pa.types.is_string(dictionary.values.type) and len(dictionary.values) <= FEW:
                released[j] = _keep_column(dictionary)
        suppressed = bool(np.any(present & (recoding.classes < 0)))
        local = any(column.of_tuple is not None for column in released.values())
        tuples = once if suppressed or local else None
        return cls(encoded=encoded, columns=columns, released=released, tuples=tuples)

    def join(self, table: Table) -> TableQuery:
        """Return the records with a column ``label{j}`` or a part ``part{j}`` for each column looked up.

        A part is null where no kept record has the value: such records are dropped before they are sorted.
        """
        frequencies = self.encoded.frequencies
        packing = Packing.of([hierarchy.size for hierarchy in frequencies.hierarchies])
        looked: dict[str, dict[str, Any]] = {}
        for j, dictionary in enumerate(self.encoded.dictionaries):
            known: dict[str, Any] = {f"{OURS}value{j}": dictionary.values}
            if self.tuples is not None:
                known[f"{OURS}leaf{j}"] = pa.array(packing.part(j, dictionary.codes))
            column = self.released.get(j)
            if column is not None and column.of_value is not None:
                known |= dict(self._columns(j, column, column.of_value))
            looked[dictionary.name] = known
        records = all_looked_up(table, looked)
        return records if self.tuples is None else self._join_tuples(table, records, packing, self.tuples)

    def repeats(self, table: Table, others: Sequence[str]) -> bool:
        """Return whether the released records, which have some other columns too, surely repeat one another often."""
        frequencies = self.encoded.frequencies
        if frequencies.records < MANY:
            return False
        rows, counted = table.expression, {*frequencies.attributes, *(each.name for each in frequencies.sensitive)}
        several = {f"n{i}": rows[name].approx_nunique() + 1 for i, name in enumerate(others) if name not in counted}
        counts = table.engine.fetch(rows.aggregate(**several)).to_pylist()[0].values() if several else ()
        return bool(len(frequencies.counts) * math.prod(counts) * _OFTEN <= frequencies.records)

    def words(self, records: TableQuery) -> tuple[Packing, dict[str, Any]]:
        """Return the few-valued released columns as packed words ``word{i}``, and how they are packed."""
        words = self.packing.add_to_words([records[f"{OURS}part{j}"] for j in self.few])
        return self.packing, {f"{OURS}word{i}": word for i, word in enumerate(words)}

    @property
    def few(self) -> list[int]:
        """The columns that travel as bits, from left to right."""
        return sorted((j for j, column in self.released.items() if column.few), key=self._place)

    @property
    def packing(self) -> Packing:
        """How they are packed: only neighbours share a word, so that words sort as the columns do."""
        places = [self._place(j) for j in self.few]
        apart = [i for i in range(1, len(places)) if places[i] != places[i - 1] + 1]
        return Packing.of([len(self.released[j].labels) for j in self.few], apart)

    def _place(self, j: int) -> int:
        return self.columns.index(self.released[j].name)

    def _columns(self, j: int, column: ReleasedColumn, codes: Integers) -> Iterator[tuple[str, pa.Array]]:
        unused = codes < 0
        if column.few:
            yield f"{OURS}part{j}", pa.array(self.packing.part(self.few.index(j), codes), mask=unused)
        else:
            yield f"{OURS}label{j}", column.labels.take(pa.array(np.where(unused, 0, codes)))
            yield f"{OURS}part{j}", pa.array(codes, mask=unused)

    def _join_tuples(self, table: Table, records: TableQuery, packing: Packing, tuples: Integers) -> TableQuery:
        codes = self.encoded.frequencies.codes[tuples]
        known: dict[str, Any] = {}
        for j, column in self.released.items():
            if column.of_tuple is not None:
                known |= dict(self._columns(j, column, column.of_tuple))
        parts = [records[f"{OURS}leaf{j}"] for j in range(codes.shape[1])]
        return with_tuples(table, records, packing, parts, codes, **known)


def _generalize_column(encoded: Encoded, recoding: Recoding, j: int, tuples: Integers) -> ReleasedColumn:
    hierarchy, dictionary = encoded.frequencies.hierarchies[j], encoded.dictionaries[j]
    written = pa.array(recoding.labels[j], pa.string())
    labels, ranks = _rank_labels(written)
    of_tuple = ranks[recoding.codes[recoding.classes[tuples], j]]
    leaves = encoded.frequencies.codes[tuples, j]
    of_leaf = np.full(hierarchy.size, -1, dtype=np.int64)
    of_leaf[leaves] = of_tuple
    if np.array_equal(of_leaf[leaves], of_tuple):
        return ReleasedColumn(name=dictionary.name, labels=labels, of_value=of_leaf[dictionary.codes], of_tuple=None)
    return ReleasedColumn(name=dictionary.name, labels=labels, of_value=None, of_tuple=of_tuple)


def _keep_column(dictionary: Dictionary) -> ReleasedColumn:
    labels, ranks = _rank_labels(dictionary.values)
    return ReleasedColumn(name=dictionary.name, labels=labels, of_value=ranks, of_tuple=None)


def _rank_labels(labels: pa.Array) -> tuple[pa.Array, Integers]:
    """Return the distinct labels in ascending order, null last, and where each of ``labels`` is among them."""
    distinct = pc.unique(labels)
    distinct = distinct.take(pc.sort_indices(distinct))
    if not labels.null_count:
        ranks = pc.index_in(labels, value_set=distinct)
    else:
        ranks = pc.index_in(labels, value_set=distinct.drop_null(), skip_nulls=True).fill_null(len(distinct) - 1)
    return distinct, np.asarray(ranks.to_numpy(zero_copy_only=False), dtype=np.int64)


def all_looked_up(table: Table, columns: Mapping[str, dict[str, Any]]) -> TableQuery:
    """Return the records with the numbers and texts that stand beside the values of their columns.

    ``columns[name]`` are arrays of the same length: first the distinct values of the column, then what stands beside.
    """
    numbers, joined = dict[str, Any](), dict[str, pa.Table]()
    for name, known in columns.items():
        translated = _translate_values(table, name, known)
        if translated is not None:
            numbers |= translated
        elif len(known) > 1:
            joined[name] = _without_unused(known)
    records = table.expression.mutate(**numbers) if numbers else table.expression
    for name, rows in joined.items():
        records = look_up(table, records, name, rows)
    return records


def with_parts(table: Table, columns: Sequence[TupleColumn], parts: Sequence[Words]) -> TableQuery:
    """Return the records with what their values add to words, ``part0``, ``part1``, ..., given that of every value."""
    known: dict[str, dict[str, Any]] = {
        column.name: {f"{OURS}value{i}": column.values, f"{OURS}part{i}": pa.array(part)}
        for i, (column, part) in enumerate(zip(columns, parts, strict=True))
    }
    return all_looked_up(table, known)


def with_tuples(
    table: Table, records: TableQuery, packing: Packing, parts: Sequence[Any], rows: Codes, **beside: pa.Array
) -> TableQuery:
    """Return the records with what stands beside their tuples, given the ``parts`` of the tuple of a record.

    ``rows`` are the codes of the tuples; records of other tuples are left out.
    """
    words = packing.pack([rows[:, j] for j in range(rows.shape[1])])
    known = {f"{OURS}tuple{i}": pa.array(word) for i, word in enumerate(words)}
    staged = table.engine.stage(pa.table(known | beside))
    same = [word == staged[name] for word, name in zip(packing.add_to_words(parts), known, strict=True)]
    return records.inner_join(staged, same)


def _translate_values(table: Table, name: str, known: dict[str, Any]) -> dict[str, Any] | None:
    """Return the numbers beside the values of a column, null where a value is not known; None where it is joined."""
    values, *beside = known.values()
    if not all(pa.types.is_integer(numbers.type) for numbers in beside):
        return None
    column = key(table.expression[name])
    translated = {each: table.engine.translate_values(column, values, known[each]) for each in list(known)[1:]}
    return None if any(number is None for number in translated.values()) else translated


def look_up(table: Table, records: TableQuery, name: str, known: pa.Table) -> TableQuery:
    """Look the values of a column up among its distinct values; null is one of them."""
    value = known.column_names[0]
    staged = table.engine.stage(known)
    column = key(records[name])
    same = column.identical_to(staged[value]) if known[value].null_count else column == staged[value]
    return records.inner_join(staged, [same])


def _without_unused(known: dict[str, Any]) -> pa.Table:
    """Leave out values that no kept record has: their records are then dropped by the join itself."""
    rows = pa.table(known)
    parts = [name for name in rows.column_names if name.startswith(f"{OURS}part")]
    return rows.filter(pc.is_valid(rows[parts[0]])) if parts else rows
