"""The records of a table as a sample: their keys as codes, their weights and their households."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal import tables
from shoal.kernels import Codes, Counts, Floats
from shoal.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """The records of a table, in the order of the source."""

    #: The quasi-identifiers.
    keys: tuple[str, ...]
    #: One row per record, one column per key; -1 stands for a missing value.
    codes: Codes
    #: How many people of the population each record stands for; None where the schema names no weight, or somebody has
    #: several records: a weight is that of a person.
    weights: Floats | None = None
    #: A number per record that says whose household it is; None where the schema names no household.
    homes: Counts | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def classes(self) -> tuple[Counts, Counts]:
        """Return the class of every record and the records of every class; a missing value is one of its own."""
        labels, firsts = tables.group(self.codes + 1)
        return labels, np.bincount(labels, minlength=len(firsts))

    def people(self, labels: Counts, sizes: Counts) -> Floats:
        """Return the estimated people of every class: the sum of its weights, and at least its records."""
        assert self.weights is not None  # noqa: S101 - asked for where there are weights
        return np.maximum(np.bincount(labels, weights=self.weights, minlength=len(sizes)), sizes)


def sample(table: Table) -> Sample:
    """Fetch the keys, weights and households of all records of a table with a schema. Cost: O(records * keys)."""
    schema = tables.schema_of(table)
    weight = schema.sampling_weight if schema.sampling_weight in table.columns else None
    if weight is not None and tables.people(table).repeat:
        weight = None
    home = schema.household if schema.household in table.columns else None
    encoded = tables.encode_records(table, sensitive=() if home is None else (home,))
    codes = encoded.frequencies.codes.copy()
    for column, dictionary in enumerate(encoded.dictionaries):
        missing = dictionary.values.is_null().to_numpy(zero_copy_only=False)
        codes[missing[encoded.places[:, column]], column] = -1
    return Sample(
        keys=tuple(dictionary.name for dictionary in encoded.dictionaries),
        codes=codes,
        weights=None if weight is None else tables.numbers(table, weight),
        homes=None if home is None else encoded.sensitive_codes[:, 0].astype(np.int64),
    )
