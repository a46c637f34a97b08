"""Joint crowds of a series: the people whom no sequence of releases tells apart."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import numpy as np

from shoal.kernels import Counts, Integers, Mask

__all__ = ["Leavers", "State", "divide_crowds", "joint_crowds", "smallest_crowd"]


class State(IntEnum):
    """The state of a person in a release."""

    #: A row of this version of the table, in a class.
    SHOWN = 0
    #: The row of the release before, unchanged.
    FROZEN = 1
    #: No row: the person left, has not come yet, or is suppressed.
    ABSENT = 2


class Leavers(StrEnum):
    """The treatment of rows of people who are no longer in the table."""

    FROZEN = "frozen"
    SUPPRESSED = "suppressed"


def joint_crowds(before: Integers, states: Integers, classes: Integers) -> Integers:
    """Number the joint crowds after a release, given those before it and what the release shows of everybody.

    Guarantee
    ---------
    Two people get the same number if and only if they had the same before, and have the same state: absent, frozen, or
    shown in the same class. By induction these are the people with equal sequences of states in all releases.

    Parameters
    ----------
    before
        The joint crowd of everybody after the release before; people who were never shown have one number.
    states, classes
        The :class:`State` of everybody, and the class of those who are shown.
    """
    shown = np.where(states == State.SHOWN, classes + len(State), states)
    _, ranks = np.unique(shown, return_inverse=True)
    width = int(ranks.max(initial=0)) + 1
    _, firsts = np.unique(before, return_inverse=True)
    return np.asarray(np.unique(firsts * width + ranks, return_inverse=True)[1], dtype=np.int64)


def smallest_crowd(crowds: Integers, ever_shown: Mask) -> int:
    """Return the number of people in the smallest joint crowd of people who were shown in any release; 0 of nobody."""
    sizes = np.bincount(crowds[ever_shown])
    return int(sizes[sizes > 0].min(initial=len(crowds))) if ever_shown.any() else 0


def divide_crowds(
    crowds: Integers, *, present: Mask, shown_before: Mask, order: Integers, k: int, leavers: Leavers
) -> Integers:
    """Return the state of everybody in the next release.

    Guarantee
    ---------
    Inside each joint crowd, the people who are shown are none or at least k, and so are the others. The others are the
    people who are not in the table and as few classmates as that takes: ``max(a, k)`` of a crowd of n with a people
    who are not in the table, or all n where fewer than k would be left; none where a is 0. That is the exact minimum.
    Who stays back is chosen by ``order``, smallest first, which must not depend on sensitive values.

    Parameters
    ----------
    crowds
        The joint crowd of everybody who was shown in any release; each has at least k people.
    present
        Who has a record in this version of the table.
    shown_before
        Whose row stands in the release before; their rows can be frozen.
    order
        Different numbers: who stays back first, of those who are in the table.
    k
        The smallest joint crowd allowed.
    leavers
        Whether the rows of leavers stand again, or are suppressed. Rows that did not stand before stay absent.
    """
    number = int(crowds.max(initial=-1)) + 1
    sizes = np.bincount(crowds, minlength=number)
    missing = np.bincount(crowds[~present], minlength=number)
    back = parts_that_stay_back(sizes, missing, k)
    ranked = np.lexsort([order, present, crowds])
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(len(crowds), dtype=np.int64)
    rank[ranked] = np.arange(len(crowds)) - starts[crowds[ranked]]
    hidden = np.where(shown_before & (leavers is Leavers.FROZEN), State.FROZEN, State.ABSENT)
    return np.where(rank < back[crowds], hidden, State.SHOWN).astype(np.int64)


def parts_that_stay_back(sizes: Counts, missing: Counts, k: int) -> Counts:
    """Return how many people of each crowd are not shown, given how many are not in the table."""
    back = np.where(missing > 0, np.maximum(missing, k), 0)
    left = sizes - back
    return np.where((left > 0) & (left < k), sizes, back)
