"""The steps of methods that generalise values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal import tables
from shoal.errors import counted
from shoal.guarantees import COMMON_STEPS, Event, Repeated, columns_in_words
from shoal.methods.recode._aggregate import is_aggregate
from shoal.methods.recode._result import at_or_above
from shoal.series import Continued

if TYPE_CHECKING:
    from shoal.guarantees import Decision, Evidence


class Coarsened(Event):
    """Distinct tuples were counted above the values themselves; ``levels`` are where the search began."""

    name = "coarsened"
    columns: tuple[str, ...]
    levels: tuple[int, ...]

    def describe(self) -> str:
        return (
            f"Looked only at releases{at_or_above(self.columns, self.levels)}: the different combinations of finer "
            "values did not fit in memory."
        )

    def check(self, evidence: Evidence) -> Decision:
        """Look whether no column is released below the level at which the search is said to have begun."""
        released: dict[str, int] = {}
        for step in evidence.steps(Generalized):
            released |= dict(zip(step.columns, step.levels, strict=False))
        fits = all(
            name in evidence.plan.schema.quasi_identifiers and 1 <= floor <= released.get(name, floor)
            for name, floor in zip(self.columns, self.levels, strict=True)
        )
        return fits, "" if fits else "it does not fit the columns and levels of the release"


class Generalized(Event):
    """Quasi-identifiers were generalised; ``levels`` are those of a full-domain recoding, else empty."""

    name = "generalized"
    term = "generalization"
    effect = "generalised"
    kept = "label"
    method: str
    columns: tuple[str, ...]
    levels: tuple[int, ...] = ()
    heights: tuple[int, ...] = ()

    def describe(self) -> str:
        if not self.levels:
            return f"Generalised the {columns_in_words(self.columns)} with method `{self.method}`."
        chosen = ", ".join(
            f"{column} {level}/{height}"
            for column, level, height in zip(self.columns, self.levels, self.heights, strict=True)
        )
        return f"Generalised every value of a column to one level of its hierarchy (level/top): {chosen}."

    def effects(self) -> Iterator[tuple[str, str]]:
        if not self.levels:
            yield from Event.effects(self)
        for name, level, height in zip(self.columns, self.levels, self.heights, strict=False):
            if level:
                yield name, f"generalised to level {level} of {height}"

    def check(self, evidence: Evidence) -> Decision:
        """Look whether levels are levels, and a column at the top of its hierarchy has one value."""
        if not len(self.levels) == len(self.heights) in (0, len(self.columns)):
            return False, "it does not give a level for each column"
        if not all(0 <= level <= height for level, height in zip(self.levels, self.heights, strict=True)):
            return False, "a level lies above the top"
        aggregated = {name for step in evidence.steps(Aggregated) for name in step.columns}
        for name, level, height in zip(self.columns, self.levels, self.heights, strict=False):
            if level == height > 0 and name not in aggregated and len(_released_values(name, evidence)) > 1:
                return False, f"`{name}` has several values"
        return True, ""


class Aggregated(Event):
    """Quasi-identifiers were released as an aggregate of their class."""

    name = "aggregated"
    term = "randomization: microaggregation; of intervals and sets, generalization: local generalization"
    effect = "replaced by an aggregate of the class"
    kept = "aggregate"
    columns: tuple[str, ...]
    functions: tuple[str, ...]

    def describe(self) -> str:
        words = {
            "geometric-mean": "geometric mean",
            "mode": "most frequent value",
            "interval": "interval from the least to the greatest value",
        }
        each = ", ".join(
            f"the {words.get(function, function)} of `{column}`"
            for column, function in zip(self.columns, self.functions, strict=True)
        )
        return f"Replaced the values of each class by an aggregate: {each}. Missing values are ignored."

    def check(self, evidence: Evidence) -> Decision:
        """Compare the values of the columns with what such an aggregate looks like."""
        for name, function in zip(self.columns, self.functions, strict=True):
            labels = [label for (label,) in evidence.tally_labels(evidence.table_with([name]), [name])]
            if not all(is_aggregate(evidence.plan.schema[name], function, label) for label in labels):
                return False, f"`{name}` holds values that are not the {function} of a class"
        return True, f"{counted(len(self.columns), 'column')} with values of the kind that the steps say"


class Suppressed(Event):
    """Records of classes that no promise allows were removed."""

    name = "suppressed"
    term = "record suppression"
    records: int
    of: int
    sentence = "Suppressed {records:,} of {of:,} records."

    @property
    def is_routine(self) -> bool:
        return not self.records

    def check(self, evidence: Evidence) -> Decision:
        """Compare the records that were read, removed and released."""
        before = evidence.all_steps[: [step is self for step in evidence.all_steps].index(True)]
        names = [step.columns for step in before if isinstance(step, Generalized)][-1]
        # rows of people who are no longer in the table may stand again
        leavers = sum(step.leavers for step in evidence.steps(Continued))
        if not self.records >= 0 or self.of - self.records + leavers != evidence.table_with(names).records:
            return False, "the suppressed records do not add up"
        known = all(step.records == self.of for step in evidence.steps(Repeated))
        return known, "" if known else "another step was taken on another number of records"


def _released_values(name: str, evidence: Evidence) -> pa.ChunkedArray:
    """Return the different values of a column, but for the missing one."""
    return tables.distinct_values(evidence.tables[evidence.table_with([name]).file], name).drop_null()


#: the steps of recoding methods
RECODE_STEPS = (*COMMON_STEPS, Coarsened, Generalized, Continued, Aggregated, Suppressed)
