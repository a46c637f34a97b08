"""What every privacy model offers to searches, releases and checkers."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.models._classes import Classes
from shoal.schema import Schema

__all__ = ["Capabilities", "Model", "keep"]

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a search may rely on; a method reads these and never asks which model it got.

    Parameters
    ----------
    monotone_generalization
        Merging classes that satisfy the model gives a class that satisfies it.
    monotone_suppression
        Removing other classes does not change whether a class satisfies the model.
    minimal_class_size
        No smaller class can satisfy the model.
    sensitive
        The sensitive attributes whose histograms the model reads.
    codes
        Whether the model reads the generalised quasi-identifiers of the classes.
    population
        Whether the model reads the population counts of the classes.
    """

    monotone_generalization: bool
    monotone_suppression: bool
    minimal_class_size: int = 1
    sensitive: tuple[str, ...] = ()
    codes: bool = False
    population: bool = False


@dataclass(frozen=True, slots=True)
class Model(ABC):
    """A privacy model: an exact decision on equivalence classes."""

    name: ClassVar[str]
    title: ClassVar[str]

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What a search may rely on."""

    @abstractmethod
    def keep(self, classes: Classes, kept: Mask) -> Mask:
        """Return which of the ``kept`` classes satisfy the model in a release of exactly the ``kept`` classes.

        The result is a subset of ``kept``. Where the verdict depends on the whole release (closeness to its overall
        distribution, say) removing classes may change the verdict on others: :func:`keep` repeats until nothing
        changes.
        """

    @abstractmethod
    def statement(self) -> str:
        """Say what is promised, in one plain sentence."""

    def problems(self, schema: Schema) -> list[str]:
        """Return what keeps this model from being used with ``schema``."""
        found = []
        for name in self.capabilities.sensitive:
            if name not in schema:
                found.append(f"`{self.title}` names column `{name}`, which the schema does not have")
            elif name not in schema.sensitive:
                found.append(f"`{self.title}` names column `{name}`, whose role is {schema[name].role}, not sensitive")
        return found

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def keep(models: Sequence[Model], classes: Classes) -> Mask:
    """Return the classes that can be released together under all ``models``.

    Starting from all classes, those that fail a model are removed until all that are left satisfy all models in a
    release of exactly the classes that are left. The set only shrinks, so this ends; the result is sound by
    construction and may be empty.
    """
    kept = np.ones(len(classes), dtype=np.bool_)
    while True:
        before = int(kept.sum())
        for model in models:
            kept = model.keep(classes, kept)
        if int(kept.sum()) == before or all(model.capabilities.monotone_suppression for model in models):
            return kept
