"""Conventions of other tools, each a thin translation to a question to an index and back."""
