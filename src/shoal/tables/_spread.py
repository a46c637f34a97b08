"""How the numbers of a column are spread: range, quantile and histogram, exactly, without fetching all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from shoal.kernels import Counts, Floats
from shoal.tables._engine import quiet
from shoal.tables._values import ValueCounts

if TYPE_CHECKING:
    import ibis.expr.types as ir


FETCHED = 100_000
"""Distinct values that come from the engine at most."""

_BINS = 1024
_WHOLE = 2.0**53  # all numbers of floating point from here on are whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The finite numbers of a column: the least and the greatest, whether all are whole, and how many records have one.

    ``aside`` are the records whose number is not finite.
    """

    least: float
    greatest: float
    whole: bool
    records: int
    aside: int


class NumberSpread(Protocol):
    """The numbers of a column."""

    def extent(self) -> Extent:
        """Return where they lie."""
        ...

    def reaching(self, share: float, extent: Extent) -> float:
        """Return the least of them such that at least ``share`` of the records have it or a lesser one."""
        ...

    def binned(self, step: float, most: float) -> dict[int, int]:
        """Return how many records lie in ``[i * step, (i + 1) * step)``, by i; numbers above ``most`` count as it."""
        ...


def numbers_of(counted: ValueCounts) -> NumberSpread:
    """Return the numbers of a column: fetched where the distinct ones are few, else counted on the engine."""
    if counted.distinct <= FETCHED:
        return _fetched(counted.every())
    values = counted.counts["value"].cast("float64")
    counts = counted.counts.select(value=values, records=counted.counts["records"])
    return _SpreadOnEngine(
        counted=counted, counts=counts, finite=counts.filter(~(counts.value.isnan() | counts.value.isinf()))
    )


def _fetched(rows: pa.Table) -> _SpreadHere:
    values = np.asarray(rows["value"].cast(pa.float64(), safe=False).to_pylist(), dtype=np.float64)
    counts = np.asarray(rows["records"].to_pylist(), dtype=np.int64)
    finite = np.isfinite(values)
    order = np.argsort(values[finite], kind="stable")
    return _SpreadHere(values=values[finite][order], counts=counts[finite][order], aside=int(counts[~finite].sum()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SpreadHere:
    """Numbers, ascending, and how many records have each."""

    values: Floats
    counts: Counts
    aside: int

    def extent(self) -> Extent:
        return Extent(
            least=float(self.values[0]),
            greatest=float(self.values[-1]),
            whole=bool((self.values == np.round(self.values)).all()),
            records=int(self.counts.sum()),
            aside=self.aside,
        )

    def reaching(self, share: float, extent: Extent) -> float:
        return self.passing(share * extent.records)

    def passing(self, records: float) -> float:
        """Return the least number such that it and lesser ones have so many records."""
        return float(self.values[np.searchsorted(np.cumsum(self.counts), records)])

    def binned(self, step: float, most: float) -> dict[int, int]:
        places, inverse = np.unique(np.floor(np.minimum(self.values, most) / step), return_inverse=True)
        held = np.bincount(inverse, weights=self.counts)
        return {int(place): int(count) for place, count in zip(places, held, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SpreadOnEngine:
    """Numbers that stay on the engine."""

    counted: ValueCounts
    counts: ir.Table
    finite: ir.Table

    def extent(self) -> Extent:
        value = self.finite["value"]
        asked = {"least": value.min(), "greatest": value.max(), "records": self.finite["records"].sum()}
        (row,) = self._ask(self.finite.aggregate(**asked, broken=_broken(value).ifelse(1, 0).max()))
        records = int(row["records"])
        return Extent(
            least=float(row["least"]),
            greatest=float(row["greatest"]),
            whole=not row["broken"],
            records=records,
            aside=self.counted.present - records,
        )

    def reaching(self, share: float, extent: Extent) -> float:
        left, low, high, inside = share * extent.records, extent.least, extent.greatest, self.finite
        while True:
            bins = self._bins(inside, low, high)
            before = 0
            for row in bins:
                if before + int(row["records"]) >= left:
                    break
                before += int(row["records"])
            left, low, high = left - before, float(row["low"]), float(row["high"])
            inside = self.finite.filter((self.finite["value"] >= low) & (self.finite["value"] <= high))
            if row["distinct"] <= FETCHED:
                with quiet(self.counted.table.source.name):
                    return _fetched(self.counted.table.engine.fetch(inside)).passing(left)

    def _bins(self, inside: ir.Table, low: float, high: float) -> list[Mapping[str, Any]]:
        """Count numbers by where they lie between two, in the order of the bins; with the ends that each really has."""
        width = high / _BINS - low / _BINS
        value = inside["value"]
        placed = inside.mutate(place=(value / width - low / width).floor().cast("int64"))
        grouped = placed.group_by("place").aggregate(
            records=placed["records"].sum(),
            distinct=placed.count(),
            low=placed["value"].min(),
            high=placed["value"].max(),
        )
        return self._ask(grouped.order_by("place"))

    def binned(self, step: float, most: float) -> dict[int, int]:
        import ibis

        value = self.finite["value"]
        place = (ibis.least(value, ibis.literal(most, type="float64")) / step).floor().cast("int64")
        placed = self.finite.mutate(place=place)
        rows = self._ask(placed.group_by("place").aggregate(records=placed["records"].sum()))
        return {int(row["place"]): int(row["records"]) for row in rows}

    def _ask(self, expression: ir.Table) -> list[Mapping[str, Any]]:
        with quiet(self.counted.table.source.name):
            return list(self.counted.table.engine.fetch(expression).to_pylist())


def _broken(value: Any) -> Any:
    """Return whether a number is not whole; those too large for a fraction are, and for the engine's whole numbers."""
    small = value.abs() < _WHOLE
    return small & (small.ifelse(value, 0.0).floor().cast("float64") != value)
