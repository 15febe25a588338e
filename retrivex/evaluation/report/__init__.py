"""Report: the results of an evaluation as Markdown, HTML and plots."""

from retrivex.evaluation.report.pages import FIGURES, to_html, write_report

__all__ = ["FIGURES", "to_html", "write_report"]
