"""A release drawn with differential privacy.

Everything that is put into the :class:`Release` for others to see is a function of the plan, of the private choice of
the scheme and of the drawn classes; what else is known of the input goes into its private report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal import tables
from shoal.errors import HierarchyError, ParameterError, Problems, RequirementError
from shoal.guarantees import (
    Event,
    Guarantee,
    Requirement,
    syntactic,
)
from shoal.hierarchies import Hierarchy, build
from shoal.mechanisms import RandomSource
from shoal.methods._opening import domains
from shoal.methods.base import PrivateReport, Result, Work
from shoal.methods.recode import Generalized
from shoal.methods.truthful._check import SEARCHES
from shoal.methods.truthful._operators import figures
from shoal.methods.truthful._promises import DifferentialPrivacy, listed, look_alike, released, released_names
from shoal.methods.truthful._scheme import Drawn, Tuples
from shoal.methods.truthful._steps import Filtered
from shoal.models import Classes, Model, keep
from shoal.risk import reidentification
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import Frequencies, SensitiveAttribute, group

if TYPE_CHECKING:
    from shoal.methods.truthful._method import Truthful
    from shoal.plan import Plan


def draw(work: Work, method: Truthful) -> Result:
    method = method.weighted({attribute.name: attribute.weight for attribute in released(work.plan.schema)})
    work, source = work.open(method=method, models=_resolved(work.plan, method)), work.source
    plan = work.plan
    privacy, models = plan.privacy, plan.class_models
    assert isinstance(privacy, DifferentialPrivacy)  # noqa: S101 - the plan asks for it
    sensitive = tuple(dict.fromkeys(name for model in models for name in model.capabilities.sensitive))
    work = work.limit_records(privacy.records_per_person)
    table = work.table
    frequencies = tables.encode(table, quasi_identifiers=released_names(plan.schema), sensitive=()).frequencies
    check_declared(frequencies)
    drawn = method.keeping(sensitive).draw(
        frequencies,
        privacy,
        k=_least(models),
        progress=work.watch.progress,
        cancelled=work.watch.cancelled,
        source=source,
    )
    tuples = filtered(drawn.tuples, filters(models), plan.schema, sensitive)
    if not len(tuples):
        raise RequirementError(
            "no combination of values is frequent enough to be released",
            hint="a larger epsilon or delta, coarser hierarchies, or fewer columns help",
        )
    classes, loss = as_frequencies(tuples, plan.schema, sensitive), _loss(tuples, method.weights)
    result = Result(
        plan=plan,
        table=tables.repeat(table, released_rows(tuples, plan.schema), tuples.counts),
        guarantee=_guarantee(plan, privacy, drawn, source),
        measures={"loss of released records": loss},
        after=reidentification(Classes.from_tuples(classes)),
        records=classes.records,
        domains=domains(plan.schema, frequencies),
        sensitive_hierarchies=tuple(each.hierarchy for each in classes.sensitive if each.hierarchy is not None),
        private=_private(plan.schema, frequencies, tuples, loss, table.left_out),
    )
    return work.release(result)


def _least(models: Sequence[Model]) -> int:
    """Return the least size of a class that promises about sizes ask for; all others filter what was drawn."""
    sizes = (model.capabilities for model in models if model.capabilities.decided_by_size)
    return max((each.minimal_class_size for each in sizes), default=1)


def _resolved(plan: Plan, method: Truthful) -> tuple[Requirement, ...]:
    """Return the promises of a plan with everything spelt out.

    The definition of privacy is the standard one where the release is a function of what was drawn: beside a filter,
    and where cells of a multi-dimensional scheme look alike.
    """
    merged = bool(filters(plan.class_models)) or (
        method.scheme == "multi-dimensional" and bool(look_alike(listed(plan.schema)))
    )

    def spelt(model: Requirement) -> Requirement:
        if not isinstance(model, DifferentialPrivacy):
            return model.resolve(plan.schema)
        shared = model.sharing(method.search_share(model.total)).resolve(plan.schema)
        return shared.post_processed() if merged else shared

    return tuple(map(spelt, plan.models))


def check_declared(frequencies: Frequencies) -> None:
    """Refuse what the plan's own check of the schema should have refused."""
    problems = Problems()
    for hierarchy in frequencies.hierarchies:
        if not hierarchy.provenance.reveals_nothing:
            problems.add(f"column `{hierarchy.attribute}`: its domain was read off the data")
    problems.raise_as(ParameterError)


def check_levels(title: str, levels: Mapping[str, int], hierarchies: Sequence[Hierarchy]) -> None:
    """Refuse levels that a hierarchy does not have."""
    problems = Problems()
    for problem in _above({hierarchy.attribute: hierarchy.height for hierarchy in hierarchies}, title, levels):
        problems.add(problem)
    problems.raise_as(ParameterError)


def level_problems(schema: Schema, title: str, levels: Mapping[str, int]) -> list[str]:
    """Return which levels a hierarchy does not have, decided by the schema alone."""
    heights = {each.name: _height(each, schema.folder) for each in released(schema) if each.name in levels}
    return _above({name: height for name, height in heights.items() if height is not None}, title, levels)


def _above(heights: Mapping[str, int], title: str, levels: Mapping[str, int]) -> list[str]:
    return [
        f"`levels` of `{title}` sets column `{name}` to level {levels[name]}; the highest level is {height}"
        for name, height in heights.items()
        if levels.get(name, 0) > height
    ]


