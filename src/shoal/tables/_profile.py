"""Profiles of the columns of a table, for drafting a schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.schema import ColumnProfile, Guess, Reading, bands, habits, looks, states
from shoal.tables._conform import day_of, not_finite, number_of, refuse_no_days, without
from shoal.tables._engine import quiet
from shoal.tables._expressions import array, ascending, descending, literal, row_number, struct
from shoal.tables._relations import TableQuery
from shoal.tables._table import Table
from shoal.tables._types import INTEGER

_LEADING_ZERO = r"^0[0-9]+$"
# so small a share of unreadable values is proposed to count as missing
_FEW = 0.01
_SAMPLE = 2000  # distinct texts that are looked at, the most common first
_CELLS = 20_000_000  # that one query counts; a single column may have more
_COLUMNS = 500  # of one query; much longer ones take engines long to plan
_LENGTHS = 3


def profile(table: Table, *, date_format: str | None = None) -> tuple[ColumnProfile, ...]:
    """Return statistics of every column, computed on the engine; no schema is needed.

    ``date_format`` is how days are written, such as ``dd/mm/yyyy``; found out from each column where not given.

    Columns of one type that are written alike are counted together, as many as make up a few million cells: a wide
    table takes as many queries as a narrow one. What is fetched is one row per column, and its most common texts, to
    see what they look like. No text is kept.
    """
    with quiet(table.source.name):
        records = table.count()
        profiles: dict[str, ColumnProfile] = {}
        for names in _together(table, records):
            profiles |= _profiles(table, names, records, date_format)
        return tuple(replace(profiles[name], title=table.titles.get(name, "")) for name in table.columns)


def _together(table: Table, records: int) -> Iterator[list[str]]:
    by_type: dict[Any, list[str]] = {}
    for name in table.columns:
        by_type.setdefault(table.expression[name].type(), []).append(name)
    most = min(_COLUMNS, max(1, _CELLS // max(1, records)))
    for names in by_type.values():
        yield from (names[start : start + most] for start in range(0, len(names), most))


def _profiles(table: Table, names: Sequence[str], records: int, date_format: str | None) -> dict[str, ColumnProfile]:
    kind = _kind(table.expression[names[0]].type())
    if kind == "other":  # lists and structures: not every engine can group them
        return _profile_by_counts(table, names, records)
    decimal = table.source.detail("decimal")
    texts = _texts(table, names)
    alike: dict[Reading, list[str]] = {}
    written = {}
    for name in names:
        guess = Guess(Reading())
        if kind in ("text", "integer", "number"):
            guess = habits(texts[name], decimal=decimal, date_format=date_format)
        written[name] = guess
        alike.setdefault(guess.value, []).append(name)
        if guess.value.missing_values:
            texts[name] = {text: times for text, times in texts[name].items() if _is_value(text, guess.value, kind)}
    profiles = {}
    for reading, columns in alike.items():
        rows = _rows(table, columns, kind, reading, decimal)
        lengths = _lengths(table, {name: int(rows[name]["distinct"]) for name in columns}, texts, reading)
        for name in columns:
            looked_at: dict[str, Any] = {
                "lengths": lengths[name],
                "looks": looks(texts[name]) if kind == "text" else {},
            }
            if kind == "text":
                values = [text.strip() for text in texts[name] if text.strip()]
                looked_at |= {"bands": bands(values), "states": states(values)}
            profiles[name] = _profile(name, kind, records, rows[name], written[name], looked_at)
    return profiles


def _values(table: Table, names: Sequence[str], missing: tuple[str, ...] = ()) -> TableQuery:
    """Return the values of columns of one type, each with its column's place among the names and its records."""
    records = table.expression
    if len(names) == 1:
        cells = records.select(column=literal(0, "int64"), value=records[names[0]])
    else:
        pairs = [struct(column=literal(position, "int64"), value=records[name]) for position, name in enumerate(names)]
        kind = records[names[0]].type()
        listed = records.select(cell=array(pairs).unnest())
        cells = listed.select(column=listed.cell.member("column", INTEGER), value=listed.cell.member("value", kind))
    counted = cells.group_by(["column", "value"]).aggregate(times=cells.count())
    return counted.filter((without(counted.value, missing) if missing else counted.value).notnull())


def values_of_column(table: Table, name: str, missing: tuple[str, ...]) -> TableQuery:
    """Return the different values of a column but for the missing one, and how many records have each."""
    return _values(table, [name], missing)


def _is_value(text: str, written: Reading, kind: str) -> bool:
    if kind == "text":
        return text.strip() not in written.missing_values
    return float(text) not in map(float, written.missing_values)


def _profile(
    name: str, kind: str, records: int, row: dict[str, Any], written: Guess[Reading], looked_at: dict[str, Any]
) -> ColumnProfile:
    distinct, present = int(row["distinct"]), int(row["present"] or 0)
    missing = records - present
    pairs = float(row["pairs"] or 0) + missing * (missing - 1)

    def share(of: str) -> float:
        return float(row.get(of) or 0) / distinct if distinct else 0.0

    unreadable = {what: present - int(row.get(f"{what}_records") or 0) for what in ("numbers", "dates")}
    few = {what: kind == "text" and 0 <= number <= _FEW * present for what, number in unreadable.items()}
    numeric = kind in ("integer", "number", "boolean") or few["numbers"]
    dated = kind in ("date", "timestamp") or few["dates"]
    bounds = ("smallest_number", "largest_number") if numeric else ("first_day", "last_day") if dated else ("", "")
    return ColumnProfile(
        name=name,
        type=kind,
        records=records,
        missing=missing,
        distinct=distinct,
        separation=max(0.0, 1 - pairs / (records * (records - 1))) if records > 1 else 0.0,
        integers=share("integers"),
        numbers=share("numbers"),
        dates=share("dates"),
        leading_zeros=share("leading_zeros"),
        minimum=row.get(bounds[0]),
        maximum=row.get(bounds[1]),
        longest=int(row["longest"] or 0),
        mean=float(row.get("total") or 0) / present if numeric and present else 0.0,
        singles=int(row["singles"] or 0),
        reading=written.value,
        written=written.reason,
        unreadable=unreadable["numbers"] if few["numbers"] else unreadable["dates"] if few["dates"] else 0,
        **looked_at,
    )


