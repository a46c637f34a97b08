"""How the values of a column are written: what stands for a missing one, how dates and numbers look."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.errors import Problems, SchemaError
from shoal.schema._domain import Kind

_PARTS = {"yyyy": r"([0-9]{4})", "mm": r"([0-9]{1,2})", "dd": r"([0-9]{1,2})"}
_FORMAT = re.compile(r"(yyyy|mm|dd)([./\- ]?)(yyyy|mm|dd)([./\- ]?)(yyyy|mm|dd)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How values are written where that is not plain: all of it is optional.

    Parameters
    ----------
    missing_values
        Texts or numbers that stand for a missing value, such as ``?``, ``NA`` or ``999``.
    date_format
        How days are written, for example ``dd.mm.yyyy``: each of ``dd``, ``mm`` and ``yyyy`` once, with ``.``, ``/``,
        ``-`` or a blank between them, or nothing. A time of day after it is ignored. None for ``2024-12-31``.
    decimal, thousands
        The decimal sign, and the sign between thousands, of numbers. None for those of the file.
    unreadable
        The largest share of values that may be no number or no day and then count as missing, in [0, 1].
    """

    missing_values: tuple[str, ...] = ()
    date_format: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    unreadable: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_values", tuple(str(value) for value in self.missing_values))
        problems = Problems()
        if self.date_format is not None and date_pattern(self.date_format) is None:
            problems.add("`date_format` must be made of dd, mm and yyyy, as in `dd.mm.yyyy`")
        if self.decimal not in (None, ".", ","):
            problems.add("`decimal` must be `.` or `,`")
        if self.thousands not in (None, ".", ",", " ", "'"):
            problems.add("`thousands` must be `.`, `,`, `'` or a blank")
        elif self.thousands is not None and self.thousands == (self.decimal or "."):
            problems.add("`decimal` and `thousands` must differ")
        if not 0 <= self.unreadable <= 1:
            problems.add("`unreadable` must be in [0, 1]")
        problems.raise_as(SchemaError)

    def problems(self, kind: Kind) -> list[str]:
        """Say what does not go with a kind of column."""
        found = []
        if self.date_format is not None and kind is not Kind.DATE:
            found.append("`date_format` is for columns of dates")
        if (self.decimal is not None or self.thousands is not None) and kind is not Kind.NUMERIC:
            found.append("`decimal` and `thousands` are for columns of numbers")
        if self.unreadable and kind not in (Kind.NUMERIC, Kind.DATE):
            found.append("`unreadable` is for columns of numbers or dates")
        return found


def date_pattern(date_format: str) -> tuple[str, dict[str, int]] | None:
    """Return a regular expression for days written so, and the number of the group of each part; None if it is none."""
    found = _FORMAT.fullmatch(date_format)
    if found is None or {found[1], found[3], found[5]} != set(_PARTS):
        return None
    parts = (found[1], found[3], found[5])
    fixed = not found[2] or not found[4]  # without a sign between them, parts have all their digits
    one, two, three = (_PARTS[part].replace("{1,2}", "{2}") if fixed else _PARTS[part] for part in parts)
    pattern = f"^{one}{re.escape(found[2])}{two}{re.escape(found[4])}{three}([T ,].*)?$"
    return pattern, {part: number for number, part in enumerate(parts, start=1)}
