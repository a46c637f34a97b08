"""Check the promise of many truthful tables: what the steps claim, computed again, and what the data files show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shoal.errors import quoted
from shoal.guarantees import (
    CRYPTOGRAPHIC,
    Check,
    Decision,
    Evidence,
    PromiseEntry,
    check_parts,
)
from shoal.hierarchies import Hierarchy
from shoal.methods._private import check_limit
from shoal.methods.truthful._check import PrivateRelease
from shoal.methods.truthful._sets_choice import candidates, levels_of
from shoal.methods.truthful._sets_listed import HIDDEN, countable, listed_classes, number_of_classes, read_hidden
from shoal.methods.truthful._sets_split import HiddenCounted, JointTrimmed, PairsChosen, Split, TablesTrimmed

if TYPE_CHECKING:
    from shoal.methods.truthful._promises import DifferentialPrivacy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _TablesRelease(PrivateRelease):
    """Many tables, and what the plan says of them."""

    @property
    def method(self) -> Any:
        return self.evidence.plan.method

    @property
    def split(self) -> Split:
        """What the plan gives every table and every choice."""
        return self.method.split(self.evidence.plan.schema, self.promise)  # type: ignore[no-any-return]


def check_tables(
    promise: DifferentialPrivacy, entry: PromiseEntry, evidence: Evidence, *, hierarchies: Mapping[str, Hierarchy]
) -> list[Check]:
    """Return one check per part of the promise; ``hierarchies`` are those that the schema lists."""
    release = _TablesRelease(promise=promise, entry=entry, evidence=evidence, hierarchies=hierarchies)
    parts: dict[str, Callable[[_TablesRelease], Decision]] = {
        "words": _words,
        "operator": _operator,
        "choice": _choice,
        "values": _values,
        "hidden": _hidden,
        "domains": _domains,
    }
    if promise.records_per_person is not None or evidence.plan.schema.person is not None:
        parts["unit"] = lambda each: check_limit(each.promise.records_per_person, each.evidence)
    return check_parts(promise.name, release, parts)


def _words(release: _TablesRelease) -> Decision:
    """Say the promise again from its parameters and the plan, and compare all parts of it."""
    if release.promise.definition != "standard" or release.entry.file is not None:
        return False, "several tables keep only the standard definition, and only all of them together"
    again = release.promise.promise(
        covered=True,
        cryptographic=release.certificate.randomness == CRYPTOGRAPHIC,
        figures=release.split.figures(),
    )
    return release.entry.compare(again)


def _operator(release: _TablesRelease) -> Decision:
    """Prove again that all tables and choices together are (epsilon, delta)-private."""
    split, promised = release.split, release.promise
    claim = f"{len(split.tables)} tables together cost epsilon {float(promised.total):.6g}"
    budget = release.certificate.budget
    if budget is None or (Fraction(budget.epsilon), Fraction(budget.delta)) != (split.epsilon, split.delta):
        return False, "the budget is not what the tables cost together"
    kept = split.holds()
    return kept, f"{claim}, delta {float(promised.delta):.3g}: proved again" if kept else f"not proved: {claim}"


def _choice(release: _TablesRelease) -> Decision:
    """Look whether as many different pairs were chosen as the plan asks for, at levels to choose from."""
    split, method, schema = release.split, release.method, release.evidence.plan.schema
    chosen = [dict(pair) for pair in method.chosen or ()]
    if len(chosen) != split.pairs or len({frozenset(pair) for pair in chosen}) != len(chosen):
        return False, "the chosen pairs are not as many different ones as the plan asks for"
    names = [table[0] for table in method.declared(schema)]
    order = {name: place for place, name in enumerate(names)}
    for pair in chosen:
        if len(pair) != 2 or not {*pair} <= {*names} or [*pair] != sorted(pair, key=order.__getitem__):
            return False, "a chosen pair is not a pair of released columns"
        for name, level in pair.items():
            low, hierarchy = method.levels.get(name, 0), release.hierarchies.get(name)
            if level < low or (hierarchy is not None and level not in levels_of(hierarchy, low)):
                return False, f"`{name}` was put on a level that was not among those to choose from"
    if split.pairs and {*names} <= {*release.hierarchies}:
        hierarchies: Sequence[Hierarchy] = [release.hierarchies[name] for name in names]
        number = len(candidates(hierarchies, [method.levels.get(name, 0) for name in names]))
        if any(step.candidates != number for step in release.evidence.steps(PairsChosen)):
            return False, "the number of candidates is not what the hierarchies give"
    return True, f"{len(chosen)} different pairs, each at levels to choose from" if chosen else "nothing was chosen"


def _values(release: _TablesRelease) -> Decision:
    """Look whether released values are values of the levels that they were generalised to, where those are listed."""
    files = release.method.files(release.evidence.plan.schema)
    levels = dict(zip(files, _generalised(release), strict=True))
    looked = 0
    for data in release.certificate.tables:
        own = levels[data.file]
        for column in data.columns:
            if column.name not in release.hierarchies or not data.records:
                continue
            allowed = {label for each in release.hierarchies[column.name].labels[own[column.name]] for label in each}
            if not {label for (label,) in release.evidence.tally_labels(data, [column.name])} <= allowed:
                return False, f"`{column.name}` of {data.file} holds values that are not of its level"
            looked += 1
    return True, f"{looked:,} columns of {len(levels):,} tables hold values of their levels"


def _hidden(release: _TablesRelease) -> Decision:
    """Compare the counts of classes that no record shows with the classes that the schema lists and the tables hide."""
    schema, hierarchies = release.evidence.plan.schema, countable(release.evidence.plan.schema)
    files = release.method.files(schema)
    try:
        text = (release.evidence.folder / HIDDEN).read_bytes().decode()
        counts = read_hidden(text, {file: len(names) for file, names in files.items()})
    except (FileNotFoundError, IsADirectoryError, KeyError, TypeError, ValueError):
        return False, f"{HIDDEN} is not there, or not as such a file is written"
    steps = release.evidence.steps(TablesTrimmed)
    described = [pair for step in steps for pair in zip(step.tables, step.levels, step.m, step.variance, strict=True)]
    said = {}
    for (file, _), (names, levels, m, variance) in zip(files.items(), described, strict=False):
        own = dict(zip(names, levels, strict=True))
        if number_of_classes(hierarchies, own) is not None:
            said[file] = counts[file]
            (data,) = (each for each in release.certificate.tables if each.file == file)
            shown = release.evidence.tally_labels(data, names)
            if [*counts[file]] != [labels for labels in listed_classes(hierarchies, own) if labels not in shown]:
                return False, f"{HIDDEN} does not count what {file} hides of the classes that the schema lists"
            if any(count > m for count in counts[file].values()):
                return False, f"{HIDDEN} counts classes of {file} that would have been shown"
            # 40 deviations below nothing: that has a chance below e^-800
            if any(count < 0 and count * count > 1600 * variance for count in counts[file].values()):
                return False, f"{HIDDEN} has counts of classes of {file} that no such noise gives"
    told = release.evidence.steps(HiddenCounted)
    if any(counts[file] for file in counts if file not in said) or told != ([HiddenCounted.of(said)] if said else []):
        return False, f"{HIDDEN} counts other classes than the steps say"
    return True, f"{sum(map(len, said.values())):,} counts of classes that the schema lists and no record shows"


def _generalised(release: _TablesRelease) -> list[dict[str, slice]]:
    """Return, for every table, the levels that values of each of its columns may have."""
    slices = [
        {name: slice(level, level + 1) for name, level in zip(*pair, strict=True)}
        for step in release.evidence.steps(TablesTrimmed)
        for pair in zip(step.tables, step.levels, strict=True)
    ]
    joint = release.evidence.steps(JointTrimmed)
    return slices + [
        {name: slice(low, None) for name, low in zip(step.columns, step.levels, strict=True)} for step in joint
    ]


def _domains(release: _TablesRelease) -> Decision:
    certificate = release.certificate
    known = {domain.column for domain in certificate.domains if domain.provenance.reveals_nothing}
    shown = {column.name for data in certificate.tables for column in data.columns}
    if not shown <= known:
        return False, f"the domain of {quoted(sorted(shown - known))} is not declared"
    if certificate.roles != "declared":
        return False, "the schema was guessed from the data"
    return True, f"declared for all {len(known):,} columns"
