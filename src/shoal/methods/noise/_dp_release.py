"""From records to noisy centroids: the released tables, and the steps that made them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from shoal.guarantees import Dropped, Event, Ordered
from shoal.mechanisms import RandomSource
from shoal.methods.base import DATA
from shoal.methods.classes import Records
from shoal.methods.noise._budget import EpsilonBudget
from shoal.methods.noise._dp import DPRelease, NoisyCentroids, dp_microaggregate
from shoal.methods.noise._dp_columns import UNITS, ConceptColumn, NumberColumn, concept_columns, number_columns
from shoal.methods.noise._dp_events import Clustered, ConceptsDrawn, KeptApart, Noised
from shoal.methods.noise._sensitivity import marginality_sensitivity
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.methods.brief import Brief
    from shoal.methods.noise._dp_method import DPMicroaggregation

__all__ = ["Columns", "Perturbed", "draw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The released columns; those of numbers with a single value have no noise and are apart."""

    numbers: tuple[NumberColumn, ...]
    concepts: tuple[ConceptColumn, ...]
    constants: tuple[NumberColumn, ...]

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """Return the columns that a schema declares."""
        every = number_columns(schema)
        return cls(
            numbers=tuple(each for each in every if each.width),
            concepts=concept_columns(schema),
            constants=tuple(each for each in every if not each.width),
        )

    @property
    def names(self) -> list[str]:
        """The names of the columns that have noise: numbers first."""
        return [*(each.name for each in self.numbers), *(each.name for each in self.concepts)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Perturbed:
    """What was drawn.

    Parameters
    ----------
    columns, release
        The columns, and their noisy centroids.
    events
        The steps.
    files
        The released tables by the name of their file, each sorted by its values.
    """

    columns: Columns
    release: DPRelease
    events: tuple[Event, ...]
    files: dict[str, pa.Table]


def draw(
    plan: Brief, method: DPMicroaggregation, columns: Columns, records: Records, *, source: RandomSource
) -> Perturbed:
    """Cluster records and draw the noise of their centroids; all that is random or private happens here."""
    (budget,) = plan.models
    assert isinstance(budget, EpsilonBudget)  # noqa: S101 - the plan asks for it and for nothing else
    made = dp_microaggregate(
        records,
        epsilon=budget.total,
        k=method.k,
        target=method.target,
        sets=method.attribute_sets(columns.numbers, columns.concepts),
        split=method.shares(columns.names),
        reference_points=method.reference_points,
        source=source,
    )
    run = _Run(plan=plan, method=method, columns=columns, release=made, records=len(records))
    events = _events(run)
    steps = {event.column: event.rounded_to for event in events if isinstance(event, Noised)}
    return Perturbed(columns=columns, release=made, events=tuple(events), files=_files(run, steps))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    plan: Brief
    method: DPMicroaggregation
    columns: Columns
    release: DPRelease
    records: int

    def names(self, part: NoisyCentroids) -> tuple[str, ...]:
        """Return the columns of a set of attributes, in the order of the schema."""
        own = {self.columns.numbers[place].name for place in part.attributes.numeric}
        own |= {self.columns.concepts[place].name for place in part.attributes.categorical}
        return tuple(name for name in self.plan.schema.names if name in own)

    def file(self, part: NoisyCentroids) -> str:
        """Return the data file of a set of attributes."""
        if self.release.target != "original" or len(self.release.parts) == 1:
            return DATA
        return f"set-{self.release.parts.index(part) + 1}.parquet"


def _files(run: _Run, steps: dict[str, Fraction]) -> dict[str, pa.Table]:
    """Return the released tables, each sorted by its values: their order holds nothing of the input's."""
    columns: dict[str, dict[str, pa.Array]] = {}
    for part, rows in zip(run.release.parts, run.release.table(), strict=True):
        own = columns.setdefault(run.file(part), {})
        for place, values in zip(part.attributes.numeric, rows.numeric.T, strict=True):
            number = run.columns.numbers[place]
            own[number.name] = number.released(values, steps[number.name])
        for place, codes in zip(part.attributes.categorical, rows.codes.T, strict=True):
            own[run.columns.concepts[place].name] = run.columns.concepts[place].released(codes)
    for constant in run.columns.constants:
        first = next(iter(columns.values()))
        first[constant.name] = constant.released(np.full(run.records, constant.lower), Fraction(1))
    return {file: _sorted(own, run.plan.schema) for file, own in columns.items()}


def _sorted(columns: dict[str, pa.Array], schema: Schema) -> pa.Table:
    names = [name for name in schema.names if name in columns]
    return pa.table({name: columns[name] for name in names}).sort_by([(name, "ascending") for name in names])


def _events(run: _Run) -> list[Event]:
    schema, made = run.plan.schema, run.release
    events: list[Event] = [Dropped(columns=schema.identifiers)] if schema.identifiers else []
    for part in made.parts:
        sizes, counts = np.unique(part.sizes, return_counts=True)
        events.append(
            Clustered(
                target=made.target,
                variant=run.method.variant,
                columns=run.names(part),
                clustering=part.clustering,
                records=run.records,
                k=made.k,
                sizes=tuple(zip(sizes.tolist(), counts.tolist(), strict=True)),
                file=run.file(part),
            )
        )
        events += [_noised(run, part, place) for place in part.attributes.numeric]
        events += [_drawn(run, part, place) for place in part.attributes.categorical]
    files = tuple(dict.fromkeys(run.file(part) for part in made.parts))
    return [*events, *([KeptApart(files=files)] if len(files) > 1 else []), Ordered()]


def _noised(run: _Run, part: NoisyCentroids, place: int) -> Noised:
    number, made = run.columns.numbers[place], run.release
    event = Noised(
        column=number.name,
        target=made.target,
        share=made.epsilons[place],
        clusters=len(part.sizes),
        width=number.width,
        sizes=tuple(np.unique(part.sizes).tolist()) if made.target == "partition" else (made.k,),
        natural_order=part.clustering == "natural order",
        rounded_to=Fraction(1),
        unit=UNITS[number.attribute.kind],
    )
    # the least noise that a cluster may have decides, so that the step says nothing about the sizes
    least = event.scale(2 * made.k - 1 if made.target == "partition" else made.k)
    return replace(event, rounded_to=number.step(least, run.method.decimals.get(number.name)))


def _drawn(run: _Run, part: NoisyCentroids, place: int) -> ConceptsDrawn:
    concept, made, clusters = run.columns.concepts[place], run.release, len(part.sizes)
    share = made.epsilons[len(run.columns.numbers) + place]
    return ConceptsDrawn(
        column=concept.name,
        target=made.target,
        share=share,
        clusters=clusters,
        concepts=concept.taxonomy.count,
        missing=None in concept.labels,
        sensitivity=marginality_sensitivity(concept.taxonomy),
        choice=share / clusters if made.target == "original" else share,
    )
