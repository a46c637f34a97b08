"""What a release of classes promises, in the words of its form and with what was achieved.

Every kind of promise of this family is a value of its parameters that says itself, makes its `Promise`, and checks
itself: a checker makes the promise again and compares it with the certificate, part by part.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from shoal.exact import fraction
from shoal.guarantees import (
    CLASSES,
    CRYPTOGRAPHIC,
    Check,
    Decision,
    Evidence,
    Neighbours,
    Promise,
    PromiseEntry,
    PromiseKind,
    Strength,
    Words,
    checked,
    syntactic,
)
from shoal.models import Achieved, Classes, Model

DIGITS = 10_000


def stated(model: Model, ways: Sequence[Classes], words: Words) -> Promise:
    """Return the promise of a model with the parameters achieved in all ways that count, worded for the release."""
    found = weakest(model, ways)
    promise = syntactic(achieved(model, found), words)
    # nobody who has the release can count persons, so the certificate does not state what they achieve
    return promise if words.person is not None else dataclasses.replace(promise, exact=found.plain())


def weakest(model: Model, ways: Sequence[Classes]) -> Achieved:
    """Return the parameters that classes have in all ways in which they are looked at: the least k, the greatest t."""
    found = [model.achieved(classes) for classes in ways]
    return Achieved({name: (max if name == "t" else min)(each[name] for each in found) for name in found[0]})


def achieved(model: Model, found: Achieved) -> Model:
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
            assumptions=(*self.assumptions(), *words.counted),
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

        def decided() -> Decision:
            passed, detail = self.decide(entry, evidence)
            if not passed:
                return False, detail
            promise = self.again(entry, evidence)
            if entry.file is not None:
                promise = _about(promise, entry.file, evidence)
            same, difference = entry.compared(promise, wording=evidence.certificate.same_wording)
            return (True, detail) if same else (False, difference)

        return [checked(self.subject(entry), decided, shown=self.shown)]


def _about(promise: Promise, file: str, evidence: Evidence) -> Promise:
    return of_file(promise, file) if evidence.steps("sliced") else dataclasses.replace(promise, file=file)
