"""Guess a schema: what names mean (a table of words), what values look like (detectors), and what follows from both."""
