"""Why a session does not answer."""

from __future__ import annotations

from shoal.errors import InputError, RequirementError, ShoalError, VerificationError
from shoal.tables import FilterError

__all__ = ["AccessError", "BudgetSpent", "FilterError", "LedgerError", "NotAnswered"]


class BudgetSpent(RequirementError):
    """The budget does not allow the answer; nothing was spent."""


class LedgerError(VerificationError):
    """The ledger was changed, cut short or cannot be written; nothing is answered."""


class AccessError(InputError):
    """An analyst is not known, or asks more often than allowed."""


class NotAnswered(ShoalError):
    """The answer could not be computed. What it cost stays spent: a refund would tell that something went wrong."""

    def __init__(self) -> None:
        super().__init__("the answer could not be computed; its cost is spent.", hint="tell the steward of the data")

    def __reduce__(self) -> tuple[type[NotAnswered], tuple[()]]:  # type: ignore[override]
        return NotAnswered, ()
