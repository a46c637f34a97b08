"""How values generalise: levels of integer codes from the values themselves to ``*``."""

from shoal.hierarchies._hierarchy import TOP, Hierarchy

__all__ = ["TOP", "Hierarchy"]
