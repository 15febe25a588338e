"""Tuning: labelled questions in, better options and coefficients out, if they are significantly better."""
