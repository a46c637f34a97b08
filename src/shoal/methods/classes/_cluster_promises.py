"""What releases of microaggregation promise where no model decides it on the table as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.guarantees import Promise, Strength, Words
from shoal.methods.classes._check_clusters import ATTRIBUTE_SET
from shoal.methods.classes._promises import stated
from shoal.models import Classes, Model, ProbabilisticKAnonymity

__all__ = ["HIDDEN_MODEL", "informed", "of_attribute_set", "of_clusters", "uninformed"]

#: the name of a promise about clusters that are not published
HIDDEN_MODEL = "clusters"

SEED = "Nobody knows the seed that the random numbers came from."
SHOWN = "Quasi-identifiers are released as they are: the release is not k-anonymous, and who is in it is not hidden."
UNTIED = (
    "Nothing that is known, the released columns that stay included, ties the exchanged values to them: a column that "
    "follows from another undoes the exchange."
)
DRAWN = "The clusters and the exchange inside them, which the data cannot show, are as the steps say."


def of_attribute_set(model: Model, classes: Classes, columns: Sequence[str]) -> Promise:
    """Return the promise of a model for the classes that some quasi-identifiers form on their own."""
    promise = stated(model, classes, Words(columns=tuple(columns)))
    listed, statement = _listed(columns), promise.statement
    return replace(
        promise,
        model=ATTRIBUTE_SET,
        parameters={"columns": list(columns), "model": promise.model, "parameters": dict(promise.parameters)},
        statement=statement if listed in statement else f"Looking at {listed} alone: {statement}",
        assumptions=(
            f"An intruder knows at most {listed}: all quasi-identifiers taken together are not covered, since their "
            "groups were clustered apart.",
            *(text for text in promise.assumptions if not text.startswith("An intruder knows at most")),
        ),
    )


def uninformed(k: int, columns: Sequence[str], *, cryptographic: bool) -> Promise:
    """Return what an exchange of all but the quasi-identifiers promises [SC13 Def. 5, section 3.3.1]."""
    return Promise(
        model=ProbabilisticKAnonymity.name,
        parameters={"k": k, "intruder": "uninformed", "columns": list(columns)},
        strength=Strength.CONDITIONAL,
        statement="An intruder who knows the quasi-identifiers of a person finds the record that the person's values "
        f"of {_listed(columns)} were moved to with probability at most 1/{k}.",
        assumptions=(
            "An intruder knows at most the columns declared as quasi-identifiers, of anybody (uninformed intruder). "
            "Clusters and method may be known, the random exchange not.",
            DRAWN,
            SHOWN,
            UNTIED,
            "Values are not covered, only records: a value that m of the c records of a cluster share is the person's "
            "with probability m/c, and one that all share is disclosed.",
            *(() if cryptographic else (SEED,)),
        ),
    )


def informed(k: int, columns: Sequence[str], *, cryptographic: bool) -> Promise:
    """Return what exchanges of each sensitive column on its own promise [SC13 Def. 5, sections 3.3.2 and 3.3.3]."""
    one = f"`{columns[0]}`" if len(columns) == 1 else f"one of {_listed(columns)}"
    return Promise(
        model=ProbabilisticKAnonymity.name,
        parameters={"k": k, "intruder": "informed", "columns": list(columns)},
        strength=Strength.CONDITIONAL,
        statement=f"An intruder who knows every column of a person but {one} finds the record that the person's value "
        f"of that column was moved to with probability at most 1/{k}.",
        assumptions=(
            "An intruder knows no value of the column in question of anybody else (informed intruder). Clusters and "
            "method may be known, the random exchange not.",
            DRAWN,
            SHOWN,
            "Values are exchanged with near ones: the value of a person is learnt with the precision of its cluster. k "
            "is to be much larger than for k-anonymity.",
            UNTIED,
            *(() if cryptographic else (SEED,)),
        ),
    )


def of_clusters(model: Model, classes: Classes) -> Promise:
    """Return the promise of a model for clusters that are not published."""
    promise = stated(model, classes, Words(group="cluster", alike=False))
    return replace(
        promise,
        model=HIDDEN_MODEL,
        parameters={"model": promise.model, "parameters": dict(promise.parameters)},
        strength=Strength.CONDITIONAL,
        assumptions=(
            DRAWN,
            "An intruder knows no sensitive values of other people of the cluster.",
            "An intruder does not use that clusters were merged because of their sensitive values.",
        ),
        exact={},
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
