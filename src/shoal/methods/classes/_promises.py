"""What a release of classes promises, in the words of its form and with what was achieved."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

from shoal.exact import fraction, plain
from shoal.guarantees import Column, Neighbours, Promise, Strength, Words, syntactic
from shoal.methods.classes._bridge import PRIOR, RANDOMISED, closeness_epsilon
from shoal.methods.classes._stochastic import stochastic_t
from shoal.models import (
    Achieved,
    Classes,
    KAnonymity,
    Model,
    MultiplicativeCloseness,
    ProbabilisticKAnonymity,
    PSensitive,
)
from shoal.schema import Role

__all__ = [
    "COMPOSITION",
    "HIDDEN",
    "STOCHASTIC",
    "VIEW",
    "achieved",
    "composed",
    "composition",
    "exposed",
    "hidden",
    "local_privacy",
    "stated",
    "stochastic",
    "view",
]

#: names of promises that no model decides
VIEW, STOCHASTIC, LOCAL, HIDDEN, COMPOSITION = (
    "view-differential-privacy",
    "stochastic-closeness",
    "local-differential-privacy",
    "hidden-classes",
    "composition",
)
#: promises whose ``k`` is the least number of people among whom a person's record hides
_CROWDS = (KAnonymity.name, PSensitive.name, ProbabilisticKAnonymity.name, HIDDEN)
DIGITS = 10_000


def stated(model: Model, classes: Classes, words: Words) -> Promise:
    """Return the promise of a model with the parameters that were achieved, worded for the release."""
    found = model.achieved(classes)
    promise = dataclasses.replace(syntactic(achieved(model, found), words), exact=found.plain())
    if words.alike:
        return promise
    return dataclasses.replace(
        promise,
        assumptions=(
            *promise.assumptions,
            "Quasi-identifiers are released as they are: who is in the release is not hidden.",
            "An intruder knows no confidential values of other people of the class.",
        ),
    )


def achieved(model: Model, found: Achieved) -> Model:
    """Return the model with the k and t that a release has, t rounded up to four digits; never weaker than asked."""
    names = {field.name for field in dataclasses.fields(model)}
    better: dict[str, object] = {}
    if "k" in names and isinstance(found.get("k"), int):
        better["k"] = max(int(found["k"]), model.capabilities.minimal_class_size)
    limit = model.capabilities.factor if model.capabilities.factor is not None else model.capabilities.earth_mover
    if limit is not None and "t" in names and "t" in found and math.isfinite(found["t"]):
        rounded = Fraction(math.ceil(fraction(found["t"]) * DIGITS), DIGITS)
        better["t"] = min(rounded, limit)
    return dataclasses.replace(model, **better) if better else model


def view(t: Fraction, columns: Sequence[str]) -> Promise:
    """Return what multiplicative closeness says as differential privacy of an intruder's view [DFSC15 Prop. 3]."""
    epsilon = closeness_epsilon(t)
    listed = ", ".join(f"`{name}`" for name in columns)
    return Promise(
        model=VIEW,
        parameters={"columns": list(columns), "t": plain(t), "epsilon": epsilon},
        strength=Strength.CONDITIONAL,
        statement=f"What an intruder sees of {listed} of a person is {_above(epsilon)}-differentially "
        "private, if the assumptions hold.",
        assumptions=PRIOR,
        neighbours=Neighbours.REPLACE,
        exact={"t": plain(t)},
    )


def hidden(
    t: Fraction,
    k: int,
    columns: Sequence[str],
    *,
    labels: Sequence[Sequence[str]],
    histograms: Sequence[Sequence[int]],
) -> Promise:
    """Return what classes promise that are not published, with the different histograms that they have.

    ``labels`` are the released combinations of the columns. Every entry of ``histograms`` is a number of classes, then
    the records of each combination in such a class.
    """
    listed = ", ".join(f"`{name}`" for name in columns)
    return Promise(
        model=HIDDEN,
        parameters={"columns": list(columns), "k": k, "t": plain(t)},
        strength=Strength.CONDITIONAL,
        statement=f"The values of {listed} of every person were exchanged at random with those of at least {k - 1:,} "
        f"others, among whom no value is more than {plain(t)} times as frequent, or as rare, as in the release.",
        assumptions=(
            "The classes, which are not published, and the exchange inside them are as the steps say.",
            "An intruder knows at most the columns declared as quasi-identifiers, and not the classes.",
            "Quasi-identifiers are released as they are: who is in the release is not hidden.",
        ),
        exact={"labels": [list(row) for row in labels], "histograms": [list(row) for row in histograms]},
    )


