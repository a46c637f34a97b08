"""What the methods of microaggregation did to the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.guarantees import Event
from shoal.methods.classes._events import sizes
from shoal.schema import Attribute, Kind

__all__ = ["Averaged", "Blocked", "Measured", "Ranked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Event):
    """Records were compared; ``scaled`` are numbers, days and ranks, ``concepts`` are categories."""

    name: ClassVar[str] = "measured"
    scaled: tuple[str, ...]
    concepts: tuple[str, ...]
    distance: str
    weighted: bool

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        how = []
        if self.scaled:
            how.append(f"{_listed(self.scaled)} in standard deviations (z-scores)")
        if self.concepts:
            exact = "" if self.distance == "semantic" else ", approximated by points"
            how.append(f"{_listed(self.concepts)} by semantic distance{exact}")
        return f"Compared records by {' and '.join(how)}{', times their weights' if self.weighted else ''}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(Event):
    """Records were divided into blocks, each clustered on its own."""

    name: ClassVar[str] = "blocked"
    blocks: int
    largest: int
    repaired: bool

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        after = ", then exchanged records between near clusters where that loses less" if self.repaired else ""
        return f"Divided the records into {self.blocks:,} blocks of at most {self.largest:,} before clustering{after}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged(Event):
    """What stands for a class: how the typical value of every column is made."""

    name: ClassVar[str] = "averaged"
    means: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    medians: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    decimals: int | None = None

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        plural = "" if self.decimals == 1 else "s"
        rounded = "not rounded" if self.decimals is None else f"rounded to {self.decimals} decimal{plural}"
        kinds = (
            (self.means, f"the mean, {rounded}"),
            (self.days, "the mean, rounded to a day"),
            (self.medians, "the median"),
            (self.concepts, "the concept with the least sum of distances"),
        )
        said = "; ".join(f"of {_listed(names)} {what}" for names, what in kinds if names)
        counted = self.means or self.days or self.medians
        missing = " Members without a value do not count in means and medians." if counted else ""
        return f"Typical values of a class are: {said}.{missing}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked(Event):
    """Records were ranked by one column, whose values changed places at random inside clusters of near ranks."""

    name: ClassVar[str] = "ranked"
    column: str
    clusters: int
    smallest: int
    largest: int

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return (
            f"Ranked the records by `{self.column}` and exchanged its values, at random, inside {self.clusters:,} "
            f"clusters of {sizes(self.smallest, self.largest)} neighbours."
        )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def measured(columns: Sequence[Attribute], distance: str) -> Measured:
    """Say how records were compared."""
    return Measured(
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


def _names(columns: Sequence[Attribute], kind: Kind) -> tuple[str, ...]:
    return tuple(column.name for column in columns if column.kind is kind)
