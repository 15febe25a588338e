"""Committed results in, tables, plots and pages out."""
