"""What was done to the data, step by step; what it costs is computed from these and never written by hand."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

__all__ = [
    "Aggregated",
    "Budget",
    "Dropped",
    "Event",
    "Generalized",
    "LeftOut",
    "Ordered",
    "Pseudonymized",
    "Suppressed",
    "budget",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(ABC):
    """Something that a step did; a step that spends privacy budget says how much."""

    name: ClassVar[str]

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that this step spends."""
        return Fraction(0)

    @property
    def delta(self) -> Fraction:
        """The delta that this step spends."""
        return Fraction(0)

    @abstractmethod
    def describe(self) -> str:
        """Say what was done, in one plain sentence."""

    def to_json(self) -> dict[str, object]:
        """Return the event as it stands in a certificate."""
        values = {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"step": self.name, **values, "description": self.describe()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Event):
    """Identifier columns were removed."""

    name: ClassVar[str] = "dropped"
    columns: tuple[str, ...]

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Removed the identifying {_columns(self.columns)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudonymized(Event):
    """Identifiers were replaced by keyed pseudonyms; who holds the key can link them back."""

    name: ClassVar[str] = "pseudonymized"
    columns: tuple[str, ...]
    algorithm: str = "HMAC-SHA-256"

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return (
            f"Replaced the identifying {_columns(self.columns)} by {self.algorithm} pseudonyms; "
            "whoever holds the key can link them back."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(Event):
    """Records that miss a value of a column with ``missing = "drop"`` were left out."""

    name: ClassVar[str] = "left-out"
    records: int
    columns: tuple[str, ...]

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Left out {self.records:,} records with missing values in {_columns(self.columns)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalized(Event):
    """Quasi-identifiers were generalised; ``levels`` are those of a full-domain recoding, else empty."""

    name: ClassVar[str] = "generalized"
    method: str
    columns: tuple[str, ...]
    levels: tuple[int, ...] = ()
    heights: tuple[int, ...] = ()

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        if not self.levels:
            return f"Generalised the {_columns(self.columns)} with method `{self.method}`."
        chosen = ", ".join(
            f"{column} {level}/{height}"
            for column, level, height in zip(self.columns, self.levels, self.heights, strict=True)
        )
        return f"Generalised every value of a column to one level of its hierarchy (level/top): {chosen}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregated(Event):
    """Quasi-identifiers were replaced by values of their cluster."""

    name: ClassVar[str] = "aggregated"
    method: str
    columns: tuple[str, ...]
    clusters: int

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Grouped the records into {self.clusters:,} clusters by {_columns(self.columns)} with `{self.method}`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed(Event):
    """Records of classes that no promise allows were removed."""

    name: ClassVar[str] = "suppressed"
    records: int
    of: int

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Suppressed {self.records:,} of {self.of:,} records."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered(Event):
    """Records were put in an order that holds nothing of the input's order."""

    name: ClassVar[str] = "ordered"
    by: str = "the released values"

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Ordered the records by {self.by}, so that their order tells nothing more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The total privacy loss of all steps: sequential composition adds both parts."""

    epsilon: Fraction
    delta: Fraction


def budget(events: Iterable[Event]) -> Budget:
    """Add up what the steps spend (basic composition).

    Examples
    --------
    >>> budget([Ordered()])
    Budget(epsilon=Fraction(0, 1), delta=Fraction(0, 1))
    """
    steps = list(events)
    return Budget(
        epsilon=sum((step.epsilon for step in steps), Fraction(0)),
        delta=sum((step.delta for step in steps), Fraction(0)),
    )


def _columns(names: tuple[str, ...]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {', '.join(f'`{name}`' for name in names)}"


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
