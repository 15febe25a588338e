"""Labelled questions in, better knobs and coefficients out, where they are sure to be better."""
