"""Check the files of a release: none but its own, unchanged, nothing hidden; what follows from others is made again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from shoal import hierarchies, tables
from shoal.errors import ShoalError, Undecided, lacking, says_nothing
from shoal.folder import HIERARCHIES, OUR_VERIFIER, REPORT, SIGNATURE, SUMMARY, VERIFIER, ReleaseFolder, hierarchy_name
from shoal.guarantees import CERTIFICATE, POPULATION, Certificate, Check, Data, Evidence, File, software
from shoal.methods.classes import VIEW, joined_view
from shoal.report import gather, render_html, render_text
from shoal.schema import Attribute, Flat, Role, Schema
from shoal.schema.rules import canonical_file, is_text, text
from shoal.tables import Site, Table
from shoal.verification._pages import Hidden, check_bytes
from shoal.verification._parquet import Damaged, Footer, excess, read_footer
from shoal.writing import digest

_BATCH = 1_000_000
#: bytes that the texts of a group of at most a million records have at most, written out
_LONG_GROUP = 1 << 28
LONG_TEXTS = "texts that are longer than those of any release"
TRUSTED = "if you trust its publisher, give --any-size (`any_size=True`)"


def check_footers(folder: Path, certificate: Certificate, site: Site, *, any_size: bool) -> list[Check]:
    """Refuse tables that are damaged or unpack to far more than they hold, before anything of them is read.

    Raises
    ------
    Undecided
        Unless ``any_size``, if a table has the certified size, and unpacks to far more than its files hold.
    """
    checks = []
    expected = [(data.file, certificate.parts(data.file), data) for data in certificate.tables]
    for file, parts, data in [*expected, (POPULATION, certificate.parts(POPULATION), None)]:
        paths = [folder / part for part in parts if part.endswith(".parquet") and (folder / part).is_file()]
        found = site.each(footer_of, paths)
        problems = [each["problem"] for each in found if each.get("problem")]
        footers = [Footer.read(each) for each in found if not each.get("problem")]
        if not problems and not any_size and (trap := excess(footers)):
            problems = [] if data is None else _unlike(footers, data)
            if not problems:
                raise Undecided(f"`{file}` was not read: {trap}", hint=TRUSTED)
        checks += [_failed(file, problem) for problem in problems[:1]]
    return checks


def _unlike(footers: Sequence[Footer], data: Data) -> list[str]:
    """Say where footers state other columns or another number of records than the certificate."""
    expected = tuple(column.name for column in data.columns)
    if any(footer.columns != expected for footer in footers):
        return ["the columns are not the certified ones"]
    records = sum(footer.records for footer in footers)
    if records != data.records:
        return [f"it holds {records:,} records; the certificate says {data.records:,}"]
    return []


def footer_of(name: str) -> dict[str, Any]:
    """Return what the footer of a Parquet file states, or what is wrong with it."""
    try:
        return asdict(read_footer(Path(name)))
    except Damaged as error:
        return {"problem": str(error)}


def check_files(folder: Path, certificate: Certificate, allowed: set[str], site: Site) -> list[Check]:
    """Compare every file with its fingerprint, and refuse whatever a release does not have."""
    names = [entry.name for entry in certificate.files]
    seen = _look(folder, sorted({name for name in names if name in allowed and (folder / name).is_file()}), site)
    checks = [_check_file(entry, allowed, seen.get(entry.name)) for entry in certificate.files]
    checks += [_failed(name, LONG_TEXTS) for name in seen if seen[name].get("hidden") == LONG_TEXTS]
    checks += [check for data in certificate.tables for check in _check_parts(certificate.parts(data.file), seen)]
    checks += [_failed(name, "the certificate lists it twice") for name in sorted({*names}) if names.count(name) > 1]
    if names != [path.as_posix() for path in sorted(map(Path, names))]:
        checks.append(_failed(CERTIFICATE, "it does not list its files in the order of their names"))
    folders = {*(name.partition("/")[0] for name in names if name in allowed and "/" in name)}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_dir() and name not in {CERTIFICATE, SIGNATURE, *names}:
            checks.append(_failed(name, "not part of the release; keep it elsewhere"))
        elif path.is_dir() and name not in folders:
            checks.append(_failed(name, "not a folder of a release"))
    return checks


def check_copies(evidence: Evidence, site: Site) -> list[Check]:
    """Compare data files that are written in a second format, record by record."""
    checks = []
    for data in evidence.certificate.tables:
        copy = Path(data.file).with_suffix(".csv").name
        parts = evidence.certificate.parts(copy)
        if copy == data.file or not parts:
            continue
        whole = {*map(_original, parts)} == {*evidence.certificate.parts(data.file)}
        present = whole and all((evidence.folder / part).is_file() for part in parts)
        copies = site.each(compared, [evidence.folder / part for part in parts]) if present else []
        same = present and all(each["same"] for each in copies)
        detail = f"the same records as {data.file}" if same else f"not the records of {data.file}"
        # another version may write numbers otherwise, and nothing else
        ours = evidence.certificate.software == software()
        if same and not all(each["canonical"] if ours else each["plain"] for each in copies):
            same, detail = False, f"the records of {data.file}, but not written as Shoal writes them"
        checks.append(Check(subject=copy, passed=same, detail=detail))
    return checks


def compared(copy: str) -> dict[str, bool]:
    """Say whether a CSV file holds the records of the Parquet file that it is a copy of."""
    try:
        original = tables.reread(Path(_original(copy))).to_arrow()
        copied = (tables.reread_csv if len(original) else csv.read_csv)(Path(copy))
        same = _same(original, copied)
        canonical = same and _is_written_so(Path(copy), tables.reread(Path(_original(copy))))
        plain = canonical or (same and _is_plain(Path(copy), original, copied))
        return {"same": same, "canonical": canonical, "plain": plain}
    except (ShoalError, pa.ArrowInvalid) as error:
        if says_nothing(error):
            raise
        return {"same": False}


def _is_written_so(copy: Path, table: Table) -> bool:
    """Return whether a CSV file has the bytes that Shoal writes of a table."""
    with TemporaryDirectory() as scratch:
        again = Path(scratch) / "again.csv"
        tables.write(table, again)
        return digest(again) == digest(copy)


def _is_plain(copy: Path, original: pa.Table, copied: pa.Table) -> bool:
    """Return whether a CSV file is as Shoal writes it but for how it notes numbers, which no zero stands before."""
    columns = []
    for name in original.column_names:
        written, values = text(copied[name]), original[name]
        if not is_text(values.type) and not written.equals(text(values)):
            pattern = _DAY if pa.types.is_temporal(values.type) else _NUMBER
            if not pc.all(pc.match_substring_regex(written.drop_null(), pattern), min_count=0).as_py():
                return False
        columns.append(pc.if_else(pc.is_null(values), pa.scalar(None, written.type), written))
    return _is_written_so(copy, tables.read(pa.table(columns, names=original.column_names)))


def _original(copy: str) -> str:
    """Return the file that one is a copy of; where a table is in parts, its folder has the ending, too."""
    path = Path(copy)
    folder = path.parent.with_suffix(".parquet") if path.name.startswith("part-") else path.parent
    return str(folder / path.with_suffix(".parquet").name)


def _look(folder: Path, names: Sequence[str], site: Site) -> dict[str, Mapping[str, Any]]:
    """Look at the files of a release, parts of tables where they are looked at best."""
    parts = [name for name in names if "/" in name and not name.startswith("hierarchies/")]
    looks = dict(zip(parts, site.each(looked_at, [folder / name for name in parts]), strict=True))
    return looks | {name: looked_at(str(folder / name)) for name in names if name not in looks}


def _check_file(entry: File, allowed: set[str], seen: Mapping[str, Any] | None) -> Check:
    if entry.name not in allowed:
        return _failed(entry.name, "not a file that a release of this plan has")
    if seen is None:
        return _failed(entry.name, "the file is missing")
    if (seen["sha256"], seen["bytes"]) != (entry.sha256, entry.bytes):
        return _failed(entry.name, "the file was changed after the release was made")
    if entry.name == VERIFIER and digest(OUR_VERIFIER) != (entry.sha256, entry.bytes):
        return _failed(
            entry.name, "not the page of this version of Shoal: a page that came with data may be a forger's"
        )
    if seen.get("hidden"):
        return _failed(entry.name, f"it holds more than records: {seen['hidden']}")
    return Check(subject=entry.name, passed=True, detail="unchanged since the release was made")


def _check_parts(parts: Sequence[str], seen: Mapping[str, Mapping[str, Any]]) -> list[Check]:
    """Compare the columns of the parts of a table: readers take those of one part for all."""
    columns = {name: seen[name].get("columns") for name in parts if name in seen}
    first = next(iter(columns.values()), None)
    return [_failed(name, "its columns are not those of the other parts") for name in columns if columns[name] != first]


def _same(original: pa.Table, copy: pa.Table) -> bool:
    if original.column_names != copy.column_names or len(original) != len(copy):
        return False
    return all(
        _same_values(original[name].slice(start, _BATCH), copy[name].slice(start, _BATCH))
        for name in original.column_names
        for start in range(0, len(original), _BATCH)
    )


def _same_values(original: pa.ChunkedArray, copy: pa.ChunkedArray) -> bool:
    """Compare values with their copies as text, in which an empty text is a missing value."""
    written, copied = text(original), text(copy)
    written = pc.if_else(pc.equal(written, ""), pa.scalar(None, written.type), written)
    if written.equals(copied):
        return True
    try:  # numbers and days have more than one notation
        again, values = copied.cast(original.type), original.combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    if not pa.types.is_floating(original.type):
        return bool(again.equals(values))
    missing = again.is_null().equals(values.is_null())  # what is not a number equals nothing, not even itself
    numbers, own = (each.to_numpy(zero_copy_only=False) for each in (again, values))
    return bool(missing and np.array_equal(numbers, own, equal_nan=True))


def _failed(subject: str, detail: str) -> Check:
    return Check(subject=subject, passed=False, detail=detail)


_WRITER = re.compile(r"(DuckDB|parquet-cpp-arrow|parquet-mr) version [\w.+-]{1,40}( \(build \w{1,40}\))?")
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.(0|[0-9]*[1-9]))?([eE][+-]?[0-9]{1,3})?$"
_DAY = r"^[0-9-]{8,12}([T ][0-9:.]{5,16}(Z|[+-][0-9:]{2,6})?)?$"
_PLACED = re.compile(rf"{HIERARCHIES}/sensitive-[1-9]\d{{0,2}}\.csv")
_UNORDERED = "an order that is not the one of their values"


def looked_at(name: str) -> dict[str, Any]:
    """Return the fingerprint of a file; of a Parquet file also its columns, and what it holds besides records."""
    path = Path(name)
    sha256, size = digest(path)
    facts: dict[str, Any] = {"sha256": sha256, "bytes": size}
    if path.suffix == ".parquet":
        facts |= {"hidden": _hidden(path), "columns": _columns(path)}
    return facts


def _columns(path: Path) -> list[list[str]] | None:
    """Return names and types, in their order; None where they cannot be read."""
    try:
        return [[field.name, str(field.type)] for field in pq.read_schema(path)]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if lacking(error) is not None:
            raise
        return None


def _hidden(path: Path) -> str | None:
    """Return what a Parquet file holds besides its records and their types; None if that is nothing."""
    try:
        file = pq.ParquetFile(path)
        content = file.metadata
        if content.metadata or file.schema_arrow.metadata:
            return "metadata"
        if any(field.metadata for field in file.schema_arrow):
            return "metadata of a column"
        if not _WRITER.fullmatch(content.created_by or ""):
            return "the name of a program that does not write such files"
        check_bytes(path)
        file = pq.ParquetFile(path, read_dictionary=_texts(file.schema_arrow))
        last: list[pa.Table] = []
        for group in range(content.num_row_groups):
            rows = _stored(file.read_row_group(group))
            used = [_occurring(column) for column in rows.columns]
            if sum(map(_letters, rows.columns)) > _LONG_GROUP:
                return LONG_TEXTS
            if not _rightly_summed_up(used, content.row_group(group)):
                return "minima and maxima that are not those of the records"
            if not _in_order(pa.concat_tables([*last, rows])):
                return _UNORDERED
            last = [rows.slice(len(rows) - 1)] if len(rows) else last
        if last and not _in_order(pa.concat_tables([*last, *_first_after(path)])):
            return _UNORDERED
        return None
    except Hidden as error:
        return str(error)
    except Damaged:
        return "something that cannot be read"
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if lacking(error) is not None:
            raise
        return "something that cannot be read"


def _stored(rows: pa.Table) -> pa.Table:
    """Return a table in which values of types of their own, such as UUIDs, are what is stored of them."""
    kinds = [getattr(field.type, "storage_type", field.type) for field in rows.schema]
    return rows.cast(pa.schema([pa.field(field.name, kind) for field, kind in zip(rows.schema, kinds, strict=True)]))


def _in_order(rows: pa.Table) -> bool:
    """Return whether records are sorted by their columns from left to right, missing values last."""
    alike: npt.NDArray[np.intp] | slice = slice(0, max(len(rows) - 1, 0))  # like the next record, in all columns so far
    for column in rows.columns:
        for values in _sortable(column):
            first, second = values[alike], values[1:][alike]
            if (first > second).any():
                return False
            same = np.flatnonzero(first == second)
            alike = same if isinstance(alike, slice) else alike[same]
    return True


def _sortable(column: pa.ChunkedArray) -> Iterator[npt.NDArray[Any]]:
    """Return numbers that sort as the values of a column do: first what is missing or no number, if anything is."""
    if not (
        pa.types.is_dictionary(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    ):
        column = column.dictionary_encode()
    values = column.unify_dictionaries().combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = pc.rank(values.dictionary, tiebreaker="dense").take(values.indices)
    if values.null_count:
        yield np.asarray(values.is_null())
        values = values.fill_null(0)
    numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        yield np.isnan(numbers)
        numbers = np.where(np.isnan(numbers), 0, numbers)
    yield numbers


def _first_after(path: Path) -> list[pa.Table]:
    """Return the record that follows those of a part of a table, in the next part that has any."""
    later = sorted(path.parent.glob("*.parquet")) if path.parent.suffix == ".parquet" else []
    for part in later[later.index(path) + 1 :] if later else []:
        file = pq.ParquetFile(part, read_dictionary=_texts(pq.read_schema(part)))
        for batch in file.iter_batches(1):
            return [_stored(pa.Table.from_batches([batch]))]
    return []


def _texts(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]


def _rightly_summed_up(values: Sequence[pa.ChunkedArray], group: pq.RowGroupMetaData) -> bool:
    """Return whether the least and greatest values that a group of rows states are those of its records."""
    if len(values) != group.num_columns:  # columns within columns, which no release has
        return False
    for number, column in enumerate(values):
        stated = group.column(number).statistics
        if stated is None or not stated.has_min_max:
            continue
        ends = pc.min_max(column).as_py()
        if not (_begins(ends["min"], stated.min) and _ends(ends["max"], stated.max)):
            return False
    return True


def _letters(column: pa.ChunkedArray) -> int:
    """Return how many bytes the texts of a column have, written out for every record."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = [pc.take(pc.binary_length(chunk.dictionary.cast(pa.binary())), chunk.indices) for chunk in column.chunks]
    return sum(pc.sum(each.cast(pa.int64())).as_py() or 0 for each in lengths)


