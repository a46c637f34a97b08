"""Tables as counts: distinct tuples, which searches work on, and equivalence classes, which privacy models judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.hierarchies import Hierarchy
from shoal.kernels import Counts, Mask
from shoal.tables._holders import Ballot, Holders, Votes

if TYPE_CHECKING:
    from shoal.tables._table import Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitiveAttribute:
    """What a model needs to know of a sensitive attribute besides its counts.

    Codes ``0..size-1`` follow the order of the values: ascending for numbers and dates, as declared for ordinal
    attributes, by text otherwise (``ordered`` is False then); a missing value has the last code. ``hierarchy`` is
    present where the schema declares one whose leaves follow the order of the values, and its leaf codes are then the
    codes used here.
    """

    name: str
    size: int
    ordered: bool
    labels: tuple[str | None, ...] = ()
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frequencies:
    """Distinct combinations of quasi-identifier leaves and sensitive values, each with its number of records."""

    #: One per quasi-identifier, in the order of the columns of ``codes``.
    hierarchies: tuple[Hierarchy, ...]
    #: Leaf codes, one row per distinct tuple; shape ``(tuples, quasi-identifiers)``, column-major.
    codes: npt.NDArray[np.int32]
    #: Records per tuple; at least 1, or 0 for a tuple that only the population holds.
    counts: npt.NDArray[np.int64]
    #: The sensitive attributes and their codes, shape ``(tuples, sensitive attributes)``.
    sensitive: tuple[SensitiveAttribute, ...] = ()
    sensitive_codes: npt.NDArray[np.int32]
    #: People per tuple of the population table, where one was given.
    population: npt.NDArray[np.int64] | None = None
    #: Whose records those of the population are, where somebody has several; None where each is of one person.
    residents: Holders | None = None
    #: Whose records they are, where a person may have several; None where every record is of a person of its own.
    holders: Holders | None = None
    #: The pairs of tuple and household, where every record is of a person of its own and that was asked for; else
    #: ``holders`` know who lives where.
    households: Holders | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return tuple(hierarchy.attribute for hierarchy in self.hierarchies)

    @property
    def records(self) -> int:
        """The number of records of the table."""
        return int(self.counts.sum())

    @property
    def persons(self) -> int:
        """The number of persons that the records are of."""
        return self.records if self.holders is None else self.holders.people

    def without_sensitive(self) -> Frequencies:
        """Return the distinct combinations of quasi-identifiers alone, with their records, whoever these are of."""
        labels, firsts = group(self.codes)
        return Frequencies(
            hierarchies=self.hierarchies,
            codes=np.asfortranarray(self.codes[firsts]),
            counts=tally(labels, self.counts, len(firsts)),
            sensitive_codes=np.zeros((len(firsts), 0), dtype=np.int32),
        )

    def only(self, chosen: Mask) -> Frequencies:
        """Return some of the tuples."""
        return replace(
            self,
            codes=np.asfortranarray(self.codes[chosen]),
            counts=self.counts[chosen],
            sensitive_codes=np.asfortranarray(self.sensitive_codes[chosen]),
            population=None if self.population is None else self.population[chosen],
            residents=None if self.residents is None else self.residents.only(chosen),
            holders=None if self.holders is None else self.holders.only(chosen),
            households=None if self.households is None else self.households.only(chosen),
        )

    def people_of(self, labels: npt.NDArray[np.integer], number: int) -> Counts | None:
        """Return the people of the population in every class, each once; None without a population.

        ``labels`` are the classes of the tuples; negative for those that belong to none.
        """
        if self.population is None:
            return None
        if self.residents is not None:
            return self.residents.crowds(labels, number)
        chosen = labels >= 0
        return tally(labels[chosen].astype(np.int64), self.population[chosen], number)

    @property
    def heights(self) -> tuple[int, ...]:
        """The top level of every quasi-identifier."""
        return tuple(hierarchy.height for hierarchy in self.hierarchies)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassHistogram:
    """The values of one sensitive attribute in every class, as compressed rows.

    Class ``i`` holds the values ``codes[offsets[i]:offsets[i + 1]]`` (ascending), each ``counts[...]`` times; only
    values that are present are stored. ``votes`` are what the persons of the class give to each value, in whole
    numbers (see :class:`Ballot`); None where every record is of a person of its own and votes once.
    """

    attribute: SensitiveAttribute
    offsets: Counts
    codes: npt.NDArray[np.int32]
    counts: Counts
    votes: Votes | None = None

    def only(self, chosen: Mask) -> ClassHistogram:
        """Return the values of some of the classes."""
        lengths = np.diff(self.offsets)
        rows = np.repeat(chosen, lengths)
        return replace(
            self,
            offsets=np.concatenate([[0], np.cumsum(lengths[chosen])]),
            codes=self.codes[rows],
            counts=self.counts[rows],
            votes=None if self.votes is None else self.votes[rows],
        )

    def followed_by(self, counts: Counts) -> ClassHistogram:
        """Return the values of the classes and of one more, given how many records of it have each value."""
        codes = np.flatnonzero(counts)
        return replace(
            self,
            offsets=np.append(self.offsets, self.offsets[-1] + len(codes)),
            codes=np.append(self.codes, codes.astype(np.int32)),
            counts=np.append(self.counts, counts[codes]),
        )

    def times(self, numbers: Counts) -> ClassHistogram:
        """Return the values of so many classes of each kind, taken as one class."""
        return replace(self, counts=self.counts * np.repeat(numbers, np.diff(self.offsets)))

    def total(self, kept: Mask | None = None) -> Counts:
        """Return the number of records per value over all classes, or over the kept ones."""
        counts = self.counts if kept is None else np.where(np.repeat(kept, np.diff(self.offsets)), self.counts, 0)
        return tally(self.codes, counts, self.attribute.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classes:
    """The equivalence classes of a (generalised) table."""

    #: Records per class, each at least 1.
    sizes: Counts
    #: A histogram per sensitive attribute that a model asks for.
    sensitive: Mapping[str, ClassHistogram] = field(default_factory=dict)
    #: The generalised quasi-identifiers of each class, for models that look at combinations of attributes.
    codes: npt.NDArray[np.int32] | None = None
    #: People per class of the population table, where one was given.
    population: Counts | None = None
    #: Persons per class; None where every record is of a person of its own.
    persons: Counts | None = None
    #: What the whole vote of a person counts in the ``votes`` of histograms.
    vote: int = 1
    #: What a record of each class costs if it is released, where a search knows that: of classes that a model may
    #: remove as well as others, those go first that cost most.
    costs: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def crowds(self) -> Counts:
        """The people of every class: its persons, or its records where nobody has several."""
        return self.sizes if self.persons is None else self.persons

    def only(self, chosen: Mask) -> Classes:
        """Return some of the classes."""
        return Classes(
            sizes=self.sizes[chosen],
            sensitive={name: histogram.only(chosen) for name, histogram in self.sensitive.items()},
            codes=None if self.codes is None else self.codes[chosen],
            population=None if self.population is None else self.population[chosen],
            persons=None if self.persons is None else self.persons[chosen],
            vote=self.vote,
        )

    def among(self, totals: Mapping[str, Counts]) -> Classes:
        """Return the classes and, last, all other records of a release whose values occur so often, as one class.

        Models then compare the classes with the whole release. Nothing is added where there is no other record.
        """
        others = {name: totals[name] - histogram.total() for name, histogram in self.sensitive.items()}
        rest = max((int(counts.sum()) for counts in others.values()), default=0)
        if not rest:
            return self
        sensitive = {name: histogram.followed_by(others[name]) for name, histogram in self.sensitive.items()}
        return Classes(sizes=np.append(self.sizes, rest), sensitive=sensitive)

    @property
    def records(self) -> int:
        """The number of records in all classes."""
        return int(self.sizes.sum())

    def histogram(self, attribute: str) -> ClassHistogram:
        """Return the histogram of a sensitive attribute."""
        return self.sensitive[attribute]

    @classmethod
    def of(cls, frequencies: Frequencies, labels: npt.NDArray[np.integer], *, number: int | None = None) -> Classes:
        """Gather the tuples of ``frequencies`` into classes.

        ``labels`` are the classes of the tuples, ``0..number-1``; negative for those that belong to none (suppressed).
        """
        chosen = labels >= 0
        owners: Counts = labels[chosen].astype(np.int64)
        counts = frequencies.counts[chosen]
        number = int(owners.max(initial=-1)) + 1 if number is None else number
        sizes = tally(owners, counts, number)
        population = frequencies.people_of(labels, number)
        sensitive = {
            attribute.name: _histogram(attribute, owners, frequencies.sensitive_codes[chosen, column], counts, number)
            for column, attribute in enumerate(frequencies.sensitive)
        }
        return cls(sizes=sizes, sensitive=sensitive, population=population).count_votes(frequencies, labels)

    def count_votes(self, frequencies: Frequencies, labels: npt.NDArray[np.integer]) -> Classes:
        """Return the classes with their persons, and histograms with the votes of these, where records have holders."""
        if frequencies.holders is None:
            return self
        if not frequencies.sensitive:
            return replace(self, persons=frequencies.holders.crowds(labels, len(self)))
        ballot = frequencies.holders.ballot(labels, len(self))
        sensitive = {
            attribute.name: _with_votes(self.sensitive[attribute.name], ballot, frequencies.sensitive_codes[:, column])
            for column, attribute in enumerate(frequencies.sensitive)
            if attribute.name in self.sensitive
        }
        return replace(self, sensitive=sensitive, persons=ballot.persons, vote=ballot.unit)

    @classmethod
    def from_tuples(cls, frequencies: Frequencies) -> Classes:
        """Gather the tuples of ``frequencies`` by their quasi-identifiers as they are: nothing is generalised."""
        labels, firsts = group(frequencies.codes)
        classes = cls.of(frequencies, labels, number=len(firsts))
        return replace(classes, codes=frequencies.codes[firsts])


def group(codes: npt.NDArray[np.int32]) -> tuple[Counts, Counts]:
    """Number the distinct rows of ``codes`` in lexicographic order; also return the first row of each number."""
    keys = np.zeros(len(codes), dtype=np.int64)
    size = 1
    for column in codes.T:
        width = int(column.max(initial=0)) + 1
        if size * width > np.iinfo(np.int64).max:  # replace the keys so far by their ranks
            distinct, keys = np.unique(keys, return_inverse=True)
            size = len(distinct)
        keys = keys * width + column
        size *= width
    _, firsts, labels = np.unique(keys, return_index=True, return_inverse=True)
    return labels, firsts


def _histogram(
    attribute: SensitiveAttribute, labels: Counts, codes: npt.NDArray[np.int32], counts: Counts, number: int
) -> ClassHistogram:
    present = counts > 0
    keys, inverse = np.unique(labels[present] * attribute.size + codes[present], return_inverse=True)
    owners, values = np.divmod(keys, max(attribute.size, 1))
    offsets = np.searchsorted(owners, np.arange(number + 1)).astype(np.int64)
    total = tally(inverse, counts[present], len(keys))
    return ClassHistogram(attribute=attribute, offsets=offsets, codes=values.astype(np.int32), counts=total)


def _with_votes(histogram: ClassHistogram, ballot: Ballot, values: npt.NDArray[np.int32]) -> ClassHistogram:
    size = histogram.attribute.size
    owners = np.repeat(np.arange(len(histogram.offsets) - 1), np.diff(histogram.offsets))
    return replace(histogram, votes=ballot.votes(values, size, owners * size + histogram.codes))


def tally(codes: npt.NDArray[np.integer], counts: Counts, size: int) -> Counts:
    """Add up ``counts`` per code, exactly; a table has fewer than 2^63 records."""
    if counts.dtype == object:
        result = np.zeros(size, dtype=object)
        np.add.at(result, codes, counts)
        return result
    # Sums of integers below 2^53 are exact in floating point, in which NumPy counts fastest.
    if int(counts.sum()) < 2**53:
        return np.bincount(codes, weights=counts, minlength=size).astype(np.int64)
    result = np.zeros(size, dtype=np.int64)
    np.add.at(result, codes, counts)
    return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recoding:
    """The class of every distinct tuple and the released quasi-identifiers of every class.

    Full-domain, iterated, multi-dimensional and subtree recodings all have this form, so they are applied, measured and
    checked by the same code.
    """

    #: The quasi-identifiers, in the order of :class:`Frequencies`.
    attributes: tuple[str, ...]
    #: The class of every tuple of the frequencies, ``-1`` where it is suppressed. Tuples that agree on all
    #: quasi-identifiers have the same class.
    classes: npt.NDArray[np.int32]
    #: ``codes[c, j]`` is the position in ``labels[j]`` of the value that class ``c`` releases for attribute ``j``.
    codes: npt.NDArray[np.int32]
    #: ``labels[j]`` are the released values of attribute ``j`` as text; None is the missing value.
    labels: tuple[tuple[str | None, ...], ...]
    #: ``shares[j][i]`` is the part of the domain that ``labels[j][i]`` covers (see :class:`Hierarchy`).
    shares: tuple[npt.NDArray[np.float64], ...]
    #: ``depths[j][i]`` is level over height of ``labels[j][i]``, in [0, 1]; 0 is an unchanged value, 1 is ``*``.
    depths: tuple[npt.NDArray[np.float64], ...]
    #: Whether attribute ``j`` is released as it was read, in its own type.
    unchanged: tuple[bool, ...]
    #: The levels of a full-domain recoding, for display; None for local ones.
    levels: tuple[int, ...] | None = None

    @property
    def number(self) -> int:
        """The number of released classes."""
        return len(self.codes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dictionary:
    """The distinct values of a column, null included where there is one, and the leaf code of each."""

    name: str
    values: pa.Array
    codes: npt.NDArray[np.int32]

    def __repr__(self) -> str:
        return f"<Dictionary of `{self.name}`: {len(self.values):,} values>"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finest:
    """What is known of the tuples of the values themselves, where they are too many and were counted at coarser levels.

    ``tuples`` is their number, and ``sizes`` the different numbers of records that classes of them have, with how many
    classes have each.
    """

    tuples: int
    sizes: tuple[Counts, Counts]


class Persons(Protocol):
    """Who the persons of :class:`Holders` are."""

    def only(self, table: Table, kept: Mask) -> Table:
        """Return the records of some persons, and of nobody else."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoded:
    """Frequencies, and what is needed to find the tuple of a record again."""

    #: The distinct tuples with counts, ascending by codes (quasi-identifiers first).
    frequencies: Frequencies
    #: One per quasi-identifier, in the order of the frequencies.
    dictionaries: tuple[Dictionary, ...]
    #: Who the persons are, where some have several records.
    persons: Persons | None = field(default=None, repr=False)
    #: What is known below the levels at which the tuples were counted; None where that is the values themselves.
    finest: Finest | None = None
