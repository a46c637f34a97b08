"""Decide whether a release keeps what its certificate says: a loop over promises, each of which checks itself."""

from shoal.verification._signature import new_key, read_key, write_signature
from shoal.verification._verify import sign, verify

__all__ = ["new_key", "read_key", "sign", "verify", "write_signature"]