def local_privacy(epsilon: Fraction, columns: Sequence[str], *, cryptographic: bool) -> Promise:
    """Return the differential privacy of confidential values that were randomised record by record."""
    listed = ", ".join(f"`{name}`" for name in columns)
    seed = () if cryptographic else ("Nobody knows the seed that the random numbers came from.",)
    return Promise(
        model=LOCAL,
        parameters={"columns": list(columns), "epsilon": plain(epsilon)},
        strength=Strength.UNCONDITIONAL if cryptographic else Strength.CONDITIONAL,
        statement=f"Changing {listed} of any one person changes the probability of what is released by a factor of at "
        f"most e^{plain(epsilon)}, which is below {_above(math.exp(epsilon))}.",
        assumptions=(
            *seed,
            "Quasi-identifiers are not covered: they are protected by the other promises alone.",
            "Whether a value is missing is not covered: records without one are left out, or refused.",
        ),
        neighbours=Neighbours.REPLACE,
    )


def stochastic(epsilon: Fraction, *, records: int, smallest: int) -> Promise:
    """Return the stochastic closeness of randomised confidential attributes [DFSC15 Prop. 1]."""
    t = stochastic_t(epsilon, records=records, smallest=smallest)
    return Promise(
        model=STOCHASTIC,
        parameters={"epsilon": plain(epsilon), "t": t},
        strength=Strength.CONDITIONAL,
        statement="The distribution from which the confidential values of any class are drawn differs from the one of "
        f"the whole release by a factor of at most {_above(t)}.",
        assumptions=RANDOMISED,
        exact={"records": records, "smallest class": smallest},
    )


def exposed(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the confidential columns of a table about which its quasi-identifiers could tell something."""
    known = any(column.role is Role.QUASI_IDENTIFIER for column in columns)
    return tuple(column.name for column in columns if known and column.role is Role.SENSITIVE)


def composed(parts: Sequence[Sequence[Promise]], confidential: Sequence[Sequence[str]]) -> dict[str, object]:
    """Return the parameters of what several tables of different columns promise together.

    ``parts`` are the promises of each table, ``confidential`` its exposed columns (see `exposed`).

    Identity: each table hides a person among k of its own records, so a record of any of them is found with probability
    at most 1 / min k. Closeness, where the distribution of all confidential columns of every table *together* is close
    (that of each alone says nothing of how they go together in a class): an intruder who takes the groups as
    independent, as nothing released says otherwise, believes the product of the class distributions where the product
    of the distributions in the tables was believed before; the factors multiply, and the epsilons of `view` add.
    Values that were randomised in different tables belong to the same people, so the epsilons of `local_privacy` add
    too (sequential composition).
    """
    sizes = [
        max(mine)
        for part in parts
        if (mine := [int(str(each.parameters["k"])) for each in part if each.model in _CROWDS])
    ]
    factors = [_joint(part, columns) for part, columns in zip(parts, confidential, strict=True) if columns]
    found: dict[str, object] = {"tables": len(parts)}
    if sizes and len(sizes) == sum(bool(part) for part in parts):  # a table without promises tells who nobody is
        found["k"] = min(sizes)
    if factors and None not in factors:
        product = math.prod((factor for factor in factors if factor is not None), start=Fraction(1))
        found |= {"t": plain(product), "epsilon": closeness_epsilon(product)}
    losses = [fraction(each.parameters["epsilon"]) for part in parts for each in part if each.model == LOCAL]  # type: ignore[arg-type]
    if losses:
        found["local epsilon"] = plain(sum(losses, Fraction(0)))
    return found


def composition(parts: Sequence[Sequence[Promise]], confidential: Sequence[Sequence[str]]) -> Promise:
    """Return what several tables of different columns promise together; see `composed`."""
    found = composed(parts, confidential)
    said = []
    if "k" in found:
        said.append(f"the record of a person is found in any of them with probability at most 1/{found['k']}")
    if "t" in found:
        said.append(f"beliefs about all confidential values together change by a factor of at most {found['t']}")
    if "local epsilon" in found:
        said.append(f"all randomised values together are {found['local epsilon']}-differentially private")
    return Promise(
        model=COMPOSITION,
        parameters=found,
        strength=Strength.CONDITIONAL,
        statement=f"For an intruder who uses all {len(parts)} tables: {'; '.join(said) or 'each keeps its promises'}.",
        assumptions=(
            "The tables share no column, and nothing tells which records of them belong together.",
            "The intruder does not know how columns of different tables go together.",
            *(PRIOR[:1] if "t" in found else ()),
        ),
    )


def _joint(part: Sequence[Promise], columns: Sequence[str]) -> Fraction | None:
    """Return how close the distribution of all columns together is, or None where nothing says so."""
    found = [
        fraction(promise.parameters["t"])  # type: ignore[arg-type]
        for promise in part
        if (promise.model == MultiplicativeCloseness.name and [promise.parameters["attribute"]] == list(columns))
        or (promise.model in (VIEW, HIDDEN) and promise.parameters["columns"] == list(columns))
    ]
    return min(found, default=None)


def _above(value: float) -> str:
    """Write a number with four digits after the point, never below it."""
    return f"{math.ceil(value * DIGITS + 1e-6) / DIGITS:,.4f}".rstrip("0").rstrip(".")