def _occurring(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values that a column has, those of a dictionary once each."""
    if not pa.types.is_dictionary(column.type):
        return column.drop_null()
    used = [chunk.dictionary.take(pc.unique(chunk.indices.drop_null())) for chunk in column.chunks]
    return pa.chunked_array(used, type=column.type.value_type)


def _begins(least: object, stated: object) -> bool:
    """Return whether a value is the one that was stated, or a text of which the beginning was stated."""
    if isinstance(least, str) and isinstance(stated, str):
        return least.startswith(stated) and (least == stated or len(stated.encode()) > 60)
    return least == stated


def _ends(greatest: object, stated: object) -> bool:
    """Return likewise; the last letter of a beginning is the next one, so that no text is greater."""
    if isinstance(greatest, str) and isinstance(stated, str) and len(stated.encode()) > 60:
        return greatest.startswith(stated[:-1]) and greatest <= stated
    return greatest == stated


def check_rendered(release: ReleaseFolder) -> list[Check]:
    """Make the summary and the report again, and compare."""
    try:
        document = gather(release)
        made = {SUMMARY: render_text(document), REPORT: render_html(document)}
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        detail = "the certificate does not say what is needed to make it again"
        return [Check(subject=name, passed=False, detail=detail) for name in (SUMMARY, REPORT)]
    return [_compared(release.path / name, text) for name, text in made.items()]


def _compared(path: Path, text: str) -> Check:
    same = path.is_file() and path.read_bytes() == text.encode()
    detail = "says what the data and the certificate say" if same else "does not say what the data and certificate say"
    return Check(subject=path.name, passed=same, detail=detail)


def check_links(evidence: Evidence) -> list[Check]:
    """Check that tables linked by a class column have the same classes; that others share columns only if they may."""
    certificate = evidence.certificate
    linked = [data for data in certificate.tables if data.class_column is not None]
    checks = []
    if linked:
        first, *others = (evidence.tally_labels(data, [str(data.class_column)]) for data in linked)
        same = all(sizes == first for sizes in others)
        detail = f"the same {len(first):,} classes in {len(linked)} tables" if same else "classes differ between tables"
        checks.append(Check(subject="class link", passed=same and len(linked) > 1, detail=detail))
        checks.append(_check_view(evidence, linked))
    names = [name for data in certificate.tables for name in _unlinked(data)]
    if len(certificate.tables) > 1 and not evidence.plan.method.capabilities.shared_columns:
        shared = sorted({name for name in names if names.count(name) > 1})
        detail = f"`{shared[0]}` is in several tables" if shared else "the tables share no column"
        checks.append(Check(subject="columns of all tables", passed=not shared, detail=detail))
    return checks


def _check_view(evidence: Evidence, linked: list[Data]) -> Check:
    """Compare the view that joins the tables with the one that belongs to them."""
    identifying, confidential = linked[0], linked[-1]
    link, columns = str(identifying.class_column), tuple(_unlinked(confidential))
    people, values = (tables.scan_path(evidence.folder / data.file) for data in (identifying, confidential))
    text = joined_view(people, values, columns, link) + "\n"
    return _compared(evidence.folder / VIEW, text)


def _unlinked(data: Data) -> list[str]:
    return [column.name for column in data.columns if column.name != data.class_column]


def check_hierarchies(evidence: Evidence) -> list[Check]:
    """Make the hierarchies of sensitive columns again from the plan, for the released values, and compare.

    Files that the plan names are of released columns, and hold their rows and nothing else.
    """
    checks = []
    for number, attribute in enumerate(evidence.plan.schema, start=1):
        rule, folder = attribute.hierarchy, evidence.plan.schema.folder
        if rule is None:
            continue
        if attribute.role.left_out or attribute.role.names_someone:
            checks.append(_failed(attribute.name, "plan.toml gives a hierarchy to a column that is not released"))
        elif rule.file not in (None, f"{HIERARCHIES}/{hierarchy_name(number, attribute.name)}"):
            checks.append(_failed(attribute.name, "its hierarchy file does not have the name that Shoal gives it"))
        elif rule.file is not None and canonical_file(rule, folder) != (folder / rule.file).read_bytes():
            checks.append(_failed(rule.file, "it holds more than the rows of a hierarchy, or is written otherwise"))
    listed = {entry.name for entry in evidence.certificate.files}
    for data in evidence.certificate.tables:
        for column in data.columns:
            if column.hierarchy is None or column.name not in evidence.plan.schema:
                continue
            if column.hierarchy not in listed or not (evidence.folder / column.hierarchy).is_file():
                detail = "the certificate names it, but does not fingerprint it"
                checks.append(Check(subject=column.name, passed=False, detail=detail))
                continue
            if not _PLACED.fullmatch(column.hierarchy):
                checks.append(_failed(column.name, "its hierarchy file does not have the name that Shoal gives it"))
            rule = evidence.plan.schema[column.name].hierarchy
            if rule is not None and rule.data_dependent:
                detail = "its levels, which were read off the original table"
                checks.append(Check(subject=column.hierarchy, passed=True, detail=detail, shown=False))
                continue
            same = _rebuilt(evidence, data, column.name) == (evidence.folder / column.hierarchy).read_bytes()
            detail = "follows from plan.toml" if same else "is not the hierarchy that plan.toml declares"
            checks.append(Check(subject=column.hierarchy, passed=same, detail=detail))
    return checks


def _rebuilt(evidence: Evidence, data: Data, name: str) -> bytes:
    """Return the hierarchy file of a sensitive column, for the released values, as the plan declares it."""
    first, *others = (each.name for each in data.columns if each.name != name)
    grouped = Attribute(name=first, role=Role.QUASI_IDENTIFIER, hierarchy=Flat())
    unread = (Attribute(name=other, role=Role.INSENSITIVE) for other in others)
    described = evidence.plan.schema
    schema = Schema(attributes=(described[name], grouped, *unread), folder=described.folder)
    table = evidence.tables[data.file]
    encoded = tables.encode(table.with_schema(schema, allow_empty=True), sensitive=(name,))
    hierarchy = encoded.frequencies.sensitive[0].hierarchy
    if hierarchy is None:
        return b""
    released = {*text(tables.distinct_values(table, name).combine_chunks()).to_pylist()}
    with TemporaryDirectory() as scratch:
        hierarchies.write_arx(hierarchy, Path(scratch) / "again.csv", only=released)
        return (Path(scratch) / "again.csv").read_bytes()
