"""The report for a board or a data protection officer: WP216, HIPAA and two standards, with measured figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shoal.exact import share
from shoal.folder import ReleaseFolder
from shoal.guarantees import Strength
from shoal.plan import Plan
from shoal.report._document import (
    AttackFigures,
    BoardFigures,
    DisclosureFigures,
    Document,
    TableFigures,
)
from shoal.report._gather import gather
from shoal.report._internal import internal_report
from shoal.report._markup import Html, element
from shoal.report._page import table_of, ticks
from shoal.report._text import LEARNING
from shoal.risk import IDENTIFIERS, Attacks, Verdict, assess, attack, safe_harbor
from shoal.schema import Attribute, Role, Schema
from shoal.tables import Table


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
    VerificationError, Undecided
        If there is no readable certificate.
    PlanError
        If there is no readable plan.
    """
    release = ReleaseFolder.inspected(folder)
    schema = release.plan.schema
    document = gather(release) if original is None or plan is None else internal_report(folder, original, plan)
    tried = None
    if original is not None and len(document.tables) == 1:
        tried = attack(original, release.open(document.tables[0].file), seed=seed)
    board = BoardFigures(
        disclosure=tuple(
            each for table in document.tables for each in _disclosure(release.open(table.file), table, schema)
        ),
        attacks=() if tried is None else _attacks(tried),
        linkage=()
        if tried is None
        else tuple((each.known, each.single, each.linked, each.worst_linked) for each in tried.linkage),
        seed=None if tried is None else seed,
        identifiers=tuple(each for table in document.tables for each in safe_harbor(release.open(table.file), schema)),
        techniques=tuple(techniques(release)),
        questions=tuple(questions(document)),
    )
    return document.model_copy(update={"board": board})


def _disclosure(released: Table, table: TableFigures, schema: Schema) -> list[DisclosureFigures]:
    """Measure what released classes tell about released secrets; nothing where classes are not what hides people."""
    if table.risk is None or not {*released.columns} <= {*schema.names}:
        return []
    plain = tuple(
        Attribute(name=name, role=schema[name].role if not schema[name].role.names_someone else Role.DROP)
        for name in released.columns
    )
    disclosures = assess(released.with_schema(Schema(attributes=plain), allow_empty=True)).attributes
    return [
        DisclosureFigures(
            column=disclosure.column, baseline=disclosure.baseline, guess=disclosure.guess, certain=disclosure.certain
        )
        for disclosure in disclosures
        if disclosure.level == 0
    ]


def _attacks(found: Attacks) -> tuple[AttackFigures, ...]:
    return tuple(
        AttackFigures(
            name=attack.name,
            columns=attack.columns,
            question=attack.question,
            success=attack.success.rate,
            low=attack.success.low,
            high=attack.success.high,
            baseline=attack.baseline.rate,
            risk=attack.risk,
            attempts=attack.success.attempts,
        )
        for attack in found.main_attacks
    )


#: what ISO/IEC 20889:2018 calls promises
_MODELS = {
    "k-anonymity": "K-anonymity",
    "k-map": "K-anonymity, over a population",
    "estimated-k-map": "K-anonymity, over a population",
    "differential-privacy": "differential privacy",
    "probabilistic-k-anonymity": "K-anonymity, in its probabilistic form",
}
_FAMILIES = {"diversity": "l-diversity, on top of K-anonymity", "closeness": "t-closeness, on top of K-anonymity"}


_DIRECT = (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD)
_KNOWN = (Role.QUASI_IDENTIFIER, Role.STRATUM)


