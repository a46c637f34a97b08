"""The names of this package; each is imported when it is first used."""

from ._compare import compare as compare
from ._comparison import RISKS as RISKS
from ._comparison import UTILITIES as UTILITIES
from ._comparison import Comparison as Comparison
from ._comparison import Figure as Figure
from ._comparison import Point as Point
from ._grid import Grid as Grid
from ._recommend import non_dominated as non_dominated
from ._recommend import recommend as recommend
