"""Evaluation: how much of the evidence a context holds, measured over sets of questions, and comparisons of systems."""
