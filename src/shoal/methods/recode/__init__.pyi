"""The names of this package; each is imported when it is first used."""

from ._aggregate import Aggregate as Aggregate
from ._aggregate import aggregate_problems as aggregate_problems
from ._generalize import Generalize as Generalize
from ._iterate import Iterate as Iterate
from ._lattice import Box as Box
from ._lattice import Lattice as Lattice
from ._lattice import Levels as Levels
from ._lattice import Node as Node
from ._lattice import Tables as Tables
from ._lattice import smallest_class as smallest_class
from ._method import Recode as Recode
from ._nodes import NodeExplorer as NodeExplorer
from ._nodes import NodeFigures as NodeFigures
from ._result import ExploredLattice as ExploredLattice
from ._result import SearchResult as SearchResult
from ._result import Solution as Solution
from ._result import at_or_above as at_or_above
from ._steps import Aggregated as Aggregated
from ._steps import Generalized as Generalized
from ._steps import Suppressed as Suppressed
from ._subtree import Subtree as Subtree
from ._top_down import Mondrian as Mondrian
from ._top_down import Specialize as Specialize
