"""Running totals from sums over dyadic periods, and how much one person's changes can move these sums.

Of periods 1 to T, the nodes are the intervals (j 2^l, (j + 1) 2^l] that end at or before T. Each is counted once with
noise of its own, when it ends; the total up to t is the sum of the nodes that its binary digits say, at most
floor(log2 t) + 1 of them (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011).

**Sensitivity.** A person is counted or not, and so changes by +1 and -1 in turn. The sum of these over a node is -1, 0
or 1, and not 0 exactly where the person changes an odd number of times in it. So the L1 distance and the squared L2
distance that a person makes are the same number: of nodes with an odd number of changes. `most_nodes` is its largest
value over all persons with at most k changes.
"""

from __future__ import annotations

from functools import lru_cache

Node = tuple[int, int]


def nodes_ending(period: int) -> list[Node]:
    """Return the nodes that end with a period, as (level, number), the shortest first.

    Examples
    --------
    >>> nodes_ending(4)
    [(0, 3), (1, 1), (2, 0)]
    """
    levels = (period & -period).bit_length()
    return [(level, (period >> level) - 1) for level in range(levels)]


def nodes_up_to(period: int) -> list[Node]:
    """Return the nodes that together are the periods from the first to this one.

    Examples
    --------
    >>> nodes_up_to(6)
    [(2, 0), (1, 2)]
    """
    levels = [level for level in reversed(range(period.bit_length())) if period >> level & 1]
    return [(level, (period >> level) - 1) for level in levels]


def periods_of(node: Node) -> range:
    """Return the periods of a node."""
    level, number = node
    return range((number << level) + 1, ((number + 1) << level) + 1)


def most_nodes(periods: int, changes: int) -> int:
    """Return the largest number of nodes with an odd number of a person's changes, of which there are at most so many.

    Examples
    --------
    >>> most_nodes(8, 1), most_nodes(8, 8)
    (4, 10)
    """
    # trees that hold all nodes: one for each binary digit of the number of periods
    best = [0]
    for level in [level for level in range(periods.bit_length()) if periods >> level & 1]:
        tree = _of_tree(level)
        best = [
            max(best[rest] + tree[own - rest] for rest in range(len(best)) if 0 <= own - rest < len(tree))
            for own in range(len(best) + len(tree) - 1)
        ]
    return max(best[: changes + 1])


@lru_cache
def _of_tree(level: int) -> tuple[int, ...]:
    """Return the largest number of nodes with an odd number of changes in a tree of 2^level periods, by all changes."""
    if not level:
        return (0, 1)
    half = _of_tree(level - 1)
    return tuple(
        own % 2 + max(half[left] + half[own - left] for left in range(len(half)) if 0 <= own - left < len(half))
        for own in range(2 * len(half) - 1)
    )
