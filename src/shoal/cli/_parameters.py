"""``shoal parameters``: from epsilon and delta to a sampling rate and a threshold, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from typer import Option

from shoal.cli import _output, _source
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.methods.truthful.parameters import Definition, Parameters


EXAMPLES = """\b
Examples:
  shoal parameters --epsilon 1 --delta 1e-6
  shoal parameters --epsilon 1 --delta 1e-6 --plot
  shoal parameters --table
  shoal parameters --epsilon 1 --k 75 --beta 0.632    the delta of k and beta
  shoal parameters --delta 1e-6 --k 75 --beta 0.632   the smallest epsilon
"""

_EPSILONS = ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3")
_DELTAS = ("1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9")
_WIDTH = 40


def parameters(
    *,
    epsilon: Annotated[str | None, Option("--epsilon", help="In (0, 40]: a decimal number or a fraction.")] = None,
    delta: Annotated[str | None, Option("--delta", help="In (0, 1).")] = None,
    k: Annotated[int | None, Option("--k", help="A threshold to check, together with --beta.")] = None,
    beta: Annotated[str | None, Option("--beta", help="A sampling rate to check, together with --k.")] = None,
    definition: Annotated[str, Option(help="probabilistic (the stronger one) or standard.")] = "probabilistic",
    table: Annotated[bool, Option("--table", help="Show thresholds for common values of epsilon and delta.")] = False,
    plot: Annotated[bool, Option("--plot", help="Show how fast worse breaches become less likely.")] = False,
    json: _source.Json = False,
) -> None:
    """Find the parameters of a truthful release.

    How many records of every class it leaves out, and what sampling would need.

    They give (EPSILON, DELTA)-differential privacy without noise.
    """
    kind = _definition(definition)
    if (k is None) != (beta is None):
        raise ParameterError("--k and --beta must be given together")
    if table:
        _table(kind, json=json)
    elif k is not None and beta is not None:
        _given(epsilon, delta, k, beta, kind, json=json)
    elif epsilon is None or delta is None:
        raise ParameterError("give --epsilon and --delta, or --table", hint="for example --epsilon 1 --delta 1e-6")
    else:
        _show(epsilon, delta, kind, plot=plot, json=json)


def _show(epsilon: str, delta: str, definition: Definition, *, plot: bool, json: bool) -> None:
    from shoal.methods.truthful.parameters import parameters as find
    from shoal.methods.truthful.trimming import minimal_m

    found, trimmed = find(epsilon, delta, definition=definition), minimal_m(epsilon, delta)
    curve = _curve(found)
    if json:
        _output.print_json(
            {
                "epsilon": str(found.epsilon),
                "delta": str(found.delta),
                "definition": definition,
                "m": trimmed,
                "beta": str(found.beta),
                "k": found.k,
                "exact_delta": found.exact_delta,
                "smoothness": [{"epsilon": worse, "delta": attained} for worse, attained in curve],
            }
        )
        return
    needed = math.ceil(found.k / found.beta)
    for name, value in (
        ("trimming (m)", f"{trimmed:,} records of every class are left out, on average; or by sampling:"),
        ("sampling rate (beta)", f"{float(found.beta):.10g}"),
        ("threshold (k)", f"{found.k:,}"),
        ("delta attained", f"{found.exact_delta:.4g}  ({delta} was asked for)"),
        ("definition", definition),
        ("class size needed", f"about {needed:,} records of the input, for an even chance of being released"),
    ):
        _output.line(f"{name:<22}{value}")
    if plot:
        _plot(curve)


def _curve(found: Parameters) -> list[tuple[float, float]]:
    """Return the breaches of 1, 1.25, ..., 3 times epsilon with their probabilities."""
    from shoal.methods.truthful.parameters import smoothness

    worse = [found.epsilon * step / 4 for step in range(4, 13)]
    deltas = smoothness(found.k, found.beta, worse, definition=found.definition)
    return list(zip(map(float, worse), deltas, strict=True))


def _plot(curve: list[tuple[float, float]]) -> None:
    """Draw bars whose length is the number of zeros in the probability."""
    _output.line()
    _output.line("The same release is private for every larger epsilon with a far smaller delta:", style="bold")
    longest = max(-math.log10(delta) for _, delta in curve)
    for epsilon, delta in curve:
        bar = "#" * max(1, round(-math.log10(delta) / longest * _WIDTH))
        _output.line(f"  epsilon {epsilon:<7.4g} delta {delta:8.1e}  {bar}")


def _table(definition: Definition, *, json: bool) -> None:
    from shoal.methods.truthful.parameters import parameters as find

    found = {epsilon: [find(epsilon, delta, definition=definition) for delta in _DELTAS] for epsilon in _EPSILONS}
    if json:
        _output.print_json(
            [
                {"epsilon": epsilon, "delta": delta, "beta": str(each.beta), "k": each.k}
                for epsilon, row in found.items()
                for delta, each in zip(_DELTAS, row, strict=True)
            ]
        )
        return
    rows = [[epsilon, f"{float(row[0].beta):.4f}", *(f"{each.k:,}" for each in row)] for epsilon, row in found.items()]
    _output.table(f"Threshold k by delta, {definition} definition", ("epsilon", "beta", *_DELTAS), rows)


def _given(epsilon: str | None, delta: str | None, k: int, beta: str, definition: Definition, *, json: bool) -> None:
    from shoal.methods.truthful.parameters import exact_delta, minimal_epsilon

    if (epsilon is None) == (delta is None):
        raise ParameterError("with --k and --beta, give either --epsilon or --delta")
    if epsilon is not None:
        name, value = "delta", exact_delta(k, beta, epsilon, definition=definition)
    else:
        assert delta is not None  # noqa: S101
        name, value = "epsilon", minimal_epsilon(k, beta, delta, definition=definition)
    if json:
        _output.print_json({name: value, "k": k, "beta": beta, "definition": definition})
    else:
        _output.line(f"{name:<22}{value:.6g}")


def _definition(text: str) -> Definition:
    if text == "probabilistic":
        return "probabilistic"
    if text == "standard":
        return "standard"
    raise ParameterError(f"`--definition` must be probabilistic or standard; got {text!r}.")
