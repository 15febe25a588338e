"""Hits in, context out: the steps, one after the other."""

from retrivex.composer.batch import BatchItem
from retrivex.composer.call import ComposeRequest
from retrivex.composer.composer import SpanComposer

__all__ = ["BatchItem", "ComposeRequest", "SpanComposer"]
