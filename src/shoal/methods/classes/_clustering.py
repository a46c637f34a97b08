"""What methods have in common that cluster records by their quasi-identifiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from shoal.exact import Arguments
from shoal.guarantees import Event
from shoal.kernels import Floats
from shoal.methods.classes._blocked import LEAST_BLOCK, blocked_mdav
from shoal.methods.classes._columns import People, few_concepts, fine_points, semantic_space
from shoal.methods.classes._events import Blocked, compared
from shoal.methods.classes._mdav import mdav
from shoal.methods.classes._median_cut import blocks
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._run import Classified
from shoal.methods.classes._t_microaggregate import Strategy, microaggregate_points
from shoal.models import Model
from shoal.schema import Kind

__all__ = ["Categories", "Clustering", "compared_as", "mdav_clusters"]

Categories = Literal["auto", "semantic", "points"]
"""How categories are compared: by their semantic distance; as points that have nearly these distances, which is faster;
or, automatically, by semantic distance where there are at most 5,000 records and 1,000 concepts, else as points."""

BLOCK = 125_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering(PartitionMethod):
    """What methods have in common that cluster records by their quasi-identifiers.

    Parameters
    ----------
    block
        Tables of more records are divided into blocks of at most so many, at least 40,000, each clustered on its own;
        0: never.
    strategy
        How promises about sensitive values are kept: ``"merge-first"`` merges failing clusters with their neighbours;
        ``"closeness-first"`` gives every class its share of the sensitive values from the beginning, where t-closeness
        is promised; ``"best"`` does both and keeps what loses less.
    """

    block: int = BLOCK
    strategy: Strategy = "merge-first"
    #: whether records are exchanged between clusters after blocks were clustered
    repairs: ClassVar[bool] = True

    @abstractmethod
    def cluster(self, people: People, places: Floats, k: int) -> Partition:
        """Return clusters of at least k near records, which lie at ``places``."""

    @abstractmethod
    def compared(self, people: People) -> str:
        """Say how categories are compared: ``"semantic"`` or ``"points"``."""

    def classify(self, people: People, models: Sequence[Model]) -> Classified:
        """Cluster the records, and merge clusters until every model holds."""
        columns = [column.attribute for column in people.quasi_identifiers]
        events: list[Event] = [compared(columns, self.compared(people))]
        fine = fine_points(people)

        def cluster(k: int) -> Partition:
            if 0 < self.block < len(people):
                sizes = [len(rows) for rows in blocks(fine, self.block, multiple=k)]
                events.append(Blocked(blocks=len(sizes), largest=max(sizes), repaired=self.repairs))
            return self.cluster(people, fine, k)

        # classes with a share of every sensitive value are wide: fine distances would cost time and change nothing
        places = fine if self.strategy == "merge-first" else people.points
        partition = microaggregate_points(
            places, people.sensitive, people.codes, models, self.strategy, clusters=cluster
        )
        return Classified(partition=partition, events=tuple(events))

    def _check(self, arguments: Arguments) -> None:
        arguments.choice("strategy", self.strategy, get_args(Strategy))
        if arguments.whole("block", self.block, minimum=0) and self.block < 2 * LEAST_BLOCK:
            arguments.problems.add(
                f"`block` of `{self.title}` must be 0 or at least {2 * LEAST_BLOCK:,}; got {self.block}."
            )


def compared_as(people: People, categories: Categories, block: int) -> str:
    """Say how categories are compared: ``"semantic"`` or ``"points"``; blocks are clustered as points."""
    if categories == "points" or 0 < block < len(people):
        return "points"
    few = categories == "semantic" or few_concepts(people.quasi_identifiers, len(people))
    some = any(column.attribute.kind is Kind.CATEGORICAL for column in people.quasi_identifiers)
    return "semantic" if few and some else "points"


def mdav_clusters(people: People, places: Floats, k: int, *, block: int, compared: str) -> Partition:
    """Return MDAV clusters of k to 2k - 1 records, which lie at ``places``."""
    if 0 < block < len(people):
        return blocked_mdav(places, k, block_rows=block)
    if compared == "semantic":
        return mdav(semantic_space(people.quasi_identifiers), k)
    return mdav(places, k)
