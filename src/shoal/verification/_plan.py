"""Compare a certificate with the plan: columns, roles, domains, promises and steps follow from it, or it is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest

import pyarrow as pa

from shoal import schema, tables
from shoal.errors import counted, quoted
from shoal.exact import fraction
from shoal.guarantees import (
    CRYPTOGRAPHIC,
    Certificate,
    Check,
    Column,
    Counted,
    Data,
    Decision,
    Event,
    Evidence,
    Ordered,
    Pseudonymized,
    Step,
    checked,
    column,
    randomness,
)
from shoal.methods import Method
from shoal.methods.brief import Brief
from shoal.methods.classes import KWildcards, alike, shown_by
from shoal.methods.recode import is_aggregate
from shoal.schema import Kind, Missing, Role, Schema
from shoal.tables import Classes

NOTHING = "nothing to compare"
#: steps that are taken once for each column, or for each set of columns
_REPEATED = {
    "randomized",
    "ranked",
    "noised",
    "concepts-drawn",
    "clustered",
    "classed",
    "measured",
    "averaged",
    "blocked",
    "counted",
    "tables-trimmed",
}
#: steps that draw random numbers
_RANDOM = {"permuted", "randomized", "ranked", "sampled", "trimmed", "tables-trimmed", "noised", "concepts-drawn"}


#: steps that are taken before all others, in this order
_FIRST = ("dropped", "pseudonymized", "repeated", "left-out")
#: steps, and a word in each that is always the same
_WORDS = (("ordered", "by", Ordered().by), ("pseudonymized", "algorithm", Pseudonymized(columns=()).algorithm))

#: what an account rounds up to: whole units of epsilon, of delta and of rho
_UNITS = (Fraction(1, 10**12), Fraction(1, 10**18), Fraction(1, 10**12))


def check_plan(evidence: Evidence) -> list[Check]:
    """Return one check per part of the certificate that the plan decides."""
    plan, certificate = evidence.plan, evidence.certificate
    parts: dict[str, Callable[[], Decision]] = {
        "schema": lambda: _schema(plan.schema, certificate),
        "tables": lambda: _tables(plan, certificate),
        "buckets": lambda: _buckets(plan.schema, evidence),
        "cells": lambda: _cells(evidence),
        "aggregates": lambda: _aggregates(plan.schema, evidence),
        "domains": lambda: _domains(plan, certificate),
        "steps": lambda: _steps(plan, evidence),
        "persons": lambda: _persons(plan, evidence),
        "promises": lambda: _promises(plan, certificate),
        "budget": lambda: _budget(certificate),
        "account": lambda: _account(plan, certificate),
        "measures": lambda: _measures(plan.method, certificate),
        "randomness": lambda: _randomness(certificate),
    }
    found = [checked(subject, decide) for subject, decide in parts.items()]
    return [check for check in found if check.detail != NOTHING]


def _schema(described: Schema, certificate: Certificate) -> Decision:
    if hashlib.sha256(schema.dumps(described).encode()).hexdigest() != certificate.schema_sha256:
        return False, "the schema of plan.toml is not the certified one"
    if (certificate.roles == "guessed") != described.guessed:
        return False, "the certificate and plan.toml disagree on whether the roles were guessed"
    return True, f"the quasi-identifiers are {quoted(described.quasi_identifiers)}"


def _tables(plan: Brief, certificate: Certificate) -> Decision:
    """Compare the files, their columns, and what is said of each column with what the plan gives."""
    expected = plan.method.files(plan.schema)
    found = {
        data.file: tuple(each.name for each in data.columns if each.name != data.class_column)
        for data in certificate.tables
    }
    if len(found) != len(certificate.tables) or {file: {*names} for file, names in found.items()} != {
        file: {*names} for file, names in expected.items()
    }:
        return False, "the tables or their columns are not those that the plan gives"
    steps = [step for step in certificate.steps if step.get("step") == "bucketized"]
    bucketized = {str(name) for step in steps for name in step["columns"]}  # type: ignore[attr-defined]
    for data in certificate.tables:
        for each in data.columns:
            if each.name == data.class_column:
                role = Role.QUASI_IDENTIFIER if data.file == [*expected][-1] else Role.INSENSITIVE
                if each != Column(name=each.name, role=role, kind=Kind.CATEGORICAL):
                    return False, "the column that numbers the classes is not described as such"
                continue
            if not _as_planned(each, column(plan.schema[each.name]), bucketized):
                return False, f"`{each.name}` has a different role, kind or order of values in plan.toml"
    if any(data.class_column is not None and not _links(data, plan.schema) for data in certificate.tables):
        return False, "the column that numbers the classes is a column of the plan"
    columns = sum(map(len, found.values()))
    return True, f"{len(found)} with {counted(columns, 'column')}, each as in plan.toml"


def _as_planned(said: Column, planned: Column, bucketized: set[str]) -> bool:
    if said.name in bucketized:
        return said.role is Role.SENSITIVE and said.kind in (Kind.ORDINAL, Kind.CATEGORICAL)
    return (said.role, said.kind, said.values) == (planned.role, planned.kind, planned.values)


def _links(data: Data, described: Schema) -> bool:
    return data.class_column in [each.name for each in data.columns] and data.class_column not in described


def _buckets(described: Schema, evidence: Evidence) -> Decision:
    """Compare the buckets of a confidential column with the released values: which, how many, in which order."""
    steps = evidence.steps("bucketized")
    for step in steps:
        names = list(step["columns"])
        (data,) = (each for each in evidence.certificate.tables if {*names} <= {column.name for column in each.columns})
        sizes = sorted(evidence.tallied(data, names).values())
        if sorted(step["sizes"]) != sizes or step["buckets"] != len(sizes) or len({*names}) < len(names):
            return False, "the buckets are not as large as the steps say"
        for said in data.columns:
            if said.name in names and said.values is not None:
                released = {label for (label,) in evidence.tallied(data, [said.name])}
                if sorted(said.values) != sorted(map(str, released)) or not _ascending(said, described):
                    return False, f"the buckets of `{said.name}` are not those released, or not in their order"
    return True, f"{sum(step['buckets'] for step in steps):,}, as released" if steps else NOTHING


def _cells(evidence: Evidence) -> Decision:
    """Count the suppressed cells of the release, and the records that lost some."""
    for step in evidence.steps("cells-suppressed"):
        data = evidence.certificate.data
        codes, hidden, counts = shown_by(evidence, data)
        found = {
            "columns": [each.name for each in data.columns if each.role.known_elsewhere],
            "cells": (hidden * counts[:, None]).sum(axis=0).tolist(),
            "records": int(counts.sum()),
            "touched": int(counts[hidden.any(axis=1)].sum()),
            "fewer": int(counts[alike(codes, hidden, counts) < step["k"]].sum()),
        }
        asked = [model.parameters()["k"] for model in evidence.plan.models if isinstance(model, KWildcards)]
        if any(step[name] != number for name, number in found.items()) or step["k"] != sum(asked):  # type: ignore[arg-type]
            return False, "the suppressed cells are not those of the release"
        return True, f"{sum(step['cells']):,} suppressed, as released"
    return True, NOTHING


def _aggregates(described: Schema, evidence: Evidence) -> Decision:
    """Compare the values of columns that are aggregates of classes with what such an aggregate looks like."""
    columns = 0
    for step in evidence.steps("aggregated"):
        for name, function in zip(step["columns"], step["functions"], strict=True):
            released = [label for (label,) in evidence.tallied(evidence.certificate.data, [name])]
            if not all(is_aggregate(described[name], function, label) for label in released):
                return False, f"`{name}` holds values that are not the {function} of a class"
            columns += 1
    if not columns:
        return True, NOTHING
    detail = f"{counted(columns, 'column')} with values of the kind that the steps say"
    return True, f"{detail}; of which values, on the publisher's word"


def _ascending(said: Column, described: Schema) -> bool:
    """Return whether buckets are listed from the least to the greatest: by where each begins."""
    attribute = described[said.name]
    begins = [label.removeprefix("[") for label in said.values or ()]
    known = [label for label in begins if label != "missing"]
    if known != begins[: len(known)]:
        return False
    if attribute.kind is Kind.ORDINAL and attribute.domain is not None:
        order = attribute.domain.values or ()
        ranks = [
            max((len(value), rank) for rank, value in enumerate(order) if label.startswith(value))[1] for label in known
        ]
        return ranks == sorted(ranks)
    firsts = [label.split(", ")[0].removesuffix(" or missing") for label in known]
    numbers = firsts if attribute.kind is Kind.DATE else [float(text) for text in firsts]
    return numbers == sorted(numbers)


def _domains(plan: Brief, certificate: Certificate) -> Decision:
    said = {domain.column: domain for domain in certificate.domains}
    if len(said) != len(certificate.domains):
        return False, "a column appears twice"
    expected = {domain.column: domain for domain in plan.domains}
    if said != expected:
        wrong = sorted({*said, *expected} - {name for name in said if said.get(name) == expected.get(name)})
        return False, f"where the domain of `{wrong[0]}` came from is not what plan.toml says"
    return True, f"{counted(len(said), 'column')}, as plan.toml says"


def _steps(plan: Brief, evidence: Evidence) -> Decision:
    """Read every step again; its words must be those of its figures, and what the plan decides must follow from it."""
    certificate = evidence.certificate
    for step in certificate.steps:
        again, said = Event.from_json(step).to_json(), dict(step)
        if not certificate.same_wording:
            del again["description"], said["description"]
        if again != said:
            return False, f"the description of the step `{step['step']}` does not match it"
    described = plan.schema
    wanted = {
        "dropped": [name for name in described.identifiers if not described[name].pseudonym],
        "pseudonymized": [name for name in described.identifiers if described[name].pseudonym],
    }
    for name, columns in wanted.items():
        steps = evidence.steps(name)
        if [each for step in steps for each in step["columns"]] != columns or len(steps) > 1:
            return False, f"the step `{name}` is not what plan.toml asks for"
    left_out = [name for name in described.identifiers if described[name].role.left_out]
    if any(step.get("left_out", left_out) != left_out for step in evidence.steps("dropped")):
        return False, "the columns that were left out are not those of plan.toml"
    method = getattr(plan.method, "inner", plan.method.name)
    if any(step.get("method", method) != method for step in certificate.steps):
        return False, "a step names a different method from plan.toml"
    decided = plan.method.decided_steps(described)
    taken = evidence.steps(*(str(step["step"]) for step in decided))
    for found, asked in zip_longest(taken, decided, fillvalue={"step": None}):
        if found != {**found, **asked}:
            which = asked["step"] or found["step"]
            return False, f"the step `{which}` is not the one that plan.toml asks for, or not in its place"
    first = [_FIRST.index(step["step"]) if step["step"] in _FIRST else len(_FIRST) for step in certificate.steps]
    ordered = first == sorted(first) or plan.method.keeps.several_tables
    if certificate.steps[-1]["step"] != "ordered" or not ordered:
        return False, "the steps are not in the order in which they are taken"
    once = [step["step"] for step in certificate.steps if step["step"] not in _REPEATED]
    if len({*once}) != len(once) and not evidence.steps("sliced"):
        return False, "a step appears twice"
    for made, done in zip(evidence.steps("generalized"), evidence.steps("suppressed"), strict=False):
        data = _holding(made["columns"], certificate)
        if not (data and done["records"] >= 0 and done["of"] - done["records"] == data.records):
            return False, "the suppressed records do not add up"
    if not _coarse_enough(plan, evidence):
        return False, "the step `coarsened` does not fit the columns and levels of the release"
    if contradicted := _contradicted(evidence):
        return False, f"the step `{contradicted}` states what the release contradicts"
    return True, f"{len(certificate.steps)} steps, each with a matching description"


def _coarse_enough(plan: Brief, evidence: Evidence) -> bool:
    """Return whether no column is released below the level at which the search is said to have begun."""
    released: dict[object, object] = {}
    for step in evidence.steps("generalized"):
        released |= dict(zip(step["columns"], step.get("levels", ()), strict=False))
    return all(
        plan.method.keeps.generalizes
        and name in plan.schema.quasi_identifiers
        and 1 <= floor <= released.get(name, floor)
        for step in evidence.steps("coarsened")
        for name, floor in zip(step["columns"], step["levels"], strict=True)
    )


def _contradicted(evidence: Evidence) -> str | None:
    """Return the name of a step whose words or figures cannot be true of these files, however it is described."""
    for name, word, always in _WORDS:
        if any(step[word] != always for step in evidence.steps(name)):
            return name
    for step in evidence.steps("generalized"):
        columns, levels, heights = step["columns"], step["levels"], step["heights"]
        known = [name for name in evidence.plan.schema.names if name in columns]
        if not known or list(columns) != known or not len(levels) == len(heights) in (0, len(columns)):
            return "generalized"
        if not all(0 <= level <= height for level, height in zip(levels, heights, strict=True)):
            return "generalized"
        aggregated = {name for each in evidence.steps("aggregated") for name in each["columns"]}
        tops = [name for name, *at in zip(columns, levels, heights, strict=False) if at[0] == at[1] > 0]
        if any(len(_released(name, evidence)) > 1 for name in tops if name not in aggregated):
            return "generalized"
    dropped = [each.name for each in evidence.plan.schema if each.missing is Missing.DROP]
    several = evidence.plan.method.keeps.several_tables
    for step in evidence.steps("left-out"):
        columns = [name for name in dropped if name in step["columns"] or not several]
        if not columns or list(step["columns"]) != columns or step["records"] < 1:
            return "left-out"
    wrong = (str(step["step"]) for step in evidence.steps("classed", "ranked") if not _possible(step, evidence))
    return next(wrong, None)


def _possible(step: Step, evidence: Evidence) -> bool:
    """Return whether there can be so many classes of these sizes; where each record shows its class, there must be."""
    names = list(step["columns"]) if "columns" in step else [step["column"]]
    number, smallest, largest = step.get("classes", step.get("clusters", 0)), step["smallest"], step["largest"]
    data = _holding(names, evidence.certificate)
    if not names or len({*names}) < len(names) or data is None:
        return False
    if not (1 <= smallest <= largest and number * smallest <= data.records <= number * largest):
        return False
    if data.class_column is not None:
        found = evidence.counted(data, [data.class_column]).counts
        return bool((number, smallest, largest) == (len(found), found.min(), found.max()))
    if step.get("form") in ("microaggregated", "generalized"):
        found = evidence.counted(data, names).counts
        if not evidence.steps("blocked"):
            return bool((number, smallest, largest) == (len(found), found.min(), found.max()))
        # classes of different blocks that look alike are seen as one
        return bool(number >= len(found) and smallest <= found.min() and largest <= found.max())
    listed = [each.exact["histograms"] for each in evidence.certificate.promises if "histograms" in each.exact]
    sizes = {sum(row[1:]) for rows in listed for row in rows}  # type: ignore[attr-defined]
    return not sizes or (smallest, largest) == (min(sizes), max(sizes))


def _holding(names: Sequence[str], certificate: Certificate) -> Data | None:
    """Return the first table that has these columns."""
    return next((data for data in certificate.tables if {*names} <= {each.name for each in data.columns}), None)


def _released(name: str, evidence: Evidence) -> pa.ChunkedArray:
    """Return the different values of a column, but for the missing one."""
    data = _holding([name], evidence.certificate)
    assert data is not None  # noqa: S101 - the columns of the step are those of the plan
    return tables.distinct_values(evidence.tables[data.file], name).drop_null()


def _persons(plan: Brief, evidence: Evidence) -> Decision:
    """Compare the numbers of persons with what the plan asks for and the records show; no file shows the persons."""
    column, steps = plan.schema.person, evidence.steps("counted")
    # differential privacy decides its own unit
    private = plan.method.keeps.private is not None and not steps
    promised = set() if private else {entry.unit for entry in evidence.certificate.promises} - {"record"}
    if column is None or not plan.method.counts_persons or plan.method.keeps.private is not None:
        return (not steps and not promised), NOTHING if not (steps or promised) else "the plan counts no persons"
    if not promised and not steps:
        return False, (
            f"the promises count records, though plan.toml says in `{column}` whose they are: an older version of "
            "Shoal did not count persons here, or the certificate was changed. Make the release again"
        )
    found = [Counted.of([step]) for step in steps]
    if promised != {"person"} or not found or any(step is None or step.column != column for step in found):
        return False, "persons are not counted as plan.toml asks for"
    said = [step for step in found if step is not None]
    if len(said) > 1 and (not all(step.columns for step in said) or len({step.columns for step in said}) < len(said)):
        return False, "persons are not counted as plan.toml asks for"
    for step in said:
        if problem := _miscounted(step, plan, evidence):
            return False, problem
    numbers = "; ".join(dict.fromkeys(f"{step.persons:,} in {step.records:,} records" for step in said))
    if plan.method.linked:
        return True, numbers.replace(" in ", " pseudonyms in ")
    return True, f"{numbers}, which is possible; on the publisher's word"


def _miscounted(step: Counted, plan: Brief, evidence: Evidence) -> str | None:
    """Say what is wrong with the numbers of persons of one kind of classes."""
    linking = [data for data in evidence.certificate.tables if data.class_column is not None]
    named = [data for data in evidence.certificate.tables if {*step.columns} <= {each.name for each in data.columns}]
    data = (linking or named)[-1 if linking else 0]
    if plan.method.shows_members != (step.hidden is not None):
        return "the steps do not say how many records of a class one person has"
    if plan.method.shows_members and data.class_column is None:
        hidden = evidence.steps("classed", "ranked")  # these put records into classes that nobody sees
        made = [(each.get("classes", each.get("clusters")), each["smallest"]) for each in hidden]
    else:
        classes = Classes.grouped(
            evidence.frequencies(data, columns=data.with_classes_of(step.columns or data.quasi_identifiers))
        )
        made = [(len(classes), int(classes.sizes.min(initial=data.records)))]
        shown = (int(classes.crowds.sum()), int(classes.crowds.min(initial=data.records)))
        if plan.method.linked and evidence.frequencies(data).persons != step.persons:
            return "the pseudonyms are not as many as the persons"
        if plan.method.linked and shown != (step.memberships, step.fewest):
            return "the numbers of persons are not those of the pseudonyms"
    number = max((number for number, smallest in made if smallest == step.smallest), default=None)
    if step.records != data.records or number is None:
        return "the numbers of records are not those of the release"
    ordered = (1, step.crowd, step.fewest, step.persons, step.memberships, step.records)
    if list(ordered) != sorted(ordered) or not number * step.fewest <= step.memberships:
        return "the numbers of persons contradict each other"
    return "a class has more persons than records" if step.fewest > step.smallest else None


def _promises(plan: Brief, certificate: Certificate) -> Decision:
    """Compare the promises with those asked for: none twice, too few, or too many."""
    said = [(each.model, repr(sorted(each.parameters.items(), key=str)), each.file) for each in certificate.promises]
    if len({*said}) != len(said):
        return False, "a promise appears twice"
    asked = [model.resolved(plan.schema) for model in plan.models]
    if plan.method.keeps.as_asked:
        wanted = sorted(repr((model.name, model.parameters())) for model in asked)
        if wanted != sorted(repr((entry.model, entry.parameters)) for entry in certificate.promises):
            return False, "the certificate does not promise what plan.toml asks for"
    missing = plan.method.unanswered(plan.schema, asked, certificate.promises)
    if missing:
        return False, f"nothing in the certificate corresponds to `{missing[0].title}`, which plan.toml asks for"
    return True, f"{len(said)}, as plan.toml asks for"


def _budget(certificate: Certificate) -> Decision:
    """Compare the budget with what the steps spend."""
    spent = [
        sum((fraction(str(step.get(f"{name}_spent", 0))) for step in certificate.steps), Fraction(0))
        for name in ("epsilon", "delta")
    ]
    stated = [Fraction(0)] * 2
    if certificate.budget is not None:
        stated = [Fraction(certificate.budget.epsilon), Fraction(certificate.budget.delta)]
    if stated != spent:
        return False, "not what the steps spend in total"
    return True, f"epsilon {float(spent[0]):.6g}, delta {float(spent[1]):.6g}" if any(spent) else "nothing is spent"


def _account(plan: Brief, certificate: Certificate) -> Decision:
    """Compare what the account paid with what the release costs, and with what the account may spend."""
    stated = certificate.account
    if stated is None:
        return True, NOTHING
    cost = None if plan.cost is None else plan.cost.counted(stated.neighbours)
    if cost is None:
        return False, "an account that counts such neighbours cannot count what plan.toml promises"
    paid, spent, budget = (
        (Fraction(part.epsilon), Fraction(part.delta), Fraction(part.rho or 0))
        for part in (stated.cost, stated.spent, stated.budget)
    )
    owed = (cost.epsilon, cost.delta, Fraction(0))
    if stated.budget.rho is not None:
        # what is (epsilon, delta)-private is delta-approximately rho-concentrated with the smaller of these
        owed = (Fraction(0), cost.delta, min(cost.epsilon**2 / 2, cost.epsilon))
    if any(not least <= part < least + unit for part, least, unit in zip(paid, owed, _UNITS, strict=True)):
        return False, "the account did not pay what the release costs"
    if any(one > all_ for one, all_ in zip((*paid, *spent), (*spent, *budget), strict=True)):
        return False, "the account has spent less than this release alone, or more than it may"
    name, amount = ("rho", paid[2]) if stated.budget.rho is not None else ("epsilon", paid[0])
    return True, f"paid {name} {float(amount):.6g}, delta {float(paid[1]):.6g}, within what it may spend"


def _measures(method: Method, certificate: Certificate) -> Decision:
    if certificate.measures and method.keeps.private is None:
        return False, "there are measures, which would compare the release with the original table"
    columns = [step.get("column") for step in certificate.steps]
    known = {name.format(column=column) for name in method.keeps.measures for column in columns}
    if not known.issuperset(certificate.measures):
        return False, f"there are measures that method `{method.name}` does not state"
    return True, f"{len(certificate.measures)} that the release alone shows" if certificate.measures else "none"


def _randomness(certificate: Certificate) -> Decision:
    """Compare where random numbers came from with whether a step draws any."""
    drawn = any(step.get("step") in _RANDOM for step in certificate.steps)
    sources = (CRYPTOGRAPHIC, randomness(cryptographic=False))
    if drawn != (certificate.randomness in sources):
        return False, "the steps and the source of random numbers do not fit together"
    if not drawn and certificate.randomness not in ("none used", "none used, but for the secret key of the pseudonyms"):
        return False, "it is not worded as Shoal words it"
    return True, certificate.randomness