def _height(attribute: Attribute, folder: Path) -> int | None:
    """Return the height of a hierarchy, which no value decides; None where it cannot be made from the schema."""
    low = None if attribute.domain is None else attribute.domain.minimum
    try:
        return build(attribute, pa.array([], pa.string()) if low is None else pa.array([low]), folder=folder).height
    except HierarchyError:
        return None


def crowd_problems(privacy: DifferentialPrivacy, models: Sequence[Model]) -> list[str]:
    """Return that promises about crowds cannot be kept where a person may be several records of a class."""
    records = privacy.records_per_person
    if not models or records is None or records == 1:
        return []
    return [
        f"`{models[0].title}` counts persons, and with {records:,} records per person a class of what was drawn "
        "may hold fewer of them than records; use one record per person (records_per_person = 1), or leave the other "
        "promises out"
    ]


def listing_problems(schema: Schema, sensitive: Sequence[str]) -> list[str]:
    """Return which hierarchies cannot go along with the release: those of values that nobody has listed."""
    problems = []
    for name in sensitive:
        attribute = schema[name]
        listed = attribute.domain is not None and attribute.domain.values is not None
        if attribute.hierarchy is not None and not listed and not attribute.hierarchy.lists_values:
            problems.append(
                f"column `{name}`: its hierarchy would be released with the values that occur; list its `values`, or "
                "leave the hierarchy out"
            )
    return problems


# -- what other promises leave out


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
        kept = keep(models, Classes.from_tuples(frequencies))
        if kept.all():
            break
        tuples = tuples.chosen(kept[group(frequencies.codes)[0]])
    return tuples


def as_frequencies(tuples: Tuples, schema: Schema, sensitive: Sequence[str]) -> Frequencies:
    """Return released tuples as models look at them: classes by quasi-identifiers, histograms of sensitive values."""
    names = [hierarchy.attribute for hierarchy in tuples.hierarchies]
    quasi = [j for j, name in enumerate(names) if name in schema.quasi_identifiers]
    columns = [_sensitive(schema[name], tuples, names.index(name)) for name in sensitive]
    return Frequencies(
        hierarchies=tuple(tuples.hierarchies[j] for j in quasi),
        codes=np.asfortranarray(tuples.positions[:, quasi].astype(np.int32)),
        counts=tuples.counts,
        sensitive=tuple(attribute for attribute, _ in columns),
        sensitive_codes=np.stack([codes for _, codes in columns], axis=1)
        if columns
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


# -- what leaves


def _guarantee(plan: Plan, privacy: DifferentialPrivacy, drawn: Drawn, source: RandomSource) -> Guarantee:
    promise = privacy.promise(
        covered=SEARCHES[drawn.choice.search],
        cryptographic=source.cryptographic,
        figures=figures(
            drawn.operator, sensitivity=drawn.choice.sensitivity, search_epsilon=drawn.choice.epsilon_spent
        ),
    )
    return Guarantee(
        promises=(promise, *(syntactic(model) for model in plan.class_models)),
        events=tuple(_events(plan, drawn)),
    )


def _events(plan: Plan, drawn: Drawn) -> list[Event]:
    hierarchies, filtering = drawn.tuples.hierarchies, filters(plan.class_models)
    generalized = Generalized(
        method=plan.method.name,
        columns=tuple(hierarchy.attribute for hierarchy in hierarchies),
        levels=drawn.levels or (),
        heights=tuple(hierarchy.height for hierarchy in hierarchies) if drawn.levels else (),
    )
    return [
        drawn.choice,
        generalized,
        drawn.operator.event(),
        *([Filtered(models=tuple(model.name for model in filtering))] if filtering else []),
    ]


def released_rows(tuples: Tuples, schema: Schema) -> pa.Table:
    """Return the released tuples as rows of values; a column that is nowhere generalised has its own type."""
    columns = {}
    for j, hierarchy in enumerate(tuples.hierarchies):
        values = pa.array(tuples.labels(j), pa.string()).take(pa.array(tuples.positions[:, j]))
        kind = schema[hierarchy.attribute].kind
        columns[hierarchy.attribute] = values if tuples.levels[:, j].any() else _typed(values, kind)
    return pa.table(columns)


def _typed(values: pa.StringArray, kind: Kind) -> pa.Array:
    """Return texts as what they are; decided by these texts alone."""
    types = {Kind.NUMERIC: (pa.int64(), pa.float64()), Kind.DATE: (pa.date32(),)}
    for wanted in types.get(kind, ()):
        try:
            return values.cast(wanted)
        except pa.ArrowInvalid:
            continue
    return values


def _loss(tuples: Tuples, weights: Mapping[str, float]) -> float:
    """Return the weighted mean share of the domain that the values of the released records cover."""
    given = np.array([weights.get(hierarchy.attribute, 1.0) for hierarchy in tuples.hierarchies])
    given = given if given.any() else np.ones(len(given))
    shares = np.average([tuples.shares(j) for j in range(len(given))], axis=0, weights=given)
    return float(np.average(shares, weights=tuples.counts))


# -- what stays


def _private(schema: Schema, frequencies: Frequencies, tuples: Tuples, loss: float, left_out: int) -> PrivateReport:
    quasi = [j for j, name in enumerate(frequencies.attributes) if name in schema.quasi_identifiers]
    alone = replace(
        frequencies,
        hierarchies=tuple(frequencies.hierarchies[j] for j in quasi),
        codes=np.asfortranarray(frequencies.codes[:, quasi]),
    )
    share = int(tuples.counts.sum()) / max(frequencies.records, 1)
    return PrivateReport(
        records=frequencies.records,
        left_out=left_out,
        released=int(tuples.counts.sum()),
        loss=1 - share * (1 - loss),
        before=reidentification(Classes.from_tuples(alone)),
    )
