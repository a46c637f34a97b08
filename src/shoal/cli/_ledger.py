"""What ``shoal account`` and ``shoal vault`` have in common: options of a budget, and how entries are shown."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from shoal.queries import Entry, Loss, Standing


Delta = Annotated[str, Option(help="The delta of the budget, such as 1e-6.")]
Measure = Annotated[
    str,
    Option(
        help="What is added up: epsilon, or zcdp, which lets many questions with Gaussian noise cost far less. "
        "The budget is epsilon and delta either way."
    ),
]


def amounts(standing: Standing) -> dict[str, str]:
    """Return how an account stands, in exact texts."""
    parts: dict[str, Loss] = {"budget": standing.budget, "spent": standing.spent, "left": standing.left}
    return {part: str(loss) for part, loss in parts.items()}


def title(entries: Sequence[Entry], total: int) -> str:
    """Say which entries are shown."""
    if entries and entries[-1].number < total:
        return f"Entries {entries[0].number:,} to {entries[-1].number:,} of {total:,}"
    return f"The last {len(entries):,} of {total:,} entries"


def shown(entries: Sequence[Entry], written: Container[int]) -> Iterator[str]:
    """Yield a line for each entry; ``written`` are those whose releases are known to have been written."""
    from shoal.queries import entry_text

    for each in entries:
        unseen = each.content.get("query", "").startswith("release ") and each.number not in written
        note = " (no folder is known to have been written)" if unseen else ""
        yield f"  {each.number:>6}  {each.content['time'][:19]}  {entry_text(each.content)}{note}"
