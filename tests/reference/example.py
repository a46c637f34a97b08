"""A table of eight people, small enough to measure by hand.

Two quasi-identifiers with four values each, in pairs at level 1 and ``*`` at level 2; the target is 0 or 1.
"""

from __future__ import annotations

from reference.quality import Column, Table

PAIRS = Column(((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)))
PEOPLE = Table(
    (PAIRS, PAIRS),
    (
        ((0, 0), 0),
        ((0, 0), 0),
        ((0, 1), 1),
        ((1, 1), 0),
        ((2, 2), 1),
        ((2, 3), 1),
        ((3, 3), 0),
        ((0, 3), 1),
    ),
)
#: Classes at levels (1, 1): (0, 0) with 4 records, (0, 1) with 1, (1, 1) with 3.
MIDDLE = (1, 1)
