"""Check that records fit a schema, and give them the types it says."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.errors import DataError, HierarchyError, Problems, SchemaError
from shoal.exact import fraction, share
from shoal.hierarchies import declared_leaves
from shoal.schema import Attribute, Domain, Kind, Missing, Outside, Role, Schema, date_pattern
from shoal.schema.rules import text
from shoal.tables._engine import ROW, compute, figures, key, name_values, text_of
from shoal.tables._expressions import Value, any_of, literal
from shoal.tables._relations import TableQuery

if TYPE_CHECKING:
    from shoal.tables._table import Table


_INEXACT = 'floating point to tell it from others; give these keys as text, with `kind = "categorical"`'
_NO_DAY = "24:00, or not in the years 1 to 9999; no day or time elsewhere equals"
_WRONG = {
    "unreadable": ("not a {}", "not {}s"),
    "not finite": ("not a finite number", "not finite numbers"),
    "no day": (f"infinite, {_NO_DAY} it", f"infinite, {_NO_DAY} them"),
    "outside": ("outside the declared bounds", "outside the declared bounds"),
    "below": ("not above 0, but every record stands for somebody", "not above 0, but every record stands for somebody"),
    "too large": ("too large to be rounded", "too large to be rounded"),
    # one key with a fraction would merge others that differ in their last digits
    "alike": (f"too large for {_INEXACT}", f"too large for {_INEXACT}"),
}
# taking each for a person of its own would make crowds look larger than they are
_NOBODY = (
    "and a record without a {} may belong to one that is already counted; fill in the keys, or leave these records "
    'out with `missing = "drop"`'
)
# the engines' own conversions differ (Spark takes 1d for a number), so the text is looked at first
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"  # fits into 64 bits
_WITH_UNIT = r"^[+-]?(%s)?\s*[+-]?[0-9.][0-9.,' ]*(%s)?$"
_NUMBER_TEXT = re.compile(_NUMBER)
_GROUPED = r"^[+-]?[0-9]{1,3}(%s[0-9]{3})+(\.[0-9]*)?$"
_NOT_FINITE = r"^[+-]?(nan|inf|infinity)$"
# figures asked for in one pass: an engine's planning takes time in proportion to their square
_AT_ONCE = 128
_RESOLUTION = 2.0**53  # from here on, floating point does not tell whole numbers apart
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$"


def conform(table: Table, schema: Schema, *, allow_empty: bool) -> Table:
    """Return ``table`` typed by ``schema``; see :meth:`shoal.tables.Table.with_schema`.

    Few passes over the records: one for every 128 figures counts what can be wrong, one more per column with declared
    values looks at the distinct ones. A text column of numbers becomes a column of integers where every one of them is
    whole.
    """
    _check_columns(table, schema)
    readings = {attribute.name: _reading(table, attribute, schema.missing_values) for attribute in schema}
    counts = _count(table, readings)
    problems = Problems()
    for attribute in schema:
        _judge(table, readings[attribute.name], counts, problems)
        empty = counts[f"{attribute.name}/missing"] == counts["records"]
        if empty and not allow_empty and not schema.is_total and not attribute.role.left_out:
            problems.add(f'column `{attribute.name}` has no value in any record; set `role = "drop"` to leave it out')
    typed = table.expression.mutate(
        *name_values({name: key(reading.value(counts)) for name, reading in readings.items()})
    )
    replaced: dict[str, Value] = {}
    for attribute in schema:
        if readings[attribute.name].problem is None and not attribute.role.left_out:
            replaced |= _check_values(table, typed, attribute, schema, counts, problems)
    problems.raise_as(SchemaError, hint=_hint(table, schema, counts))
    typed = typed.mutate(*name_values(replaced)) if replaced else typed
    typed, left_out = _leave_out(table, typed, schema, counts)
    if not schema.is_total:
        _check_households(table, typed, schema)
    hidden = [ROW] if ROW in typed.columns else []
    chosen = typed.select(*schema.names, *hidden)
    notes = (*table.notes, *_notes(schema, counts), *_notes_of_outside(schema, counts))
    return replace(table, expression=chosen, schema=schema, left_out=table.left_out + left_out, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Reading:
    """How a column is read: what it becomes, and which conditions on its records are counted."""

    attribute: Attribute
    conditions: dict[str, Value]
    column: Value
    whole: Value | None = None
    problem: str | None = None

    def value(self, found: dict[str, int]) -> Value:
        """Return the typed column."""
        name, step = self.attribute.name, self.attribute.reading.round_to
        whole = self.whole is not None and found[f"{name}/whole"] == found["records"] - found[f"{name}/missing"]
        column = self.whole if self.whole is not None and whole else self.column
        return column if step is None else round_to_step(column, step)


def round_to_step(number: Any, step: float) -> Any:
    """Return the nearest multiple of a step, halves rounded up; an integer where the step is one."""
    exact = fraction(step)
    steps = (number.cast("float64") * exact.denominator / exact.numerator + 0.5).floor()
    multiple = steps * exact.numerator / exact.denominator
    return multiple.cast("int64") if exact.denominator == 1 else multiple


def _check_columns(table: Table, schema: Schema) -> None:
    problems = Problems()
    columns = {*table.columns}
    for name in schema.names:
        if name not in columns:
            problems.add(f"column `{name}` of the schema is not in {table.source.name}")
    for name in table.columns:
        if name not in schema:
            problems.add(f"column `{name}` of {table.source.name} is not in the schema")
    problems.raise_as(
        SchemaError, hint="every column needs an entry in the schema, so that nothing is released by accident"
    )


def _reading(table: Table, attribute: Attribute, missing_values: tuple[str, ...]) -> _Reading:
    column = without(table.expression[attribute.name], (*missing_values, *attribute.reading.missing_values))
    kind, role = column.type(), attribute.role
    reading = _Reading(attribute=attribute, conditions={"missing": column.isnull()}, column=column)
    if kind.is_nested() and not (role.left_out or role is Role.IDENTIFIER):
        return replace(reading, problem="holds lists or structures")
    if kind.is_interval() and not role.left_out:
        return replace(reading, problem="holds durations; turn them into numbers, such as days")
    if kind.is_binary() and (role.known_elsewhere or role in (Role.SENSITIVE, Role.INSENSITIVE)):
        return replace(reading, problem="holds bytes; turn them into text, or drop the column")
    if kind.is_temporal() and not role.left_out:
        reading = replace(reading, conditions=reading.conditions | {"no day": no_day(column)})
    if role.left_out or attribute.kind not in (Kind.NUMERIC, Kind.DATE):
        return _apply_meanings(_apart(reading))
    read = _numeric(reading, _decimal(table, attribute)) if attribute.kind is Kind.NUMERIC else _date(reading)
    if attribute.reading.round_to is not None and read.problem is None:
        too_large = read.column.cast("float64").abs() >= _RESOLUTION
        read = replace(read, conditions=read.conditions | {"too large": too_large})
    return read if read.problem is not None else _apply_meanings(_check_bounds(_apart(read)))


def _decimal(table: Table, attribute: Attribute) -> str | None:
    """Return the decimal mark of a column of text whose schema names none.

    Where no value is refused, as under differential privacy, a mark that was guessed from records does not count: one
    record could give the numbers of all others another meaning.
    """
    is_total = attribute.outside != Outside.REFUSE
    return None if is_total and "decimal" not in table.source.stated else table.source.detail("decimal")


def _apply_meanings(reading: _Reading) -> _Reading:
    """Give every value a meaning, where the schema says so: one that is no number or day is missing."""
    attribute, column = reading.attribute, reading.column
    if attribute.outside == Outside.REFUSE or attribute.role.left_out:
        return reading
    if {"not finite", "outside"} <= reading.conditions.keys():
        finite = ~reading.conditions["not finite"].fill_null(False)
        reading = replace(reading, conditions=reading.conditions | {"outside": reading.conditions["outside"] & finite})
    unheld = ("not finite", "no day", "below", "alike", "too large")
    wrong = [reading.conditions[what] for what in unheld if what in reading.conditions]
    for condition in wrong:
        column = condition.fill_null(False).ifelse(None, column)
    domain = attribute.domain
    if "outside" in reading.conditions and domain is not None:
        if attribute.outside == Outside.CLAMP:
            column = _clamp_to_domain(column, attribute.kind, domain)
        else:
            column = reading.conditions["outside"].fill_null(False).ifelse(None, column)
    # whether all others are whole must not decide how a number is held
    return replace(reading, column=column, whole=None, conditions=reading.conditions | {"missing": column.isnull()})


def _clamp_to_domain(column: Any, kind: Kind, domain: Domain) -> Any:
    """Return each number or day, or the bound that is nearest to it; missing ones stay."""
    numbers = kind is Kind.NUMERIC
    column = column.cast("float64") if numbers else column
    low, high = (float(bound) if numbers else bound for bound in (domain.minimum, domain.maximum))  # type: ignore[arg-type]
    return (column < low).fill_null(False).ifelse(low, (column > high).fill_null(False).ifelse(high, column))


def _apart(reading: _Reading) -> _Reading:
    """Count the keys that floating point may make the same."""
    column: Any = reading.column
    if not reading.attribute.role.groups_records or not column.type().is_floating():
        return reading
    return replace(reading, conditions=reading.conditions | {"alike": column.abs() >= _RESOLUTION})


def _numeric(reading: _Reading, decimal: str | None) -> _Reading:
    column, written = reading.column, reading.attribute.reading
    kind = column.type()
    if kind.is_string():
        # the file's own mark is guessed from records: one of them must not turn what separates thousands for all others
        mark = written.decimal or ("." if written.thousands == "," else decimal)
        number = number_of(column, decimal=mark, thousands=written.thousands, unit=written.unit)
        unreadable = column.notnull() & number.value.isnull() & ~number.not_finite
        conditions = _allow_unreadable(reading, unreadable) | {"not finite": number.not_finite, "whole": number.whole}
        return replace(reading, conditions=conditions, column=number.value, whole=number.integer)
    if kind.is_boolean():
        return replace(reading, column=column.cast("int8"))
    if kind.is_floating():
        return replace(reading, conditions=reading.conditions | {"not finite": not_finite(column)})
    return reading if kind.is_numeric() else replace(reading, problem=f"holds {_name_type(kind)}, not numbers")


def _date(reading: _Reading) -> _Reading:
    column: Any = reading.column
    kind = column.type()
    if kind.is_string():
        day = day_of(column, reading.attribute.reading.date_format)
        return replace(reading, conditions=_allow_unreadable(reading, column.notnull() & day.isnull()), column=day)
    if kind.is_timestamp():
        return replace(reading, column=column.date())
    return reading if kind.is_date() else replace(reading, problem=f"holds {_name_type(kind)}, not dates")


def _allow_unreadable(reading: _Reading, unreadable: Any) -> dict[str, Any]:
    """Return the conditions with what counts as unreadable; that is missing, too, where the schema allows some."""
    missing = reading.conditions["missing"]
    if reading.attribute.reading.unreadable:
        missing = missing | unreadable
    return reading.conditions | {"unreadable": unreadable, "missing": missing}


def _check_bounds(reading: _Reading) -> _Reading:
    domain = reading.attribute.domain
    if reading.attribute.role is Role.WEIGHT:
        reading = replace(reading, conditions=reading.conditions | {"below": reading.column <= 0})
    if domain is None or (domain.minimum is None and domain.maximum is None):
        return reading
    outside = literal(False)
    if domain.minimum is not None:
        outside = outside | (reading.column < domain.minimum)
    if domain.maximum is not None:
        outside = outside | (reading.column > domain.maximum)
    return replace(reading, conditions=reading.conditions | {"outside": outside})


def _count(table: Table, readings: dict[str, _Reading]) -> dict[str, int]:
    """Count the records that meet each condition, in one pass; where some are wrong, find the first in another."""
    records = table.expression
    conditions = {
        f"{name}/{what}": condition
        for name, reading in readings.items()
        for what, condition in reading.conditions.items()
    }
    asked: dict[str, Value] = {"records": records.count()}
    asked |= {name: records.count(where=condition) for name, condition in conditions.items()}
    dropped = [
        reading.conditions["missing"] for reading in readings.values() if reading.attribute.missing is Missing.DROP
    ]
    if dropped:
        asked["left out"] = records.count(where=any_of(*dropped))
    totals = compute_figures(table, asked)
    if table.source.first_row is None or ROW not in records.columns:
        return totals
    refused = [name for name, reading in readings.items() if reading.attribute.missing is Missing.REFUSE]
    wrong = [f"{name}/{what}" for name in readings for what in _WRONG] + [f"{name}/missing" for name in refused]
    shown = [name for name in wrong if totals.get(name, 0) > 0]
    return totals | compute_figures(
        table, {f"{name}/first": records[ROW].min(where=conditions[name]) for name in shown}
    )


def compute_figures(table: Table, asked: dict[str, Value]) -> dict[str, int]:
    """Compute figures, many at a time; -1 where there is none. Positions stand for names, which may hold anything."""
    totals: dict[str, int] = {}
    for start in range(0, len(asked), _AT_ONCE):
        keys = list(asked)[start : start + _AT_ONCE]
        row = figures(table, table.expression.aggregate(**{f"a{i}": asked[key] for i, key in enumerate(keys)}))
        totals |= {key: -1 if value is None else int(value) for key, value in zip(keys, row.values(), strict=True)}
    return totals


def _judge(table: Table, reading: _Reading, found: dict[str, int], problems: Problems) -> None:
    attribute, name = reading.attribute, reading.attribute.name
    if reading.problem is not None:
        problems.add(f"column `{name}` {reading.problem}")
        return
    for what, (one, several) in _WRONG.items():
        if attribute.outside != Outside.REFUSE:
            break
        number = found.get(f"{name}/{what}", 0)
        if what == "alike" and reading.whole is not None and reading.value(found) is reading.whole:
            continue  # they stay whole numbers
        if number > 0 and not (what == "unreadable" and _few(attribute, number, found)):
            wanted = (one if number == 1 else several).format(attribute.kind.replace("numeric", "number"))
            first = _first(table, found.get(f"{name}/{what}/first", -1))
            problems.add(f"column `{name}`: {_are(number)} {wanted}{first}")
    missing = found[f"{name}/missing"]
    if 0 < missing < found["records"] and attribute.missing is Missing.REFUSE:
        first = _first(table, found.get(f"{name}/missing/first", -1))
        why = (
            f", {_NOBODY.format(attribute.role)}"
            if attribute.role.groups_records
            else ", which the schema does not allow"
        )
        problems.add(f"column `{name}`: {_are(missing)} missing{why}{first}")


def _check_households(table: Table, typed: TableQuery, schema: Schema) -> None:
    """Refuse persons that are in several households: risks and promises of a household would not add up."""
    if schema.person is None or schema.household is None:
        return
    pairs = typed.select(person=key(typed[schema.person]), household=key(typed[schema.household])).distinct()
    several = pairs.group_by("person").aggregate(households=pairs.count())
    several = several.filter(several.households > 1)
    number = int(figures(table, several.aggregate(persons=several.count()))["persons"])
    if number:
        who = "1 person is" if number == 1 else f"{number:,} persons are"
        raise SchemaError(
            f"column `{schema.household}`: {who} in several households; a person may belong to only one household",
            hint=f"give every value of `{schema.person}` one value of `{schema.household}`, such as the latest",
        )


def _few(attribute: Attribute, unreadable: int, found: dict[str, int]) -> bool:
    """Return whether the schema lets so many unreadable values count as missing."""
    present = found["records"] - found[f"{attribute.name}/missing"] + unreadable
    allowed = attribute.reading.unreadable
    return attribute.missing is not Missing.REFUSE and 0 < unreadable <= Fraction(str(allowed)) * present


def _notes(schema: Schema, found: dict[str, int]) -> tuple[str, ...]:
    """Say in numbers which values were taken as missing because they could not be read."""
    counts = ((each, found.get(f"{each.name}/unreadable", 0)) for each in schema if each.reading.unreadable)
    return tuple(
        f"column `{each.name}`: {_are(number)} not {'a date' if each.kind is Kind.DATE else 'a number'} and "
        f"{'counts' if number == 1 else 'count'} as missing (the schema allows {share(each.reading.unreadable)})"
        for each, number in counts
        if number > 0
    )


def without(column: Any, missing_values: tuple[str, ...]) -> Any:
    """Return a column with null where a value stands for a missing one; numbers are compared as numbers."""
    if not missing_values:
        return column
    kind = column.type()
    if kind.is_string():
        return column.strip().isin(missing_values).ifelse(None, column)
    if kind.is_floating() and any(value.lower() == "nan" for value in missing_values):
        column = column.isnan().ifelse(None, column)
    numbers = [float(value) for value in missing_values if _NUMBER_TEXT.match(value)]
    if kind.is_numeric() and numbers:
        return column.cast("float64").isin(numbers).ifelse(None, column)
    return column


def _notes_of_outside(schema: Schema, found: dict[str, int]) -> Iterator[str]:
    """Say in numbers which values were replaced because the schema does not allow them."""
    for attribute in schema:
        if attribute.outside == Outside.REFUSE:
            continue
        wrong = sum(max(found.get(f"{attribute.name}/{what}", 0), 0) for what in _WRONG if what != "outside")
        outside = max(found.get(f"{attribute.name}/outside", 0), 0)
        instead = {Outside.CLAMP: "became the nearest bound", Outside.MISSING: "counted as missing"}
        became = instead.get(attribute.outside, "became the declared value for all others")  # type: ignore[call-overload]
        if outside:
            yield f"column `{attribute.name}`: {_are(outside)} outside the declared domain and {became}"
        if wrong:
            yield f"column `{attribute.name}`: {_are(wrong)} unreadable and counted as missing"


def _declared_values(attribute: Attribute, schema: Schema, problems: Problems) -> frozenset[str] | None:
    """Return the values of a column that the schema lists; None where it lists none that could be checked.

    Quasi-identifiers are compared with their hierarchies where they are encoded, unless no value may be an error.
    """
    domain = attribute.domain
    if domain is not None and domain.values is not None:
        canonical = map(_canonical, domain.values) if attribute.kind is Kind.NUMERIC else ()
        return frozenset((*domain.values, *canonical))
    listed = attribute.hierarchy is not None and attribute.hierarchy.lists_values
    released = attribute.role in (Role.SENSITIVE, Role.INSENSITIVE)
    if not listed or (attribute.outside == Outside.REFUSE and not released):
        return None
    try:
        return frozenset(declared_leaves(attribute, folder=schema.folder))
    except HierarchyError as error:
        problems.take(error)
        return None


def _check_values(
    table: Table,
    typed: TableQuery,
    attribute: Attribute,
    schema: Schema,
    found: dict[str, int],
    problems: Problems,
) -> dict[str, Value]:
    """Compare the distinct values of a column with the declared ones; return the column with others in their place.

    That is for columns of which the schema says what others stand for; elsewhere they are a problem.
    """
    declared = _declared_values(attribute, schema, problems)
    if declared is None:
        return {}
    column: Any = typed[attribute.name]
    # as text wherever a text may stand for others, whether it does or not: no cell decides the type of all others
    as_text = attribute.outside not in tuple(Outside) and not column.type().is_string()
    written = text_of(column)
    values = typed.select(value=column)
    values = values.filter(values["value"].notnull()).group_by("value").aggregate(records=values.count())
    rows = compute(table, values.mutate(written=text_of(values["value"])))
    labels, spellings = text(rows["value"]).to_pylist(), rows["written"].to_pylist()
    outside = [row for row, label in enumerate(labels) if label not in declared]
    number = sum(rows["records"][row].as_py() for row in outside)
    refused = attribute.outside == Outside.MISSING and attribute.missing is Missing.REFUSE
    if outside and (attribute.outside == Outside.REFUSE or refused):
        listed = attribute.domain is None or attribute.domain.values is None
        among = "in its hierarchy" if listed else "among the declared values"
        problems.add(f"column `{attribute.name}`: {_are(number)} not {among} ({len(outside):,} distinct)")
        return {}
    if not as_text and not outside:
        return {}
    found[f"{attribute.name}/outside"] = number
    strange = written.isin([spellings[row] for row in outside]).fill_null(False)
    if not as_text:
        instead = None if attribute.outside in tuple(Outside) else attribute.outside
        return {attribute.name: strange.ifelse(instead, column)}
    for spelling, label in zip(spellings, labels, strict=True):
        if label in declared and spelling != label:
            written = (text_of(column) == spelling).ifelse(label, written)
    return {attribute.name: strange.ifelse(attribute.outside, written)}


def _canonical(value: str) -> str:
    try:
        return str(text(pa.array([float(value)]))[0].as_py())
    except ValueError:
        return value


def _leave_out(table: Table, typed: TableQuery, schema: Schema, found: dict[str, int]) -> tuple[TableQuery, int]:
    wanted = [attribute.name for attribute in schema if attribute.missing is Missing.DROP]
    left_out = max(found.get("left out", 0), 0)
    if any(schema[name].outside != Outside.REFUSE for name in wanted):
        lacking = typed.count(where=any_of(*(typed[name].isnull() for name in wanted)))
        left_out = int(figures(table, typed.aggregate(number=lacking))["number"])
    if not left_out:
        return typed, 0
    if left_out == found["records"] and not schema.is_total:
        raise DataError(f"{table.source.name}: every record lacks a value that the schema requires, so none is left.")
    return typed.filter(*(typed[name].notnull() for name in wanted)), left_out


def _hint(table: Table, schema: Schema, found: dict[str, int]) -> str | None:
    unreadable = {attribute.kind for attribute in schema if found.get(f"{attribute.name}/unreadable", 0) > 0}
    hints = []
    if Kind.DATE in unreadable:
        hints.append("write dates as 2024-12-31, or say how they are written with `date_format`")
    if Kind.NUMERIC in unreadable and table.source.detail("decimal"):
        mark = "comma" if table.source.detail("decimal") == "," else "point"
        hints.append(f"numbers were read with a decimal {mark}; if that is wrong, specify `decimal`")
    return "; ".join(hints) or None


def _first(table: Table, row: int) -> str:
    if row < 0 or table.source.first_row is None:
        return ""
    return f" (first in row {row + table.source.first_row:,})"


def _are(number: int) -> str:
    return f"{number:,} value is" if number == 1 else f"{number:,} values are"


def _name_type(kind: Any) -> str:
    if kind.is_temporal():
        return "dates or times"
    return "numbers" if kind.is_numeric() else f"values of type {kind}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Number:
    """Text read as a number: all expressions, null where the text is null."""

    #: the number, null where the text is none
    value: Any
    #: the number as an integer, null where it is none or has too many digits
    integer: Any
    #: whether the text is a whole number
    whole: Any
    #: whether the text stands for infinity or for no number
    not_finite: Any


def number_of(
    text: Any, *, decimal: str | None = None, thousands: str | None = None, unit: str | None = None
) -> Number:
    """Read text as numbers with a decimal point, or comma; spaces around them do not matter.

    Signs between thousands are taken out only where they stand before groups of three digits, and a unit only where
    it stands before or after all digits.
    """
    text = text.strip()
    if unit is not None:
        bare = text.replace(unit, "").strip()
        text = text.re_search(_WITH_UNIT % (re.escape(unit), re.escape(unit))).ifelse(bare, text)
    if decimal == ",":
        if thousands == ".":
            text, thousands = text.replace(".", "'").replace(",", "."), "'"
        else:
            # a point next to a decimal comma separates thousands or is a mistake: neither is read
            text = text.contains(".").ifelse(None, text.replace(",", "."))
    if thousands is not None:
        bare = text.replace(thousands, "")
        text = text.re_search(_GROUPED % re.escape(thousands)).ifelse(bare, text)
    value = text.re_search(_NUMBER).ifelse(text.try_cast("float64"), None)
    whole = text.re_search(_WHOLE)
    return Number(
        value=value,
        integer=whole.ifelse(text.try_cast("int64"), None),
        whole=whole.fill_null(False),
        not_finite=text.lower().re_search(_NOT_FINITE).fill_null(False) | not_finite(value).fill_null(False),
    )


def not_finite(number: Any) -> Any:
    """Return whether a floating-point number is infinite or no number; engines sort the latter above all others."""
    return number.abs() > sys.float_info.max


def no_day(column: Any) -> Any:
    """Return whether a day or time is one that only some engines know: infinite, or beyond the years 1 to 9999."""
    if not (column.type().is_date() or column.type().is_timestamp()):
        return column.cast("string") == "24:00:00"
    day = column if column.type().is_date() else column.cast("date")
    return (day < dt.date.min) | (day > dt.date.max)


def refuse_no_days(table: Table) -> None:
    """Refuse days and times that have no equal elsewhere, before any is looked at."""
    records, types = table.expression, {name: table.expression[name].type() for name in table.columns}
    moments = [name for name, kind in types.items() if kind.is_date() or kind.is_timestamp()]
    found = compute_figures(table, {name: records.count(where=no_day(records[name])) for name in moments})
    problems = Problems()
    for name, number in found.items():
        if number:
            problems.add(f"column `{name}`: {_are(number)} {_WRONG['no day'][number > 1]}")
    problems.raise_as(DataError, hint="write another value, or none, in their place")


def day_of(text: Any, date_format: str | None = None) -> Any:
    """Read text as days, ISO days where no format is given (a time of day is ignored); null where it is none."""
    text = text.strip()
    found = None if date_format is None else date_pattern(date_format)
    if found is None:
        return text.re_search(_DAY).ifelse(text.substr(0, 10).try_cast("date"), None)
    pattern, groups = found
    year, month, day = (text.re_extract(pattern, groups[part]) for part in ("yyyy", "mm", "dd"))
    iso = year + "-" + month.lpad(2, "0") + "-" + day.lpad(2, "0")
    return text.re_search(pattern).ifelse(iso.try_cast("date"), None)
