"""Labelled questions in, better options and coefficients out, where they are sure to be better."""
