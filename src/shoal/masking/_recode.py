"""Recoding in one line: top and bottom coding, rounding, and values put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ParameterError, counted
from shoal.kernels import Floats, Mask
from shoal.masking._step import Columns, ColumnStep, numbers_of, plain_text
from shoal.mechanisms import RandomSource


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit(ColumnStep):
    """Values beyond a limit become one value."""

    limit: float
    value: str | None = None
    title: ClassVar[str]
    #: which numbers are beyond the limit, as a sign and in words
    sign: ClassVar[str]
    words: ClassVar[str]

    def __post_init__(self) -> None:
        if not np.isfinite(self.limit):
            raise ParameterError(f"`limit` of `{type(self).__name__}` must be a number; got {self.limit}.")

    def beyond(self, numbers: Any) -> Any:
        """Return whether a number, or which of many, lie beyond the limit."""
        return numbers >= self.limit if self.sign == ">=" else numbers <= self.limit

    def describe(self) -> str:
        return f"{self.title}: values of `{self.column}` {self._which} are one value."

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say that a number beyond the limit is left, if one is."""
        del detail
        left = any(map(self.beyond, _read_shown_numbers(table, self.column, self.value)))
        return f"`{self.column}` holds numbers {self._which}" if left else None

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        del source
        beyond: Mask = self.beyond(_places(table, self.column))
        shown = f"{self.sign}{self._limit}" if self.value is None else self.value
        text = plain_text(table[self.column]).to_pylist()
        changed = [shown if out else value for value, out in zip(text, beyond.tolist(), strict=True)]
        done = f"{self.title}: {int(beyond.sum()):,} values of `{self.column}` {self._which} are {shown}."
        return {self.column: pa.array(changed, pa.string())}, done

    @property
    def _which(self) -> str:
        return self.words.format(limit=self._limit)

    @property
    def _limit(self) -> str:
        """The limit with all its digits."""
        return f"{Decimal(str(self.limit)).normalize():f}"


class TopCode(_Limit):
    """Every value from a limit on becomes one value, ``>=LIMIT`` where none is given.

    Examples
    --------
    >>> TopCode(column="age", limit=80).columns
    ('age',)
    """

    __slots__ = ()
    name: ClassVar[str] = "top-code"
    title: ClassVar[str] = "Top coding"
    sign: ClassVar[str] = ">="
    words: ClassVar[str] = "from {limit} on"


class BottomCode(_Limit):
    """Every value up to a limit becomes one value, ``<=LIMIT`` where none is given.

    Examples
    --------
    >>> BottomCode(column="age", limit=18).limit
    18
    """

    __slots__ = ()
    name: ClassVar[str] = "bottom-code"
    title: ClassVar[str] = "Bottom coding"
    sign: ClassVar[str] = "<="
    words: ClassVar[str] = "up to {limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTo(ColumnStep):
    """Every number becomes the nearest multiple of a step; halves go to the even multiple.

    Examples
    --------
    >>> RoundTo(column="income", step="100").columns
    ('income',)
    """

    name: ClassVar[str] = "round"
    step: str | float

    def __post_init__(self) -> None:
        if not self._step.is_finite() or self._step <= 0:
            raise ParameterError(f"`step` of `RoundTo` must be a positive number; got {self.step!r}.")

    def describe(self) -> str:
        return f"Rounded `{self.column}` to {self._step:f}."

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say that a number is not rounded, if one is not."""
        del detail
        step = Fraction(self._step)
        left = any(number % step for number in _read_shown_numbers(table, self.column))
        return f"`{self.column}` holds numbers that are not multiples of {self._step:f}" if left else None

    @property
    def _step(self) -> Decimal:
        try:
            return Decimal(str(self.step)).normalize()
        except InvalidOperation:
            return Decimal(0)

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        del source
        numbers_of(table, self.column)  # refuses what is no number
        text = plain_text(table[self.column]).to_pylist()
        rounded = [None if value is None else self._round_value(Decimal(value.strip())) for value in text]
        return {self.column: pa.array(rounded, pa.string())}, self.describe()

    def _round_value(self, value: Decimal) -> str:
        times = (value / self._step).to_integral_value(rounding=ROUND_HALF_EVEN)
        return f"{(times * self._step) + 0:f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalRecode(ColumnStep):
    """Values of a column become others, the same everywhere; values that are not named stay.

    Examples
    --------
    >>> GlobalRecode(column="canton", values={"ZH": "north", "TI": "south"}).columns
    ('canton',)
    """

    name: ClassVar[str] = "recode"
    values: Mapping[str, str]

    def describe(self) -> str:
        return (
            f"Global recoding: {counted(len(self.values), 'value')} of `{self.column}` became "
            f"{len({*self.values.values()}):,}."
        )

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say that a value is left that was to become another, if one is."""
        del detail
        gone = {*self.values} - {*self.values.values()}
        left = gone & {*plain_text(table[self.column]).to_pylist()}
        return f"`{self.column}` holds values that should have been recoded" if left else None

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        del source
        text = plain_text(table[self.column]).to_pylist()
        changed = pa.array(
            [self.values.get(value, value) if value is not None else None for value in text], pa.string()
        )
        return {self.column: changed}, self.describe()


def _read_shown_numbers(table: Columns, name: str, coded: str | None = None) -> list[Fraction]:
    """Return the numbers that a masked column shows; what was coded is none."""
    numbers = []
    for value in {*plain_text(table[name]).unique().to_pylist()} - {coded}:
        try:
            numbers.append(Fraction(Decimal((value or "").strip())))
        except (InvalidOperation, ValueError, OverflowError):
            continue
    return numbers


def _places(table: Columns, name: str) -> Floats:
    """Return a column as numbers; what was coded at an end before lies beyond every limit of the other end."""
    text = plain_text(table[name])
    top, bottom = (pc.fill_null(pc.starts_with(text, sign), False) for sign in (">=", "<="))
    shown = {name: pc.if_else(pc.or_(top, bottom), None, text)}
    return np.where(top.to_numpy(False), np.inf, np.where(bottom.to_numpy(False), -np.inf, numbers_of(shown, name)))
