"""How many examples Hypothesis tries, where a test needs another number than most."""

from __future__ import annotations

from hypothesis import settings

#: in the developer loop, too, more than one kind of example is tried
_LEAST = 5


def examples(number: int) -> settings:
    """Return settings for so many examples where others try a hundred; each profile has its share of both."""
    return settings(max_examples=max(_LEAST, number * settings.default.max_examples // 100))
