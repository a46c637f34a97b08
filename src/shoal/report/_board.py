"""The report for a board or a data protection officer: WP216, HIPAA and two standards, with measured figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from shoal import tables
from shoal.exact import share
from shoal.guarantees import CERTIFICATE, Certificate, Strength, load
from shoal.methods.brief import Brief
from shoal.report._document import (
    AttackFigures,
    BoardFigures,
    DisclosureFigures,
    Document,
    IdentifierFigures,
    TableFigures,
)
from shoal.report._gather import PLAN, gather
from shoal.report._internal import internal_report
from shoal.risk import Attack, Attacks, assess, attack, safe_harbor
from shoal.schema import Attribute, Role, Schema
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.plan import Plan


def board_report(
    folder: str | Path, original: Table | None = None, plan: Plan | None = None, *, seed: int = 0
) -> Document:
    """Return the report on the release in ``folder`` with what a board asks: singling out, linkability, inference.

    Parameters
    ----------
    folder
        The release.
    original, plan
        The table that it was made of and its plan. With them attacks are simulated and the report is internal; without
        them it is made of the files of the release alone.
    seed
        Of the attacks.

    Raises
    ------
    VerificationError
        If there is no readable certificate.
    PlanError
        If there is no readable plan.
    """
    folder = Path(folder)
    certificate, brief = load(folder / CERTIFICATE), Brief.load(folder / PLAN)
    if original is None or plan is None:
        document = gather(folder, certificate)
    else:
        document = internal_report(folder, original, plan)
    tried = None
    if original is not None and len(document.tables) == 1:
        tried = attack(original, tables.read(folder / document.tables[0].file), seed=seed)
    board = BoardFigures(
        disclosure=tuple(each for table in document.tables for each in _disclosure(folder, table, brief.schema)),
        attacks=() if tried is None else _attacks(tried),
        linkage=()
        if tried is None
        else tuple((each.known, each.single, each.linked, each.worst_linked) for each in tried.linkage),
        seed=None if tried is None else seed,
        identifiers=tuple(each for table in document.tables for each in _identifiers(folder, table, brief.schema)),
        techniques=tuple(techniques(certificate)),
        questions=tuple(questions(document)),
    )
    return document.model_copy(update={"board": board})


def _disclosure(folder: Path, table: TableFigures, schema: Schema) -> list[DisclosureFigures]:
    """Measure what released classes tell about released secrets; nothing where classes are not what hides people."""
    released = tables.reread(folder / table.file)
    if table.risk is None or table.classes_by != "the quasi-identifiers":
        return []
    plain = tuple(
        Attribute(name=name, role=schema[name].role if not schema[name].role.names_someone else Role.DROP)
        for name in released.columns
    )
    found = assess(released.with_schema(Schema(attributes=plain), allow_empty=True)).attributes
    return [
        DisclosureFigures(column=each.column, baseline=each.baseline, guess=each.guess, certain=each.certain)
        for each in found
        if each.level == 0
    ]


def _identifiers(folder: Path, table: TableFigures, schema: Schema) -> list[IdentifierFigures]:
    found = safe_harbor(tables.reread(folder / table.file), schema)
    return [
        IdentifierFigures(column=each.column, letters=each.letters, verdict=str(each.verdict), words=each.words)
        for each in found
    ]


def _attacks(found: Attacks) -> tuple[AttackFigures, ...]:
    tried: list[Attack] = [found.singling_out, *([found.linkability] if found.linkability else []), *found.inference]
    return tuple(
        AttackFigures(
            name=each.name,
            columns=each.columns,
            question=each.question,
            success=each.success.rate,
            low=each.success.low,
            high=each.success.high,
            baseline=each.baseline.rate,
            risk=each.risk,
            attempts=each.success.attempts,
        )
        for each in tried
    )


#: steps of a certificate, and what ISO/IEC 20889:2018 calls them
_TECHNIQUES = {
    "dropped": "masking: direct identifiers removed",
    "pseudonymized": "pseudonymization",
    "left-out": "record suppression",
    "suppressed": "record suppression",
    "trimmed": "record suppression",
    "filtered": "record suppression",
    "generalized": "generalization",
    "bucketized": "generalization: rounding",
    "sampled": "sampling",
    "permuted": "randomization: permutation",
    "ranked": "randomization: permutation",
    "randomized": "randomization",
    "noised": "randomization: noise addition",
    "concepts-drawn": "randomization",
    "averaged": "randomization: microaggregation",
    "aggregated": "randomization: microaggregation; of intervals and sets, generalization: local generalization",
    "separated": "anatomization",
}
_MODELS = {
    "k-anonymity": "K-anonymity",
    "k-map": "K-anonymity, over a population",
    "estimated-k-map": "K-anonymity, over a population",
    "differential-privacy": "differential privacy",
    "probabilistic-k-anonymity": "K-anonymity, in its probabilistic form",
}
_FORMS = {
    "microaggregated": "randomization: microaggregation",
    "generalized": "generalization: local generalization",
}
_FAMILIES = {"diversity": "l-diversity, on top of K-anonymity", "closeness": "t-closeness, on top of K-anonymity"}


_DIRECT = (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD)
_KNOWN = (Role.QUASI_IDENTIFIER, Role.STRATUM)


def techniques(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Return each step and promise with the term for it."""
    for step in certificate.steps:
        if term := _TECHNIQUES.get(str(step.get("step"))) or _FORMS.get(str(step.get("form"))):
            yield f"technique: {term}", str(step.get("description", ""))
    for promise in certificate.promises:
        family = next((term for word, term in _FAMILIES.items() if word in promise.model), None)
        differential = "differential privacy" if promise.strength is Strength.UNCONDITIONAL else None
        term = _MODELS.get(promise.model) or family or differential or "no term of its own"
        yield f"formal privacy measurement model: {term}", promise.statement


def questions(document: Document) -> Iterator[tuple[str, str, str]]:
    """Return part, question and answer; an answer that the plan should give and does not is empty."""
    said = document.about
    yield "context", "Who gets the data?", said.get("recipient", "")
    yield "context", "What for?", said.get("purpose", "")
    yield "context", "How, and under which conditions?", said.get("context", "")
    yield "context", "What else can they know about the same people?", said.get("other_data", "")
    yield "data", "What identifies people directly?", _having(document, *_DIRECT)
    yield "data", "What may others know of a person?", _having(document, *_KNOWN)
    yield "data", "What would be learned about a person who is found?", _having(document, Role.SENSITIVE)
    yield "identifiability", "How identifiable are people?", " ".join(_identifiable(document))
    yield "identifiability", "What was done about it?", " ".join(step.description for step in document.steps)
    yield "governance", "Who answers for the release?", said.get("controller", "")
    yield "governance", "Who looks at it again, and what if somebody is found?", said.get("review", "")
    yield "governance", "How can others check what is said here?", "With `shoal verify`, from the release alone."


def _having(document: Document, *roles: Role) -> str:
    found = [each for each in document.described if each.role in roles]
    return "; ".join(f"`{each.name}` ({each.done})" for each in found) or "no column"


def _identifiable(document: Document) -> Iterator[str]:
    for table in document.tables:
        if table.risk is not None:
            yield (
                f"{table.file}: the smallest class has {table.risk.smallest:,} records; {table.risk.unique:,} records "
                f"are alone in theirs. The highest risk of a record is {share(table.risk.prosecutor)}, the average "
                f"{share(table.risk.marketer)}."
            )
    if not any(table.risk is not None for table in document.tables):
        yield "Class sizes do not measure this release; see what is promised."
