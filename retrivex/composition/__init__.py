"""What a composer answers: the context with its spans, citations, coverage and trace."""

from retrivex.composition.composition import Citation, Composition, Coverage

__all__ = ["Citation", "Composition", "Coverage"]
