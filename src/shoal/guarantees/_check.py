"""What verification says: one check after the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Check", "Verification"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was checked, and how it came out; ``shown`` is False where the data alone cannot show it."""

    subject: str
    passed: bool
    detail: str
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All checks of a release."""

    folder: Path
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        return "\n".join(
            f"{'ok  ' if check.passed else 'FAIL'} {check.subject}: {check.detail}" for check in self.checks
        )
