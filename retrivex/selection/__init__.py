"""Candidates in, the set that is worth most within the limits out."""