def techniques(release: ReleaseFolder) -> Iterator[tuple[str, str]]:
    """Return each step that is a technique, and each promise, with the term that ISO/IEC 20889:2018 has for it."""
    for step in release.steps:
        if step.technique is not None:
            yield f"technique: {step.technique}", step.describe()
    for promise in release.certificate.promises:
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
    yield "data", "What may others know about a person?", _having(document, *_KNOWN)
    yield "data", "What would be learned about a person who is found?", _having(document, Role.SENSITIVE)
    yield "identifiability", "How identifiable are people?", " ".join(_identifiable(document))
    yield "identifiability", "What was done about it?", " ".join(step.description for step in document.steps)
    yield "governance", "Who answers for the release?", said.get("controller", "")
    yield "governance", "Who looks at it again, and what if somebody is found?", said.get("review", "")
    yield "governance", "How can others check what is said here?", "With `shoal verify`, from the release alone."


def _having(document: Document, *roles: Role) -> str:
    columns = [each for each in document.described if each.role in roles]
    return "; ".join(f"`{column.name}` ({column.done})" for column in columns) or "no column"


def _identifiable(document: Document) -> Iterator[str]:
    for table in document.tables:
        if table.risk is not None:
            yield (
                f"{table.file}: the smallest class has {table.risk.smallest:,} records; {table.risk.unique:,} records "
                f"are alone in theirs. The highest risk of a record is {share(table.risk.prosecutor)}, the average "
                f"{share(table.risk.marketer)}."
            )
        if table.learnt is not None:
            yield f"{table.file}: {LEARNING.lower()}: at most {share(table.learnt.highest)}."
    if not any(table.risk is not None for table in document.tables):
        yield "Class sizes do not measure the risk of this release; see what is promised."


_Section = tuple[str, Iterable[Html]]
_UNTRIED = (
    "No attack was simulated: that takes the original table (`shoal report FOLDER --board --original FILE`) and a "
    "release of one table."
)
_ADDED = (
    "Success is how often the attack was right, with its 95 % confidence interval; next to it, how often the same "
    "guess is right without the records of the release. The risk added is (success - without) / (1 - without)."
)


_WHICH = {"singling out": "two or more released columns", "linkability": "the quasi-identifiers"}


def board_sections(document: Document, board: BoardFigures) -> Iterable[_Section]:
    """Return titles and contents."""
    yield "Singling out, linkability and inference", _opinion(document, board)
    yield "HIPAA", _hipaa(document, board)
    yield "ISO/IEC 20889 and 27559", _standards(board)


def _opinion(document: Document, board: BoardFigures) -> Iterable[Html]:
    words = (
        "Opinion 05/2014 of the Article 29 Working Party (WP216) asks three questions of an anonymisation. The figures "
        "below are measured; whether they are small enough is for the controller to decide."
    )
    yield element("p", words)
    yield element("h3", "Can a person be singled out?")
    yield _crowds(document)
    yield from _render_attacks([attack for attack in board.attacks if attack.name == "singling out"])
    yield element("h3", "Can records about the same person be linked?")
    if board.linkage:
        rows = [
            (f"{known}", share(single), share(linked), share(worst)) for known, single, linked, worst in board.linkage
        ]
        yield element("p", "An intruder looks for a person by some of the quasi-identifiers.")
        yield table_of(("columns known", "one record fits", "linked", "linked at worst"), rows)
    linked = [attack for attack in board.attacks if attack.name == "linkability"]
    if not board.linkage and not linked:
        yield element("p", "Not measured: the release alone does not show it.")
    yield from _render_attacks(linked)
    yield element("h3", "Can a value be inferred?")
    if board.disclosure:
        rows = [
            (each.column, share(each.baseline), share(each.guess), f"{each.certain:,}") for each in board.disclosure
        ]
        yield element(
            "p", "Guesses of a sensitive value by someone who knows a person's class, computed from the release:"
        )
        yield table_of(("column", "right without the class", "right with it", "records whose value is certain"), rows)
    inferred = [attack for attack in board.attacks if attack.name not in _WHICH]
    if not board.disclosure and not inferred:
        yield element(
            "p", "Not measured: no column of the release is declared sensitive, or its classes are not visible."
        )
    yield from _render_attacks(
        inferred, "Does the release reveal a person's sensitive value to someone who knows the quasi-identifiers?"
    )
    yield element("p", ticks(_UNTRIED) if not board.attacks else f"{_ADDED} Seed {board.seed}.", class_="soft")


