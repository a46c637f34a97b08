"""Why a session does not answer."""

from __future__ import annotations

from shoal.errors import InputError, RequirementError, VerificationError

__all__ = ["AccessError", "BudgetSpent", "FilterError", "LedgerError"]


class BudgetSpent(RequirementError):
    """The budget does not allow the answer; nothing was spent."""


class LedgerError(VerificationError):
    """The ledger was changed, cut short or cannot be written; nothing is answered."""


class FilterError(InputError):
    """A filter is not in the language of filters, or does not fit the schema."""


class AccessError(InputError):
    """An analyst is not known, or asks more often than allowed."""
