"""The names of this package; each is imported when it is first used."""

from ._concrete import ConcreteRecords as ConcreteRecords
from ._concrete import concrete_records as concrete_records
from ._estimates import Estimate as Estimate
from ._estimates import Estimates as Estimates
from ._estimates import estimate as estimate
from ._estimates import estimates_of as estimates_of
from ._spelling import ABOUT as ABOUT
from ._spelling import CONCRETE as CONCRETE
from ._spelling import refuse_drawn_records as refuse_drawn_records
from ._spelling import write_records as write_records
from ._weights import WEIGHT as WEIGHT
from ._weights import Calibration as Calibration
from ._weights import calibrated_weights as calibrated_weights
from ._weights import expected_weight as expected_weight
from ._weights import weighted as weighted
from ._weights import weighted_records as weighted_records
