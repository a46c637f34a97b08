"""The names of this package; each is imported when it is first used."""

from ._estimates import Estimate as Estimate
from ._estimates import Estimates as Estimates
from ._estimates import estimate as estimate
from ._estimates import estimates_of as estimates_of
