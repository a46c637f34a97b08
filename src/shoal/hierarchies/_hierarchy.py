"""A hierarchy made for the values of one column: integer codes at every level, in tree order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, Problems, counted
from shoal.kernels import Codes, Floats, Integers
from shoal.schema import Provenance
from shoal.schema.rules import Tree, encode_texts, plain, text

TOP = "*"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Hierarchy:
    """The levels of one attribute, from its values (level 0) to one value for all (the last level, the top).

    The top is ``*``, unless the last declared level has one label: then it is that level, whatever the label.

    Leaves are numbered so that the code at every level is non-decreasing in the leaf code: one sort of the leaves
    then sorts every level.

    Notes
    -----
    Shares of attributes with a value list are ``(leaves - 1) / (all leaves - 1)``; of numeric and date attributes
    the width of the interval over the width of the domain.
    """

    #: The column's name.
    attribute: str
    #: ``labels[level][code]`` is the released value; None is the missing value.
    labels: tuple[tuple[str | None, ...], ...]
    #: ``codes[level][leaf]`` is the code of the leaf's ancestor at that level; ``codes[0]`` is the identity.
    codes: tuple[Codes, ...]
    #: ``shares[level][code]`` is the part of the domain that the value covers: 0 for a single value (and for a missing
    #: one, which tells nothing less than before), 1 for the top.
    shares: tuple[Floats, ...]
    #: ``leaves[level][code]`` is the number of leaves below the value.
    leaves: tuple[Integers, ...]
    #: Whether the levels *and the domain* were declared, or inferred from the data.
    provenance: Provenance
    #: What the leaves were taken from, as messages call it: "its hierarchy `zip.csv`".
    source: str = "its hierarchy"
    #: Where each leaf of an ordered attribute (numbers, days, ordinal values) stands in its domain, strictly ascending
    #: in [0, 1]: an interval of leaves covers the difference of its ends. None where the attribute has no order, where
    #: the order of the tree is another one, or where there is a missing leaf.
    positions: Floats | None = None
    #: How many levels were left out below (:meth:`above`); level 0 is then not that of the values.
    floor: int = 0

    def __post_init__(self) -> None:
        problems = Problems()
        if len(self.labels[-1]) != 1:
            problems.add(f"the hierarchy of column `{self.attribute}` must end with a single value, `{TOP}`")
        for level, (fine, coarse) in enumerate(zip(self.codes, self.codes[1:], strict=False), start=1):
            if np.any(np.diff(coarse) < 0):
                problems.add(f"the leaves of the hierarchy of column `{self.attribute}` are not in tree order")
            # nested: two leaves together at one level stay together at the next
            if np.any((np.diff(fine) == 0) & (np.diff(coarse) != 0)):
                problems.add(
                    f"the hierarchy of column `{self.attribute}` is not nested: values grouped at level "
                    f"{level - 1} are split at level {level}"
                )
        problems.raise_as(HierarchyError)

    def __repr__(self) -> str:
        # labels are values of the data, which no printed text may hold
        sizes = ", ".join(str(len(labels)) for labels in self.labels)
        return f"Hierarchy(attribute={self.attribute!r}, values per level=({sizes}), {self.provenance})"

    @property
    def height(self) -> int:
        """The number of the last level, where everything has one value."""
        return len(self.labels) - 1

    @property
    def levels(self) -> int:
        """The number of levels, the values themselves and the top included."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return len(self.labels[0])

    @property
    def missing(self) -> int | None:
        """The leaf of the missing value, which is the last one, or None where there is none."""
        return self.size - 1 if self.size and self.labels[0][-1] is None else None

    def depth(self, level: int) -> float:
        """Return how far up a level is, from 0 for the values themselves to 1 for the top."""
        return (self.floor + level) / max(self.floor + self.height, 1)

    def above(self, level: int) -> Hierarchy:
        """Return the hierarchy without the levels below ``level``: its values become the leaves."""
        if not level:
            return self
        first = np.searchsorted(self.codes[level], np.arange(len(self.labels[level])))
        return replace(
            self,
            labels=self.labels[level:],
            codes=tuple(codes[first] for codes in self.codes[level:]),
            shares=self.shares[level:],
            leaves=self.leaves[level:],
            positions=None,
            floor=self.floor + level,
        )

    def generalize(self, leaves: Codes, level: int) -> Codes:
        """Return the codes of ``leaves`` at ``level``."""
        return np.asarray(self.codes[level][leaves])


def leaf_codes(hierarchy: Hierarchy, values: pa.Array | pa.ChunkedArray) -> Codes:
    """Return the leaf of every value; null is the missing leaf, -1 is a value outside the hierarchy."""
    written = text(values)
    size = hierarchy.size if hierarchy.missing is None else hierarchy.missing
    known = pa.array(hierarchy.labels[0][:size], pa.string())
    codes = pc.index_in(written, value_set=known, skip_nulls=True).fill_null(-1)
    found = np.array(codes.to_numpy(zero_copy_only=False), dtype=np.int32)
    if hierarchy.missing is not None:
        found[pc.is_null(written).to_numpy(zero_copy_only=False)] = hierarchy.missing
    return found


