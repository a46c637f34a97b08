"""What was decided for every distinct tuple: the form in which all recoding methods hand their result to the engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Recoding"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recoding:
    """The class of every distinct tuple and the released quasi-identifiers of every class.

    Full-domain, iterated, multi-dimensional and subtree recodings all have this form, so they are applied, measured and
    checked by the same code.

    Parameters
    ----------
    attributes
        The quasi-identifiers, in the order of :class:`Frequencies`.
    classes
        The class of every tuple of the frequencies, ``-1`` where it is suppressed. Tuples that agree on all
        quasi-identifiers have the same class.
    codes
        ``codes[c, j]`` is the position in ``labels[j]`` of the value that class ``c`` releases for attribute ``j``.
    labels
        ``labels[j]`` are the released values of attribute ``j`` as text; None is the missing value.
    shares
        ``shares[j][i]`` is the part of the domain that ``labels[j][i]`` covers (see :class:`Hierarchy`).
    depths
        ``depths[j][i]`` is level over height of ``labels[j][i]``, in [0, 1]; 0 is an unchanged value, 1 is ``*``.
    unchanged
        Whether attribute ``j`` is released as it was read, in its own type.
    levels
        The levels of a full-domain recoding, for display; None for local ones.
    """

    attributes: tuple[str, ...]
    classes: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    labels: tuple[tuple[str | None, ...], ...]
    shares: tuple[npt.NDArray[np.float64], ...]
    depths: tuple[npt.NDArray[np.float64], ...]
    unchanged: tuple[bool, ...]
    levels: tuple[int, ...] | None = None

    @property
    def number(self) -> int:
        """The number of released classes."""
        return len(self.codes)
