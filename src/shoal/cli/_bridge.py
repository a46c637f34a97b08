"""``shoal bridge``: what a promise says in the words of another."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from shoal.cli import _output, _source

EXAMPLES = """\b
Examples:
  shoal bridge --t 2                            as differential privacy
  shoal bridge --epsilon 1                      the closeness that gives it
  shoal bridge --epsilon 1 --k 5 --records 999  by randomised values
  shoal bridge --epsilon 1 --delta 1e-6         sampling rate and threshold
  shoal bridge --k 20 --beta 0.3                from sampling and suppression
"""


def bridge(
    *,
    t: Annotated[str | None, Option("--t", help="Multiplicative closeness, above 1.")] = None,
    epsilon: Annotated[str | None, Option("--epsilon", help="Differential privacy, above 0.")] = None,
    delta: Annotated[str | None, Option("--delta", help="Its delta, in (0, 1).")] = None,
    k: Annotated[int | None, Option("--k", help="The smallest class size, or the threshold.")] = None,
    beta: Annotated[str | None, Option("--beta", help="The sampling rate, in (0, 1).")] = None,
    records: Annotated[int | None, Option("--records", help="The number of released records.")] = None,
    json: _source.Json = False,
) -> None:
    """Translate between closeness and differential privacy.

    Says what a promise of one kind means as one of the other, and which assumptions that needs.
    """
    import shoal

    found = shoal.bridge(t=t, epsilon=epsilon, delta=delta, k=k, beta=beta, records=records)
    if json:
        _output.print_json(list(found.statements))
        return
    for number, statement in enumerate(found.statements):
        if number:
            _output.line()
        _output.line(statement.text, style="bold")
        _output.line(f"  {statement.strength}; {statement.source}")
        for assumption in statement.assumptions:
            _output.line(f"  - {assumption}")
