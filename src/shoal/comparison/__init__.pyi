"""The names of this package; each is imported when it is first used."""

from ._compare import compare as compare
from ._comparison import RISKS as RISKS
from ._comparison import UTILITIES as UTILITIES
from ._comparison import Comparison as Comparison
from ._comparison import Figure as Figure
from ._comparison import Point as Point
from ._grid import Grid as Grid
from ._joint import JointRisk as JointRisk
from ._joint import joint_risk as joint_risk
from ._recommend import non_dominated as non_dominated
from ._recommend import recommend as recommend
from ._series import SeriesForecast as SeriesForecast
from ._series import choose_forecast as choose_forecast
from ._series import forecast_series as forecast_series
