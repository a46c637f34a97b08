"""Microaggregation under closeness in the earth mover's distance, or under any model of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from shoal.exact import one_of
from shoal.methods.classes._by_block import BlockMethod, BlockRecords
from shoal.methods.classes._columns import HeldRecords
from shoal.methods.classes._near_classes import Strategy, microaggregate_points
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._run import Classified, Form
from shoal.models import Model

BLOCK = 125_000
"""Above so many records the executors of Spark make classes block by block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TMicroaggregate(BlockMethod):
    """Group near records so that every class satisfies the promises; confidential values stay as they are.

    Made for t-closeness in the earth mover's distance; any promise about classes will do.

    Parameters
    ----------
    form
        What is released: ``microaggregated``, ``generalized`` or ``anatomy``; see :data:`Form`.
    strategy
        ``"merge-first"``: clusters of the least size that the models allow; then failing clusters are merged with
        their neighbours. Good for weak promises. ``"closeness-first"``: classes have about the right distribution
        from the beginning; better the stronger closeness is. ``"best"``: both, and the one with the lower sum of
        squared errors is kept; closeness first alone where there are more than 200,000 records.

    Guarantee
    ---------
    Syntactic: the promises, decided exactly on the released classes.

    Assumptions
    -----------
    Those of the promises.

    Examples
    --------
    >>> TMicroaggregate(strategy="merge-first").name
    't-microaggregate'
    """

    form: Form = field(default="microaggregated", metadata=one_of("microaggregated", "generalized", "anatomy"))
    strategy: Strategy = field(default="best", metadata=one_of(*get_args(Strategy)))
    name: ClassVar[str] = "t-microaggregate"

    def classify(self, people: HeldRecords, models: Sequence[Model]) -> Classified:
        """Make classes by the strategy."""
        partition = microaggregate_points(
            people.points,
            people.sensitive,
            people.codes,
            models,
            self.strategy,
            persons=people.persons,
            shown=people.shown,
        )
        return Classified(partition=partition)

    def block_rows(self, models: Sequence[Model]) -> int:
        """Return the records of a block: values are not generalised in blocks, which do not know all of them."""
        del models
        return BLOCK if self.form != "generalized" else 0

    def partition_block(self, block: BlockRecords) -> Partition:
        """Make the classes of a block by the strategy."""
        return block.microaggregated(self.strategy)
