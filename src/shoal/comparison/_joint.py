"""The joint risk of releases that were made without a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.errors import DataError, ParameterError, quoted
from shoal.folder import ReleaseFolder
from shoal.guarantees import CERTIFICATE
from shoal.kernels import Integers
from shoal.schema import Role, Schema
from shoal.tables import Table

__all__ = ["JointRisk", "joint_risk"]

#: the class of a record that a release does not show
ABSENT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRisk:
    """Figures, for the publisher alone, of the risk from an intruder who has several releases of the same people."""

    #: The people whom at least one of the releases shows.
    people: int
    #: The smallest class of any of the releases by itself.
    alone: int
    #: The smallest joint crowd.
    smallest: int
    #: The records in joint crowds smaller than ``alone``, and those in one of their own.
    exposed: int
    single: int
    #: The records in joint crowds of two or more that all have the same value, by sensitive column.
    certain: dict[str, int]

    def lines(self) -> list[str]:
        """Say what was measured."""
        share, single = (f"{number / max(self.people, 1):.1%}" for number in (self.exposed, self.single))
        said = [
            f"Each release by itself hides everybody among at least {self.alone:,}.",
            f"Together they leave {self.exposed:,} of {self.people:,} people ({share}) in joint crowds below "
            f"{self.alone:,}, and {self.single:,} ({single}) alone. The smallest joint crowd has {self.smallest:,}.",
        ]
        said += [
            f"{number:,} people are in a joint crowd of two or more whose members all have the same value of `{name}`."
            for name, number in self.certain.items()
            if number
        ]
        if self.exposed:
            said.append("A series keeps k for all releases together: shoal series create, then anonymize --series.")
        return said


def joint_risk(originals: Sequence[Table], releases: Sequence[str | Path]) -> JointRisk:
    """Measure the joint crowds of releases of the same people.

    Parameters
    ----------
    originals
        The table with its schema that each release was made of; or one for all.
    releases
        Folders of releases by recodings, which are made again to learn who is in which class; or files by any program
        that kept an identifier of the schema, by which records are found.

    Notes
    -----
    The crowd of a person is everybody in the same class of every release, where absent counts as a class. People are
    recognised in several originals by the first identifier of the schema that no two records share.
    """
    if len(releases) < 2:
        raise ParameterError("joint crowds need at least two releases.")
    if len(originals) not in (1, len(releases)):
        raise ParameterError("give one original table for all releases, or one for each.")
    if any(table.schema is None for table in originals):
        raise ParameterError("the original table needs a schema: which columns are quasi-identifiers?")
    tables_of = list(originals) * len(releases) if len(originals) == 1 else list(originals)
    rows = [tables.in_order(table) for table in tables_of]
    keys = _keys(originals[0], rows, several=len(originals) > 1)
    everybody = pc.unique(pa.chunked_array([chunk for key in keys for chunk in key.chunks]))
    joint, alone = np.zeros(len(everybody), dtype=np.int64), len(everybody)
    shown = np.zeros(len(everybody), dtype=np.bool_)
    for table, own, key, release in zip(tables_of, rows, keys, releases, strict=True):
        found = _classes(table, own, Path(release))
        classes = np.full(len(everybody), ABSENT, dtype=np.int64)
        classes[pc.index_in(key, value_set=everybody).to_numpy()] = found
        shown |= classes >= 0
        alone = min(alone, int(np.bincount(found[found >= 0]).min(initial=len(everybody))))
        joint = np.unique(np.stack([joint, classes], axis=1), axis=0, return_inverse=True)[1].ravel()
    sizes = np.bincount(joint[shown], minlength=int(joint.max(initial=0)) + 1)
    mine = sizes[joint[shown]]
    last = pc.index_in(everybody, value_set=keys[-1].combine_chunks())
    values = rows[-1].take(last)
    return JointRisk(
        people=int(shown.sum()),
        alone=alone,
        smallest=int(mine.min(initial=len(everybody))),
        exposed=int((mine < alone).sum()),
        single=int((mine == 1).sum()),
        certain={name: _certain(values[name], joint, sizes, shown) for name in _schema(tables_of[-1]).sensitive},
    )


def _keys(original: Table, rows: Sequence[pa.Table], *, several: bool) -> list[pa.ChunkedArray]:
    """Return who every record of the originals is of."""
    if not several:
        number = len(rows[0])
        return [pa.chunked_array([pa.array([str(i) for i in range(number)])]) for _ in rows]
    for attribute in _schema(original):
        if attribute.role in (Role.IDENTIFIER, Role.PERSON):
            columns = [table[attribute.name].cast(pa.string()) for table in rows]
            if all(len(pc.unique(column)) == len(column) - column.null_count == len(column) for column in columns):
                return columns
    raise DataError("no identifier of the schema tells all records of each table apart.")


def _certain(values: pa.ChunkedArray, joint: Integers, sizes: Integers, shown: np.ndarray) -> int:
    """Count the people in joint crowds of two or more in which everybody has the same value."""
    codes = values.combine_chunks().cast(pa.string()).dictionary_encode().indices.fill_null(-1)
    cells = np.unique(np.stack([joint[shown], codes.to_numpy(zero_copy_only=False)[shown]]), axis=1)[0]
    different = np.bincount(cells.astype(np.int64), minlength=len(sizes))
    return int(sizes[(different == 1) & (sizes > 1)].sum())


def _classes(original: Table, rows: pa.Table, release: Path) -> Integers:
    """Return the class of every record of the original in a release."""
    if (release / CERTIFICATE).is_file():
        return _made_again(original, ReleaseFolder.inspected(release))
    if release.is_dir():
        raise ParameterError(f"`{release.name}` is no release folder: it has no {CERTIFICATE}.")
    return _by_key(original, rows, tables.read(release))


def _made_again(original: Table, folder: ReleaseFolder) -> Integers:
    """Make a release again from its plan, compare it with what was released, and return the classes."""
    name = folder.path.name
    if not folder.plan.method.capabilities.generalizes:
        raise ParameterError(f"`{name}` was not made by a recoding, so it cannot be made again to compare.")
    if folder.plan.in_series:
        raise ParameterError(f"`{name}` belongs to a series.", hint="shoal series check looks at all its releases")
    schema = folder.plan.schema
    again = folder.plan.run(original.select(*schema.names).with_schema(schema))
    released = folder.open(folder.certificate.data.file).to_arrow()
    if len(again.result.record_classes) != 1 or again.table.to_arrow().to_pydict() != released.to_pydict():
        raise DataError(
            f"the release `{name}` is not what its plan makes of {original.source.name}.",
            hint="give the table that it was made of: --original once for all releases, or once for each",
        )
    return np.asarray(again.result.record_classes[0].find(), dtype=np.int64)


def _by_key(original: Table, rows: pa.Table, released: Table) -> Integers:
    """Find records by an identifier that the released file kept."""
    schema = _schema(original)
    keys = [
        each.name for each in schema if each.role in (Role.IDENTIFIER, Role.PERSON) and each.name in released.columns
    ]
    known = [name for name in schema.quasi_identifiers if name in released.columns]
    if not keys or not known:
        raise DataError(
            f"{released.source.name} has no identifier of the schema, or none of its quasi-identifiers.",
            hint=f"keep one of {quoted(schema.identifiers)} in a copy for this purpose, and do not publish it",
        )
    table = released.to_arrow()
    labels = pc.binary_join_element_wise(
        *(pc.fill_null(table[name].cast(pa.string()), "\x00") for name in known), "\x01"
    )
    numbers = labels.combine_chunks().dictionary_encode().indices.to_numpy()
    places = pc.index_in(rows[keys[0]].cast(pa.string()), value_set=table[keys[0]].cast(pa.string()).combine_chunks())
    positions = places.combine_chunks().fill_null(-1).to_numpy()
    return np.where(positions >= 0, numbers[positions], ABSENT)


def _schema(table: Table) -> Schema:
    assert table.schema is not None  # noqa: S101 - the caller asked
    return table.schema
