"""Shoal: releases of personal records in which every person hides in a crowd.

Everything here is imported when it is first used, so that ``import shoal`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.comparison import Comparison as Comparison
    from shoal.comparison import compare as compare
    from shoal.errors import ShoalError as ShoalError
    from shoal.guarantees import Guarantee as Guarantee
    from shoal.guarantees import Verification as Verification
    from shoal.methods.classes import Anatomy as Anatomy
    from shoal.methods.classes import Bridge as Bridge
    from shoal.methods.classes import Bucketize as Bucketize
    from shoal.methods.classes import IndividualRankingSwap as IndividualRankingSwap
    from shoal.methods.classes import Mdav as Mdav
    from shoal.methods.classes import Slice as Slice
    from shoal.methods.classes import StochasticCloseness as StochasticCloseness
    from shoal.methods.classes import Swap as Swap
    from shoal.methods.classes import TMicroaggregate as TMicroaggregate
    from shoal.methods.classes import VMdav as VMdav
    from shoal.methods.classes import bridge as bridge
    from shoal.methods.noise import DPMicroaggregation as DPMicroaggregation
    from shoal.methods.noise import EpsilonBudget as EpsilonBudget
    from shoal.methods.recode import Generalize as Generalize
    from shoal.methods.recode import Iterate as Iterate
    from shoal.methods.recode import Mondrian as Mondrian
    from shoal.methods.recode import Specialize as Specialize
    from shoal.methods.recode import Subtree as Subtree
    from shoal.methods.truthful import DifferentialPrivacy as DifferentialPrivacy
    from shoal.methods.truthful import Truthful as Truthful
    from shoal.models import AverageRisk as AverageRisk
    from shoal.models import BetaLikeness as BetaLikeness
    from shoal.models import DeltaDisclosure as DeltaDisclosure
    from shoal.models import DeltaPresence as DeltaPresence
    from shoal.models import DistinctLDiversity as DistinctLDiversity
    from shoal.models import EntropyLDiversity as EntropyLDiversity
    from shoal.models import KAnonymity as KAnonymity
    from shoal.models import KMAnonymity as KMAnonymity
    from shoal.models import KMap as KMap
    from shoal.models import MultiplicativeCloseness as MultiplicativeCloseness
    from shoal.models import ProbabilisticKAnonymity as ProbabilisticKAnonymity
    from shoal.models import PSensitive as PSensitive
    from shoal.models import RecursiveLDiversity as RecursiveLDiversity
    from shoal.models import SampleUniqueness as SampleUniqueness
    from shoal.models import TCloseness as TCloseness
    from shoal.plan import Plan as Plan
    from shoal.plan import anonymize as anonymize
    from shoal.plan import draft as draft
    from shoal.queries import BudgetSpent as BudgetSpent
    from shoal.queries import Client as Client
    from shoal.queries import Ledger as Ledger
    from shoal.queries import Loss as Loss
    from shoal.queries import Session as Session
    from shoal.queries import Vault as Vault
    from shoal.release import Release as Release
    from shoal.risk import Assessment as Assessment
    from shoal.risk import Attacks as Attacks
    from shoal.risk import assess as assess
    from shoal.risk import attack as attack
    from shoal.risk import membership as membership
    from shoal.schema import Attribute as Attribute
    from shoal.schema import Cuts as Cuts
    from shoal.schema import Dates as Dates
    from shoal.schema import Domain as Domain
    from shoal.schema import Flat as Flat
    from shoal.schema import FromFile as FromFile
    from shoal.schema import Groups as Groups
    from shoal.schema import Intervals as Intervals
    from shoal.schema import Kind as Kind
    from shoal.schema import Mask as Mask
    from shoal.schema import Missing as Missing
    from shoal.schema import Quantiles as Quantiles
    from shoal.schema import Role as Role
    from shoal.schema import Schema as Schema
    from shoal.schema import Taxonomy as Taxonomy
    from shoal.tables import Table as Table
    from shoal.tables import read as read
    from shoal.utility import Usefulness as Usefulness
    from shoal.utility import usefulness as usefulness
    from shoal.verification import verify as verify

_HOMES = {
    "shoal.methods.classes": (
        "Anatomy",
        "Bridge",
        "Bucketize",
        "IndividualRankingSwap",
        "Mdav",
        "Swap",
        "VMdav",
        "Slice",
        "StochasticCloseness",
        "TMicroaggregate",
        "bridge",
    ),
    "shoal.comparison": (
        "Comparison",
        "compare",
    ),
    "shoal.errors": ("ShoalError",),
    "shoal.guarantees": (
        "Guarantee",
        "Verification",
    ),
    "shoal.verification": ("verify",),
    "shoal.methods.noise": (
        "DPMicroaggregation",
        "EpsilonBudget",
    ),
    "shoal.models": (
        "AverageRisk",
        "BetaLikeness",
        "DeltaDisclosure",
        "DeltaPresence",
        "DistinctLDiversity",
        "EntropyLDiversity",
        "KAnonymity",
        "KMAnonymity",
        "KMap",
        "MultiplicativeCloseness",
        "PSensitive",
        "ProbabilisticKAnonymity",
        "RecursiveLDiversity",
        "SampleUniqueness",
        "TCloseness",
    ),
    "shoal.plan": ("Plan", "anonymize", "draft"),
    "shoal.queries": (
        "BudgetSpent",
        "Client",
        "Ledger",
        "Loss",
        "Session",
        "Vault",
    ),
    "shoal.methods.recode": (
        "Generalize",
        "Iterate",
        "Mondrian",
        "Specialize",
        "Subtree",
    ),
    "shoal.release": ("Release",),
    "shoal.risk": (
        "Assessment",
        "Attacks",
        "assess",
        "attack",
        "membership",
    ),
    "shoal.schema": (
        "Attribute",
        "Cuts",
        "Dates",
        "Domain",
        "Flat",
        "FromFile",
        "Groups",
        "Intervals",
        "Kind",
        "Mask",
        "Missing",
        "Quantiles",
        "Role",
        "Schema",
        "Taxonomy",
    ),
    "shoal.tables": (
        "Table",
        "read",
    ),
    "shoal.methods.truthful": (
        "DifferentialPrivacy",
        "Truthful",
    ),
    "shoal.utility": (
        "Usefulness",
        "usefulness",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


# packages that are reached as attributes, too: shoal.queries.Session
_PACKAGES = ("mechanisms", "methods", "models", "queries", "risk", "testing")


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"shoal.{name}")
    if name not in _HOME:
        raise AttributeError(f"module `shoal` has no attribute `{name}`")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
