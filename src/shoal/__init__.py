"""Shoal: releases of personal records in which every person hides in a crowd."""

__version__ = "0.1.0"
