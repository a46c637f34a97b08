"""Confidential values, randomised record by record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.errors import DataError
from shoal.methods.classes._class_run import ClassRun, Drawn
from shoal.methods.classes._events import Randomized
from shoal.methods.classes._promises_randomized import DrawnCloseness, LocalPrivacy
from shoal.methods.classes._randomize import randomize
from shoal.tables import SensitiveAttribute

if TYPE_CHECKING:
    from shoal.methods.classes._stochastic_method import StochasticCloseness

__all__ = ["randomized"]


def randomized(run: ClassRun, method: StochasticCloseness) -> Drawn:
    """Randomise every sensitive column of every record, with equal parts of epsilon."""
    sizes = run.formed.partition.sizes
    epsilon = method.spent(records=len(run.encoded), smallest=int(sizes.min()))
    names = run.schema.sensitive
    drawn = Drawn(columns={}, promises=[], events=[])
    for j, attribute in enumerate(run.encoded.sensitive):
        declared = run.schema[attribute.name]
        values = _values(attribute, run.encoded.sensitive_codes[:, j])
        mechanism = method.mechanism_for(declared)
        released = randomize(
            declared, values, epsilon / len(names), mechanism, folder=run.schema.folder, source=run.source
        )
        drawn.columns[attribute.name] = pa.array(released)
        drawn.events.append(Randomized(column=attribute.name, mechanism=mechanism, epsilon_spent=epsilon / len(names)))
    local = LocalPrivacy(columns=names, epsilon=epsilon)
    close = DrawnCloseness.made(epsilon, records=len(run.encoded), smallest=int(sizes.min()))
    drawn.promises.extend([local.over(run.schema, method, cryptographic=run.source.cryptographic), close])
    return drawn


def _values(attribute: SensitiveAttribute, codes: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> list[str]:
    labels = [attribute.labels[code] for code in codes.tolist()]
    known = [label for label in labels if label is not None]
    if len(known) < len(labels):
        raise DataError(
            f"column `{attribute.name}`: {len(labels) - len(known):,} records miss a value, which cannot be randomised",
            hint='leave these records out: missing = "drop" in the schema',
        )
    return known
