"""Utility of a release: distributions, associations, counting queries, and models learned from it.

A released value that covers several leaves of its column (see :class:`shoal.risk.Pair`) is read as any of them with the
same chance: ``[20, 25)`` is one fifth each of the ages 20 to 24, ``*`` is every value of the domain alike. Columns of
one record are read independently of each other. The leaves are the values of the column's hierarchy: the declared ones
where the schema declares them, else those that the original table holds. This is what an analyst does who has nothing
but the release: the maximum of entropy given the released value.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
