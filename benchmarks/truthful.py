"""Truthful differential privacy: parameters, and the samplers that it rests on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from shoal.mechanisms import ExponentialMechanism, PermuteAndFlip, binomial
from shoal.truthful.parameters import Definition, minimal_epsilon, parameters, sampling_rate

EPSILONS = (0.01, 0.1, 0.5, math.log(2), 0.75, 1.0, math.log(3), 1.25, 1.5, 2.0)
DELTAS = tuple(f"1e-{i}" for i in range(4, 21))


def main() -> None:
    for definition in ("probabilistic", "standard"):
        parameter_table(definition)
    inverse_questions()
    binomial_draws()
    selections()


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def parameter_table(definition: Definition) -> None:
    parameters(1, "1e-6")  # imports
    found: dict[tuple[float, str], int] = {}

    def work() -> None:
        for epsilon in EPSILONS:
            for delta in DELTAS:
                found[epsilon, delta] = parameters(epsilon, delta, definition=definition).k

    elapsed = seconds(work)
    print(f"k, {definition} definition: {len(found)} pairs in {elapsed:.2f} s (goal: 2 s; the paper: 0.1 to 37 s each)")
    shown = ("1e-4", "1e-6", "1e-8", "1e-12", "1e-20")
    print("  epsilon  beta    " + "".join(f"{delta:>7}" for delta in shown))
    for epsilon in EPSILONS:
        row = "".join(f"{found[epsilon, delta]:>7}" for delta in shown)
        print(f"  {epsilon:<8.4g} {float(sampling_rate(epsilon)):.4f}  {row}")


def inverse_questions() -> None:
    found = parameters(1, "1e-6")
    elapsed = seconds(lambda: minimal_epsilon(found.k, found.beta, "1e-6"))
    print(f"epsilon from (k, beta, delta): {1000 * elapsed:.1f} ms")


def binomial_draws() -> None:
    generator, beta = np.random.default_rng(1), sampling_rate(1)
    shares = generator.dirichlet(np.full(20_000, 0.3))
    for label, counts in (
        ("1.2 million records in 20,000 classes", generator.multinomial(1_200_000, shares)),
        ("100 million records in 20,000 classes", generator.multinomial(100_000_000, shares)),
        ("100 million records in 1 class", np.array([100_000_000])),
        ("1 million records in 1 million classes", np.ones(1_000_000, dtype=np.int64)),
    ):
        print(f"binomial: {label}: {1000 * seconds(lambda c=counts: binomial(c, beta)):.0f} ms")


def selections() -> None:
    generator = np.random.default_rng(2)
    for size in (12_960, 10**5, 10**6, 10**7):
        scores = generator.random(size) * 30_000
        for mechanism in (ExponentialMechanism, PermuteAndFlip):
            made = mechanism(epsilon="0.1", sensitivity=3, monotone=True)
            made.select(scores[:10])
            elapsed = seconds(lambda made=made, scores=scores: made.select(scores))
            print(f"{mechanism.__name__}: one of {size:,}: {1000 * elapsed:.1f} ms")


if __name__ == "__main__":
    main()
