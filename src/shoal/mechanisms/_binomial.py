"""Bin(c, beta), exactly, for many counts at once and with about two random bits per trial."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.exact import Number, rational
from shoal.mechanisms._random import SYSTEM, RandomSource

RATE_BITS = 64
CHUNK_BYTES = 1 << 22


def binomial(counts: ArrayLike, beta: Number, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Draw X_i ~ Bin(counts[i], beta), independently for each i.

    Parameters
    ----------
    counts : integers, at least 0
    beta : multiple of 2^-64 in [0, 1]
        For example `shoal.methods.truthful.parameters.sampling_rate`.

    Guarantee
    ---------
    Exact. Give each of the c trials of a count a uniform 64-bit integer and call it a success if the integer is
    below B = beta 2^64. The comparison needs the bits of the integer only up to the first that differs from the
    bit of B: below if B has the 1 there. Trials that agree with B so far are exchangeable, so their *number* is
    all that has to be kept: from u such trials, Z ~ Bin(u, 1/2) have the next bit 1. Where B has a 1, the u - Z
    others succeed and Z go on; where B has a 0, Z fail and u - Z go on. Trials that agree with all bits of B equal
    B and fail. Z is the number of ones among u fair bits.

    Notes
    -----
    u halves at each bit, so a count c uses 2 c random bits and O(c / 8) byte operations on average, in chunks of 4
    MiB. Padding to whole bytes costs small counts a few bits more.

    Examples
    --------
    >>> binomial([0, 5, 1000], 1).tolist()
    [0, 5, 1000]
    >>> drawn = binomial([1000, 2000], "0.5")
    >>> bool((drawn >= 0).all() and (drawn <= [1000, 2000]).all())
    True
    """
    trials = _checked(counts)
    steps = rational(beta, "beta", "binomial") * 2**RATE_BITS
    if steps.denominator != 1 or not 0 <= steps <= 2**RATE_BITS:
        raise ParameterError(
            f"`beta` of `binomial` must be a multiple of 2^-64 in [0, 1]; got {float(steps / 2**RATE_BITS)!r}.",
            hint="take `shoal.methods.truthful.parameters.sampling_rate(epsilon)`",
        )
    if steps == 2**RATE_BITS:
        return trials.copy()
    successes = np.zeros_like(trials)
    open_at, undecided = _narrow(np.arange(trials.size), trials)
    # nothing can succeed at the zeros at the end
    for bit in f"{int(steps):0{RATE_BITS}b}".rstrip("0"):
        ones = _ones_among(undecided, source)
        if bit == "1":
            successes[open_at] += undecided - ones
            undecided = ones
        else:
            undecided = undecided - ones
        open_at, undecided = _narrow(open_at, undecided)
    return successes


def _narrow(open_at: NDArray[np.intp], undecided: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    alive = undecided > 0
    return open_at[alive], undecided[alive]


def _ones_among(sizes: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
    """Draw Bin(u, 1/2) for each u >= 1 in ``sizes``: the ones among u fair bits."""
    ones = np.empty_like(sizes)
    ends = np.cumsum((sizes + 7) // 8)
    start = 0
    while start < sizes.size:
        before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, before + CHUNK_BYTES, side="right")), start + 1)
        chunk = sizes[start:stop]
        # Only a size that fills a chunk alone can exceed it.
        ones[start:stop] = _ones_of_one(int(chunk[0]), source) if stop == start + 1 else _ones_of_many(chunk, source)
        start = stop
    return ones


def _ones_of_many(sizes: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
    ends = np.cumsum((sizes + 7) // 8)
    drawn = source.uint8(int(ends[-1])).copy()
    drawn[ends - 1] &= _LOW_BITS[sizes & 7]
    starts = np.concatenate(([0], ends[:-1]))
    return np.add.reduceat(np.bitwise_count(drawn), starts, dtype=np.int64)


def _ones_of_one(size: int, source: RandomSource) -> int:
    ones = 0
    while size > 0:
        part = min(size, 8 * CHUNK_BYTES)
        ones += int(_ones_of_many(np.array([part], dtype=np.int64), source)[0])
        size -= part
    return ones


# How many bits of the last byte count: all eight if the size is a multiple of eight.
_LOW_BITS = np.array([0xFF, 0x01, 0x03, 0x07, 0x0F, 0x1F, 0x3F, 0x7F], dtype=np.uint8)


def _checked(counts: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(counts)
    if given.size == 0:
        return np.zeros(given.shape, dtype=np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ParameterError(
            f"`counts` of `binomial` must be one list of integers; got {given.ndim} dimensions of {given.dtype}."
        )
    if given.dtype.kind == "u" and int(given.max()) > np.iinfo(np.int64).max:
        raise ParameterError("`counts` of `binomial` must be below 2^63.")
    trials = given.astype(np.int64)
    negative = int((trials < 0).sum())
    if negative:
        raise ParameterError(f"`counts` of `binomial` must be at least 0; {negative} are negative.")
    return trials
