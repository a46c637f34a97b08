"""Anatomy: quasi-identifiers and confidential values in two tables, linked by the class alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import RequirementError
from shoal.exact import one_of
from shoal.mechanisms import RandomSource
from shoal.methods.classes._block_task import BlockRecords
from shoal.methods.classes._by_block import BlockMethod
from shoal.methods.classes._columns import HeldRecords
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._microaggregation import BLOCK
from shoal.methods.classes._near_classes import microaggregate_points
from shoal.methods.classes._partition import Partition, as_column, require_size
from shoal.methods.classes._run import Classified, Form, classes_of, find_satisfying
from shoal.models import Model
from shoal.schema import Schema

Grouping = Literal["quasi-identifiers", "confidential"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy(BlockMethod):
    """Release all values as they are, in two tables: the class of every record, and the values of every class.

    Parameters
    ----------
    grouping
        ``"quasi-identifiers"``: classes of people who are near on their quasi-identifiers, merged until the promises
        hold. ``"confidential"``: classes of near confidential values [SC13 Alg. 7.1]; take a large k, and expect an
        intruder to learn the value with the precision of the class.
    attribute
        The confidential attribute to group by; the only sensitive column where not given.

    Guarantee
    ---------
    Syntactic: the promises hold for the classes; a person's confidential values are hidden among those of the class
    [SC13 7.1.2]. Quasi-identifiers are *not* hidden: who is in the release is plain to see.

    Assumptions
    -----------
    Those of the promises. An intruder knows no confidential values of other people in the class.

    Notes
    -----
    For multiplicative closeness use :class:`Bucketize` with ``form="anatomy"``.

    Examples
    --------
    >>> Anatomy(grouping="confidential").form
    'anatomy'
    """

    form: Form = field(default="anatomy", metadata=one_of("anatomy"))
    grouping: Grouping = field(default="quasi-identifiers", metadata=one_of(*get_args(Grouping)))
    attribute: str | None = None
    name: ClassVar[str] = "anatomy"
    about: ClassVar[str] = "All values stay; groups hide who has which secret."

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = PartitionMethod.problems(self, schema, models)
        if self.grouping != "confidential":
            return problems
        if self.attribute is None and len(schema.sensitive) != 1:
            problems.append(
                f"`attribute` of `{self.title}` must name one of the {len(schema.sensitive)} sensitive columns"
            )
        elif self.attribute is not None and self.attribute not in schema.sensitive:
            problems.append(f"`attribute` of `{self.title}` must be a sensitive column; got `{self.attribute}`")
        return problems

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return () if self.grouping != "confidential" else (self.attribute or schema.sensitive[0],)

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Make classes by quasi-identifiers, or by the confidential attribute."""
        if self.grouping == "quasi-identifiers":
            made = microaggregate_points(
                people.points, people.sensitive, people.codes, models, "best", persons=people.persons, shown=True
            )
            return Classified(partition=made)
        name = self.attribute or people.sensitive[0].name
        k = max(model.capabilities.minimal_class_size for model in models)
        partition = partition_by_confidential(people.codes[:, people.column(name)].astype(np.float64), k)
        # whether persons keep them is looked at afterwards
        verdict = find_satisfying(models, classes_of(partition, people.sensitive, people.codes))
        if not verdict.all():
            raise RequirementError(
                f"{int((~verdict).sum()):,} of {len(verdict):,} classes of near confidential values break a promise",
                hint="group by quasi-identifiers, or promise k-anonymity alone with a large k",
            )
        return Classified(partition=partition)

    def block_rows(self, models: Sequence[Model]) -> int:
        """Return the records of a block: a ranking of confidential values has none."""
        del models
        return BLOCK if self.grouping == "quasi-identifiers" else 0

    def partition_block(self, block: BlockRecords) -> Partition:
        """Make the classes of a block by quasi-identifiers."""
        return block.microaggregate("best")


def partition_by_confidential(values: ArrayLike, k: int) -> Partition:
    """Partition records by rank of one confidential attribute: the k lowest, the k highest, and so on inwards.

    [SC13 Alg. 7.1]: while at least 3k records remain, the first k and the last k become classes; of 2k to 3k - 1 that
    remain the first k do; the rest is the last class. Equal values are taken in the order of their rows.

    Values of a class are near each other, so k has to be much larger than for a partition by quasi-identifiers: a tenth
    of all records, say [SC13 7.1.3]. Codes of an ordinal attribute will do as numbers.

    Guarantee
    ---------
    Every class holds k to 2k - 1 records, consecutive in rank. An intruder who knows the class of a person learns the
    confidential value to within the range of the class.

    Notes
    -----
    O(N log N). Meant for release forms that leave the quasi-identifiers alone: those of a class have nothing in common.

    Examples
    --------
    >>> partition_by_confidential([50.0, 10, 30, 20, 40, 70, 60], 2).labels.tolist()
    [2, 0, 2, 0, 2, 1, 1]
    """
    column = as_column(values)
    n = len(column)
    require_size(k, n, "partition_by_confidential")
    ends = (n - k) // (2 * k)  # classes taken from each end while 3k or more remain
    rest = n - 2 * k * ends
    # classes in the order of Algorithm 7.1, by their place in the ranking
    sizes = [k] * ends + ([k] if rest >= 2 * k else []) + [rest - k if rest >= 2 * k else rest] + [k] * ends
    names = [*range(0, 2 * ends, 2), *range(2 * ends, len(sizes)), *range(2 * ends - 1, 0, -2)]
    labels = np.empty(n, dtype=np.int32)
    labels[np.argsort(column, kind="stable")] = np.repeat(np.array(names, dtype=np.int32), sizes)
    return Partition(labels).require(k, 2 * k - 1)
