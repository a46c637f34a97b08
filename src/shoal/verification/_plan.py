"""Compare a certificate with the plan: columns, roles, domains, promises and steps follow from it, or it is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from shoal import schema, tables
from shoal.errors import counted, quoted
from shoal.exact import fraction
from shoal.guarantees import Certificate, Check, Column, Counted, Data, Decision, Evidence, column, run_check
from shoal.methods import Method, policy_entry, rehearsal_entry
from shoal.methods.classes import Bucketized
from shoal.plan import Plan
from shoal.policy import in_force
from shoal.schema import Kind, Role, Schema
from shoal.verification._steps import check_budget, check_grammar, check_randomness

NOTHING = "nothing to compare"
#: what an account rounds up to: whole units of epsilon, of delta and of rho
_UNITS = (Fraction(1, 10**12), Fraction(1, 10**18), Fraction(1, 10**12))


def check_plan(evidence: Evidence) -> list[Check]:
    """Return one check per part of the certificate that the plan decides."""
    plan, certificate = evidence.plan, evidence.certificate
    parts: dict[str, Callable[[], Decision]] = {
        "schema": lambda: _schema(plan.schema, certificate),
        "tables": lambda: _tables(plan, evidence),
        "domains": lambda: _domains(plan, certificate),
        "steps": lambda: check_grammar(evidence),
        "persons": lambda: _persons(plan, evidence),
        "promises": lambda: _promises(plan, certificate),
        "budget": lambda: check_budget(evidence),
        "rehearsal": lambda: _rehearsal(plan, certificate),
        "policy": lambda: _policy(plan, certificate),
        "account": lambda: _account(plan, certificate),
        "measures": lambda: _measures(plan.method, evidence),
        "randomness": lambda: check_randomness(evidence),
    }
    checks = [run_check(subject, decide) for subject, decide in parts.items()]
    return [check for check in checks if check.detail != NOTHING]


def _schema(described: Schema, certificate: Certificate) -> Decision:
    if hashlib.sha256(schema.dumps(described).encode()).hexdigest() != certificate.schema_sha256:
        return False, "the schema of plan.toml is not the certified one"
    if (certificate.roles == "guessed") != described.guessed:
        return False, "the certificate and plan.toml disagree on whether the roles were guessed"
    return True, f"the quasi-identifiers are {quoted(described.quasi_identifiers)}"


def _rehearsal(plan: Plan, certificate: Certificate) -> Decision:
    """Compare what is said of a rehearsal with the plan; that it took place, no file shows."""
    stated = certificate.rehearsal
    if stated is None:
        return True, NOTHING
    if stated != rehearsal_entry(plan):
        return False, "it is not the one that plan.toml asks for"
    accepted = f"; accepted: {quoted(stated.accepted)}" if stated.accepted else ""
    return True, f"{stated.kind}, with a margin of {float(fraction(stated.margin)):g}{accepted}"


def _policy(plan: Plan, certificate: Certificate) -> Decision:
    """Compare the policy with the plan, and both with the one of this office; a plan keeps to its own."""
    if certificate.policy != policy_entry(plan):
        return False, "it is not the one that plan.toml holds"
    own = in_force()
    if own is not None and own.fingerprint != (plan.policy and plan.policy.fingerprint):
        user = plan.policy.user if plan.policy else ""
        if against := plan.against(replace(own, user=user)):
            return False, "; ".join(against)
    if plan.policy is None:
        return True, NOTHING
    accepted = f"; {plan.policy.user} accepted {quoted(plan.accepted)}" if plan.accepted else ""
    return True, f"that of {plan.policy.office}{accepted}"


def _tables(plan: Plan, evidence: Evidence) -> Decision:
    """Compare the files, their columns, and what is said of each column with what the plan gives."""
    certificate = evidence.certificate
    expected = plan.method.files(plan.schema)
    found = {
        data.file: tuple(each.name for each in data.columns if each.name != data.class_column)
        for data in certificate.tables
    }
    if len(found) != len(certificate.tables) or {file: {*names} for file, names in found.items()} != {
        file: {*names} for file, names in expected.items()
    }:
        return False, "the tables or their columns are not those that the plan gives"
    if [data.file for data in certificate.tables] != [*expected]:
        return False, "the tables do not stand in the order that the plan gives"
    bucketized = {name: step for step in evidence.steps(Bucketized) for name in step.columns}
    for data in certificate.tables:
        for each in data.columns:
            if each.name == data.class_column:
                role = Role.QUASI_IDENTIFIER if data.file == [*expected][-1] else Role.INSENSITIVE
                if each != Column(name=each.name, role=role, kind=Kind.CATEGORICAL):
                    return False, "the column that numbers the classes is not described as such"
                continue
            planned, step = column(plan.schema[each.name]), bucketized.get(each.name)
            if step is not None:
                labels = tables.distinct_values(evidence.tables[data.file], each.name)
                as_planned = _are_buckets(each, planned, step, len(labels) - labels.null_count)
            else:
                as_planned = (each.role, each.kind, each.values) == (planned.role, planned.kind, planned.values)
            if not as_planned:
                return False, f"`{each.name}` has a different role, kind or order of values in plan.toml"
    if any(data.class_column is not None and not _links(data, plan.schema) for data in certificate.tables):
        return False, "the column that numbers the classes is a column of the plan"
    columns = sum(map(len, found.values()))
    return True, f"{len(found)} with {counted(columns, 'column')}, each as in plan.toml"


def _are_buckets(said: Column, planned: Column, step: Bucketized, labels: int) -> bool:
    """Return whether a column of buckets is described as one: buckets of one column in an order are in that order."""
    ordered = len(step.columns) == 1 and planned.kind is not Kind.CATEGORICAL
    # two buckets may have the same label, and are then in no order
    kinds = {Kind.ORDINAL} if ordered and labels >= step.buckets else {Kind.ORDINAL, Kind.CATEGORICAL}
    return said.role is Role.SENSITIVE and said.kind in (kinds if ordered else {Kind.CATEGORICAL})


def _links(data: Data, described: Schema) -> bool:
    return data.class_column in [each.name for each in data.columns] and data.class_column not in described


def _domains(plan: Plan, certificate: Certificate) -> Decision:
    said = {domain.column: domain for domain in certificate.domains}
    if len(said) != len(certificate.domains):
        return False, "a column appears twice"
    expected = {domain.column: domain for domain in plan.domains}
    if said != expected:
        wrong = sorted({*said, *expected} - {name for name in said if said.get(name) == expected.get(name)})
        return False, f"where the domain of `{wrong[0]}` came from is not what plan.toml says"
    if [*said] != [*expected]:
        return False, "they do not stand in the order of plan.toml"
    return True, f"{counted(len(said), 'column')}, as plan.toml says"


def _persons(plan: Plan, evidence: Evidence) -> Decision:
    """Compare whose privacy is promised with what the plan counts; no file shows the persons."""
    steps = evidence.steps(Counted)
    # differential privacy decides its own unit
    private = plan.method.capabilities.private_promise is not None
    promised = set() if private else {entry.unit for entry in evidence.certificate.promises} - {"record"}
    if promised != ({"person"} if steps else set()):
        return False, "the promises are not about those whom the steps count"
    if not steps:
        return True, NOTHING
    numbers = "; ".join(dict.fromkeys(f"{step.persons:,} in {step.records:,} records" for step in steps))
    if plan.method.linked:
        return True, numbers.replace(" in ", " pseudonyms in ")
    return True, f"{numbers}, which is possible"


def _promises(plan: Plan, certificate: Certificate) -> Decision:
    """Compare the promises with those asked for: none twice, too few, or too many."""
    said = [(each.model, repr(sorted(each.parameters.items(), key=str)), each.file) for each in certificate.promises]
    if len({*said}) != len(said):
        return False, "a promise appears twice"
    asked = [model.resolve(plan.schema) for model in plan.models]
    if plan.method.capabilities.as_asked:
        wanted = sorted(repr((model.name, model.parameters())) for model in asked)
        if wanted != sorted(repr((entry.model, entry.parameters)) for entry in certificate.promises):
            return False, "the certificate does not promise what plan.toml asks for"
    missing = plan.method.find_unanswered(plan.schema, asked, certificate.promises)
    if missing:
        return False, f"nothing in the certificate corresponds to `{missing[0].title}`, which plan.toml asks for"
    return True, f"{len(said)}, as plan.toml asks for"


def _account(plan: Plan, certificate: Certificate) -> Decision:
    """Compare what the account paid with what the release costs, and with what the account may spend."""
    stated = certificate.account
    if stated is None:
        return True, NOTHING
    cost = None if plan.cost is None else plan.cost.convert_neighbours(stated.neighbours)
    if cost is None:
        return False, "an account that counts such neighbours cannot count what plan.toml promises"
    paid, spent, budget = (
        (Fraction(part.epsilon), Fraction(part.delta), Fraction(part.rho or 0))
        for part in (stated.cost, stated.spent, stated.budget)
    )
    owed = (cost.epsilon, cost.delta, Fraction(0))
    if stated.budget.rho is not None:
        rho, beta = cost.rho_and_beta
        owed = (Fraction(0), beta, rho)
    if any(not least <= part < least + unit for part, least, unit in zip(paid, owed, _UNITS, strict=True)):
        return False, "the account did not pay what the release costs"
    if any(one > all_ for one, all_ in zip((*paid, *spent), (*spent, *budget), strict=True)):
        return False, "the account has spent less than this release alone, or more than it may"
    name, amount = ("rho", paid[2]) if stated.budget.rho is not None else ("epsilon", paid[0])
    return True, f"paid {name} {float(amount):.6g}, delta {float(paid[1]):.6g}, within what it may spend"


def _measures(method: Method, evidence: Evidence) -> Decision:
    certificate = evidence.certificate
    if certificate.measures and method.capabilities.private_promise is None:
        return False, "there are measures, which would compare the release with the original table"
    columns = [name for step in evidence.all_steps for name in step.named_columns]
    known = {name.format(column=column) for name in method.capabilities.measures for column in [*columns, None]}
    if not known.issuperset(certificate.measures):
        return False, f"there are measures that method `{method.name}` does not state"
    return True, f"{len(certificate.measures)} that the release alone shows" if certificate.measures else "none"
