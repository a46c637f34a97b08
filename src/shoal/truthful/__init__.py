"""Differential privacy without noise: real records, sampled, generalised, and suppressed in small classes.

`shoal.truthful.parameters` turns (epsilon, delta) into a sampling rate and a threshold, and back.
"""
