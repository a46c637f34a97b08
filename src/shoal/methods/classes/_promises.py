"""The promises of a release of classes, in the words of its form and with the achieved figures.

Every kind of promise of this family is a value of its parameters that says itself, makes its `Promise`, and checks
itself: a checker makes the promise again and compares it with the certificate, part by part. Those of closeness are
here: as differential privacy of a view, and of classes nobody publishes.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import quoted
from shoal.exact import COLUMNS, WHOLE, Arguments, fraction, plain, within
from shoal.guarantees import (
    CLASSES,
    CRYPTOGRAPHIC,
    Check,
    Counted,
    Decision,
    Evidence,
    Neighbours,
    Promise,
    PromiseEntry,
    PromiseKind,
    Strength,
    Words,
    run_check,
    syntactic,
)
from shoal.methods.classes._closeness import PRIOR, closeness_epsilon
from shoal.methods.classes._steps import Permuted, Sliced
from shoal.models import REPLAY, Achieved, Classes, Model, MultiplicativeCloseness
from shoal.tables import Frequencies, SensitiveAttribute, group

DIGITS = 10_000


def state_promise(model: Model, ways: Sequence[Classes], words: Words) -> Promise:
    """Return the promise of a model with the parameters achieved in all ways that count, worded for the release."""
    achieved = weakest(model, ways)
    promise = syntactic(strengthen(model, achieved), words)
    # nobody who has the release can count persons, so the certificate does not state what they achieve
    return promise if words.person is not None else dataclasses.replace(promise, exact=achieved.plain())


def weakest(model: Model, ways: Sequence[Classes]) -> Achieved:
    """Return the parameters that classes have in all ways in which they are looked at: the least k, the greatest t."""
    achieved = [model.find_achieved(classes) for classes in ways]
    return Achieved({name: (max if name == "t" else min)(each[name] for each in achieved) for name in achieved[0]})


def strengthen(model: Model, found: Achieved) -> Model:
    """Return the model with the k and t that a release has, t rounded up to four digits; never weaker than asked."""
    names = {field.name for field in dataclasses.fields(model)}
    better: dict[str, object] = {}
    if "k" in names and isinstance(found.get("k"), int):
        better["k"] = max(int(found["k"]), model.capabilities.minimal_class_size)
    limit = model.capabilities.factor if model.capabilities.factor is not None else model.capabilities.earth_mover
    if limit is not None and "t" in names and "t" in found and math.isfinite(found["t"]):
        rounded = Fraction(math.ceil(fraction(found["t"]) * DIGITS), DIGITS)
        better["t"] = min(rounded, limit)
    return dataclasses.replace(model, **better) if better else model


def of_file(promise: Promise, file: str) -> Promise:
    """Return a promise that says which table of several it is about."""
    first, rest = promise.statement[:1], promise.statement[1:]
    return dataclasses.replace(promise, file=file, statement=f"In {file}: {first.lower()}{rest}")


def above(value: float) -> str:
    """Write a number with four digits after the point, never below it."""
    return f"{math.ceil(value * DIGITS + 1e-6) / DIGITS:,.4f}".rstrip("0").rstrip(".")


class ClassPromise(PromiseKind):
    """A promise that is made again, whole, when it is checked."""

    __slots__ = ()
    strength: ClassVar[Strength] = Strength.CONDITIONAL
    neighbours: ClassVar[Neighbours | None] = None
    #: whether the files of a release can show all that it says
    shown: ClassVar[bool] = True

    def promise(self, words: Words = CLASSES, *, cryptographic: bool = True) -> Promise:
        """Return the promise as a release makes it whose random numbers came from the operating system, or not."""
        del cryptographic
        return Promise(
            model=self.name,
            parameters=self.parameters(),
            strength=self.strength,
            statement=self.statement(words),
            assumptions=(*self.assumptions(), *words.person_assumptions),
            neighbours=self.neighbours,
            unit=words.unit,
        )

    def again(self, entry: PromiseEntry, evidence: Evidence) -> Promise:
        """Return the promise as the certificate of a release must have it."""
        return self.promise(self.words(entry, evidence), cryptographic=evidence.certificate.randomness == CRYPTOGRAPHIC)

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of the groups of records that the promise is about."""
        return evidence.words(evidence.data(entry))

    @abstractmethod
    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Decide what the promise says on the files of a release."""

    def subject(self, entry: PromiseEntry) -> str:
        """Name the promise, for people."""
        return f"{self.name} ({entry.strength})"

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Decide what the promise says, make it again, and compare. Whatever is missing makes it fail."""

        def decide() -> Decision:
            passed, detail = self.decide(entry, evidence)
            if not passed:
                return False, detail
            promise = self.again(entry, evidence)
            if entry.file is not None:
                promise = _about(promise, entry.file, evidence)
            same, difference = entry.compare(promise)
            return (True, detail) if same else (False, difference)

        return [run_check(self.subject(entry), decide, shown=self.shown)]


