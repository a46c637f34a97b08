"""Models of other classes than those of the table as a whole: of some quasi-identifiers, or of clusters unseen."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal import models
from shoal.errors import ParameterError, quoted
from shoal.exact import COLUMNS
from shoal.guarantees import CLASSES, Data, Decision, Evidence, Promise, PromiseEntry, Strength, Words
from shoal.methods.classes._promises import ClassPromise, achieved, weakest
from shoal.methods.classes._promises_exchange import (
    DRAWN,
    agreeing_sizes,
    classing_step,
    cluster_words,
)
from shoal.methods.classes._quotas import quota_bounds
from shoal.models import Classes, ClassHistogram, Model


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
    def made(cls, model: Model, classes: Classes, words: Words) -> Promise:
        """Return the promise of a model with the parameters that these classes of the columns of ``words`` have."""
        found = model.achieved(classes)
        promise = cls(columns=words.columns, model=achieved(model, found)).promise(words)
        return promise if words.person is not None else dataclasses.replace(promise, exact=found.plain())

    def parameters(self) -> dict[str, object]:
        """Return the columns, and the name and the parameters of the model."""
        return {"columns": [*self.columns], **_parameters(self.model)}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Make the promise from what :meth:`parameters` gives."""
        return cls(columns=parameters["columns"], model=_model(parameters, "columns"))  # type: ignore[arg-type]

    def statement(self, words: Words = CLASSES) -> str:
        text = self.model.statement(dataclasses.replace(words, columns=self.columns))
        return text if quoted(self.columns) in text else f"Looking at {quoted(self.columns)} alone: {text}"

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says."""
        return (
            f"An intruder knows at most {quoted(self.columns)}: all quasi-identifiers taken together are not covered, "
            "since their groups were clustered apart.",
            *(text for text in self.model.assumptions() if not text.startswith("An intruder knows at most")),
        )

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of the classes of these columns."""
        return evidence.words(evidence.data(entry), self.columns)

    def again(self, entry: PromiseEntry, evidence: Evidence) -> Promise:
        """Return the promise with the figures of the released classes; those of persons nobody can count."""
        words = self.words(entry, evidence)
        if words.person is not None:
            return self.promise(words)
        exact = self.model.achieved(self._classes(evidence, evidence.data(entry))).plain()
        return dataclasses.replace(self.promise(), exact=exact)

    def subject(self, entry: PromiseEntry) -> str:
        del entry
        return f"{self.name} {_named(self.model)}, of = {', '.join(self.columns)}"

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Decide the model on the classes that these quasi-identifiers form."""
        data = evidence.data(entry)
        if not {*self.columns} <= {*data.quasi_identifiers}:
            return False, "it names columns that are not quasi-identifiers of the release"
        classes = self._classes(evidence, data)
        if evidence.steps("counted"):
            least = self.model.capabilities.minimal_class_size
            if not least <= evidence.counting(self.columns).fewest <= int(classes.sizes.min()):
                return False, "the certificate's count of persons contradicts it"
            if not self.model.shown_by_records:
                return True, "it counts persons, who are not in the release: on the publisher's word"
        failing = int(np.count_nonzero(~self.model.keep(classes, np.ones(len(classes), dtype=np.bool_))))
        number = f"{len(classes):,} classes"
        detail = f"{failing:,} of {number} fail" if failing else f"holds for all {number}"
        return not failing, f"{detail} of these columns alone; they have {self.model.achieved(classes)}"

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
    def made(cls, model: Model, ways: Sequence[Classes], words: Words) -> Promise:
        """Return the promise of a model with the parameters that these clusters have in all ways that count."""
        return cls(model=achieved(model, weakest(model, ways))).promise(words)

    def parameters(self) -> dict[str, object]:
        """Return the name and the parameters of the model."""
        return _parameters(self.model)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Make the promise from what :meth:`parameters` gives."""
        return cls(model=_model(parameters))

    def statement(self, words: Words = CLASSES) -> str:
        return self.model.statement(dataclasses.replace(words, group="cluster", alike=False))

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of clusters that nobody sees."""
        return cluster_words(entry, evidence)

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says."""
        return (
            DRAWN,
            "An intruder knows no sensitive values of other people of the cluster.",
            "An intruder does not use that clusters were merged because of their sensitive values.",
        )

    def subject(self, entry: PromiseEntry) -> str:
        del entry
        return f"{self.name} {_named(self.model)}"

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Check that clusters of the sizes that the steps say can keep the model, and that all records in one do.

        Models that clusters keep are kept by their union, so that none is where the whole table fails.
        """
        data = evidence.data(entry)
        if not evidence.steps("permuted"):
            return False, "no step exchanges values"
        step = classing_step(evidence, data)
        passed, detail = agreeing_sizes(step, "classes", data.records, self.model.capabilities.minimal_class_size)
        if not passed:
            return False, detail
        classes = evidence.classes(data, sensitive=self.model.capabilities.sensitive)
        if not self.model.holds(_divided(classes)):
            return False, f"not even all records in one cluster keep `{self.model.name}`"
        for size in {int(str(step[name])) for name in ("smallest", "largest")}:
            if size < data.records and not _reachable(self.model, classes, size):
                return False, f"no cluster of {size:,} of these records can keep `{self.model.name}`"
        return True, f"`{self.model.name}` was decided on clusters that are not published: the data cannot show it"


def _divided(classes: Classes, *parts: Mapping[str, NDArray[np.int64]]) -> Classes:
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
    divided = [_divided(classes, {name: each}) for each in (counts, below)]
    return any(bool(model.keep(each, np.ones(2, dtype=np.bool_))[0]) for each in divided)


def _parameters(model: Model) -> dict[str, object]:
    return {"model": model.name, "parameters": model.parameters()}


def _model(parameters: Mapping[str, object], *others: str) -> Model:
    inner = parameters.get("parameters")
    if {*parameters} != {"model", "parameters", *others} or not isinstance(inner, Mapping):
        raise ParameterError("the promise does not say which model it is about.")
    return models.from_parameters(str(parameters["model"]), inner)


def _named(model: Model) -> str:
    return ", ".join([model.name, *(f"{name} = {value}" for name, value in model.parameters().items())])
