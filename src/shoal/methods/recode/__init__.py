"""Generalise: lattice, optimal search, local recoding."""

from shoal.methods.recode._generalize import Generalize
from shoal.methods.recode._iterate import Iterate
from shoal.methods.recode._lattice import Box, Lattice, Levels, Node, Tables
from shoal.methods.recode._method import Recode
from shoal.methods.recode._mondrian import Mondrian
from shoal.methods.recode._result import ExploredLattice, SearchResult, Solution
from shoal.methods.recode._specialize import Specialize
from shoal.methods.recode._subtree import Subtree

__all__ = [
    "Box",
    "ExploredLattice",
    "Generalize",
    "Iterate",
    "Lattice",
    "Levels",
    "Mondrian",
    "Node",
    "Recode",
    "SearchResult",
    "Solution",
    "Specialize",
    "Subtree",
    "Tables",
]
