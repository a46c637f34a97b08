"""Guess a schema: what names mean (a table of words), what values look like (detectors), and what follows from both."""

from shoal.schema.drafts._detectors import DETECTORS, Detector, looks
from shoal.schema.drafts._draft import Draft, draft
from shoal.schema.drafts._names import topic
from shoal.schema.drafts._profile import DATE_FORMATS, ColumnProfile, Guess, habits
from shoal.schema.drafts._template import template

__all__ = [
    "DATE_FORMATS",
    "DETECTORS",
    "ColumnProfile",
    "Detector",
    "Draft",
    "Guess",
    "draft",
    "habits",
    "looks",
    "template",
    "topic",
]
