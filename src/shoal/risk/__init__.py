"""Measured on any table, before and after: how much an intruder can find out."""

from shoal.risk._assess import Assessment, Separation, assess
from shoal.risk._attack import Attack, Rate
from shoal.risk._attacks import Attacks, attack
from shoal.risk._attribute_disclosure import AttributeDisclosure, attribute_disclosure
from shoal.risk._axes import Axis
from shoal.risk._boxes import Boxes
from shoal.risk._extreme_values import ExtremeValue, clustered, extreme_values
from shoal.risk._individual_risk import individual_risk
from shoal.risk._inference import inference
from shoal.risk._k_duplication import Duplication, k_duplicated, k_duplication
from shoal.risk._k_map import PopulationMap, k_map
from shoal.risk._linkability import linkability
from shoal.risk._linkage import Knowledge, linkage
from shoal.risk._membership import membership
from shoal.risk._pair import UNIT, Pair
from shoal.risk._population_uniqueness import PopulationUniqueness, population_uniqueness
from shoal.risk._record_linkage import RecordLinkage, record_linkage
from shoal.risk._reidentification import (
    ClassSizes,
    Reidentification,
    reidentification,
    reidentification_of_sizes,
)
from shoal.risk._singling_out import singling_out

__all__ = [
    "UNIT",
    "Assessment",
    "Attack",
    "Attacks",
    "AttributeDisclosure",
    "Axis",
    "Boxes",
    "ClassSizes",
    "Duplication",
    "ExtremeValue",
    "Knowledge",
    "Pair",
    "PopulationMap",
    "PopulationUniqueness",
    "Rate",
    "RecordLinkage",
    "Reidentification",
    "Separation",
    "assess",
    "attack",
    "attribute_disclosure",
    "clustered",
    "extreme_values",
    "individual_risk",
    "inference",
    "k_duplicated",
    "k_duplication",
    "k_map",
    "linkability",
    "linkage",
    "membership",
    "population_uniqueness",
    "record_linkage",
    "reidentification",
    "reidentification_of_sizes",
    "singling_out",
]
