"""Classes that are close by construction: every class takes its share of every bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from shoal.exact import WHOLE, one_of, optional
from shoal.guarantees import Event, ExpectedStep, once
from shoal.kernels import Floats, Integers
from shoal.mechanisms import RandomSource
from shoal.methods.classes._block_forms import BlockBuckets
from shoal.methods.classes._block_task import BlockRecords
from shoal.methods.classes._buckets import Bucketized, make_buckets
from shoal.methods.classes._by_block import BlockMethod
from shoal.methods.classes._columns import HeldRecords
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._microaggregation import BLOCK
from shoal.methods.classes._near_classes import TRIAL_WORK, best, class_sizes, sample
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._quotas import assign, quotas
from shoal.methods.classes._run import Classified, Form, bucket_codes
from shoal.methods.classes._steps import CLASS_STEPS
from shoal.models import Model, MultiplicativeCloseness
from shoal.schema import Schema
from shoal.tables import Blocks, SensitiveAttribute, free_name, group

if TYPE_CHECKING:
    from shoal.plan import Plan

SPARED = 4
"""A block may use up one of so many parts of what a factor exceeds 1 by."""


_FORMS = [form for form in get_args(Form) if form != "suppressed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucketize(BlockMethod):
    """Replace confidential values by buckets and make classes in which every bucket keeps its share, up to a factor.

    Which attributes become buckets, and the factor t, are read off the promises: every promise that bounds a factor, as
    :class:`MultiplicativeCloseness` does. Several attributes get buckets together, so that their joint distribution
    is close.

    Parameters
    ----------
    form
        What is released; see :data:`Form`.
    buckets
        The most buckets; floor(t) + 1 where not given, the number that uses up t [DFSC15 6.1].
    class_size
        About how many records a class gets; tried out where not given.

    Guarantee
    ---------
    Syntactic: multiplicative t-closeness and k-anonymity of the released buckets, with the t and k that were achieved,
    computed exactly on the result. Conditional: epsilon-differential privacy of an intruder's view, t = exp(epsilon /
    2) [DFSC15 Prop. 3].

    Assumptions
    -----------
    For the conditional promise: before seeing the release the intruder believes what the distribution in it says.

    Notes
    -----
    See `bucketize_points`. In the form ``permuted`` classes are not published, which protects better against intruders
    who know other people's values [SC13 7.3.2], but then nobody can check the classes on the release alone.

    Examples
    --------
    >>> Bucketize(form="anatomy").parameters()
    {'form': 'anatomy', 'buckets': None, 'class_size': None}
    """

    form: Form = field(
        default="microaggregated", metadata=one_of("microaggregated", "generalized", "permuted", "anatomy")
    )
    buckets: int | None = field(default=None, metadata=optional(WHOLE))
    class_size: int | None = field(default=None, metadata=optional(WHOLE))
    step_kinds: ClassVar[tuple[type[Event], ...]] = (*CLASS_STEPS, Bucketized)
    name: ClassVar[str] = "bucketize"
    about: ClassVar[str] = "Groups in which every secret keeps its share."

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = PartitionMethod.problems(self, schema, models)
        if not any(model.capabilities.factor is not None for model in models):
            problems.append(
                f"method `{self.name}` needs a promise that bounds a factor, for example "
                '`MultiplicativeCloseness("illness", 2)`: --promise "multiplicative-closeness attribute=illness t=2"'
            )
        if self.form == "permuted":
            problems += [
                f"`{model.title}` cannot be promised of classes that are not published (form `permuted`)"
                for model in models
                if model.capabilities.factor is None and not model.capabilities.decided_by_size
            ]
        return problems

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Make buckets and classes."""
        names, t = _closest(models)
        columns = [people.column(name) for name in names]
        buckets = make_buckets([people.sensitive[j] for j in columns], people.codes[:, columns], self._most(t))
        k = max(model.capabilities.minimal_class_size for model in models)
        partition = bucketize_points(people.points, buckets.numbers, t, k, class_size=self.class_size)
        event = Bucketized(columns=names, buckets=len(buckets.sizes), sizes=tuple(buckets.sizes.tolist()))
        return Classified(partition=partition, buckets=buckets, bucketized=names, events=(event,))

    def expected_classes(self, plan: Plan, names: Sequence[str]) -> list[ExpectedStep]:
        """Return the steps that make buckets and classes."""
        columns, t = _closest(plan.class_models)
        most = self._most(t)
        buckets = once(Bucketized, columns=columns, allows=lambda step: step.buckets <= most)
        return [buckets, *BlockMethod.expected_classes(self, plan, names)]

    def _most(self, t: Fraction) -> int:
        return self.buckets or t.numerator // t.denominator + 1

    def block_rows(self, models: Sequence[Model]) -> int:
        """Return the records of a block: its classes are made for closeness and for sizes, and for nothing else."""
        alone = all(model.capabilities.factor is not None or model.capabilities.decided_by_size for model in models)
        return BLOCK if self.form != "generalized" and alone else 0

    def of_blocks(self, models: Sequence[Model], sensitive: Sequence[SensitiveAttribute]) -> tuple[Model, ...]:
        """Ask of every block that its buckets are close to those of the table, with most of the factor to spare."""
        _, t = _closest(models)
        return (MultiplicativeCloseness(sensitive[-1].name, 1 + (t - 1) / SPARED),)

    def make_buckets(self, blocks: Blocks, models: Sequence[Model]) -> tuple[Blocks, BlockBuckets | None]:
        """Make the buckets of the whole table, and one attribute more, last: the buckets of all columns together."""
        names, t = _closest(models)
        attributes = [attribute for name in names for attribute in blocks.sensitive if attribute.name == name]
        tuples, counts = blocks.combinations(names)
        buckets = make_buckets(attributes, tuples, self._most(t), counts)
        released = bucket_codes(attributes, buckets)
        own = np.stack([codes for _, codes in released], axis=1).astype(np.int32)
        number, firsts = group(own)
        joint = free_name("bucket", [attribute.name for attribute in blocks.sensitive])
        together = SensitiveAttribute(name=joint, size=int(number.max()) + 1, ordered=False)
        codes = np.concatenate([own, number[:, None]], axis=1)
        sizes = np.bincount(buckets.numbers, weights=counts).astype(np.int64)
        event = Bucketized(columns=names, buckets=len(sizes), sizes=tuple(sizes.tolist()))
        made = blocks.replace_codes(names, (tuples, counts), [*(each for each, _ in released), together], codes)
        labels = tuple(tuple(row[buckets.numbers[first]] for row in buckets.labels) for first in firsts)
        return made, BlockBuckets(event=event, joint=MultiplicativeCloseness(joint, t), labels=labels)

    def partition_block(self, block: BlockRecords) -> Partition:
        """Make classes that are close to the block by what its own distance from the table leaves of the factor."""
        _, t = _closest(block.task.models)
        numbers, every = block.codes[:, -1], block.totals[block.task.sensitive[-1].name]
        shares = [
            Fraction(int(mine) * int(every.sum()), len(numbers) * int(other))
            for mine, other in zip(np.bincount(numbers, minlength=len(every)), every, strict=True)
        ]
        # p / q <= t where p / r <= t / f and r / q <= f; and the same the other way round
        left = t / max(max(share, 1 / share) for share in shares)
        return bucketize_points(block.points, numbers, left, block.task.k, class_size=self.class_size)


