"""Steps of a release of many truthful tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from shoal.errors import counted
from shoal.guarantees import UNLESS_DEFAULT, Event


@dataclass(frozen=True, slots=True)
class Noise:
    """How many records trimming takes off a class of a table on average, and the variance of that number."""

    m: int
    variance: Fraction

    @property
    def rho(self) -> Fraction:
        """What the table loses."""
        return 1 / (2 * self.variance)


class TablesTrimmed(Event):
    """Tables over some columns each were made, and a random number of records of every class was left out."""

    name = "tables-trimmed"
    #: The columns of each table, and the level that each of them was generalised to.
    tables: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[int, ...], ...]
    #: How many records a class of each table lost on average, and the variance of that number.
    m: tuple[int, ...]
    variance: tuple[Fraction, ...]
    #: What all these tables lose together.
    rho: Fraction

    @classmethod
    def by(
        cls, tables: Sequence[Sequence[str]], levels: Sequence[Sequence[int]], noise: Sequence[Noise]
    ) -> TablesTrimmed:
        """Return the step that made tables with their noise."""
        return cls(
            tables=tuple(map(tuple, tables)),
            levels=tuple(map(tuple, levels)),
            m=tuple(each.m for each in noise),
            variance=tuple(each.variance for each in noise),
            rho=sum((each.rho for each in noise), start=Fraction(0)),
        )

    def describe(self) -> str:
        least, most = min(self.m), max(self.m)
        number = f"{least:,}" if least == most else f"{least:,} to {most:,}, depending on the table"
        return (
            f"Made {counted(len(self.tables), 'table')} of {_widths(self.tables)} and left out a random number of the "
            f"records of every combination of values, on average about {number} (rho {float(self.rho):.4g})."
        )


class HiddenCounted(Event):
    """Classes that the schema lists and no record shows were counted with the noise that hid them."""

    name = "hidden-counted"
    #: Tables whose classes the schema lists, and their classes without a record.
    tables: int
    classes: int

    @classmethod
    def of(cls, hidden: Mapping[str, Mapping[tuple[str | None, ...], int]]) -> HiddenCounted:
        """Return the step that wrote these counts down, by table."""
        return cls(tables=len(hidden), classes=sum(map(len, hidden.values())))

    sentence = (
        "Listed in `hidden.csv` a noisy count of each of the {classes:,} combinations of values that the schema lists "
        "for {tables:table} and no record shows. The noise is the one that hid them, so this costs nothing more."
    )


class PairsChosen(Event):
    """Pairs of columns, and how far each is generalised, were chosen privately, one after the other."""

    name = "pairs-chosen"
    #: What was chosen, in that order.
    pairs: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[int, ...], ...]
    #: How many pairs with their levels there were to choose from; known without the data.
    candidates: int
    #: The epsilon of each choice, and what all of them lose together.
    epsilon_each: Fraction
    rho: Fraction
    sentence = (
        "Chose {pairs!n:pair} of columns and their levels from {candidates:,} candidates by exact exponential "
        "mechanisms (epsilon {epsilon_each!f:.4g} each, rho {rho!f:.4g} together)."
    )


class JointTrimmed(Event):
    """A table of all columns was made by a scheme that was drawn privately, and trimmed like the others."""

    name = "joint-trimmed"
    #: Its columns, and the lowest level of each; values of one column may be generalised differently.
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    #: The epsilon of drawing the scheme.
    epsilon_scheme: Fraction
    #: How many records a class lost on average, and the variance of that number.
    m: int
    variance: Fraction
    #: What the scheme and the table lose together.
    rho: Fraction
    sentence = (
        "Made a table of all {columns!n:,} columns, how far each combination of values is generalised drawn by an "
        "exact exponential mechanism (epsilon {epsilon_scheme!f:.4g}), and left out a random number of the records of "
        "every combination, about {m:,} on average (rho {rho!f:.4g} together)."
    )


class Composed(Event):
    """What all tables and choices lose together, as one epsilon and delta."""

    name = "composed"
    rho: Fraction
    epsilon_spent: Fraction
    delta_spent: Fraction
    per_person: int = field(default=1, metadata=UNLESS_DEFAULT)

    def describe(self) -> str:
        whose = "" if self.per_person == 1 else f" for a person with at most {self.per_person:,} records"
        return (
            f"Every record is in every table: together they lose rho {float(self.rho):.4g}, which is epsilon "
            f"{float(self.epsilon_spent):.6g} and delta {float(self.delta_spent):.3g}{whose}."
        )


def _widths(tables: tuple[tuple[str, ...], ...]) -> str:
    widths = {len(table) for table in tables}
    if widths == {1}:
        return "one column each"
    return f"{widths.pop()} columns each" if len(widths) == 1 else "one or more columns each"
