"""The names of this package; each is imported when it is first used."""

from ._compare import compare as compare
from ._comparison import Comparison as Comparison
from ._frontier import non_dominated as non_dominated
from ._grid import Grid as Grid
from ._point import RISKS as RISKS
from ._point import UTILITIES as UTILITIES
from ._point import Figure as Figure
from ._point import Point as Point
from ._recommend import recommend as recommend
