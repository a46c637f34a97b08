"""Check a promise of differential privacy: what its steps claim, computed again, and what the data file shows.

Whether the steps were carried out as the certificate says, no file can show.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shoal.errors import quoted
from shoal.guarantees import (
    CRYPTOGRAPHIC,
    Certificate,
    Check,
    Decision,
    Evidence,
    PromiseEntry,
    budget,
    check_parts,
)
from shoal.hierarchies import Hierarchy
from shoal.methods._private import UNSEEN, check_limit
from shoal.methods.recode import Generalized
from shoal.methods.truthful._operators import OPERATORS, Operator, figures, sensitivity_range
from shoal.methods.truthful._steps import Filtered, SchemeChosen
from shoal.tables import Classes

if TYPE_CHECKING:
    from shoal.methods.truthful._promises import DifferentialPrivacy


#: How a scheme may have been chosen, and whether that is proved to be private.
SEARCHES = {"draw": True, "tree": True, "split walk": True, "fixed": True, "published walk": False}

_ATTAINED = "delta attained, rounded up"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateRelease:
    """What is compared: the promise, how it stands in the certificate, and the files."""

    promise: DifferentialPrivacy
    entry: PromiseEntry
    evidence: Evidence
    hierarchies: Mapping[str, Hierarchy]

    @property
    def certificate(self) -> Certificate:
        return self.evidence.certificate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Release(PrivateRelease):
    """One table; different cells of the columns ``alike`` look alike."""

    alike: tuple[str, ...]

    @property
    def chosen(self) -> SchemeChosen:
        return self.evidence.step(SchemeChosen)

    @property
    def kind(self) -> type[Operator]:
        """The one operator that the steps name."""
        named = [kind for kind in OPERATORS.values() if self.evidence.steps(kind.step)]
        if len(named) != 1:
            raise KeyError("operator")
        return named[0]

    @property
    def operator(self) -> Operator:
        """The operator that the steps describe, with the delta that the promise says it attains."""
        attained = float(str(self.entry.exact[_ATTAINED]))
        return self.kind.of_step(
            self.evidence.step(self.kind.step), attained, per_person=self.promise.records_per_person or 1
        )


def check_privacy(
    promise: DifferentialPrivacy,
    entry: PromiseEntry,
    evidence: Evidence,
    *,
    hierarchies: Mapping[str, Hierarchy],
    alike: tuple[str, ...],
) -> list[Check]:
    """Return one check per part of the promise.

    ``hierarchies`` are those that the schema lists, and ``alike`` the columns of which different cells look alike.
    """
    release = _Release(promise=promise, entry=entry, evidence=evidence, hierarchies=hierarchies, alike=alike)
    parts: dict[str, Callable[[_Release], Decision]] = {
        "words": _words,
        "unit": _unit,
        "figures": _figures,
        "budget": _budget,
        "operator": _operator,
        "classes": _classes,
        "values": _values,
        "scheme": _scheme,
        "filters": _filters,
        "domains": _domains,
    }
    checks = check_parts(promise.name, release, parts)
    return [dataclasses.replace(each, shown=UNSEEN not in each.detail) for each in checks]


def _words(release: _Release) -> Decision:
    """Say the promise again from its parameters and the steps, and compare all parts of it."""
    again = release.promise.promise(
        covered=SEARCHES[release.chosen.search],
        cryptographic=release.certificate.randomness == CRYPTOGRAPHIC,
        figures=figures(
            release.operator,
            sensitivity=release.chosen.sensitivity,
            search_epsilon=release.chosen.epsilon,
        ),
    )
    return release.entry.compare(again)


def _unit(release: _Release) -> Decision:
    """Look whose privacy it is, and whether what is promised to persons can be promised to them."""
    if release.promise.records_per_person is not None and release.promise.definition != "standard":
        return False, "the probabilistic definition is not known to hold for persons"
    return check_limit(release.promise.records_per_person, release.evidence)


def _figures(release: _Release) -> Decision:
    """Compare the figures of the promise with those of the steps; prove what is computed from them again."""
    promise, operator, chosen = release.promise, release.operator, release.chosen
    # the number that was rounded up is the float, not the fewest digits that give it back
    attained = Fraction(operator.exact_delta)
    if attained > operator.delta or not operator.holds(attained):
        return False, "the delta that is stated as attained is not attained"
    searching = chosen.search != "fixed"
    share = promise.search_epsilon(searching=searching)
    if (chosen.epsilon, operator.epsilon) != (share, promise.total - share):
        return False, "the search does not spend its share of epsilon"
    low, high = sensitivity_range(chosen.score, operator, columns=len(release.certificate.data.columns))
    if not (low <= chosen.sensitivity <= high if searching else chosen.sensitivity == 0):
        unit = release.entry.unit
        return False, f"one {unit} can change the score `{chosen.score}` by an amount other than stated"
    generalized = release.evidence.step(Generalized)
    if generalized.heights and chosen.candidates != _nodes(generalized, release.evidence):
        return False, "there were more or fewer schemes to choose from than the hierarchies give"
    return True, "the figures of the promise are those of its steps"


def _nodes(step: Generalized, evidence: Evidence) -> int:
    """Return the number of nodes between the levels that the plan fixes and the tops of the hierarchies."""
    method = evidence.plan.method
    fixed = {*getattr(method, "levels", {}), getattr(method, "target", None)}
    fixed |= {name for model in evidence.plan.class_models for name in model.capabilities.sensitive}
    return math.prod(1 if name in fixed else top + 1 for name, top in zip(step.columns, step.heights, strict=True))


def _filters(release: _Release) -> Decision:
    """Compare what was left out for other promises with the definition, which must allow that."""
    done = [name for step in release.evidence.steps(Filtered) for name in step.models]
    if done and release.promise.definition != "standard":
        return False, "classes were filtered, and the probabilistic definition does not survive that"
    return True, "by " + quoted(dict.fromkeys(done)) if done else "there are none"


def _budget(release: _Release) -> Decision:
    """Add up what the steps spend, and compare with the promise and with the total that is stated."""
    promised, stated, spent = release.promise, release.certificate.budget, budget(release.evidence.all_steps)
    passed = (
        min(min(step.epsilon, step.delta) for step in release.evidence.all_steps) >= 0
        and spent.epsilon <= promised.total
        and spent.delta <= Fraction(promised.delta)
        and stated is not None
        and (Fraction(stated.epsilon), Fraction(stated.delta)) == (spent.epsilon, spent.delta)
    )
    shown = f"the steps spend epsilon {float(spent.epsilon):.6g} and delta {float(spent.delta):.6g} in all"
    return passed, shown if passed else f"{shown}, which is not what is promised or stated"


def _operator(release: _Release) -> Decision:
    """Decide again, in ball arithmetic, whether the operator keeps what it claims."""
    operator, method = release.operator, release.evidence.plan.method
    if operator.definition != release.promise.definition:
        return False, "the definition is not the promised one"
    if getattr(method, "operator", None) != operator.name:
        return False, "the operator is not the one that the plan asks for"
    if operator.delta > Fraction(release.promise.delta):
        return False, "the operator spends more delta than is promised"
    described = ", ".join(
        f"{name} = {value:,}" if isinstance(value, int) else f"{name} = {float(Fraction(str(value))):.6g}"
        for name, value in operator.figures().items()
        if name != _ATTAINED
    )
    kept = operator.holds()
    claim = f"{described} keep epsilon {float(operator.epsilon):.6g}, delta {float(operator.delta):.6g}"
    return kept, f"{claim} ({operator.definition}): proved again" if kept else f"it cannot be proved that {claim}"


def _classes(release: _Release) -> Decision:
    """Count how often every released combination of values occurs, all columns taken together."""
    data, least = release.certificate.data, release.operator.least
    names = [column.name for column in data.columns]
    smallest = int(Classes.from_tuples(release.evidence.count_tuples(data, names)).sizes.min())
    times = "once" if smallest == 1 else f"{smallest:,} times"
    return smallest >= least, f"every combination of values occurs at least {times}; the least allowed is {least:,}"


def _values(release: _Release) -> Decision:
    """Look whether released values are values of the levels that they were generalised to, where those are listed."""
    data, step = release.certificate.data, release.evidence.step(Generalized)
    names = [column.name for column in data.columns]
    levels, heights = (dict(zip(names, each, strict=False)) for each in (step.levels, step.heights))
    counts = release.evidence.count_tuples(data, names)
    for name, hierarchy in release.hierarchies.items():
        allowed = hierarchy.labels[levels[name]] if name in levels else sum(hierarchy.labels, ())
        shown = counts.hierarchies[counts.attributes.index(name)].labels[0]
        if not set(shown) <= set(allowed) or heights.get(name, hierarchy.height) != hierarchy.height:
            return False, f"`{name}` holds values that are not of its level"
    return True, f"{len(release.hierarchies):,} of {len(names):,} columns list them, and hold no others"


def _scheme(release: _Release) -> Decision:
    """Look whether the way in which the scheme was chosen is known, and whether what is shown tells its cells apart."""
    search = release.chosen.search
    if search == "tree" and release.alike and release.promise.definition != "standard":
        return False, (
            f"different cells look alike, because the hierarchy of `{release.alike[0]}` has the label `*` below its "
            "top: only the standard definition holds"
        )
    return True, f"chosen by `{search}`; the promise is {release.entry.strength}"


def _domains(release: _Release) -> Decision:
    entry, certificate = release.entry, release.certificate
    if certificate.further_data:
        return False, "there are tables besides the one that the promise is about"
    known = {domain.column for domain in certificate.domains if domain.provenance.reveals_nothing}
    missing = [column.name for column in certificate.data.columns if column.name not in known]
    if missing:
        return False, f"the domain of {quoted(missing)} is not declared"
    if certificate.roles != "declared":
        return False, "the schema was guessed from the data"
    if entry.file not in (None, certificate.data.file):
        return False, "the promise is about another file"
    return True, f"declared for all {len(known):,} columns"
