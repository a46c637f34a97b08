"""Generalise: lattice, optimal search, local recoding."""

from shoal.recoding._full_domain import Generalize
from shoal.recoding._lattice import Lattice
from shoal.recoding._method import Method, Progress
from shoal.recoding._mondrian import Mondrian
from shoal.recoding._result import ExploredLattice, SearchResult, Solution
from shoal.recoding._specialize import Specialize
from shoal.recoding._sweep import score_lattice

__all__ = [
    "ExploredLattice",
    "Generalize",
    "Lattice",
    "Method",
    "Mondrian",
    "Progress",
    "SearchResult",
    "Solution",
    "Specialize",
    "score_lattice",
]
