"""Where tables come from and go to: one file per format, and its line in ``FORMATS``."""

from shoal.tables.formats._arrow_files import Feather, JsonLines
from shoal.tables.formats._csv import Csv
from shoal.tables.formats._duckdb_file import DuckDBFile
from shoal.tables.formats._excel import Excel
from shoal.tables.formats._format import FileFormat, Format, Options, existing
from shoal.tables.formats._frames import Frames, unreadable
from shoal.tables.formats._parquet import Parquet, ParquetFolder
from shoal.tables.formats._postgres import Postgres
from shoal.tables.formats._spark import Spark
from shoal.tables.formats._statistics import Sas, Spss, Stata

__all__ = ["FORMATS", "FileFormat", "Format", "Options", "existing", "files", "unreadable"]

#: all formats by name; the first that takes a source reads it
FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Csv(),
        Parquet(),
        ParquetFolder(),
        Excel(),
        Stata(),
        Spss(),
        Sas(),
        JsonLines(),
        Feather(),
        DuckDBFile(),
        Postgres(),
        Spark(),
        Frames(),
    )
}


def files() -> tuple[FileFormat, ...]:
    """Return the formats of files."""
    return tuple(each for each in FORMATS.values() if isinstance(each, FileFormat))
