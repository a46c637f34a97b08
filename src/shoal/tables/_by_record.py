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
from shoal.tables._classes import Dictionary, Frequencies, SensitiveAttribute
from shoal.tables._columns import _column, check_columns, column_hierarchies, schema_of, sensitive_codes
from shoal.tables._encode import tuples_that_fit
from shoal.tables._engine import OURS, ROW, quiet, sorted_by_values
from shoal.tables._engine import key as comparable
from shoal.tables._holders import Holders
from shoal.tables._keyed import check_identifiers, pseudonyms
from shoal.tables._people import household_of, person_of
from shoal.tables._spark import SparkEngine
from shoal.tables._table import Table, numbered

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EncodedRecords:
    """The codes of every record, in memory."""

    #: The table, with numbers on its records.
    table: Table
    #: The number of each record, which leads back to it.
    rows: Numbers
    #: One per quasi-identifier: its levels, and its distinct values with their leaves.
    hierarchies: tuple[Hierarchy, ...]
    dictionaries: tuple[Dictionary, ...]
    #: ``places[i, j]`` is the value of record i in dictionary j.
    places: Numbers
    #: The sensitive attributes asked for, and their codes, one row per record.
    sensitive: tuple[SensitiveAttribute, ...]
    sensitive_codes: npt.NDArray[np.int32]
    #: The person of every record, from 0 on; None where nobody has several.
    persons: Numbers | None = None
    #: The household of every record, from 0 on; None where the schema names none.
    homes: Numbers | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def frequencies(self) -> Frequencies:
        """The records as distinct tuples would be seen by models: here every record is a tuple of its own."""
        codes = np.empty(self.places.shape, dtype=np.int32, order="F")
        for j, dictionary in enumerate(self.dictionaries):
            codes[:, j] = dictionary.codes[self.places[:, j]]
        return Frequencies(
            hierarchies=self.hierarchies,
            codes=codes,
            counts=np.ones(len(self), dtype=np.int64),
            sensitive=self.sensitive,
            sensitive_codes=self.sensitive_codes,
            holders=self._holders,
            households=None if self.homes is None or self.persons is not None else Holders.of_records(self.homes),
        )

    @property
    def _holders(self) -> Holders | None:
        if self.persons is None:
            return None
        found = Holders.of_records(self.persons)
        return found if self.homes is None else found.living(self.persons, self.homes)


