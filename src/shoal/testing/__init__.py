"""For tests of code that uses Shoal: strategies, checks and a differential-privacy audit.

The parts are loaded when they are asked for: ``shoal.testing.strategies`` needs Hypothesis.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

__all__ = ["strategies"]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module `shoal.testing` has no attribute `{name}`")
    return import_module(f"{__name__}.{name}")
