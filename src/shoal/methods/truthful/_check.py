"""Check a promise of differential privacy: what its steps claim, computed again, and what the data file shows.

Whether the steps were carried out as the certificate says, no file can show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from shoal import models
from shoal.exact import fraction
from shoal.guarantees import (
    CRYPTOGRAPHIC,
    Certificate,
    Check,
    Decision,
    Dropped,
    Event,
    Evidence,
    Filtered,
    Generalized,
    LeftOut,
    Neighbours,
    Ordered,
    PromiseEntry,
    Sampled,
    SchemeChosen,
    Strength,
    Suppressed,
    checked,
)
from shoal.methods.truthful._survival import sensitivity_range
from shoal.methods.truthful.parameters import satisfies
from shoal.schema import Provenance
from shoal.tables import Classes

if TYPE_CHECKING:
    from shoal.methods.truthful._promises import DifferentialPrivacy

__all__ = ["check_privacy"]

#: How a scheme may have been chosen, and whether that is proved to be private.
_SEARCHES = {"draw": True, "tree": True, "split walk": True, "fixed": True, "published walk": False}

#: All steps that a release may consist of, in their order, and whether it must.
_STEPS: dict[type[Event], bool] = {
    Dropped: False,
    SchemeChosen: True,
    Generalized: True,
    Sampled: True,
    Filtered: False,
    Ordered: True,
}

Step = Mapping[str, object]


def check_privacy(promise: DifferentialPrivacy, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    """Return one check per part of the promise."""
    certificate = evidence.certificate
    parts: dict[str, Callable[[], Decision]] = {
        "words": lambda: _words(promise, entry, certificate),
        "steps": lambda: _steps(certificate),
        "figures": lambda: _figures(promise, entry, certificate),
        "budget": lambda: _budget(promise, certificate),
        "sampling": lambda: _sampling(entry, certificate),
        "classes": lambda: _classes(evidence),
        "scheme": lambda: _scheme(entry, certificate),
        "filters": lambda: _filters(promise, certificate),
        "domains": lambda: _domains(entry, certificate),
        "silence": lambda: _silence(certificate),
    }
    return [checked(f"{promise.name}, {part}", decide) for part, decide in parts.items()]


def _words(promise: DifferentialPrivacy, entry: PromiseEntry, certificate: Certificate) -> Decision:
    """Say the promise again from its parameters, and compare."""
    search = str(_one(certificate, SchemeChosen.name)["search"])
    cryptographic = certificate.randomness == CRYPTOGRAPHIC
    doubts = promise.doubts(covered=_SEARCHES.get(search, False), cryptographic=cryptographic)
    if entry.unit != "record":
        return False, "the unit is not the record"
    if not certificate.same_wording:
        return True, "the unit is the record"
    if entry.statement != promise.statement():
        return False, "the statement is not what the parameters mean"
    if entry.assumptions != (*doubts, *promise.assumptions()):
        return False, "the assumptions are not those of the promise"
    return True, "statement, assumptions and unit are what the parameters mean"


def _steps(certificate: Certificate) -> Decision:
    """Look whether the steps are those of such a release, described as they are."""
    names = [str(step.get("step")) for step in certificate.steps]
    known = {kind.name: kind for kind in _STEPS}
    needed = [kind.name for kind, always in _STEPS.items() if always or kind.name in names]
    if names != needed:
        return False, "the steps are not those of a release with differential privacy"
    steps = certificate.steps
    if not certificate.same_wording:
        steps = tuple({**step, "description": _again(known[str(step["step"])], step)["description"]} for step in steps)
    strange = [name for name, step in zip(names, steps, strict=True) if _again(known[name], step) != step]
    if strange:
        return False, f"the step `{strange[0]}` is not described as it is"
    columns = [column.name for column in certificate.data.columns]
    if _one(certificate, Generalized.name)["columns"] != columns:
        return False, "the columns that were generalised are not the released ones"
    return True, f"{len(names)} steps, each described as it is"


def _again(kind: type[Event], step: Step) -> dict[str, object]:
    """Return a step as it would be written from its own figures."""
    values = {}
    for field in dataclasses.fields(kind):
        value = step[field.name]
        values[field.name] = (
            fraction(str(value)) if field.type == "Fraction" else tuple(value) if isinstance(value, list) else value
        )
    return kind(**values).to_json()


def _figures(promise: DifferentialPrivacy, entry: PromiseEntry, certificate: Certificate) -> Decision:
    """Compare the figures of the promise with those of the steps; prove what is computed from them again."""
    chosen, sampled = _one(certificate, SchemeChosen.name), _one(certificate, Sampled.name)
    stated = dict(entry.exact)
    # the number that was rounded up is the float, not the fewest digits that give it back
    attained = Fraction(float(str(stated.pop("delta attained, rounded up"))))
    names = ("beta", "k", "sensitivity of the score", "epsilon of the scheme", "epsilon of the sampling")
    found = (sampled["beta"], sampled["k"], chosen["sensitivity"], chosen["epsilon_spent"], sampled["epsilon_spent"])
    if stated != dict(zip(names, found, strict=True)):
        return False, "the figures of the promise are not those of its steps"
    beta, k, epsilon = _number(sampled, "beta"), int(str(sampled["k"])), _number(sampled, "epsilon_spent")
    if attained > _number(sampled, "delta_spent") or not satisfies(
        k=k, beta=beta, epsilon=epsilon, delta=attained, definition=promise.definition
    ):
        return False, "the delta that is said to be attained is not"
    searching, spent = chosen["search"] != "fixed", _number(chosen, "epsilon_spent")
    if (spent, epsilon) != (
        promise.search_epsilon(searching=searching),
        promise.total - promise.search_epsilon(searching=searching),
    ):
        return False, "the search does not spend its share of epsilon"
    score, sensitivity = str(chosen["score"]), _number(chosen, "sensitivity")
    low, high = sensitivity_range(score, beta=beta, k=k, columns=len(certificate.data.columns))
    if not (low <= sensitivity <= high if searching else sensitivity == 0):
        return False, f"one record can change the score `{score}` by another amount than is stated"
    return True, "the figures of the promise are those of its steps"


def _filters(promise: DifferentialPrivacy, certificate: Certificate) -> Decision:
    """Compare the other promises with what was left out for them, and with the definition, which must allow that."""
    others = [each for each in certificate.promises if each.strength is Strength.SYNTACTIC]
    asked = [models.from_parameters(each.model, each.parameters) for each in others]
    wanted = {model.name for model in asked if not model.capabilities.decided_by_size}
    steps = [step for step in certificate.steps if step.get("step") == Filtered.name]
    done = {str(name) for step in steps for name in step["models"]}  # type: ignore[attr-defined]
    if wanted != done:
        return False, "the classes were not filtered by the other promises"
    if steps and promise.definition != "standard":
        return False, "classes were filtered, and the probabilistic definition does not survive that"
    return True, "by " + ", ".join(f"`{name}`" for name in sorted(done)) if done else "there are none"


def _budget(promised: DifferentialPrivacy, certificate: Certificate) -> Decision:
    """Add up what the steps spend, and compare with the promise and with the total that is stated."""
    spent = [_number(step, "epsilon_spent") for step in certificate.steps if "epsilon_spent" in step]
    deltas = [_number(step, "delta_spent") for step in certificate.steps if "delta_spent" in step]
    epsilon, delta = sum(spent, Fraction(0)), sum(deltas, Fraction(0))
    stated = certificate.budget
    passed = (
        min([*spent, *deltas]) >= 0
        and epsilon <= promised.total
        and delta <= Fraction(promised.delta)
        and stated is not None
        and (Fraction(stated.epsilon), Fraction(stated.delta)) == (epsilon, delta)
    )
    shown = f"the steps spend epsilon {float(epsilon):.6g} and delta {float(delta):.6g} in all"
    return passed, shown if passed else f"{shown}, which is not what is promised or stated"


def _sampling(entry: PromiseEntry, certificate: Certificate) -> Decision:
    """Decide again, in ball arithmetic, whether the sampling rate and the threshold keep what they claim."""
    step = _one(certificate, Sampled.name)
    k, beta, definition = step["k"], _number(step, "beta"), str(step["definition"])
    if not isinstance(k, int) or (beta * 2**64).denominator != 1:
        return False, "k is not a whole number, or beta is not a multiple of 2^-64"
    if definition != entry.parameters.get("definition"):
        return False, "the definition is not the promised one"
    epsilon, delta = _number(step, "epsilon_spent"), _number(step, "delta_spent")
    kept = satisfies(k=k, beta=beta, epsilon=epsilon, delta=delta, definition=definition)  # type: ignore[arg-type]
    claim = f"beta = {float(beta):.6g} and k = {k:,} keep epsilon {float(epsilon):.6g}, delta {float(delta):.6g}"
    return kept, f"{claim} ({definition}): proved again" if kept else f"it cannot be proved that {claim}"


def _classes(evidence: Evidence) -> Decision:
    """Count how often every released combination of values occurs, all columns taken together."""
    certificate = evidence.certificate
    k = _one(certificate, Sampled.name)["k"]
    assert isinstance(k, int)  # noqa: S101 - anything else is reported by the check of the sampling
    names = [column.name for column in certificate.data.columns]
    smallest = int(Classes.grouped(evidence.counted(certificate.data, names)).sizes.min())
    return smallest >= k, f"every combination of values occurs at least {smallest:,} times; k = {k:,}"


def _scheme(entry: PromiseEntry, certificate: Certificate) -> Decision:
    """Compare how the scheme was chosen, and where random numbers came from, with the strength of the promise."""
    search = str(_one(certificate, SchemeChosen.name)["search"])
    if search not in _SEARCHES:
        return False, f"a scheme chosen by `{search}` is not known to be private"
    if entry.neighbours is not Neighbours.ADD_REMOVE:
        return False, "neighbours must differ by one record added or removed"
    doubtful = not _SEARCHES[search] or certificate.randomness != CRYPTOGRAPHIC
    if entry.strength is Strength.UNCONDITIONAL and doubtful:
        return False, "the promise calls itself unconditional, but its search or its random numbers are not covered"
    return True, f"chosen by `{search}`; the promise is {entry.strength}"


def _domains(entry: PromiseEntry, certificate: Certificate) -> Decision:
    if certificate.further_data:
        return False, "there are tables besides the one that the promise is about"
    known = {domain.column for domain in certificate.domains if domain.provenance is Provenance.DECLARED}
    missing = [column.name for column in certificate.data.columns if column.name not in known]
    if missing:
        return False, f"the domain of {', '.join(f'`{name}`' for name in missing)} is not declared"
    if certificate.roles != "declared":
        return False, "the schema was guessed from the data"
    if entry.file not in (None, certificate.data.file):
        return False, "the promise is about another file"
    return True, f"declared for all {len(known):,} columns"


def _silence(certificate: Certificate) -> Decision:
    """Look for figures of the input, which differential privacy keeps back."""
    telling = {Suppressed.name, LeftOut.name} & {str(step.get("step")) for step in certificate.steps}
    if telling:
        return False, f"the step `{sorted(telling)[0]}` tells figures of the input"
    order = [str(step.get("step")) for step in certificate.steps]
    if Filtered.name in order and order.index(Filtered.name) < order.index(Sampled.name):
        return False, "classes were filtered before they were sampled"
    return True, "no step tells figures of the input"


def _one(certificate: Certificate, name: str) -> Step:
    steps = [step for step in certificate.steps if step.get("step") == name]
    if len(steps) != 1:
        raise KeyError(name)
    return steps[0]


def _number(step: Step, name: str) -> Fraction:
    return fraction(str(step[name]))
