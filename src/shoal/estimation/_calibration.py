"""Weights of a release of a survey, calibrated so that strata add up to what they were before records were left out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal import hierarchies, tables
from shoal.errors import InputError
from shoal.guarantees import CERTIFICATE, load
from shoal.methods.base import DATA
from shoal.methods.brief import Brief
from shoal.schema import Schema
from shoal.schema.rules import text
from shoal.tables import Table

__all__ = ["Calibration", "calibrated_weights"]

PLAN = "plan.toml"
Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """The records of a release with calibrated weights.

    Parameters
    ----------
    records
        The released records, their weights multiplied by the factor of their stratum.
    factors
        One row per released stratum: its columns, the sum of weights ``before`` and ``after`` records were left out,
        and the ``factor`` between them.
    lost
        The sum of weights of strata of which nothing was released: no factor gives them back.
    """

    records: pa.Table
    factors: pa.Table
    lost: float


def calibrated_weights(folder: str | Path, original: Table) -> Calibration:
    """Multiply the weights of a release so that those of every stratum add up to what they were.

    Strata are compared at the level of their hierarchy that was released; where no one level has all released values,
    as after local recoding, the table is taken as one stratum. This is for the publisher: the factors tell how much
    weight was left out of each stratum, which the release alone does not.

    Parameters
    ----------
    folder
        A release of a table with a column of the role ``weight``, as numbers.
    original
        The table that it was made from.

    Raises
    ------
    InputError
        If the release has no weights, or the original not the columns of its plan.
    """
    folder = Path(folder)
    if not (folder / DATA).is_file() or not (folder / PLAN).is_file():
        raise InputError(f"there is no release of one table in `{folder.name}`")
    load(folder / CERTIFICATE)
    schema = Brief.load(folder / PLAN).schema
    name = schema.sampling_weight
    if name is None:
        raise InputError("no column of the release has the role `weight`")
    released, rows = tables.read(folder / DATA).to_arrow(), original.with_schema(schema).to_arrow()
    weights = [_numbers(each, name) for each in (rows, released)]
    strata = _strata(schema, rows, released)
    before, after = (_summed(keys, each) for keys, each in zip(strata, weights, strict=True))
    factor = {key: before.get(key, total) / total for key, total in after.items()}
    changed = pa.array(weights[1] * np.array([factor[key] for key in strata[1]]))
    strata_names = schema.strata if () not in after else ()
    columns: dict[str, list[object]] = {each: [key[j] for key in after] for j, each in enumerate(strata_names)}
    sums = {"before": [before.get(key, 0.0) for key in after], "after": [*after.values()], "factor": [*factor.values()]}
    return Calibration(
        records=released.set_column(released.column_names.index(name), name, changed),
        factors=pa.table(columns | sums),
        lost=float(sum(total for key, total in before.items() if key not in after)),
    )


def _numbers(rows: pa.Table, name: str) -> np.ndarray:
    try:
        return np.asarray(rows[name].cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, KeyError):
        raise InputError(f"column `{name}` does not hold the weights of records as numbers") from None


def _strata(schema: Schema, original: pa.Table, released: pa.Table) -> tuple[list[Key], list[Key]]:
    """Return the stratum of every record of both tables, at the level that was released; () where there is none."""
    columns = []
    for name in schema.strata:
        shown, values = (text(each[name].combine_chunks()) for each in (released, original))
        hierarchy = hierarchies.build(schema[name], original[name].combine_chunks(), folder=schema.folder)
        wanted = {*shown.to_pylist()}
        level = next((level for level, labels in enumerate(hierarchy.labels) if wanted <= {*labels}), None)
        if level is None:
            return [()] * len(original), [()] * len(released)
        leaves = hierarchies.leaf_codes(hierarchy, values)
        labels = np.array(hierarchy.labels[level], dtype=object)[hierarchy.codes[level][leaves]]
        columns.append((labels.tolist(), shown.to_pylist()))
    if not columns:
        return [()] * len(original), [()] * len(released)
    first, second = zip(*columns, strict=True)
    return [*zip(*first, strict=True)], [*zip(*second, strict=True)]


def _summed(keys: list[Key], weights: np.ndarray) -> dict[Key, float]:
    found: defaultdict[Key, float] = defaultdict(float)
    for key, weight in zip(keys, weights.tolist(), strict=True):
        found[key] += weight
    return dict(sorted(found.items(), key=lambda pair: repr(pair[0])))
