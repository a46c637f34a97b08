"""Records as files spell them: the schema's marks for missing values, its dates and its decimal sign."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.errors import VerificationError
from shoal.folder import check_outside_releases
from shoal.hierarchies import possible_values
from shoal.schema import Attribute, Kind, Schema
from shoal.schema.rules import text
from shoal.writing import write_file

_DATE_PARTS = {"yyyy": "%Y", "mm": "%m", "dd": "%d"}
#: A text file beside a file of records says what they are.
ABOUT = ".about.txt"
#: How that text begins, by what the records are.
SYNTHETIC, CONCRETE = "Synthetic records", "Concrete records"
_LONGEST_ABOUT = 10_000


def write_records(
    rows: pa.Table,
    schema: Schema,
    path: Path,
    *,
    about: str,
    overwrite: bool = False,
    like: str | Path | None = None,
) -> None:
    """Write records in the format of a file's ending, described in the file and beside it.

    A CSV file spells them as the schema says that the original did: missing marks, dates and the decimal sign. Stata
    and SPSS files get the declared values of their columns as labelled codes, or those of the file ``like``.
    """
    check_outside_releases(path)
    is_csv = path.suffix.lower() == ".csv"
    columns = [_spelt(rows[name].combine_chunks(), schema, schema[name]) for name in rows.column_names]
    written = pa.table(columns, names=rows.column_names) if is_csv else rows
    named = [each for each in schema if each.kind in (Kind.CATEGORICAL, Kind.ORDINAL)]
    labels = {each.name: values for each in named if (values := _declared_values(each, schema)) is not None}
    line = about.partition("\n")[0]
    tables.write(tables.read(written), path, overwrite=overwrite, like=like, description=line, labels=labels)
    write_file(path.with_name(path.name + ABOUT), (about.rstrip() + "\n").encode(), overwrite=True)


def _declared_values(attribute: Attribute, schema: Schema) -> tuple[str, ...] | None:
    if attribute.derived is not None:
        return possible_values(attribute, schema)
    return None if attribute.domain is None else attribute.domain.values


def _spelt(column: pa.Array, schema: Schema, attribute: Attribute) -> pa.Array:
    reading = attribute.reading
    if reading.date_format is not None and pa.types.is_date(column.type):
        written = reading.date_format
        for part, code in _DATE_PARTS.items():
            written = written.replace(part, code)
        column = pc.strftime(column.cast(pa.timestamp("s")), format=written)
    if reading.decimal == "," and pa.types.is_floating(column.type):
        column = pc.replace_substring(text(column), ".", ",")
    marks = (*reading.missing_values, *schema.missing_values)
    if not marks and attribute.derived is not None:
        marks = schema[attribute.derived.source].reading.missing_values
    if marks and column.null_count:
        column = pc.fill_null(text(column), marks[0])
    return column


def refuse_drawn_records(path: Path) -> None:
    """Refuse to verify a file of synthetic or concrete records, which the text beside it says it is."""
    about = path.with_name(path.name + ABOUT)
    if not about.is_file() or about.is_symlink() or about.stat().st_size > _LONGEST_ABOUT:
        return
    text = about.read_bytes()
    kind = next((each for each in (SYNTHETIC, CONCRETE) if text.startswith(each.encode())), None)
    if kind is not None:
        raise VerificationError(
            f"`{path.name}` holds {kind.lower()}, drawn from a release: they have no certificate that could be checked",
            hint="verify the folder of the release that they were drawn from",
        )
