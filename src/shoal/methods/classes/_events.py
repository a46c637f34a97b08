"""What methods that make classes did to the data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from shoal.errors import counted, quoted
from shoal.guarantees import Event
from shoal.schema import Attribute, Kind


class Bucketized(Event):
    """Confidential values were replaced by buckets; ``sizes`` are the records of each."""

    name = "bucketized"
    columns: tuple[str, ...]
    buckets: int
    sizes: tuple[int, ...]
    sentence = "Replaced the values of {columns!q} by {buckets:,} buckets of near values."


class CellsSuppressed(Event):
    """Single cells of quasi-identifiers became ``*``."""

    name = "cells-suppressed"
    #: The quasi-identifiers, and how many cells of each were suppressed.
    columns: tuple[str, ...]
    cells: tuple[int, ...]
    #: The released records, and those that lost a cell.
    records: int
    touched: int
    #: Where suppressed cells were counted as wildcards: the least number, and the records that look like fewer than ``k
    #: - 1`` others if a suppressed cell is a value of its own. Else both are 0.
    k: int
    fewer: int

    def describe(self) -> str:
        lost = [f"`{column}` {number:,}" for column, number in zip(self.columns, self.cells, strict=True) if number]
        told = f": {', '.join(lost)}" if lost else ""
        done = f"Suppressed {sum(self.cells):,} cells of {self.touched:,} of {self.records:,} records{told}."
        if not self.k:
            return done
        return (
            f"{done} Counted with suppressed cells as wildcards; with a suppressed cell as a value of its own, "
            f"{self.fewer:,} records look like fewer than {self.k - 1:,} others."
        )


class Classed(Event):
    """Records were put into classes."""

    name = "classed"
    method: str
    form: str
    columns: tuple[str, ...]
    classes: int
    smallest: int
    largest: int

    def describe(self) -> str:
        done = {
            "microaggregated": f"and replaced their {quoted(self.columns)} by a typical value of the class",
            "generalized": f"and generalised their {quoted(self.columns)} to what the class has in common",
            "permuted": f"and left their {quoted(self.columns)} as they are",
            "anatomy": f"and left their {quoted(self.columns)} as they are",
        }[self.form]
        return (
            f"Put the records into {self.classes:,} classes of {sizes(self.smallest, self.largest)} with method "
            f"`{self.method}`, {done}."
        )


class Permuted(Event):
    """The values of some columns changed places inside their classes, at random; the classes are not published."""

    name = "permuted"
    columns: tuple[str, ...]
    sentence = "Exchanged the values of {columns!q} between the records of each class, at random."


class Separated(Event):
    """Columns were released in two tables that only the class links."""

    name = "separated"
    identifying: tuple[str, ...]
    confidential: tuple[str, ...]
    class_column: str
    sentence = "Released {identifying!q} and {confidential!q} as two tables, linked by `{class_column}` alone."


class Randomized(Event):
    """A confidential attribute of every record was randomised on its own."""

    name = "randomized"
    column: str
    mechanism: str
    epsilon_spent: Fraction
    sentence = "Randomised `{column}` of every record by {mechanism} (epsilon {epsilon_spent!f:.6g})."


class Sliced(Event):
    """Groups of columns were anonymised apart and released as separate tables, each in an order of its own."""

    name = "sliced"
    groups: tuple[tuple[str, ...], ...]

    def describe(self) -> str:
        listed = "; ".join(quoted(group) for group in self.groups)
        return f"Anonymised {len(self.groups):,} groups of columns apart, as tables that nothing links: {listed}."


class Compared(Event):
    """Records were compared; ``scaled`` are numbers, days and ranks, ``concepts`` are categories."""

    name = "measured"
    scaled: tuple[str, ...]
    concepts: tuple[str, ...]
    distance: str
    weighted: bool

    def describe(self) -> str:
        how = []
        if self.scaled:
            how.append(f"{quoted(self.scaled)} in standard deviations (z-scores)")
        if self.concepts:
            exact = "" if self.distance == "semantic" else ", approximated by points"
            how.append(f"{quoted(self.concepts)} by semantic distance{exact}")
        return f"Compared records by {' and '.join(how)}{', times their weights' if self.weighted else ''}."


class Blocked(Event):
    """Records were divided into blocks, each clustered on its own."""

    name = "blocked"
    blocks: int
    largest: int
    repaired: bool

    def describe(self) -> str:
        after = ", then exchanged records between near clusters where that loses less" if self.repaired else ""
        return f"Divided the records into {self.blocks:,} blocks of at most {self.largest:,} before clustering{after}."


class Averaged(Event):
    """What stands for a class: how the typical value of every column is made."""

    name = "averaged"
    means: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    medians: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    decimals: int | None = None

    def describe(self) -> str:
        rounded = "not rounded" if self.decimals is None else f"rounded to {counted(self.decimals, 'decimal')}"
        kinds = (
            (self.means, f"the mean, {rounded}"),
            (self.days, "the mean, rounded to a day"),
            (self.medians, "the median"),
            (self.concepts, "the concept with the least sum of distances"),
        )
        said = "; ".join(f"of {quoted(names)} {what}" for names, what in kinds if names)
        numeric = self.means or self.days or self.medians
        missing = " Members without a value do not count in means and medians." if numeric else ""
        return f"Typical values of a class are: {said}.{missing}"


class Ranked(Event):
    """Records were ranked by one column, whose values changed places at random inside clusters of near ranks."""

    name = "ranked"
    column: str
    clusters: int
    smallest: int
    largest: int

    def describe(self) -> str:
        return (
            f"Ranked the records by `{self.column}` and exchanged its values, at random, inside {self.clusters:,} "
            f"clusters of {sizes(self.smallest, self.largest)} neighbours."
        )


def compared(columns: Sequence[Attribute], distance: str) -> Compared:
    """Say how records were compared."""
    return Compared(
        scaled=tuple(each.name for each in columns if each.kind is not Kind.CATEGORICAL),
        concepts=_names(columns, Kind.CATEGORICAL),
        distance=distance,
        weighted=any(each.weight != 1 for each in columns),
    )


def averaged(columns: Sequence[Attribute], decimals: int | None) -> Averaged:
    """Say what stands for a class."""
    return Averaged(
        means=_names(columns, Kind.NUMERIC),
        days=_names(columns, Kind.DATE),
        medians=_names(columns, Kind.ORDINAL),
        concepts=_names(columns, Kind.CATEGORICAL),
        decimals=decimals,
    )


def sizes(smallest: int, largest: int) -> str:
    """Return the sizes of classes in words.

    >>> sizes(5, 5), sizes(5, 1200)
    ('5', '5 to 1,200')
    """
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


def _names(columns: Sequence[Attribute], kind: Kind) -> tuple[str, ...]:
    return tuple(column.name for column in columns if column.kind is kind)
