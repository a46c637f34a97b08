"""The few hot loops: readable NumPy, and a C++ twin of the same signature where a compiler was present.

Kernels know arrays only; they import nothing else of Shoal.
"""

from shoal.kernels._library import Codes, Counts, Floats, Integers, Keys, Mask, library, name

__all__ = ["Codes", "Counts", "Floats", "Integers", "Keys", "Mask", "library", "name"]
