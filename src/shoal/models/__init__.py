"""Privacy models: exact decisions on equivalence classes, one file per model or family of models."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.errors import find_by_name
from shoal.models._average_risk import AverageRisk as AverageRisk
from shoal.models._beta_likeness import BetaLikeness as BetaLikeness
from shoal.models._delta_presence import DeltaPresence as DeltaPresence
from shoal.models._k_anonymity import KAnonymity as KAnonymity
from shoal.models._k_anonymity import ProbabilisticKAnonymity as ProbabilisticKAnonymity
from shoal.models._k_map import EstimatedKMap as EstimatedKMap
from shoal.models._k_map import KMap as KMap
from shoal.models._km_anonymity import KMAnonymity as KMAnonymity
from shoal.models._l_diversity import DistinctLDiversity as DistinctLDiversity
from shoal.models._l_diversity import EntropyLDiversity as EntropyLDiversity
from shoal.models._l_diversity import RecursiveLDiversity as RecursiveLDiversity
from shoal.models._model import REPLAY as REPLAY
from shoal.models._model import Achieved as Achieved
from shoal.models._model import Capabilities as Capabilities
from shoal.models._model import Model as Model
from shoal.models._model import Scope as Scope
from shoal.models._model import Stages as Stages
from shoal.models._model import in_order as in_order
from shoal.models._model import keep as keep
from shoal.models._model import orders_of_removal as orders_of_removal
from shoal.models._model import removal as removal
from shoal.models._model import rule_of_removal as rule_of_removal
from shoal.models._multiplicative_closeness import DeltaDisclosure as DeltaDisclosure
from shoal.models._multiplicative_closeness import MultiplicativeCloseness as MultiplicativeCloseness
from shoal.models._p_sensitive import PSensitive as PSensitive
from shoal.models._t_closeness import TCloseness as TCloseness
from shoal.models._uniqueness import EstimatedUniqueness as EstimatedUniqueness
from shoal.models._uniqueness import SampleUniqueness as SampleUniqueness
from shoal.tables import Classes as Classes
from shoal.tables import ClassHistogram as ClassHistogram

#: all models, in the order in which people meet them: a new one is imported above and gets a line here
_LISTED: tuple[type[Model], ...] = (
    KAnonymity,
    ProbabilisticKAnonymity,
    KMap,
    EstimatedKMap,
    PSensitive,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
    MultiplicativeCloseness,
    DeltaDisclosure,
    BetaLikeness,
    DeltaPresence,
    KMAnonymity,
    AverageRisk,
    SampleUniqueness,
    EstimatedUniqueness,
)
MODELS: dict[str, type[Model]] = {model.name: model for model in _LISTED}
"""All models by the names that plan files, certificates and the command line use."""


def names() -> tuple[str, ...]:
    """Return the names of all models."""
    return tuple(MODELS)


def by_name(name: str) -> type[Model]:
    """Return the model with this name.

    Examples
    --------
    >>> by_name("k-anonymity").title
    'KAnonymity'
    """
    return find_by_name("model", name, MODELS)


def from_parameters(name: str, parameters: Mapping[str, object]) -> Model:
    """Return the model with this name and parameters, as :meth:`Model.parameters` gives them.

    Examples
    --------
    >>> from_parameters("t-closeness", {"attribute": "diagnosis", "t": 0.2})
    TCloseness(attribute='diagnosis', t=0.2)
    """
    return by_name(name).from_parameters(parameters)
