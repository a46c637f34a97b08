"""How ``shoal account`` and ``shoal vault`` show the entries of a ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.queries import Entry, Loss, Standing

__all__ = ["amounts", "shown"]


def amounts(standing: Standing) -> dict[str, str]:
    """Return how an account stands, in exact texts."""
    parts: dict[str, Loss] = {"budget": standing.budget, "spent": standing.spent, "left": standing.left}
    return {part: str(loss) for part, loss in parts.items()}


def shown(entries: Sequence[Entry], every: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each entry; ``every`` entry of the ledger says what was written of them."""
    written = {each.content["entry"] for each in every if each.content["event"] == "written"}
    for each in entries:
        unseen = each.content.get("query", "").startswith("release ") and each.number not in written
        note = " (no folder is known to have been written)" if unseen else ""
        yield f"  {each.number:>6}  {each.content['time'][:19]}  {_what(each.content)}{note}"


def _what(content: Mapping[str, Any]) -> str:
    from shoal.queries import Loss, Unit

    who = "all together" if content.get("account") == "*" else content.get("account")
    if content["event"] == "spend":
        spent = Loss(content["epsilon"], content["delta"])
        return (
            f"{content['query']}; spent {spent}"
            if who == "all together"
            else f"{who} spent {spent}: {content['query']}"
        )
    if content["event"] == "account":
        return f"budget of {who}: {Loss(content['epsilon'], content['delta'])}"
    if content["event"] == "unit":
        return f"budgets count what is lost by {Unit.of_entry(content)}"
    if content["event"] == "table":
        return "the table was looked at: its columns and number of records are known"
    if content["event"] == "written":
        return f"the release of entry {content['entry']} was written to {content['name']}"
    if content["event"] == "token":
        return f"{who} was given a token" if content["sha256"] else f"the token of {who} was revoked"
    return "a new anchor was made: entries before this may have been cut off"
