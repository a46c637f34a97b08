"""Sensitive values in joint crowds: every release by itself, and what linked rows show of a person together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.kernels import Integers
from shoal.models import DistinctLDiversity, KAnonymity, Model, PSensitive

__all__ = ["broken_crowds", "diversities", "unsupported_models"]


def unsupported_models(models: Sequence[Model]) -> list[str]:
    """Return the names of models that no series can keep."""
    return [model.name for model in models if not isinstance(model, KAnonymity | DistinctLDiversity | PSensitive)]


def diversities(models: Sequence[Model]) -> dict[str, int]:
    """Return how many different values of which sensitive columns the models ask for."""
    wanted: dict[str, int] = {}
    for model in models:
        if isinstance(model, DistinctLDiversity):
            wanted[model.attribute] = max(model.l, wanted.get(model.attribute, 1))
        elif isinstance(model, PSensitive):
            names = (model.attributes,) if isinstance(model.attributes, str) else model.attributes
            wanted |= {name: max(model.p, wanted.get(name, 1)) for name in names}
    return wanted


def broken_crowds(crowds: Integers, history: Sequence[Integers], least: int) -> Integers:
    """Return the joint crowds in which a sensitive column shows too few values.

    Guarantee
    ---------
    In every other crowd (1) each release that shows it shows at least ``least`` different values, and (2) no
    ``least - 1`` values are such that everybody's linked rows show one of them in some release. Of one release, both
    say the same; of several, (2) keeps a value from being certain that moves from one person to another.

    Parameters
    ----------
    crowds
        The joint crowd of everybody who was shown in any release.
    history
        For each release with the column, the code of the value that it shows of everybody; -1 where it shows none.
    """
    number = int(crowds.max(initial=-1)) + 1
    broken = np.zeros(number, dtype=np.bool_)
    for codes in history:
        shown = codes >= 0
        different = _different_values(crowds[shown], codes[shown], number)
        broken |= (different > 0) & (different < least)
    if len(history) > 1:
        for crowd in _changing(crowds, history, number):
            if not broken[crowd]:
                members = crowds == crowd
                chains = {frozenset(row) - {-1} for row in np.stack([c[members] for c in history], axis=1).tolist()}
                broken[crowd] = _all_hit(list(chains - {frozenset()}), least - 1)
    return np.flatnonzero(broken)


def _different_values(crowds: Integers, codes: Integers, number: int) -> Integers:
    width = int(codes.max(initial=0)) + 1
    return np.bincount(np.unique(crowds * width + codes) // width, minlength=number)


def _changing(crowds: Integers, history: Sequence[Integers], number: int) -> list[int]:
    """Return the crowds of people of whom two releases show different values."""
    last = history[0].copy()
    changed = np.zeros(len(crowds), dtype=np.bool_)
    for codes in history[1:]:
        changed |= (codes >= 0) & (last >= 0) & (codes != last)
        last = np.where(codes >= 0, codes, last)
    return [int(each) for each in np.unique(crowds[changed])]


def _all_hit(chains: list[frozenset[int]], values: int) -> bool:
    """Return whether so many values can be chosen that every chain holds one of them: exact, by trying."""
    if not chains:
        return True
    if not values:
        return False
    shortest = min(chains, key=len)
    return any(_all_hit([chain for chain in chains if value not in chain], values - 1) for value in shortest)