def _about(promise: Promise, file: str, evidence: Evidence) -> Promise:
    return of_file(promise, file) if evidence.steps(Sliced) else dataclasses.replace(promise, file=file)


UNSEEN = Words(alike=False)


SEVERAL = "It counts once for every record: for a person with r records, epsilon is multiplied by r."


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ViewPrivacy(ClassPromise):
    """Multiplicative closeness as differential privacy of what an intruder sees [DFSC15 Prop. 3]."""

    #: The confidential columns whose joint distribution is close.
    columns: tuple[str, ...] = field(metadata=COLUMNS)
    #: The greatest factor, in [1, inf).
    t: Fraction = field(metadata=within("[1, inf)"))
    #: The one with t = exp(epsilon / 2), rounded up; computed where not given, and refused where it is another.
    epsilon: float = math.nan
    name: ClassVar[str] = "view-differential-privacy"
    neighbours: ClassVar[Neighbours | None] = Neighbours.REPLACE

    def fit(self, arguments: Arguments) -> None:
        """Compute epsilon, and report another one."""
        epsilon = closeness_epsilon(self.t)
        if self.epsilon == self.epsilon and self.epsilon != epsilon:
            arguments.problems.add(f"`epsilon` of `{self.title}` must be the one that t gives, {epsilon}.")
        object.__setattr__(self, "epsilon", epsilon)

    def statement(self, words: Words = CLASSES) -> str:
        whose = "a person" if words.person is None else "one record of a person"
        return (
            f"What an intruder sees of {quoted(self.columns)} of {whose} is {above(self.epsilon)}-differentially "
            "private, if the assumptions hold."
        )

    def assumptions(self) -> tuple[str, ...]:
        return PRIOR

    def promise(self, words: Words = CLASSES, *, cryptographic: bool = True) -> Promise:
        """Return the promise as a release makes it; it is about one record, also where a person has several."""
        del cryptographic
        several = () if words.person is None else (SEVERAL,)
        return dataclasses.replace(
            ClassPromise.promise(self),
            statement=self.statement(words),
            assumptions=(*self.assumptions(), *several),
            exact={"t": plain(self.t)},
        )

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Compute the closeness of the joint distribution of the columns."""
        factor = _joint_factor(entry, evidence, self.columns)
        named = " and ".join(f"`{name}`" for name in self.columns)
        joint = "joint " * (len(self.columns) > 1)
        detail = f"the {joint}distribution of {named} differs by a factor of at most {float(factor):.6g}"
        return (True, detail) if factor <= self.t else (False, f"{detail}, which is not what it says")


def _joint_factor(entry: PromiseEntry, evidence: Evidence, columns: Sequence[str]) -> Fraction | float:
    """Return the closeness of the combinations of columns, on the classes of the file or on those that are listed."""
    hidden = [
        HiddenClasses.from_parameters(other.parameters).t
        for other in evidence.certificate.promises
        if other.model == HiddenClasses.name
        and other.file == entry.file
        and other.parameters.get("columns") == list(columns)
    ]
    if hidden:
        return min(hidden)
    data = evidence.data(entry)
    linked = [column.name for column in data.columns if column.role.known_elsewhere]
    frequencies = evidence.count_tuples(data, [*linked, *columns])
    classes, _ = group(frequencies.codes[:, [frequencies.attributes.index(name) for name in linked]])
    values, firsts = group(frequencies.codes[:, [frequencies.attributes.index(name) for name in columns]])
    joint = Frequencies(
        hierarchies=(),
        codes=np.empty((len(values), 0), dtype=np.int32),
        counts=frequencies.counts,
        sensitive=(SensitiveAttribute(name="joint", size=len(firsts), ordered=False),),
        sensitive_codes=values[:, None].astype(np.int32),
    )
    factor = MultiplicativeCloseness("joint", 1).find_achieved(Classes.of(joint, classes))["t"]
    return factor if isinstance(factor, float) else Fraction(factor)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HiddenClasses(ClassPromise):
    """Values were exchanged inside classes that are close and that nobody publishes."""

    #: The confidential columns whose joint distribution is close.
    columns: tuple[str, ...] = field(metadata=COLUMNS)
    #: The size of the smallest class.
    k: int = field(metadata=WHOLE)
    #: The greatest factor, in [1, inf).
    t: Fraction = field(metadata=within("[1, inf)"))
    hides_among_k: ClassVar[bool] = True
    name: ClassVar[str] = "hidden-classes"

    def statement(self, words: Words = CLASSES) -> str:
        share = "" if words.person is None else f", of whom nobody has more than 1/{self.k:,} of the records, and"
        return (
            f"The values of {quoted(self.columns)} of every person were exchanged at random with those of at least "
            f"{self.k - 1:,} others{share or ','} among whom no value is more than {plain(self.t)} times as frequent, "
            "or as rare, as in the release."
        )

    def assumptions(self) -> tuple[str, ...]:
        return (
            "The classes, which are not published, and the exchange inside them are as the steps say.",
            "Others know at most the quasi-identifiers of a person, and not the classes.",
            "Quasi-identifiers are released as they are: who is in the release is not hidden.",
            REPLAY,
        )

    def with_classes(
        self, labels: Sequence[Sequence[str]], histograms: Sequence[Sequence[int]], words: Words = UNSEEN
    ) -> Promise:
        """Return the promise with the different histograms of its classes.

        ``labels`` are the released combinations of the columns. Every entry of ``histograms`` is a number of classes,
        then the records of each combination in such a class.
        """
        exact = {"labels": [list(row) for row in labels], "histograms": [list(row) for row in histograms]}
        return dataclasses.replace(self.promise(words), exact=exact)

    def words(self, entry: PromiseEntry, evidence: Evidence) -> Words:
        """Return how the release speaks of classes that nobody sees."""
        return dataclasses.replace(evidence.words(evidence.data(entry)), alike=False)

    def again(self, entry: PromiseEntry, evidence: Evidence) -> Promise:
        """Return the promise with the histograms that the certificate lists, which `decide` looks at."""
        return self.with_classes(*_histograms(entry), self.words(entry, evidence))

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Decide the promise on the listed histograms, and compare their sum with the data file."""
        labels, rows = _histograms(entry)
        totals = [sum(row[0] * row[1 + position] for row in rows) for position in range(len(labels))]
        if dict(zip(labels, totals, strict=True)) != evidence.tally_labels(evidence.data(entry), self.columns):
            return False, "the listed classes do not add up to the released values"
        if not any({*self.columns} <= {*step.columns} for step in evidence.steps(Permuted)):
            return False, "no step exchanges values"
        if any(number < 1 or not self._fits(counts, totals) for number, *counts in rows):
            return False, "a listed class breaks it"
        if evidence.steps(Counted) and evidence.counting(evidence.data(entry).quasi_identifiers).crowd < self.k:
            return False, "the certificate's count of persons contradicts it"
        classes = sum(row[0] for row in rows)
        return True, f"holds for the {classes:,} classes that the certificate lists; it does not show who is in which"

    def _fits(self, counts: Sequence[int], totals: Sequence[int]) -> bool:
        size, records = sum(counts), sum(totals)
        ratios = [Fraction(count * records, size * total) for count, total in zip(counts, totals, strict=True)]
        return size >= self.k and all(1 / self.t <= ratio <= self.t for ratio in ratios)


def _histograms(entry: PromiseEntry) -> tuple[list[tuple[str, ...]], list[list[int]]]:
    labels, rows = entry.exact["labels"], entry.exact["histograms"]
    if not isinstance(labels, list) or not isinstance(rows, list):
        raise TypeError("not lists")
    counts = [[*row] for row in rows]
    if any(type(number) is not int or number < 0 for row in counts for number in row):
        raise TypeError("not numbers of records")
    return [tuple(row) for row in labels], counts
