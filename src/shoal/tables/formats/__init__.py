"""The list of formats that tables are read from and written to, one file per format."""

from shoal.tables.formats._arrow_files import Feather as Feather
from shoal.tables.formats._arrow_files import JsonLines as JsonLines
from shoal.tables.formats._arrow_files import Parquet as Parquet
from shoal.tables.formats._arrow_files import ParquetFolder as ParquetFolder
from shoal.tables.formats._csv import Csv as Csv
from shoal.tables.formats._csv import open_csv as open_csv
from shoal.tables.formats._duckdb_files import DuckDBFile as DuckDBFile
from shoal.tables.formats._excel import Excel as Excel
from shoal.tables.formats._format import FileFormat as FileFormat
from shoal.tables.formats._format import Format as Format
from shoal.tables.formats._format import Options as Options
from shoal.tables.formats._format import existing as existing
from shoal.tables.formats._formulas import note_formulas as note_formulas
from shoal.tables.formats._frames import Frames as Frames
from shoal.tables.formats._frames import Spark as Spark
from shoal.tables.formats._frames import unreadable as unreadable
from shoal.tables.formats._postgres import Postgres as Postgres
from shoal.tables.formats._postgres import list_foreign_keys as list_foreign_keys
from shoal.tables.formats._postgres import list_tables as list_tables
from shoal.tables.formats._statistics import Sas as Sas
from shoal.tables.formats._statistics import Spss as Spss
from shoal.tables.formats._statistics import Stata as Stata

#: all formats, in the order in which messages list them: a new one is imported above and gets a line here
_LISTED: tuple[type[Format], ...] = (
    Csv,
    Parquet,
    ParquetFolder,
    Excel,
    Stata,
    Spss,
    Sas,
    JsonLines,
    Feather,
    DuckDBFile,
    Postgres,
    Spark,
    Frames,
)
FORMATS: dict[str, Format] = {form.name: form() for form in _LISTED}
"""All formats by name; each source is taken by one of them."""


def files() -> tuple[FileFormat, ...]:
    """Return the formats of files."""
    return tuple(file_format for file_format in FORMATS.values() if isinstance(file_format, FileFormat))
