"""The steps of methods that put records into classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal.errors import counted, quoted
from shoal.guarantees import COMMON_STEPS, Event, Kept
from shoal.methods.classes._run import Form

if TYPE_CHECKING:
    from shoal.guarantees import Decision, Evidence


def sizes(smallest: int, largest: int) -> str:
    """Return the sizes of classes in words.

    >>> sizes(5, 5), sizes(5, 1200)
    ('5', '5 to 1,200')
    """
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


class Compared(Event):
    """Records were compared; ``scaled`` are numbers, days and ranks, ``concepts`` are categories."""

    name = "measured"
    scaled: tuple[str, ...]
    concepts: tuple[str, ...]
    distance: str
    weighted: bool

    def __post_init__(self) -> None:
        if self.distance not in ("semantic", "points"):
            raise ValueError("distances are semantic, or those of points")

    def describe(self) -> str:
        how = []
        if self.scaled:
            how.append(f"{quoted(self.scaled)} in standard deviations (z-scores)")
        if self.concepts:
            exact = "" if self.distance == "semantic" else ", approximated by points"
            how.append(f"{quoted(self.concepts)} by semantic distance{exact}")
        return f"Compared records by {' and '.join(how)}{', times their weights' if self.weighted else ''}."

    def check(self, evidence: Evidence) -> Decision:
        """Look whether there is anything that a semantic distance could be of."""
        del evidence
        passed = bool(self.concepts) or self.distance == "points"
        return passed, "" if passed else "there are no categories to compare"


class Blocked(Event):
    """Records were divided into blocks, each clustered on its own."""

    name = "blocked"
    hides_classes = True
    blocks: int
    largest: int
    repaired: bool

    def describe(self) -> str:
        after = ", then exchanged records between near clusters where that loses less" if self.repaired else ""
        return f"Divided the records into {self.blocks:,} blocks of at most {self.largest:,} before clustering{after}."

    def check(self, evidence: Evidence) -> Decision:
        """Look whether so many blocks hold the records."""
        records = evidence.certificate.data.records
        possible = self.blocks >= 1 and 1 <= self.largest <= records <= self.blocks * self.largest
        return possible, "" if possible else "so many blocks of that size do not hold the records"


class Classed(Event):
    """Records were put into classes."""

    name = "classed"
    method: str
    form: Form
    columns: tuple[str, ...]
    classes: int
    smallest: int
    largest: int

    def describe(self) -> str:
        done = {
            "microaggregated": f"and replaced their {quoted(self.columns)} by a typical value of the class",
            "generalized": f"and generalised their {quoted(self.columns)} to what the class has in common",
            "permuted": f"and left their {quoted(self.columns)} as they are",
            "anatomy": f"and left their {quoted(self.columns)} as they are",
        }[self.form]
        return (
            f"Grouped the records into {self.classes:,} classes of {sizes(self.smallest, self.largest)} with method "
            f"`{self.method}`, {done}."
        )

    def kept_of(self, column: str) -> Kept | None:
        """Return what the form of the release makes of the columns."""
        forms: dict[str, Kept] = {"microaggregated": "typical", "generalized": "label"}
        return forms.get(self.form) if column in self.columns else None

    @property
    def technique(self) -> str | None:
        terms = {
            "microaggregated": "randomization: microaggregation",
            "generalized": "generalization: local generalization",
        }
        return terms.get(self.form)

    @property
    def hidden_classes(self) -> tuple[int, int]:
        return self.classes, self.smallest

    def effects(self) -> Iterator[tuple[str, str]]:
        done = {
            "microaggregated": "replaced by a typical value of the class",
            "generalized": "generalised class by class",
        }
        if self.form in done:
            yield from ((name, done[self.form]) for name in self.columns)

    def check(self, evidence: Evidence) -> Decision:
        """Compare the classes with those that the release shows, or lists; else look whether there can be such."""
        data = evidence.table_with(self.columns)
        if not possible_sizes(self.classes, self.smallest, self.largest, data.records):
            return False, "there are no such classes of so many records"
        stated, wrong = (self.classes, self.smallest, self.largest), "these are not the classes of the release"
        if data.class_column is not None:
            counts = evidence.count_tuples(data, [data.class_column]).counts
            same = stated == (len(counts), counts.min(), counts.max())
            return same, "" if same else wrong
        if self.form in ("microaggregated", "generalized"):
            counts = evidence.count_tuples(data, self.columns).counts
            same = stated == (len(counts), counts.min(), counts.max())
            # classes of different blocks that look alike are seen as one
            if evidence.steps(Blocked):
                same = self.classes >= len(counts) and self.smallest <= counts.min() and self.largest <= counts.max()
            return bool(same), "" if same else wrong
        listed = [
            promise.exact["histograms"] for promise in evidence.certificate.promises if "histograms" in promise.exact
        ]
        of_promise = {sum(row[1:]) for rows in listed for row in rows}  # type: ignore[attr-defined]
        same = not of_promise or (self.smallest, self.largest) == (min(of_promise), max(of_promise))
        return same, "" if same else "these are not the classes that a promise lists"


class Averaged(Event):
    """The typical value of every column of a class was computed."""

    name = "averaged"
    term = "randomization: microaggregation"
    means: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    medians: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    decimals: int | None = None

    def describe(self) -> str:
        rounded = "not rounded" if self.decimals is None else f"rounded to {counted(self.decimals, 'decimal')}"
        kinds = (
            (self.means, f"the mean, {rounded}"),
            (self.days, "the mean, rounded to a day"),
            (self.medians, "the median"),
            (self.concepts, "the concept with the least sum of distances"),
        )
        said = "; ".join(f"of {quoted(names)} {what}" for names, what in kinds if names)
        numeric = self.means or self.days or self.medians
        missing = " Members without a value are left out of means and medians." if numeric else ""
        return f"Typical values of a class are: {said}.{missing}"


class Permuted(Event):
    """The values of some columns changed places inside their classes, at random; the classes are not published."""

    name = "permuted"
    draws = True
    hides_classes = True
    term = "randomization: permutation"
    effect = "exchanged inside hidden classes"
    columns: tuple[str, ...]
    sentence = "Exchanged the values of {columns!q} between the records of each class, at random."


class Ranked(Event):
    """Records were ranked by one column, whose values changed places at random inside clusters of near ranks."""

    name = "ranked"
    draws = True
    hides_classes = True
    term = "randomization: permutation"
    effect = "exchanged between records of near ranks"
    column: str
    clusters: int
    smallest: int
    largest: int

    def describe(self) -> str:
        return (
            f"Ranked the records by `{self.column}` and exchanged its values, at random, inside {self.clusters:,} "
            f"clusters of {sizes(self.smallest, self.largest)} neighbours."
        )

    @property
    def hidden_classes(self) -> tuple[int, int]:
        return self.clusters, self.smallest

    def check(self, evidence: Evidence) -> Decision:
        """Look whether there can be such clusters of so many records."""
        data = evidence.table_with([self.column])
        possible = possible_sizes(self.clusters, self.smallest, self.largest, data.records)
        return possible, "" if possible else "there are no such clusters of so many records"


class Separated(Event):
    """Columns were released in two tables that only the class links."""

    name = "separated"
    term = "anatomization"
    identifying: tuple[str, ...]
    confidential: tuple[str, ...]
    class_column: str
    sentence = "Released {identifying!q} and {confidential!q} as two tables, linked by `{class_column}` alone."


class Sliced(Event):
    """Groups of columns were anonymised apart and released as separate tables, each in an order of its own."""

    name = "sliced"
    groups: tuple[tuple[str, ...], ...]

    def describe(self) -> str:
        listed = "; ".join(quoted(group) for group in self.groups)
        return f"Anonymised {len(self.groups):,} groups of columns separately, as tables that nothing links: {listed}."


def possible_sizes(number: int, smallest: int, largest: int, records: int) -> bool:
    """Return whether so many classes can hold so many records, one of the least size and one of the greatest.

    Examples
    --------
    >>> possible_sizes(3, 4, 6, 15), possible_sizes(3, 5, 6, 15), possible_sizes(1, 4, 5, 5)
    (True, False, False)
    """
    if not 1 <= smallest <= largest or number < 1:
        return False
    if number == 1:
        return smallest == largest == records
    others = number - 1
    return others * smallest + largest <= records <= smallest + others * largest


#: the steps of most of these methods; others stand beside the method that takes them
CLASS_STEPS: tuple[type[Event], ...] = (*COMMON_STEPS, Compared, Blocked, Classed, Averaged, Permuted, Separated)
