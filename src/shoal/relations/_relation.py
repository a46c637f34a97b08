"""One relation between columns: its kind, its formula and the share of records that follow it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: every kind, the one that says most first
KINDS = (
    "equal",
    "rounding",
    "date-part",
    "age",
    "sum",
    "difference",
    "date-difference",
    "product",
    "ratio",
    "ratio-squared",
    "share",
    "change",
    "linear",
    "monotone",
    "equal-codes",
    "bins",
    "function",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A column that follows from others.

    Parameters
    ----------
    kind
        ``equal``; ``equal-codes`` (the same up to names or codes); ``rounding``; ``date-part`` (year, quarter, month,
        day or weekday); ``age``; ``sum``; ``difference``; ``date-difference``; ``product``; ``ratio``;
        ``ratio-squared`` (a / b^2); ``share`` (a / (a + b)); ``change`` ((a - b) / b); ``linear``; ``monotone`` (the
        same order); ``bins`` (intervals of a number or date); ``function`` (any other map of one column).
    target
        The column that follows.
    inputs
        The columns from which it follows.
    formula
        The relation in words or symbols.
    share
        The share of the compared records that follow it, up to the rounding of the file.
    records
        The number of compared records: those that have a value in all of the columns.
    gives
        Every column of the relation that follows from the rest of them.
    weights
        For sums and linear relations the coefficients, for products and ratios the exponents of ``columns``, so that
        their combination is constant; else empty.
    approximate
        Whether the rounding of the inputs is needed to explain what the rounding of the target does not.
    """

    kind: str
    target: str
    inputs: tuple[str, ...]
    formula: str
    share: float
    records: int
    gives: tuple[str, ...]
    weights: tuple[float, ...] = ()
    approximate: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the relation, the target first."""
        return (self.target, *self.inputs)

    @property
    def sentence(self) -> str:
        """The relation as a sentence, with the share of records that follow it."""
        return f"{self.formula}, in {self.percentage} of {self.records:,} records"

    @property
    def percentage(self) -> str:
        """The share as a percentage, rounded down: only all records are 100 %."""
        return "100 %" if self.share == 1 else f"{int(self.share * 1000) / 10:g} %"

    def __str__(self) -> str:
        return self.sentence


def names_of(columns: Iterable[str]) -> str:
    """Return names of columns between backquotes, joined as in a sentence."""
    quoted = [f"`{name}`" for name in columns]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
