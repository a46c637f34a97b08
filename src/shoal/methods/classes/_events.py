"""What the methods of closeness did to the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from shoal.guarantees import Event

__all__ = ["Bucketized", "Classed", "Permuted", "Randomized", "Separated", "Sliced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucketized(Event):
    """Confidential values were replaced by buckets; ``sizes`` are the records of each."""

    name: ClassVar[str] = "bucketized"
    columns: tuple[str, ...]
    buckets: int
    sizes: tuple[int, ...]

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Replaced the values of {_listed(self.columns)} by {self.buckets:,} buckets of near values."


@dataclass(frozen=True, slots=True, kw_only=True)
class Classed(Event):
    """Records were put into classes."""

    name: ClassVar[str] = "classed"
    method: str
    form: str
    columns: tuple[str, ...]
    classes: int
    smallest: int
    largest: int

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        done = {
            "microaggregated": f"and replaced their {_listed(self.columns)} by a typical value of the class",
            "generalized": f"and generalised their {_listed(self.columns)} to what the class has in common",
            "permuted": f"and left their {_listed(self.columns)} as they are",
            "anatomy": f"and left their {_listed(self.columns)} as they are",
        }[self.form]
        return (
            f"Put the records into {self.classes:,} classes of {sizes(self.smallest, self.largest)} with method "
            f"`{self.method}`, {done}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Permuted(Event):
    """The values of some columns changed places inside their classes, at random; the classes are not published."""

    name: ClassVar[str] = "permuted"
    columns: tuple[str, ...]

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Exchanged the values of {_listed(self.columns)} between the records of each class, at random."


@dataclass(frozen=True, slots=True, kw_only=True)
class Separated(Event):
    """Columns were released in two tables that only the class links."""

    name: ClassVar[str] = "separated"
    identifying: tuple[str, ...]
    confidential: tuple[str, ...]
    class_column: str

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return (
            f"Released {_listed(self.identifying)} and {_listed(self.confidential)} as two tables, linked by "
            f"`{self.class_column}` alone."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Randomized(Event):
    """A confidential attribute of every record was randomised on its own."""

    name: ClassVar[str] = "randomized"
    column: str
    mechanism: str
    epsilon_spent: Fraction

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that this step spends."""
        return self.epsilon_spent

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        return f"Randomised `{self.column}` of every record by {self.mechanism} (epsilon {float(self.epsilon):.6g})."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliced(Event):
    """Groups of columns were anonymised apart and released as separate tables, each in an order of its own."""

    name: ClassVar[str] = "sliced"
    groups: tuple[tuple[str, ...], ...]

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        listed = "; ".join(_listed(group) for group in self.groups)
        return f"Anonymised {len(self.groups):,} groups of columns apart, as tables that nothing links: {listed}."

    def to_json(self) -> dict[str, object]:
        """Return the event as it stands in a certificate."""
        return {"step": self.name, "groups": [list(group) for group in self.groups], "description": self.describe()}


def sizes(smallest: int, largest: int) -> str:
    """Return the sizes of classes in words.

    >>> sizes(5, 5), sizes(5, 1200)
    ('5', '5 to 1,200')
    """
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