def _crowds(document: Document) -> Html:
    measured = [table.risk for table in document.tables if table.risk is not None]
    if not measured:
        return element("p", "Class sizes do not measure the risk of this release; see what is promised.")
    unique, smallest = sum(risk.unique for risk in measured), min(risk.smallest for risk in measured)
    return element(
        "p",
        f"{unique:,} released records have quasi-identifiers that no other record has; "
        f"the smallest class has {smallest:,}.",
    )


def _render_attacks(found: Sequence[AttackFigures], question: str = "") -> Iterable[Html]:
    if not found:
        return
    yield element("p", question or found[0].question)
    rows = [
        (
            ", ".join(each.columns) or _WHICH.get(each.name, ""),
            f"{share(each.success)} ({share(each.low)} to {share(each.high)})",
            share(each.baseline),
            f"{each.risk:.2f}",
            f"{each.attempts:,}",
        )
        for each in found
    ]
    yield table_of(("about", "success", "without the records", "risk added", "attempts"), rows)


def _hipaa(document: Document, board: BoardFigures) -> Iterable[Html]:
    yield element("h3", "Safe Harbor, 45 CFR 164.514(b)(2), column by column")
    words = (
        "Names and values of the released columns were compared with what the 18 identifiers look like. A program "
        "cannot know that a column holds none, and Safe Harbor also requires that the holder knows of no way to "
        "identify anybody by what is left."
    )
    yield element("p", words)
    rows = [
        (identifier.column, " ".join(identifier.letters), identifier.verdict, identifier.words)
        for identifier in board.identifiers
    ]
    yield table_of(("released column", "identifiers", "result", "what was seen"), rows, words=True)
    listed = [(letter, text, _list_findings(board, letter)) for letter, text in IDENTIFIERS.items()]
    yield table_of(("", "identifier", "in the released columns"), listed, words=True)
    yield element("h3", "Figures for an expert's determination, 164.514(b)(1)")
    words = (
        "An expert decides whether the risk is very small, given the anticipated recipient and what that recipient can "
        "know. From this report the expert has: the promises and their assumptions, the class sizes and risks, the "
        "attacks above, and the limitations below. The expert's methods and results must be documented; this report is "
        "a part of that."
    )
    yield element("p", words)
    for table in document.tables:
        if table.risk is not None:
            figures = [
                ("records", f"{table.risk.records:,}"),
                ("smallest class", f"{table.risk.smallest:,}"),
                ("highest risk of a record (prosecutor)", share(table.risk.prosecutor)),
                ("average risk (marketer)", share(table.risk.marketer)),
                ("records alone in their class", f"{table.risk.unique:,}"),
            ]
            yield table_of((table.file, ""), figures)


def _list_findings(board: BoardFigures, letter: str) -> str:
    findings = [identifier for identifier in board.identifiers if letter in identifier.letters]
    sure = [finding.column for finding in findings if finding.verdict == Verdict.FOUND]
    open_ = [finding.column for finding in findings if finding.verdict == Verdict.DECIDE]
    parts = [*([f"found: {', '.join(sure)}"] if sure else []), *([f"to decide: {', '.join(open_)}"] if open_ else [])]
    return "; ".join(parts) or "nothing found"


def _standards(board: BoardFigures) -> Iterable[Html]:
    yield element("h3", "What was done, in the terms of ISO/IEC 20889")
    yield table_of(("term", "here"), board.techniques, words=True)
    yield element("h3", "The questions of ISO/IEC 27559")
    rows = [
        (part, question, answer or "not answered: give it in [release] of the plan")
        for part, question, answer in board.questions
    ]
    yield table_of(("part", "question", "answer"), rows, words=True)
