"""The steps of a release of several tables."""

from __future__ import annotations

from shoal.guarantees import Dropped, Event


class ItemsGeneralized(Event):
    """Known columns of all tables were generalised to one level each; they are called ``table.column``."""

    name = "items-generalized"
    term = "generalization"
    effect = "generalised"
    kept = "label"
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    heights: tuple[int, ...]

    def describe(self) -> str:
        each = zip(self.columns, self.levels, self.heights, strict=True)
        chosen = ", ".join(f"{column} {level}/{height}" for column, level, height in each)
        return f"Generalised every value of a column to one level of its hierarchy (level/top): {chosen}."


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
NESTED_STEPS: tuple[type[Event], ...] = (Dropped, ItemsGeneralized, ItemsSuppressed, KeysReplaced)
