"""Comparison: results of the same questions in, differences with confidence intervals out."""
