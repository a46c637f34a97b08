"""From a table and a plan to a release."""

from __future__ import annotations

from collections.abc import Callable

from shoal._run._by_block import aggregate_by_block, suits_blocks
from shoal._run._classes import classify
from shoal._run._dp_microaggregation import perturb
from shoal._run._microaggregation import aggregate_apart, rank_and_swap, swap
from shoal._run._recoding import recode
from shoal._run._slices import cut
from shoal._run._truthful import draw
from shoal.errors import ParameterError
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.methods.classes import IndividualRankingSwap, Microaggregation, PartitionMethod, Slice, Swap
from shoal.methods.noise import DPMicroaggregation
from shoal.methods.recode import Progress
from shoal.plan import Plan
from shoal.release import Release
from shoal.tables import Table

__all__ = ["run"]


def run(
    plan: Plan,
    table: Table,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    pseudonym_key: bytes | None = None,
    population: Table | None = None,
    source: RandomSource = SYSTEM,
) -> Release:
    """Carry out ``plan`` on ``table``; see :meth:`Plan.run`. A ``source`` other than the system's is for tests."""
    if plan.privacy is not None:
        if population is not None or pseudonym_key is not None:
            raise ParameterError(f"`{plan.privacy.title}` goes without a population and without pseudonyms.")
        return draw(plan, table, progress=progress, cancelled=cancelled, source=source)
    if isinstance(plan.method, DPMicroaggregation):
        if population is not None or pseudonym_key is not None:
            raise ParameterError(f"method `{plan.method.name}` goes without a population and without pseudonyms.")
        return perturb(plan, table, progress=progress, cancelled=cancelled, source=source)
    if isinstance(plan.method, PartitionMethod | Slice):
        if population is not None:
            raise ParameterError(f"method `{plan.method.name}` goes without a population.")
        if isinstance(plan.method, Slice):
            return cut(
                plan,
                table,
                run=run,
                progress=progress,
                cancelled=cancelled,
                pseudonym_key=pseudonym_key,
                source=source,
            )
        make = classify
        if isinstance(plan.method, Swap | IndividualRankingSwap):
            make = swap if isinstance(plan.method, Swap) else rank_and_swap
        elif isinstance(plan.method, Microaggregation) and len(plan.method.groups or ()) > 1:
            make = aggregate_apart
        elif table.source.kind == "spark" and suits_blocks(plan):
            make = aggregate_by_block
        return make(plan, table, progress=progress, cancelled=cancelled, pseudonym_key=pseudonym_key, source=source)
    return recode(
        plan,
        table,
        progress=progress,
        cancelled=cancelled,
        pseudonym_key=pseudonym_key,
        population=population,
    )
