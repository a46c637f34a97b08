"""Promises about other classes than those of the release: of some quasi-identifiers, or of unpublished clusters.

A file shows that the numbers agree and that nothing stayed behind; that values were exchanged inside such clusters, and
at random, no file can show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from shoal import models
from shoal.errors import ParameterError, quoted
from shoal.exact import COLUMNS, WHOLE, one_of
from shoal.guarantees import (
    CLASSES,
    SEED,
    Counted,
    Data,
    Decision,
    Evidence,
    Promise,
    PromiseEntry,
    Strength,
    Words,
)
from shoal.methods.classes._promises import ClassPromise, strengthen, weakest
from shoal.methods.classes._quotas import quota_bounds
from shoal.methods.classes._steps import Classed, Permuted, Ranked, possible_sizes, sizes
from shoal.models import Classes, ClassHistogram, Model, ProbabilisticKAnonymity
from shoal.schema import Role

UNSEEN = "the data cannot show that values were exchanged, and at random"
UNTIED = (
    "Nothing that is known, including the released columns that stay, ties the exchanged values to them: a column "
    "that follows from another one undoes the exchange."
)
DRAWN = "The clusters and the exchange inside them, which the data cannot show, are as the steps say."
ORIGIN = (
    "This limits which record a value came from, not whether it is the person's own: people who exchange equal values "
    "keep theirs."
)
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
    hides_among_k: ClassVar[bool] = True
    name: ClassVar[str] = ProbabilisticKAnonymity.name
    shown: ClassVar[bool] = False

    def statement(self, words: Words = CLASSES) -> str:
        return f"{self._to_records() if words.person is None else self._to_persons()} {ORIGIN}"

    def _to_records(self) -> str:
        if self.intruder == "uninformed":
            return (
                "An intruder who knows the quasi-identifiers of a person finds the record that the person's values of "
                f"{quoted(self.columns)} were moved to with probability at most 1/{self.k}."
            )
        return (
            f"An intruder who knows every column of a person but {self._one} finds the record that the person's value "
            f"of that column was moved to with probability at most 1/{self.k}."
        )

    def _to_persons(self) -> str:
        if self.intruder == "uninformed":
            known, moved = "the quasi-identifiers of all records of a person", f"values of {quoted(self.columns)}"
        else:
            known, moved = f"every column of all records of a person but {self._one}", "value of that column"
        return (
            f"To an intruder who knows {known}, the {moved} that a released record shows came from a record of that "
            f"person with probability at most 1/{self.k}."
        )

    @property
    def _one(self) -> str:
        return quoted(self.columns) if len(self.columns) == 1 else f"one of {quoted(self.columns)}"

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of clusters that nobody sees."""
        return cluster_words(entry, evidence)

    def assumptions(self) -> tuple[str, ...]:
        if self.intruder == "uninformed":
            return (
                "Others know at most the quasi-identifiers of anybody (uninformed intruder). They may know the "
                "clusters and the method, but not the random exchange.",
                DRAWN,
                SHOWN,
                UNTIED,
                "Values are not covered, only records: a value that m of the c records of a cluster share is the "
                "person's with probability m/c, and one that all share is disclosed.",
            )
        return (
            "An intruder does not know anybody else's value of the column in question (informed intruder). The "
            "clusters and the method may be known, but not the random exchange.",
            DRAWN,
            SHOWN,
            "Values are exchanged with near ones: a person's value is learnt with the precision of its cluster. k "
            "should be much larger than for k-anonymity.",
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
        if evidence.steps(Counted) and evidence.counting(data.quasi_identifiers).crowd < self.k:
            return False, "the certificate's count of persons contradicts it"
        return self._together(evidence, data) if self.intruder == "uninformed" else self._apart(evidence, data)

    def _together(self, evidence: Evidence, data: Data) -> Decision:
        others = {column.name for column in data.columns if not column.role.tells_who}
        if {*self.columns} != others:
            return False, "columns that are not quasi-identifiers stay with the person"
        if not any({*step.columns} == others for step in evidence.steps(Permuted)):
            return False, "no step exchanges these columns"
        passed, detail = agreeing_sizes(classing_step(evidence, data), data.records, self.k)
        return passed, f"{detail}; {UNSEEN}" if passed else detail

    def _apart(self, evidence: Evidence, data: Data) -> Decision:
        sensitive = {column.name for column in data.columns if column.role is Role.SENSITIVE}
        steps = {step.column: step for step in evidence.steps(Ranked)}
        if {*self.columns} != sensitive:
            return False, "it is not about every sensitive column"
        if not sensitive <= steps.keys():
            return False, "no step exchanges these columns"
        detail = ""
        for name in self.columns:
            passed, detail = agreeing_sizes(steps[name], data.records, self.k)
            if not passed:
                return False, f"`{name}`: {detail}"
        return True, f"every sensitive column: {detail}; {UNSEEN}"


def cluster_words(entry: PromiseEntry, evidence: Evidence) -> Words:
    """Return how a release speaks of clusters that nobody sees."""
    return dataclasses.replace(evidence.words(evidence.data(entry)), group="cluster", alike=False)


def agreeing_sizes(step: Classed | Ranked, records: int, k: int) -> Decision:
    """Compare the clusters of a step with k and with the number of records."""
    (count, smallest), largest = step.hidden_classes, step.largest
    if k < 1 or smallest < k:
        return False, f"the steps make clusters of {smallest:,}, fewer than k = {k:,}"
    if not possible_sizes(count, smallest, largest, records):
        return False, f"{count:,} clusters of {smallest:,} to {largest:,} are not {records:,} records"
    each = sizes(smallest, largest)
    return True, f"the steps exchange {records:,} records in {count:,} clusters of {each}; k = {k:,}"


def classing_step(evidence: Evidence, data: Data) -> Classed:
    """Return the one step that put the records into classes by all quasi-identifiers."""
    names = {*data.quasi_identifiers}
    (step,) = (step for step in evidence.steps(Classed) if {*step.columns} == names)
    return step


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OfAttributeSet(ClassPromise):
    """A model of the classes that some quasi-identifiers form on their own."""

    #: These quasi-identifiers.
    columns: tuple[str, ...] = field(metadata=COLUMNS)
    #: What their classes keep.
    model: Model
    name: ClassVar[str] = "attribute-set"
    strength: ClassVar[Strength] = Strength.SYNTACTIC

    @classmethod
    def state_for_classes(cls, model: Model, classes: Classes, words: Words) -> Promise:
        """Return the promise of a model with the parameters that these classes of the columns of ``words`` have."""
        achieved = model.find_achieved(classes)
        promise = cls(columns=words.columns, model=strengthen(model, achieved)).promise(words)
        return promise if words.person is not None else dataclasses.replace(promise, exact=achieved.plain())

    def parameters(self) -> dict[str, object]:
        """Return the columns, and the name and the parameters of the model."""
        return {"columns": [*self.columns], **_parameters(self.model)}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        return cls(columns=parameters["columns"], model=_model(parameters, "columns"))  # type: ignore[arg-type]

    def statement(self, words: Words = CLASSES) -> str:
        text = self.model.statement(dataclasses.replace(words, columns=self.columns))
        return text if quoted(self.columns) in text else f"Looking at {quoted(self.columns)} alone: {text}"

    def assumptions(self) -> tuple[str, ...]:
        return (
            f"Others know at most {quoted(self.columns)}: all quasi-identifiers taken together are not covered, "
            "since their groups were clustered separately.",
            *(text for text in self.model.assumptions() if not text.startswith("Others know at most")),
        )

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of the classes of these columns."""
        return evidence.words(evidence.data(entry), self.columns)

    def again(self, entry: PromiseEntry, evidence: Evidence) -> Promise:
        """Return the promise with the figures of the released classes; those of persons nobody can count."""
        words = self.words(entry, evidence)
        if words.person is not None:
            return self.promise(words)
        exact = self.model.find_achieved(self._classes(evidence, evidence.data(entry))).plain()
        return dataclasses.replace(self.promise(), exact=exact)

    def subject(self, entry: PromiseEntry) -> str:
        del entry
        return f"{self.name} {_spell_model(self.model)}, of = {', '.join(self.columns)}"

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Decide the model on the classes that these quasi-identifiers form."""
        data = evidence.data(entry)
        if not {*self.columns} <= {*data.quasi_identifiers}:
            return False, "it names columns that are not quasi-identifiers of the release"
        classes = self._classes(evidence, data)
        if evidence.steps(Counted):
            least = self.model.capabilities.minimal_class_size
            if not least <= evidence.counting(self.columns).fewest <= int(classes.sizes.min()):
                return False, "the certificate's count of persons contradicts it"
            if not self.model.shown_by_records:
                return True, "it counts persons, whom the release does not show"
        failing = int(np.count_nonzero(~self.model.keep(classes, np.ones(len(classes), dtype=np.bool_))))
        number = f"{len(classes):,} classes"
        detail = f"{failing:,} of {number} fail" if failing else f"holds for all {number}"
        return not failing, f"{detail} of these columns alone; they have {self.model.find_achieved(classes)}"

    def _classes(self, evidence: Evidence, data: Data) -> Classes:
        # a quasi-identifier of another set is no part of these classes
        described = data.with_classes_of(self.columns)
        return evidence.classes(data, sensitive=self.model.capabilities.sensitive, columns=described)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OfClusters(ClassPromise):
    """A model of clusters that are not published."""

    model: Model
    name: ClassVar[str] = "clusters"
    shown: ClassVar[bool] = False

    @classmethod
    def state_for_clusters(cls, model: Model, ways: Sequence[Classes], words: Words) -> Promise:
        """Return the promise of a model with the parameters that these clusters have in all ways that count."""
        return cls(model=strengthen(model, weakest(model, ways))).promise(words)

    def parameters(self) -> dict[str, object]:
        """Return the name and the parameters of the model."""
        return _parameters(self.model)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        return cls(model=_model(parameters))

    def statement(self, words: Words = CLASSES) -> str:
        return self.model.statement(dataclasses.replace(words, group="cluster", alike=False))

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of clusters that nobody sees."""
        return cluster_words(entry, evidence)

    def assumptions(self) -> tuple[str, ...]:
        return (
            DRAWN,
            "An intruder knows no sensitive values of other people in the cluster.",
            "An intruder does not use that clusters were merged because of their sensitive values.",
        )

    def subject(self, entry: PromiseEntry) -> str:
        del entry
        return f"{self.name} {_spell_model(self.model)}"

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Check that clusters of the sizes that the steps say can keep the model, and that all records in one do.

        Models that clusters keep are kept by their union, so that none is where the whole table fails.
        """
        data = evidence.data(entry)
        if not evidence.steps(Permuted):
            return False, "no step exchanges values"
        step = classing_step(evidence, data)
        passed, detail = agreeing_sizes(step, data.records, self.model.capabilities.minimal_class_size)
        if not passed:
            return False, detail
        classes = evidence.classes(data, sensitive=self.model.capabilities.sensitive)
        if not self.model.holds(_divide_class(classes)):
            return False, f"even a single cluster of all records does not keep `{self.model.name}`"
        for size in {step.smallest, step.largest}:
            if size < data.records and not _reachable(self.model, classes, size):
                return False, f"no cluster of {size:,} of these records can keep `{self.model.name}`"
        return True, f"`{self.model.name}` was decided on clusters that are not published: the data cannot show it"


def _divide_class(classes: Classes, *parts: Mapping[str, NDArray[np.int64]]) -> Classes:
    """Return the records of all classes as one class, or as some with these counts of values and the rest."""
    totals = {name: histogram.total() for name, histogram in classes.sensitive.items()}
    rows = {
        name: np.stack([*(part[name] for part in parts), total - sum((part[name] for part in parts), start=0 * total)])
        for name, total in totals.items()
    }
    histograms = {}
    for name, counts in rows.items():
        owners, codes = np.nonzero(counts)
        histograms[name] = ClassHistogram(
            attribute=classes.sensitive[name].attribute,
            offsets=np.searchsorted(owners, np.arange(len(counts) + 1)).astype(np.int64),
            codes=codes.astype(np.int32),
            counts=counts[owners, codes],
        )
    sizes = next((counts.sum(axis=1) for counts in rows.values()), np.array([classes.records]))
    return Classes(sizes=sizes, sensitive=histograms)


def _reachable(model: Model, classes: Classes, size: int) -> bool:
    """Say whether a cluster of that size can be close, in whole records; other models are not looked at.

    The counts n of values that are nearest to size * q are the shares rounded by their greatest remainders or, where
    the order counts, their sums from below rounded one by one. Distances in a hierarchy are not looked at.
    """
    limits, records = model.capabilities, classes.records
    if len(classes.sensitive) != 1 or (limits.factor is None and limits.earth_mover is None):
        return True
    ((name, histogram),) = classes.sensitive.items()
    totals = histogram.total()
    if limits.factor is not None:
        return quota_bounds(size, totals[totals > 0], records, limits.factor) is not None
    if histogram.attribute.hierarchy is not None:
        return True
    counts, remainders = np.divmod(size * totals, records)
    counts[np.argsort(-remainders, kind="stable")[: size - int(counts.sum())]] += 1
    below = np.diff((2 * size * np.cumsum(totals) + records) // (2 * records), prepend=0)
    divided = [_divide_class(classes, {name: each}) for each in (counts, below)]
    return any(bool(model.keep(each, np.ones(2, dtype=np.bool_))[0]) for each in divided)


def _parameters(model: Model) -> dict[str, object]:
    return {"model": model.name, "parameters": model.parameters()}


def _model(parameters: Mapping[str, object], *others: str) -> Model:
    inner = parameters.get("parameters")
    if {*parameters} != {"model", "parameters", *others} or not isinstance(inner, Mapping):
        raise ParameterError("the promise does not say which model it is about.")
    return models.from_parameters(str(parameters["model"]), inner)


def _spell_model(model: Model) -> str:
    return ", ".join([model.name, *(f"{name} = {value}" for name, value in model.parameters().items())])
