"""The promise of a release of a series: crowds that hold for all its releases together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from shoal.exact import FLAG, WHOLE, Arguments, one_of, optional
from shoal.guarantees import CLASSES, Check, Promise, Requirement, Strength, Words, run_check
from shoal.series._crowds import Leavers
from shoal.series._shown import CROWD_LIST, CROWDS
from shoal.series._steps import Continued

if TYPE_CHECKING:
    from shoal.guarantees import Decision, Evidence, PromiseEntry


#: what verification says where nobody gave it the other releases
UNCHECKED = "the series was not checked, only this release of it; what holds for all rests on the publisher's word"


@dataclass(frozen=True, slots=True, repr=False)
class SeriesKAnonymity(Requirement):
    """All releases of a series together leave everybody among at least k people.

    Parameters
    ----------
    k
        The least number of people in a joint crowd, an integer in [2, inf).
    leavers
        What becomes of the rows of people who left the table. ``frozen``: they stand again as they were, with those of
        enough others; ``suppressed``: they go, with those of enough others.
    class_size
        How many people a new class has at least; k where not given. Larger classes make this release coarser and later
        ones less stale, where people leave.
    show_crowds
        Whether the release shows the joint crowd of every row, so that ``shoal verify --after`` can check the series.
        It tells no more than the statement assumes: that rows are linked. Only for those who have all its releases.

    Guarantee
    ---------
    g(p) is the sequence of states of a person p in releases 1 to m: the class that shows p, *frozen* (the row of the
    release before stands again, unchanged) or *absent*. ``|{p' : g(p') = g(p)}| >= k`` for everybody whom any of the
    releases shows. Exchanging two people with the same sequence changes nothing that can be seen. What else the release
    promises about sensitive values holds in each of these crowds, for each release, and for the values that a person's
    linked rows show in any of them.

    Assumptions
    -----------
    See :meth:`assumptions`.

    Examples
    --------
    >>> print(SeriesKAnonymity(5).statement())
    Whoever links all releases of this series, row by row, still has at least 5 people for every sequence of rows.
    """

    k: int = field(metadata=WHOLE)
    leavers: str = field(default=Leavers.FROZEN.value, metadata=one_of(*(treatment.value for treatment in Leavers)))
    class_size: int | None = field(default=None, metadata=optional(WHOLE))
    show_crowds: bool = field(default=False, metadata=FLAG)
    name: ClassVar[str] = "series-k-anonymity"
    advice: ClassVar[str] = (
        "For tables that are released again and again: everybody hides among k people whatever releases an outsider "
        "puts together. It needs a series folder."
    )

    def fit(self, arguments: Arguments) -> None:
        arguments.whole("k", self.k, minimum=2)
        if self.class_size is not None:
            arguments.whole("class_size", self.class_size, minimum=self.k)

    @property
    def least(self) -> int:
        """The least number of people in a new class."""
        return self.k if self.class_size is None else self.class_size

    def statement(self, words: Words = CLASSES) -> str:
        del words
        return (
            f"Whoever links all releases of this series, row by row, still has at least {self.k} people for every "
            "sequence of rows."
        )

    def assumptions(self) -> tuple[str, ...]:
        return (
            "Everything that is released about these people is a release of this series; differentially private "
            "releases may be made beside it, paid from an account of their own.",
            "The key column names the same person in every version of the table; nobody has two keys or shares one.",
            "No column that a release shows as it is gives away, under whatever name, a quasi-identifier of another.",
            "An intruder may know the quasi-identifiers of everybody in every version and who was in which, and may "
            "have all releases of the series; not the sensitive values of others.",
            "Which people form a class depends on sensitive values only where a promise about them would break: their "
            "crowd is then taken as a whole. Who knows how releases are made may learn something from that.",
        )

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the release has beside its data."""
        return (CROWDS, CROWD_LIST) if self.show_crowds else ()

    def promise(self) -> Promise:
        """Return what a certificate says of it."""
        return Promise(
            model=self.name,
            parameters=self.parameters(),
            strength=Strength.CONDITIONAL,
            statement=self.statement(),
            assumptions=self.assumptions(),
        )

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        outcome = run_check(f"{self.name} k = {self.k}", lambda: self._decide(entry, evidence))
        return [replace(outcome, detail=UNCHECKED, shown=False) if outcome.passed else outcome]

    def _decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Decide what one release shows: classes of k, and parts of crowds that are empty or large enough."""
        same, detail = entry.compare(self.promise())
        if not same:
            return same, detail
        step = evidence.step(Continued)
        sizes = evidence.classes(evidence.data(entry)).sizes
        if len(sizes) and int(sizes.min()) < self.k:
            return False, f"a class has fewer than {self.k} records"
        if any(0 < part < self.k for part in (step.frozen, step.newcomers)):
            return False, f"fewer than {self.k} frozen rows, or newcomers, are no crowd"
        if (self.leavers == Leavers.SUPPRESSED and step.frozen) or step.leavers > step.frozen:
            return False, "the numbers of frozen rows contradict what becomes of leavers"
        return True, ""
