"""The values of one column as leaves: read as numbers or days where the column's kind asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError
from shoal.hierarchies._text import text
from shoal.schema import Attribute, Kind

__all__ = ["Column", "days", "numbers", "ranks"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Days = npt.NDArray[np.datetime64]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DAY = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """What a rule is applied to.

    Parameters
    ----------
    attribute
        What the schema says of the column.
    values
        Distinct values without null, ascending: the declared ones where the schema declares them, else the
        observed ones that lie in the declared bounds.
    leaves
        The text of each of the ``values``.
    counts
        Records per value; 1 each where they are not known.
    source
        The type of the observed values, which decides how the texts of a hierarchy file are read.
    folder
        Where relative paths start.
    """

    attribute: Attribute
    values: pa.Array = field(repr=False)
    leaves: pa.StringArray = field(repr=False)
    counts: Integers = field(repr=False)
    source: pa.DataType
    folder: Path = Path()

    @property
    def name(self) -> str:
        """The column's name."""
        return self.attribute.name

    @property
    def numbers(self) -> Floats:
        """The values as numbers."""
        return numbers(self.values, self.name)

    @property
    def days(self) -> Days:
        """The values as days."""
        return days(self.values, self.name)


def numbers(values: pa.Array, name: str, what: str = "values") -> Floats:
    """Return ``values`` as finite numbers, or say how many are not."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if pa.types.is_temporal(values.type):
        raise HierarchyError(f"column `{name}`: its {what} are not numbers but {values.type}")
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        values = text(values)
        bad = int(pc.sum(pc.invert(pc.match_substring_regex(values, _NUMBER))).as_py() or 0)
        if bad:
            raise HierarchyError(f"column `{name}`: {bad:,} of {len(values):,} {what} are not numbers")
        # Arrow does not read a leading plus or a bare trailing point
        values = pc.replace_substring_regex(pc.utf8_ltrim(values, "+"), r"\.($|[eE])", r".0\1")
    found = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    infinite = int(np.count_nonzero(~np.isfinite(found)))
    if infinite:
        raise HierarchyError(f"column `{name}`: {infinite:,} of {len(found):,} {what} are not finite numbers")
    return found


def days(values: pa.Array, name: str, what: str = "values") -> Days:
    """Return ``values`` as days, or say how many are not."""
    if pa.types.is_timestamp(values.type):
        if values.type.tz is not None:
            values = pc.local_timestamp(values)
        return np.asarray(values.to_numpy(zero_copy_only=False).astype("datetime64[D]"))
    if pa.types.is_date(values.type):
        return np.asarray(values.cast(pa.date32()).to_numpy(zero_copy_only=False).astype("datetime64[D]"))
    written = pc.utf8_slice_codeunits(text(values), 0, 10)
    read = pc.strptime(written, format="%Y-%m-%d", unit="s", error_is_null=True)
    # the second test is for days such as 30 February, which Arrow reads as 1 March
    good = pc.and_(
        pc.match_substring_regex(text(values), _DAY),
        pc.fill_null(pc.equal(pc.strftime(read, format="%Y-%m-%d"), written), False),
    )
    bad = len(values) - int(pc.sum(good).as_py() or 0)
    if bad:
        raise HierarchyError(
            f"column `{name}`: {bad:,} of {len(values):,} {what} are not dates", hint="write dates as 2024-12-31"
        )
    return np.asarray(read.to_numpy(zero_copy_only=False).astype("datetime64[D]"))


def ranks(leaves: pa.StringArray, attribute: Attribute, what: str = "values") -> Integers:
    """Return where each leaf wants to stand: by number, by day, as declared, or as it stands."""
    if attribute.kind is Kind.NUMERIC:
        keys: npt.NDArray[np.generic] = numbers(leaves, attribute.name, what)
    elif attribute.kind is Kind.DATE:
        keys = days(leaves, attribute.name, what)
    elif attribute.domain is not None and attribute.domain.values is not None:
        declared = pc.index_in(leaves, value_set=pa.array(attribute.domain.values, pa.string()))
        keys = declared.fill_null(len(attribute.domain.values)).to_numpy(zero_copy_only=False)
    else:
        return np.arange(len(leaves), dtype=np.int64)
    rank = np.empty(len(leaves), dtype=np.int64)
    rank[np.argsort(keys, kind="stable")] = np.arange(len(leaves))
    return rank
