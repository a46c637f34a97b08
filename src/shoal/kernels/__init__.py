"""The few hot loops: readable NumPy, and a C++ twin of the same signature where a compiler was present.

Kernels know arrays only; they import nothing else of Shoal.
"""

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

    Set ``SHOAL_KERNELS=numpy`` to use the readable NumPy twins.
    """
    if os.environ.get("SHOAL_KERNELS", "").lower() == "numpy":
        return None
    for path in sorted(Path(__file__).parent.glob("_native*.so")) + sorted(Path(__file__).parent.glob("_native*.pyd")):
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError:
            continue
        if hasattr(loaded, "shoal_unique_sets"):  # the newest kernel: what was built from older sources lacks it
            return loaded
    return None


def is_compiled(kernel: str) -> bool:
    """Return whether a kernel was compiled; what was built from older sources may lack it."""
    return hasattr(library(), kernel)


def name() -> str:
    """Return which kernels are in use: ``"C++"`` or ``"NumPy"``."""
    return "NumPy" if library() is None else "C++"


def run(kernel: str, *given: float | npt.NDArray[Any]) -> int:
    """Call a compiled kernel with numbers and contiguous arrays; the interpreter lock is released meanwhile."""
    function = getattr(library(), kernel)
    function.restype = ctypes.c_int64
    return int(function(*map(_convert_argument, given)))


def _convert_argument(given: float | npt.NDArray[Any]) -> Any:
    if isinstance(given, np.ndarray):
        return ctypes.c_void_p(given.__array_interface__["data"][0])
    return ctypes.c_double(given) if isinstance(given, float) else ctypes.c_int64(int(given))
