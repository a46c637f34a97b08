"""Classes of a scheme as distinct tuples of released values, what the operator makes of them, and filters on that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.hierarchies import Hierarchy
from shoal.kernels import Codes, Floats, Integers
from shoal.mechanisms import RandomSource
from shoal.methods.truthful._operators import Operator
from shoal.models import Classes, Model, keep
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import Frequencies, SensitiveAttribute, group


@dataclass(frozen=True, eq=False, repr=False)
class Tuples:
    """Distinct tuples of generalised values, each with a number of records."""

    #: One per column.
    hierarchies: tuple[Hierarchy, ...]
    #: One row per tuple, one column per column: the level of the value and its code at that level.
    levels: Codes
    codes: Codes
    #: Records per tuple.
    counts: Integers

    def __len__(self) -> int:
        return len(self.counts)

    def chosen(self, rows: npt.NDArray[np.bool_] | Integers) -> Tuples:
        """Return some of the tuples."""
        return Tuples(
            hierarchies=self.hierarchies, levels=self.levels[rows], codes=self.codes[rows], counts=self.counts[rows]
        )

    def with_counts(self, counts: Integers) -> Tuples:
        """Return the same tuples with other numbers of records."""
        return replace(self, counts=counts)

    @cached_property
    def positions(self) -> Integers:
        """The position of every value in ``labels``, one column per column."""
        columns = [
            np.cumsum([0, *map(len, hierarchy.labels)])[self.levels[:, j]] + self.codes[:, j]
            for j, hierarchy in enumerate(self.hierarchies)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0), dtype=np.int64)

    def labels(self, column: int) -> tuple[str | None, ...]:
        """Return the values of all levels of a column, the finest level first."""
        return tuple(label for level in self.hierarchies[column].labels for label in level)

    def shares(self, column: int) -> Floats:
        """Return the part of the domain that each value of a column covers, one per tuple."""
        return np.asarray(np.concatenate(self.hierarchies[column].shares)[self.positions[:, column]])


def draw_counts(tuples: Tuples, operator: Operator, source: RandomSource) -> Tuples:
    """Draw how many copies of each tuple are released, and keep those of which any are.

    Guarantee
    ---------
    That of the operator, if the scheme was chosen without these random bits. All released columns are part of the
    tuples.
    """
    drawn = tuples.with_counts(operator.shown(tuples.counts, source))
    return drawn.chosen(drawn.counts > 0)


def filters(models: Sequence[Model]) -> list[Model]:
    """Return the models that may leave drawn classes out.

    One that asks for nothing but a size of classes sets the least size beforehand, and every drawn class satisfies it.
    """
    return [model for model in models if not model.capabilities.decided_by_size]


def filtered(tuples: Tuples, models: Sequence[Model], schema: Schema, sensitive: Sequence[str]) -> Tuples:
    """Leave out the drawn classes that violate a model.

    Which classes these are is a function of the drawn tuples and their counts alone. (epsilon, delta)-differential
    privacy of the *standard* definition is closed under such post-processing, so the filter costs nothing, whatever
    the model. The probabilistic definition is not closed: a filter gives outcomes of different counts one result, the
    class left out, and merges a ratio that is too large with likely outcomes. So beside a filter the standard one is
    promised (`DifferentialPrivacy.post_processed`).
    """
    while models and len(tuples):
        frequencies = as_frequencies(tuples, schema, sensitive)
        kept = keep(models, Classes.grouped(frequencies))
        if kept.all():
            break
        tuples = tuples.chosen(kept[group(frequencies.codes)[0]])
    return tuples


def as_frequencies(tuples: Tuples, schema: Schema, sensitive: Sequence[str]) -> Frequencies:
    """Return released tuples as models look at them: classes by quasi-identifiers, histograms of sensitive values."""
    names = [hierarchy.attribute for hierarchy in tuples.hierarchies]
    quasi = [j for j, name in enumerate(names) if name in schema.quasi_identifiers]
    found = [_sensitive(schema[name], tuples, names.index(name)) for name in sensitive]
    return Frequencies(
        hierarchies=tuple(tuples.hierarchies[j] for j in quasi),
        codes=np.asfortranarray(tuples.positions[:, quasi].astype(np.int32)),
        counts=tuples.counts,
        sensitive=tuple(attribute for attribute, _ in found),
        sensitive_codes=np.stack([codes for _, codes in found], axis=1)
        if found
        else np.zeros((len(tuples), 0), dtype=np.int32),
    )


def _sensitive(attribute: Attribute, tuples: Tuples, column: int) -> tuple[SensitiveAttribute, npt.NDArray[np.int32]]:
    """Return a sensitive column as a checker of the release will see it."""
    hierarchy, codes = tuples.hierarchies[column], tuples.codes[:, column]
    ordered, labels = attribute.kind is not Kind.CATEGORICAL, hierarchy.labels[0]
    order = sorted(range(hierarchy.size), key=lambda leaf: _place(attribute, labels[leaf])) if ordered else []
    if attribute.hierarchy is not None and order == sorted(order):
        found = SensitiveAttribute(
            name=attribute.name, size=hierarchy.size, ordered=ordered, labels=labels, hierarchy=hierarchy
        )
        return found, codes
    places = np.argsort(order)[codes] if ordered else codes
    present, ranks = np.unique(places, return_inverse=True)
    labels = tuple(labels[order[place] if ordered else place] for place in present)
    found = SensitiveAttribute(name=attribute.name, size=len(present), ordered=ordered, labels=labels)
    return found, ranks.astype(np.int32)


def _place(attribute: Attribute, label: str | None) -> tuple[int, float | str]:
    """Return where a value stands in the order of its column: by number, as declared, by day; a missing one last."""
    if label is None:
        return 1, 0.0
    if attribute.kind is Kind.NUMERIC:
        return 0, float(label)
    if attribute.kind is Kind.ORDINAL and attribute.domain is not None and attribute.domain.values is not None:
        return 0, float(attribute.domain.values.index(label))
    return 0, label
