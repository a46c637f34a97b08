"""Generalise: lattice, optimal search, local recoding."""

from shoal.methods.recode._full_domain import Generalize
from shoal.methods.recode._iterated import Iterate
from shoal.methods.recode._lattice import Lattice
from shoal.methods.recode._method import Recode
from shoal.methods.recode._mondrian import Mondrian
from shoal.methods.recode._result import ExploredLattice, SearchResult, Solution
from shoal.methods.recode._specialize import Specialize
from shoal.methods.recode._subtree import Subtree
from shoal.methods.recode._sweep import score_lattice

__all__ = [
    "ExploredLattice",
    "Generalize",
    "Iterate",
    "Lattice",
    "Mondrian",
    "Recode",
    "SearchResult",
    "Solution",
    "Specialize",
    "Subtree",
    "score_lattice",
]
