"""The risk of every record, as a table for those who work with the data; never for publication."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.risk._population_uniqueness import individual_risk
from shoal.risk._sample import sample
from shoal.risk._special_uniques import record_scores
from shoal.risk._survey import household_risks
from shoal.tables import Table


def record_risks(table: Table, *, largest: int | None = None) -> pa.Table:
    """Return the risk of every record, in the order of the source.

    Parameters
    ----------
    table
        A table with a schema that names at least one quasi-identifier.
    largest
        The most columns of a minimal sample unique that are looked for; see :func:`special_uniques`.

    Returns
    -------
    pyarrow.Table
        ``record``: its number in the source, from 1. ``class_size``: the records that share its quasi-identifiers.
        ``prosecutor_risk``: 1 / class size. With a sampling weight: ``population``, the estimated people of the class,
        and ``individual_risk``. With households: ``household_risk``, that any member is found. ``suda_score`` and
        ``dis_score``: see :func:`special_uniques`. ``unique_by``: the smallest set of columns on which nobody resembles
        the record. No value of the table is repeated.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = pyarrow.table({"sex": ["f", "f", "m"], "town": ["Ulm", "Rome", "Rome"]})
    >>> columns = tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in people.column_names)
    >>> found = shoal.record_risks(shoal.read(people).with_schema(shoal.Schema(attributes=columns)))
    >>> found["unique_by"].to_pylist()
    ['town', 'sex, town', 'sex']
    """
    data = sample(table)
    labels, sizes = data.classes()
    risks = 1 / sizes[labels]
    columns: dict[str, object] = {
        "record": np.arange(1, len(data) + 1),
        "class_size": sizes[labels],
        "prosecutor_risk": risks,
    }
    if data.weights is not None:
        people = data.people(labels, sizes)
        risks = individual_risk(sizes, people)[labels]
        columns |= {"population": people[labels], "individual_risk": risks}
    if data.homes is not None:
        columns["household_risk"] = household_risks(risks, data.homes)[data.homes]
    scored = record_scores(data, largest=largest)
    named = scored.smallest()
    columns |= {
        "suda_score": scored.scores,
        "dis_score": scored.intrusions,
        "unique_by": [", ".join(named[row]) if row in named else None for row in range(len(data))],
    }
    return pa.table(columns)
