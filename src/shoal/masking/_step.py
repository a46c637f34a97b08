"""The interface of masking steps: the change of columns, its description, and the promise that it proves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError
from shoal.kernels import Floats
from shoal.mechanisms import RandomSource

NOTHING = "Nothing is promised: the masked file is not anonymous, and its risk is only measured."

Columns = Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingStep(ABC):
    """A change of one or several columns.

    What a record of the masked file says of a step follows from its ``parameters`` and, where the table decides
    something that readers may know, from its ``detail``; so that anybody can say it again and compare.
    """

    name: ClassVar[str]

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as JSON knows them."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Make the step from what :meth:`parameters` gives."""
        lists = {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
        return cls(**lists)

    def detail(self, table: Columns) -> dict[str, object]:
        """Return what the table before the step decides and readers of the masked file may know, as JSON knows it."""
        del table
        return {}

    @abstractmethod
    def describe(self) -> str:
        """Say what the step does, in a sentence that tells nothing about the original values."""

    def promise(self, detail: Mapping[str, object]) -> str:
        """Say what can be proved of the step, in one sentence."""
        del detail
        return NOTHING

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say what in a masked table cannot be after this step, if anything."""
        del table, detail
        return None

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that the step changes."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that the step looks at."""
        return self.columns

    @abstractmethod
    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        """Return the changed columns, and what was done in one sentence that may tell figures of the original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStep(MaskingStep):
    """A change of one column."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


def numbers_of(table: Columns, name: str) -> Floats:
    """Return a column as numbers, NaN where missing; refuse one that holds anything else."""
    try:
        found = pc.cast(plain_text(table[name]), pa.float64())
    except pa.ArrowInvalid:
        raise DataError(f"column `{name}` holds values that are not numbers") from None
    numbers: Floats = found.to_numpy(zero_copy_only=False).astype(np.float64)
    if np.isinf(numbers).any():
        raise DataError(f"column `{name}` holds infinite numbers")
    return numbers


def plain_text(column: pa.Array) -> pa.Array:
    """Return a column as text; empty text is missing."""
    text = pc.cast(column, pa.string())
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(text), ""), None, text)


def format_numbers(numbers: Floats) -> pa.Array:
    """Return numbers as text, missing where NaN."""
    return pa.array([None if np.isnan(value) else f"{value:.12g}" for value in numbers.tolist()], pa.string())


def generator(source: RandomSource) -> np.random.Generator:
    """Return a fast generator that starts from 256 random bits of the source; for steps that promise nothing."""
    return np.random.default_rng(int.from_bytes(source.random_bytes(32), "little"))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
