"""A table of all columns beside many of a few: its scheme is drawn from all trees, its classes are trimmed like theirs.

**Theorem.** Drawing the scheme with epsilon has Renyi divergences of at most a epsilon^2 / 8 for all orders a > 1, and
given the scheme the table is one more table of `shoal.methods.truthful.gaussian`; so both enter its theorem, with the
rho epsilon^2 / 8 + 1 / (2 v) and one more number beta.

*Proof.* A scheme does not depend on the noise of any table, and a record lies in exactly one cell of it: given the
scheme, Lemma 1 holds. For the draw, compare neighbours D and D' = D + record. By the proof in
`shoal.methods.truthful._trees` the logarithm of the ratio of the probabilities of a tree is A'(tree) - A(tree) minus a
constant that no tree changes, and A' - A lies in an interval of length (g Delta + 4T) 2^-b <= epsilon. The proof of
Lemma 2 needs no more than that. Where the top of some column has several values their trees are drawn independently,
and the record is in one of them. QED

The scheme itself is not published: cells of the table that look alike, because a hierarchy has one label on two
levels, are counted together, which is a function of what was drawn, and the standard definition allows that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import DataError
from shoal.kernels import Floats
from shoal.mechanisms import RandomSource
from shoal.methods.base import Watch
from shoal.methods.truthful._scheme import Chooser
from shoal.methods.truthful._scores import Granularity
from shoal.methods.truthful._search import LARGEST_LATTICE
from shoal.methods.truthful._sets_events import Noise
from shoal.methods.truthful._survival import Trims, gaussian_losses
from shoal.methods.truthful._tuples import Tuples
from shoal.tables import Frequencies


@dataclass(frozen=True, kw_only=True)
class GaussianTrimming(Trims):
    """What trimming with Gaussian noise will show of classes, as scores ask; about one record, not about persons."""

    m: int
    variance: Fraction
    per_person: int = 1
    least: int = 1

    @property
    def losses(self) -> Floats:
        return gaussian_losses(self.variance, self.m)


def joint_classes(
    frequencies: Frequencies, lows: Sequence[int], scheme: Fraction, noise: Noise, *, watch: Watch, source: RandomSource
) -> Tuples:
    """Draw a scheme for all columns and return its classes, untrimmed: never to be published.

    What cannot be drawn is refused before a random bit is taken.
    """
    chooser = Chooser(
        frequencies=frequencies,
        low=tuple(lows),
        high=tuple(hierarchy.height for hierarchy in frequencies.hierarchies),
        operator=GaussianTrimming(m=noise.m, variance=noise.variance),
        weights={},
        score=Granularity.name,
        target=None,
        steps=0,
        watch=watch,
        source=source,
    )
    nodes = math.prod(high - low + 1 for low, high in zip(chooser.low, chooser.high, strict=True))
    try:
        if nodes <= LARGEST_LATTICE:
            return chooser.tree(scheme)[1]
    except DataError:
        pass
    raise DataError(
        f"a table of all {len(lows):,} columns has too many values and levels to draw a scheme for.",
        hint="use tables = `pairs`, raise the `levels` of some columns, or release fewer of them",
    )
