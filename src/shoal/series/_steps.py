"""The step that a release of a series takes: who was shown before, who is new, and whose rows stand again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import counted
from shoal.guarantees import Event

if TYPE_CHECKING:
    from shoal.guarantees import Decision, Evidence


class Continued(Event):
    """Records were placed among those who shared all earlier releases of the series."""

    name = "continued"
    #: The number of this release in its series, and the SHA-256 of the certificate before it; empty for the first.
    release: int
    after: str
    #: Released rows of people whom an earlier release showed, and of those whom none did.
    continued: int
    newcomers: int
    #: Rows that stand as in the release before, and how many of them are of people who are no longer in the table.
    frozen: int
    leavers: int

    def __post_init__(self) -> None:
        numbers = (self.release, self.continued, self.newcomers, self.frozen, self.leavers)
        if not all(type(number) is int and number >= 0 for number in numbers) or not self.release:
            raise ValueError("numbers of rows are whole and not negative, and releases are counted from 1")

    def describe(self) -> str:
        if self.release == 1:
            return f"Began a series of releases with {counted(self.newcomers, 'record')}."
        stale = self.frozen - self.leavers
        frozen = (
            f"; {self.frozen:,} rows stand as in the release before, {stale:,} of them of people still in the table"
        )
        return (
            f"Continued a series with its release {self.release}: {self.continued:,} rows of people shown before, who "
            f"stay with those who shared all earlier releases, and {self.newcomers:,} of newcomers, who form classes "
            f"of their own{frozen if self.frozen else ''}."
        )

    def check(self, evidence: Evidence) -> Decision:
        """Compare the numbers of rows with the release, and with each other."""
        total = self.continued + self.newcomers + self.frozen
        if total != evidence.certificate.data.records:
            return False, "the numbers of rows are not those of the release"
        if self.leavers > self.frozen or (self.release == 1) != (not self.after):
            return False, "the numbers contradict each other"
        if self.release == 1 and (self.continued or self.frozen):
            return False, "the first release of a series has nobody who was shown before"
        return True, "the numbers of rows add up; who is whom, on the publisher's word"