def outside(hierarchy: Hierarchy, values: pa.Array | pa.ChunkedArray, counts: Integers | None = None) -> str | None:
    """Say how many of the values (and of the records, given counts) are not in the hierarchy; None if all are.

    Null is never outside: what a missing value means is the schema's matter.

    Examples
    --------
    >>> from shoal.hierarchies import build
    >>> from shoal.schema import Attribute, Groups
    >>> sex = Attribute(name="sex", hierarchy=Groups(levels=((("any", ("female", "male")),),)))
    >>> outside(build(sex, pa.array([])), pa.array(["male", "Male", "F"]), np.array([10, 4, 1]))
    'column `sex`: 2 values (in 5 records) are not in its hierarchy'
    """
    values = plain(values)
    lost = (leaf_codes(hierarchy, values) < 0) & pc.is_valid(values).to_numpy(zero_copy_only=False)
    number = int(np.count_nonzero(lost))
    if not number:
        return None
    records = "" if counts is None else f" (in {counted(int(np.asarray(counts)[lost].sum()), 'record')})"
    verb = "is" if number == 1 else "are"
    return f"column `{hierarchy.attribute}`: {counted(number, 'value')}{records} {verb} not in {hierarchy.source}"


def grow(tree: Tree, *, attribute: str, provenance: Provenance, missing: bool, source: str) -> Hierarchy:
    """Return the hierarchy of a tree. Cost: O(levels * leaves * log(leaves))."""
    top = _declared_top(tree, provenance)
    below = tree.levels if top is None else tree.levels[:-1]
    order = _tree_order(tree)
    leaves = tree.leaves if order is None else tree.leaves.take(pa.array(order))
    size = len(leaves)
    labels: list[pa.StringArray] = [leaves]
    codes: list[Codes] = [np.arange(size, dtype=np.int32)]
    shares: list[Floats] = [np.zeros(size)]
    counts: list[Integers] = [np.ones(size, dtype=np.int64)]
    for level in below:
        groups = level.groups if order is None else level.groups[order]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        chosen = groups[starts]
        sizes = np.diff(starts, append=size)
        labels.append(level.labels.take(pa.array(chosen)))
        codes.append(np.repeat(np.arange(len(starts), dtype=np.int32), sizes))
        shares.append((sizes - 1) / max(size - 1, 1) if level.shares is None else level.shares[chosen])
        counts.append(sizes.astype(np.int64))
    extra = (lambda level, end: np.append(level, level.dtype.type(end))) if missing else (lambda level, end: level)
    names = [*labels, pa.array([TOP if top is None else top], pa.string())]
    *texts, whole = _distinguish(names, [*counts, np.array([size], dtype=np.int64)])
    return Hierarchy(
        attribute=attribute,
        labels=(*((*level.to_pylist(), *([None] * missing)) for level in texts), tuple(whole.to_pylist())),
        codes=(
            *(extra(level, len(names)) for level, names in zip(codes, labels, strict=True)),
            np.zeros(size + missing, dtype=np.int32),
        ),
        shares=(*(extra(level, 0) for level in shares), np.ones(1)),
        leaves=(*(extra(level, 1) for level in counts), np.array([size + missing], dtype=np.int64)),
        provenance=provenance,
        source=source,
    )


def _declared_top(tree: Tree, provenance: Provenance) -> str | None:
    """Return the one label of the last level, if that level holds every value that may occur; else None.

    This must follow from the schema alone, as private methods publish the number of levels: levels whose labels follow
    the observed values are left as they are. The top holds the missing value as well, so its label must not stand for
    less further down; and where ``*`` stands further down it means any value, so that it is the top, too.
    """
    if not tree.levels or not provenance.reveals_nothing:
        return None
    *below, last = tree.levels
    groups = np.unique(last.groups)
    if len(groups) != 1 or last.shares is not None:
        return None
    label = str(last.labels[int(groups[0])])
    lower = {name for names in (tree.leaves, *(level.labels for level in below)) for name in names.to_pylist()}
    return label if label == TOP or not lower & {label, TOP} else None


def _tree_order(tree: Tree) -> Integers | None:
    """Sort by the coarsest group, then the next, then the leaf; a group stands where its first leaf wants to."""
    if tree.ranks is None:
        return None
    keys = [tree.ranks]
    for level in tree.levels:
        first = np.full(len(level.labels), len(tree.ranks), dtype=np.int64)
        np.minimum.at(first, level.groups, tree.ranks)
        keys.append(first[level.groups])
    return np.lexsort(keys)


def _distinguish(labels: list[pa.StringArray], counts: list[Integers]) -> list[pa.StringArray]:
    """Mark labels that a finer level uses for other leaves, so that a released text means one set of leaves.

    A label may well repeat upwards for the same leaves (the short branches of a taxonomy). ``*`` is left alone: it
    means any value wherever it stands.
    """
    starts = np.concatenate([np.cumsum(count) - count for count in counts])
    sizes = np.concatenate(counts)
    names = encode_texts(pa.concat_arrays(labels))
    first = names.first[names.groups]
    clash = (starts != starts[first]) | (sizes != sizes[first])
    if not clash.any():
        return labels
    taken = {name for level in labels for name in level.to_pylist()}
    ends = np.cumsum([len(level) for level in labels])
    marked = []
    for number, level in enumerate(labels):
        names = level.to_pylist()
        for position in np.flatnonzero(clash[ends[number] - len(names) : ends[number]]):
            if names[position] == TOP:
                continue
            names[position] += f" (level {number})"
            while names[position] in taken:
                names[position] += "'"
            taken.add(names[position])
        marked.append(pa.array(names, pa.string()))
    return marked
