"""Probabilistic k-anonymity by an exchange of values inside clusters that nobody publishes.

A file shows that the numbers agree and that nothing stayed behind; that the exchange took place, and at random, no file
can show.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from shoal.errors import quoted
from shoal.exact import COLUMNS, WHOLE, one_of
from shoal.guarantees import CLASSES, SEED, Data, Decision, Evidence, Promise, PromiseEntry, Step, Words, texts_of
from shoal.methods.classes._promises import ClassPromise
from shoal.models import ProbabilisticKAnonymity
from shoal.schema import Role

UNSEEN = "that values were exchanged, and at random, the data cannot show"
UNTIED = (
    "Nothing that is known, the released columns that stay included, ties the exchanged values to them: a column that "
    "follows from another undoes the exchange."
)
DRAWN = "The clusters and the exchange inside them, which the data cannot show, are as the steps say."
SHOWN = "Quasi-identifiers are released as they are: the release is not k-anonymous, and who is in it is not hidden."

Intruder = Literal["uninformed", "informed"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Exchanged(ClassPromise):
    """Probabilistic k-anonymity by an exchange of values inside clusters [SC13 Def. 5, section 3.3]."""

    #: The least size of a cluster.
    k: int = field(metadata=WHOLE)
    #: ``"uninformed"``: knows the quasi-identifiers, and all other columns were exchanged together. ``"informed"``:
    #: knows everything but one sensitive column, and each of these was exchanged on its own.
    intruder: Intruder = field(metadata=one_of(*get_args(Intruder)))
    #: The exchanged columns.
    columns: tuple[str, ...] = field(metadata=COLUMNS)
    name: ClassVar[str] = ProbabilisticKAnonymity.name
    shown: ClassVar[bool] = False

    def statement(self, words: Words = CLASSES) -> str:
        if words.person is not None:
            return self._to_persons()
        if self.intruder == "uninformed":
            return (
                "An intruder who knows the quasi-identifiers of a person finds the record that the person's values of "
                f"{quoted(self.columns)} were moved to with probability at most 1/{self.k}."
            )
        one = quoted(self.columns) if len(self.columns) == 1 else f"one of {quoted(self.columns)}"
        return (
            f"An intruder who knows every column of a person but {one} finds the record that the person's value of "
            f"that column was moved to with probability at most 1/{self.k}."
        )

    def _to_persons(self) -> str:
        if self.intruder == "uninformed":
            known, moved = "the quasi-identifiers of all records of a person", f"values of {quoted(self.columns)}"
        else:
            one = quoted(self.columns) if len(self.columns) == 1 else f"one of {quoted(self.columns)}"
            known, moved = f"every column of all records of a person but {one}", "values of that column"
        return (
            f"To an intruder who knows {known}, the {moved} that a released record shows are that person's with "
            f"probability at most 1/{self.k}."
        )

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of clusters that nobody sees."""
        return cluster_words(entry, evidence)

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says."""
        if self.intruder == "uninformed":
            return (
                "An intruder knows at most the columns declared as quasi-identifiers, of anybody (uninformed "
                "intruder). Clusters and method may be known, the random exchange not.",
                DRAWN,
                SHOWN,
                UNTIED,
                "Values are not covered, only records: a value that m of the c records of a cluster share is the "
                "person's with probability m/c, and one that all share is disclosed.",
            )
        return (
            "An intruder knows no value of the column in question of anybody else (informed intruder). Clusters and "
            "method may be known, the random exchange not.",
            DRAWN,
            SHOWN,
            "Values are exchanged with near ones: the value of a person is learnt with the precision of its cluster. k "
            "is to be much larger than for k-anonymity.",
            UNTIED,
        )

    def promise(self, words: Words = CLASSES, *, cryptographic: bool = True) -> Promise:
        """Return the promise; random numbers of a seed are one more assumption."""
        made = ClassPromise.promise(self, words)
        return made if cryptographic else dataclasses.replace(made, assumptions=(*made.assumptions, SEED))

    def subject(self, entry: PromiseEntry) -> str:
        del entry
        return f"{self.name} k = {self.k}, intruder = {self.intruder}, columns = {', '.join(self.columns)}"

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Compare the promise with the steps, the columns and the number of records."""
        data = evidence.data(entry)
        if evidence.steps("counted") and evidence.counting(data.quasi_identifiers).crowd < self.k:
            return False, "the certificate's count of persons contradicts it"
        return self._together(evidence, data) if self.intruder == "uninformed" else self._apart(evidence, data)

    def _together(self, evidence: Evidence, data: Data) -> Decision:
        others = {column.name for column in data.columns if not column.role.tells_who}
        if {*self.columns} != others:
            return False, "columns that are not quasi-identifiers stay with the person"
        if not any({*texts_of(step["columns"])} == others for step in evidence.steps("permuted")):
            return False, "no step exchanges these columns"
        passed, detail = agreeing_sizes(classing_step(evidence, data), "classes", data.records, self.k)
        return passed, f"{detail}; {UNSEEN}" if passed else detail

    def _apart(self, evidence: Evidence, data: Data) -> Decision:
        sensitive = {column.name for column in data.columns if column.role is Role.SENSITIVE}
        steps = {str(step["column"]): step for step in evidence.steps("ranked")}
        if {*self.columns} != sensitive:
            return False, "it is not about every sensitive column"
        if not sensitive <= steps.keys():
            return False, "no step exchanges these columns"
        detail = ""
        for name in self.columns:
            passed, detail = agreeing_sizes(steps[name], "clusters", data.records, self.k)
            if not passed:
                return False, f"`{name}`: {detail}"
        return True, f"every sensitive column: {detail}; {UNSEEN}"


def cluster_words(entry: PromiseEntry, evidence: Evidence) -> Words:
    """Return how a release speaks of clusters that nobody sees."""
    return dataclasses.replace(evidence.words(evidence.data(entry)), group="cluster", alike=False)


def agreeing_sizes(step: Step, name: str, records: int, k: int) -> Decision:
    """Compare the clusters of a step with k and with the number of records."""
    count, smallest, largest = (int(str(step[key])) for key in (name, "smallest", "largest"))
    if k < 1 or smallest < k:
        return False, f"the steps make clusters of {smallest:,}, fewer than k = {k:,}"
    if count < 1 or not count * smallest <= records <= count * largest:
        return False, f"{count:,} clusters of {smallest:,} to {largest:,} are not {records:,} records"
    sizes = f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
    return True, f"the steps exchange {records:,} records in {count:,} clusters of {sizes}; k = {k:,}"


def classing_step(evidence: Evidence, data: Data) -> Step:
    """Return the one step that put the records into classes by all quasi-identifiers."""
    names = {*data.quasi_identifiers}
    (step,) = (step for step in evidence.steps("classed") if {*texts_of(step["columns"])} == names)
    return step
