"""k-anonymity: at least k records in every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.models._classes import Classes
from shoal.models._model import Capabilities, Model

__all__ = ["KAnonymity"]


@dataclass(frozen=True, slots=True)
class KAnonymity(Model):
    """Every record shares its quasi-identifiers with at least k - 1 others.

    Parameters
    ----------
    k
        The smallest class allowed, an integer in [1, inf).

    Guarantee
    ---------
    Syntactic: ``|E| >= k`` for every equivalence class E of the release [LQS10, section 1; Bild24, 2.1.4]. An
    intruder who knows the quasi-identifiers of a person, and that the person is in the release, finds the person's
    record with probability at most 1/k.

    Assumptions
    -----------
    The quasi-identifiers are the attributes that the intruder knows. Sensitive values are not protected: all records
    of a class may share one.

    Examples
    --------
    >>> import numpy as np
    >>> KAnonymity(3).keep(Classes(sizes=np.array([2, 3, 7])), np.array([True, True, True])).tolist()
    [False, True, True]
    """

    k: int
    name: ClassVar[str] = "k-anonymity"
    title: ClassVar[str] = "KAnonymity"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ParameterError(f"`k` of `KAnonymity` must be an integer in [1, inf); got {self.k}.")

    @property
    def capabilities(self) -> Capabilities:
        """What a search may rely on."""
        return Capabilities(monotone_generalization=True, monotone_suppression=True, minimal_class_size=self.k)

    def keep(self, classes: Classes, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the kept classes of at least k records."""
        return np.asarray(kept & (classes.sizes >= self.k))

    def statement(self) -> str:
        """Say what is promised, in one plain sentence."""
        return f"Every record shares its quasi-identifiers with at least {self.k - 1} other records."
