"""What every recoding method offers to plans, releases and benchmarks."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Protocol, Self

from shoal.errors import Cancelled
from shoal.methods.recode._result import SearchResult
from shoal.models import Model
from shoal.quality import Measure, as_measure
from shoal.schema import Schema
from shoal.tables import Frequencies

__all__ = ["Method", "Progress", "Watch"]


class Progress(Protocol):
    """Is told how far the work is, every now and then."""

    def __call__(self, done: int, total: int, message: str, /) -> None:
        """Take ``done`` of ``total`` steps, and a phrase on what is known so far."""


class Method(ABC):
    """A way to recode a table so that privacy models hold."""

    name: ClassVar[str]
    title: ClassVar[str]
    #: whether regions are divided first, and the values that cover them chosen last
    top_down: ClassVar[bool] = False
    __slots__ = ()
    quality: str | Mapping[str, object] | Measure
    weights: Mapping[str, float]
    balance: float

    @property
    def disjoint(self) -> bool:
        """Whether no person fits two classes, and the population counts of classes count all who fit."""
        return False

    @abstractmethod
    def recode(
        self,
        frequencies: Frequencies,
        models: Sequence[Model],
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """Find a recoding under which every released class satisfies every model.

        Raises
        ------
        RequirementError
            If this method finds none; it says what stands in the way.
        Cancelled
            If ``cancelled()`` became true.
        """

    def problems(self, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with promises."""
        found = []
        for model in models:
            if model.capabilities.population_share and not self.disjoint:
                found.append(
                    f"`{model.title}` needs classes that cover no person twice; method `generalize` without `cells` "
                    "makes them"
                )
            if model.capabilities.codes and self.top_down:
                found.append(
                    f"`{model.title}` looks at the released values, which method `{self.name}` chooses last; methods "
                    "`generalize`, `iterate` and `subtree` keep it"
                )
        return found

    def weighted(self, weights: Mapping[str, float]) -> Self:
        """Return the method with these weights of attributes, unless it has some of its own."""
        given = {name: weight for name, weight in weights.items() if weight != 1}
        if not given or self.weights:
            return self
        return dataclasses.replace(self, weights=given)  # type: ignore[type-var]

    @property
    def measure(self) -> Measure:
        """What the method minimises."""
        return as_measure(self.quality, weights=self.weights, balance=self.balance, owner=f"`{self.title}`")

    def resolved(self, schema: Schema) -> Self:
        """Return the method with the measure's target filled in, where the schema decides it."""
        found = self.measure.resolved(schema)
        return self if found == self.measure else dataclasses.replace(self, quality=found)  # type: ignore[type-var]

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates."""
        values = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {name: _plain(value) for name, value in values.items()}


class Watch:
    """Reports progress and notices that the user stopped the work."""

    def __init__(self, progress: Progress | None, cancelled: Callable[[], bool] | None) -> None:
        self._progress, self._cancelled = progress, cancelled
        #: whether anybody wants to know
        self.listens = progress is not None or cancelled is not None

    @property
    def stopped(self) -> Callable[[], bool] | None:
        """What tells that the user stopped the work, for methods that use others."""
        return self._cancelled

    def step(self, done: int, total: int, message: str) -> None:
        """Tell how far the work is; stop if asked to."""
        if self._cancelled is not None and self._cancelled():
            raise Cancelled
        if self._progress is not None:
            self._progress(done, total, message)


def _plain(value: object) -> object:
    """Return a parameter as TOML and JSON know it."""
    if isinstance(value, Measure):
        return {
            "name": value.name,
            **{name: _plain(entry) for name, entry in value.parameters().items() if entry is not None},
        }
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    return str(value) if isinstance(value, Fraction) else value
