"""Persons with several records, in the steps and the risks of releases."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.guarantees import (
    Counted,
)
from shoal.risk import PeopleRisk, risk_of_classes
from shoal.schema import Schema
from shoal.tables import Classes, Frequencies, group


def count_persons(column: str, frequencies: Frequencies, labels: npt.NDArray[np.integer], classes: Classes) -> Counted:
    """Say how many persons were released, and how few a class has; ``labels`` are the classes of the tuples."""
    persons = classes.records
    if frequencies.holders is not None:
        persons = frequencies.holders.present(labels)
    return Counted(
        column=column,
        records=classes.records,
        persons=persons,
        memberships=int(classes.crowds.sum()),
        smallest=int(classes.sizes.min()),
        fewest=int(classes.crowds.min()),
    )


def risk_of_people(
    schema: Schema, frequencies: Frequencies, labels: npt.NDArray[np.integer]
) -> tuple[PeopleRisk, PeopleRisk] | None:
    """Return the risk of persons and households before and after; ``labels`` are the released classes of the tuples.

    None where every record is of a person of its own and no household is named: records then say all.
    """
    if (frequencies.holders is None and frequencies.households is None) or not (labels >= 0).any():
        return None
    before = risk_of_classes(frequencies, group(frequencies.codes)[0].astype(np.int64), schema.person)
    return before, risk_of_classes(frequencies, labels.astype(np.int64), schema.person)
