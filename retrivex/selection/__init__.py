"""Candidates in, the set that is worth most within the budget out."""
