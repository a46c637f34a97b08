"""Where data lives and how it is encoded: the only code that talks to an engine."""

from shoal.tables._frequencies import Frequencies, SensitiveAttribute
from shoal.tables._recoding import Recoding

__all__ = ["Frequencies", "Recoding", "SensitiveAttribute"]
