"""The result of a verification: single checks, the outcome that follows from them, and their texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from shoal.errors import counted

_WIDTH = 80


class VerificationOutcome(StrEnum):
    """The outcome of a verification.

    ``VERIFIED``: every promise was decided on the data and holds. ``ON_WORD``: the same, but a promise rests on the
    publisher's word, such as one of random swapping. ``FAILED``: at least one check failed.
    """

    VERIFIED = "verified"
    ON_WORD = "verified, but for what rests on the publisher's word"
    FAILED = "failed"

    @property
    def exit_code(self) -> int:
        """The exit code of ``shoal verify``."""
        return {VerificationOutcome.VERIFIED: 0, VerificationOutcome.ON_WORD: 4, VerificationOutcome.FAILED: 1}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a verification, with its outcome.

    Parameters
    ----------
    subject, detail
        What it is about, and what was found.
    passed
        Whether nothing contradicts it.
    shown
        Whether the files of the release decide it; else it rests on the publisher's word.
    promise
        Whether a promise of the release depends on it.
    """

    subject: str
    passed: bool
    detail: str
    shown: bool = True
    promise: bool = False

    @property
    def shown_first(self) -> bool:
        """Whether it is told by itself, as promises are: whose signature it is, if somebody asked."""
        return self.subject == "signature" and self.shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All checks of a release, or of a masked file."""

    folder: Path
    checks: tuple[Check, ...]
    #: Whether it is a masked file, which promises nothing.
    masked: bool = False

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed for check in self.checks)

    @property
    def outcome(self) -> VerificationOutcome:
        """What the checks come to."""
        if not self.passed:
            return VerificationOutcome.FAILED
        shown = all(check.shown for check in self.checks if check.promise)
        return VerificationOutcome.VERIFIED if shown else VerificationOutcome.ON_WORD

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the lines that tell all this, failures first, what is fine counted; with a style for each."""
        failed = [check for check in self.checks if not check.passed]
        promises = [check for check in self.checks if check.passed and (check.promise or check.shown_first)]
        unseen = [check for check in self.checks if check.passed and not check.shown and not check.promise]
        fine = len(self.checks) - len(failed) - len(promises) - len(unseen)
        yield ("bold red" if failed else "bold"), self.verdict
        for check in failed:
            yield from _format_check("FAIL", check, "bold red")
        if promises:
            yield "", ""
        for check in promises:
            yield from _format_check("ok  " if check.shown else "word", check, "green" if check.shown else "yellow")
        if fine:
            rest = f"All else that the files show is in order: {counted(fine, 'check')}."
            yield "", ""
            yield "", rest if not failed else f"{counted(fine, 'further check')} found nothing wrong."
        if unseen:
            yield "", ""
            yield "", "Not checked, because no file shows it:"
            for check in unseen:
                yield from _format_check(" ", check, "")

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        if failed := sum(not check.passed for check in self.checks):
            return f"NOT verified: {failed:,} of {counted(len(self.checks), 'check')} failed."
        if self.masked:
            return "The file matches its record. It is masked, not anonymous."
        if self.outcome is VerificationOutcome.ON_WORD:
            return "Verified, but a promise rests on the publisher's word: no data can prove it."
        return "Verified: every promise was decided on the data and holds."

    def __str__(self) -> str:
        return "\n".join(text for _, text in self.lines())


def _format_check(mark: str, check: Check, style: str) -> Iterator[tuple[str, str]]:
    """Yield a check in lines of the screen; the name of a column cannot pass for a further check."""
    told = f"{check.subject}: {check.detail}".replace("\n", "\\n")
    indent = " " * (len(mark) + 1)
    lines = textwrap.wrap(
        told, _WIDTH, initial_indent=f"{mark} ", subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
    yield from ((style, line) for line in lines)
