"""The sections that a board reads: singling out, linkability and inference; HIPAA; the ISO standards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.exact import share
from shoal.report._document import AttackFigures, BoardFigures, Document
from shoal.report._markup import Html, element
from shoal.report._page import table_of, ticks
from shoal.risk import IDENTIFIERS, Verdict

_Section = tuple[str, Iterable[Html]]
_UNTRIED = (
    "No attack was simulated: that takes the original table (`shoal report FOLDER --board --original FILE`) and a "
    "release of one table."
)
_ADDED = (
    "Success is how often the attack was right, with its 95 % confidence interval; beside it, how often the same guess "
    "is right without the records of the release. The risk added is (success - without) / (1 - without)."
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
    yield from _tried([each for each in board.attacks if each.name == "singling out"])
    yield element("h3", "Can records about the same person be linked?")
    if board.linkage:
        rows = [
            (f"{known}", share(single), share(linked), share(worst)) for known, single, linked, worst in board.linkage
        ]
        yield element("p", "An intruder looks for a person by some of the quasi-identifiers.")
        yield table_of(("columns known", "one record fits", "linked", "linked at worst"), rows)
    linked = [each for each in board.attacks if each.name == "linkability"]
    if not board.linkage and not linked:
        yield element("p", "Not measured: the release alone does not tell.")
    yield from _tried(linked)
    yield element("h3", "Can a value be inferred?")
    if board.disclosure:
        rows = [
            (each.column, share(each.baseline), share(each.guess), f"{each.certain:,}") for each in board.disclosure
        ]
        yield element("p", "Guesses of a secret by whoever knows a person's class, computed from the release:")
        yield table_of(("column", "right without the class", "right with it", "records whose value is certain"), rows)
    inferred = [each for each in board.attacks if each.name not in _WHICH]
    if not board.disclosure and not inferred:
        yield element("p", "Not measured: no column of the release is declared as sensitive, or no class shows.")
    yield from _tried(inferred, "Does the release reveal a person's secret to whoever knows the quasi-identifiers?")
    yield element("p", ticks(_UNTRIED) if not board.attacks else f"{_ADDED} Seed {board.seed}.", class_="soft")


def _crowds(document: Document) -> Html:
    measured = [table.risk for table in document.tables if table.risk is not None]
    if not measured:
        return element("p", "Class sizes do not measure this release; see what is promised.")
    unique, smallest = sum(risk.unique for risk in measured), min(risk.smallest for risk in measured)
    return element(
        "p",
        f"{unique:,} released records are alone with their quasi-identifiers; the smallest class has {smallest:,}.",
    )


def _tried(found: Sequence[AttackFigures], question: str = "") -> Iterable[Html]:
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
        "cannot know that a column holds none, and Safe Harbor also asks that the holder knows of no way to identify "
        "anybody by what is left."
    )
    yield element("p", words)
    rows = [(each.column, " ".join(each.letters), each.verdict, each.words) for each in board.identifiers]
    yield table_of(("released column", "identifiers", "result", "what was seen"), rows, words=True)
    listed = [(letter, text, _seen(board, letter)) for letter, text in IDENTIFIERS.items()]
    yield table_of(("", "identifier", "in the released columns"), listed, words=True)
    yield element("h3", "Figures for an expert's determination, 164.514(b)(1)")
    words = (
        "An expert decides whether the risk is very small for the anticipated recipient and what they can know. From "
        "this report the expert has: the promises and their assumptions, the class sizes and risks, the attacks above, "
        "and the limitations below. The expert's methods and results must be documented; this report is a part of that."
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


def _seen(board: BoardFigures, letter: str) -> str:
    found = [each for each in board.identifiers if letter in each.letters]
    sure = [each.column for each in found if each.verdict == Verdict.FOUND]
    open_ = [each.column for each in found if each.verdict == Verdict.DECIDE]
    parts = [*([f"found: {', '.join(sure)}"] if sure else []), *([f"to decide: {', '.join(open_)}"] if open_ else [])]
    return "; ".join(parts) or "nothing found"


def _standards(board: BoardFigures) -> Iterable[Html]:
    yield element("h3", "What was done, in the terms of ISO/IEC 20889")
    yield table_of(("term", "here"), board.techniques, words=True)
    yield element("h3", "The questions of ISO/IEC 27559")
    rows = [
        (part, question, answer or "not answered: say it in [release] of the plan")
        for part, question, answer in board.questions
    ]
    yield table_of(("part", "question", "answer"), rows, words=True)
