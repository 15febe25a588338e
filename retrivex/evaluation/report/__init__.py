"""Report: the results of an evaluation as Markdown and HTML, with a plot."""

from retrivex.evaluation.report.pages import to_html, write_report

__all__ = ["to_html", "write_report"]
