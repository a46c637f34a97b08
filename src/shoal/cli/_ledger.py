"""What ``shoal account`` and ``shoal vault`` have in common: options of a budget, and how entries are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.queries import Entry, Loss, Standing

__all__ = ["Delta", "Measure", "amounts", "shown"]

Delta = Annotated[str, typer.Option(help="The delta of the budget, such as 1e-6.")]
Measure = Annotated[
    str,
    typer.Option(
        help="What is added up: epsilon, or zcdp, which lets many questions with Gaussian noise cost far less. "
        "The budget is epsilon and delta either way."
    ),
]


def amounts(standing: Standing) -> dict[str, str]:
    """Return how an account stands, in exact texts."""
    parts: dict[str, Loss] = {"budget": standing.budget, "spent": standing.spent, "left": standing.left}
    return {part: str(loss) for part, loss in parts.items()}


def shown(entries: Sequence[Entry], every: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each entry; ``every`` entry of the ledger says what was written of them."""
    from shoal.queries import entry_text

    written = {each.content["entry"] for each in every if each.content["event"] == "written"}
    for each in entries:
        unseen = each.content.get("query", "").startswith("release ") and each.number not in written
        note = " (no folder is known to have been written)" if unseen else ""
        yield f"  {each.number:>6}  {each.content['time'][:19]}  {entry_text(each.content)}{note}"
