"""Records one by one: for methods that choose the class of every record on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import Exhausted
from shoal.hierarchies import Hierarchy, leaf_codes
from shoal.kernels import Integers
from shoal.tables._classes import Dictionary, Frequencies, SensitiveAttribute
from shoal.tables._columns import check_columns, column_hierarchies, column_of, schema_of, sensitive_codes
from shoal.tables._encode import tuples_that_fit
from shoal.tables._engine import OURS, ROW, compute, free_name, name_values, quiet, sorted_by_values
from shoal.tables._engine import key as comparable
from shoal.tables._holders import Holders
from shoal.tables._keyed import check_identifiers, pseudonyms
from shoal.tables._people import household_of, person_of
from shoal.tables._relations import TableQuery
from shoal.tables._spark import SparkEngine, hash_numbers
from shoal.tables._table import Table, number_records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EncodedRecords:
    """The codes of every record, in memory."""

    #: The table, with numbers on its records.
    table: Table
    #: The number of each record, which leads back to it.
    rows: Integers
    #: One per quasi-identifier: its levels, and its distinct values with their leaves.
    hierarchies: tuple[Hierarchy, ...]
    dictionaries: tuple[Dictionary, ...]
    #: ``places[i, j]`` is the value of record i in dictionary j.
    places: Integers
    #: The sensitive attributes asked for, and their codes, one row per record.
    sensitive: tuple[SensitiveAttribute, ...]
    sensitive_codes: npt.NDArray[np.int32]
    #: The person of every record, from 0 on; None where nobody has several.
    persons: Integers | None = None
    #: The household of every record, from 0 on; None where the schema names none.
    homes: Integers | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def frequencies(self) -> Frequencies:
        """The records as distinct tuples would be seen by models: here every record is a tuple of its own."""
        codes = np.empty(self.places.shape, dtype=np.int32, order="F")
        for j, dictionary in enumerate(self.dictionaries):
            codes[:, j] = dictionary.codes[self.places[:, j]]
        holders = None if self.persons is None else Holders.of_records(self.persons)
        if holders is not None and self.persons is not None and self.homes is not None:
            holders = holders.living(self.persons, self.homes)
        return Frequencies(
            hierarchies=self.hierarchies,
            codes=codes,
            counts=np.ones(len(self), dtype=np.int64),
            sensitive=self.sensitive,
            sensitive_codes=self.sensitive_codes,
            holders=holders,
            households=None if self.homes is None or self.persons is not None else Holders.of_records(self.homes),
        )


def encode_records(table: Table, *, sensitive: Sequence[str], by: Sequence[str] = ()) -> EncodedRecords:
    """Fetch the quasi-identifiers and some sensitive attributes of all records as codes.

    Memory: 8 bytes per record and column. Use :func:`encode` where distinct tuples are enough. Records are ordered by
    the values of the columns ``by``; ties, and all of them without ``by``, stay in the order of the source.

    Raises
    ------
    HierarchyError
        If values are not in the hierarchy of their column; the message counts them.
    Exhausted
        If the table is on Spark and has more records than the memory limit allows here.
    """
    schema = schema_of(table)
    names = schema.quasi_identifiers
    check_columns(table, names, tuple(sensitive))
    _check_driver(table, len(names) + len(sensitive))
    table = number_records(table)
    records = table.expression
    whose = {"person": person_of(table), "home": household_of(table)}
    keys = {role: comparable(records[name]) for role, name in whose.items() if name is not None}
    chosen = {f"c{i}": comparable(records[name]) for i, name in enumerate((*names, *sensitive))}
    order = [*(comparable(records[name]) for name in by), records[ROW]]
    rows = compute(table, records.order_by(order).select(ROW, **chosen, **keys))
    ones = np.ones(len(rows), dtype=np.int64)
    columns = [column_of(name, rows[f"c{i}"], ones) for i, name in enumerate((*names, *sensitive))]
    hierarchies = column_hierarchies(schema, columns[: len(names)])
    attributes, coded = sensitive_codes(schema, columns[len(names) :])
    positions = np.empty((len(rows), len(names)), dtype=np.int64, order="F")
    for j, column in enumerate(columns[: len(names)]):
        positions[:, j] = column.indices
    confidential = np.empty((len(rows), len(attributes)), dtype=np.int32, order="F")
    for j, (codes, _) in enumerate(coded):
        confidential[:, j] = codes
    return EncodedRecords(
        table=table,
        rows=rows[ROW].to_numpy().astype(np.int64),
        hierarchies=hierarchies,
        dictionaries=tuple(
            Dictionary(name=column.name, values=column.values, codes=leaf_codes(hierarchy, column.values))
            for column, hierarchy in zip(columns, hierarchies, strict=False)
        ),
        places=positions,
        sensitive=attributes,
        sensitive_codes=confidential,
        **{f"{role}s": column_of(role, rows[role], ones).indices.astype(np.int64) for role in keys},
    )


def _check_driver(table: Table, columns: int) -> None:
    """Refuse to collect more records from Spark than the memory of this machine may hold."""
    if not isinstance(table.engine, SparkEngine):
        return
    number, most = table.count(), tuples_that_fit(columns)
    if number > most:
        raise Exhausted(
            f"{table.source.name}: this plan collects all {number:,} records on the Spark driver, whose memory may "
            f"hold about {most:,}.",
            hint="use a recoding, or a method that makes its classes block by block: docs/how-to/use-spark.md says "
            "which; or raise SHOAL_MEMORY",
        )


def sample_records(table: Table, most: int) -> Table:
    """Return about so many records of a table on Spark, chosen by a hash of their numbers; other tables as they are."""
    records = table.count() if isinstance(table.engine, SparkEngine) else 0
    if records <= most:
        return table
    table = number_records(table)
    with quiet(table.source.name):
        return replace(
            table, expression=table.expression.filter(hash_numbers(table.expression[ROW], 0) < most / records)
        )


def release_records(
    encoded: EncodedRecords,
    names: Sequence[str],
    columns: Mapping[str, pa.Array],
    *,
    moved: Sequence[tuple[Sequence[str], Integers]] = (),
    key: bytes | None = None,
) -> Table:
    """Return a table of the columns ``names``, ordered by all of them, so that the order holds nothing of the input's.

    Parameters
    ----------
    columns
        New values, one per record of ``encoded``; other columns are released as they are.
    moved
        Columns whose values change places together, and the record (its position in ``encoded``) that each takes them
        from; as often as there are such exchanges. No column is in two.
    key
        The secret key of pseudonyms; identifiers are released in no other way.
    """
    table = encoded.table
    replaced = {name: f"own{i}" for i, name in enumerate(names) if name in columns}
    exchanges = [([name for name in some if name in names and name not in columns], order) for some, order in moved]
    staged: dict[str, Any] = {"record": pa.array(encoded.rows)}
    staged |= {place: columns[name] for name, place in replaced.items()}
    staged |= {f"other{i}": pa.array(encoded.rows[order]) for i, (_, order) in enumerate(exchanges)}
    with quiet(table.source.name):
        rows = table.engine.stage(pa.table(staged))
        for i, (some, _) in enumerate(exchanges):
            if some:
                rows, taken = taken_from(table, rows, f"other{i}", some)
                replaced |= taken
    return release_beside(table, rows, names, replaced, key=key)


def tally_by_class(encoded: EncodedRecords, labels: Integers, name: str) -> tuple[Integers, Integers]:
    """Count the records of every value of a column in every class: the class and the number, in no order."""
    table = encoded.table
    with quiet(table.source.name):
        rows = table.engine.stage(pa.table({"record": pa.array(encoded.rows), "class": pa.array(labels)}))
        values = table.expression.select(number=table.expression[ROW], value=table.expression[name])
        joined = values.inner_join(rows, [values["number"] == rows["record"]])
        counted = joined.group_by(["class", "value"]).aggregate(records=joined.count())
        tallies = compute(table, counted.select("class", "records"))
    return tuple(tallies[each].to_numpy().astype(np.int64) for each in ("class", "records"))


def taken_from(table: Table, rows: TableQuery, other: str, names: Sequence[str]) -> tuple[TableQuery, dict[str, str]]:
    """Return rows with some columns of the record whose number ``other`` is, and what these are called there."""
    places = {name: f"{other}_{i}" for i, name in enumerate(names)}
    theirs = {place: table.expression[name] for name, place in places.items()}
    given = table.expression.select(**{f"{other}_giver": table.expression[ROW]}, **theirs)
    return rows.inner_join(given, [rows[other] == given[f"{other}_giver"]]), places


def release_beside(
    table: Table, rows: TableQuery, names: Sequence[str], replaced: Mapping[str, str], *, key: bytes | None
) -> Table:
    """As :func:`release_records`, for new values that lie beside the table.

    ``rows`` has the number of every record as ``record``; ``replaced`` says which of its columns stands for a column.
    """
    check_identifiers(table, names, key)
    with quiet(table.source.name):
        records = pseudonyms(table, table.expression, list(names), key)
        # new names, so that no column of the table can be taken for one of the new values
        kept = {f"old{i}": records[name] for i, name in enumerate(names) if name not in replaced}
        new = {f"new{i}": rows[replaced[name]] for i, name in enumerate(names) if name in replaced}
        left, right = records.select(old_record=records[ROW], **kept), rows.select(new_record=rows["record"], **new)
        joined = left.inner_join(right, [left["old_record"] == right["new_record"]])
        chosen = {name: joined[f"new{i}" if name in replaced else f"old{i}"] for i, name in enumerate(names)}
        return replace(table, expression=sorted_by_values(joined.select(*name_values(chosen))), schema=None, left_out=0)


def sorted_records(table: Table) -> Table:
    """Return the table ordered by all its columns, so that the order holds nothing of the input's."""
    with quiet(table.source.name):
        return replace(table, expression=sorted_by_values(table.visible), schema=None, left_out=0)


def join_classes(identifying: Table, confidential: Table, link: str, columns: Sequence[str]) -> Table:
    """Join two tables that a class column links: every record with every value of its class, and how likely it is.

    Lazy. The result has a row for each record and each combination of ``columns`` in its class, and a last column
    ``probability`` (or ``probability 2``, ...), the share of the class that has the combination.
    """
    of, size, same = f"{OURS}of__", f"{OURS}size__", f"{OURS}same__"
    share = free_name("probability", (*identifying.columns, *columns))
    with quiet(identifying.source.name):
        people, values = identifying.expression, confidential.expression
        counts = values.group_by([link, *columns]).aggregate(**{same: values.count()})
        sizes = values.group_by(link).aggregate(**{size: values.count()})
        shares = counts.inner_join(sizes, [link])
        shares = shares.select(
            shares[link].name(of), *columns, (shares[same].cast("float64") / shares[size]).name(share)
        )
        joined = people.inner_join(shares, [people[link] == shares[of]])
        chosen = joined.select(*identifying.columns, *columns, share)
        return replace(identifying, expression=sorted_by_values(chosen), schema=None, left_out=0)
