"""What a data set of noisy centroids promises: for each target what is proved of it, and no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from shoal.exact import plain
from shoal.guarantees import Neighbours, Promise, Strength
from shoal.methods.noise._sensitivity import Target

__all__ = ["BOUNDED", "GIVEN_PARTITION", "NOISE", "RECORD_QUERY", "privacy_promise"]

#: names of promises, with the target that each is about; only the first is differential privacy of the records
BOUNDED, GIVEN_PARTITION, RECORD_QUERY = (
    "bounded-differential-privacy",
    "privacy-given-partition",
    "record-query-privacy",
)
NOISE: dict[str, Target] = {BOUNDED: "original", GIVEN_PARTITION: "partition", RECORD_QUERY: "record-query"}
_NAMES: dict[Target, str] = {target: name for name, target in NOISE.items()}

LARGEST_SHOWN = 100
"""From this epsilon on, the factor that it stands for is not written out: it says nothing any more."""

_STATEMENTS: dict[Target, str] = {
    "original": "Replacing any one record by another{complete} changes the probability of what is released by a factor "
    "of at most {factor}.",
    "partition": "Given which records share a cluster, replacing the values of any one record changes the probability "
    "of what is released by a factor of at most {factor}. Who shares a cluster with whom is not protected.",
    "record-query": "Replacing any one record changes the probability of the answer to a query for one record, and for "
    "one only, by a factor of at most {factor}. The released table as a whole is not protected by it.",
}

_CONDITIONS: dict[Target, tuple[str, ...]] = {
    "original": (),
    "partition": (
        "The partition into clusters is public: it was computed from the records, and what it tells about them is "
        "not protected.",
    ),
    "record-query": (
        "Somebody sees the answer for a single record. The released table answers for all of them, and a change of one "
        "record may reach every cluster: the table as a whole is not protected by this epsilon.",
        "The record that is asked for stays in its cluster when a record changes.",
    ),
}


def privacy_promise(
    target: Target, *, k: int, epsilon: Fraction, cryptographic: bool, left_out: Sequence[str] = ()
) -> Promise:
    """Return what is promised.

    Parameters
    ----------
    target
        What is protected: see `dp_microaggregate`.
    k, epsilon
        The least size of a cluster, and what all attributes spend together.
    cryptographic
        Whether the random bits came from the operating system rather than from a seed.
    left_out
        Columns that left out records which miss a value of them.

    Examples
    --------
    >>> privacy_promise("original", k=5, epsilon=Fraction(1), cryptographic=True).strength.value
    'unconditional'
    >>> privacy_promise("partition", k=5, epsilon=Fraction(1), cryptographic=True).model
    'privacy-given-partition'
    """
    doubts = [*_CONDITIONS[target]]
    if not cryptographic:
        doubts.append("Nobody knows the seed that the random numbers came from.")
    columns = ", ".join(f"`{name}`" for name in left_out)
    counted = [f"Records that miss a value of {columns} are not covered: how many are left is public."]
    return Promise(
        model=_NAMES[target],
        parameters={"epsilon": plain(epsilon), "target": target, "k": k},
        strength=Strength.CONDITIONAL if doubts else Strength.UNCONDITIONAL,
        statement=_STATEMENTS[target].format(
            factor=_factor(epsilon), complete=", both without a missing value," * bool(left_out)
        ),
        assumptions=(
            *doubts,
            "The number of records is public; the promise hides what a record says, not that it is there.",
            *(counted if left_out else []),
            "One person has one record; with r records of a person epsilon counts r times.",
            "Bounds, values, hierarchies and all parameters were declared without looking at the data.",
            "Messages, running time and the private report stay with the publisher.",
            "Every further release or answer from the same records adds its own epsilon.",
        ),
        neighbours=Neighbours.REPLACE,
    )


def _factor(epsilon: Fraction) -> str:
    return f"e^{plain(epsilon)}" + (f" = {math.exp(epsilon):.3g}" if epsilon < LARGEST_SHOWN else "")
