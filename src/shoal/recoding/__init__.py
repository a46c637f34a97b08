"""Generalise: lattice, optimal search, local recoding."""
