"""Find and load the compiled kernels, once."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

__all__ = ["library", "name"]


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
