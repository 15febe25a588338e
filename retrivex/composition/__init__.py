"""What a composer answers: the context with its spans, citations, coverage and trace."""

from retrivex.composition.composition import Citation, Composition
from retrivex.composition.documents import Coverage

__all__ = ["Citation", "Composition", "Coverage"]
