"""Release forms: what becomes of the columns of the records of a class."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.methods.classes._buckets import Buckets
from shoal.methods.classes._errors import Errors
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._people import Classified, Form, People
from shoal.tables import group

__all__ = ["Formed", "bucket_columns", "formed", "joined_view"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Formed:
    """The columns to release and the classes as anybody will see them.

    Parameters
    ----------
    columns
        New values of columns, one per record; columns that are not here are released as they are.
    partition
        The released classes: those that the same quasi-identifiers make the same are one.
    measures
        What the quasi-identifiers lost, by the names of measures.
    errors
        The sums of squares that the measures of means come from.
    """

    columns: dict[str, pa.Array]
    partition: Partition
    measures: dict[str, float] = field(default_factory=dict)
    errors: Errors = field(default_factory=Errors)


def formed(people: People, found: Classified, form: Form) -> Formed:
    """Give the quasi-identifiers of every class the form asked for, and confidential values their buckets."""
    columns = bucket_columns(found.buckets, found.bucketized) if found.buckets is not None else {}
    partition, measures, errors = found.partition, {"loss": 0.0, "sse": 0.0, "sse/sst": 0.0}, Errors()
    if form in ("microaggregated", "generalized"):
        values, losses = [], []
        for column in people.quasi_identifiers:
            if form == "generalized":
                of_class, shares = column.generalized(partition)
                losses.append(float(shares @ partition.sizes) / len(people))
            else:
                of_class = column.averaged(partition, found.decimals)
                errors += column.errors(of_class, partition).weighted(column.attribute.weight)
            values.append(of_class)
            columns[column.attribute.name] = of_class.take(pa.array(partition.labels))
        measures = errors.measures()
        if losses:
            weights = np.array([column.attribute.weight for column in people.quasi_identifiers])
            measures = {"loss": float(np.average(losses, weights=weights if weights.any() else None))}
        partition = _same_values(values, partition)
    return Formed(columns=columns, partition=partition, measures=measures, errors=errors)


def bucket_columns(buckets: Buckets, names: tuple[str, ...]) -> dict[str, pa.Array]:
    """Return the labels of the buckets, record by record, for every attribute that has them."""
    return {
        name: pa.array(labels, pa.string()).take(pa.array(buckets.numbers))
        for name, labels in zip(names, buckets.labels, strict=True)
    }


def joined_view(identifying: str, confidential: str, columns: tuple[str, ...], class_column: str) -> str:
    """Return SQL that joins the two tables of Anatomy: every person with every value of the class, and how likely.

    Standard SQL but for the names of the files, which DuckDB reads as tables.

    Examples
    --------
    >>> print(joined_view("people.parquet", "values.parquet", ("illness",), "class"))
    -- Every person with every value of the class, and how likely it is. In this folder: duckdb -init joined.sql
    CREATE VIEW joined AS
    SELECT people.*, counts."illness", 1.0 * counts.records / sizes.records AS probability
    FROM 'people.parquet' AS people
    JOIN (SELECT "class", "illness", count(*) AS records FROM 'values.parquet' GROUP BY "class", "illness") AS counts
    USING ("class")
    JOIN (SELECT "class", count(*) AS records FROM 'values.parquet' GROUP BY "class") AS sizes
    USING ("class");
    """
    names, link = [_quoted(name) for name in columns], _quoted(class_column)
    lines = (
        "-- Every person with every value of the class, and how likely it is. In this folder: duckdb -init joined.sql",
        "CREATE VIEW joined AS",
        f"SELECT people.*, {', '.join(f'counts.{name}' for name in names)}, "
        "1.0 * counts.records / sizes.records AS probability",
        f"FROM '{identifying}' AS people",
        f"JOIN ({_counted(confidential, link, *names)}) AS counts",
        f"USING ({link})",
        f"JOIN ({_counted(confidential, link)}) AS sizes",
        f"USING ({link});",
    )
    return "\n".join(lines)


def _same_values(values: list[pa.Array], partition: Partition) -> Partition:
    codes = np.stack(
        [
            pc.dictionary_encode(column, null_encoding="encode").indices.to_numpy(zero_copy_only=False)
            for column in values
        ],
        axis=1,
    ).astype(np.int32)
    return Partition.numbered(group(codes)[0][partition.labels])


def _counted(file: str, *names: str) -> str:
    listed = ", ".join(names)
    return f"SELECT {listed}, count(*) AS records FROM '{file}' GROUP BY {listed}"  # noqa: S608 - text for users


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
