"""Everything that is shown: figures of a release -> one JSON document -> text, pages and pictures.

The terminal, the report and the app use the same words and the same pictures.
"""

from shoal.report._assessment import assessment_text, render_assessment
from shoal.report._charts import Chart, class_sizes_chart, column_chart
from shoal.report._columns import column_figures
from shoal.report._document import ColumnFigures, Document, LatticeFigures, Risk, TableFigures, Variant
from shoal.report._export import find_chart, svg_to_png, write_file
from shoal.report._frontier import Axis, Dot, frontier_chart, frontier_text
from shoal.report._gather import REPORT, gather, listed, public_report
from shoal.report._html import charts, figure, render_html, ticks
from shoal.report._internal import compared_tables, internal_report
from shoal.report._plots import Plots, lattice_chart, lattice_figures
from shoal.report._text import render_text, summary, table_lines
from shoal.report._words import band, measured

__all__ = [
    "REPORT",
    "Axis",
    "Chart",
    "ColumnFigures",
    "Document",
    "Dot",
    "LatticeFigures",
    "Plots",
    "Risk",
    "TableFigures",
    "Variant",
    "assessment_text",
    "band",
    "charts",
    "class_sizes_chart",
    "column_chart",
    "column_figures",
    "compared_tables",
    "figure",
    "find_chart",
    "frontier_chart",
    "frontier_text",
    "gather",
    "internal_report",
    "lattice_chart",
    "lattice_figures",
    "listed",
    "measured",
    "public_report",
    "render_assessment",
    "render_html",
    "render_text",
    "summary",
    "svg_to_png",
    "table_lines",
    "ticks",
    "write_file",
]
