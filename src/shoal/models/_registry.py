"""Models by the names that plan files, certificates and the command line use."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from shoal.errors import ParameterError
from shoal.models._average_risk import AverageRisk
from shoal.models._beta_likeness import BetaLikeness
from shoal.models._delta_disclosure import DeltaDisclosure
from shoal.models._delta_presence import DeltaPresence
from shoal.models._distinct_l_diversity import DistinctLDiversity
from shoal.models._entropy_l_diversity import EntropyLDiversity
from shoal.models._k_anonymity import KAnonymity
from shoal.models._k_map import KMap
from shoal.models._km_anonymity import KMAnonymity
from shoal.models._model import Model
from shoal.models._multiplicative_closeness import MultiplicativeCloseness
from shoal.models._p_sensitive import PSensitive
from shoal.models._probabilistic_k_anonymity import ProbabilisticKAnonymity
from shoal.models._recursive_l_diversity import RecursiveLDiversity
from shoal.models._sample_uniqueness import SampleUniqueness
from shoal.models._t_closeness import TCloseness

__all__ = ["MODELS", "by_name", "from_parameters", "names"]

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        KAnonymity,
        ProbabilisticKAnonymity,
        KMap,
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
    )
}


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
    if name in MODELS:
        return MODELS[name]
    near = difflib.get_close_matches(name, MODELS, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"the models are {', '.join(f'`{known}`' for known in MODELS)}"
    raise ParameterError(f"There is no model `{name}`.", hint=hint)


def from_parameters(name: str, parameters: Mapping[str, object]) -> Model:
    """Return the model with this name and parameters, as :meth:`Model.parameters` gives them.

    Examples
    --------
    >>> from_parameters("t-closeness", {"attribute": "diagnosis", "t": 0.2})
    TCloseness(attribute='diagnosis', t=0.2)
    """
    return by_name(name).from_parameters(parameters)
