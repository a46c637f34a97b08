"""What the columns of a table look like, for drafting a schema."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from shoal.schema import ColumnProfile, Guess, Reading, habits, looks
from shoal.tables._conform import day_of, not_finite, number_of, without
from shoal.tables._engine import quiet
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["profile"]

_LEADING_ZERO = r"^0[0-9]+$"
# so small a share of unreadable values is proposed to count as missing
_FEW = 0.01
_SAMPLE = 2000  # distinct texts that are looked at, the most common first


def profile(table: Table) -> tuple[ColumnProfile, ...]:
    """Return statistics of every column, computed on the engine.

    Notes
    -----
    Each column is grouped once; what is fetched is one row per column, and its most common texts, to see what they look
    like. No text is kept.
    """
    with quiet(table.source.name):
        records = table.count()
        return tuple(_column(table, name, records) for name in table.columns)


def _column(table: Table, name: str, records: int) -> ColumnProfile:
    kind = _kind(table.expression[name].type())
    if kind == "other":  # lists and structures: not every engine can group them
        return _counted(table, name, records)
    column = table.expression[name]
    counted = table.expression.group_by(value=column).aggregate(times=table.expression.count())
    values = counted.filter(counted.value.notnull())
    texts = _texts(table, values)
    decimal = table.source.detail("decimal")
    written = habits(texts, decimal=decimal) if kind in ("text", "integer", "number") else Guess(Reading())
    if written.value.missing_values:
        present = without(values.value, written.value.missing_values).notnull()
        values, texts = values.filter(present), {t: n for t, n in texts.items() if _kept(t, written.value, kind)}
    row = table.engine.fetch(values.aggregate(**_statistics(values, kind, written.value, decimal))).to_pylist()[0]
    return _profile(name, kind, records, row, written, _looked_at(table, values, kind, texts, int(row["distinct"])))


def _kept(text: str, written: Reading, kind: str) -> bool:
    if kind == "text":
        return text.strip() not in written.missing_values
    return float(text) not in map(float, written.missing_values)


def _looked_at(table: Table, values: ir.Table, kind: str, texts: dict[str, int], distinct: int) -> dict[str, Any]:
    return {
        "lengths": _lengths(table, values, distinct, list(texts)),
        "looks": looks(texts) if kind == "text" else {},
    }


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
        singles=int(row["singles"] or 0),
        reading=written.value,
        written=written.reason,
        unreadable=unreadable["numbers"] if few["numbers"] else unreadable["dates"] if few["dates"] else 0,
        **looked_at,
    )


def _texts(table: Table, values: ir.Table) -> dict[str, int]:
    """Return the most common values as text, each with its number of records."""
    import ibis

    common = values.order_by([ibis.desc("times"), ibis.asc("value")]).limit(_SAMPLE)
    rows = table.engine.fetch(common.select(text=common.value.cast("string"), times=common.times))
    return dict(zip(rows["text"].to_pylist(), rows["times"].to_pylist(), strict=True))


def _statistics(values: ir.Table, kind: str, written: Reading, decimal: str | None) -> dict[str, Any]:
    value, times = values.value, values.times.cast("float64")
    asked: dict[str, Any] = {
        "distinct": values.count(),
        "present": values.times.sum(),
        "pairs": (times * (times - 1)).sum(),
        "singles": (values.times == 1).sum(),
        "longest": value.cast("string").length().max(),
    }
    if kind == "text":
        number = number_of(value, decimal=written.decimal or decimal, thousands=written.thousands)
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
            "first_day": day.min(),
            "last_day": day.max(),
        }
    if kind in ("date", "timestamp"):
        day = value.date() if kind == "timestamp" else value
        return asked | {"dates": values.count(), "first_day": day.min(), "last_day": day.max()}
    number = value.cast("int8") if kind == "boolean" else value
    number = number.cast("float64") if number.type().is_decimal() else number
    finite = ~not_finite(number) if number.type().is_floating() else number.notnull()
    whole = finite & (number % 1 == 0) if kind == "number" else finite
    return asked | {
        "integers": whole.sum(),
        "numbers": finite.sum(),
        "smallest_number": number.min(where=finite),
        "largest_number": number.max(where=finite),
    }


def _lengths(table: Table, values: ir.Table, distinct: int, texts: list[str]) -> tuple[tuple[int, float], ...]:
    """Return the most common lengths; the engine counts them where there are more texts than were fetched."""
    import ibis

    if len(texts) == distinct:
        times = Counter(map(len, texts))
        common = sorted(times.items(), key=lambda each: (-each[1], each[0]))[:3]
        return tuple((length, count / distinct) for length, count in common)
    lengths = values.group_by(length=values.value.cast("string").length()).aggregate(times=values.count())
    most = lengths.order_by([ibis.desc("times"), ibis.asc("length")]).limit(3)
    return tuple((int(row["length"]), row["times"] / distinct) for row in table.engine.fetch(most).to_pylist())


def _counted(table: Table, name: str, records: int) -> ColumnProfile:
    column = table.expression[name]
    row = table.engine.fetch(table.expression.aggregate(present=column.count())).to_pylist()[0]
    present = int(row["present"])
    # nothing better is known without comparing values: all differ
    return ColumnProfile(
        name=name, type="other", records=records, missing=records - present, distinct=present, separation=1.0
    )


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
