"""What private means: one file per privacy model, each an exact decision on equivalence classes."""

from shoal.models._average_risk import AverageRisk
from shoal.models._beta_likeness import BetaLikeness
from shoal.models._delta_disclosure import DeltaDisclosure
from shoal.models._delta_presence import DeltaPresence
from shoal.models._distinct_l_diversity import DistinctLDiversity
from shoal.models._entropy_l_diversity import EntropyLDiversity
from shoal.models._k_anonymity import KAnonymity
from shoal.models._k_map import KMap
from shoal.models._km_anonymity import KMAnonymity
from shoal.models._model import Achieved, Capabilities, Model, Scope, keep
from shoal.models._multiplicative_closeness import MultiplicativeCloseness
from shoal.models._p_sensitive import PSensitive
from shoal.models._probabilistic_k_anonymity import ProbabilisticKAnonymity
from shoal.models._recursive_l_diversity import RecursiveLDiversity
from shoal.models._registry import MODELS, by_name, from_parameters, names
from shoal.models._sample_uniqueness import SampleUniqueness
from shoal.models._t_closeness import TCloseness
from shoal.tables import Classes, ClassHistogram

__all__ = [
    "MODELS",
    "Achieved",
    "AverageRisk",
    "BetaLikeness",
    "Capabilities",
    "ClassHistogram",
    "Classes",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "KAnonymity",
    "KMAnonymity",
    "KMap",
    "Model",
    "MultiplicativeCloseness",
    "PSensitive",
    "ProbabilisticKAnonymity",
    "RecursiveLDiversity",
    "SampleUniqueness",
    "Scope",
    "TCloseness",
    "by_name",
    "from_parameters",
    "keep",
    "names",
]
