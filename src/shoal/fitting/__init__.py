"""Tables of one set of records, fitted together: possible records, weighted so that they agree with all tables.

Everything here is computed from tables that were released, and knows nothing of any other.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
