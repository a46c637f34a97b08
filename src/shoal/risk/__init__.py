"""Measured on any table, before and after: how much an intruder can find out."""

from shoal.risk._assess import Assessment, Separation, assess
from shoal.risk._reidentification import ClassSizes, Reidentification, reidentification

__all__ = ["Assessment", "ClassSizes", "Reidentification", "Separation", "assess", "reidentification"]
