"""Sources of random bits: the operating system's generator, or a seed in tests."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError


class RandomSource(ABC):
    """A stream of independent fair bits, taken as bytes, 64-bit words or exact uniform integers."""

    cryptographic: bool
    """Whether the bits protect people; a release made with any other source says so."""

    def from_system(self) -> bool:
        """Whether another library may draw in this source's place, from the system's generator, which it does next."""
        return False

    @abstractmethod
    def random_bytes(self, size: int) -> bytes:
        """Return ``size`` random bytes."""

    def uint8(self, size: int) -> NDArray[np.uint8]:
        """Return ``size`` uniform integers in [0, 2^8)."""
        return np.frombuffer(self.random_bytes(size), dtype=np.uint8)

    def uint64(self, size: int) -> NDArray[np.uint64]:
        """Return ``size`` uniform integers in [0, 2^64)."""
        return np.frombuffer(self.random_bytes(8 * size), dtype=np.dtype("<u8")).astype(np.uint64, copy=False)

    def bits(self, count: int) -> int:
        """Return a uniform integer in [0, 2^count)."""
        size = (count + 7) // 8
        return int.from_bytes(self.random_bytes(size), "little") >> (8 * size - count)

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound): draws of enough bits are repeated until one fits.

        Exact: a draw that fits is uniform. Fewer than two draws are expected.
        """
        if bound < 1:
            raise ParameterError(f"`bound` of `below` must be at least 1; got {bound}.")
        count = (bound - 1).bit_length()
        while (drawn := self.bits(count)) >= bound:
            pass
        return drawn


class SystemSource(RandomSource):
    """The operating system's cryptographic generator (`os.urandom`), buffered.

    Assumptions
    -----------
    The kernel's generator is unpredictable. Small draws come from a buffer of 4 KiB; the buffer is emptied in the
    child of a fork, so no two processes ever use the same bits, and a lock keeps two threads from doing so.

    Examples
    --------
    >>> len(SystemSource().uint64(3))
    3
    """

    cryptographic = True
    _buffer_size = 4096

    def from_system(self) -> bool:
        return True

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            _forget_after_fork(self)

    def _forget(self) -> None:
        self._buffer = b""
        self._position = 0
        self._lock = threading.Lock()

    def random_bytes(self, size: int) -> bytes:
        if size > self._buffer_size // 4:
            return os.urandom(size)
        with self._lock:
            if self._position + size > len(self._buffer):
                self._buffer, self._position = os.urandom(self._buffer_size), 0
            start = self._position
            self._position += size
            return self._buffer[start : self._position]


class SeededSource(RandomSource):
    """The same bits for the same seed: for tests and examples only, never for people's data.

    Examples
    --------
    >>> bool((SeededSource(7).uint64(4) == SeededSource(7).uint64(4)).all())
    True
    """

    cryptographic = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generator = np.random.default_rng(seed)

    def random_bytes(self, size: int) -> bytes:
        return self._generator.bytes(size)


class ObservedSource(RandomSource):
    """Another source that notices whether anything is drawn from it, and has the first draw paid for before it is made.

    What ``pay`` raises keeps the draw from being made. What fails without any randomness, such as a table that does not
    fit its schema, costs nothing; whatever was decided by chance is paid, whether it ends in a release or not.

    Examples
    --------
    >>> bills = []
    >>> source = ObservedSource(SeededSource(1), pay=lambda: bills.append("paid"))
    >>> source.drawn, len(bills), source.bits(8) < 256, source.bits(8) < 256, source.drawn, len(bills)
    (False, 0, True, True, True, 1)
    """

    def __init__(self, source: RandomSource, *, pay: Callable[[], object] | None = None) -> None:
        self.cryptographic = source.cryptographic
        self.drawn = self.paid = False
        self._source, self._pay, self._lock = source, pay, threading.Lock()

    def settle(self) -> None:
        """Pay, if there is something to pay, unless that was done before."""
        with self._lock:
            if self._pay is not None and not self.paid:
                self._pay()
                self.paid = True

    def from_system(self) -> bool:
        # what another library draws counts as drawn, too
        self._begin()
        return self._source.from_system()

    def random_bytes(self, size: int) -> bytes:
        if not self.drawn:
            self._begin()
        return self._source.random_bytes(size)

    def _begin(self) -> None:
        self.settle()
        self.drawn = True


def _forget_after_fork(source: SystemSource) -> None:
    """Empty the buffer in every child; a weak reference lets sources be collected."""
    reference = weakref.ref(source)

    def forget() -> None:
        alive = reference()
        if alive is not None:
            alive._forget()

    os.register_at_fork(after_in_child=forget)


SYSTEM = SystemSource()
"""The default source of every mechanism."""
