"""Decide whether a release keeps what its certificate says: a loop over promises, each of which checks itself."""

from shoal.verification._verify import verify

__all__ = ["verify"]
