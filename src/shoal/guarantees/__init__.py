"""What a release promises, as values that can be written, read and checked."""

from shoal.guarantees._certificate import CERTIFICATE, Certificate, certify, fingerprint
from shoal.guarantees._check import Check, Verification
from shoal.guarantees._events import (
    Aggregated,
    Budget,
    Dropped,
    Event,
    Filtered,
    Generalized,
    LeftOut,
    Ordered,
    Pseudonymized,
    Sampled,
    SchemeChosen,
    Suppressed,
    budget,
)
from shoal.guarantees._guarantee import Guarantee
from shoal.guarantees._promise import Neighbours, Promise, Strength, syntactic
from shoal.guarantees._verify import verify

__all__ = [
    "CERTIFICATE",
    "Aggregated",
    "Budget",
    "Certificate",
    "Check",
    "Dropped",
    "Event",
    "Filtered",
    "Generalized",
    "Guarantee",
    "LeftOut",
    "Neighbours",
    "Ordered",
    "Promise",
    "Pseudonymized",
    "Sampled",
    "SchemeChosen",
    "Strength",
    "Suppressed",
    "Verification",
    "budget",
    "certify",
    "fingerprint",
    "syntactic",
    "verify",
]
