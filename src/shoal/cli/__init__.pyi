"""The names of this package; each is imported when it is first used."""

from ._program import main as main
