"""From the privacy of one record to that of a person with several: group privacy, rounded to the safe side.

**Lemma.** If a mechanism is (e, d)-differentially private for neighbours that differ by one record, it is
(r e, d (e^(r e) - 1) / (e^e - 1))-private for tables that differ by r records. *Proof.* Let D = D_0, ..., D_r = D'
differ by one record each. P_i[S] <= e^e P_(i+1)[S] + d, applied r times, gives P_0[S] <= e^(r e) P_r[S] + d (1 + e^e +
... + e^((r-1) e)). QED

So a person with at most r records is promised (epsilon, delta) where a record is promised

    (epsilon / r, delta (e^(epsilon / r) - 1) / (e^epsilon - 1)).

This is the *standard* definition. Of the *probabilistic* one, where outcomes whose ratio is too large have the
probability delta together, the lemma is not known to hold: the bad outcomes of D_i and D_(i+1) have a small probability
for D_i, and nothing is said of it for D_0.

The records of a person are drawn before (`shoal.tables.at_most`). Draw the same for everybody else in both tables; what
is left then differs by at most r records, and both sides of the inequality are averages over such pairs of draws: it
holds for the averages as well. (Of the probabilistic definition it would not follow either.)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shoal.exact import STARTING_BITS, ball, enclosures, round_up, working_precision


def record_delta(epsilon: Fraction, delta: Fraction, records: int) -> Fraction:
    """Return the delta that a record may have where a person with so many records has (epsilon, delta): never more.

    Examples
    --------
    >>> record_delta(Fraction(1), Fraction(1, 10), 1)
    Fraction(1, 10)
    >>> round(float(record_delta(Fraction(1), Fraction(1, 10), 2)), 6)  # 0.1 (e^0.5 - 1) / (e - 1)
    0.037754
    """
    if records == 1 or not delta:
        return delta
    lower, _ = next(enclosures(lambda: ball(delta) / _factor(epsilon, records)))
    return lower


def person_delta(epsilon: Fraction, delta: float, records: int) -> float:
    """Return the delta of a person with so many records, where a record has (epsilon / records, delta): never less.

    Examples
    --------
    >>> person_delta(Fraction(1), 0.1, 1)
    0.1
    >>> round(person_delta(Fraction(1), 0.1, 2), 6)
    0.264872
    """
    if records == 1:
        return delta
    with working_precision(STARTING_BITS):
        return min(1.0, round_up(ball(Fraction(delta)) * _factor(epsilon, records)))


def _factor(epsilon: Fraction, records: int) -> Any:
    """Return a ball around (e^epsilon - 1) / (e^(epsilon / records) - 1)."""
    return ball(epsilon).expm1() / ball(epsilon / records).expm1()
