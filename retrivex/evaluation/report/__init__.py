"""Results of an evaluation as pages to read: Markdown, the same as HTML, and plots."""

from retrivex.evaluation.report.pages import FIGURES, to_html, write_report

__all__ = ["FIGURES", "to_html", "write_report"]