def _closest(models: Sequence[Model]) -> tuple[tuple[str, ...], Fraction]:
    """Return the columns that become buckets, and the least factor that is promised."""
    close = [model for model in models if model.capabilities.factor is not None]
    t = min(model.capabilities.factor or Fraction(1) for model in close)
    return tuple(dict.fromkeys(name for model in close for name in model.capabilities.sensitive)), t


def bucketize_points(
    places: Floats, numbers: Integers, t: Fraction, k: int, *, class_size: int | None = None
) -> Partition:
    """Partition records into classes in which no bucket is more than t times as frequent, or as rare, as in all.

    Every class emphasises one bucket: it takes the fewest records that t allows from every other bucket and fills up
    from its own. Within these quotas, classes gather records that are near on the quasi-identifiers [DFSC15 6; SC13
    7.2].

    ``numbers`` are the buckets 0, 1, ... of the records, none empty (see `make_buckets`); t is in [1, inf), k in [1,
    number of records]. ``class_size`` is about how many records a class gets, at least k. By default a few sizes from k
    on are tried, on a sample where the table is large, and the one with the least sum of squared errors is taken:
    somewhat larger classes can emphasise their bucket more.

    Guarantee
    ---------
    Syntactic: multiplicative t-closeness of the buckets [DFSC15 Def. 4] and classes of at least k records, both by
    integer quotas. `closeness` computes on the result what was achieved.

    Assumptions
    -----------
    Released in place of the confidential values are their buckets; a bucket that is released together with the values
    in it says nothing about how these are distributed inside the class.

    Notes
    -----
    The class size follows from k, t and the rarest bucket, whose share of a class must reach 1/t of a record. O(N m
    classes per block) after O(N log N); a million records in some 10 seconds.

    Examples
    --------
    >>> ages, buckets = np.array([[20.0], [21], [22], [40], [41], [42]]), np.array([0, 1, 2, 0, 1, 2])
    >>> bucketize_points(ages, buckets, Fraction(2), 3).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    sizes = np.bincount(numbers)
    least = int(quotas(sizes, t, k).sizes.min())
    size = _class_size(places, numbers, t, least) if class_size is None else min(max(class_size, k), len(numbers))
    return Partition(assign(places, numbers, quotas(sizes, t, size))).require(k)


def _class_size(places: Floats, numbers: Integers, t: Fraction, k: int) -> int:
    rows = sample(places, numbers)
    some, mine = places[rows], np.unique(numbers[rows], return_inverse=True)[1]
    sizes = np.bincount(mine)
    options = [size for size in class_sizes(t, k, len(sizes)) if size <= len(rows)]

    def try_size(size: int) -> Partition:
        return Partition(assign(some, mine, quotas(sizes, t, size), work=TRIAL_WORK))

    return best(options, try_size, some) if len(options) > 1 else k
