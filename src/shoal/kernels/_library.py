"""The types of arrays, and the compiled kernels: found and loaded once."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled kernels, or None where they were not built or are switched off.

    Set ``SHOAL_KERNELS=numpy`` to use the readable NumPy twins. Calls through ``ctypes`` release the
    interpreter lock.
    """
    if os.environ.get("SHOAL_KERNELS", "").lower() == "numpy":
        return None
    for path in sorted(Path(__file__).parent.glob("_native*.so")) + sorted(Path(__file__).parent.glob("_native*.pyd")):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


def name() -> str:
    """Return which kernels are in use: ``"C++"`` or ``"NumPy"``."""
    return "NumPy" if library() is None else "C++"


def compiled() -> ctypes.CDLL:
    """Return the compiled kernels, which must be there."""
    native = library()
    if native is None:
        raise RuntimeError("the compiled kernels are not available")
    return native


def pointers(*arrays: npt.NDArray[Any]) -> list[ctypes.c_void_p]:
    """Return the addresses of arrays, each of which lives as long as its address."""
    found = []
    for array in arrays:
        address = ctypes.c_void_p(array.__array_interface__["data"][0])
        address.array = array  # type: ignore[attr-defined]
        found.append(address)
    return found
