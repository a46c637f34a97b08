"""Other promises beside differential privacy: filters on what was sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.methods.truthful._tuples import Tuples
from shoal.models import Classes, Model, keep
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import Frequencies, SensitiveAttribute, group

__all__ = ["as_frequencies", "filtered", "filters"]


def filters(models: Sequence[Model]) -> list[Model]:
    """Return the models that may leave sampled classes out.

    One that asks for nothing but a size of classes raises k beforehand, and every sampled class satisfies it.
    """
    return [model for model in models if not model.capabilities.decided_by_size]


def filtered(tuples: Tuples, models: Sequence[Model], schema: Schema, sensitive: Sequence[str]) -> Tuples:
    """Leave out the sampled classes that violate a model.

    Which classes these are is a function of the sampled tuples and their counts alone. (epsilon, delta)-differential
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
