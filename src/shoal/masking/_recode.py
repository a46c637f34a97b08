"""Recoding in one line: top and bottom coding, rounding, and values put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ParameterError
from shoal.kernels import Floats, Mask
from shoal.masking._step import NOTHING, Columns, MaskingStep, column_of, numbers_of, plain_text
from shoal.mechanisms import RandomSource

__all__ = ["BottomCode", "GlobalRecode", "RoundTo", "TopCode"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit(MaskingStep):
    """Values beyond a limit become one value."""

    column: str
    limit: float
    value: str | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.limit):
            raise ParameterError(f"`limit` of `{type(self).__name__}` must be a number; got {self.limit}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the step changes."""
        return (self.column,)

    def _coded(self, table: Columns, beyond: Mask, label: str) -> tuple[dict[str, pa.Array], int, str]:
        shown = label if self.value is None else self.value
        text = plain_text(column_of(table, self.column)).to_pylist()
        changed = [shown if out else value for value, out in zip(text, beyond.tolist(), strict=True)]
        return {self.column: pa.array(changed, pa.string())}, int(beyond.sum()), shown


class TopCode(_Limit):
    """Every value from a limit on becomes one value, ``>=LIMIT`` where none is given.

    Examples
    --------
    >>> TopCode(column="age", limit=80).columns
    ('age',)
    """

    __slots__ = ()

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str, str]:
        """Return the changed column, what was done in one sentence, and what is promised."""
        del source
        found, number, shown = self._coded(table, _places(table, self.column) >= self.limit, f">={self.limit:g}")
        return found, f"Top coding: {number:,} values of `{self.column}` from {self.limit:g} on are {shown}.", NOTHING


class BottomCode(_Limit):
    """Every value up to a limit becomes one value, ``<=LIMIT`` where none is given.

    Examples
    --------
    >>> BottomCode(column="age", limit=18).limit
    18
    """

    __slots__ = ()

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str, str]:
        """Return the changed column, what was done in one sentence, and what is promised."""
        del source
        found, number, shown = self._coded(table, _places(table, self.column) <= self.limit, f"<={self.limit:g}")
        return found, f"Bottom coding: {number:,} values of `{self.column}` up to {self.limit:g} are {shown}.", NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTo(MaskingStep):
    """Every number becomes the nearest multiple of a step; halves go to the even multiple.

    Examples
    --------
    >>> RoundTo(column="income", step="100").columns
    ('income',)
    """

    column: str
    step: str | float

    def __post_init__(self) -> None:
        if not self._step.is_finite() or self._step <= 0:
            raise ParameterError(f"`step` of `RoundTo` must be a positive number; got {self.step!r}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the step changes."""
        return (self.column,)

    @property
    def _step(self) -> Decimal:
        try:
            return Decimal(str(self.step)).normalize()
        except InvalidOperation:
            return Decimal(0)

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str, str]:
        """Return the changed column, what was done in one sentence, and what is promised."""
        del source
        numbers_of(table, self.column)  # refuses what is no number
        text = plain_text(column_of(table, self.column)).to_pylist()
        rounded = [None if value is None else self._rounded(Decimal(value.strip())) for value in text]
        return {self.column: pa.array(rounded, pa.string())}, f"Rounded `{self.column}` to {self._step:f}.", NOTHING

    def _rounded(self, value: Decimal) -> str:
        times = (value / self._step).to_integral_value(rounding=ROUND_HALF_EVEN)
        return f"{(times * self._step) + 0:f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalRecode(MaskingStep):
    """Values of a column become others, the same everywhere; values that are not named stay.

    Examples
    --------
    >>> GlobalRecode(column="canton", values={"ZH": "north", "TI": "south"}).columns
    ('canton',)
    """

    column: str
    values: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the step changes."""
        return (self.column,)

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str, str]:
        """Return the changed column, what was done in one sentence, and what is promised."""
        del source
        text = plain_text(column_of(table, self.column)).to_pylist()
        changed = pa.array(
            [self.values.get(value, value) if value is not None else None for value in text], pa.string()
        )
        said = (
            f"Global recoding: {len(self.values):,} values of `{self.column}` became {len({*self.values.values()}):,}."
        )
        return {self.column: changed}, said, NOTHING


def _places(table: Columns, name: str) -> Floats:
    """Return a column as numbers; what was coded at an end before lies beyond every limit of the other end."""
    text = plain_text(column_of(table, name))
    top, bottom = (pc.fill_null(pc.starts_with(text, sign), False) for sign in (">=", "<="))
    shown = {name: pc.if_else(pc.or_(top, bottom), None, text)}
    return np.where(top.to_numpy(False), np.inf, np.where(bottom.to_numpy(False), -np.inf, numbers_of(shown, name)))
