"""The words that both the page and the terminal use."""

from __future__ import annotations

from shoal.guarantees import Strength
from shoal.report._document import Document, Variant

__all__ = ["STRENGTHS", "hidden", "notice"]

STRENGTHS = {
    Strength.SYNTACTIC: ("syntactic", "A property of the released table: anybody can check it on the data."),
    Strength.UNCONDITIONAL: ("unconditional", "It holds whatever an intruder knows or will ever learn."),
    Strength.CONDITIONAL: ("conditional", "It holds if, and only if, its assumptions do."),
}


def hidden(among: int) -> str:
    """Say how people are hidden where values were exchanged."""
    return (
        "Quasi-identifiers are released as they are. What is hidden is which of the exchanged values are a person's: "
        f"those of at least {among:,} records changed places at random, inside classes that are not published. As far "
        f"as the promise holds, each of them is the person's with a chance of at most one in {among:,}."
    )


def notice(document: Document) -> tuple[str, str]:
    """Say who may read the report, and why."""
    if document.variant is Variant.INTERNAL:
        words = (
            "It shows figures of the original table without any protection. Do not publish it, nor any figure of it."
        )
        if document.private:
            words += " Doing so breaks the differential privacy of the release."
        return "Internal report, not for publication.", words
    made = "It holds what the certificate says and what the released data show: whoever has the release can compute it."
    if document.private:
        return "Public report.", f"{made} Nothing in it was computed from the original data outside the privacy budget."
    return (
        "Public report.",
        f"{made} Of the original data it tells nothing but the numbers of records that the certified steps state; how "
        "risk and quality compare with the original stays with the publisher.",
    )
