"""The options with which several commands read a table and its schema."""

from __future__ import annotations

import inspect
import shlex
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from typer import Argument, Option

from shoal.cli import _output
from shoal.errors import ParameterError, SchemaError, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal import Schema, Table


Source = Annotated[
    str,
    Argument(
        metavar="FILE",
        help="A CSV, Parquet, Excel, Stata, SPSS, SAS, JSON lines or Feather file, or its http, https or s3 "
        "address; - for standard input; a DuckDB file or postgresql://... (both with --table).",
    ),
]
TableName = Annotated[
    str | None, Option("--table", help="The table to read from a database, or the sheet of an Excel file.")
]
Delimiter = Annotated[str | None, Option(help="The delimiter of a CSV file; detected automatically.")]
Encoding = Annotated[str | None, Option(help="The encoding of a CSV file; detected automatically.")]
Decimal = Annotated[str | None, Option(help="The decimal separator of a CSV file, `.` or `,`; detected automatically.")]
SkipBadRows = Annotated[
    bool,
    Option(
        "--skip-bad-rows",
        help="Leave out and count the rows of a CSV file that do not have as many fields as its header.",
    ),
]
SchemaOption = Annotated[
    Path | None, Option("--schema", help="The schema file; by default FILE with the ending .schema.toml.")
]
Undecided = Annotated[
    str | None,
    Option(help="What to do with columns with the role `decide`: drop or quasi-identifier; nothing runs without it."),
]
Json = Annotated[bool, Option("--json", help="Print JSON.", callback=_output.json_wanted)]

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True)
class InputFile:
    """A table as the arguments of a command name it, and the options with which it is read."""

    source: Source
    table: TableName = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    decimal: Decimal = None
    skip_bad_rows: SkipBadRows = False

    @property
    def named(self) -> str:
        """The argument and the options again, as a shell takes them."""
        given = ((name, getattr(self, name)) for name in ("table", "delimiter", "encoding", "decimal"))
        options = [f"--{name} {shlex.quote(value)}" for name, value in given if value]
        return " ".join([shlex.quote(self.source), *options, *["--skip-bad-rows"] * self.skip_bad_rows])

    def read(self) -> Table:
        """Read the table as the options say, without a schema."""
        import shoal

        table = shoal.read(
            self.source,
            table=self.table,
            delimiter=self.delimiter,
            encoding=self.encoding,
            decimal=self.decimal,
            skip_bad_rows=self.skip_bad_rows or None,
        )
        for note in table.notes:
            _output.warning(f"{note}.")
        return table

    def described(self, schema: Path | None) -> Table:
        """Read the table and give it its schema; its records are checked against it."""
        data = self.read()
        return conformed(data, find_schema(data, self.source, schema))


def takes_a_file(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command with a parameter ``file`` be called with the argument and the options of a :class:`InputFile`.

    Typer reads the signature: FILE stands where ``file`` did, its options behind those of the command.
    """
    signature, hints = inspect.signature(command, eval_str=True), get_type_hints(InputFile, include_extras=True)
    source, *options = [
        inspect.Parameter(name, _KEYWORD, default=field.default, annotation=hints[name])
        for name, field in inspect.signature(InputFile).parameters.items()
    ]
    own = [source if own.name == "file" else own.replace(kind=_KEYWORD) for own in signature.parameters.values()]
    parameters = [*own[:-1], *options, own[-1]] if own[-1].name == "json" else [*own, *options]

    @wraps(command)
    def called(**given: Any) -> None:  # the arguments as Typer has converted them
        command(file=InputFile(**{name: given.pop(name) for name in hints if name in given}), **given)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def conformed(data: Table, schema: Schema) -> Table:
    """Check the records of a table against a schema, and say what a person should know of it."""
    table = data.with_schema(schema)
    for note in table.notes[len(data.notes) :]:
        _output.warning(f"{note}.")
    return table


def find_schema(data: Table, source: str, schema: Path | None) -> Schema:
    """Return the schema of a file, or a drafted one with a note that nobody has confirmed it."""
    import shoal
    from shoal.schema import load

    path = schema or default_schema(source)
    if schema is not None or path.is_file():
        return load(path)
    drafted = shoal.draft(data)
    _output.warning(
        f"there is no {path.name}, so roles are guessed ({drafted.summary}); run `shoal draft` and review them before "
        "publishing anything."
    )
    return drafted.schema


def decided(schema: Schema, named: str, undecided: str | None) -> Schema:
    """Give the columns that nobody has decided on the role ``undecided``, or refuse to go on without one."""
    import shoal

    allowed = (shoal.Role.DROP, shoal.Role.QUASI_IDENTIFIER)
    if undecided is not None and undecided not in allowed:
        raise ParameterError(f"--undecided must be {' or '.join(allowed)}")
    if schema.asks_for_persons:
        raise SchemaError(
            "persons may have several records, and nobody has said if they do",
            hint=f"if every record stands for another person, `shoal draft {named} --person records --overwrite` "
            'writes `persons = "records"` into the schema; if not, name the column that says whose record it is: '
            "--person COLUMN",
        )
    names = schema.having(shoal.Role.DECIDE)
    if names and undecided is None:
        raise SchemaError(
            f"nobody has decided what {'this column is' if len(names) == 1 else 'these columns are'}: {quoted(names)}",
            hint=f"give each a role in the schema (`shoal draft {named} --edit --overwrite` asks), and for "
            "differential privacy its `values` or bounds; or leave them out with `--undecided drop`",
        )
    for name in names:
        schema = schema.with_role(name, undecided or shoal.Role.DECIDE)
    return schema


def default_schema(source: str) -> Path:
    """Return where the schema of a source is looked for and drafted to."""
    from shoal.tables import base_name, elsewhere

    if source == "-" or ("://" in source and not elsewhere(source)):
        return Path("table.schema.toml")
    path = Path(base_name(source) if elsewhere(source) else source)
    if path.name in ("", ".."):  # a folder that is not called by its name
        path = path.resolve()
    if not path.name:
        return Path("table.schema.toml")
    stem = path.name.removesuffix(".gz")
    return path.with_name(f"{Path(stem).stem}.schema.toml")