def _texts(table: Table, names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the most common values of columns as text, each with its number of records."""
    values = _values(table, names)
    order = [descending("times"), ascending("value")]
    if len(names) == 1:  # an engine finds the first of all without sorting the others
        common = values.order_by(order).limit(_SAMPLE)
    else:
        placed = values.mutate(place=row_number().over(group_by="column", order_by=order))
        common = placed.filter(placed.place < _SAMPLE).order_by(["column", "place"])
    rows = table.engine.fetch(common.select("column", text=common.value.cast("string"), times=common.times))
    texts: dict[str, dict[str, int]] = {name: {} for name in names}
    for column, text, times in zip(*(rows[name].to_pylist() for name in ("column", "text", "times")), strict=True):
        texts[names[column]][text] = times
    return texts


def _rows(
    table: Table, names: Sequence[str], kind: str, written: Reading, decimal: str | None
) -> dict[str, dict[str, Any]]:
    """Return the statistics of columns that are written alike."""
    values = _values(table, names, written.missing_values)
    asked = values.group_by("column").aggregate(**_statistics(values, kind, written, decimal))
    try:
        rows = {row.pop("column"): row for row in table.engine.fetch(asked).to_pylist()}
    except OverflowError:  # a day that Python does not know
        refuse_no_days(table)
        raise
    empty = dict.fromkeys(asked.columns) | {"distinct": 0}
    return {name: rows.get(position, empty) for position, name in enumerate(names)}


def _statistics(values: TableQuery, kind: str, written: Reading, decimal: str | None) -> dict[str, Any]:
    value, times = values.value, values.times.cast("float64")
    asked: dict[str, Any] = {
        "distinct": values.count(),
        "present": values.times.sum(),
        "pairs": (times * (times - 1)).sum(),
        "singles": (values.times == 1).sum(),
        "longest": value.cast("string").length().max(),
    }
    if kind == "text":
        number = number_of(value, decimal=written.decimal or decimal, thousands=written.thousands, unit=written.unit)
        day = day_of(value, written.date_format)
        readable = number.value.notnull() & ~number.not_finite
        return asked | {
            "integers": number.whole.sum(),
            "numbers": readable.sum(),
            "numbers_records": values.times.sum(where=readable),
            "dates_records": values.times.sum(where=day.notnull()),
            "dates": day.notnull().sum(),
            "leading_zeros": value.re_search(_LEADING_ZERO).sum(),
            "smallest_number": number.value.min(),
            "largest_number": number.value.max(),
            "total": (number.value * times).sum(where=readable),
            "first_day": day.min(),
            "last_day": day.max(),
        }
    if kind in ("date", "timestamp"):
        day = value.date() if kind == "timestamp" else value
        return asked | {"dates": values.count(), "first_day": day.min(), "last_day": day.max()}
    figure = value.cast("int8") if kind == "boolean" else value
    figure = figure.cast("float64") if figure.type().is_decimal() else figure
    finite = ~not_finite(figure) if figure.type().is_floating() else figure.notnull()
    whole = finite & (figure % 1 == 0) if kind == "number" else finite
    return asked | {
        "integers": whole.sum(),
        "numbers": finite.sum(),
        "smallest_number": figure.min(where=finite),
        "largest_number": figure.max(where=finite),
        "total": (figure.cast("float64") * times).sum(where=finite),
    }


def _lengths(
    table: Table, distinct: Mapping[str, int], texts: Mapping[str, Mapping[str, int]], written: Reading
) -> dict[str, tuple[tuple[int, float], ...]]:
    """Return the most common lengths; the engine counts them where there are more texts than were fetched."""
    found = {name: Counter(map(len, texts[name])) for name in distinct}
    more = [name for name, number in distinct.items() if len(texts[name]) < number]
    if more:
        values = _values(table, more, written.missing_values)
        measured = values.mutate(length=values.value.cast("string").length())
        lengths = measured.group_by(["column", "length"]).aggregate(times=measured.count())
        found |= {name: Counter() for name in more}
        for row in table.engine.fetch(lengths).to_pylist():
            found[more[row["column"]]][int(row["length"])] = row["times"]
    return {
        name: tuple(
            (length, times / distinct[name])
            for length, times in sorted(lengths.items(), key=lambda each: (-each[1], each[0]))[:_LENGTHS]
        )
        for name, lengths in found.items()
    }


def _profile_by_counts(table: Table, names: Sequence[str], records: int) -> dict[str, ColumnProfile]:
    asked = {f"column {position}": table.expression[name].count() for position, name in enumerate(names)}
    row = table.engine.fetch(table.expression.aggregate(**asked)).to_pylist()[0]
    # nothing better is known without comparing values: all differ
    return {
        name: ColumnProfile(
            name=name,
            type="other",
            records=records,
            missing=records - int(present),
            distinct=int(present),
            separation=1.0,
        )
        for name, present in zip(names, row.values(), strict=True)
    }


def _kind(kind: Any) -> str:
    if kind.is_string():
        return "text"
    if kind.is_boolean():
        return "boolean"
    if kind.is_integer():
        return "integer"
    if kind.is_floating() or kind.is_decimal():
        return "number"
    if kind.is_date():
        return "date"
    return "timestamp" if kind.is_timestamp() else "other"
