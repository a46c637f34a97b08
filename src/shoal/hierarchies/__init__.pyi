"""The names of this package; each is imported when it is first used."""

from ._arx import read_arx as read_arx
from ._arx import write_arx as write_arx
from ._build import build as build
from ._build import declared_leaves as declared_leaves
from ._build import leaves_declared as leaves_declared
from ._build import provenance as provenance
from ._derive import derive_columns as derive_columns
from ._derive import possible_values as possible_values
from ._hierarchy import TOP as TOP
from ._hierarchy import Hierarchy as Hierarchy
from ._hierarchy import leaf_codes as leaf_codes
from ._hierarchy import outside as outside
from ._labels import LabelLevels as LabelLevels
from ._labels import label_levels as label_levels
from ._semantic import Concepts as Concepts
from ._semantic import dissimilarity as dissimilarity
from ._semantic import semantic_distance as semantic_distance
from ._semantic import semantic_distances as semantic_distances
