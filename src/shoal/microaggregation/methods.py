"""Microaggregation and exchange as methods of a plan.

Choose `Mdav` first, `VMdav` for people in natural groups; `Swap` where every value must stay and a bound on
re-identification is enough; `IndividualRankingSwap` where intruders may know sensitive values too.

They stand apart from the functions of :mod:`shoal.microaggregation`, on which the constructions of closeness rest that
they use in turn.
"""

from shoal.microaggregation._clusters import Categories
from shoal.microaggregation._method import Clustering, Mdav, Microaggregation, VMdav
from shoal.microaggregation._swap_method import IndividualRankingSwap, Swap

__all__ = ["Categories", "Clustering", "IndividualRankingSwap", "Mdav", "Microaggregation", "Swap", "VMdav"]
