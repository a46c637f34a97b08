"""Check the steps of a release: by the grammar of its method, each against the files, and what they spend and draw."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from shoal.guarantees import (
    CRYPTOGRAPHIC,
    Check,
    Decision,
    Event,
    Evidence,
    budget,
    mismatch,
    randomness,
    run_check,
    without_randomness,
)


def check_grammar(evidence: Evidence) -> Decision:
    """Compare which steps were taken, their order, and the fields that the plan decides, with the method's grammar."""
    problem = mismatch(evidence.plan.method.expected_steps(evidence.plan), evidence.all_steps)
    return problem is None, problem or f"{len(evidence.all_steps)} steps, each with a matching description"


def _step(step: Event, evidence: Evidence) -> Decision:
    passed, detail = step.check(evidence)
    return passed, detail if passed else f"the step `{step.name}` is contradicted by the release: {detail}"


def check_budget(evidence: Evidence) -> Decision:
    """Compare the budget with what the steps spend."""
    spent, said = budget(evidence.all_steps), evidence.certificate.budget
    stated = (Fraction(0), Fraction(0)) if said is None else (Fraction(said.epsilon), Fraction(said.delta))
    if stated != (spent.epsilon, spent.delta) or any(min(step.epsilon, step.delta) < 0 for step in evidence.all_steps):
        return False, "not what the steps spend in total"
    if not any(stated):
        return True, "nothing is spent"
    return True, f"epsilon {float(spent.epsilon):.6g}, delta {float(spent.delta):.6g}"


def check_randomness(evidence: Evidence) -> Decision:
    """Compare where random numbers came from with whether a step draws any."""
    stated = evidence.certificate.randomness
    if any(step.draws for step in evidence.all_steps):
        possible = [CRYPTOGRAPHIC, randomness(cryptographic=False)]
    else:
        possible = [without_randomness(key=False), without_randomness(key=True)]
    fits = stated in possible
    return fits, stated if fits else "the steps and the source of random numbers do not fit together"


def check_steps(evidence: Evidence) -> Iterator[Check]:
    """Return a check of each step that the files show something of."""
    for step in evidence.all_steps:
        check = run_check(f"step {step.name}", lambda step=step: _step(step, evidence))  # type: ignore[misc]
        if check.detail:
            yield check
