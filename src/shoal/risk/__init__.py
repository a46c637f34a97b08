"""Measured on any table, before and after: how much an intruder can find out."""

from shoal.risk._assess import Assessment, Separation, assess
from shoal.risk._attack import Attack, Rate
from shoal.risk._attacks import Attacks, attack, linkability, singling_out
from shoal.risk._attribute_disclosure import AttributeDisclosure, attribute_disclosure
from shoal.risk._axes import ColumnAxis
from shoal.risk._boxes import Boxes
from shoal.risk._demonstrations import Duplication, ExtremeValue, clustered, extreme_values, k_duplicated, k_duplication
from shoal.risk._inference import inference
from shoal.risk._linkage import Knowledge, linkage
from shoal.risk._membership import membership
from shoal.risk._pair import UNIT, Pair
from shoal.risk._population_uniqueness import PopulationUniqueness, individual_risk, population_uniqueness
from shoal.risk._record_linkage import RecordLinkage, record_linkage
from shoal.risk._reidentification import (
    ClassSizes,
    PopulationMap,
    Reidentification,
    k_map,
    reidentification,
    reidentification_of_sizes,
)

__all__ = [
    "UNIT",
    "Assessment",
    "Attack",
    "Attacks",
    "AttributeDisclosure",
    "Boxes",
    "ClassSizes",
    "ColumnAxis",
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
