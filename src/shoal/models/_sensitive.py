"""Models that look at the values of one sensitive attribute in each class."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from shoal.models._model import Achieved, Mask, Model, released_classes
from shoal.models._rows import Rows
from shoal.tables import Classes

__all__ = ["SensitiveModel"]


@dataclass(frozen=True, slots=True, repr=False)
class SensitiveModel(Model):
    """A model of one sensitive attribute: a verdict on every row of its histogram."""

    attribute: str

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        """Return the kept classes that satisfy the model; the reference is the distribution of the kept classes."""
        rows = Rows.of(classes, self.attribute, kept)
        verdict = np.zeros(len(classes), dtype=np.bool_)
        if len(rows):
            verdict[rows.classes] = self.satisfied(rows)
        return verdict

    def achieved(self, classes: Classes, kept: Mask | None = None) -> Achieved:
        """Return the strongest parameters that hold in a release of exactly the kept classes."""
        rows = Rows.of(classes, self.attribute, released_classes(classes, kept))
        return self.strongest(rows) if len(rows) else Achieved()

    @abstractmethod
    def satisfied(self, rows: Rows) -> Mask:
        """Return which rows, of at least one, satisfy the model in a release of exactly these rows."""

    @abstractmethod
    def strongest(self, rows: Rows) -> Achieved:
        """Return the strongest parameters that hold in a release of exactly these rows, of at least one."""
