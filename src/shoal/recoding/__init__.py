"""Generalise: lattice, optimal search, local recoding."""

from shoal.recoding._full_domain import Generalize
from shoal.recoding._iterated import Iterate
from shoal.recoding._lattice import Lattice
from shoal.recoding._method import Method, Progress
from shoal.recoding._mondrian import Mondrian
from shoal.recoding._result import ExploredLattice, SearchResult, Solution
from shoal.recoding._specialize import Specialize
from shoal.recoding._subtree import Subtree
from shoal.recoding._sweep import score_lattice

__all__ = [
    "ExploredLattice",
    "Generalize",
    "Iterate",
    "Lattice",
    "Method",
    "Mondrian",
    "Progress",
    "SearchResult",
    "Solution",
    "Specialize",
    "Subtree",
    "score_lattice",
]
