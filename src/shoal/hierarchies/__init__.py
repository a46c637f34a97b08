"""How values generalise: levels of integer codes from the values themselves to ``*``."""

from shoal.hierarchies._arx import read_arx, write_arx
from shoal.hierarchies._build import build, declared_leaves, leaves_declared, provenance
from shoal.hierarchies._hierarchy import TOP, Hierarchy, leaf_codes, outside
from shoal.hierarchies._semantic import Concepts, dissimilarity, semantic_distance, semantic_distances
from shoal.schema.rules import text

__all__ = [
    "TOP",
    "Concepts",
    "Hierarchy",
    "build",
    "declared_leaves",
    "dissimilarity",
    "leaf_codes",
    "leaves_declared",
    "outside",
    "provenance",
    "read_arx",
    "semantic_distance",
    "semantic_distances",
    "text",
    "write_arx",
]
