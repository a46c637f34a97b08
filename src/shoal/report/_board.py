"""The report for a board or a data protection officer: WP216, HIPAA and two standards, with measured figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal import tables
from shoal.guarantees import CERTIFICATE, load
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
from shoal.report._standards import questions, techniques
from shoal.risk import Attack, Attacks, assess, attack, safe_harbor
from shoal.schema import Attribute, Role, Schema
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.plan import Plan

__all__ = ["board_report"]


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
