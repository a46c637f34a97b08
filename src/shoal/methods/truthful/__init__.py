"""Differential privacy without noise: real records, sampled, generalised, and suppressed in small classes.

`shoal.methods.truthful.parameters` turns (epsilon, delta) into a sampling rate and a threshold, and back.
"""

from shoal.guarantees import PromiseKind
from shoal.methods.truthful._method import Truthful
from shoal.methods.truthful._promises import DifferentialPrivacy, released
from shoal.methods.truthful._scheme import Drawn, Searched
from shoal.methods.truthful._tuples import Tuples

PROMISES: tuple[type[PromiseKind], ...] = (DifferentialPrivacy,)
"""All kinds of promises of this family."""

__all__ = ["PROMISES", "DifferentialPrivacy", "Drawn", "Searched", "Truthful", "Tuples", "released"]
