"""What records still show, counted with suppressed cells as wildcards: far less than k-anonymity, and said so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.exact import WHOLE, optional
from shoal.guarantees import (
    CLASSES,
    Counted,
    Data,
    Decision,
    Evidence,
    PromiseEntry,
    Requirement,
    Strength,
    Words,
)
from shoal.hierarchies import TOP
from shoal.kernels import Codes, Counts, Mask
from shoal.methods.classes._promises import ClassPromise
from shoal.methods.classes._shown_cells import agreeing
from shoal.tables import group, tally


@dataclass(frozen=True, slots=True, repr=False)
class KWildcards(ClassPromise, Requirement):
    """What a record still shows is true of at least k records; suppressed cells count as wildcards.

    Offices that suppress cells often count like this. It is much weaker than k-anonymity, in which a suppressed cell
    is a value of its own.

    Parameters
    ----------
    k
        The least number of records that show what a record shows, itself included.
    m
        How many quasi-identifiers an intruder knows at most; None for all.

    Guarantee
    ---------
    Syntactic: for every released record r (and every set of m quasi-identifiers), at least k released records have,
    in all cells that r shows, the same values as r. Every such record is compatible with r in the sense of sdcMicro,
    so its count is at least k as well.

    Assumptions
    -----------
    An intruder knows of a person nothing but values that the person's record still shows. One who knows a suppressed
    value can exclude the records that show another value in that place, and may be left with one.

    Examples
    --------
    >>> print(KWildcards(3).statement())
    What a record still shows is true of at least 3 records, itself included.
    """

    k: int = field(metadata=WHOLE)
    m: int | None = field(default=None, metadata=optional(WHOLE))
    name: ClassVar[str] = "k-wildcards"
    strength: ClassVar[Strength] = Strength.SYNTACTIC

    def statement(self, words: Words = CLASSES) -> str:
        del words
        what = "What a record still shows" if self.m is None else f"What a record still shows in any {self.m} columns"
        return f"{what} is true of at least {self.k} records, itself included."

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says."""
        most = "" if self.m is None else f", and at most {self.m} of them"
        return (
            f"An intruder knows of a person only values that the person's record still shows{most}.",
            "This is not k-anonymity: who knows a value that was suppressed can exclude all records that show another "
            "one there, and may find the person's record alone.",
            "Sensitive values are not covered: all matching records may share one.",
        )

    def subject(self, entry: PromiseEntry) -> str:
        del entry
        return f"{self.name} k = {self.k}" + ("" if self.m is None else f", m = {self.m}")

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Count the records that show what each record shows, and those that look alike."""
        if any(step["persons"] != step["records"] for step in evidence.steps(Counted.name)):
            return False, "it counts records, and some are said to be of the same person"
        codes, hidden, counts = shown_by(evidence, evidence.data(entry))
        few = int(counts[agreeing(codes, hidden, counts, self.m) < self.k].sum())
        records = int(counts.sum())
        if few:
            return False, f"what {few:,} of {records:,} records show is true of fewer than {self.k}"
        fewer = int(counts[alike(codes, hidden, counts) < self.k].sum())
        return True, (
            f"holds for all {records:,} records; with a suppressed cell as a value of its own, {fewer:,} of them look "
            f"like fewer than {self.k - 1} others"
        )


def shown_by(evidence: Evidence, data: Data) -> tuple[Codes, Mask, Counts]:
    """Return the released combinations of quasi-identifiers, which of their cells are suppressed, and the records."""
    names = data.quasi_identifiers
    tallied = evidence.tallied(data, names)
    cells = np.array([list(row) for row in tallied], dtype=object).reshape(len(tallied), len(names))
    codes = np.stack(
        [np.unique([repr(value) for value in column], return_inverse=True)[1] for column in cells.T], axis=1
    )
    return codes.astype(np.int32), np.asarray(cells == TOP), np.array(list(tallied.values()), dtype=np.int64)


def alike(codes: Codes, hidden: Mask, counts: Counts) -> Counts:
    """Return how many records look like each combination, a suppressed cell being a value of its own."""
    labels = group(np.where(hidden, 0, codes + 1).astype(np.int32))[0]
    return np.asarray(tally(labels, counts, len(labels))[labels])
