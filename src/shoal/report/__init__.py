"""Reports on a release: figures -> one JSON document -> terminal text, a page, single pictures."""

from shoal.report._assessment import render_assessment
from shoal.report._charts import Chart
from shoal.report._document import Document, Variant
from shoal.report._export import find_chart, svg_to_png, write_file
from shoal.report._gather import REPORT, gather, public_report
from shoal.report._html import charts, render_html
from shoal.report._internal import internal_report
from shoal.report._plots import Plots, lattice_chart
from shoal.report._text import render_text

__all__ = [
    "REPORT",
    "Chart",
    "Document",
    "Plots",
    "Variant",
    "charts",
    "find_chart",
    "gather",
    "internal_report",
    "lattice_chart",
    "public_report",
    "render_assessment",
    "render_html",
    "render_text",
    "svg_to_png",
    "write_file",
]