def encode_records(table: Table, *, sensitive: Sequence[str], by: Sequence[str] = ()) -> EncodedRecords:
    """Fetch the quasi-identifiers and some sensitive attributes of all records as codes.

    Memory: 8 bytes per record and column. Use :func:`encode` where distinct tuples are enough.

    Parameters
    ----------
    sensitive
        The sensitive attributes.
    by
        The columns by whose values the records are ordered; ties, and all of them without ``by``, stay in the order of
        the source.

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
    table = numbered(table)
    records = table.expression
    whose = {"person": person_of(table), "home": household_of(table)}
    with quiet(table.source.name):
        keys = {role: comparable(records[name]) for role, name in whose.items() if name is not None}
        chosen = {f"c{i}": comparable(records[name]) for i, name in enumerate((*names, *sensitive))}
        order = [*(comparable(records[name]) for name in by), records[ROW]]
        fetched = table.engine.fetch(records.order_by(order).select(**{ROW: records[ROW]}, **chosen, **keys))
    ones = np.ones(fetched.num_rows, dtype=np.int64)
    columns = [_column(name, fetched[f"c{i}"], ones) for i, name in enumerate((*names, *sensitive))]
    hierarchies = column_hierarchies(schema, columns[: len(names)])
    attributes, coded = sensitive_codes(schema, columns[len(names) :])
    places = np.empty((fetched.num_rows, len(names)), dtype=np.int64, order="F")
    for j, column in enumerate(columns[: len(names)]):
        places[:, j] = column.indices
    confidential = np.empty((fetched.num_rows, len(attributes)), dtype=np.int32, order="F")
    for j, (codes, _) in enumerate(coded):
        confidential[:, j] = codes
    return EncodedRecords(
        table=table,
        rows=fetched[ROW].to_numpy().astype(np.int64),
        hierarchies=hierarchies,
        dictionaries=tuple(
            Dictionary(name=column.name, values=column.values, codes=leaf_codes(hierarchy, column.values))
            for column, hierarchy in zip(columns, hierarchies, strict=False)
        ),
        places=places,
        sensitive=attributes,
        sensitive_codes=confidential,
        **{f"{role}s": _column(role, fetched[role], ones).indices.astype(np.int64) for role in keys},
    )


def _check_driver(table: Table, columns: int) -> None:
    """Refuse to collect more records from Spark than the memory of this machine may hold."""
    if not isinstance(table.engine, SparkEngine):
        return
    number, most = table.count(), tuples_that_fit(columns)
    if number > most:
        raise Exhausted(
            f"{table.source.name}: this plan collects all {number:,} records on the driver of Spark, whose memory may "
            f"hold about {most:,}.",
            hint="use a recoding, or a method that makes its classes block by block: docs/how-to/use-spark.md says "
            "which; or raise SHOAL_MEMORY",
        )


def release_records(
    encoded: EncodedRecords,
    names: Sequence[str],
    columns: Mapping[str, pa.Array],
    *,
    moved: Sequence[tuple[Sequence[str], Numbers]] = (),
    key: bytes | None = None,
) -> Table:
    """Return a table of some columns, some of them replaced record by record.

    Parameters
    ----------
    names
        The released columns, in order.
    columns
        New values, one per record of ``encoded``; other columns are released as they are.
    moved
        Columns whose values change places together, and the record (its position in ``encoded``) that each takes them
        from; as often as there are such exchanges. No column is in two.
    key
        The secret key of pseudonyms; identifiers are released in no other way.

    Returns
    -------
    Table
        Ordered by all released columns, so that the order holds nothing of the input's.
    """
    table = encoded.table
    check_identifiers(table, names, key)
    staged: dict[str, Any] = {f"{OURS}record": pa.array(encoded.rows)}
    staged |= {f"{OURS}new{i}": columns[name] for i, name in enumerate(names) if name in columns}
    exchanges = [([name for name in some if name in names and name not in columns], order) for some, order in moved]
    staged |= {f"{OURS}other{i}": pa.array(encoded.rows[order]) for i, (some, order) in enumerate(exchanges) if some}
    with quiet(table.source.name):
        rows = table.engine.stage(pa.table(staged))
        records = table.expression.inner_join(rows, [table.expression[ROW] == rows[f"{OURS}record"]])
        places: dict[str, str] = {}
        for i, (some, _) in enumerate(exchanges):
            if some:
                mine = {name: f"{OURS}moved{i}_{j}" for j, name in enumerate(some)}
                theirs = {mine[name]: table.expression[name] for name in some}
                given = table.engine.apart(
                    table.expression.select(**{f"{OURS}giver{i}": table.expression[ROW]}, **theirs)
                )
                records = records.inner_join(given, [records[f"{OURS}other{i}"] == given[f"{OURS}giver{i}"]])
                places |= mine
        records = pseudonyms(table, records, list(names), key)
        chosen = {
            name: records[f"{OURS}new{i}"] if name in columns else records[places.get(name, name)]
            for i, name in enumerate(names)
        }
        return replace(table, expression=sorted_by_values(records.select(**chosen)), schema=None, left_out=0)


def sorted_records(table: Table) -> Table:
    """Return the table ordered by all its columns, so that the order holds nothing of the input's."""
    with quiet(table.source.name):
        return replace(table, expression=sorted_by_values(table.visible), schema=None, left_out=0)


def join_classes(identifying: Table, confidential: Table, link: str, columns: Sequence[str]) -> Table:
    """Join two tables that a class column links: every record with every value of its class, and how likely it is.

    Lazy. The result has a row for each record and each combination of ``columns`` in its class, and a last column
    ``probability``, the share of the class that has the combination.
    """
    with quiet(identifying.source.name):
        people, values = identifying.expression, confidential.expression
        counts = values.group_by([link, *columns]).aggregate(class_records=values.count())
        sizes = values.group_by(link).aggregate(class_size=values.count())
        shares = counts.inner_join(sizes, [link])
        shares = shares.select(
            joined_class=shares[link],
            **{name: shares[name] for name in columns},
            probability=shares["class_records"].cast("float64") / shares["class_size"],
        )
        joined = people.inner_join(shares, [people[link] == shares["joined_class"]])
        chosen = joined.select(*identifying.columns, *columns, "probability")
        return replace(identifying, expression=sorted_by_values(chosen), schema=None, left_out=0)
