"""Methods that exchange values between near records: probabilistic k-anonymity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

from shoal.errors import ParameterError
from shoal.exact import Arguments
from shoal.methods.base import Keeps, Made, Work
from shoal.methods.classes._clusters import Categories, compared_as, mdav_clusters
from shoal.methods.classes._make_clusters import rank_and_swap, swap
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._microaggregation import Clustering, Points
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._people import Classified, Form, People
from shoal.models import Model, ProbabilisticKAnonymity
from shoal.schema import Schema

__all__ = ["IndividualRankingSwap", "Swap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap(Clustering):
    """Cluster near records in groups of k and exchange, at random, who has which other values (MDAV-SWAP).

    Every value stays in the table, and so do the quasi-identifiers of every record among themselves and all other
    columns among themselves: only how the two go together blurs, inside clusters of near records that nobody publishes.

    Parameters
    ----------
    block, strategy
        See :class:`Mdav`.
    categories
        ``"semantic"``, ``"points"`` or ``"auto"``; see :class:`Mdav`.

    Guarantee
    ---------
    Conditional: probabilistic k-anonymity against uninformed intruders. The quasi-identifiers of a cluster, all
    together, get a uniformly random permutation against the other columns, so each of its |C| >= k records is a
    person's with probability 1/|C| <= 1/k [SC13 Def. 5, section 3.3.1]. Promises about sensitive values hold for the
    clusters. **Not k-anonymity**: quasi-identifiers are released as they are, and who is in the table is plain to see.

    Assumptions
    -----------
    An intruder knows the quasi-identifiers of everybody, the clusters and the method, but not the permutation, which is
    drawn from the operating system's generator, and no other column of anybody (uninformed intruder). Records
    are hidden, values are not: one that m of the |C| records share is a person's with probability m/|C|. A column that
    stays and from which an exchanged one follows undoes the exchange. Clusters are made without looking at sensitive
    values; where promises about these merge some, the k is that of the clusters before, since a merge tells which
    failed.

    Notes
    -----
    Releasing the other columns permuted, as is done here, is the same as permuting the quasi-identifiers [SC13, section
    3.3.2]. Cost as :class:`Mdav`.

    Examples
    --------
    >>> Swap().form
    'permuted'
    """

    form: Form = "permuted"
    categories: Categories = "auto"
    name: ClassVar[str] = "swap"
    title: ClassVar[str] = "Swap"
    keeps: ClassVar[Keeps] = Keeps(crowd=ProbabilisticKAnonymity.name)

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        self._check(arguments)
        arguments.choice("form", self.form, ("permuted",))
        arguments.choice("categories", self.categories, get_args(Categories))
        arguments.finish()

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        seen = [model for model in models if not model.capabilities.linkage and not model.capabilities.sensitive]
        found = [*_asked(self, models), *(_shown(self, model) for model in seen), *_kept_apart(self, schema)]
        if self.strategy != "merge-first":
            found.append(
                f'`strategy` of `{self.title}` must be "merge-first": clusters that are made of sensitive values tell '
                "how these were exchanged"
            )
        return found

    def make(self, work: Work) -> Made:
        """Exchange all but the quasi-identifiers inside clusters of near records."""
        return swap(work, self)

    def compared(self, people: People) -> str:
        """Say how categories are compared: ``"semantic"`` or ``"points"``."""
        return compared_as(people, self.categories, self.block)

    def cluster(self, people: People, places: Points, k: int) -> Partition:
        """Return clusters of k to 2k - 1 records, by MDAV."""
        return mdav_clusters(people, places, k, block=self.block, compared=self.compared(people))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndividualRankingSwap(PartitionMethod):
    """Rank the records by each sensitive column and exchange its values, at random, between k neighbours (IR-SWAP).

    Every sensitive column is treated on its own; all other columns stay as they are.

    Guarantee
    ---------
    Conditional: probabilistic k-anonymity against informed intruders. One who knows every column of a person but one
    sensitive column finds the record that the person's value of that one was moved to with probability 1/|C| <= 1/k, C
    the cluster of ranks [SC13 Def. 5, sections 3.3.2 and 3.3.3]. **Not k-anonymity**: quasi-identifiers are released as
    they are.

    Assumptions
    -----------
    The intruder knows the clusters and the method, but not the permutations, which are drawn from the generator of the
    operating system, and no value of the column in question of anybody else. Values of a cluster are near each other,
    so the value itself is learnt with the precision of its cluster: take k much larger than for k-anonymity [SC13,
    section 3.5].

    Notes
    -----
    Numbers, days and ordinal values are ranked by their order, categories by the order of their hierarchy, where near
    values are neighbours; missing values come last. No scaling is needed. O(n log n) per column.

    Examples
    --------
    >>> IndividualRankingSwap().name
    'ir-swap'
    """

    form: Form = "permuted"
    name: ClassVar[str] = "ir-swap"
    title: ClassVar[str] = "IndividualRankingSwap"
    keeps: ClassVar[Keeps] = Keeps(crowd=ProbabilisticKAnonymity.name)

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.choice("form", self.form, ("permuted",))
        arguments.finish()

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        found = _asked(self, models)
        found += [_shown(self, model) for model in models if not model.capabilities.linkage]
        if not schema.sensitive:
            found.append(f"method `{self.name}` exchanges the values of sensitive columns; the schema names none")
        return found

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive columns that the method itself looks at."""
        return schema.sensitive

    def make(self, work: Work) -> Made:
        """Exchange the values of every sensitive column between records of near ranks."""
        return rank_and_swap(work)

    def classify(self, people: People, models: Sequence[Model]) -> Classified:
        """Refuse: every sensitive column has clusters of its own."""
        del people, models
        raise ParameterError(f"method `{self.name}` makes clusters of ranks, one partition for each sensitive column.")


def _asked(method: PartitionMethod, models: Sequence[Model]) -> list[str]:
    if any(model.capabilities.linkage for model in models):
        return []
    return [f"method `{method.name}` keeps `{ProbabilisticKAnonymity.title}`, which the plan does not promise"]


def _shown(method: PartitionMethod, model: Model) -> str:
    return (
        f"method `{method.name}` leaves quasi-identifiers as they are and cannot keep `{model.title}`; it keeps "
        f"`{ProbabilisticKAnonymity.title}`"
    )


def _kept_apart(method: PartitionMethod, schema: Schema) -> list[str]:
    """Ask for something to exchange."""
    if len(schema.names) > len(schema.quasi_identifiers) + len(schema.identifiers):
        return []
    return [f"method `{method.name}` exchanges the columns that are not quasi-identifiers; the schema names none"]
