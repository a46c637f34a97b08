"""Charges per value of every attribute, and so the most that one person can have lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shoal.queries._loss import LARGEST_UNITS, Loss
from shoal.schema.conditions import EVERYBODY, FIRST, LAST, Cut, Ranges, Region, Texts, ValueSet

# beyond these many slots an attribute is not divided further; what shares a slot is charged together
LARGEST_RANGES = 1 << 12
LARGEST_TEXTS = 1 << 16
# above every budget; an amount more, which a `Loss` limits to 10^18, is far below overflow
CEILING = 1 << 62


class Charges:
    """The privacy loss of many queries about different people.

    Guarantee
    ---------
    A query that does not depend on a record x loses nothing about x, and losses of one record add up: for any
    sequence of answers, each chosen after the ones before, P[answers | D] <= exp(e) P[answers | D'] + d for D, D'
    that differ in the record x, where e and d sum the losses of the queries whose region holds x ([SC13 Prop. 4],
    seed 000, and basic composition). So what is spent is the largest such sum over all x. Here it is bounded from
    above: for one attribute A, charge each value of A with the loss of every query whose region admits the value; the
    largest charge bounds every x; the smallest of these bounds over all attributes is `spent`. Queries that one
    attribute tells apart cost the maximum; others cost the sum. All this is about one version of the table, in which a
    record has one value of A: before queries about another version are charged by value, `fold` charges everybody. The
    same holds of rho, whose sums may be chosen as the answers come as long as they stay below the budget on every path
    (Feldman and Zrnic 2021, Theorem 4.3).

    Notes
    -----
    O(slots of the attributes named) per query; an attribute has a slot for each range or text that queries told apart.

    Examples
    --------
    >>> charges, women, men = Charges(), {"sex": Texts(frozenset("F"))}, {"sex": Texts(frozenset("M"))}
    >>> for region in (women, men, {}):
    ...     charges.charge(Loss.of("0.5"), region)
    >>> print(charges.spent)
    epsilon 1
    """

    def __init__(self) -> None:
        self._everybody = np.zeros(3, dtype=np.int64)
        self._lines: dict[str, _Line] = {}

    def fold(self) -> None:
        """Charge everybody with the largest charges, for a new version of the table begins.

        Whoever had one value in the last version may have any in the next: no person lost more than `spent`, of
        epsilon, delta and rho apart.
        """
        self._everybody = np.array(self._after(Loss(), EVERYBODY), dtype=np.int64)
        self._lines = {}

    @property
    def spent(self) -> Loss:
        """A bound on what one person lost; more than any budget is shown as the largest budget."""
        return Loss(*(min(units, LARGEST_UNITS) for units in self._after(Loss(), EVERYBODY)))

    def allows(self, loss: Loss, region: Region, *, budget: Loss) -> bool:
        """Whether what would be spent after one more query fits into a budget."""
        return all(units <= most for units, most in zip(self._after(loss, region), budget.units, strict=True))

    def _after(self, loss: Loss, region: Region) -> list[int]:
        """Return the units that would be spent after one more query; they may be more than a `Loss` can hold."""
        amount = np.array((loss if _about_somebody(region) else Loss()).units, dtype=np.int64)
        # an attribute that no query named before has the same charge at every value, so naming it bounds nothing
        bounds = [self._everybody + amount]
        for attribute, line in self._lines.items():
            values = region.get(attribute)
            bounds.append(line.highest + amount if values is None else line.highest_after(amount, values))
        least = np.minimum.reduce(bounds)
        return [int(units) for units in least]

    def charge(self, loss: Loss, region: Region) -> None:
        """Charge one more query."""
        if not _about_somebody(region):
            return
        amount = np.array(loss.units, dtype=np.int64)
        for attribute, values in region.items():
            if attribute not in self._lines:
                self._lines[attribute] = (_Texts if isinstance(values, Texts) else _Numbers)(self._everybody)
        for attribute, line in self._lines.items():
            line.charge(amount, region.get(attribute))
        self._everybody = np.minimum(self._everybody + amount, CEILING)

    def to_json(self) -> dict[str, Any]:
        """Return all charges as plain data."""
        lines = {attribute: line.to_json() for attribute, line in sorted(self._lines.items())}
        return {"everybody": self._everybody.tolist(), "lines": lines}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Charges:
        """Return the charges that `to_json` wrote."""
        charges = cls()
        charges._everybody = np.array(data["everybody"], dtype=np.int64)
        for attribute, line in data["lines"].items():
            charges._lines[attribute] = (_Texts if "texts" in line else _Numbers).of_json(line)
        return charges


class _Line(ABC):
    """The charges of one attribute's values: one slot per set of values that no query told apart."""

    def __init__(self, start: NDArray[np.int64]) -> None:
        self._slots = np.repeat(start[:, None], 2, axis=1)
        self.highest = start.copy()

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the charges of the slots, and what the slots hold, as plain data."""

    @classmethod
    @abstractmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the line that `to_json` wrote."""

    def _charges(self, slots: int) -> dict[str, Any]:
        return {"slots": self._slots[:, :slots].tolist(), "highest": self.highest.tolist()}

    @classmethod
    def _charged(cls, data: Mapping[str, Any]) -> Self:
        line = cls(np.array(data["highest"], dtype=np.int64))
        line._slots = np.array(data["slots"], dtype=np.int64)
        return line

    @abstractmethod
    def touched(self, values: Any) -> Any:
        """Return an index of the slots that hold any of the values."""

    @abstractmethod
    def divide(self, values: Any) -> None:
        """Give the values slots of their own, as long as there may be more."""

    def highest_after(self, amount: NDArray[np.int64], values: ValueSet) -> NDArray[np.int64]:
        charged = self._slots[:, self.touched(values)]
        return np.maximum(self.highest, charged.max(axis=1) + amount) if charged.size else self.highest

    def charge(self, amount: NDArray[np.int64], values: ValueSet | None) -> None:
        if values is None:
            self._slots = np.minimum(self._slots + amount[:, None], CEILING)
            self.highest = np.minimum(self.highest + amount, CEILING)
            return
        self.highest = np.minimum(self.highest_after(amount, values), CEILING)
        self.divide(values)
        where = self.touched(values)
        self._slots[:, where] = np.minimum(self._slots[:, where] + amount[:, None], CEILING)


class _Numbers(_Line):
    """Slot i holds the numbers between cut i and cut i + 1; the last slot holds missing values."""

    def __init__(self, start: NDArray[np.int64]) -> None:
        super().__init__(start)
        self._cuts: list[Cut] = [FIRST, LAST]

    def to_json(self) -> dict[str, Any]:
        return {"cuts": [list(cut) for cut in self._cuts[1:-1]], **self._charges(len(self._cuts))}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        line = cls._charged(data)
        line._cuts = [FIRST, *((number, side) for number, side in data["cuts"]), LAST]
        return line

    def touched(self, values: Ranges) -> slice | NDArray[np.intp]:
        found = [slice(bisect_right(self._cuts, a) - 1, bisect_left(self._cuts, b)) for a, b in values.parts]
        if len(found) == 1 and not values.missing:
            return found[0]
        held = np.zeros(len(self._cuts), dtype=np.bool_)
        for part in found:
            held[part] = True
        held[-1] = values.missing
        return np.flatnonzero(held)

    def divide(self, values: Ranges) -> None:
        for cut in {cut for part in values.parts for cut in part}:
            place = bisect_left(self._cuts, cut)
            if self._cuts[place] != cut and len(self._cuts) < LARGEST_RANGES:
                insort(self._cuts, cut)
                self._slots = np.insert(self._slots, place, self._slots[:, place - 1], axis=1)


class _Texts(_Line):
    """Slot 0 holds all texts that no query named, slot 1 missing values, the others one text each, then spare ones."""

    def __init__(self, start: NDArray[np.int64]) -> None:
        super().__init__(start)
        self._places: dict[str, int] = {}

    def to_json(self) -> dict[str, Any]:
        return {"texts": list(self._places), **self._charges(2 + len(self._places))}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        line = cls._charged(data)
        line._places = {text: place for place, text in enumerate(data["texts"], start=2)}
        return line

    def touched(self, values: Texts) -> NDArray[np.intp]:
        named = [self._places.get(text, 0) for text in values.values]
        if not values.excluded:
            return np.unique(np.array([*named, 1] if values.missing else named, dtype=np.intp))
        held = np.ones(2 + len(self._places), dtype=np.bool_)
        held[named] = False
        # texts that share slot 0 with others cannot be left out
        held[0] = True
        held[1] = values.missing
        return np.flatnonzero(held)

    def divide(self, values: Texts) -> None:
        fresh = sorted(text for text in values.values if text not in self._places)[: LARGEST_TEXTS - len(self._places)]
        first = 2 + len(self._places)
        end = first + len(fresh)
        for text in fresh:
            self._places[text] = len(self._places) + 2
        if end > self._slots.shape[1]:
            self._slots = np.pad(self._slots, ((0, 0), (0, 2 * end - self._slots.shape[1])))
        self._slots[:, first:end] = self._slots[:, :1]


def _about_somebody(region: Region) -> bool:
    """Whether the region leaves any value to every attribute."""
    return all(
        values.missing or (bool(values.parts) if isinstance(values, Ranges) else values.excluded or bool(values.values))
        for values in region.values()
    )
