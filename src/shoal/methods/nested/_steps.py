"""The steps of a release of several tables."""

from __future__ import annotations

from shoal.errors import quoted
from shoal.guarantees import Dropped, Event


class DaysCounted(Event):
    """Dates were replaced by days since the first of them of the same person."""

    name = "days-counted"
    columns: tuple[str, ...]
    sentence = (
        "Replaced the dates in {columns!q} by the days since the first of them of the same person, in all tables "
        "together and before anything was left out."
    )


class ItemsBounded(Event):
    """Of the rows that belong to one row of the parent, no more than so many were kept, drawn at random."""

    name = "items-bounded"
    draws = True
    #: The bounded tables, and the most rows of each below a row of its parent.
    tables: tuple[str, ...]
    at_most: tuple[int, ...]
    #: The rows of every table of the data set that were left out with them, and those that there were.
    left_out: tuple[int, ...]
    of: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.tables) != len(self.at_most) or len(self.left_out) != len(self.of):
            raise ValueError("numbers for every table")
        if any(not 0 <= left <= all_ for left, all_ in zip(self.left_out, self.of, strict=True)):
            raise ValueError("no more rows than there were")

    def describe(self) -> str:
        told = ", ".join(f"{most:,} rows of `{name}`" for name, most in zip(self.tables, self.at_most, strict=True))
        return (
            f"Kept at most {told} for each row that they belong to, drawn at random; {sum(self.left_out):,} of "
            f"{sum(self.of[1:]):,} rows of all tables were left out with those below them."
        )


class DatesShifted(Event):
    """All dates of a person were shifted together."""

    name = "dates-shifted"
    draws = True
    columns: tuple[str, ...]
    at_most: int

    def describe(self) -> str:
        return (
            f"Shifted all dates of each person together by a secret number of days, at most {self.at_most:,} back or "
            f"ahead, in {quoted(self.columns) or 'no column'}. No promise rests on this: the days between two dates "
            "stay the same, and can tell whose they are."
        )


class ItemsGeneralized(Event):
    """Known columns of all tables were generalised to one level each; they are called ``table.column``."""

    name = "items-generalized"
    term = "generalization"
    effect = "generalised"
    kept = "label"
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    heights: tuple[int, ...]
    #: Columns whose labels have different levels, up to the one that is said.
    mixed: tuple[str, ...] = ()

    def describe(self) -> str:
        each = zip(self.columns, self.levels, self.heights, strict=True)
        chosen = ", ".join(f"{column} {level}/{height}" for column, level, height in each)
        several = f" Labels of {quoted(self.mixed)} have different levels, up to that one." if self.mixed else ""
        return f"Generalised every value of a column to one level of its hierarchy (level/top): {chosen}.{several}"


class ItemsSuppressed(Event):
    """Single rows, and persons with all their rows, were left out of the tables."""

    name = "items-suppressed"
    term = "record suppression"
    #: The tables, that of the persons first, with the rows that were left out of each and those that there were.
    tables: tuple[str, ...]
    rows: tuple[int, ...]
    of: tuple[int, ...]

    def __post_init__(self) -> None:
        if not len(self.tables) == len(self.rows) == len(self.of) >= 1:
            raise ValueError("numbers for every table")
        if any(not 0 <= left <= all_ for left, all_ in zip(self.rows, self.of, strict=True)):
            raise ValueError("no more rows than there were")

    def describe(self) -> str:
        each = zip(self.tables, self.rows, self.of, strict=True)
        told = ", ".join(f"{left:,} of {number:,} rows of `{table}`" for table, left, number in each)
        return f"Left out {told}; the rows below a row that was left out are among them."


class KeysReplaced(Event):
    """Keys were replaced by the place of a row in the order of all that is released with it."""

    name = "keys-replaced"
    tables: tuple[str, ...]
    sentence = (
        "Replaced the keys of {tables!q} by the place of every row in the order of what is released of it and below "
        "it, so that neither keys nor order reveal anything more."
    )


#: what releases of data sets are read by
NESTED_STEPS: tuple[type[Event], ...] = (
    Dropped,
    DaysCounted,
    ItemsBounded,
    DatesShifted,
    ItemsGeneralized,
    ItemsSuppressed,
    KeysReplaced,
)
