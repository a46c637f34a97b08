"""delta-presence: whether a person of the population is in the release stays uncertain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.exact import Arguments, Number, fraction, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.models._model import KNOWN, Achieved, Capabilities, Mask, Model, population, select_occupied
from shoal.models._ratios import Ratios
from shoal.tables import Classes


@dataclass(frozen=True, slots=True, repr=False)
class DeltaPresence(Model):
    """The share of the population that is in the release lies between two bounds in every class.

    Cost O(classes).

    Parameters
    ----------
    minimum, maximum
        The bounds, numbers in [0, 1] with ``minimum <= maximum``. A float means the decimal typed.

    Guarantee
    ---------
    Syntactic, given the population table: ``minimum <= |E| / |P(E)| <= maximum`` for every equivalence class E of the
    release, P(E) the records of the population that generalise to the quasi-identifiers of E (Nergiz, Atzori and
    Clifton 2007; [Bild24, 2.1.4]). For a person who fits a class of the release, the probability of being in it lies
    between the bounds.

    A departure: the definition asks for the bounds for everybody in the population. Whoever fits no class of the
    release is not in it, so a minimum above 0 would rule suppression out altogether; here it covers those who fit a
    class.

    Assumptions
    -----------
    The population table holds every record of the release and everybody the intruder may consider. Without other
    knowledge all people of a class are equally likely to be in the release. Sensitive values are not protected.

    Examples
    --------
    >>> import numpy as np
    >>> classes = Classes(sizes=np.array([1, 4]), population=np.array([9, 4]))
    >>> DeltaPresence(0, 0.5).keep(classes, np.array([True, True])).tolist()
    [True, False]
    """

    minimum: Number = field(metadata=within("[0, 1]"))
    maximum: Number = field(metadata=within("[0, 1]"))
    name: ClassVar[str] = "delta-presence"
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "The population table contains every person in the release and everybody else whom others may consider.",
        "Whoever matches no released record is known not to be in the release.",
    )

    def fit(self, arguments: Arguments) -> None:
        if fraction(self.minimum) > fraction(self.maximum):
            arguments.problems.add(
                f"`minimum` of `{self.title}` must not exceed `maximum`; got {plain(self.minimum)} and "
                f"{plain(self.maximum)}."
            )

    @property
    def capabilities(self) -> Capabilities:
        # The share of a merged class lies between those of its parts.
        return Capabilities(monotone_generalization=True, population=True, population_share=True)

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        result = select_occupied(classes, kept)
        shares = Ratios(classes.crowds[result], population(classes, self.title)[result])
        result[result] = shares.at_least(fraction(self.minimum)) & shares.at_most(fraction(self.maximum))
        return result

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        """Return the least and the greatest share; above 1 if the population table does not hold the release."""
        shares = Ratios(classes.crowds[released], population(classes, self.title)[released])
        return Achieved(minimum=shares.smallest(), maximum=shares.largest())

    def statement(self, words: Words = CLASSES) -> str:
        bounds = f"of at most {plain(self.maximum)}"
        if fraction(self.minimum) > 0:
            bounds = f"between {plain(self.minimum)} and {plain(self.maximum)}"
        return f"A person in the population who matches released records is among them with a probability {bounds}."
