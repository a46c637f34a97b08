"""One table of a data set with the columns of those above, as other methods take it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.datasets._read import Dataset
from shoal.errors import SchemaError
from shoal.schema import Attribute, Role, Schema
from shoal.tables import Table

#: the column that says whose row it is
PERSON = "person_number"


def join_tables(dataset: Dataset, name: str) -> Table:
    """Return the rows of a table with the columns of the rows that they belong to, and whose they are.

    Columns keep their names, and get that of their table before it where two tables have the same. The column
    ``person_number`` has the role person, so that every method counts people, and differential privacy holds for a
    person with all rows. Persons without a row in the table are not there.

    Examples
    --------
    >>> import shoal
    >>> from shoal import datasets
    >>> described = datasets.loads('''
    ... [tables.people]
    ... key = "id"
    ... [tables.people.columns.sex]
    ... role = "quasi-identifier"
    ... [tables.stays]
    ... parent = "people"
    ... [tables.stays.columns.ward]
    ... role = "sensitive"
    ... ''')
    >>> frames = {"people": {"id": [1, 2], "sex": ["F", "M"]}, "stays": {"id": [2, 1, 2], "ward": ["a", "b", "a"]}}
    >>> data = datasets.read_dataset({name: pa.table(rows) for name, rows in frames.items()}, described)
    >>> join_tables(data, "stays").to_arrow().to_pydict()
    {'person_number': [2, 1, 2], 'sex': ['M', 'F', 'M'], 'ward': ['a', 'b', 'a']}
    """
    described = dataset.schema
    if name not in described:
        raise SchemaError(f"the data set has no table `{name}`")
    chain, place = [name], np.arange(len(dataset.rows[name]))
    places = {name: place}
    while (above := described[chain[-1]].parent) is not None:
        places[above] = dataset.parents[chain[-1]][places[chain[-1]]]
        chain.append(above)
    columns: dict[str, pa.ChunkedArray | pa.Array] = {PERSON: pa.array(places[chain[-1]] + 1, pa.int64())}
    attributes = [Attribute(name=PERSON, role=Role.PERSON)]
    used = [each.name for table in chain for each in described[table].columns]
    for table in reversed(chain):
        for each in described[table].columns:
            own = each.name if used.count(each.name) == 1 and each.name != PERSON else f"{table}_{each.name}"
            columns[own] = dataset.rows[table][each.name].take(pa.array(places[table]))
            attributes.append(replace(each, name=own))
    missing = described.root.columns.missing_values
    schema = Schema(attributes=tuple(attributes), folder=described.folder, missing_values=missing)
    return tables.read(pa.table(columns)).with_schema(schema)
