"""What comes back: a value, how wrong it may be, what it cost, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.exact import fraction
from shoal.queries._loss import Loss

CONFIDENCE = 0.95
# six digits are shown: from here on none of them is behind the point
WHOLE = 1e6

Value = int | float | str | Mapping[str, int] | Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How far the true figure may be from the answer; computed without looking at the data."""

    #: In words.
    statement: str
    #: The true figure lies in [low, high] with this confidence, where the answer is one number.
    low: float | int | str | None = None
    high: float | int | str | None = None
    #: A probability over the noise.
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one query."""

    #: A number, a text, or numbers by their labels.
    value: Value
    #: See :class:`Accuracy`.
    accuracy: Accuracy
    #: What this answer was charged; disjoint groups of people may add less than this to what is spent.
    cost: Loss
    #: How the account stands after it.
    spent: Loss
    left: Loss
    #: What was asked, as it stands in the ledger.
    query: str
    #: The number of the ledger's entry; None where the ledger is not durable.
    entry: int | None
    #: True if the random bits came from a seed: such an answer protects nobody.
    test_only: bool = False

    def __str__(self) -> str:
        lines = [f"{self.query}", f"  {_shown(self.value)}", f"  {self.accuracy.statement}"]
        lines.append(f"  cost {self.cost}; spent {self.spent}; left {self.left}")
        if self.test_only:
            lines.append("  FOR TESTS ONLY: the random bits came from a seed")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain data; amounts are exact decimal texts."""
        return {
            "value": dict(self.value) if isinstance(self.value, Mapping) else self.value,
            "accuracy": {
                "statement": self.accuracy.statement,
                "low": self.accuracy.low,
                "high": self.accuracy.high,
                "confidence": self.accuracy.confidence,
            },
            "cost": amounts(self.cost),
            "spent": amounts(self.spent),
            "left": amounts(self.left),
            "query": self.query,
            "entry": self.entry,
            "test_only": self.test_only,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """What is known of an answer before it is asked for."""

    #: What it would be charged.
    cost: Loss
    #: What the account has left now.
    left: Loss
    #: What would be asked, as it would stand in the ledger.
    query: str
    #: How far the answer may be from the true figure, in words; None where only the answer tells.
    expected: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain data; amounts are exact decimal texts."""
        return {
            "cost": amounts(self.cost),
            "left": amounts(self.left),
            "query": self.query,
            "accuracy": self.expected,
        }


def within(value: float | str | Fraction, margin: float | Fraction) -> Accuracy:
    """Return the accuracy of a number with a symmetric error."""
    number, width = fraction(value), fraction(margin)
    low, high = (float(end) if end.denominator > 1 else int(end) for end in (number - width, number + width))
    shown = f"{int(width):,}" if width.denominator == 1 else f"{float(width):,.6g}"
    return Accuracy(statement=f"within {shown} of the true value ({CONFIDENCE:.0%} confidence)", low=low, high=high)


def between(low: float | str, high: float | str) -> Accuracy:
    """Return the accuracy of a number between two ends."""
    shown = (end if isinstance(end, str) else f"{end:,.6g}" for end in (low, high))
    return Accuracy(
        statement=f"the true value is between {' and '.join(shown)} ({CONFIDENCE:.0%} confidence)", low=low, high=high
    )


def amounts(loss: Loss) -> dict[str, str]:
    """Return a loss as exact decimal texts."""
    return {"epsilon": "0"} | loss.amounts()


def _shown(value: Value) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{label}: {_shown(each)}" for label, each in value.items())
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= WHOLE else f"{value:,.6g}"
    return value if isinstance(value, str) else f"{value:,}"
