"""What several tables of different columns promise together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from shoal.exact import WHOLE, Arguments, fraction, optional, plain, within
from shoal.guarantees import CLASSES, Column, Decision, Evidence, Promise, PromiseEntry, Words
from shoal.methods.classes._factors import PRIOR, closeness_epsilon
from shoal.methods.classes._promises import ClassPromise
from shoal.methods.classes._promises_closeness import HiddenClasses, ViewPrivacy
from shoal.methods.classes._promises_randomized import LocalPrivacy
from shoal.models import KAnonymity, MultiplicativeCloseness, ProbabilisticKAnonymity, PSensitive
from shoal.schema import Role

#: promises whose ``k`` is the least number of people among whom a person's record hides
_CROWDS = (KAnonymity.name, PSensitive.name, ProbabilisticKAnonymity.name, HiddenClasses.name)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Composition(ClassPromise):
    """What an intruder gets who uses all tables of a release."""

    #: How many there are, at least 2.
    tables: int = field(metadata=WHOLE)
    #: Every table hides a person among so many of its own records, so a record of any of them is found with probability
    #: at most 1/k; None where one of them says nothing about that.
    k: int | None = field(default=None, metadata=optional(WHOLE))
    #: The factor by which beliefs about all confidential values together change, where the distribution of all
    #: confidential columns of every table *together* is close (that of each alone says nothing of how they go together
    #: in a class): an intruder who takes the groups as independent, as nothing released says otherwise, believes the
    #: product of the class distributions where the product of the distributions in the tables was believed before. The
    #: factors multiply, and the epsilons of `ViewPrivacy` add.
    t: Fraction | None = field(default=None, metadata=optional(within("[1, inf)")))
    #: Values that were randomised in different tables belong to the same people, so the epsilons of `LocalPrivacy` add
    #: (sequential composition).
    local_epsilon: Fraction | None = field(default=None, metadata=optional(within("(0, inf)")))
    name: ClassVar[str] = "composition"

    def fit(self, arguments: Arguments) -> None:
        """Report a single table."""
        arguments.whole("tables", self.tables, minimum=2)

    @classmethod
    def of(cls, parts: Sequence[Sequence[Promise]], confidential: Sequence[Sequence[str]]) -> Self:
        """Return what follows from the promises of each table and from its exposed columns (see `exposed`)."""
        sizes = [
            max(mine)
            for part in parts
            if (mine := [int(str(each.parameters["k"])) for each in part if each.model in _CROWDS])
        ]
        factors = [_joint(part, columns) for part, columns in zip(parts, confidential, strict=True) if columns]
        losses = [
            fraction(each.parameters["epsilon"])  # type: ignore[arg-type]
            for part in parts
            for each in part
            if each.model == LocalPrivacy.name
        ]
        known = [factor for factor in factors if factor is not None]
        # what several records of a person tell together is not known
        several = any(each.unit == "person" for part in parts for each in part)
        # a table without promises tells who nobody is
        everywhere = len(sizes) == sum(bool(part) for part in parts)
        return cls(
            tables=len(parts),
            k=min(sizes) if sizes and everywhere else None,
            t=math.prod(known, start=Fraction(1)) if known and len(known) == len(factors) and not several else None,
            local_epsilon=sum(losses, Fraction(0)) if losses else None,
        )

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name; t also as the epsilon of a view, see `ViewPrivacy`."""
        found: dict[str, object] = {"tables": self.tables}
        if self.k is not None:
            found["k"] = self.k
        if self.t is not None:
            found |= {"t": plain(self.t), "epsilon": closeness_epsilon(self.t)}
        if self.local_epsilon is not None:
            found["local epsilon"] = plain(self.local_epsilon)
        return found

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Make the promise from what :meth:`parameters` gives."""
        given = {name.replace(" ", "_"): value for name, value in parameters.items() if name != "epsilon"}
        return super(Composition, cls).from_parameters(given)

    def statement(self, words: Words = CLASSES) -> str:
        said = []
        if self.k is not None:
            one = "the record" if words.person is None else "a record"
            said.append(f"{one} of a person is found in any of them with probability at most 1/{self.k}")
        if self.t is not None:
            said.append(f"beliefs about all confidential values together change by a factor of at most {plain(self.t)}")
        if self.local_epsilon is not None:
            said.append(f"all randomised values together are {plain(self.local_epsilon)}-differentially private")
        return f"For an intruder who uses all {self.tables} tables: {'; '.join(said) or 'each keeps its promises'}."

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says."""
        return (
            "The tables share no column, and nothing tells which records of them belong together.",
            "The intruder does not know how columns of different tables go together.",
            *(PRIOR[:1] if self.t is not None else ()),
        )

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Compose the promises of the tables again."""
        del entry
        certificate = evidence.certificate
        parts = [
            [other.promise() for other in certificate.promises if other.file == data.file]
            for data in certificate.tables
        ]
        if self != Composition.of(parts, [exposed(data.columns) for data in certificate.tables]):
            return False, "does not follow from those of the tables"
        return True, "follows from the promises of the tables"


def exposed(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the confidential columns of a table about which its quasi-identifiers could tell something."""
    known = any(column.role.known_elsewhere for column in columns)
    return tuple(column.name for column in columns if known and column.role is Role.SENSITIVE)


def _joint(part: Sequence[Promise], columns: Sequence[str]) -> Fraction | None:
    """Return how close the distribution of all columns together is, or None where nothing says so."""
    found = [
        fraction(promise.parameters["t"])  # type: ignore[arg-type]
        for promise in part
        if (promise.model == MultiplicativeCloseness.name and [promise.parameters["attribute"]] == list(columns))
        or (promise.model in (ViewPrivacy.name, HiddenClasses.name) and promise.parameters["columns"] == list(columns))
    ]
    return min(found, default=None)
