"""Write a table so that it is there completely, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import OutputError, ParameterError
from shoal.tables._engine import quiet
from shoal.tables._table import Table

__all__ = ["FORMATS", "write"]

FORMATS = ("csv", "parquet", "parquet-folder", "postgresql", "spark")
_POSTGRES = ("postgresql://", "postgres://")


def write(
    table: Table,
    destination: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users look for
    name: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a table.

    Parameters
    ----------
    destination
        The path of a file; the address ``postgresql://...`` of a database; or the name of a Spark table.
    format
        ``csv``, ``parquet`` (one file), ``parquet-folder`` (files written side by side by Spark, in a folder that
        all its machines see), ``postgresql`` or ``spark`` (a table of the session). Read off the destination where
        not given.
    name
        The table to make in a PostgreSQL database, ``name`` or ``schema.name``.
    overwrite
        Replace what is there.

    Raises
    ------
    OutputError
        If the destination exists, may not be written, or the disk is full. Nothing is left behind then.
    Cancelled
        If the user interrupts. Nothing is left behind.

    Notes
    -----
    Files are written under a temporary name in the same folder, flushed to the disk, and renamed: a reader sees the
    whole file or none. A database table is made in one transaction. Records stream from the
    engine; memory stays bounded.
    """
    format = format or _format(destination)  # noqa: A001
    if format not in FORMATS:
        raise ParameterError(f"`format` of `write` must be one of {', '.join(FORMATS)}; got {format!r}.")
    if format == "postgresql":
        from shoal.tables._postgres import write_postgres

        write_postgres(table, str(destination), name, overwrite=overwrite)
    elif format == "spark":
        from shoal.tables._spark import write_spark_table

        write_spark_table(table, str(destination), overwrite=overwrite)
    else:
        _write_file(table, Path(destination), format, overwrite=overwrite)


def _write_file(table: Table, path: Path, format: str, *, overwrite: bool) -> None:  # noqa: A002
    with replacing(path, overwrite=overwrite) as temporary, quiet(path.name, error=OutputError):
        if format == "csv":
            table.engine.write_csv(table.visible, temporary)
        elif format == "parquet":
            table.engine.write_parquet(table.visible, temporary)
        else:
            from shoal.tables._spark import write_spark_folder

            write_spark_folder(table, temporary)


@contextmanager
def replacing(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and give it the name ``path`` at the end; remove it if anything fails."""
    if path.exists() and not overwrite:
        raise OutputError(f"{path} already exists.", hint="choose another name, or overwrite it")
    if not path.parent.is_dir():
        raise OutputError(f"{path.parent} is not a folder.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"you have no permission to write to {path.parent}.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
        _flush(temporary)
        _move(temporary, path)
        _sync(path.parent)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {(error.strerror or 'unknown reason').lower()}.") from None
    finally:
        _remove(temporary)


def _flush(path: Path) -> None:
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file():
            _sync(file)


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":  # Windows has no handles of folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move(temporary: Path, path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        # a folder cannot be replaced in one step: the old one steps aside first
        aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.old")
        path.rename(aside)
        temporary.rename(path)
        shutil.rmtree(aside)
    else:
        temporary.replace(path)


def _remove(temporary: Path) -> None:
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)


def _format(destination: str | Path) -> str:
    if isinstance(destination, str) and destination.startswith(_POSTGRES):
        return "postgresql"
    suffix = Path(destination).suffix.lower()
    formats = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
    if suffix not in formats:
        raise ParameterError(
            "the name of the destination does not show which `format` to write.", hint=f"one of {', '.join(FORMATS)}"
        )
    return formats[suffix]
