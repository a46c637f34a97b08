"""Multiplicative closeness: no sensitive value is t times more or less frequent in a class than in the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.exact import Arguments, Number, fraction, plain
from shoal.guarantees import CLASSES, Words
from shoal.kernels.walk import Proportions
from shoal.models._likelihood import distance, within
from shoal.models._model import Achieved, Capabilities, Mask, Scope
from shoal.models._rows import Rows
from shoal.models._sensitive import SensitiveModel
from shoal.tables import SensitiveAttribute

__all__ = ["MultiplicativeCloseness"]


@dataclass(frozen=True, slots=True, repr=False)
class MultiplicativeCloseness(SensitiveModel):
    """t-closeness in the sense of differential privacy: probabilities change by a factor of at most t.

    Cost O(values present).

    Parameters
    ----------
    attribute
        The sensitive attribute. Values that are rarer than the classes cannot be present in all of them: gather values
        into buckets first.
    t
        The greatest factor allowed, a number in [1, inf). A float means the decimal typed.

    Guarantee
    ---------
    Syntactic: ``max_v max(p_v / q_v, q_v / p_v) <= t`` for every equivalence class E of the release, p the distribution
    in E and q the one in the release; infinite if a value of the release is missing in E [DFSC15, Def. 4 and Prop. 2].

    Conditional: with t = exp(epsilon / 2) the intruder's view of a person's value is epsilon-differentially private
    *if* the intruder's prior is the distribution in the release [DFSC15, Prop. 3].

    Assumptions
    -----------
    For the conditional statement, the prior above. Each attribute is protected on its own; who is in the release is not
    hidden.

    Examples
    --------
    >>> MultiplicativeCloseness("diagnosis", 2).statement()[:78]
    'Among records that share their quasi-identifiers, no value of `diagnosis` is m'
    """

    t: Number
    name: ClassVar[str] = "multiplicative-closeness"
    title: ClassVar[str] = "MultiplicativeCloseness"

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        object.__setattr__(self, "attribute", arguments.column("attribute", self.attribute))
        object.__setattr__(self, "t", arguments.rational("t", self.t, "[1, inf)"))
        arguments.finish()

    @property
    def capabilities(self) -> Capabilities:
        """What a search may rely on."""
        return Capabilities(
            monotone_generalization=True,  # a mixture of probabilities stays between q / t and t q
            monotone_suppression=False,
            scope=Scope.REFERENCE,
            sensitive=(self.attribute,),
            factor=fraction(self.t),
        )

    def proportions(self, attribute: SensitiveAttribute) -> Proportions | None:
        """Return what is asked at least of the proportions of the values of ``attribute`` in a class."""
        del attribute
        factor = float(fraction(self.t))
        return Proportions(lower=1 / factor, upper_factor=factor, upper_offset=0.0)

    def satisfied(self, rows: Rows) -> Mask:
        """Return the rows in which every value is present with about its share of the release."""
        return within(rows, fraction(self.t))

    def strongest(self, rows: Rows) -> Achieved:
        """Return the greatest factor; infinite if a row misses a value."""
        return Achieved(t=distance(rows))

    def statement(self, words: Words = CLASSES) -> str:
        """Say what is promised, in one plain sentence."""
        return (
            f"Among records {words.sharing}, no value of `{self.attribute}` is more than "
            f"{plain(self.t)} times as frequent, or as rare, as in the whole release."
        )

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says, and what it does not cover."""
        return (
            "An intruder knows at most the columns declared as quasi-identifiers.",
            f"What an intruder believed before is the distribution of `{self.attribute}` in the whole release.",
        )
