"""Samplers' distributions in the slow, obvious way: definitions, enumerated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations
from math import comb

from shoal.mechanisms import RandomSource

Score = int | float | Fraction


def binomial_masses(n: int, beta: Fraction) -> list[Fraction]:
    return [comb(n, i) * beta**i * (1 - beta) ** (n - i) for i in range(n + 1)]


def exponential(x: Fraction) -> Decimal:
    """Return exp(x) to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return (Decimal(x.numerator) / Decimal(x.denominator)).exp()


def exponential_mechanism(scores: Sequence[Score], rate: Fraction) -> list[float]:
    """Return the probabilities exp(rate s_i) / sum_j exp(rate s_j)."""
    best = max(Fraction(score) for score in scores)
    weights = [exponential(rate * (Fraction(score) - best)) for score in scores]
    return [float(weight / sum(weights)) for weight in weights]


def permute_and_flip(scores: Sequence[Score], rate: Fraction) -> list[float]:
    """Return the probabilities of the first heads over all orders of the candidates."""
    best = max(Fraction(score) for score in scores)
    heads = [float(exponential(rate * (Fraction(score) - best))) for score in scores]
    orders = list(permutations(range(len(scores))))
    found = [0.0] * len(scores)
    for order in orders:
        reached = 1.0 / len(orders)
        for candidate in order:
            found[candidate] += reached * heads[candidate]
            reached *= 1 - heads[candidate]
    return found


class ScriptedSource(RandomSource):
    """Answers `below` and `random_bytes` from a script; beyond its end it asks for a new branch."""

    cryptographic = False

    def __init__(self, script: list[int], useful_bits: int) -> None:
        self.script, self.useful_bits = script, useful_bits
        self.used: list[tuple[int, int]] = []

    def _next(self, choices: int) -> int:
        if len(self.used) >= len(self.script):
            raise _BranchError(choices)
        choice = self.script[len(self.used)]
        self.used.append((choice, choices))
        return choice

    def random_bytes(self, size: int) -> bytes:
        # The bits above the useful ones are all ones: a sampler that read them would be caught.
        high = 0xFF & ~((1 << self.useful_bits) - 1)
        return bytes(self._next(1 << self.useful_bits) | high for _ in range(size))

    def below(self, bound: int) -> int:
        return self._next(bound)


class _BranchError(Exception):
    def __init__(self, choices: int) -> None:
        super().__init__(choices)
        self.choices = choices


def exact_distribution(
    run: Callable[[RandomSource], Hashable], *, useful_bits: int = 8, smallest: Fraction = Fraction(0)
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """Run a sampler on every script of coins; return its exact distribution and the probability left open."""
    found: dict[Hashable, Fraction] = {}
    left_open = Fraction(0)
    open_scripts: list[tuple[list[int], Fraction]] = [([], Fraction(1))]
    while open_scripts:
        script, probability = open_scripts.pop()
        try:
            outcome = run(ScriptedSource(script, useful_bits))
        except _BranchError as branch:
            share = probability / branch.choices
            if share < smallest:
                left_open += probability
            else:
                open_scripts += [([*script, choice], share) for choice in range(branch.choices)]
            continue
        found[outcome] = found.get(outcome, Fraction(0)) + probability
    return found, left_open
