"""Plans side by side on one table: risk against utility, the points worth a look, and which one to take."""

from shoal.comparison._compare import compare
from shoal.comparison._comparison import Comparison
from shoal.comparison._frontier import non_dominated
from shoal.comparison._grid import Grid
from shoal.comparison._point import RISKS, UTILITIES, Figure, Point
from shoal.comparison._recommend import recommend

__all__ = ["RISKS", "UTILITIES", "Comparison", "Figure", "Grid", "Point", "compare", "non_dominated", "recommend"]
