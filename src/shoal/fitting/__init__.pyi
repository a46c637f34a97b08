"""The names of this package; each is imported when it is first used."""

from ._margins import LEAST as LEAST
from ._margins import Codes as Codes
from ._margins import Joint as Joint
from ._margins import Margin as Margin
from ._margins import Margins as Margins
from ._raking import POOL as POOL
from ._raking import RakedPool as RakedPool
from ._raking import raked as raked
